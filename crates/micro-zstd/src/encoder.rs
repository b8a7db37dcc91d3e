//! The levels with a window: *fast* and *entropy*.

use crate::checksum::{Checksum, NoChecksum};
use crate::coding::{Block, Coding, LITERALS, Later, Parts, Written};
use crate::finder::{Finder, Match};
use crate::frame::{self, BLOCK_MAX, BlockType, CHECKSUM, HEADER_MAX};
use crate::run::run_length;
use crate::sequences::{Repeats, STORED_MAX, Sequences};
use crate::{Encoded, FrameEncoder};

/// Replaces what the window of the last `WINDOW` bytes holds already by references to it.
///
/// Blocks end where the window is full or `OUT`, the buffer of a block's output, may be. A block that does not
/// shrink is stored from the window; a long run of one byte at the start of a block is counted without a copy and
/// becomes RLE blocks. `HASH` is the number of entries of the hash table, of two bytes each.
#[derive(Clone, Debug)]
pub struct Encoder<K, const WINDOW: usize, const HASH: usize, const OUT: usize, C = NoChecksum>
where
    K: Coding,
    C: Checksum,
{
    stage: Stage,
    /// The frame header is not out.
    is_first: bool,
    /// The hash table holds what an earlier frame left there.
    is_stale: bool,
    content_size: Option<u64>,
    /// The length of the run that starts a block, not yet in the window; its byte.
    run: usize,
    byte: u8,
    window: [u8; WINDOW],
    /// Where the block starts in the window that is not out yet.
    start: usize,
    /// Where the content in the window ends.
    end: usize,
    finder: Finder<HASH>,
    repeats: Repeats,
    /// What was found for the next block.
    found: Option<Match>,
    out: [u8; OUT],
    rest: Rest,
    coding: K,
    checksum: C,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No frame is open.
    Idle,
    Open,
    /// The last block is out, the checksum is not.
    Checksum,
}

/// What is not out yet of the last block.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    /// The content of a stored block, from here in the window to where the next block starts.
    Content(usize),
    /// Literals, and what follows them.
    Literals(Later),
}

/// A run of this length at the start of a frame is worth a block of its own.
const LONG_RUN: usize = 128;

/// A block whose sequences are found, and where it ends in the window.
struct Parsed {
    parts: Parts,
    end: usize,
}

impl<K, const WINDOW: usize, const HASH: usize, const OUT: usize, C> Encoder<K, WINDOW, HASH, OUT, C>
where
    K: Coding,
    C: Checksum,
{
    /// The RAM that an encoder takes, in bytes.
    pub const RAM: usize = size_of::<Self>();
    /// Bytes of history that blocks refer to after the first one.
    const HISTORY: usize = {
        assert!(WINDOW >= 256 && WINDOW <= 1 << 15, "a window has 256 bytes to 32 KiB");
        assert!(OUT >= 128 && OUT <= 1 << 16, "an output buffer has 128 bytes to 64 KiB");
        WINDOW / 2
    };
    /// Literals and sequences that a block has room for, in bytes.
    const ROOM: usize = OUT - LITERALS - K::GAP - STORED_MAX;

    /// An encoder without an open frame, all of its bytes zero. Other sizes do not compile:
    ///
    /// ```compile_fail,E0080
    /// let _ = micro_zstd::Fast::<128, 256, 512>::new();
    /// ```
    ///
    /// ```compile_fail,E0080
    /// let _ = micro_zstd::Fast::<2048, 255, 512>::new();
    /// ```
    ///
    /// ```compile_fail,E0080
    /// let _ = micro_zstd::Entropy::<2048, 256, 127>::new();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(Self::HISTORY > 0 && Self::ROOM > 0 && Finder::<HASH>::LOG > 0) };
        Self {
            stage: Stage::Idle,
            is_first: false,
            is_stale: false,
            content_size: None,
            run: 0,
            byte: 0,
            window: [0; WINDOW],
            start: 0,
            end: 0,
            finder: Finder::NEW,
            repeats: Repeats::NEW,
            found: None,
            out: [0; OUT],
            rest: Rest::Nothing,
            coding: K::NEW,
            checksum: C::NEW,
        }
    }

    /// The bytes of `out` from `start` to `end`, the frame header put before them if it is not out yet.
    fn output(&mut self, start: usize, end: usize) -> &[u8] {
        let mut from = start;
        if core::mem::take(&mut self.is_first) {
            let mut header = [0; HEADER_MAX];
            let len = frame::header(&mut header, self.content_size, 17, C::PRESENT);
            from = start.saturating_sub(len);
            let slot = self.out.get_mut(from..start).unwrap_or_default();
            slot.iter_mut().zip(header).for_each(|(to, byte)| *to = byte);
        }
        self.out.get(from..end).unwrap_or_default()
    }

    /// A block of which `header` is all, or which the window holds the rest of.
    fn output_bytes<const LEN: usize>(&mut self, header: [u8; LEN]) -> &[u8] {
        if let Some(slot) = self.out.get_mut(HEADER_MAX..).and_then(|rest| rest.first_chunk_mut()) {
            *slot = header;
        }
        self.output(HEADER_MAX, HEADER_MAX + LEN)
    }

    /// The run as a block. The window is empty afterwards.
    fn run_block(&mut self, last: bool) -> &[u8] {
        let [a, b, c] = frame::block_header(BlockType::Rle, self.run, last);
        self.run = 0;
        self.drop_front(self.end);
        self.output_bytes([a, b, c, self.byte])
    }

    /// Puts the run into the window: it is short.
    fn write_run(&mut self) {
        let end = self.end + self.run;
        self.window.get_mut(self.end..end).unwrap_or_default().fill(self.byte);
        self.end = end;
        self.run = 0;
    }

    /// Removes `count` bytes from the front of the window, all of which are out: at least half of them.
    fn drop_front(&mut self, count: usize) {
        let kept = self.end.saturating_sub(count);
        // The halves do not overlap, so that this is a plain copy.
        if count > 0
            && let Some((front, back)) = self.window.split_at_mut_checked(count)
            && let (Some(front), Some(back)) = (front.get_mut(..kept), back.get(..kept))
        {
            front.copy_from_slice(back);
            self.finder.slide(count);
            self.start = kept;
            self.end = kept;
        }
    }

    /// Copies input to the window; returns how many bytes.
    fn fill(&mut self, input: &[u8]) -> usize {
        let free = self.window.get_mut(self.end..).unwrap_or_default();
        let input = input.get(..free.len()).unwrap_or(input);
        if let Some(free) = free.get_mut(..input.len()) {
            free.copy_from_slice(input);
        }
        self.end += input.len();
        input.len()
    }

    /// Finds the sequences of the next block.
    fn parse(&mut self) -> Parsed {
        let data = self.window.get(..self.end).unwrap_or_default();
        let nothing = Match { at: data.len(), length: 0, offset: 0 };
        let mut sequences = Sequences { count: 0, at: OUT };
        let mut anchor = self.start;
        let mut literals = 0;
        loop {
            let found = self
                .found
                .take()
                .unwrap_or_else(|| self.finder.find::<K>(data, anchor, self.repeats).unwrap_or(nothing));
            let run = found.at - anchor;
            if !K::fits(literals + run, &sequences, OUT) {
                let tail = if sequences.count > 0 { 0 } else { Self::ROOM.min(run) };
                let end = anchor + tail;
                self.found = (end < data.len()).then_some(found);
                return Parsed { parts: Parts { sequences, literals: literals + tail, tail }, end };
            }
            literals += run;
            if found.length == 0 {
                return Parsed { parts: Parts { sequences, literals, tail: run }, end: data.len() };
            }
            sequences.push(&mut self.out, run, found.length, found.offset, &mut self.repeats);
            self.finder.enter_match::<K>(data, &found);
            anchor = found.at + found.length;
        }
    }

    /// The next block of what is in the window.
    fn block(&mut self, finishing: bool) -> &[u8] {
        if core::mem::take(&mut self.is_stale) {
            self.finder.clear();
        }
        let repeats = self.repeats;
        let Parsed { parts, mut end } = self.parse();
        let last = finishing && end == self.end;
        let data = self.window.get(..end).unwrap_or_default();
        let block = Block { data, size: end - self.start, parts, last };
        if let Some(Written { start, end: to, later }) = self.coding.write(block, &mut self.out) {
            self.start = end;
            self.rest = later.map_or(Rest::Nothing, Rest::Literals);
            self.end_frame_if(last);
            return self.output(start, to);
        }
        self.repeats = repeats;
        // What follows up to the next match would be stored as well.
        end = self.found.map_or(end, |found| found.at);
        let last = finishing && end == self.end;
        self.found = self.found.filter(|_| end < self.end);
        let header = frame::block_header(BlockType::Raw, end - self.start, last);
        self.rest = Rest::Content(self.start);
        self.start = end;
        self.end_frame_if(last);
        self.output_bytes(header)
    }

    fn end_frame_if(&mut self, last: bool) {
        if last {
            self.stage = if C::PRESENT { Stage::Checksum } else { Stage::Idle };
        }
    }

    /// The next piece of what is not out yet of the last block.
    fn rest(&mut self) -> Option<&[u8]> {
        match &mut self.rest {
            Rest::Nothing => None,
            Rest::Content(from) => {
                let content = self.window.get(*from..self.start);
                self.rest = Rest::Nothing;
                content
            }
            Rest::Literals(later) => {
                let data = self.window.get(..self.start)?;
                let (from, to, is_last) = later.write(data, &mut self.out)?;
                if is_last {
                    self.rest = Rest::Nothing;
                }
                self.out.get(from..to)
            }
        }
    }
}

impl<K, const WINDOW: usize, const HASH: usize, const OUT: usize, C> Default
    for Encoder<K, WINDOW, HASH, OUT, C>
where
    K: Coding,
    C: Checksum,
{
    fn default() -> Self {
        Self::new()
    }
}

impl<K, const WINDOW: usize, const HASH: usize, const OUT: usize, C> FrameEncoder
    for Encoder<K, WINDOW, HASH, OUT, C>
where
    K: Coding,
    C: Checksum,
{
    fn start(&mut self, content_size: Option<u64>) {
        self.stage = Stage::Open;
        self.is_first = true;
        self.is_stale = true;
        self.content_size = content_size;
        self.run = 0;
        (self.start, self.end) = (0, 0);
        self.rest = Rest::Nothing;
        self.repeats = Repeats::START;
        self.found = None;
        self.coding.start();
        self.checksum.start();
    }

    fn encode<'a>(&'a mut self, input: &'a [u8]) -> Encoded<'a> {
        if self.rest != Rest::Nothing {
            return Encoded { taken: 0, output: self.rest().unwrap_or_default() };
        }
        if self.stage != Stage::Open {
            self.start(None);
        }
        let mut taken = 0;
        while let Some(rest @ [first, ..]) = input.get(taken..) {
            if self.start < self.end {
                let filled = self.fill(rest);
                taken += filled;
                if filled == 0 {
                    self.checksum.update(input.get(..taken).unwrap_or_default());
                    return Encoded { taken, output: self.block(false) };
                }
                continue;
            }
            // Nothing is left of the block before: this one starts with a run, if of one byte only.
            if self.run == 0 {
                self.byte = *first;
            }
            let most = BLOCK_MAX - self.run;
            let run = run_length(rest.get(..most).unwrap_or(rest), self.byte);
            self.run += run;
            taken += run;
            if run < rest.len() {
                let long = if self.end == 0 { LONG_RUN } else { Self::HISTORY };
                if self.run >= long {
                    self.checksum.update(input.get(..taken).unwrap_or_default());
                    return Encoded { taken, output: self.run_block(false) };
                }
                self.drop_front(self.end.saturating_sub(Self::HISTORY));
                self.write_run();
            }
        }
        self.checksum.update(input);
        Encoded { taken, output: &[] }
    }

    fn finish(&mut self) -> Option<&[u8]> {
        if self.rest != Rest::Nothing {
            return self.rest();
        }
        match self.stage {
            Stage::Idle => None,
            Stage::Open if self.run > 0 => {
                self.end_frame_if(true);
                Some(self.run_block(true))
            }
            Stage::Open if self.start < self.end => Some(self.block(true)),
            Stage::Open => {
                self.end_frame_if(true);
                Some(self.output_bytes(frame::block_header(BlockType::Raw, 0, true)))
            }
            Stage::Checksum => {
                self.stage = Stage::Idle;
                let value = self.checksum.value().to_le_bytes();
                let slot = self.out.first_chunk_mut::<CHECKSUM>()?;
                *slot = value;
                Some(slot)
            }
        }
    }

    fn max_output(len: u64) -> u64 {
        frame::worst_case(len, (Self::ROOM / 2).min(Self::HISTORY) as u64)
    }
}
