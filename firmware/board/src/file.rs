//! Files of the host, over semihosting. Paths are relative to the folder that QEMU runs in.

use core::ffi::CStr;

use embedded_io::{ErrorKind, ErrorType};
use semihosting::fs;
use semihosting::io::{Read as _, Write as _};

/// An open file of the host.
#[derive(Debug)]
pub struct File(fs::File);

impl File {
    /// Opens a file to read it.
    ///
    /// # Errors
    /// The host's, as for all of semihosting without a further cause.
    pub fn open(path: &CStr) -> Result<Self, ErrorKind> {
        fs::File::open(path).map(Self).map_err(|_| ErrorKind::NotFound)
    }

    /// Creates a file to write it, or truncates one that is there.
    ///
    /// # Errors
    /// As for [`File::open`].
    pub fn create(path: &CStr) -> Result<Self, ErrorKind> {
        fs::File::create(path).map(Self).map_err(|_| ErrorKind::NotFound)
    }
}

impl ErrorType for File {
    type Error = ErrorKind;
}

impl embedded_io::Read for File {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        self.0.read(buf).map_err(|_| ErrorKind::Other)
    }
}

impl embedded_io::Write for File {
    fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        self.0.write(buf).map_err(|_| ErrorKind::Other)
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}
