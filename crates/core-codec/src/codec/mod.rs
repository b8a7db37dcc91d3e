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

/// All that `next` decodes in pieces of `len` bytes, where no more is kept before them than a piece can refer to.
#[cfg(all(test, any(feature = "deflate", feature = "lz4")))]
fn in_pieces(
    len: usize,
    history: usize,
    mut next: impl FnMut(&mut [u8], usize) -> Result<(usize, bool), crate::ErrorKind>,
) -> Result<alloc::vec::Vec<u8>, crate::ErrorKind> {
    let (mut all, mut buffer) = (alloc::vec::Vec::new(), alloc::vec::Vec::new());
    loop {
        let start = buffer.len();
        buffer.resize(start + len, 0);
        let (written, done) = next(&mut buffer, start)?;
        buffer.truncate(start + written);
        all.extend_from_slice(&buffer[start..]);
        if done {
            return Ok(all);
        }
        assert_eq!(written, len);
        buffer.drain(..buffer.len().saturating_sub(history));
    }
}
