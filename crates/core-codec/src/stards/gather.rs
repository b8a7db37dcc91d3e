//! Reads a selection: decodes the blocks that hold it, each once, and nothing else.
//!
//! A selection is a nest of strided loops that copy runs of bytes from the payload to the output. Turned so that
//! the payload is walked forwards, each block is needed in one stretch, and one decoded block is in memory at a
//! time. Byte planes are one more loop around it: the element's bytes become elements of their own.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::array::{Array, Block, Content, add_range, merge};
use super::cursor::Cursor;
use super::name::counted;
use super::slice::{Selection, Slice};
use super::tensor::{self, Tensor};
use super::types::{Compression, DataType, Element};
use crate::error::{Error, ErrorKind};
use crate::limits;
use crate::source::{Poll, Source, Stop, complete};

/// Bytes before the first string: the length of all.
pub(super) const STRINGS_HEADER: u64 = 4;

/// Ranges of an uncompressed array that are at most this far apart are fetched as one.
const FETCH_GAP: u64 = 4096;

/// One strided loop. The payload is walked forwards, the output in either direction.
#[derive(Clone, Copy, Debug)]
struct Loop {
    count: u64,
    from: u64,
    to: i64,
}

/// Strided loops, outermost first, around a copy of `width` bytes.
#[derive(Debug)]
struct Nest {
    loops: Vec<Loop>,
    width: u64,
    from: u64,
    to: i64,
}

/// `count` copies of `width` bytes at the innermost loop.
#[derive(Clone, Copy)]
struct Row {
    from: u64,
    to: i64,
    inner: Loop,
    width: u64,
}

impl Array {
    /// The part of it that `slices` take, of any type. Dimensions without a slice are taken whole.
    ///
    /// # Errors
    /// Slices that do not fit the shape, and as [`read`](Self::read).
    pub fn read_slice<S: Source + ?Sized>(&self, source: &S, slices: &[Slice]) -> Poll<Tensor> {
        let content = self.content()?;
        let selection = Selection::new(&content.shape, slices)?;
        let bytes = content.read_selection(source, &selection)?;
        Ok(Tensor::checked(content.dtype, selection.shape(), bytes))
    }

    /// The numbers that `slices` take, in row-major order, and their shape.
    ///
    /// # Errors
    /// As [`read_slice`](Self::read_slice), and [`ErrorKind::Type`] when they are not of type `T`.
    pub fn read_slice_vec<T: Element, S: Source + ?Sized>(
        &self,
        source: &S,
        slices: &[Slice],
    ) -> Poll<(Vec<u64>, Vec<T>)> {
        let content = self.typed::<T>()?;
        let selection = Selection::new(&content.shape, slices)?;
        let mut values = content.zeroed_elements(selection.elements())?;
        content.read_selection_into(source, &selection, bytemuck::cast_slice_mut(&mut values))?;
        tensor::swap_le(&mut values);
        Ok((selection.shape().to_vec(), values))
    }
}

impl Tensor {
    /// The part of it that `slices` take. Dimensions without a slice are taken whole.
    ///
    /// ```
    /// use core_codec::stards::{Slice, Tensor};
    ///
    /// let units = Tensor::strings(&[3], ["m", "s", "kg"])?;
    /// assert_eq!(units.slice(&Slice::parse_all("::-2")?)?, Tensor::strings(&[2], ["kg", "m"])?);
    /// # Ok::<(), core_codec::Error>(())
    /// ```
    ///
    /// # Errors
    /// Slices that do not fit the shape.
    pub fn slice(&self, slices: &[Slice]) -> Result<Self, Error> {
        let selection = Selection::new(self.shape(), slices)?;
        let bytes = complete(Content::of(self).read_selection(self.bytes(), &selection))?;
        Ok(Self::checked(self.dtype(), selection.shape(), bytes))
    }
}

impl Content {
    /// The elements of a selection, as the bytes of a [`Tensor`].
    ///
    /// # Errors
    /// Those of the source, and data that does not decode.
    pub fn read_selection<S: Source + ?Sized>(&self, source: &S, selection: &Selection) -> Poll<Vec<u8>> {
        let Some(size) = self.dtype.size() else { return self.read_strings(source, selection) };
        let len = selection.elements().saturating_mul(size as u64);
        let len =
            limits::check("bytes of a selection", len, usize::MAX as u64).map_err(|kind| self.error(kind))?;
        let mut out = self.zeroed(len)?;
        self.read_selection_into(source, selection, &mut out)?;
        Ok(out)
    }

    /// The numbers `elements`, counted in row-major order, as little-endian bytes into `out`.
    ///
    /// # Errors
    /// [`ErrorKind::Type`] for strings, [`ErrorKind::OutOfRange`] when there are fewer elements, and as
    /// [`read_selection_into`](Self::read_selection_into).
    pub fn read_elements<S: Source + ?Sized>(
        &self,
        source: &S,
        elements: Range<u64>,
        out: &mut [u8],
    ) -> Poll<()> {
        if elements.start > elements.end || elements.end > self.elements {
            let (max, found) = (self.elements, elements.end);
            return Err(self.error(ErrorKind::OutOfRange { what: "elements", min: 0, max, found }).into());
        }
        let axis = super::slice::Axis {
            first: elements.start,
            step: 1,
            count: elements.end - elements.start,
            keep: true,
        };
        self.gather(source, &[self.elements], &[axis], out)
    }

    /// The numbers of a selection, as little-endian bytes in row-major order into `out`.
    ///
    /// # Errors
    /// [`ErrorKind::Type`] for strings, [`ErrorKind::Mismatch`] when `out` has another length, those of the source,
    /// and data that does not decode.
    pub fn read_selection_into<S: Source + ?Sized>(
        &self,
        source: &S,
        selection: &Selection,
        out: &mut [u8],
    ) -> Poll<()> {
        self.gather(source, &self.shape, selection.axes(), out)
    }

    fn gather<S: Source + ?Sized>(
        &self,
        source: &S,
        shape: &[u64],
        axes: &[super::slice::Axis],
        out: &mut [u8],
    ) -> Poll<()> {
        let Some(size) = self.dtype.size() else {
            let kind = ErrorKind::Type { expected: "numbers", found: DataType::String.name() };
            return Err(self.error(kind).into());
        };
        let expected = axes.iter().fold(size as u64, |product, axis| product.saturating_mul(axis.count));
        let found = out.len() as u64;
        if expected != found {
            let kind = ErrorKind::Mismatch { what: "bytes of the buffer", expected, found };
            return Err(self.error(kind).into());
        }
        if out.is_empty() {
            return Ok(());
        }
        let nest = Nest::new(shape, axes, size as u64, self.planes().map(|_| self.elements));
        source.request(&self.needed(&nest))?;
        let mut window = Window::new(self, source);
        nest.for_each_row(&mut |row| window.copy_row(row, out))
    }

    /// What has to be fetched for a nest of loops.
    fn needed(&self, nest: &Nest) -> Vec<Range<u64>> {
        let gap = if self.compression == Compression::None { FETCH_GAP } else { 0 };
        let full = self.blocks.iter().rev().skip(1).map(|block| block.payload.end - block.payload.start);
        // No block lies between two neighbours that are at most this far apart.
        let near = full.min().unwrap_or(u64::MAX).min(FETCH_GAP);
        let mut needed = Vec::new();
        let mut add = |span| self.stored_of(span).for_each(|range| add_range(&mut needed, range, gap));
        let walked: Result<(), core::convert::Infallible> = nest.for_each_row(&mut |row| {
            let Row { from, inner, width, .. } = row;
            if inner.from <= near {
                add(from..from + (inner.count - 1) * inner.from + width);
            } else {
                (0..inner.count).map(|i| from + i * inner.from).for_each(|start| add(start..start + width));
            }
            Ok(())
        });
        let Ok(()) = walked;
        needed
    }

    /// Where a span of the payload is stored: whole blocks, or of an uncompressed array exactly the span.
    pub(super) fn stored_of(&self, span: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let first = self.blocks.partition_point(|block| block.payload.end <= span.start);
        let exact = self.compression == Compression::None;
        self.blocks[first..].iter().take_while(move |block| block.payload.start < span.end).map(
            move |block| {
                if !exact {
                    return block.stored.clone();
                }
                let start = span.start.max(block.payload.start) - block.payload.start;
                let end = span.end.min(block.payload.end) - block.payload.start;
                block.stored.start + start..block.stored.start + end
            },
        )
    }

    /// Strings have no fixed place: all before the last one that is wanted are walked through, and no block after it
    /// is read.
    fn read_strings<S: Source + ?Sized>(&self, source: &S, selection: &Selection) -> Poll<Vec<u8>> {
        if selection.elements() == 0 {
            return Ok(Vec::new());
        }
        let nest = Nest::new(&self.shape, selection.axes(), 1, None);
        let len =
            limits::check("strings", selection.elements(), self.elements).map_err(|kind| self.error(kind))?;
        let mut places: Vec<Range<usize>> = Vec::new();
        let needed = (len as u64).saturating_mul(size_of::<Range<usize>>() as u64);
        places.try_reserve_exact(len).map_err(|_| self.error(ErrorKind::Memory { needed }))?;
        places.resize(len, 0..0);
        let mut strings = Strings::new(self, source, nest.last());
        let mut texts = Vec::new();
        if len as u64 == self.elements {
            reserve(&mut texts, self.payload_len()).map_err(|kind| self.error(kind))?;
        }
        nest.for_each_row(&mut |row| {
            for i in 0..row.inner.count {
                for w in 0..row.width {
                    let to = (row.to + row.inner.to * i as i64) as usize + w as usize;
                    let start = texts.len();
                    strings.copy(row.from + row.inner.from * i + w, &mut texts)?;
                    places[to] = start..texts.len();
                }
            }
            Ok::<_, Stop>(())
        })?;
        strings.finish()?;
        if places.is_sorted_by_key(|place| place.start) {
            return Ok(texts);
        }
        let mut sorted = Vec::new();
        reserve(&mut sorted, texts.len() as u64).map_err(|kind| self.error(kind))?;
        places.into_iter().for_each(|place| sorted.extend_from_slice(&texts[place]));
        Ok(sorted)
    }
}

/// Makes room for `len` more bytes, or says that the system has not as much.
fn reserve(bytes: &mut Vec<u8>, len: u64) -> Result<(), ErrorKind> {
    limits::room(bytes, limits::check("bytes of strings", len, u64::MAX)?)
}

/// Walks through strings from the first on.
struct Strings<'a, S: ?Sized> {
    window: Window<'a, S>,
    /// The last one that is wanted.
    last: u64,
    /// Number of the string at the position.
    next: u64,
    /// In the payload.
    position: u64,
    /// Up to where the payload has been asked for.
    requested: u64,
}

impl<'a, S: Source + ?Sized> Strings<'a, S> {
    fn new(content: &'a Content, source: &'a S, last: u64) -> Self {
        let window = Window::new(content, source);
        Self { window, last, next: 0, position: STRINGS_HEADER, requested: 0 }
    }

    /// Appends the string `index`, with its length before it, to `out`. Strings are to be taken in order.
    fn copy(&mut self, index: u64, out: &mut Vec<u8>) -> Poll<()> {
        while self.next < index {
            let len = self.string_len()?;
            self.position += len;
            self.next += 1;
        }
        let needed = self.string_len()?;
        reserve(out, needed).map_err(|kind| self.error(kind))?;
        let end = self.position + needed;
        while self.position < end {
            let left = (end - self.position) as usize;
            let bytes = self.at(self.position)?;
            let done = bytes.len().min(left);
            out.extend_from_slice(&bytes[..done]);
            self.position += done as u64;
        }
        self.next += 1;
        Ok(())
    }

    /// Bytes of the string at the position, with those of its length.
    fn string_len(&mut self) -> Poll<u64> {
        let available = self.window.content.payload_len().saturating_sub(self.position);
        let truncated = |needed| ErrorKind::Truncated { needed, available };
        if available < 4 {
            return Err(self.error(truncated(4)).into());
        }
        let mut len = [0; 4];
        let mut done = 0;
        while done < len.len() {
            let bytes = self.at(self.position + done as u64)?;
            let count = bytes.len().min(len.len() - done);
            len[done..done + count].copy_from_slice(&bytes[..count]);
            done += count;
        }
        let needed = 4 + u64::from(u32::from_le_bytes(len));
        if needed > available {
            return Err(self.error(truncated(needed)).into());
        }
        Ok(needed)
    }

    /// The payload from `from` on, as far as it is together in memory.
    fn at(&mut self, from: u64) -> Poll<&[u8]> {
        if from >= self.requested {
            self.request(from)?;
        }
        let (span, bytes) = self.window.hold(from, self.requested)?;
        Ok(&bytes[(from - span.start) as usize..])
    }

    /// Asks for as much as the strings up to the last one take if all are as long; where they are longer, for twice as
    /// much as has been walked through.
    fn request(&mut self, from: u64) -> Poll<()> {
        let content = self.window.content;
        let payload = content.payload_len();
        let share = u128::from(payload) * u128::from(self.last + 1) / u128::from(content.elements.max(1));
        self.requested = (share as u64).max(from.saturating_mul(2)).max(from + 1).min(payload);
        self.window.source.request(&merge(content.stored_of(0..self.requested)))
    }

    /// Checks that nothing follows the last string, when that is among those walked through.
    fn finish(&self) -> Result<(), Error> {
        let left = self.window.content.payload_len().saturating_sub(self.position);
        if self.next < self.window.content.elements || left == 0 {
            return Ok(());
        }
        let error = self.window.content.error(ErrorKind::Invalid("bytes left over after the last string"));
        Err(error.detail(counted(left, "byte")))
    }

    fn error(&self, kind: ErrorKind) -> Error {
        let detail = alloc::format!("at byte {} of the decoded strings", self.position);
        self.window.content.error(kind).detail(detail)
    }
}

impl Nest {
    /// The loops of a selection that takes at least one element. `planes` is the length of a byte plane.
    ///
    /// All products are offsets in a payload or an output that exist, so none overflows.
    fn new(shape: &[u64], axes: &[super::slice::Axis], size: u64, planes: Option<u64>) -> Self {
        let unit = if planes.is_some() { 1 } else { size };
        let mut nest = Self { loops: Vec::new(), width: unit, from: 0, to: 0 };
        let (mut from, mut to) = (unit, size as i64);
        for (axis, &dimension) in axes.iter().zip(shape).rev() {
            nest.from += axis.first * from;
            if axis.count > 1 {
                nest.push_outer(axis.step, axis.count, from, to);
            }
            from *= dimension;
            to *= axis.count as i64;
        }
        if let Some(elements) = planes {
            nest.push_outer(1, size, elements, 1);
        }
        nest.loops.reverse();
        nest
    }

    /// Adds a loop around those that are there (innermost first), or widens the copy where bytes follow each other.
    fn push_outer(&mut self, step: i64, count: u64, from: u64, to: i64) {
        let from_step = from * step.unsigned_abs();
        let to_step = if step > 0 {
            to
        } else {
            self.from -= from_step * (count - 1);
            self.to += to * (count - 1) as i64;
            -to
        };
        if self.loops.is_empty() && from_step == self.width && to_step == self.width as i64 {
            self.width *= count;
        } else {
            self.loops.push(Loop { count, from: from_step, to: to_step });
        }
    }

    /// The last byte of the payload, or the last string, that it takes.
    fn last(&self) -> u64 {
        let outermost: u64 = self.loops.iter().map(|step| (step.count - 1) * step.from).sum();
        self.from + outermost + self.width - 1
    }

    /// Calls `row` for each pass of the innermost loop, forwards in the payload.
    fn for_each_row<E>(&self, row: &mut impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        let once = Loop { count: 1, from: 0, to: 0 };
        let (&inner, outer) = self.loops.split_last().unwrap_or((&once, &[]));
        let mut counters = vec![0u64; outer.len()];
        let (mut from, mut to) = (self.from, self.to);
        loop {
            row(Row { from, to, inner, width: self.width })?;
            let mut level = outer.len();
            loop {
                let Some(next) = level.checked_sub(1) else { return Ok(()) };
                level = next;
                let step = outer[level];
                counters[level] += 1;
                if counters[level] < step.count {
                    from += step.from;
                    to += step.to;
                    break;
                }
                counters[level] = 0;
                from -= step.from * (step.count - 1);
                to -= step.to * (step.count - 1) as i64;
            }
        }
    }
}

/// The part of the payload that can be looked at: what is decoded of a block, or some bytes of an uncompressed one.
struct Window<'a, S: ?Sized> {
    content: &'a Content,
    source: &'a S,
    plain: (Range<u64>, &'a [u8]),
    decoded: Cursor<Vec<u8>>,
}

impl<'a, S: Source + ?Sized> Window<'a, S> {
    fn new(content: &'a Content, source: &'a S) -> Self {
        Self { content, source, plain: (0..0, &[]), decoded: Cursor::new(Vec::new()) }
    }

    fn copy_row(&mut self, row: Row, out: &mut [u8]) -> Poll<()> {
        let mut done = 0;
        while done < row.inner.count {
            let from = row.from + row.inner.from * done;
            let to = row.to + row.inner.to * done as i64;
            if self.whole_block(from, row.width)?.is_some() {
                self.copy_across(from, to as usize, row.width, out)?;
                done += 1;
                continue;
            }
            // Far-apart copies are looked at one by one, so that what lies between is not fetched.
            let rest = row.inner.count - done;
            let near = if row.inner.from <= FETCH_GAP { rest } else { 1 };
            let (span, bytes) = self.at(from, from + row.inner.from * (near - 1) + row.width)?;
            let whole = match (span.end - from).checked_sub(row.width) {
                Some(room) if row.inner.from > 0 => (room / row.inner.from + 1).min(rest),
                Some(_) => 1,
                None => 0,
            };
            let bytes = &bytes[(from - span.start) as usize..];
            if whole == 0 {
                // The copy runs on in the next block.
                self.copy_across(from, to as usize, row.width, out)?;
                done += 1;
            } else {
                copy_strided(bytes, row.inner.from, out, to, row.inner.to, row.width, whole);
                done += whole;
            }
        }
        Ok(())
    }

    fn copy_across(&mut self, mut from: u64, to: usize, width: u64, out: &mut [u8]) -> Poll<()> {
        let mut out = &mut out[to..to + width as usize];
        while !out.is_empty() {
            let part = if let Some((index, block)) = self.whole_block(from, out.len() as u64)? {
                let part = out.split_off_mut(..(block.payload.end - from) as usize).unwrap_or_default();
                self.content.decode_block(index, self.source.bytes(block.stored.clone())?, part)?;
                part
            } else {
                let (span, bytes) = self.at(from, from + out.len() as u64)?;
                let bytes = &bytes[(from - span.start) as usize..];
                let part = out.split_off_mut(..bytes.len().min(out.len())).unwrap_or_default();
                part.copy_from_slice(&bytes[..part.len()]);
                part
            };
            from += part.len() as u64;
        }
        Ok(())
    }

    /// The compressed block that starts at the payload byte `from` and ends in the `len` bytes from there: it is decoded
    /// where it is to go.
    fn whole_block(&self, from: u64, len: u64) -> Result<Option<(usize, &'a Block)>, Error> {
        if self.content.compression == Compression::None || self.decoded.holds(from) {
            return Ok(None);
        }
        let found = self.content.block_of(from)?;
        let payload = &found.1.payload;
        Ok((payload.start == from && payload.end - from <= len).then_some(found))
    }

    /// A span that holds the payload byte `from`, of an uncompressed array up to `until` where the block goes that far.
    fn at(&mut self, from: u64, until: u64) -> Poll<(Range<u64>, &[u8])> {
        self.plain.0 = 0..0;
        self.hold(from, until)
    }

    /// The span that is held where that holds the payload byte `from`, else as [`at`](Self::at).
    fn hold(&mut self, from: u64, until: u64) -> Poll<(Range<u64>, &[u8])> {
        let (content, source) = (self.content, self.source);
        if content.compression != Compression::None {
            return self
                .decoded
                .at(content, from, |index| source.bytes(content.blocks[index].stored.clone()));
        }
        if !self.plain.0.contains(&from) {
            let (_, block) = content.block_of(from)?;
            let end = until.min(block.payload.end);
            let start = block.stored.start + (from - block.payload.start);
            self.plain = (from..end, source.bytes(start..start + (end - from))?);
        }
        Ok(self.plain.clone())
    }
}

/// `count` copies of `width` bytes; the offsets lie inside both slices.
fn copy_strided(bytes: &[u8], from: u64, out: &mut [u8], to: i64, to_step: i64, width: u64, count: u64) {
    let from = from as usize;
    match width {
        1 => copy_fixed::<1>(bytes, from, out, to, to_step, count),
        2 => copy_fixed::<2>(bytes, from, out, to, to_step, count),
        4 => copy_fixed::<4>(bytes, from, out, to, to_step, count),
        8 => copy_fixed::<8>(bytes, from, out, to, to_step, count),
        _ => {
            let width = width as usize;
            for i in 0..count as usize {
                let to = (to + to_step * i as i64) as usize;
                out[to..to + width].copy_from_slice(&bytes[from * i..from * i + width]);
            }
        }
    }
}

fn copy_fixed<const N: usize>(bytes: &[u8], from: usize, out: &mut [u8], to: i64, to_step: i64, count: u64) {
    let mut to = to;
    let mut at = 0;
    for _ in 0..count {
        let target = to as usize;
        out[target..target + N].copy_from_slice(&bytes[at..at + N]);
        at += from;
        to = to.wrapping_add(to_step);
    }
}
