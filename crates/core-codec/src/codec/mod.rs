//! Block codecs: one file each, one signature for all.
//!
//! A decoder gets the whole stored block and the exact number of bytes that it must decode to. Anything else,
//! more or less, is an error: a block never ends a stream early without a word.

#[cfg(feature = "deflate")]
pub mod deflate;
#[cfg(feature = "lz4")]
pub mod lz4;
pub(crate) mod lz77;
pub mod lzo;
pub mod shuffle;
pub mod snappy;
#[cfg(feature = "xz")]
pub mod xz;
#[cfg(any(feature = "zstd", feature = "zstd-c"))]
pub mod zstd;
