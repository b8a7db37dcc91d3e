//! The RAM of a recording, and the writer's state machine up to the end of the last block.

use micro_zstd::{Encoded, FrameEncoder};

use super::RecordError;
use super::gap::{ClosedBlock, Gap, NoGap};
use crate::izs::block_log::{BlockLog, Entry, entry_len, owner_bits};
use crate::izs::json::Placed;
use crate::izs::raw::{Compression, Element, HEADER, INDEX_ENTRY_LEN};
use crate::izs::schema::{Schema, SchemaError, StreamDef};

/// Bytes of the buffer in which indexes and schema are put together.
pub(super) const SCRATCH: usize = 128;

/// What a [`Memory`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum State {
    /// No recording has been started.
    Empty,
    /// A recording without an end: [`finish`](super::Recorder::finish) has not been called.
    Unfinished,
    /// A complete file has been given out, to its last byte; whether it is safe is the sink's to say.
    Finished,
    /// A call was given up half-way. The file ends with what had been written by then.
    Poisoned,
}

/// One stream of a recording.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamState {
    pub(super) def: StreamDef,
    /// Elements taken, those in the stage among them.
    pub(super) elements: u64,
    /// Blocks written.
    pub(super) blocks: u32,
    /// Where its part of the stage starts, and how many bytes in it are used.
    stage_start: u32,
    pub(super) staged: u32,
    pub(super) index_offset: u64,
}

impl StreamState {
    /// All zero, so that a static [`Memory`] takes no flash for its initial value. No stream has blocks of no
    /// elements.
    const UNUSED: Self = Self {
        def: StreamDef { id: 0, element: Element::U8, block: 0, compression: Compression::None, staged: 0 },
        elements: 0,
        blocks: 0,
        stage_start: 0,
        staged: 0,
        index_offset: 0,
    };

    /// Blocks that `elements` elements fill or begin (a valid block is a power of two).
    fn blocks_of(&self, elements: u64) -> u64 {
        let shift = self.def.block.trailing_zeros() & 31;
        (elements >> shift) + u64::from(elements & u64::from(self.def.block).wrapping_sub(1) != 0)
    }

    pub(super) fn stage_free(&self) -> u32 {
        (self.def.staged_bytes() as u32).saturating_sub(self.staged)
    }

    pub(super) fn placed(&self) -> Placed {
        Placed {
            index_offset: self.index_offset,
            index_size: u64::from(self.blocks) * INDEX_ENTRY_LEN,
            end: self.elements,
        }
    }
}

/// The block that is being written.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenBlock {
    pub(super) stream: u8,
    from_stage: bool,
    pub(super) raw_size: u32,
    pub(super) left: u32,
    stored: u32,
}

/// What is being written. A tag of its own keeps [`Free`](Self::Free) all zero.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(super) enum Wire {
    Free = 0,
    Block(OpenBlock),
    Gap(ClosedBlock),
}

/// All RAM of a recording: an encoder `E`, `STREAMS` streams, an index log of `LOG` bytes (2 to 4 a block,
/// none for a single stream with `compress: none`), and `STAGE` bytes for the staged streams.
#[derive(Debug)]
pub struct Memory<E, const STREAMS: usize, const LOG: usize, const STAGE: usize = 0, G = NoGap> {
    encoder: E,
    gap: G,
    pub(super) streams: [StreamState; STREAMS],
    pub(super) log: BlockLog<LOG>,
    stage: [u8; STAGE],
    pub(super) scratch: [u8; SCRATCH],
    pub(super) wire: Wire,
    pub(super) position: u64,
    /// Which of its recordings this is, counted from 1: what belongs to another is told by it.
    pub(super) recording: u16,
    pub(super) state: State,
}

impl<E, const STREAMS: usize, const LOG: usize, const STAGE: usize> Memory<E, STREAMS, LOG, STAGE> {
    /// Memory for recordings without gap records.
    #[must_use]
    pub const fn new(encoder: E) -> Self {
        Self::with_gap(encoder, NoGap)
    }
}

impl<E, const STREAMS: usize, const LOG: usize, const STAGE: usize, G> Memory<E, STREAMS, LOG, STAGE, G> {
    /// Its size in bytes.
    pub const SIZE: usize = size_of::<Self>();

    /// Memory for recordings with the gap records of `gap`.
    #[must_use]
    pub const fn with_gap(encoder: E, gap: G) -> Self {
        Self {
            encoder,
            gap,
            streams: [StreamState::UNUSED; STREAMS],
            log: BlockLog::new(),
            stage: [0; STAGE],
            scratch: [0; SCRATCH],
            wire: Wire::Free,
            position: 0,
            recording: 0,
            state: State::Empty,
        }
    }

    /// What became of the last recording: forgetting to finish one is seen here.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }
}

/// The state, and how much of the file there is.
#[cfg(feature = "defmt")]
impl<E, const STREAMS: usize, const LOG: usize, const STAGE: usize, G> defmt::Format
    for Memory<E, STREAMS, LOG, STAGE, G>
{
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{}, {} bytes", self.state, self.position);
    }
}

/// Elements on their way into the file.
pub(super) struct Input<'d> {
    pub(super) stream: u8,
    pub(super) bytes: &'d [u8],
    /// Whether what is staged goes out too, as the short last block of its stream.
    pub(super) last: bool,
}

impl Input<'_> {
    /// No input any more.
    pub(super) const fn last() -> Self {
        Self { stream: u8::MAX, bytes: &[], last: true }
    }
}

impl<E: FrameEncoder, const STREAMS: usize, const LOG: usize, const STAGE: usize, G: Gap>
    Memory<E, STREAMS, LOG, STAGE, G>
{
    /// Owners of log entries: the streams, and the gaps where there are any.
    pub(super) const OWNER_BITS: u32 = owner_bits(STREAMS as u8 + (G::MAX > 0) as u8);

    /// Whether the blocks can be placed by arithmetic, without a log.
    pub(super) fn is_regular(&self) -> bool {
        G::MAX == 0 && matches!(self.streams.as_slice(), [only] if only.def.compression == Compression::None)
    }

    /// Takes up the streams of `schema`.
    pub(super) fn reset(&mut self, schema: &Schema<'_>) -> Result<(), SchemaError> {
        self.state = State::Empty;
        self.streams = [StreamState::UNUSED; STREAMS];
        self.log.clear();
        self.wire = Wire::Free;
        self.position = HEADER.len() as u64;
        self.recording = self.recording.checked_add(1).unwrap_or(1);
        let (mut seen, mut stage) = (0, 0u64);
        let mut numbers = Ok(());
        schema.streams(&mut |def| match self.streams.get_mut(usize::from(def.id)) {
            Some(state) if state.def.block == 0 => {
                *state = StreamState { def: *def, stage_start: stage as u32, ..StreamState::UNUSED };
                stage = stage.saturating_add(def.staged_bytes());
                seen += 1;
            }
            _ => numbers = Err(SchemaError::StreamNumbers),
        });
        numbers?;
        // One number is left for the gaps, one for "no stream".
        if seen != STREAMS || STREAMS > 254 {
            return Err(SchemaError::StreamNumbers);
        }
        // Places in the stage have 32 bits.
        if stage > (STAGE as u64).min(u32::MAX.into()) {
            return Err(SchemaError::StageTooSmall { needed: u32::try_from(stage).unwrap_or(u32::MAX) });
        }
        self.state = State::Unfinished;
        Ok(())
    }

    /// Checks that `count` elements of a stream can be taken whole, along with those that `others` says come into
    /// other streams.
    pub(super) fn admit(
        &self,
        def: StreamDef,
        count: u64,
        others: impl Fn(u8) -> u64,
    ) -> Result<(), RecordError> {
        if self.state != State::Unfinished {
            return Err(RecordError::Poisoned);
        }
        let state = self.streams.get(usize::from(def.id)).filter(|state| state.def == def);
        let Some(state) = state else {
            return Err(RecordError::UnknownStream { stream: def.id });
        };
        if let Wire::Block(open) = self.wire {
            let free = state.stage_free() / u32::from(def.element.size());
            if def.staged != 0 && count > u64::from(free) {
                return Err(RecordError::StageFull { stream: def.id, free });
            }
            if def.staged == 0 && open.stream != def.id {
                return Err(RecordError::BlockOpen { stream: open.stream });
            }
        }
        self.admit_to_log(|stream| if stream == def.id { count } else { others(stream) })
    }

    /// Checks that the log has room for all blocks that must still be written, were the recording finished after
    /// that many more elements of each stream.
    fn admit_to_log(&self, added: impl Fn(u8) -> u64) -> Result<(), RecordError> {
        let is_regular = self.is_regular();
        let gap = if G::MAX == 0 { 0 } else { entry_len(u64::from(G::MAX), Self::OWNER_BITS) };
        let mut needed = 0u64;
        for state in &self.streams {
            let blocks = state.blocks_of(state.elements.saturating_add(added(state.def.id)));
            if blocks > u64::from(u32::MAX) {
                return Err(RecordError::LogFull);
            }
            if is_regular {
                return Ok(());
            }
            let pending = blocks.saturating_sub(u64::from(state.blocks));
            let entry = entry_len(E::max_output(state.def.block_bytes()), Self::OWNER_BITS) + gap;
            needed = needed.saturating_add(pending.saturating_mul(entry as u64));
        }
        if needed > self.log.free() as u64 { Err(RecordError::LogFull) } else { Ok(()) }
    }

    /// The next piece of the blocks, possibly empty; `None`, and out of danger, when all input is taken and
    /// nothing is left to write.
    pub(super) fn advance<'a>(&'a mut self, input: &mut Input<'a>) -> Option<&'a [u8]> {
        self.fill_stage(input);
        match self.wire {
            Wire::Free => {
                let opened = self.open_next(input);
                self.state = if opened { State::Poisoned } else { State::Unfinished };
                opened.then_some(&[])
            }
            Wire::Block(block) if block.left == 0 => Some(self.close(block)),
            Wire::Block(block) => self.feed(block, input),
            Wire::Gap(closed) => Some(self.put_gap(&closed)),
        }
    }

    /// Whether something is left to write before the indexes.
    pub(super) fn has_open_or_staged(&self) -> bool {
        !matches!(self.wire, Wire::Free) || self.streams.iter().any(|state| state.staged != 0)
    }

    /// Moves as much of the input as there is room for into the stage of its stream.
    pub(super) fn fill_stage(&mut self, input: &mut Input<'_>) {
        let Some(state) = self.streams.get_mut(usize::from(input.stream)) else { return };
        if state.def.staged == 0 || input.bytes.is_empty() {
            return;
        }
        let count = input.bytes.len().min(state.stage_free() as usize);
        let start = state.stage_start.saturating_add(state.staged) as usize;
        let Some((bytes, rest)) = input.bytes.split_at_checked(count) else { return };
        let Some(room) = self.stage.get_mut(start..start.saturating_add(count)) else { return };
        for (to, from) in room.iter_mut().zip(bytes) {
            *to = *from;
        }
        state.staged = state.staged.saturating_add(count as u32);
        input.bytes = rest;
    }

    /// Opens the block that is to be written next. Staged blocks go first: they are complete, and the direct
    /// stream may keep the wire for long.
    fn open_next(&mut self, input: &Input<'_>) -> bool {
        let ready = self.streams.iter().find_map(|state| {
            let size = (state.def.block_bytes() as u32).min(state.staged);
            let whole = u64::from(size) == state.def.block_bytes();
            (size != 0 && (whole || input.last)).then_some((state.def, size))
        });
        let direct = self.streams.get(usize::from(input.stream)).map(|state| state.def);
        let (def, from_stage, size) = match (ready, direct) {
            (Some((def, size)), _) => (def, true, size),
            (None, Some(def)) if !input.bytes.is_empty() => (def, false, def.block_bytes() as u32),
            _ => return false,
        };
        if def.compression == Compression::Zstd {
            // A direct block may turn out to be the short last one, when its header has long been written.
            self.encoder.start(from_stage.then_some(u64::from(size)));
        }
        self.wire =
            Wire::Block(OpenBlock { stream: def.id, from_stage, raw_size: size, left: size, stored: 0 });
        true
    }

    fn feed<'a>(&'a mut self, mut block: OpenBlock, input: &mut Input<'a>) -> Option<&'a [u8]> {
        let state = self.streams.get(usize::from(block.stream))?;
        let source: &'a [u8] = if block.from_stage {
            let start = state.stage_start.saturating_add(block.raw_size - block.left) as usize;
            self.stage.get(start..start.saturating_add(block.left as usize))?
        } else if block.stream == input.stream {
            input.bytes.get(..block.left as usize).unwrap_or(input.bytes)
        } else {
            &[]
        };
        if source.is_empty() {
            self.state = State::Unfinished;
            return None;
        }
        let Encoded { taken, output } = match state.def.compression {
            Compression::None => Encoded { taken: source.len(), output: source },
            Compression::Zstd => self.encoder.encode(source),
        };
        if !block.from_stage {
            input.bytes = input.bytes.get(taken..).unwrap_or_default();
        }
        block.left = block.left.saturating_sub(taken as u32);
        self.wire = Wire::Block(block.grown(output.len()));
        self.position = self.position.wrapping_add(output.len() as u64);
        Some(output)
    }

    /// Writes the end of a block, then puts it into the log.
    fn close(&mut self, block: OpenBlock) -> &[u8] {
        let regular = self.is_regular();
        let Some(state) = self.streams.get_mut(usize::from(block.stream)) else { return &[] };
        if state.def.compression == Compression::Zstd
            && let Some(output) = self.encoder.finish()
        {
            self.wire = Wire::Block(block.grown(output.len()));
            self.position = self.position.wrapping_add(output.len() as u64);
            return output;
        }
        let closed = ClosedBlock {
            stream: block.stream,
            number: state.blocks,
            offset: self.position.wrapping_sub(u64::from(block.stored)),
            size: block.stored,
            raw_size: block.raw_size,
        };
        state.blocks = state.blocks.wrapping_add(1);
        // The size of a full uncompressed block goes without saying.
        let implied =
            state.def.compression == Compression::None && u64::from(block.stored) == state.def.block_bytes();
        if block.from_stage {
            let start = state.stage_start as usize;
            let staged = self.stage.get_mut(start..start.saturating_add(state.staged as usize));
            if let Some(staged) = staged
                && (block.raw_size as usize) < staged.len()
            {
                staged.copy_within(block.raw_size as usize.., 0);
            }
            state.staged = state.staged.saturating_sub(block.raw_size);
        }
        if !regular {
            let size = if implied { 0 } else { block.stored };
            self.log.push(Entry { owner: block.stream, size }, Self::OWNER_BITS);
        }
        self.wire = if G::MAX == 0 { Wire::Free } else { Wire::Gap(closed) };
        &[]
    }

    fn put_gap(&mut self, closed: &ClosedBlock) -> &[u8] {
        self.wire = Wire::Free;
        let record = self.gap.record(closed);
        let record = record.get(..G::MAX as usize).unwrap_or(record);
        if !record.is_empty() {
            self.log.push(Entry { owner: STREAMS as u8, size: record.len() as u32 }, Self::OWNER_BITS);
            self.position = self.position.wrapping_add(record.len() as u64);
        }
        record
    }
}

impl OpenBlock {
    fn grown(self, output: usize) -> Self {
        Self { stored: self.stored.saturating_add(output as u32), ..self }
    }
}
