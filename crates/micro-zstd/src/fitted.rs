//! The coding of the level *entropy*: Huffman codes for literals, and tables fitted to the sequences.

use crate::bits::BitWriter;
use crate::coding::{Block, Coding, LITERALS, LiteralsType, Written, fits_at_once, sealed, write_count};
use crate::distribution::Distribution;
use crate::finder::Search;
use crate::fse::{self, ACCURACY_MAX, Table, Transform};
use crate::huffman::{self, Counts};
use crate::sequences::{
    self, Codes, LITERALS_CODES, MATCH_CODES, OFFSET_CODES, PREDEFINED, STORED_MAX, Sequences, Tables,
};

/// Huffman-coded literals, and for sequences whichever tables make the block smallest: those of the format, new
/// ones that are described in the block, or those of the block before.
#[derive(Clone, Debug)]
pub struct Fitted {
    huffman: huffman::Codes,
    /// The decoder has the Huffman codes.
    has_huffman: bool,
    /// Bits that they took for 256 of the literals that they were made for.
    rate: u32,
    literals: Kind<[Transform; LITERALS_CODES]>,
    match_length: Kind<[Transform; MATCH_CODES]>,
    offset: Kind<[Transform; OFFSET_CODES]>,
}

impl Coding for Fitted {}

/// Fewer literals than this are not worth a description of codes.
const FEW_LITERALS: usize = 12;
/// Where more different literals than this occur, all others may.
const MANY: u32 = 128;
/// More literals than this must be in four streams.
const SINGLE_STREAM: usize = 1023;
/// Bytes of the sizes of the first three streams.
const JUMP_TABLE: usize = 6;

impl sealed::Coding for Fitted {
    const NEW: Self = Self {
        huffman: huffman::Codes::NEW,
        has_huffman: false,
        rate: 0,
        literals: Kind::NEW,
        match_length: Kind::NEW,
        offset: Kind::NEW,
    };
    const SEARCH: Search = Search { shortest: 6, shortest_alone: 6, stride: 1, delay: 2, patience: 32 };
    const GAP: usize = 80;

    fn start(&mut self) {
        self.forget();
    }

    #[inline(always)]
    fn fits(literals: usize, sequences: &Sequences, _: usize) -> bool {
        fits_at_once(literals, sequences, Self::GAP + STORED_MAX)
    }

    fn write(&mut self, block: Block<'_>, out: &mut [u8]) -> Option<Written> {
        let written = self.try_write(&block, out);
        if written.is_none() {
            self.forget();
        }
        written
    }
}

impl Fitted {
    /// The decoder knows none of the tables.
    fn forget(&mut self) {
        self.has_huffman = false;
        self.literals.is_known = false;
        self.match_length.is_known = false;
        self.offset.is_known = false;
    }

    fn try_write(&mut self, block: &Block<'_>, out: &mut [u8]) -> Option<Written> {
        let (start, end) = match self.write_literals(block, out) {
            Some((kind, start, end)) => {
                self.has_huffman |= kind == LiteralsType::Compressed;
                (start, end)
            }
            None if block.parts.sequences.count == 0 => return None,
            None => block.write_raw_literals(out, block.parts.literals)?,
        };
        let end = self.write_sequences(block, out, end)?;
        let start = block.write_header(out, start, end - start)?;
        Some(Written { start, end, later: None })
    }

    /// Writes the literals section if they can be shortened; returns its type, and where it starts and ends.
    fn write_literals(&mut self, block: &Block<'_>, out: &mut [u8]) -> Option<(LiteralsType, usize, usize)> {
        let count = block.parts.literals;
        if count < FEW_LITERALS {
            return None;
        }
        let mut counts = [0; 256];
        let mut runs = block.literal_runs();
        while let Some(run) = runs.next(out) {
            for literal in run {
                counts[usize::from(*literal)] += 1;
            }
        }
        if let Some(byte) = counts.iter().position(|of| usize::from(*of) == count) {
            *out.get_mut(LITERALS)? = byte as u8;
            let start = block.write_literals_header(out, LiteralsType::Rle)?;
            return Some((LiteralsType::Rle, start, LITERALS + 1));
        }
        let (kind, described) = self.choose_codes(&mut counts, count, out)?;
        let end = if count <= SINGLE_STREAM {
            self.write_stream(block, out, 0, count, described)?
        } else {
            self.write_streams(block, out, described)?
        };
        let start = write_compressed_header(out, kind, count, end - LITERALS)?;
        (end - start < count).then_some((kind, start, end))
    }

    /// Decides between the codes of the block before and new ones, which it describes in `out`: returns where the
    /// description ends. Overwrites the counts.
    fn choose_codes(
        &mut self,
        counts: &mut Counts,
        count: usize,
        out: &mut [u8],
    ) -> Option<(LiteralsType, usize)> {
        let known = if self.has_huffman { self.huffman.cost(counts) } else { None };
        if known.is_some_and(|known| known * 32 <= count as u32 * self.rate / 256 * 33) {
            return Some((LiteralsType::Treeless, LITERALS));
        }
        let (ideal, different) = huffman::ideal_cost(counts, count as u32);
        // About what a description takes.
        let fresh = ideal + 2 * different + 100;
        if known.unwrap_or(fresh).min(fresh) as usize >= 8 * count {
            return None;
        }
        // Known codes save the work as well.
        if known.is_some_and(|known| known <= fresh + fresh / 64) {
            return Some((LiteralsType::Treeless, LITERALS));
        }
        if different > MANY {
            // The few bytes that did not occur will: with codes for all, the next blocks need no new ones.
            counts.iter_mut().filter(|count| **count == 0).for_each(|count| *count = 1);
        }
        // The decoder does not have them before the block is out.
        self.has_huffman = false;
        if !self.huffman.build(counts) {
            return None;
        }
        self.rate = ideal * 256 / count.max(1) as u32;
        let described = self.huffman.describe(out, LITERALS)?;
        Some((LiteralsType::Compressed, described))
    }

    /// Writes four streams behind their sizes.
    fn write_streams(&self, block: &Block<'_>, out: &mut [u8], at: usize) -> Option<usize> {
        let quarter = block.parts.literals.div_ceil(4);
        let mut end = at + JUMP_TABLE;
        for stream in 0..4 {
            let start = end;
            let from = stream * quarter;
            let count = quarter.min(block.parts.literals - from);
            end = self.write_stream(block, out, from, count, start)?;
            if stream < 3 {
                let size = u16::try_from(end - start).ok()?;
                *out.get_mut(at + 2 * stream..)?.first_chunk_mut()? = size.to_le_bytes();
            }
        }
        Some(end)
    }

    /// Writes a stream of `count` literals from number `from` on.
    fn write_stream(
        &self,
        block: &Block<'_>,
        out: &mut [u8],
        from: usize,
        count: usize,
        at: usize,
    ) -> Option<usize> {
        let limit = block.parts.sequences.at;
        let mut writer = BitWriter::new(at);
        let mut runs = block.parts.runs(block.data, from, count);
        while let Some(run) = runs.next(out) {
            writer = self.huffman.encode(run, writer, out.get_mut(..limit)?)?;
        }
        writer.finish(out.get_mut(..limit)?)
    }

    /// Writes the sequences section from byte `at` on, and returns where it ends.
    fn write_sequences(&mut self, block: &Block<'_>, out: &mut [u8], at: usize) -> Option<usize> {
        let modes = write_count(out, at, block.parts.sequences.count)?;
        if block.parts.sequences.count == 0 {
            return Some(modes);
        }
        let counts = CodeCounts::of(block.parts.sequences.clone(), out)?;
        // Descriptions must not overwrite the sequences.
        let front = out.get_mut(..block.parts.sequences.at)?;
        let at = modes + 1;
        let choose = Kind::choose;
        let (literals, at) = choose(&mut self.literals, PREDEFINED.literals, &counts.literals, front, at)?;
        let (offset, at) = choose(&mut self.offset, PREDEFINED.offset, &counts.offset, front, at)?;
        let (match_length, at) =
            choose(&mut self.match_length, PREDEFINED.match_length, &counts.match_length, front, at)?;
        *front.get_mut(modes)? = (literals as u8) << 6 | (offset as u8) << 4 | (match_length as u8) << 2;
        let table = Kind::table;
        let tables = Tables {
            literals: table(&self.literals, literals, PREDEFINED.literals),
            match_length: table(&self.match_length, match_length, PREDEFINED.match_length),
            offset: table(&self.offset, offset, PREDEFINED.offset),
        };
        sequences::encode(block.parts.sequences.clone(), &tables, out, at, false)
    }
}

/// Writes the header of a section of Huffman-coded literals before byte [`LITERALS`]; returns where it starts.
fn write_compressed_header(out: &mut [u8], kind: LiteralsType, count: usize, size: usize) -> Option<usize> {
    let (format, bits) = match count.max(size) {
        _ if count <= SINGLE_STREAM && size <= SINGLE_STREAM => (0, 10),
        ..=0x3FFF => (2, 14),
        _ => (3, 18),
    };
    let header = (size as u64) << (4 + bits) | (count as u64) << 4 | format << 2 | kind as u64;
    let len = (4 + 2 * bits) / 8;
    let start = LITERALS - len;
    out.get_mut(start..LITERALS)?.iter_mut().zip(header.to_le_bytes()).for_each(|(to, byte)| *to = byte);
    Some(start)
}

/// How often each code occurs.
struct CodeCounts {
    literals: [u16; LITERALS_CODES],
    match_length: [u16; MATCH_CODES],
    offset: [u16; OFFSET_CODES],
}

impl CodeCounts {
    fn of(mut sequences: Sequences, out: &[u8]) -> Option<Self> {
        let mut counts =
            Self { literals: [0; LITERALS_CODES], match_length: [0; MATCH_CODES], offset: [0; OFFSET_CODES] };
        while let Some(sequence) = sequences.pop(out) {
            let codes = Codes::of(&sequence);
            *counts.literals.get_mut(usize::from(codes.literals))? += 1;
            *counts.match_length.get_mut(usize::from(codes.match_length))? += 1;
            *counts.offset.get_mut(usize::from(codes.offset))? += 1;
        }
        Some(counts)
    }
}

/// How the table of a kind of codes is known to the decoder, by its number in the sequences section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Predefined = 0,
    /// There is only one code.
    Rle = 1,
    /// It is described.
    Fse = 2,
    Repeat = 3,
}

/// The table of a kind of codes.
#[derive(Clone, Debug)]
struct Kind<S: ?Sized = [Transform]> {
    /// It is what the block before used.
    is_known: bool,
    table: Table<S>,
}

impl<const N: usize> Kind<[Transform; N]> {
    const NEW: Self = Self { is_known: false, table: Table::NEW };
}

impl Kind {
    /// Makes the table ready that is cheapest for codes of these counts. Writes its description, if it needs one,
    /// from byte `at` on; returns where it ends.
    #[inline(never)]
    fn choose(
        &mut self,
        predefined: &Table,
        counts: &[u16],
        out: &mut [u8],
        at: usize,
    ) -> Option<(Mode, usize)> {
        let default = predefined.cost(counts)?;
        let known = if self.is_known { self.table.cost(counts) } else { None };
        let mut best = (Mode::Predefined, default);
        if let Some(cost) = known.filter(|cost| *cost <= default) {
            best = (Mode::Repeat, cost);
        }
        let mut present = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        if let (Some((code, _)), None) = (present.next(), present.next()) {
            if best.1 <= 8 << 8 {
                return Some((self.used(best.0), at));
            }
            *out.get_mut(at)? = code as u8;
            self.table.clear();
            self.is_known = false;
            return Some((Mode::Rle, at + 1));
        }
        if let Some(fitted) = Distribution::fit(counts, ACCURACY_MAX)
            && let Some(end) = fitted.describe(out, at)
            && fitted.cost(counts) + ((end - at) << 11) as u32 <= best.1
        {
            fse::build(&mut self.table, &fitted.of, fitted.accuracy);
            return Some((self.used(Mode::Fse), end));
        }
        Some((self.used(best.0), at))
    }

    fn used(&mut self, mode: Mode) -> Mode {
        self.is_known = matches!(mode, Mode::Fse | Mode::Repeat);
        mode
    }

    fn table<'a>(&'a self, mode: Mode, predefined: &'a Table) -> &'a Table {
        if mode == Mode::Predefined { predefined } else { &self.table }
    }
}
