//! Files that appear under their name when they are complete.

use std::io::{self, Write};
use std::path::Path;

use crate::new_file::{Durability, NewFile};

/// A file that is written beside its place and moved there at the end. Dropped before, it leaves nothing behind.
///
/// ```
/// use std::io::Write;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("capture.izs");
/// let mut output = std_io::OutputFile::create(&path)?;
/// output.write_all(b"all of it")?;
/// assert!(!path.exists());
/// output.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "the file appears when it is committed"]
pub struct OutputFile(NewFile);

impl OutputFile {
    /// Creates a temporary file in the folder of `path`.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self(NewFile::create(path.as_ref())?))
    }

    /// Moves the file to its place, over what was there, once all of it is on the disk: after a loss of power, the one
    /// or the other is there, and whole.
    ///
    /// # Errors
    /// When the rest cannot be written, or the file cannot be moved; what was in its place is still there.
    pub fn commit(self) -> io::Result<()> {
        self.0.persist(Durability::Synced)
    }

    /// As [`commit`](Self::commit), without waiting for the disk: after a loss of power, the file may lack some of its
    /// data.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_unsynced(self) -> io::Result<()> {
        self.0.persist(Durability::Unsynced)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
