//! One stream: its block index, its blocks, its elements.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::Izs;
use crate::codec::zstd;
use crate::error::{Error, ErrorKind};
use crate::izs::model::{Descriptor, Method, StreamId};
use crate::izs::raw::{Compression, INDEX_ENTRY_LEN};
use crate::limits::{self, Limits};
use crate::source::{Poll, Source};

/// Bytes of the parts that a block is decoded in: whole elements, and no more than caches hold.
const PART: usize = 256 << 10;

/// Stored bytes that are asked for at a time where a block is decoded step by step.
const STORED: u64 = 1 << 20;
const _: () = assert!(STORED as usize >= zstd::LEAST_STORED);

/// A block of a stream and where it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its number in the stream, from 0.
    pub number: u64,
    /// Where it stands in the file; checked to lie inside it.
    pub bytes: Range<u64>,
}

/// A place in a block, from which [`StreamReader::decode_on`] goes on.
pub struct BlockDecoder {
    block: Block,
    /// Decoded bytes of all of the block.
    len: usize,
    /// Of those, how many are done with.
    position: usize,
    /// Stored bytes that are done with.
    read: u64,
    state: State,
}

enum State {
    /// The block is stored as it is.
    Plain,
    Frames(Box<zstd::Decoder>),
    /// What would take more memory step by step: nothing yet, then all of it.
    Whole(Vec<u8>),
}

impl BlockDecoder {
    /// Decoded bytes of the block before the place.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes of memory that it holds.
    #[must_use]
    pub fn memory(&self) -> usize {
        match &self.state {
            State::Plain => 0,
            State::Frames(decoder) => decoder.memory(),
            State::Whole(bytes) => bytes.len(),
        }
    }

    /// The stored bytes that come next, up to the same byte for a while: so that they are fetched together.
    fn piece(&self) -> Range<u64> {
        let Range { start, end } = self.block.bytes;
        let read = if matches!(self.state, State::Plain) { self.position as u64 } else { self.read };
        let reach = (read + zstd::LEAST_STORED as u64).next_multiple_of(STORED);
        start + read..end.min(start.saturating_add(reach))
    }
}

impl fmt::Debug for BlockDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockDecoder").field("block", &self.block).field("position", &self.position).finish()
    }
}

/// Reads one stream. It holds nothing but references: the elements go to the caller's buffers.
#[derive(Clone, Debug)]
pub struct StreamReader<'a> {
    izs: &'a Izs,
    id: StreamId,
    descriptor: &'a Descriptor,
    limits: &'a Limits,
}

impl<'a> StreamReader<'a> {
    pub(super) fn new(izs: &'a Izs, id: StreamId, limits: &'a Limits) -> Result<Self, Error> {
        let unknown = || Error::new("schema", ErrorKind::NotFound("stream"));
        let stream = izs.schema.get_stream(id).ok_or_else(unknown)?;
        let descriptor = stream.descriptor().map_err(|fault| {
            Error::new("stream descriptor", ErrorKind::Invalid("not understood"))
                .item(format!("{}", izs.schema.stream_pointer(id)))
                .detail(&*fault.reason)
        })?;
        let reader = Self { izs, id, descriptor, limits };
        reader.check_index()?;
        Ok(reader)
    }

    /// What the schema says about it.
    #[must_use]
    pub fn descriptor(&self) -> &'a Descriptor {
        self.descriptor
    }

    /// Which stream it is.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Bytes of all elements, decoded.
    ///
    /// # Errors
    /// When the number does not fit 64 bits.
    pub fn byte_len(&self) -> Result<u64, Error> {
        self.bytes_of(self.descriptor.end)
    }

    /// Decoded bytes of block `number`.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] when they pass [`Limits::block_bytes`].
    pub fn block_bytes(&self, number: u64) -> Result<usize, Error> {
        let bytes = self.descriptor.block_len(number).saturating_mul(self.descriptor.element.size().into());
        limits::check("decoded block bytes", bytes, self.limits.block_bytes)
            .map_err(|kind| self.block_error(number, kind))
    }

    /// Numbers of the blocks that hold `elements`.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] when the range is reversed or passes the end of the stream.
    pub fn blocks_of(&self, elements: &Range<u64>) -> Result<Range<u64>, Error> {
        let end = self.descriptor.end;
        if elements.start > elements.end || elements.end > end {
            let found = elements.end.max(elements.start);
            return Err(
                self.error("stream", ErrorKind::OutOfRange { what: "element", min: 0, max: end, found })
            );
        }
        if elements.is_empty() {
            return Ok(0..0);
        }
        Ok(elements.start / self.descriptor.block..elements.end.div_ceil(self.descriptor.block))
    }

    /// Refuses to decode `elements` elements when they could only come of the same bytes being named over and
    /// over: more than [`Limits::expansion`] times the length of the file.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`].
    pub fn check_expansion(&self, elements: u64) -> Result<(), Error> {
        let limit = self.izs.file_len.saturating_mul(self.limits.expansion);
        let found = self.bytes_of(elements)?;
        if found <= limit {
            return Ok(());
        }
        let what = "decoded bytes for the length of the file";
        Err(self.error("stream", ErrorKind::Limit { what, limit, found }))
    }

    /// Looks up blocks in the block index. `numbers` may pass the last block with elements by one, where the
    /// index has an entry more for an empty block.
    ///
    /// # Errors
    /// When a block lies outside the file, or `numbers` passes the index.
    pub fn blocks<S: Source + ?Sized>(&self, source: &S, numbers: Range<u64>) -> Poll<Vec<Block>> {
        let entries = self.descriptor.index_entries();
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        if numbers.end > entries {
            let kind = ErrorKind::OutOfRange { what: "block", min: 0, max: entries, found: numbers.end };
            return Err(self.error("block index", kind).into());
        }
        let count = numbers.end - numbers.start;
        limits::check("block index bytes", count.saturating_mul(INDEX_ENTRY_LEN), self.limits.block_bytes)
            .map_err(|kind| self.error("block index", kind))?;
        // `check_index` saw that the whole index lies inside the file, so nothing here overflows.
        let offsets_at = self.descriptor.i_offset + numbers.start * 8;
        let sizes_at = self.descriptor.i_offset + entries * 8 + numbers.start * 4;
        let places = [offsets_at..offsets_at + count * 8, sizes_at..sizes_at + count * 4];
        source.request(&places)?;
        let [offsets, sizes] = places;
        let (offsets, _) = source.bytes(offsets)?.as_chunks::<8>();
        let (sizes, _) = source.bytes(sizes)?.as_chunks::<4>();
        let mut blocks = Vec::with_capacity(offsets.len());
        for ((number, &offset), &size) in numbers.zip(offsets).zip(sizes) {
            let start = u64::from_le_bytes(offset);
            let bytes = place(start, u32::from_le_bytes(size).into(), self.izs.file_len);
            let bytes = bytes
                .and_then(|bytes| {
                    // No encoder makes a block twice as long, so a longer one is not worth fetching.
                    let most = self.limits.block_bytes.saturating_mul(2);
                    limits::check("stored block bytes", bytes.end - bytes.start, most).map(|_| bytes)
                })
                .map_err(|kind| self.block_error(number, kind).at(start))?;
            blocks.push(Block { number, bytes });
        }
        Ok(blocks)
    }

    /// Decodes a block from its stored bytes into all of `out`, which has [`block_bytes`](Self::block_bytes).
    ///
    /// # Errors
    /// When the block does not decode to exactly that many bytes.
    pub fn decode(&self, block: &Block, stored: &[u8], out: &mut [u8]) -> Result<(), Error> {
        match &self.descriptor.compress {
            Method::Known(Compression::Zstd) => {
                zstd::decode(stored, out).map_err(|kind| self.at_block(block, kind))
            }
            Method::Known(Compression::None) if stored.len() == out.len() => {
                out.copy_from_slice(stored);
                Ok(())
            }
            Method::Known(Compression::None) => Err(self.wrong_length(block, stored.len() as u64, out.len())),
            Method::Other(name) => Err(self.unknown(block, name)),
        }
    }

    fn wrong_length(&self, block: &Block, found: u64, expected: usize) -> Error {
        let kind = ErrorKind::Mismatch { what: "stored bytes", expected: expected as u64, found };
        self.at_block(block, kind)
    }

    fn unknown(&self, block: &Block, name: &str) -> Error {
        self.at_block(block, ErrorKind::Unsupported("compression")).detail(format!("{name:?}"))
    }

    /// Decodes all of a block as [`decode`](Self::decode) does, and gives the bytes to `each` in parts of whole elements:
    /// of a block that is stored as it is without a copy, of others in little more memory than their window. An error may
    /// come after some parts.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn decode_in_parts(
        &self,
        block: &Block,
        stored: &[u8],
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Error> {
        let len = self.block_bytes(block.number)?;
        match &self.descriptor.compress {
            Method::Known(Compression::None) if stored.len() == len => stored.chunks(PART).for_each(each),
            Method::Known(Compression::Zstd) => zstd::decode_in_parts(stored, len as u64, PART, each)
                .map_err(|kind| self.at_block(block, kind))?,
            Method::Known(Compression::None) => {
                return Err(self.wrong_length(block, stored.len() as u64, len));
            }
            Method::Other(name) => return Err(self.unknown(block, name)),
        }
        Ok(())
    }

    /// The start of a block, to be decoded step by step.
    ///
    /// # Errors
    /// When it is too long, or in an unknown compression.
    pub fn decoder(&self, block: &Block) -> Result<BlockDecoder, Error> {
        let len = self.block_bytes(block.number)?;
        let stored = block.bytes.end - block.bytes.start;
        let state = match &self.descriptor.compress {
            Method::Known(Compression::None) if stored == len as u64 => State::Plain,
            Method::Known(Compression::None) => return Err(self.wrong_length(block, stored, len)),
            Method::Known(Compression::Zstd) => {
                let decoder = zstd::Decoder::new(len as u64);
                State::Frames(Box::new(decoder.map_err(|kind| self.at_block(block, kind))?))
            }
            Method::Other(name) => return Err(self.unknown(block, name)),
        };
        Ok(BlockDecoder { block: block.clone(), len, position: 0, read: 0, state })
    }

    /// Decodes on into `out`, and asks for what of the block is needed for it; how many bytes there are. Of a block that
    /// has ended, as it should, there are none: asking for more than it has finds what is wrong with its end.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn decode_on<S: Source + ?Sized>(
        &self,
        source: &S,
        place: &mut BlockDecoder,
        out: &mut [u8],
    ) -> Poll<usize> {
        let left = place.len - place.position;
        let (wanted, mut beyond) = (left.min(out.len()), [0]);
        let out = if left > 0 { &mut out[..wanted] } else { &mut beyond[..] };
        if out.is_empty() {
            return Ok(0);
        }
        let written = self.step(source, place, out)?;
        let kind = match written {
            0 if left > 0 => {
                let (expected, found) = (place.len as u64, place.position as u64);
                ErrorKind::Mismatch { what: "decoded bytes", expected, found }
            }
            more if more > left => zstd::TOO_LONG,
            _ => {
                place.position += written;
                return Ok(written);
            }
        };
        Err(self.at_block(&place.block, kind).into())
    }

    /// The next bytes, as many as there are at once; none at the end.
    fn step<S: Source + ?Sized>(&self, source: &S, place: &mut BlockDecoder, out: &mut [u8]) -> Poll<usize> {
        loop {
            let piece = place.piece();
            let fail = |kind| self.at_block(&place.block, kind);
            let bytes = match &mut place.state {
                State::Plain => source.bytes(piece)?,
                State::Whole(bytes) => {
                    if bytes.is_empty() {
                        let stored = source.bytes(place.block.bytes.clone())?;
                        *bytes = zstd::decode_whole(stored, place.len as u64).map_err(fail)?;
                    }
                    &bytes[place.position..]
                }
                State::Frames(frames) => {
                    let is_rest = piece.end == place.block.bytes.end;
                    let step = match frames.decode(source.bytes(piece)?, is_rest, out) {
                        Err(zstd::WINDOW_TOO_LARGE) => {
                            place.state = State::Whole(Vec::new());
                            continue;
                        }
                        step => step.map_err(fail)?,
                    };
                    place.read += step.read as u64;
                    match step.written {
                        0 if is_rest => frames.finish().map_err(fail)?,
                        // It has had all that a step needs, and would be given the same again.
                        0 if step.read == 0 => {
                            let reason = "no progress";
                            return Err(fail(ErrorKind::Codec { codec: "zstd", reason }).into());
                        }
                        0 => continue,
                        _ => {}
                    }
                    return Ok(step.written);
                }
            };
            let written = out.len().min(bytes.len());
            out[..written].copy_from_slice(&bytes[..written]);
            return Ok(written);
        }
    }

    /// Reads a range of elements as little-endian bytes. Decodes only the blocks that the range touches.
    ///
    /// # Errors
    /// When the range passes the stream's end, `out` is not as long as the range, or a block is damaged.
    pub fn read<S: Source + ?Sized>(&self, source: &S, elements: Range<u64>, out: &mut [u8]) -> Poll<()> {
        let numbers = self.blocks_of(&elements)?;
        let bytes = self.bytes_of(elements.end - elements.start)?;
        if bytes != out.len() as u64 {
            let kind = ErrorKind::Mismatch { what: "buffer bytes", expected: bytes, found: out.len() as u64 };
            return Err(self.error("stream", kind).into());
        }
        let blocks = self.blocks(source, numbers)?;
        self.request(source, &blocks)?;
        let mut whole = Vec::new();
        let mut rest = out;
        for block in &blocks {
            let inside = self.bytes_inside(block.number, &elements)?;
            let (part, more) = rest.split_at_mut(inside.len());
            rest = more;
            self.read_block(source, block, inside, part, &mut whole)?;
        }
        Ok(())
    }

    /// Asks for the stored bytes of all of `blocks` at once.
    ///
    /// # Errors
    /// As [`Source::request`].
    pub fn request<S: Source + ?Sized>(&self, source: &S, blocks: &[Block]) -> Poll<()> {
        let places: Vec<_> = blocks.iter().map(|block| block.bytes.clone()).collect();
        source.request(&places)
    }

    /// Reads the bytes `inside` the decoded block into `out`; `whole` is kept between calls to hold a block of
    /// which only a part is wanted.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn read_block<S: Source + ?Sized>(
        &self,
        source: &S,
        block: &Block,
        inside: Range<usize>,
        out: &mut [u8],
        whole: &mut Vec<u8>,
    ) -> Poll<()> {
        let len = self.block_bytes(block.number)?;
        let stored = source.bytes(block.bytes.clone())?;
        if inside == (0..len) {
            return Ok(self.decode(block, stored, out)?);
        }
        if whole.len() < len {
            *whole = vec![0; len];
        }
        self.decode(block, stored, &mut whole[..len])?;
        out.copy_from_slice(&whole[inside]);
        Ok(())
    }

    /// Which decoded bytes of block `number` belong to `elements`.
    ///
    /// # Errors
    /// As [`block_bytes`](Self::block_bytes).
    pub fn bytes_inside(&self, number: u64, elements: &Range<u64>) -> Result<Range<usize>, Error> {
        let len = self.block_bytes(number)?;
        let width = u64::from(self.descriptor.element.size());
        let first = number.saturating_mul(self.descriptor.block);
        // Both ends are at most `len`, a `usize`, after the clamp.
        let place =
            |element: u64| element.saturating_sub(first).saturating_mul(width).min(len as u64) as usize;
        Ok(place(elements.start)..place(elements.end))
    }

    /// Bytes of `elements` elements.
    fn bytes_of(&self, elements: u64) -> Result<u64, Error> {
        let width = self.descriptor.element.size().into();
        elements.checked_mul(width).ok_or_else(|| {
            let kind = ErrorKind::Limit { what: "elements", limit: u64::MAX / width, found: elements };
            self.error("stream", kind)
        })
    }

    fn check_index(&self) -> Result<(), Error> {
        let Descriptor { i_offset, i_size, end, block, .. } = *self.descriptor;
        let i_compress = &self.descriptor.i_compress;
        if *i_compress != Method::Known(Compression::None) {
            let kind = ErrorKind::Unsupported("index compression");
            let name = i_compress.to_string();
            return Err(self.error("block index", kind).at(i_offset).detail(format!("{name:?}")));
        }
        if i_size > 0 {
            place(i_offset, i_size, self.izs.file_len)
                .map_err(|kind| self.error("block index", kind).at(i_offset))?;
        }
        let (expected, found) = (self.descriptor.blocks(), self.descriptor.index_entries());
        let empty_last = end % block == 0 && found.checked_sub(1) == Some(expected);
        if found == expected || empty_last {
            return Ok(());
        }
        let kind = ErrorKind::Mismatch { what: "entries (of `end` / `block`)", expected, found };
        Err(self.error("block index", kind).at(i_offset))
    }

    fn pointer(&self) -> String {
        format!("{}", self.izs.schema.stream_pointer(self.id))
    }

    fn error(&self, structure: &'static str, kind: ErrorKind) -> Error {
        Error::new(structure, kind).item(self.pointer())
    }

    fn at_block(&self, block: &Block, kind: ErrorKind) -> Error {
        self.block_error(block.number, kind).at(block.bytes.start)
    }

    fn block_error(&self, number: u64, kind: ErrorKind) -> Error {
        Error::new("block", kind).item(format!("{}, number {number}", self.pointer()))
    }
}

/// The `len` bytes from `start` on, when they lie inside the file.
fn place(start: u64, len: u64, file_len: u64) -> Result<Range<u64>, ErrorKind> {
    match start.checked_add(len) {
        Some(end) if end <= file_len => Ok(start..end),
        _ => Err(ErrorKind::Truncated { needed: len, available: file_len.saturating_sub(start) }),
    }
}
