//! Memory maps: the one place of this crate with `unsafe`.

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps all of `file` for reading.
///
/// # Errors
/// When the system refuses, as it does for an empty file or a pipe.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is only read, as bytes, and every length in them is checked against the map's own. What
    // cannot be ruled out is that another process changes the file meanwhile: changed bytes are read as such,
    // but bytes cut off by truncating it are gone, and touching them ends this process with SIGBUS. Who expects
    // that (files still being written, network file systems) opens with `Access::Read` instead.
    unsafe { Mmap::map(file) }
}
