//! The end of a recording: short last blocks, block indexes, schema, footer.

use micro_zstd::FrameEncoder;

use super::gap::Gap;
use super::memory::{Input, Memory, SCRATCH, State, StreamState};
use crate::izs::block_log::Entry;
use crate::izs::json::{self, Placed};
use crate::izs::raw::{Footer, HEADER};
use crate::izs::schema::Schema;

/// Header of a Zstandard block (RFC 8878, section 3.1.1.2).
const ZSTD_BLOCK_HEADER: usize = 3;

/// JSON bytes in one raw Zstandard block of the schema.
const SCHEMA_BLOCK: usize = SCRATCH - ZSTD_BLOCK_HEADER;

/// A place in the index log, and in the file.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    at: usize,
    offset: u64,
}

impl Cursor {
    const START: Self = Self { at: 0, offset: HEADER.len() as u64 };
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Blocks,
    Offsets { stream: u8, cursor: Cursor },
    Sizes { stream: u8, cursor: Cursor },
    SchemaHeader,
    Schema { start: u64, length: u32, at: u32 },
    Footer { start: u64 },
    Done,
}

/// The pieces of the rest of the file. A piece may be empty; it must be written before the next is asked for.
/// The file is complete when `None` comes.
#[must_use = "each piece has to be written"]
pub struct Ending<'m, E, const STREAMS: usize, const LOG: usize, const STAGE: usize, G> {
    memory: &'m mut Memory<E, STREAMS, LOG, STAGE, G>,
    schema: &'m Schema<'m>,
    step: Step,
}

impl<'m, E: FrameEncoder, const STREAMS: usize, const LOG: usize, const STAGE: usize, G: Gap>
    Ending<'m, E, STREAMS, LOG, STAGE, G>
{
    pub(super) fn new(memory: &'m mut Memory<E, STREAMS, LOG, STAGE, G>, schema: &'m Schema<'m>) -> Self {
        Self { memory, schema, step: Step::Blocks }
    }

    /// The next piece.
    #[allow(clippy::should_implement_trait, reason = "it lends, which Iterator cannot")]
    pub fn next(&mut self) -> Option<&[u8]> {
        let length = match self.step {
            Step::Blocks if self.memory.has_open_or_staged() => {
                return self.memory.advance(&mut Input::last()).or(Some(&[]));
            }
            Step::Blocks => {
                self.start_index(0);
                0
            }
            Step::Offsets { stream, mut cursor } => {
                let length = self.offsets(stream, &mut cursor);
                self.step = match length {
                    0 => Step::Sizes { stream, cursor: Cursor::START },
                    _ => Step::Offsets { stream, cursor },
                };
                length
            }
            Step::Sizes { stream, mut cursor } => {
                let length = self.sizes(stream, &mut cursor);
                match length {
                    0 => self.start_index(stream + 1),
                    _ => self.step = Step::Sizes { stream, cursor },
                }
                length
            }
            Step::SchemaHeader => self.schema_header(),
            Step::Schema { start, length, at } => self.schema_block(start, length, at),
            Step::Footer { start } => {
                self.step = Step::Done;
                let schema_len = self.memory.position.wrapping_sub(start) as u32;
                self.put(&Footer { schema_len, reserved: 0 }.emit())
            }
            Step::Done => {
                self.memory.state = State::Finished;
                return None;
            }
        };
        self.memory.position = self.memory.position.wrapping_add(length as u64);
        self.memory.scratch.get(..length)
    }

    /// Goes on to the index of `stream`, or to the schema after the last one.
    fn start_index(&mut self, stream: u8) {
        self.step = match self.memory.streams.get_mut(usize::from(stream)) {
            Some(state) => {
                state.index_offset = self.memory.position;
                Step::Offsets { stream, cursor: Cursor::START }
            }
            None => Step::SchemaHeader,
        };
    }

    fn offsets(&mut self, stream: u8, cursor: &mut Cursor) -> usize {
        let mut scratch = [0; SCRATCH];
        let mut length = 0;
        for slot in scratch.as_chunks_mut::<8>().0 {
            let Some((offset, _)) = self.memory.next_block(cursor, stream) else { break };
            *slot = offset.to_le_bytes();
            length += slot.len();
        }
        self.memory.scratch = scratch;
        length
    }

    fn sizes(&mut self, stream: u8, cursor: &mut Cursor) -> usize {
        let mut scratch = [0; SCRATCH];
        let mut length = 0;
        for slot in scratch.as_chunks_mut::<4>().0 {
            let Some((_, size)) = self.memory.next_block(cursor, stream) else { break };
            *slot = size.to_le_bytes();
            length += slot.len();
        }
        self.memory.scratch = scratch;
        length
    }

    /// Frame header of the schema: its length is known, so that a reader can allocate at once (RFC 8878,
    /// section 3.1.1.1: single segment, four bytes of content size).
    fn schema_header(&mut self) -> usize {
        let start = self.memory.position;
        let length = json::length(self.schema, &|stream| self.memory.placed(stream));
        self.step = Step::Schema { start, length, at: 0 };
        let [a, b, c, d] = length.to_le_bytes();
        self.put(&[0x28, 0xb5, 0x2f, 0xfd, 0b1010_0000, a, b, c, d])
    }

    /// One raw Zstandard block of the schema (RFC 8878, section 3.1.1.2).
    fn schema_block(&mut self, start: u64, length: u32, at: u32) -> usize {
        let mut scratch = [0; SCRATCH];
        let [a, b, c, text @ ..] = &mut scratch;
        let size = json::window(self.schema, &|stream| self.memory.placed(stream), at, text);
        let next = at.saturating_add(size as u32);
        let is_last = next >= length || size == 0;
        [*a, *b, *c, _] = ((size as u32) << 3 | u32::from(is_last)).to_le_bytes();
        self.memory.scratch = scratch;
        self.step = if is_last { Step::Footer { start } } else { Step::Schema { start, length, at: next } };
        size.min(SCHEMA_BLOCK) + ZSTD_BLOCK_HEADER
    }

    fn put<const N: usize>(&mut self, bytes: &[u8; N]) -> usize {
        for (to, from) in self.memory.scratch.iter_mut().zip(bytes) {
            *to = *from;
        }
        N
    }
}

impl<E: FrameEncoder, const STREAMS: usize, const LOG: usize, const STAGE: usize, G: Gap>
    Memory<E, STREAMS, LOG, STAGE, G>
{
    fn placed(&self, stream: u8) -> Placed {
        self.streams.get(usize::from(stream)).map(StreamState::placed).unwrap_or_default()
    }

    /// The next block of `stream` in the file.
    fn next_block(&self, cursor: &mut Cursor, stream: u8) -> Option<(u64, u32)> {
        loop {
            let entry = self.entry_at(cursor)?;
            let state = self.streams.get(usize::from(entry.owner));
            let size = match (entry.size, state) {
                (0, Some(state)) => state.def.block_bytes() as u32,
                (size, _) => size,
            };
            let offset = cursor.offset;
            cursor.offset = offset.wrapping_add(u64::from(size));
            if entry.owner == stream {
                return Some((offset, size));
            }
        }
    }

    fn entry_at(&self, cursor: &mut Cursor) -> Option<Entry> {
        if !self.is_regular() {
            let (entry, next) = self.log.entry(cursor.at, Self::OWNER_BITS)?;
            cursor.at = next;
            return Some(entry);
        }
        let only = self.streams.first()?;
        let number = cursor.at as u64;
        if number >= u64::from(only.blocks) {
            return None;
        }
        cursor.at += 1;
        let before = number.saturating_mul(u64::from(only.def.block));
        let rest = only.elements.saturating_sub(before).min(u64::from(only.def.block));
        Some(Entry { owner: 0, size: (rest * u64::from(only.def.element.size())) as u32 })
    }
}
