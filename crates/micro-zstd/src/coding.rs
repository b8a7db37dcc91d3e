//! How a zstd block is written once its sequences are found.

use crate::finder::Search;
use crate::frame::{self, BLOCK_HEADER, BlockType, HEADER_MAX};
use crate::sequences::{self, PREDEFINED, STORED_MAX, Sequences};

/// What an [`Encoder`](crate::Encoder) does with literals and sequences: [`Predefined`] or [`Fitted`](crate::Fitted).
pub trait Coding: Sized + sealed::Coding {}

impl Coding for Predefined {}

pub(crate) mod sealed {
    use super::{Block, Search, Written};
    use crate::sequences::Sequences;

    pub trait Coding {
        /// The state before [`start`](Self::start), all zero.
        const NEW: Self;
        /// The matches that pay.
        const SEARCH: Search;
        /// Bytes that a block needs between literals and sequences: the bit stream of the sequences starts there,
        /// behind descriptions of tables.
        const GAP: usize;
        /// Starts a frame.
        fn start(&mut self);
        /// Whether an output buffer of `room` bytes holds a block of so many literals, and these sequences and
        /// one more.
        fn fits(literals: usize, sequences: &Sequences, room: usize) -> bool;
        /// Writes a block to `out`, behind room for the frame header; its sequences are stored at the end there.
        /// `None` if it is better stored.
        fn write(&mut self, block: Block<'_>, out: &mut [u8]) -> Option<Written>;
    }
}

/// What a block is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) sequences: Sequences,
    /// All literals of the block.
    pub(crate) literals: usize,
    /// Literals behind the last sequence.
    pub(crate) tail: usize,
}

/// A block whose sequences are found.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// The window up to the end of the block.
    pub(crate) data: &'a [u8],
    /// Bytes of content.
    pub(crate) size: usize,
    pub(crate) parts: Parts,
    pub(crate) last: bool,
}

/// A block that is written: where it starts and ends in the output, or the front of it.
#[derive(Clone, Debug)]
pub struct Written {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) later: Option<Later>,
}

/// What comes behind the front of a block: more literals, for which the output has no room at once, then the
/// sequences section, which stands in the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Later {
    parts: Parts,
    /// Literals that are out.
    done: usize,
    section: (usize, usize),
}

impl Later {
    /// Writes the next literals to `out`: returns where they start and what follows them ends, and whether that
    /// is the end of the block.
    pub(crate) fn write(&mut self, data: &[u8], out: &mut [u8]) -> Option<(usize, usize, bool)> {
        let (at, end) = self.section;
        let count = stage(out.len()).min(self.parts.literals - self.done);
        self.parts.copy_literals(data, self.done, count, out, at)?;
        self.done += count;
        let is_last = self.done == self.parts.literals;
        Some((at - count, if is_last { end } else { at }, is_last))
    }
}

/// How many literals at once go through an output buffer of `room` bytes that does not hold them all.
const fn stage(room: usize) -> usize {
    room / 4
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

/// Runs of literals in a block, last one first.
pub(crate) struct LiteralRuns<'a> {
    data: &'a [u8],
    sequences: Sequences,
    /// Where the next run ends, and its length.
    next: Option<(usize, usize)>,
    /// Literals to skip, and then to return.
    skip: usize,
    count: usize,
}

impl<'a> LiteralRuns<'a> {
    /// The next run, given the output that the sequences are stored in.
    pub(crate) fn next(&mut self, out: &[u8]) -> Option<&'a [u8]> {
        while self.count > 0 {
            let (end, literals) = self.next?;
            let start = end.checked_sub(literals)?;
            let sequence = self.sequences.pop(out);
            self.next = sequence.and_then(|sequence| {
                Some((start.checked_sub(sequence.match_length())?, sequence.literals as usize))
            });
            if let Some(literals @ 1..) = literals.checked_sub(self.skip) {
                let end = start + literals;
                let taken = literals.min(self.count);
                self.skip = 0;
                self.count -= taken;
                return self.data.get(end - taken..end);
            }
            self.skip -= literals;
        }
        None
    }
}

impl Parts {
    /// The runs of `count` literals from number `from` on; `data` ends with the block.
    pub(crate) fn runs<'a>(&self, data: &'a [u8], from: usize, count: usize) -> LiteralRuns<'a> {
        LiteralRuns {
            data,
            sequences: self.sequences.clone(),
            next: Some((data.len(), self.tail)),
            skip: self.literals.saturating_sub(from + count),
            count,
        }
    }

    /// Copies `count` literals from number `from` on to `out`, where they end at byte `end`.
    fn copy_literals(
        &self,
        data: &[u8],
        from: usize,
        count: usize,
        out: &mut [u8],
        end: usize,
    ) -> Option<()> {
        let mut at = end;
        let mut runs = self.runs(data, from, count);
        while let Some(run) = runs.next(out) {
            let start = at.checked_sub(run.len())?;
            out.get_mut(start..)?.get_mut(..run.len())?.copy_from_slice(run);
            at = start;
        }
        Some(())
    }
}

impl Block<'_> {
    /// The runs of all literals.
    pub(crate) fn literal_runs(&self) -> LiteralRuns<'_> {
        self.parts.runs(self.data, 0, self.parts.literals)
    }

    /// Writes the first `count` literals as they are, from byte [`LITERALS`] of `out` on, and the header of the
    /// section of all of them before that. Returns where the section starts and these literals end.
    pub(crate) fn write_raw_literals(&self, out: &mut [u8], count: usize) -> Option<(usize, usize)> {
        let end = LITERALS + count;
        self.parts.copy_literals(self.data, 0, count, out, end)?;
        Some((self.write_literals_header(out, LiteralsType::Raw)?, end))
    }

    /// Writes the header of a section of raw or RLE literals before byte [`LITERALS`]; returns where it starts.
    pub(crate) fn write_literals_header(&self, out: &mut [u8], kind: LiteralsType) -> Option<usize> {
        let size = self.parts.literals as u32;
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

    /// Writes the header of the block before its content of `size` bytes from `start` on, if it is shorter than it
    /// was; returns where the header starts.
    pub(crate) fn write_header(&self, out: &mut [u8], start: usize, size: usize) -> Option<usize> {
        // Blocks that save no more than their header would let the frame grow beyond any bound.
        if size + if self.last { 1 } else { BLOCK_HEADER } > self.size {
            return None;
        }
        let header = frame::block_header(BlockType::Compressed, size, self.last);
        let start = start - BLOCK_HEADER;
        *out.get_mut(start..)?.first_chunk_mut()? = header;
        Some(start)
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

/// Whether an output buffer holds so many literals and these sequences, and `more` bytes between them.
#[inline(always)]
pub(crate) fn fits_at_once(literals: usize, sequences: &Sequences, more: usize) -> bool {
    // Half a byte more for each sequence: the bit stream must not run into those that it is yet to code.
    LITERALS + literals + more + sequences.count / 2 <= sequences.at
}

/// Raw literals, and sequences coded by the format's default tables: nothing to fit, nothing to describe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Predefined;

impl sealed::Coding for Predefined {
    const NEW: Self = Self;
    const SEARCH: Search = Search { shortest: 6, shortest_alone: 4, stride: 2, delay: 12, patience: 4096 };
    const GAP: usize = 24;

    fn start(&mut self) {}

    #[inline(always)]
    fn fits(literals: usize, sequences: &Sequences, room: usize) -> bool {
        fits_at_once(literals, sequences, Self::GAP + STORED_MAX) || {
            // The stored sequences stay for later literals: so many bytes for the bit stream of each.
            LITERALS + stage(room) + Self::GAP + STORED_MAX + 4 * sequences.count <= sequences.at
        }
    }

    fn write(&mut self, block: Block<'_>, out: &mut [u8]) -> Option<Written> {
        let parts = &block.parts;
        if parts.sequences.count == 0 {
            return None;
        }
        let at_once = fits_at_once(parts.literals, &parts.sequences, Self::GAP - 1);
        let front = if at_once { parts.literals } else { stage(out.len()) };
        let (start, at) = block.write_raw_literals(out, front)?;
        let modes = write_count(out, at, parts.sequences.count)?;
        *out.get_mut(modes)? = 0;
        let end = sequences::encode(parts.sequences.clone(), &PREDEFINED, out, modes + 1, !at_once)?;
        let start = block.write_header(out, start, end - start + parts.literals - front)?;
        if at_once {
            return Some(Written { start, end, later: None });
        }
        let later = Later { parts: block.parts, done: front, section: (at, end) };
        Some(Written { start, end: at, later: Some(later) })
    }
}
