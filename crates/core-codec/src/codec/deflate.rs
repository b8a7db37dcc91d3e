//! DEFLATE (RFC 1951) in zlib (RFC 1950) and gzip (RFC 1952) framing.
//!
//! A decoder tells the framing by the first bytes. The `deflate-c` feature replaces the pure Rust codec by
//! libdeflate: the same data, in general other stored bytes.
//!
//! ```
//! use core_codec::codec::deflate::{self, Framing};
//!
//! let stored = deflate::encode(&[7; 1000], 6, Framing::Zlib);
//! let mut out = [0; 1000];
//! deflate::decode(&stored, &mut out).unwrap();
//! assert_eq!(deflate::decode_bounded(&stored, 1000).unwrap(), out);
//! ```

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

use crate::error::ErrorKind;

/// No DEFLATE stream decodes to more than this many bytes for each stored byte.
pub const MAX_EXPANSION: u64 = 1032;

/// What surrounds a DEFLATE stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Two bytes before it and an Adler-32 after it (RFC 1950).
    Zlib,
    /// Ten bytes or more before it, a CRC-32 and the length after it (RFC 1952).
    Gzip,
}

impl Framing {
    /// The framing that `stored` starts with; what is not gzip can only be zlib.
    #[must_use]
    pub fn of(stored: &[u8]) -> Self {
        if stored.starts_with(&[0x1f, 0x8b]) { Self::Gzip } else { Self::Zlib }
    }
}

fn codec_error(reason: &'static str) -> ErrorKind {
    ErrorKind::Codec { codec: "deflate", reason }
}

const TOO_LONG: &str = "decodes to more bytes than it should";

/// Decodes the one stream in `stored`, with its checksum, into all of `out`. Bytes after the stream are ignored.
///
/// # Errors
/// [`ErrorKind::Codec`] for a malformed stream, [`ErrorKind::Mismatch`] when it decodes to fewer bytes than `out`
/// has.
#[cfg(not(feature = "deflate-c"))]
pub fn decode(stored: &[u8], out: &mut [u8]) -> Result<(), ErrorKind> {
    decode_and_rest(stored, out).map(|_| ())
}

/// Decodes the one stream in `stored`, with its checksum, into all of `out`. Bytes after the stream are ignored.
///
/// # Errors
/// [`ErrorKind::Codec`] for a malformed stream, [`ErrorKind::Mismatch`] when it decodes to fewer bytes than `out`
/// has.
#[cfg(feature = "deflate-c")]
pub fn decode(stored: &[u8], out: &mut [u8]) -> Result<(), ErrorKind> {
    let expected = out.len() as u64;
    let found = decode_some(stored, out)?;
    if found as u64 == expected {
        return Ok(());
    }
    Err(ErrorKind::Mismatch { what: "decoded bytes", expected, found: found as u64 })
}

/// As [`decode`], and tells how many bytes of `stored` follow the stream. Always the pure Rust codec.
///
/// # Errors
/// As [`decode`].
pub fn decode_and_rest(stored: &[u8], out: &mut [u8]) -> Result<usize, ErrorKind> {
    let Pass { status, read, written } = inflate(stored, out)?;
    let (expected, found) = (out.len() as u64, written as u64);
    match status {
        TINFLStatus::Done if found == expected => Ok(stored.len().saturating_sub(read)),
        TINFLStatus::Done => Err(ErrorKind::Mismatch { what: "decoded bytes", expected, found }),
        TINFLStatus::HasMoreOutput => Err(codec_error(TOO_LONG)),
        _ => Err(failure(status)),
    }
}

#[cfg(feature = "deflate-c")]
fn decode_some(stored: &[u8], out: &mut [u8]) -> Result<usize, ErrorKind> {
    use libdeflater::{DecompressionError, Decompressor};
    let mut decoder = Decompressor::new();
    let decoded = match Framing::of(stored) {
        Framing::Zlib => decoder.zlib_decompress(stored, out),
        Framing::Gzip => decoder.gzip_decompress(stored, out),
    };
    decoded.map_err(|error| match error {
        DecompressionError::BadData => codec_error("malformed stream or wrong checksum"),
        DecompressionError::InsufficientSpace => codec_error(TOO_LONG),
    })
}

/// Decodes the one stream in `stored`, whatever it decodes to up to `limit` bytes.
///
/// # Errors
/// [`ErrorKind::Codec`] for a malformed stream, [`ErrorKind::Limit`] when it decodes to more than `limit` bytes.
pub fn decode_bounded(stored: &[u8], limit: u64) -> Result<Vec<u8>, ErrorKind> {
    decode_bounded_and_rest(stored, limit).map(|(out, _)| out)
}

/// As [`decode_bounded`], and tells how many bytes of `stored` follow the stream.
///
/// # Errors
/// As [`decode_bounded`].
pub fn decode_bounded_and_rest(stored: &[u8], limit: u64) -> Result<(Vec<u8>, usize), ErrorKind> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut out = alloc::vec![0; limit.min(stored.len().saturating_mul(4).max(256))];
    // Each round decodes from the start: the sizes double, so the work is at most twice that of one pass.
    loop {
        let Pass { status, read, written } = inflate(stored, &mut out)?;
        match status {
            TINFLStatus::Done => {
                out.truncate(written);
                return Ok((out, stored.len().saturating_sub(read)));
            }
            TINFLStatus::HasMoreOutput if out.len() == limit => {
                let found = (limit as u64).saturating_add(1);
                return Err(ErrorKind::Limit { what: "decoded bytes", limit: limit as u64, found });
            }
            TINFLStatus::HasMoreOutput => out.resize(out.len().saturating_mul(2).min(limit), 0),
            _ => return Err(failure(status)),
        }
    }
}

/// How a pass of the pure Rust decoder ended, and how many bytes it read, with what frames them, and wrote.
struct Pass {
    status: TINFLStatus,
    read: usize,
    written: usize,
}

/// One pass of the pure Rust decoder.
fn inflate(stored: &[u8], out: &mut [u8]) -> Result<Pass, ErrorKind> {
    let framing = Framing::of(stored);
    let body = match framing {
        Framing::Zlib => stored,
        Framing::Gzip => gzip_body(stored)?,
    };
    let (status, body_read, written) =
        decompress(&mut DecompressorOxide::new(), body, out, 0, flags(framing));
    let mut read = stored.len() - body.len() + body_read;
    if framing == Framing::Gzip && status == TINFLStatus::Done {
        check_gzip_trailer(&body[body_read..], crc32fast::hash(&out[..written]), written as u32)?;
        read += GZIP_TRAILER;
    }
    Ok(Pass { status, read, written })
}

/// What the pure Rust decoder is told.
fn flags(framing: Framing) -> u32 {
    let zlib = match framing {
        Framing::Zlib => inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER,
        Framing::Gzip => 0,
    };
    zlib | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF
}

/// Decodes one stream piece by piece, for streams that decode to more than is to be held at once.
///
/// ```
/// use core_codec::codec::deflate::{self, Framing, PieceDecoder};
///
/// let stored = deflate::encode(&[7; 1000], 6, Framing::Zlib);
/// let mut decoder = PieceDecoder::new(&stored).unwrap();
/// let mut buffer = [0; 1200];
/// // What a piece refers to stands before it.
/// assert_eq!(decoder.next(&stored, &mut buffer[..600], 0), Ok((600, false)));
/// assert_eq!(decoder.next(&stored, &mut buffer, 600), Ok((400, true)));
/// assert_eq!(buffer[..1000], [7; 1000]);
/// ```
pub struct PieceDecoder {
    state: Box<DecompressorOxide>,
    framing: Framing,
    /// Bytes that are read of the stored ones.
    read: usize,
    crc: crc32fast::Hasher,
    /// Decoded bytes, modulo 2^32.
    len: u32,
}

impl fmt::Debug for PieceDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PieceDecoder").field("framing", &self.framing).field("read", &self.read).finish()
    }
}

impl PieceDecoder {
    /// As many of the bytes before a piece as a piece can refer to.
    pub const HISTORY: usize = 32 << 10;

    /// A decoder at the start of the stream in `stored`.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] for a malformed gzip header.
    pub fn new(stored: &[u8]) -> Result<Self, ErrorKind> {
        let framing = Framing::of(stored);
        let read = match framing {
            Framing::Zlib => 0,
            Framing::Gzip => stored.len() - gzip_body(stored)?.len(),
        };
        Ok(Self { state: Box::default(), framing, read, crc: crc32fast::Hasher::new(), len: 0 })
    }

    /// Decodes into `buffer` from `start` on, until that is full or the stream ends: how many bytes, and whether it
    /// ended, its checksum being right. Before `start` is to be what was decoded last, [`HISTORY`](Self::HISTORY) bytes
    /// or all.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] for a malformed stream.
    pub fn next(
        &mut self,
        stored: &[u8],
        buffer: &mut [u8],
        start: usize,
    ) -> Result<(usize, bool), ErrorKind> {
        let rest = stored.get(self.read..).unwrap_or_default();
        let (status, read, written) = decompress(&mut self.state, rest, buffer, start, flags(self.framing));
        if self.framing == Framing::Gzip {
            self.crc.update(&buffer[start..start + written]);
            self.len = self.len.wrapping_add(written as u32);
        }
        self.read += read;
        match (status, self.framing) {
            (TINFLStatus::HasMoreOutput, _) => return Ok((written, false)),
            (TINFLStatus::Done, Framing::Gzip) => {
                check_gzip_trailer(&rest[read..], self.crc.clone().finalize(), self.len)?;
                self.read += GZIP_TRAILER;
            }
            (TINFLStatus::Done, Framing::Zlib) => {}
            _ => return Err(failure(status)),
        }
        Ok((written, true))
    }

    /// Stored bytes that are read; once the stream has ended, all that it takes.
    #[must_use]
    pub fn read(&self) -> usize {
        self.read
    }
}

fn failure(status: TINFLStatus) -> ErrorKind {
    codec_error(match status {
        TINFLStatus::Adler32Mismatch => "the Adler-32 differs",
        TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput => "the stream ends early",
        _ => "malformed stream",
    })
}

/// What follows the gzip header of RFC 1952, section 2.3.
fn gzip_body(stored: &[u8]) -> Result<&[u8], ErrorKind> {
    const CRC: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    let ends = || codec_error("the gzip header ends early");
    let (header, mut rest) = stored.split_first_chunk::<10>().ok_or_else(ends)?;
    if header[2] != 8 {
        return Err(codec_error("the gzip header names a method that is not DEFLATE"));
    }
    let flags = header[3];
    if flags & EXTRA != 0 {
        let (len, tail) = rest.split_first_chunk::<2>().ok_or_else(ends)?;
        rest = tail.get(usize::from(u16::from_le_bytes(*len))..).ok_or_else(ends)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let end = rest.iter().position(|&byte| byte == 0).ok_or_else(ends)?;
            rest = &rest[end + 1..];
        }
    }
    let header_crc = if flags & CRC != 0 { 2 } else { 0 };
    rest.get(header_crc..).ok_or_else(ends)
}

/// Bytes of the CRC-32 and the length.
const GZIP_TRAILER: usize = 8;

/// The CRC-32 and the length modulo 2^32 that follow the stream.
fn check_gzip_trailer(trailer: &[u8], crc: u32, len: u32) -> Result<(), ErrorKind> {
    let (stated, rest) = trailer.split_first_chunk().ok_or(codec_error("the gzip trailer is missing"))?;
    if u32::from_le_bytes(*stated) != crc {
        return Err(codec_error("the CRC-32 differs"));
    }
    let (stated, _) = rest.split_first_chunk().ok_or(codec_error("the gzip trailer ends early"))?;
    if u32::from_le_bytes(*stated) != len {
        return Err(codec_error("the length in the gzip trailer differs"));
    }
    Ok(())
}

/// Encodes `data` at `level` 1 (fast) to 9 (small).
#[must_use]
pub fn encode(data: &[u8], level: u8, framing: Framing) -> Vec<u8> {
    super::owned(|buffer| encode_into(data, level, framing, buffer).len())
}

/// As [`encode`], into a buffer that is used again and again: it grows as needed, and what it holds beyond the stream
/// that is returned means nothing.
#[cfg(feature = "deflate-c")]
pub fn encode_into<'b>(data: &[u8], level: u8, framing: Framing, buffer: &'b mut Vec<u8>) -> &'b [u8] {
    use libdeflater::{CompressionLvl, Compressor};
    let level = CompressionLvl::new(i32::from(level.clamp(1, 9))).unwrap_or_default();
    let mut encoder = Compressor::new(level);
    // The bound for gzip, the longer framing, always has room.
    super::grow(buffer, encoder.gzip_compress_bound(data.len()));
    let written = match framing {
        Framing::Zlib => encoder.zlib_compress(data, buffer),
        Framing::Gzip => encoder.gzip_compress(data, buffer),
    };
    &buffer[..written.unwrap_or_default()]
}

/// As [`encode`], into a buffer that is used again and again: it grows as needed, and what it holds beyond the stream
/// that is returned means nothing.
#[cfg(not(feature = "deflate-c"))]
pub fn encode_into<'b>(data: &[u8], level: u8, framing: Framing, buffer: &'b mut Vec<u8>) -> &'b [u8] {
    let level = level.clamp(1, 9);
    match framing {
        Framing::Zlib => *buffer = miniz_oxide::deflate::compress_to_vec_zlib(data, level),
        Framing::Gzip => {
            buffer.clear();
            buffer.extend([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
            buffer.extend(miniz_oxide::deflate::compress_to_vec(data, level));
            buffer.extend(crc32fast::hash(data).to_le_bytes());
            buffer.extend((data.len() as u32).to_le_bytes());
        }
    }
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn sample() -> Vec<u8> {
        (0..5000u32).flat_map(|i| (i / 7).to_le_bytes()).collect()
    }

    #[test]
    fn both_framings_round_trip_at_every_level() {
        let data = sample();
        for framing in [Framing::Zlib, Framing::Gzip] {
            for level in 0..=10 {
                let stored = encode(&data, level, framing);
                assert_eq!(Framing::of(&stored), framing);
                let mut out = vec![0; data.len()];
                decode(&stored, &mut out).unwrap();
                assert_eq!(out, data);
                assert_eq!(decode_bounded(&stored, 1 << 20).unwrap(), data);
            }
            let empty = encode(&[], 6, framing);
            decode(&empty, &mut []).unwrap();
            assert!(decode_bounded(&empty, 0).unwrap().is_empty());
        }
    }

    #[test]
    fn the_length_must_be_exact() {
        let data = sample();
        for framing in [Framing::Zlib, Framing::Gzip] {
            let stored = encode(&data, 6, framing);
            let short = decode(&stored, &mut vec![0; data.len() + 1]);
            assert!(matches!(short, Err(ErrorKind::Mismatch { .. })), "{short:?}");
            assert_eq!(decode(&stored, &mut vec![0; data.len() - 1]), Err(codec_error(TOO_LONG)));
            let limited = decode_bounded(&stored, data.len() as u64 - 1);
            assert!(matches!(limited, Err(ErrorKind::Limit { .. })));
        }
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let data = sample();
        for framing in [Framing::Zlib, Framing::Gzip] {
            let stored = encode(&data, 6, framing);
            for at in (0..stored.len()).filter(|at| framing == Framing::Zlib || *at >= 10) {
                let mut damaged = stored.clone();
                damaged[at] ^= 0x55;
                let mut out = vec![0; data.len()];
                assert!(decode(&damaged, &mut out).is_err() || out == data, "byte {at}");
                assert!(decode(&stored[..at], &mut out).is_err(), "cut at {at}");
                assert!(decode_bounded(&stored[..at], 1 << 20).is_err(), "cut at {at}");
            }
        }
    }

    #[test]
    fn bytes_after_the_stream_are_counted_and_ignored() {
        let data = sample();
        for framing in [Framing::Zlib, Framing::Gzip] {
            for rest in [0, 1, 9] {
                let mut stored = encode(&data, 6, framing);
                stored.resize(stored.len() + rest, 0xaa);
                let mut out = vec![0; data.len()];
                decode(&stored, &mut out).unwrap();
                assert_eq!(decode_and_rest(&stored, &mut out), Ok(rest));
                assert_eq!(out, data);
                assert_eq!(decode_bounded_and_rest(&stored, 1 << 20), Ok((data.clone(), rest)));
                let mut decoder = PieceDecoder::new(&stored).unwrap();
                assert_eq!(decoder.next(&stored, &mut out, 0), Ok((data.len(), true)));
                assert_eq!(stored.len() - decoder.read(), rest);
            }
        }
    }

    fn in_pieces(stored: &[u8], len: usize) -> Result<Vec<u8>, ErrorKind> {
        let mut decoder = PieceDecoder::new(stored)?;
        super::super::in_pieces(len, PieceDecoder::HISTORY, |buffer, start| {
            decoder.next(stored, buffer, start)
        })
    }

    #[test]
    fn pieces_of_any_length_join_to_the_whole() {
        let mut data = sample();
        // Matches as far away as there are.
        data.extend((0..PieceDecoder::HISTORY as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8));
        data.extend_from_within(data.len() - PieceDecoder::HISTORY..);
        for framing in [Framing::Zlib, Framing::Gzip] {
            let mut stored = encode(&data, 9, framing);
            for len in [1, 7, 1000, data.len() - 1, data.len(), data.len() + 1] {
                assert_eq!(in_pieces(&stored, len).unwrap(), data, "{framing:?} {len}");
            }
            assert!(in_pieces(&stored[..stored.len() - 1], 1000).is_err());
            *stored.last_mut().unwrap() ^= 1;
            assert!(in_pieces(&stored, 1000).is_err());
        }
    }

    #[test]
    fn optional_fields_of_a_gzip_header_are_skipped() {
        let data = sample();
        let plain = encode(&data, 6, Framing::Gzip);
        let mut stored = plain[..10].to_vec();
        stored[3] = 2 | 4 | 8 | 16;
        stored.extend(b"\x03\0xyzname\0comment\0\x12\x34");
        stored.extend(&plain[10..]);
        assert_eq!(decode_bounded(&stored, 1 << 20).unwrap(), data);
        for cut in 0..34 {
            assert!(decode_bounded(&stored[..cut], 1 << 20).is_err());
        }
    }
}
