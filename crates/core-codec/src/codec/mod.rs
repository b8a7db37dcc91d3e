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

/// Makes sure that `buffer` has `len` bytes.
#[cfg(any(feature = "lz4", feature = "deflate-c"))]
fn grow(buffer: &mut alloc::vec::Vec<u8>, len: usize) {
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
}

/// What `encode` writes into a new buffer, as many bytes as it says.
#[cfg(any(feature = "lz4", feature = "deflate"))]
fn owned(encode: impl FnOnce(&mut alloc::vec::Vec<u8>) -> usize) -> alloc::vec::Vec<u8> {
    let mut buffer = alloc::vec::Vec::new();
    let len = encode(&mut buffer);
    buffer.truncate(len);
    buffer
}
