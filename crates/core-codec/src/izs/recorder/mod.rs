//! The one-pass writer: elements go in, the bytes of the file come out, and nothing is ever taken back.
//!
//! All RAM is in a [`Memory`] that the caller places; [`Recorder`] is a handle on it. A block streams out while
//! it fills, so that its size costs no RAM. Since a file that is written in one pass has room for one open
//! block at a time, of several streams one is *direct* and the others are *staged*: they collect a block in
//! RAM and write it whole when no block is open. Channels that are sampled together need none of this: they
//! pack into one `bit_struct` stream.
//!
//! It is sans-IO: [`push`](Recorder::push) and [`finish`](Recorder::finish) return pieces of the file that the
//! caller writes, blocking or not. When a call is given up half-way (a failed write, a dropped future), the
//! memory is [`Poisoned`](State::Poisoned) and takes no more; what was written stays as it is.
//!
//! ```
//! use core_codec::izs::{Entity, Memory, Recorder, Schema, Stream};
//! use micro_zstd::Rle;
//!
//! const LEVEL: Stream<u16> = Stream::new(0);
//! static SCHEMA: Schema = Schema::new(Entity::int(12).data(LEVEL.def()));
//!
//! let mut memory = Memory::<Rle<256>, 1, 64>::new(Rle::new());
//! let mut recorder = Recorder::new(&mut memory, &SCHEMA)?;
//! let mut file = Recorder::HEADER.to_vec();
//! let mut pieces = recorder.push(LEVEL, &[0; 10_000])?;
//! while let Some(piece) = pieces.next() {
//!     file.extend(piece);
//! }
//! let mut pieces = recorder.finish()?;
//! while let Some(piece) = pieces.next() {
//!     file.extend(piece);
//! }
//! assert!(file.len() < 400);
//! # Ok::<(), core_codec::izs::RecordError>(())
//! ```

mod ending;
mod gap;
mod memory;
pub mod summing;

use core::fmt;

use micro_zstd::FrameEncoder;

use super::raw::{HEADER, Sample};
use super::schema::{Schema, SchemaError, Stream};
pub use ending::Ending;
pub use gap::{ClosedBlock, Gap, NoGap};
use memory::{Input, Wire};
pub use memory::{Memory, State};
pub use summing::Summary;

#[cfg(target_endian = "big")]
compile_error!("the recorder lends the caller's elements as the file's little-endian bytes");

/// A recording in progress.
///
/// The caller writes [`HEADER`](Recorder::HEADER) first, then the pieces of each call in turn.
#[derive(Debug)]
#[must_use = "without `finish` the file has neither index nor schema"]
pub struct Recorder<'m, E, const STREAMS: usize, const LOG: usize, const STAGE: usize = 0, G = NoGap> {
    memory: &'m mut Memory<E, STREAMS, LOG, STAGE, G>,
    schema: &'m Schema<'m>,
}

impl Recorder<'_, (), 0, 0> {
    /// The first bytes of the file.
    pub const HEADER: [u8; 8] = HEADER;
}

impl<'m, E: FrameEncoder, const STREAMS: usize, const LOG: usize, const STAGE: usize, G: Gap>
    Recorder<'m, E, STREAMS, LOG, STAGE, G>
{
    /// Starts a recording in `memory`; what it held of an earlier one is forgotten.
    ///
    /// # Errors
    /// [`RecordError::Schema`] when the streams of `schema` do not fit the memory.
    pub fn new(
        memory: &'m mut Memory<E, STREAMS, LOG, STAGE, G>,
        schema: &'m Schema<'m>,
    ) -> Result<Self, RecordError> {
        memory.reset(schema).map_err(RecordError::Schema)?;
        Ok(Self { memory, schema })
    }

    /// The first bytes of the file as a piece that must be written: until then the recording counts as
    /// [given up half-way](State::Poisoned). Who writes [`HEADER`](Recorder::HEADER) in another way needs no more.
    pub fn header(&mut self) -> Header<'_> {
        self.memory.state = State::Poisoned;
        Header { state: &mut self.memory.state, is_out: false }
    }

    /// Takes `elements` of `stream`, all or none, and returns the pieces of the file that are ready.
    ///
    /// # Errors
    /// Nothing has been taken when it fails: [`RecordError`] says why.
    pub fn push<'a, T: Sample>(
        &'a mut self,
        stream: Stream<T>,
        elements: &'a [T],
    ) -> Result<Pieces<'a, E, STREAMS, LOG, STAGE, G>, RecordError> {
        let def = stream.def();
        self.memory.admit(def, elements.len() as u64, nothing)?;
        self.memory.state = State::Poisoned;
        if let Some(state) = self.memory.streams.get_mut(usize::from(def.id)) {
            state.elements = state.elements.saturating_add(elements.len() as u64);
        }
        let input = Input { stream: def.id, bytes: bytemuck::must_cast_slice(elements), last: false };
        Ok(Pieces { memory: self.memory, input })
    }

    /// Ends the recording, and returns the pieces of the rest of the file: short last blocks, block indexes,
    /// schema, footer.
    ///
    /// # Errors
    /// [`RecordError::Poisoned`] when an earlier call was given up.
    pub fn finish(self) -> Result<Ending<'m, E, STREAMS, LOG, STAGE, G>, RecordError> {
        let Self { memory, schema } = self;
        if memory.state != State::Unfinished {
            return Err(RecordError::Poisoned);
        }
        memory.state = State::Poisoned;
        memory.settle_summaries(schema);
        if let Wire::Block(block) = &mut memory.wire {
            block.raw_size = block.raw_size.saturating_sub(block.left);
            block.left = 0;
        }
        Ok(Ending::new(memory, schema))
    }

    /// Bytes of the file up to now.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.memory.position
    }
}

#[cfg(feature = "defmt")]
impl<E, const STREAMS: usize, const LOG: usize, const STAGE: usize, G> defmt::Format
    for Recorder<'_, E, STREAMS, LOG, STAGE, G>
{
    fn format(&self, f: defmt::Formatter<'_>) {
        self.memory.format(f);
    }
}

/// What comes into other streams. One function, so that streams of all widths share the code that it is passed to.
fn nothing(_: u8) -> u64 {
    0
}

/// The header as pieces, of which there is one.
#[must_use = "the piece has to be written"]
pub struct Header<'a> {
    state: &'a mut State,
    is_out: bool,
}

impl Header<'_> {
    /// The next piece; see [`Pieces::next`].
    #[allow(clippy::should_implement_trait, reason = "as `Pieces`")]
    pub fn next(&mut self) -> Option<&'static [u8]> {
        if core::mem::replace(&mut self.is_out, true) {
            *self.state = State::Unfinished;
            return None;
        }
        Some(&HEADER)
    }
}

/// Pieces of the file that follow those before. A piece may be empty; it must be written before the next is
/// asked for. Giving up before `None` poisons the recording.
#[must_use = "each piece has to be written"]
pub struct Pieces<'a, E, const STREAMS: usize, const LOG: usize, const STAGE: usize, G> {
    memory: &'a mut Memory<E, STREAMS, LOG, STAGE, G>,
    input: Input<'a>,
}

impl<E: FrameEncoder, const STREAMS: usize, const LOG: usize, const STAGE: usize, G: Gap>
    Pieces<'_, E, STREAMS, LOG, STAGE, G>
{
    /// The next piece.
    #[allow(clippy::should_implement_trait, reason = "it lends, which Iterator cannot")]
    pub fn next(&mut self) -> Option<&[u8]> {
        let mut input = Input { stream: self.input.stream, bytes: self.input.bytes, last: false };
        let before = input.bytes.len();
        let piece = self.memory.advance(&mut input);
        let taken = before - input.bytes.len();
        self.input.bytes = self.input.bytes.get(taken..).unwrap_or_default();
        piece
    }
}

/// Why a recording did not take what it was given. Nothing was taken, and nothing is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum RecordError {
    /// The streams of the schema do not fit the memory.
    Schema(SchemaError),
    /// The stream is none of the schema's.
    UnknownStream {
        /// Its number.
        stream: u8,
    },
    /// Another direct stream has an open block. Fill that, or declare one of the two as staged.
    BlockOpen {
        /// The stream with the open block.
        stream: u8,
    },
    /// The stage of the stream has no room for all elements while a direct stream has an open block.
    StageFull {
        /// The stream.
        stream: u8,
        /// Elements that there is room for.
        free: u32,
    },
    /// The summary is none of this stream's and of this recording, or elements came in without it.
    Summary {
        /// The stream.
        stream: u8,
    },
    /// The index log has no room for the blocks that the elements would fill. The recording can be finished.
    LogFull,
    /// An earlier call failed or was given up half-way.
    Poisoned,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema(error) => write!(f, "schema: {error}"),
            Self::UnknownStream { stream } => write!(f, "stream {stream} is none of the schema's"),
            Self::BlockOpen { stream } => write!(f, "stream {stream} has an open block"),
            Self::StageFull { stream, free } => {
                write!(f, "the stage of stream {stream} has room for {free} elements")
            }
            Self::Summary { stream } => write!(f, "the summary is none of stream {stream} up to now"),
            Self::LogFull => f.write_str("the index log is full"),
            Self::Poisoned => f.write_str("an earlier write failed"),
        }
    }
}

impl core::error::Error for RecordError {}
