//! Memory maps: the one place of this crate with `unsafe`.

use std::fs::File;
use std::io;
use std::ops::Range;

use memmap2::{Mmap, MmapMut};

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

/// Bytes that the system maps in one go when they are about to be read: cheaper than one fault after the other.
const WORTH_A_CALL: u64 = 64 << 10;

/// Tells the system that a range, which lies inside the map, is about to be read. Where it does not know how, or
/// cannot, reading works as ever.
pub(crate) fn populate(map: &Mmap, range: &Range<u64>) {
    #[cfg(target_os = "linux")]
    if range.end.saturating_sub(range.start) >= WORTH_A_CALL {
        let len = (range.end - range.start) as usize;
        let _ = map.advise_range(memmap2::Advice::PopulateRead, range.start as usize, len);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (map, range, WORTH_A_CALL);
}

/// Zeroed memory for a large intermediate result, in large pages where there are such: of small ones, asking the
/// system for the memory takes longer than filling it.
pub(crate) fn scratch(len: usize) -> io::Result<MmapMut> {
    // An empty map is an error.
    let scratch = MmapMut::map_anon(len.max(1))?;
    #[cfg(target_os = "linux")]
    let _ = scratch.advise(memmap2::Advice::HugePage);
    Ok(scratch)
}
