//! Bounds that every length read from a file passes before anything is allocated.

use crate::error::ErrorKind;

/// Upper bounds on what a reader believes and allocates.
///
/// The defaults read every file that the reference implementations write. Raise a bound for files that are
/// known to be larger, lower it where memory is short.
///
/// ```
/// let mut limits = core_codec::Limits::default();
/// limits.block_bytes = 1 << 20;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a decompressed schema, header or metadata record.
    pub metadata_bytes: u64,
    /// Bytes of one name in a schema: of an entity, a type, a method, an unknown member.
    pub name_bytes: u64,
    /// Nested levels of a tree (schema, index).
    pub depth: u64,
    /// Nodes of a tree, entries of a table, keys of a registry.
    pub entries: u64,
    /// Bytes of one decoded block, page or chunk.
    pub block_bytes: u64,
    /// Bytes that one read, array or column may hold at once.
    pub item_bytes: u64,
    /// Decoded bytes for each stored byte. No codec here passes 32,768 (a Zstandard RLE block of 128 KiB in
    /// four bytes), so only a file that names the same bytes again and again does.
    pub expansion: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            metadata_bytes: 16 << 20,
            name_bytes: 64 << 10,
            depth: 128,
            entries: 1 << 18,
            block_bytes: 64 << 20,
            item_bytes: 1 << 40,
            expansion: 32_768,
        }
    }
}

/// Checks `found` against `limit` and returns it as a `usize`.
///
/// # Errors
/// [`ErrorKind::Limit`] when it is larger, or does not fit the address space.
pub fn check(what: &'static str, found: u64, limit: u64) -> Result<usize, ErrorKind> {
    match usize::try_from(found) {
        Ok(size) if found <= limit => Ok(size),
        _ => Err(ErrorKind::Limit { what, found, limit: limit.min(usize::MAX as u64) }),
    }
}

/// Zeroed memory, or an error where the system has not as much.
#[cfg(feature = "stards")]
pub(crate) fn zeroed(len: usize) -> Result<alloc::vec::Vec<u8>, ErrorKind> {
    bytemuck::try_zeroed_vec(len).map_err(|()| ErrorKind::Memory { needed: len as u64 })
}

/// Makes room for `more` items, or tells that the system has not as much memory. What grows bit by bit does so by
/// doubling.
#[cfg(any(feature = "stards", feature = "tsfile"))]
pub(crate) fn room<T>(vec: &mut alloc::vec::Vec<T>, more: usize) -> Result<(), ErrorKind> {
    let needed = (more as u64).saturating_mul(size_of::<T>() as u64);
    vec.try_reserve(more).map_err(|_| ErrorKind::Memory { needed })
}
