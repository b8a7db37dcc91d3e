//! How a zstd block is written once its sequences are found.

use crate::finder::Search;
use crate::frame::{self, BLOCK_HEADER, BlockType, HEADER_MAX};
use crate::sequences::{self, PREDEFINED, Sequences};

/// What an [`Encoder`](crate::Encoder) does with literals and sequences: [`Predefined`] or [`Fitted`](crate::Fitted).
pub trait Coding: Sized + sealed::Coding {}

impl Coding for Predefined {}

pub(crate) mod sealed {
    use super::{Block, Search};

    pub trait Coding {
        /// The state before [`start`](Self::start), all zero.
        const NEW: Self;
        /// The matches that pay.
        const SEARCH: Search;
        /// Whether literals without a match can be coded: else such stretches become raw blocks.
        const CODES_LITERALS: bool;
        /// Bytes that a block needs between literals and sequences: the bit stream of the sequences starts there,
        /// behind descriptions of tables.
        const GAP: usize;
        /// Starts a frame.
        fn start(&mut self);
        /// Writes a block to `out`, behind room for the frame header; its sequences are stored at the end there.
        /// Returns where it starts and ends; `None` if it is better stored.
        fn write(&mut self, block: Block<'_>, out: &mut [u8]) -> Option<(usize, usize)>;
    }
}

/// A block whose sequences are found.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// The window up to the end of the block.
    pub(crate) data: &'a [u8],
    /// Bytes of content.
    pub(crate) size: usize,
    pub(crate) sequences: Sequences,
    /// All literals of the block.
    pub(crate) literals: usize,
    /// Literals behind the last sequence.
    pub(crate) tail: usize,
    pub(crate) last: bool,
}

/// Where blocks start in the output, behind the longest frame header.
pub(crate) const BLOCK: usize = HEADER_MAX;
/// Where literals start, behind the longest headers of block and literals section.
pub(crate) const LITERALS: usize = BLOCK + BLOCK_HEADER + 5;

/// Types of literals sections, by their number in the section's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiteralsType {
    Raw = 0,
    Rle = 1,
    Compressed = 2,
    /// Compressed by the codes of an earlier block.
    Treeless = 3,
}

/// The runs of literals in a block, last one first.
pub(crate) struct LiteralRuns<'a> {
    data: &'a [u8],
    sequences: Sequences,
    /// Where the next run ends, and its length.
    next: Option<(usize, usize)>,
}

impl<'a> LiteralRuns<'a> {
    /// The next run, given the output that the sequences are stored in.
    pub(crate) fn next(&mut self, out: &[u8]) -> Option<&'a [u8]> {
        let (end, literals) = self.next?;
        let start = end.checked_sub(literals)?;
        let sequence = self.sequences.pop(out);
        self.next = sequence.and_then(|sequence| {
            Some((start.checked_sub(sequence.match_length())?, sequence.literals as usize))
        });
        self.data.get(start..end)
    }
}

impl Block<'_> {
    pub(crate) fn literal_runs(&self) -> LiteralRuns<'_> {
        LiteralRuns {
            data: self.data,
            sequences: self.sequences.clone(),
            next: Some((self.data.len(), self.tail)),
        }
    }

    /// Writes the literals as they are, from byte [`LITERALS`] of `out` on, and the header of their section before
    /// them. Returns where the section starts and ends.
    pub(crate) fn write_raw_literals(&self, out: &mut [u8]) -> Option<(usize, usize)> {
        let end = LITERALS + self.literals;
        let mut at = end;
        let mut runs = self.literal_runs();
        while let Some(run) = runs.next(out) {
            let start = at.checked_sub(run.len())?;
            out.get_mut(start..at)?.iter_mut().zip(run).for_each(|(to, byte)| *to = *byte);
            at = start;
        }
        Some((self.write_literals_header(out, LiteralsType::Raw)?, end))
    }

    /// Writes the header of a section of raw or RLE literals before byte [`LITERALS`]; returns where it starts.
    pub(crate) fn write_literals_header(&self, out: &mut [u8], kind: LiteralsType) -> Option<usize> {
        let size = self.literals as u32;
        let (len, header) = match size {
            0..=31 => (1, size << 3),
            32..=4095 => (2, size << 4 | 0b01 << 2),
            _ => (3, size << 4 | 0b11 << 2),
        };
        let start = LITERALS - len;
        let header = (header | kind as u32).to_le_bytes();
        out.get_mut(start..LITERALS)?.iter_mut().zip(header).for_each(|(to, byte)| *to = byte);
        Some(start)
    }

    /// Writes the header of the block before its content at `start..end`, if it is shorter than it was.
    pub(crate) fn write_header(&self, out: &mut [u8], start: usize, end: usize) -> Option<(usize, usize)> {
        // Blocks that save no more than their header would let the frame grow beyond any bound.
        if end - start + if self.last { 1 } else { BLOCK_HEADER } > self.size {
            return None;
        }
        let header = frame::block_header(BlockType::Compressed, end - start, self.last);
        let start = start - BLOCK_HEADER;
        *out.get_mut(start..)?.first_chunk_mut()? = header;
        Some((start, end))
    }
}

/// Writes the number of sequences from byte `at` on; returns where it ends.
pub(crate) fn write_count(out: &mut [u8], at: usize, count: usize) -> Option<usize> {
    let [low, high, ..] = count.to_le_bytes();
    if count < 128 {
        *out.get_mut(at)? = low;
        Some(at + 1)
    } else {
        *out.get_mut(at..)?.first_chunk_mut()? = [high + 128, low];
        Some(at + 2)
    }
}

/// Raw literals, and sequences coded by the format's default tables: nothing to fit, nothing to describe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Predefined;

impl sealed::Coding for Predefined {
    const NEW: Self = Self;
    const SEARCH: Search = Search { shortest: 6, delay: 12 };
    const CODES_LITERALS: bool = false;
    const GAP: usize = 24;

    fn start(&mut self) {}

    fn write(&mut self, block: Block<'_>, out: &mut [u8]) -> Option<(usize, usize)> {
        if block.sequences.count == 0 {
            return None;
        }
        let (start, end) = block.write_raw_literals(out)?;
        let modes = write_count(out, end, block.sequences.count)?;
        *out.get_mut(modes)? = 0;
        let end = sequences::encode(block.sequences.clone(), &PREDEFINED, out, modes + 1)?;
        block.write_header(out, start, end)
    }
}
