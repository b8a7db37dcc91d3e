//! LZ4 in its raw block format: no frame, no size.
//!
//! ```
//! use core_codec::codec::lz4;
//!
//! let stored = lz4::encode(&[7; 1000]);
//! let mut out = [0; 1000];
//! lz4::decode(&stored, &mut out).unwrap();
//! assert_eq!(out, [7; 1000]);
//! ```

use alloc::vec::Vec;

use crate::error::ErrorKind;

/// No LZ4 block decodes to more than this many bytes for each stored byte.
pub const MAX_EXPANSION: u64 = 255;

/// Decodes the block `stored` into all of `out`.
///
/// # Errors
/// [`ErrorKind::Codec`] for a malformed block, [`ErrorKind::Mismatch`] when it decodes to fewer bytes than `out`
/// has.
pub fn decode(stored: &[u8], out: &mut [u8]) -> Result<(), ErrorKind> {
    use lz4_flex::block::DecompressError;
    let codec = |reason| ErrorKind::Codec { codec: "lz4", reason };
    let expected = out.len() as u64;
    match lz4_flex::block::decompress_into(stored, out) {
        Ok(found) if found as u64 == expected => Ok(()),
        Ok(found) => Err(ErrorKind::Mismatch { what: "decoded bytes", expected, found: found as u64 }),
        Err(DecompressError::OutputTooSmall { .. }) => Err(codec("decodes to more bytes than it should")),
        Err(DecompressError::LiteralOutOfBounds) => Err(codec("a literal runs past the end of the block")),
        Err(DecompressError::ExpectedAnotherByte) => Err(codec("the block ends inside a sequence")),
        Err(DecompressError::OffsetOutOfBounds) => Err(codec("a match starts before the first byte")),
        Err(_) => Err(codec("malformed block")),
    }
}

/// Encodes `data` as one block.
#[must_use]
pub fn encode(data: &[u8]) -> Vec<u8> {
    super::owned(|buffer| encode_into(data, buffer).len())
}

/// As [`encode`], into a buffer that is used again and again: it grows as needed, and what it holds beyond the block
/// that is returned means nothing.
pub fn encode_into<'b>(data: &[u8], buffer: &'b mut Vec<u8>) -> &'b [u8] {
    super::grow(buffer, lz4_flex::block::get_maximum_output_size(data.len()));
    // There is always room for the longest block.
    let written = lz4_flex::block::compress_into(data, buffer).unwrap_or_default();
    &buffer[..written]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_wrong_with_a_block() {
        let stored = encode(b"abcdabcdabcdabcdabcdabcdabcdabcd");
        let decoded = |stored: &[u8], len| decode(stored, &mut alloc::vec![0; len]).unwrap_err();
        assert!(matches!(decoded(&stored, 31), ErrorKind::Codec { .. }));
        assert!(matches!(decoded(&stored, 33), ErrorKind::Mismatch { expected: 33, found: 32, .. }));
        assert!(matches!(decoded(&stored[..3], 32), ErrorKind::Codec { .. }));
        // One literal, then a match three bytes back.
        assert!(matches!(decoded(&[0x10, b'a', 3, 0], 32), ErrorKind::Codec { .. }));
    }
}
