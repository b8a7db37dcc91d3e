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

/// As [`decode`], and tells how many stored bytes follow a stream that knows its end.
pub(super) fn decode_and_rest(
    compression: Compression,
    stored: &[u8],
    out: &mut [u8],
) -> Result<usize, ErrorKind> {
    match compression {
        #[cfg(feature = "deflate")]
        Compression::Gzip | Compression::GzipShuffle => codec::deflate::decode_and_rest(stored, out),
        _ => decode(compression, stored, out).map(|()| 0),
    }
}

/// As many of the bytes before a piece as a piece can refer to, whatever the codec.
pub(super) const HISTORY: usize = 64 << 10;

/// Decodes a block piece by piece.
#[derive(Debug)]
pub(super) enum Pieces {
    #[cfg(feature = "deflate")]
    Gzip(codec::deflate::PieceDecoder),
    #[cfg(feature = "lz4")]
    Lz4(codec::lz4::PieceDecoder),
}

impl Pieces {
    /// Whether the codec can do that.
    pub(super) fn can(compression: Compression) -> bool {
        match compression {
            Compression::Gzip | Compression::GzipShuffle => cfg!(feature = "deflate"),
            Compression::Lz4 | Compression::Lz4Shuffle => cfg!(feature = "lz4"),
            Compression::None | Compression::Zstd => false,
        }
    }

    /// A decoder at the start of a stored block.
    pub(super) fn new(compression: Compression, stored: &[u8]) -> Result<Self, ErrorKind> {
        let _ = stored;
        match compression {
            #[cfg(feature = "deflate")]
            Compression::Gzip | Compression::GzipShuffle => {
                codec::deflate::PieceDecoder::new(stored).map(Self::Gzip)
            }
            #[cfg(feature = "lz4")]
            Compression::Lz4 | Compression::Lz4Shuffle => Ok(Self::Lz4(codec::lz4::PieceDecoder::default())),
            _ => Err(ErrorKind::Unsupported("codec in pieces")),
        }
    }

    /// Decodes into `buffer` from `start` on, until that is full or the block ends: how many bytes, and whether it ended.
    /// Before `start` is what was decoded last, at most [`HISTORY`] bytes.
    pub(super) fn next(
        &mut self,
        stored: &[u8],
        buffer: &mut [u8],
        start: usize,
    ) -> Result<(usize, bool), ErrorKind> {
        let _ = (stored, &buffer, start);
        match *self {
            #[cfg(feature = "deflate")]
            Self::Gzip(ref mut decoder) => decoder.next(stored, buffer, start),
            #[cfg(feature = "lz4")]
            Self::Lz4(ref mut decoder) => decoder.next(stored, buffer, start),
        }
    }

    /// Once the block has ended: how many stored bytes follow a stream that knows its end.
    pub(super) fn rest(&self, stored: &[u8]) -> usize {
        let _ = stored;
        match *self {
            #[cfg(feature = "deflate")]
            Self::Gzip(ref decoder) => stored.len().saturating_sub(decoder.read()),
            #[cfg(feature = "lz4")]
            Self::Lz4(_) => 0,
        }
    }
}

/// The error of a block that does not end where it should.
pub(super) fn too_long(compression: Compression) -> ErrorKind {
    let codec = match compression {
        Compression::Lz4 | Compression::Lz4Shuffle => "lz4",
        _ => "deflate",
    };
    ErrorKind::Codec { codec, reason: "decodes to more bytes than it should" }
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
