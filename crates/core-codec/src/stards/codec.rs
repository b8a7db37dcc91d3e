//! One stored block, whatever its codec.

use alloc::vec::Vec;

use super::types::Compression;
#[cfg(any(feature = "deflate", feature = "lz4", feature = "zstd", feature = "zstd-c"))]
use crate::codec;
use crate::error::ErrorKind;

/// DEFLATE level of arrays unless another is asked for.
pub const DEFAULT_LEVEL: u8 = 6;

/// No block of this codec decodes to more bytes for each stored byte.
pub(super) fn max_expansion(compression: Compression) -> u64 {
    match compression {
        Compression::None => 1,
        Compression::Gzip | Compression::GzipShuffle => 1032,
        Compression::Lz4 | Compression::Lz4Shuffle => 255,
        Compression::Zstd => 32_768,
    }
}

/// Checks that the codec is one of those this build has.
pub(super) fn check_support(compression: Compression) -> Result<(), ErrorKind> {
    let (name, supported) = match compression {
        Compression::None => return Ok(()),
        Compression::Gzip | Compression::GzipShuffle => {
            ("codec GZIP (the `deflate` feature is off)", cfg!(feature = "deflate"))
        }
        Compression::Lz4 | Compression::Lz4Shuffle => {
            ("codec LZ4 (the `lz4` feature is off)", cfg!(feature = "lz4"))
        }
        Compression::Zstd => {
            ("codec ZSTD (the `zstd` feature is off)", cfg!(any(feature = "zstd", feature = "zstd-c")))
        }
    };
    if supported { Ok(()) } else { Err(ErrorKind::Unsupported(name)) }
}

/// Decodes a stored block into all of `out`; byte planes stay planes.
pub(super) fn decode(compression: Compression, stored: &[u8], out: &mut [u8]) -> Result<(), ErrorKind> {
    match compression {
        Compression::None if stored.len() == out.len() => {
            out.copy_from_slice(stored);
            Ok(())
        }
        Compression::None => Err(ErrorKind::Mismatch {
            what: "bytes of a block that is not compressed",
            expected: out.len() as u64,
            found: stored.len() as u64,
        }),
        #[cfg(feature = "deflate")]
        Compression::Gzip | Compression::GzipShuffle => codec::deflate::decode(stored, out),
        #[cfg(feature = "lz4")]
        Compression::Lz4 | Compression::Lz4Shuffle => codec::lz4::decode(stored, out),
        #[cfg(any(feature = "zstd", feature = "zstd-c"))]
        Compression::Zstd => codec::zstd::decode(stored, out),
        #[cfg(not(all(feature = "deflate", feature = "lz4", any(feature = "zstd", feature = "zstd-c"))))]
        _ => check_support(compression),
    }
}

/// Encodes one block of the payload; of a shuffling codec, of its byte planes. The result is in `buffer`, which is to be
/// used for the next block again, or the block itself.
///
/// # Errors
/// [`ErrorKind::Unsupported`] when the codec is not in this build.
pub fn encode_block<'b>(
    compression: Compression,
    level: u8,
    block: &'b [u8],
    buffer: &'b mut Vec<u8>,
) -> Result<&'b [u8], ErrorKind> {
    let _ = (level, &buffer);
    match compression {
        Compression::None => Ok(block),
        #[cfg(feature = "deflate")]
        Compression::Gzip | Compression::GzipShuffle => {
            Ok(codec::deflate::encode_into(block, level, codec::deflate::Framing::Zlib, buffer))
        }
        #[cfg(feature = "lz4")]
        Compression::Lz4 | Compression::Lz4Shuffle => Ok(codec::lz4::encode_into(block, buffer)),
        #[cfg(any(feature = "zstd", feature = "zstd-c"))]
        Compression::Zstd => {
            *buffer = codec::zstd::encode(block)?;
            Ok(buffer)
        }
        #[cfg(not(all(feature = "deflate", feature = "lz4", any(feature = "zstd", feature = "zstd-c"))))]
        _ => check_support(compression).map(|()| block),
    }
}
