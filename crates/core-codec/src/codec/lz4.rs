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

const PAST_THE_END: ErrorKind = codec("a literal runs past the end of the block");
const ENDS_EARLY: ErrorKind = codec("the block ends inside a sequence");
const TOO_FAR_BACK: ErrorKind = codec("a match starts before the first byte");

const fn codec(reason: &'static str) -> ErrorKind {
    ErrorKind::Codec { codec: "lz4", reason }
}

/// Decodes the block `stored` into all of `out`.
///
/// # Errors
/// [`ErrorKind::Codec`] for a malformed block, [`ErrorKind::Mismatch`] when it decodes to fewer bytes than `out`
/// has.
pub fn decode(stored: &[u8], out: &mut [u8]) -> Result<(), ErrorKind> {
    use lz4_flex::block::DecompressError;
    let expected = out.len() as u64;
    match lz4_flex::block::decompress_into(stored, out) {
        Ok(found) if found as u64 == expected => Ok(()),
        Ok(found) => Err(ErrorKind::Mismatch { what: "decoded bytes", expected, found: found as u64 }),
        Err(DecompressError::OutputTooSmall { .. }) => Err(codec("decodes to more bytes than it should")),
        Err(DecompressError::LiteralOutOfBounds) => Err(PAST_THE_END),
        Err(DecompressError::ExpectedAnotherByte) => Err(ENDS_EARLY),
        Err(DecompressError::OffsetOutOfBounds) => Err(TOO_FAR_BACK),
        Err(_) => Err(codec("malformed block")),
    }
}

/// Decodes one block piece by piece, for blocks that decode to more than is to be held at once.
///
/// ```
/// use core_codec::codec::lz4::{self, PieceDecoder};
///
/// let stored = lz4::encode(&[7; 1000]);
/// let mut decoder = PieceDecoder::default();
/// let mut buffer = [0; 1200];
/// // What a piece refers to stands before it.
/// assert_eq!(decoder.next(&stored, &mut buffer[..600], 0), Ok((600, false)));
/// assert_eq!(decoder.next(&stored, &mut buffer, 600), Ok((400, true)));
/// assert_eq!(buffer[..1000], [7; 1000]);
/// ```
#[derive(Debug, Default)]
pub struct PieceDecoder {
    /// Bytes that are read of the stored ones.
    read: usize,
    step: Step,
}

/// What a [`PieceDecoder`] does next.
#[derive(Clone, Copy, Debug, Default)]
enum Step {
    #[default]
    Token,
    /// Bytes that stand in the block, then a match whose length starts with these four bits.
    Literals {
        left: usize,
        match_bits: u8,
    },
    /// Bytes that were decoded so far ago.
    Match {
        left: usize,
        distance: usize,
    },
    Done,
}

impl PieceDecoder {
    /// As many of the bytes before a piece as a piece can refer to.
    pub const HISTORY: usize = 64 << 10;

    /// Decodes into `buffer` from `start` on, until that is full or the block ends: how many bytes, and whether it
    /// ended. Before `start` is to be what was decoded last, [`HISTORY`](Self::HISTORY) bytes or all.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] for a malformed block.
    pub fn next(
        &mut self,
        stored: &[u8],
        buffer: &mut [u8],
        start: usize,
    ) -> Result<(usize, bool), ErrorKind> {
        let mut at = start;
        loop {
            self.step = match self.step {
                Step::Done => return Ok((at - start, true)),
                Step::Token => {
                    let [token] = self.take(stored)?;
                    Step::Literals { left: self.len(stored, token >> 4)?, match_bits: token & 15 }
                }
                Step::Literals { left, match_bits } => {
                    let done = left.min(buffer.len() - at);
                    let literals = stored.get(self.read..).and_then(|rest| rest.get(..done));
                    buffer[at..at + done].copy_from_slice(literals.ok_or(PAST_THE_END)?);
                    (self.read, at) = (self.read + done, at + done);
                    if done < left {
                        self.step = Step::Literals { left: left - done, match_bits };
                        return Ok((at - start, false));
                    }
                    self.after_literals(stored, match_bits, at)?
                }
                Step::Match { left, distance } => {
                    let done = left.min(buffer.len() - at);
                    repeat(buffer, at, distance, done);
                    at += done;
                    if done < left {
                        self.step = Step::Match { left: left - done, distance };
                        return Ok((at - start, false));
                    }
                    Step::Token
                }
            };
        }
    }

    /// The last sequence has no match.
    fn after_literals(&mut self, stored: &[u8], match_bits: u8, known: usize) -> Result<Step, ErrorKind> {
        if self.read == stored.len() {
            return Ok(Step::Done);
        }
        let distance = usize::from(u16::from_le_bytes(self.take(stored)?));
        if !(1..=known).contains(&distance) {
            return Err(TOO_FAR_BACK);
        }
        Ok(Step::Match { left: self.len(stored, match_bits)?.saturating_add(4), distance })
    }

    /// A length: four bits, and while they or the byte before are all ones, one more byte.
    fn len(&mut self, stored: &[u8], bits: u8) -> Result<usize, ErrorKind> {
        let mut len = usize::from(bits);
        let mut more = bits == 15;
        while more {
            let [byte] = self.take(stored)?;
            len = len.saturating_add(byte.into());
            more = byte == u8::MAX;
        }
        Ok(len)
    }

    fn take<const N: usize>(&mut self, stored: &[u8]) -> Result<[u8; N], ErrorKind> {
        let bytes = stored.get(self.read..).and_then(<[u8]>::first_chunk).ok_or(ENDS_EARLY)?;
        self.read += N;
        Ok(*bytes)
    }
}

/// Copies `len` bytes from `distance` before `at` to there, over and over where they overlap.
fn repeat(buffer: &mut [u8], at: usize, distance: usize, len: usize) {
    let mut done = 0;
    while done < len {
        // What is there already repeats itself as a whole.
        let part = (distance + done).min(len - done);
        buffer.copy_within(at - distance..at - distance + part, at + done);
        done += part;
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

    fn in_pieces(stored: &[u8], len: usize) -> Result<Vec<u8>, ErrorKind> {
        let mut decoder = PieceDecoder::default();
        super::super::in_pieces(len, PieceDecoder::HISTORY, |buffer, start| {
            decoder.next(stored, buffer, start)
        })
    }

    #[test]
    fn pieces_of_any_length_join_to_the_whole() {
        let noise = |len: u32| (0..len).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8);
        let mut data: Vec<u8> = (0..5000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        // Matches as far away as there are, and long runs of both kinds.
        data.extend(noise(65_535));
        data.extend_from_within(data.len() - 65_535..);
        data.extend([7; 5000]);
        data.extend(b"abc".repeat(500));
        let stored = encode(&data);
        for len in [1, 7, 1000, data.len() - 1, data.len(), data.len() + 1] {
            assert!(in_pieces(&stored, len).unwrap() == data, "{len}");
        }
        assert!(in_pieces(&encode(&[]), 10).unwrap().is_empty());
    }

    #[test]
    fn pieces_are_refused_for_the_same_reasons() {
        let stored = encode(&(0..300u32).flat_map(|i| (i / 7).to_le_bytes()).collect::<Vec<_>>());
        let mut damaged: Vec<Vec<u8>> = (0..stored.len()).map(|end| stored[..end].to_vec()).collect();
        damaged.extend((0..stored.len()).flat_map(|at| {
            [1, 0x10, 0x80, 0xff].map(|mask| {
                let mut damaged = stored.clone();
                damaged[at] ^= mask;
                damaged
            })
        }));
        for block in damaged {
            let mut whole = alloc::vec![0; 1 << 17];
            let found = lz4_flex::block::decompress_into(&block, &mut whole);
            let found = found.ok().map(|len| &whole[..len]);
            assert_eq!(in_pieces(&block, 100).ok().as_deref(), found, "{block:02x?}");
        }
    }
}
