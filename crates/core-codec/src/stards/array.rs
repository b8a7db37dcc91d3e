//! One array: what the index says of it, checked, and its data.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::codec;
use super::dataset::spend;
use super::gather::STRINGS_HEADER;
use super::name::{Name, counted};
use super::raw::{self, BlockInfo, IndexEntry};
use super::tensor::{self, Tensor};
use super::types::{Compression, DataType, Element};
use crate::codec::shuffle;
use crate::error::{Error, ErrorKind};
use crate::limits::{self, Limits};
use crate::source::{Poll, Source};

pub(super) const INDEX_ENTRY: &str = "index entry";
pub(super) const DATA: &str = "array data";

/// The most memory for an array of strings: they have no fixed place, so that all are read for any.
const STRINGS_MEMORY: u64 = 1 << 30;

/// An array of a [`Dataset`](super::Dataset).
#[derive(Clone, Debug)]
pub struct Array {
    layer: usize,
    name: Name,
    at: u64,
    entry: IndexEntry,
    /// An error is without the name.
    content: Result<Content, Error>,
}

/// A block with its place in the file and in the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Absolute offsets of the stored bytes.
    pub stored: Range<u64>,
    /// Offsets in the payload: the bytes of all blocks once decoded, one after the other.
    pub payload: Range<u64>,
}

/// The data of an array whose index entry is valid.
#[derive(Clone, Debug)]
pub struct Content {
    pub(super) dtype: DataType,
    pub(super) compression: Compression,
    pub(super) shape: Box<[u64]>,
    pub(super) elements: u64,
    pub(super) blocks: Vec<Block>,
    block_size: u64,
    name: Name,
}

impl Array {
    /// Checks the index entry at byte `at`; what is wrong with it is kept for whoever wants the data.
    pub(super) fn new(
        layer: usize,
        name: Name,
        at: u64,
        entry: IndexEntry,
        file_len: u64,
        budget: &mut u64,
        limits: &Limits,
    ) -> Self {
        let content = Content::new(name.clone(), at, &entry, file_len, limits).and_then(|content| {
            let stored = content.blocks.iter().map(|block| block.stored.end - block.stored.start).sum();
            if spend(budget, stored) {
                return Ok(content);
            }
            let kind = ErrorKind::Invalid("the arrays are together larger than the file: they overlap");
            Err(Error::new(INDEX_ENTRY, kind).at(at))
        });
        Self { layer, name, at, entry, content }
    }

    /// Index of its layer in [`Dataset::layers`](super::Dataset::layers).
    #[must_use]
    pub fn layer(&self) -> usize {
        self.layer
    }

    /// Its key inside the layer.
    #[must_use]
    pub fn key(&self) -> &str {
        self.name.key()
    }

    /// `key`, or `layer:key` in a named layer.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The index entry as it stands in the file.
    #[must_use]
    pub fn entry(&self) -> &IndexEntry {
        &self.entry
    }

    /// Absolute offset of the index entry.
    #[must_use]
    pub fn entry_offset(&self) -> u64 {
        self.at
    }

    /// Size of each dimension; none for a scalar.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.entry.shape
    }

    /// Element type; `None` when the code is unknown.
    #[must_use]
    pub fn dtype(&self) -> Option<DataType> {
        DataType::from_code(self.entry.dtype)
    }

    /// Codec; `None` when the code is unknown.
    #[must_use]
    pub fn compression(&self) -> Option<Compression> {
        Compression::from_code(self.entry.compression)
    }

    /// Stored bytes of all blocks.
    #[must_use]
    pub fn stored_len(&self) -> u64 {
        self.entry.blocks.iter().fold(0, |sum, block| sum.saturating_add(block.stored))
    }

    /// Its data.
    ///
    /// # Errors
    /// What is wrong with the index entry: a type or codec that is unknown or not in this build
    /// ([`ErrorKind::Unsupported`]), blocks outside the file, a shape that the blocks do not fill.
    pub fn content(&self) -> Result<&Content, Error> {
        self.content.as_ref().map_err(|error| error.clone().item(self.name.label()))
    }

    /// Makes sure that all of its data is there.
    ///
    /// # Errors
    /// As [`content`](Self::content), and those of the source.
    pub fn request<S: Source + ?Sized>(&self, source: &S) -> Poll<()> {
        source.request(&self.content()?.stored_ranges())
    }

    /// All of it, of any type.
    ///
    /// # Errors
    /// As [`content`](Self::content), those of the source, and data that does not decode.
    pub fn read<S: Source + ?Sized>(&self, source: &S) -> Poll<Tensor> {
        let content = self.content()?;
        let payload = content.read_payload(source)?;
        let bytes = match content.dtype {
            DataType::String => content.check_strings(payload)?,
            _ => payload,
        };
        Ok(Tensor::checked(content.dtype, &content.shape, bytes))
    }

    /// All of its numbers, in row-major order.
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`ErrorKind::Type`] when they are not of type `T`.
    pub fn read_vec<T: Element, S: Source + ?Sized>(&self, source: &S) -> Poll<Vec<T>> {
        let content = self.typed::<T>()?;
        let mut values = content.zeroed_elements(content.elements)?;
        self.read_into(source, &mut values)?;
        Ok(values)
    }

    /// All of its numbers, in row-major order, into `out`.
    ///
    /// # Errors
    /// As [`read_vec`](Self::read_vec), and [`ErrorKind::Mismatch`] when `out` has another length.
    pub fn read_into<T: Element, S: Source + ?Sized>(&self, source: &S, out: &mut [T]) -> Poll<()> {
        let content = self.typed::<T>()?;
        content.read_payload_into(source, bytemuck::cast_slice_mut(out))?;
        tensor::swap_le(out);
        Ok(())
    }

    /// Its numbers where they stand in the source, when they are stored as they are in memory: no compression,
    /// one block after the other, aligned for `T`, and a little-endian machine.
    ///
    /// # Errors
    /// As [`read_vec`](Self::read_vec).
    pub fn view<'a, T: Element, S: Source + ?Sized>(&self, source: &'a S) -> Poll<Option<&'a [T]>> {
        let content = self.typed::<T>()?;
        match content.plain_range() {
            Some(range) if cfg!(target_endian = "little") => {
                Ok(bytemuck::try_cast_slice(source.bytes(range)?).ok())
            }
            _ => Ok(None),
        }
    }

    /// The content, when its elements are of type `T`.
    ///
    /// # Errors
    /// As [`content`](Self::content), and [`ErrorKind::Type`].
    pub fn typed<T: Element>(&self) -> Result<&Content, Error> {
        let content = self.content()?;
        tensor::expect_type(T::DTYPE, content.dtype)
            .map_err(|error| error.at(self.at).item(self.name.label()))?;
        Ok(content)
    }
}

impl Content {
    fn new(name: Name, at: u64, entry: &IndexEntry, file_len: u64, limits: &Limits) -> Result<Self, Error> {
        let error = |kind| Error::new(INDEX_ENTRY, kind).at(at);
        if entry.in_metadata != 0 {
            return Err(error(ErrorKind::Unsupported(
                "array that is stored in the metadata (its flag is not 0)",
            )));
        }
        let dtype = DataType::from_code(entry.dtype).ok_or_else(|| {
            error(ErrorKind::Unsupported("data type")).detail(alloc::format!("code {}", entry.dtype))
        })?;
        let compression = Compression::from_code(entry.compression).ok_or_else(|| {
            error(ErrorKind::Unsupported("compression")).detail(alloc::format!("code {}", entry.compression))
        })?;
        codec::check_support(compression).map_err(error)?;
        let elements = tensor::element_count(&entry.shape).map_err(error)?;
        let blocks = place_blocks(entry, compression, file_len, limits)?;
        let payload = blocks.last().map_or(0, |block| block.payload.end);
        limits::check("bytes of an array", payload, limits.item_bytes).map_err(error)?;
        match dtype.size() {
            Some(size) => {
                let expected = elements
                    .checked_mul(size as u64)
                    .ok_or_else(|| error(ErrorKind::Invalid("the shape has more than 2^64 bytes")))?;
                if payload != expected {
                    let what = "bytes of all blocks, against the shape";
                    return Err(error(ErrorKind::Mismatch { what, expected, found: payload }));
                }
            }
            // Nothing, or the length of all strings.
            None if elements == 0 && !matches!(payload, 0 | 4) => {
                let what = "bytes of all blocks, of no string";
                return Err(error(ErrorKind::Mismatch { what, expected: 4, found: payload }));
            }
            // The length of all strings, then at least the length of each.
            None if elements > 0 && elements > payload.saturating_sub(4) / 4 => {
                let what = "strings, against the bytes of all blocks";
                let max = payload.saturating_sub(4) / 4;
                return Err(error(ErrorKind::OutOfRange { what, min: 0, max, found: elements }));
            }
            // They are read whole, and found by where they start.
            None => {
                let memory = payload.saturating_add(elements.saturating_mul(size_of::<&[u8]>() as u64));
                let limit = limits.item_bytes.min(STRINGS_MEMORY);
                limits::check("memory for all strings", memory, limit).map_err(error)?;
            }
        }
        let shape = entry.shape.clone().into();
        // The entry's own block size is not to be trusted once there are several blocks.
        let block_size = match entry.blocks[..] {
            [first, _, ..] => first.decoded,
            _ => entry.block_size,
        };
        Ok(Self { dtype, compression, shape, elements, blocks, block_size, name })
    }

    /// A value as an array that is not compressed, whose data the bytes of the value are.
    pub(super) fn of(value: &Tensor) -> Self {
        // Before strings stands their total length, which nothing reads.
        let start = if value.dtype() == DataType::String { STRINGS_HEADER } else { 0 };
        let len = value.bytes().len() as u64;
        Self {
            dtype: value.dtype(),
            compression: Compression::None,
            shape: value.shape().into(),
            elements: value.elements(),
            blocks: vec![Block { stored: 0..len, payload: start..start + len }],
            block_size: len,
            name: Name::new(None, "value".into(), 0),
        }
    }

    /// As [`Array::name`].
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Type of the elements.
    #[must_use]
    pub fn dtype(&self) -> DataType {
        self.dtype
    }

    /// Codec of the blocks.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Number of elements.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Bytes of all blocks once decoded.
    #[must_use]
    pub fn payload_len(&self) -> u64 {
        self.blocks.last().map_or(0, |block| block.payload.end)
    }

    /// Bytes of a decoded block; the last one can be shorter.
    #[must_use]
    pub fn block_size(&self) -> u64 {
        self.block_size
    }

    /// The blocks, in the order of the payload.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Width of the elements whose byte planes the payload is; `None` when it is the elements themselves.
    #[must_use]
    pub fn planes(&self) -> Option<usize> {
        self.dtype.size().filter(|&size| size > 1 && self.compression.shuffles())
    }

    /// Where all its bytes are stored, neighbours merged.
    #[must_use]
    pub fn stored_ranges(&self) -> Vec<Range<u64>> {
        merge(self.blocks.iter().map(|block| block.stored.clone()))
    }

    /// Where the payload stands as it is: nothing is compressed, and the blocks follow each other.
    #[must_use]
    pub fn plain_range(&self) -> Option<Range<u64>> {
        let follow = |pair: &[Block]| pair[0].stored.end == pair[1].stored.start;
        if self.compression != Compression::None || !self.blocks.windows(2).all(follow) {
            return None;
        }
        match (self.blocks.first(), self.blocks.last()) {
            (Some(first), Some(last)) => Some(first.stored.start..last.stored.end),
            _ => Some(0..0),
        }
    }

    /// Decodes the block `index` into `out`; byte planes stay planes.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] without such a block; data that does not decode to exactly `out`.
    pub fn decode_block(&self, index: usize, stored: &[u8], out: &mut [u8]) -> Result<(), Error> {
        if index >= self.blocks.len() {
            return Err(self.block_error(index, ErrorKind::NotFound("block")));
        }
        codec::decode(self.compression, stored, out).map_err(|kind| self.block_error(index, kind))
    }

    /// The same, of a block that there is; and how many stored bytes follow what is decoded.
    pub(super) fn decode_block_and_rest(
        &self,
        index: usize,
        stored: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        codec::decode_and_rest(self.compression, stored, out).map_err(|kind| self.block_error(index, kind))
    }

    pub(super) fn block_error(&self, index: usize, kind: ErrorKind) -> Error {
        let error = self.error(kind).detail(alloc::format!("block {index}"));
        match self.blocks.get(index) {
            Some(block) => error.at(block.stored.start),
            None => error,
        }
    }

    /// The block that holds this byte of the payload, with its index.
    pub(super) fn block_of(&self, position: u64) -> Result<(usize, &Block), Error> {
        let index = self.blocks.partition_point(|block| block.payload.end <= position);
        let block = self.blocks.get(index).ok_or_else(|| self.error(ErrorKind::NotFound("block")))?;
        Ok((index, block))
    }

    /// The payload with byte planes joined: little-endian elements, or strings with their total length.
    ///
    /// # Errors
    /// Those of the source, and data that does not decode.
    pub fn read_payload<S: Source + ?Sized>(&self, source: &S) -> Poll<Vec<u8>> {
        source.request(&self.stored_ranges())?;
        let len = limits::check("bytes of an array", self.payload_len(), u64::MAX)
            .map_err(|kind| self.error(kind))?;
        let mut payload = self.zeroed(len)?;
        self.read_payload_into(source, &mut payload)?;
        Ok(payload)
    }

    fn read_payload_into<S: Source + ?Sized>(&self, source: &S, out: &mut [u8]) -> Poll<()> {
        if out.len() as u64 != self.payload_len() {
            let found = out.len() as u64;
            let kind =
                ErrorKind::Mismatch { what: "bytes of the buffer", expected: self.payload_len(), found };
            return Err(self.error(kind).into());
        }
        source.request(&self.stored_ranges())?;
        let Some(width) = self.planes() else { return self.decode_all(source, out) };
        if self.planes_share_blocks() {
            let mut planes = self.zeroed(out.len())?;
            self.decode_all(source, &mut planes)?;
            shuffle::unshuffle(&planes, width, 0, out);
            return Ok(());
        }
        let mut memory = self.zeroed(self.walk_memory())?;
        self.walk(0, &mut memory)?.read(out, |index| source.bytes(self.blocks[index].stored.clone()))
    }

    fn decode_all<S: Source + ?Sized>(&self, source: &S, mut out: &mut [u8]) -> Poll<()> {
        for (index, block) in self.blocks.iter().enumerate() {
            let len = (block.payload.end - block.payload.start) as usize;
            let (part, rest) = out.split_at_mut(len);
            self.decode_block(index, source.bytes(block.stored.clone())?, part)?;
            out = rest;
        }
        Ok(())
    }

    /// Bytes of the largest block once decoded.
    #[must_use]
    pub fn largest_block(&self) -> u64 {
        self.blocks.iter().map(|block| block.payload.end - block.payload.start).max().unwrap_or(0)
    }

    /// Whether the payload is less than a block for each byte plane, so that it is best decoded whole.
    #[must_use]
    pub fn planes_share_blocks(&self) -> bool {
        self.planes().is_some_and(|_| self.elements <= self.largest_block())
    }

    /// Checks that a payload holds exactly the strings that the shape has, and takes the total length off.
    pub(super) fn check_strings(&self, mut payload: Vec<u8>) -> Result<Vec<u8>, Error> {
        if payload.is_empty() && self.elements == 0 {
            return Ok(payload);
        }
        let at = self.blocks.first().map_or(0, |block| block.stored.start);
        // Offsets inside a compressed block are no offsets of the file: name the array's first byte instead.
        let parsed = (|| {
            let (mut rest, _) = raw::strings_header(&payload)?;
            for _ in 0..self.elements {
                rest = raw::string(rest)?.0;
            }
            Ok((rest, ()))
        })();
        let (rest, ()) = crate::wire::parse(DATA, at, &payload, |_| parsed).map_err(|error| {
            let offset = error.offset().unwrap_or(at) - at;
            error
                .at(at)
                .item(self.name.label())
                .detail(alloc::format!("at byte {offset} of the decoded strings"))
        })?;
        if !rest.is_empty() {
            let error = self.error(ErrorKind::Invalid("bytes left over after the last string"));
            return Err(error.detail(counted(rest.len() as u64, "byte")));
        }
        payload.drain(..4);
        Ok(payload)
    }

    pub(super) fn zeroed(&self, len: usize) -> Result<Vec<u8>, Error> {
        limits::zeroed(len).map_err(|kind| self.error(kind))
    }

    pub(super) fn zeroed_elements<T: Element>(&self, len: u64) -> Result<Vec<T>, Error> {
        let needed = len.saturating_mul(size_of::<T>() as u64);
        let values = usize::try_from(len).ok().and_then(|len| bytemuck::try_zeroed_vec(len).ok());
        values.ok_or_else(|| self.error(ErrorKind::Memory { needed }))
    }

    pub(super) fn error(&self, kind: ErrorKind) -> Error {
        let error = Error::new(DATA, kind).item(self.name.label());
        match self.blocks.first() {
            Some(block) => error.at(block.stored.start),
            None => error,
        }
    }
}

/// Checks where each block lies and how far it expands.
fn place_blocks(
    entry: &IndexEntry,
    compression: Compression,
    file_len: u64,
    limits: &Limits,
) -> Result<Vec<Block>, Error> {
    let mut blocks = Vec::with_capacity(entry.blocks.len());
    let mut payload = 0u64;
    let mut stored_sum = 0u64;
    for (index, info) in entry.blocks.iter().enumerate() {
        let start = entry.position.saturating_add(info.offset);
        let error = |kind| Error::new("block", kind).at(start).detail(alloc::format!("block {index}"));
        let end = start.checked_add(info.stored).filter(|&end| end <= file_len).ok_or_else(|| {
            error(ErrorKind::Truncated { needed: info.stored, available: file_len.saturating_sub(start) })
        })?;
        check_expansion(info, compression, limits).map_err(error)?;
        stored_sum = stored_sum.saturating_add(info.stored);
        if stored_sum > file_len {
            return Err(error(ErrorKind::Invalid(
                "the blocks are together larger than the file: they overlap",
            )));
        }
        let payload_end = payload
            .checked_add(info.decoded)
            .ok_or_else(|| error(ErrorKind::Invalid("the blocks have more than 2^64 bytes")))?;
        blocks.push(Block { stored: start..end, payload: payload..payload_end });
        payload = payload_end;
    }
    Ok(blocks)
}

/// Rejects a decoded size that the stored bytes cannot reach, or that is over the limit, so that nothing is allocated
/// for it.
fn check_expansion(info: &BlockInfo, compression: Compression, limits: &Limits) -> Result<(), ErrorKind> {
    let max = info.stored.saturating_mul(codec::max_expansion(compression));
    let what = "decoded bytes of a block, against the stored ones";
    match compression {
        Compression::None if info.decoded != info.stored => {
            Err(ErrorKind::Mismatch { what, expected: info.stored, found: info.decoded })
        }
        Compression::None => Ok(()),
        _ if info.decoded > max => Err(ErrorKind::OutOfRange { what, min: 0, max, found: info.decoded }),
        _ => limits::check("decoded bytes of a block", info.decoded, limits.block_bytes).map(drop),
    }
}

/// Joins ranges that touch or overlap, where each starts at or after the one before it.
pub(super) fn merge(ranges: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut merged = Vec::new();
    ranges.for_each(|range| add_range(&mut merged, range, 0));
    merged
}

/// Adds a range, joined to the last one when they are at most `gap` bytes apart.
pub(super) fn add_range(ranges: &mut Vec<Range<u64>>, range: Range<u64>, gap: u64) {
    match ranges.last_mut() {
        _ if range.is_empty() => {}
        Some(last) if (last.start..=last.end.saturating_add(gap)).contains(&range.start) => {
            last.end = last.end.max(range.end);
        }
        _ => ranges.push(range),
    }
}
