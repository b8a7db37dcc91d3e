//! `.izs` files.

mod append;
mod budget;
mod cache;
mod overview;
mod pipeline;
mod place;
mod rewrite;
mod rows;
mod verify;
mod views;
mod writer;

pub use append::{AppendedFile, IzsAppend};
pub use budget::Budget;
pub use overview::{Basis, Extent, Overview, Trace};
pub use verify::Finding;
pub use views::Event;
pub use writer::{IzsWriter, WriteOptions};

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use core_codec::error::ErrorKind;
use core_codec::izs::model::{Descriptor, EntityId, Field, Schema, StreamId, Target};
use core_codec::izs::reader::{self, Block, Footers, Izs, StreamReader};
use core_codec::izs::{Element, Sample};
use core_codec::{Limits, limits};
use rayon::prelude::*;

use cache::BlockCache;

use crate::error::Error;
use crate::input::{Access, Input};

/// Blocks whose index entries are looked up together.
const INDEX_BATCH: u64 = 4096;

/// Bytes of a decoded block that is not held as a whole where its parts will do.
const LARGE: usize = 4 << 20;

/// Bytes of decoded blocks that an [`IzsFile`] keeps by default.
const DEFAULT_CACHE: usize = 16 << 20;

/// A place in a union, and how often each tag comes before it.
type Mark = (u64, Vec<u64>);

/// An open `.izs` file.
#[derive(Debug)]
pub struct IzsFile {
    input: Input,
    izs: Izs,
    limits: Limits,
    cache: BlockCache,
    /// Of unions: the start and the end of what was read last.
    tallies: Mutex<HashMap<EntityId, [Mark; 2]>>,
}

impl IzsFile {
    /// Opens a file by a memory map, with the default limits.
    ///
    /// # Errors
    /// When it cannot be opened, or its footer or schema is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_input(Input::open(path, Access::Map)?, Limits::default())
    }

    /// Opens what `input` holds.
    ///
    /// # Errors
    /// When its footer or schema is damaged.
    pub fn from_input(input: Input, limits: Limits) -> Result<Self, Error> {
        let izs = input.run(|source| reader::open(source, &limits))?;
        Ok(Self::of(input, izs, limits))
    }

    /// Opens what the last complete footer in `input` describes, whatever comes behind it: a file to which something is
    /// being [added in its place](IzsAppend::open_in_place), or was until a crash, as it was before.
    ///
    /// # Errors
    /// When there is no such footer, or so many that are none that looking further would take too long.
    pub fn open_last(input: Input, limits: Limits) -> Result<Self, Error> {
        let mut footers = input.run(|source| Ok(Footers::new(source)))?;
        while !footers.is_done() {
            let Some(end) = input.run(|source| footers.step(source))? else { continue };
            if let Some(izs) = input.run(|source| footers.open(source, end, &limits))? {
                return Ok(Self::of(input, izs, limits));
            }
        }
        Err(core_codec::Error::new("file", ErrorKind::Invalid("has no complete footer")).into())
    }

    fn of(input: Input, izs: Izs, limits: Limits) -> Self {
        Self { input, izs, limits, cache: BlockCache::new(DEFAULT_CACHE), tallies: Mutex::default() }
    }

    /// The bytes behind the footer, which [`open_last`](Self::open_last) passes over.
    #[must_use]
    pub fn unread(&self) -> Range<u64> {
        self.izs.file_len()..self.input.len()
    }

    /// Bounds what is kept of decoded blocks for later reads (16 MiB by default); 0 keeps nothing. Only blocks that are
    /// read in part are kept: whoever reads all of a block has it.
    ///
    /// The streams of an entity share it evenly. Of a block that is larger than its share, a piece and the decoder's place
    /// are kept, so that reading on goes on there and reading elsewhere starts over at the start of the block; where the
    /// window of the decoder is too large for that, as large a piece as there is room for.
    #[must_use]
    pub fn with_block_cache(mut self, bytes: usize) -> Self {
        self.cache = BlockCache::new(bytes);
        self
    }

    /// Makes room for as many bytes at least: for who reads an entity of many streams, part by part.
    pub fn reserve_block_cache(&self, bytes: usize) {
        self.cache.reserve(bytes);
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        self.izs.schema()
    }

    /// What stands in the footer and the schema.
    #[must_use]
    pub fn izs(&self) -> &Izs {
        &self.izs
    }

    /// Where the bytes come from.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The stream that a JSON pointer or a path of names names: a stream descriptor, or the data of an entity. The entity
    /// itself, which is what [`values`](Self::values), [`events`](Self::events), [`times`](Self::times) and
    /// [`overview`](Self::overview) take, is found by [`Schema::find`].
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn find(&self, item: &str) -> Result<StreamId, Error> {
        find_stream(self.schema(), item)
    }

    /// The stream whose elements hold `entity`, and its fields; see [`Schema::fields`].
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when no stream does.
    pub fn fields(&self, entity: EntityId) -> Result<(StreamId, Vec<Field<'_>>), Error> {
        self.check_known(entity)?;
        let schema = self.schema();
        schema.fields(entity).ok_or_else(|| {
            let missing = core_codec::Error::new("entity", ErrorKind::NotFound("stream"));
            missing.item(schema.entity_pointer(entity).to_string()).into()
        })
    }

    /// Sees that an id is not of another schema, which has more entities.
    fn check_known(&self, entity: EntityId) -> Result<(), Error> {
        if self.schema().contains(entity) {
            return Ok(());
        }
        Err(core_codec::Error::new("schema", ErrorKind::NotFound("entity")).into())
    }

    /// A stream, ready to read.
    ///
    /// # Errors
    /// When its descriptor or index is not valid; see [`Izs::stream`].
    pub fn stream(&self, id: StreamId) -> Result<IzsStream<'_>, Error> {
        self.stream_within(id, self.cache.budget())
    }

    /// A stream of which only so many decoded bytes are kept.
    fn stream_within(&self, id: StreamId, share: usize) -> Result<IzsStream<'_>, Error> {
        Ok(IzsStream { reader: self.izs.stream(id, &self.limits)?, file: self, share })
    }
}

/// A stream of an open file.
#[derive(Clone, Debug)]
pub struct IzsStream<'a> {
    file: &'a IzsFile,
    reader: StreamReader<'a>,
    /// Bytes that may be kept of its decoded blocks.
    share: usize,
}

impl<'a> IzsStream<'a> {
    /// What the schema says about it.
    #[must_use]
    pub fn descriptor(&self) -> &'a Descriptor {
        self.reader.descriptor()
    }

    /// The sans-IO reader behind it.
    #[must_use]
    pub fn reader(&self) -> &StreamReader<'a> {
        &self.reader
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.descriptor().end
    }

    /// Whether there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads a range of elements as little-endian bytes. Decodes only the blocks that it touches.
    ///
    /// # Errors
    /// When the range passes the end of the stream, is larger than [`Limits::item_bytes`], or a block is
    /// damaged.
    pub fn read_bytes(&self, elements: Range<u64>) -> Result<Vec<u8>, Error> {
        self.read_vec(elements)
    }

    /// Reads a range of elements.
    ///
    /// # Errors
    /// As [`read_bytes`](Self::read_bytes), and when the stream's elements are of another width than `T`.
    pub fn read<T: Sample>(&self, elements: Range<u64>) -> Result<Vec<T>, Error> {
        let element = self.descriptor().element;
        if element != T::ELEMENT {
            let (expected, found) = (T::ELEMENT.size().into(), element.size().into());
            let kind = ErrorKind::Mismatch { what: "bytes of an element", expected, found };
            let pointer = self.file.schema().stream_pointer(self.reader.id()).to_string();
            return Err(core_codec::Error::new("stream", kind).item(pointer).into());
        }
        let mut values = self.read_vec(elements)?;
        if cfg!(target_endian = "big") {
            for value in bytemuck::cast_slice_mut::<T, u8>(&mut values).chunks_exact_mut(size_of::<T>()) {
                value.reverse();
            }
        }
        Ok(values)
    }

    /// Calls `each` with the decoded little-endian bytes of every part of `elements` that lies in one block, in
    /// order; of a block of more than 4 MiB in several. Holds one block at a time, of those not even all; what is wrong
    /// with one may come after some of its parts.
    ///
    /// # Errors
    /// As [`read_bytes`](Self::read_bytes), those of `each`, and [`ErrorKind::Limit`] for a range that only a
    /// file can hold that names the same block over and over; see [`Limits::expansion`].
    pub fn for_each_part<E: From<Error>>(
        &self,
        elements: Range<u64>,
        mut each: impl FnMut(Range<u64>, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut decoded = Vec::new();
        self.for_each_block(&elements, |block| {
            let inside = self.reader.bytes_inside(block.number, &elements).map_err(Error::from)?;
            if inside.len() > LARGE
                && inside.len() == self.reader.block_bytes(block.number).map_err(Error::from)?
            {
                return self.for_each_part_of(block, &mut each);
            }
            if decoded.len() < inside.len() {
                decoded = zeroed(inside.len())?;
            }
            decoded.truncate(inside.len());
            self.read_part(block, inside.clone(), &mut decoded)?;
            let width = u64::from(self.descriptor().element.size());
            let first = block.number * self.descriptor().block;
            each(first + inside.start as u64 / width..first + inside.end as u64 / width, &decoded)
        })
    }

    /// Calls `each` with all of a block in parts.
    fn for_each_part_of<E: From<Error>>(
        &self,
        block: &Block,
        each: &mut impl FnMut(Range<u64>, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let width = u64::from(self.descriptor().element.size());
        let mut at = block.number * self.descriptor().block;
        let mut refused = Ok(());
        self.file.input.run(|source| {
            self.reader.request(source, std::slice::from_ref(block))?;
            let stored = source.bytes(block.bytes.clone())?;
            self.reader.decode_in_parts(block, stored, &mut |bytes| {
                let range = at..at + bytes.len() as u64 / width;
                at = range.end;
                if refused.is_ok() {
                    refused = each(range, bytes);
                }
            })?;
            Ok(())
        })?;
        refused
    }

    /// Checks that the empty last block, where the index has one, holds nothing.
    ///
    /// # Errors
    /// When it does.
    pub fn check_empty_block(&self) -> Result<(), Error> {
        let blocks = self.descriptor().blocks();
        if self.descriptor().index_entries() == blocks {
            return Ok(());
        }
        let blocks = self.file.input.run(|source| self.reader.blocks(source, blocks..blocks + 1))?;
        self.file.input.run(|source| {
            self.reader.request(source, &blocks)?;
            for block in &blocks {
                self.reader.decode(block, source.bytes(block.bytes.clone())?, &mut [])?;
            }
            Ok(())
        })
    }

    fn read_vec<T: bytemuck::Pod>(&self, elements: Range<u64>) -> Result<Vec<T>, Error> {
        let blocks = self.reader.blocks_of(&elements)?;
        if !blocks.is_empty() {
            // No block is longer than the first.
            self.reader.block_bytes(blocks.start)?;
        }
        let width = u64::from(self.descriptor().element.size());
        let bytes = (elements.end - elements.start).saturating_mul(width);
        let bytes = limits::check("bytes of a read", bytes, self.file.limits.item_bytes)
            .map_err(|kind| core_codec::Error::new("stream", kind))?;
        self.reader.check_expansion(elements.end - elements.start)?;
        // Pages that the system gives are zero already, and are touched first by the thread that decodes.
        let mut values: Vec<T> = zeroed(bytes / size_of::<T>())?;
        self.read_into(elements, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    /// Reads a range of elements as little-endian bytes into all of `out`. Several blocks of a file that is in
    /// memory (a map) are decoded on the threads of the current rayon pool.
    ///
    /// # Errors
    /// As [`read_bytes`](Self::read_bytes), and when `out` is not as long as the range.
    pub fn read_into(&self, elements: Range<u64>, out: &mut [u8]) -> Result<(), Error> {
        let blocks = self.reader.blocks_of(&elements)?;
        let width = u64::from(self.descriptor().element.size());
        let expected = (elements.end - elements.start).saturating_mul(width);
        if expected != out.len() as u64 {
            let kind = ErrorKind::Mismatch { what: "buffer bytes", expected, found: out.len() as u64 };
            return Err(core_codec::Error::new("stream", kind).into());
        }
        let alone = blocks.end.saturating_sub(blocks.start) < 2 || rayon::current_num_threads() < 2;
        let mut rest = out;
        if alone || !self.file.input.is_map() {
            return self.for_each_block(&elements, |block| {
                let inside = self.reader.bytes_inside(block.number, &elements)?;
                let (part, more) = std::mem::take(&mut rest).split_at_mut(inside.len());
                rest = more;
                self.read_part(block, inside, part)
            });
        }
        let mut parts = Vec::new();
        self.for_each_block(&elements, |block| {
            let inside = self.reader.bytes_inside(block.number, &elements)?;
            let (part, more) = std::mem::take(&mut rest).split_at_mut(inside.len());
            rest = more;
            parts.push((block.clone(), inside, part));
            Ok::<_, Error>(())
        })?;
        parts.into_par_iter().try_for_each(|(block, inside, part)| self.read_part(&block, inside, part))
    }

    /// Reads the bytes `inside` a decoded block into `out`. A block that is wanted as a whole decodes straight into
    /// it, any other by way of the cache, where its share is large enough.
    fn read_part(&self, block: &Block, inside: Range<usize>, out: &mut [u8]) -> Result<(), Error> {
        let len = self.reader.block_bytes(block.number)?;
        let id = self.reader.id();
        let decode = |out: &mut [u8]| {
            self.file.input.run(|source| {
                // Checks that it is not too long to be fetched.
                self.reader.request(source, std::slice::from_ref(block))?;
                Ok(self.reader.decode(block, source.bytes(block.bytes.clone())?, out)?)
            })
        };
        if inside == (0..len) {
            return decode(out);
        }
        if len > self.share {
            return self.read_on(block, inside, out);
        }
        if let Some(whole) = self.file.cache.block(id, block.number) {
            out.copy_from_slice(&whole[inside]);
            return Ok(());
        }
        let mut whole = zeroed(len)?;
        decode(&mut whole)?;
        out.copy_from_slice(&whole[inside]);
        self.file.cache.keep_block(id, block.number, Arc::new(whole));
        Ok(())
    }

    /// Whether the part of a block that `elements` want is at hand without fetching anything.
    fn is_cached(&self, block: &Block, elements: &Range<u64>) -> bool {
        let whole = self.reader.block_bytes(block.number).map(|len| 0..len);
        self.reader.bytes_inside(block.number, elements) != whole
            && self.file.cache.block(self.reader.id(), block.number).is_some()
    }

    /// Calls `each` for every block that `elements` touch, with its stored bytes at hand.
    fn for_each_block<E: From<Error>>(
        &self,
        elements: &Range<u64>,
        mut each: impl FnMut(&Block) -> Result<(), E>,
    ) -> Result<(), E> {
        let numbers = self.reader.blocks_of(elements).map_err(Error::from)?;
        self.reader.check_expansion(elements.end - elements.start).map_err(Error::from)?;
        let mut next = numbers.start;
        let mut expected = 0;
        while next < numbers.end {
            let batch = next..numbers.end.min(next + INDEX_BATCH);
            next = batch.end;
            let blocks = self.file.input.run(|source| self.reader.blocks(source, batch.clone()))?;
            let mut rest = &blocks[..];
            while !rest.is_empty() {
                let (now, later) = rest.split_at(self.fetch_together(rest));
                if !self.file.input.is_map() {
                    let run = self.run_of(rest);
                    if !later.is_empty() && run.start >= expected {
                        expected = run.end;
                        self.file.input.expect(run);
                    }
                    // One alone is fetched when it is read.
                    if now.len() > 1 {
                        let missing: Vec<_> =
                            now.iter().filter(|block| !self.is_cached(block, elements)).cloned().collect();
                        self.file.input.run(|source| self.reader.request(source, &missing))?;
                    }
                }
                rest = later;
                now.iter().try_for_each(&mut each)?;
            }
        }
        Ok(())
    }

    /// The stretch of the file that holds the first of `blocks` and those that follow it without a large gap.
    fn run_of(&self, blocks: &[Block]) -> Range<u64> {
        let gap = self.file.input.gap();
        let mut run = blocks.first().map_or(0..0, |block| block.bytes.clone());
        for Block { bytes, .. } in blocks {
            if !(run.end..=run.end.saturating_add(gap)).contains(&bytes.start) && *bytes != run {
                break;
            }
            run.end = bytes.end;
        }
        run
    }

    /// How many of `blocks` are fetched together: at least one.
    fn fetch_together(&self, blocks: &[Block]) -> usize {
        let (mut total, most) = (0, self.file.input.batch());
        let fits = |block: &&Block| {
            total += block.bytes.end - block.bytes.start;
            total <= most
        };
        blocks.iter().take_while(fits).count().max(1)
    }
}

/// The stream that a JSON pointer or a path of names names.
fn find_stream(schema: &Schema, item: &str) -> Result<StreamId, Error> {
    let missing = |detail| core_codec::Error::new("schema", ErrorKind::NotFound("stream")).detail(detail);
    match schema.find_item(item) {
        Some(Target::Stream(stream)) => Ok(stream),
        Some(Target::Entity(entity)) => schema[entity].data().ok_or_else(|| {
            let kind = schema[entity].kind().name();
            missing(format!("{item:?} is a {kind}, with streams below it at most")).into()
        }),
        None => Err(missing(format!("{item:?}")).into()),
    }
}

/// Zeros, or an error where there is no memory for them.
fn zeroed<T: bytemuck::Zeroable>(len: usize) -> Result<Vec<T>, Error> {
    bytemuck::try_zeroed_vec(len).map_err(|()| std::io::Error::from(std::io::ErrorKind::OutOfMemory).into())
}

/// Little-endian elements as numbers.
pub fn numbers(element: Element, bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(element.size().into()).map(|element| {
        let mut wide = [0; 8];
        wide[..element.len()].copy_from_slice(element);
        u64::from_le_bytes(wide)
    })
}
