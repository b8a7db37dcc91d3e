//! How an array is to be stored.

use super::codec::DEFAULT_LEVEL;
use super::types::Compression;
use crate::error::ErrorKind;

/// Bytes of a decoded block unless another size is asked for.
pub const DEFAULT_BLOCK_SIZE: u64 = 1 << 20;
/// The largest block that is written: what readers take by default, see
/// [`Limits::block_bytes`](crate::Limits::block_bytes).
pub const MAX_BLOCK_SIZE: u64 = 64 << 20;
/// Blocks of an array that the reference implementation can open.
pub const MAX_BLOCKS: u64 = 10_000;
/// Dimensions of an array that the reference implementation can open.
pub const MAX_DIMENSIONS: u64 = 100;

/// How an array is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    /// The codec.
    pub compression: Compression,
    /// Bytes of a decoded block, 1 to [`MAX_BLOCK_SIZE`]. By default [`DEFAULT_BLOCK_SIZE`], doubled until there
    /// are at most [`MAX_BLOCKS`] blocks.
    pub block_size: Option<u64>,
    /// DEFLATE level, 1 (fast) to 9 (small).
    pub level: u8,
}

impl Default for Storage {
    fn default() -> Self {
        Self { compression: Compression::default(), block_size: None, level: DEFAULT_LEVEL }
    }
}

impl From<Compression> for Storage {
    fn from(compression: Compression) -> Self {
        Self { compression, ..Self::default() }
    }
}

impl Storage {
    /// The block size for a payload of `payload` bytes.
    pub(super) fn block_size_for(self, payload: u64) -> Result<u64, ErrorKind> {
        let size = match self.block_size {
            Some(size) => size,
            None => {
                let smallest = payload.div_ceil(MAX_BLOCKS).max(DEFAULT_BLOCK_SIZE);
                smallest.checked_next_power_of_two().unwrap_or(u64::MAX)
            }
        };
        if !(1..=MAX_BLOCK_SIZE).contains(&size) {
            let (what, min, max) = ("block size", 1, MAX_BLOCK_SIZE);
            return Err(ErrorKind::OutOfRange { what, min, max, found: size });
        }
        let found = payload.div_ceil(size);
        if found > MAX_BLOCKS {
            return Err(ErrorKind::Limit { what: "blocks", limit: MAX_BLOCKS, found });
        }
        Ok(size)
    }
}
