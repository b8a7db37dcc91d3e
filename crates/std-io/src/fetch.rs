//! Where ranges of bytes come from.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Gets byte ranges of something of fixed length.
pub trait Fetch: Send + Sync {
    /// Length in bytes.
    fn len(&self) -> u64;

    /// Whether there is no byte.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of `range`, which lies inside.
    ///
    /// # Errors
    /// When not all of them can be had.
    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>>;

    /// Tells that the bytes of `range` will be fetched soon, in order and in pieces, so that one request can bring
    /// all of them. Only the last such range counts.
    fn expect(&self, range: Range<u64>) {
        let _ = range;
    }

    /// Two ranges with at most this many bytes between them are better fetched as one.
    fn gap(&self) -> u64 {
        16 << 10
    }
}

/// Bytes that are in memory.
impl Fetch for Vec<u8> {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let bytes = self.get(range.start as usize..range.end as usize);
        bytes.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Two copies cost no more than one.
    fn gap(&self) -> u64 {
        0
    }
}

impl<T: Fetch + ?Sized> Fetch for Arc<T> {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        (**self).fetch(range)
    }

    fn expect(&self, range: Range<u64>) {
        (**self).expect(range);
    }

    fn gap(&self) -> u64 {
        (**self).gap()
    }
}

/// Positional reads of a file.
#[derive(Debug)]
pub struct FileRanges {
    file: File,
    len: u64,
}

impl FileRanges {
    /// Takes an open file; its length is what it is now.
    ///
    /// # Errors
    /// When the length cannot be had, or it is not a file in which one can seek.
    pub fn new(file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        check_seekable(&metadata)?;
        Ok(Self { len: metadata.len(), file })
    }
}

/// Checks that it is a file in which one can seek.
pub(crate) fn check_seekable(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::NotSeekable, "is not a regular file"));
    }
    Ok(())
}

impl Fetch for FileRanges {
    fn len(&self) -> u64 {
        self.len
    }

    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let len = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
        let mut bytes = bytemuck::try_zeroed_vec(len).map_err(|()| io::ErrorKind::OutOfMemory)?;
        read_exact_at(&self.file, &mut bytes, range.start).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(error.kind(), "the file changed while it was read")
            }
            _ => error,
        })?;
        Ok(bytes)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                bytes = &mut bytes[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
