//! A place in the payload of an array that goes forwards, with what is decoded there.
//!
//! A block of ordinary size is decoded whole. A larger one is decoded piece by piece, so that memory does not depend on
//! what the file says of its blocks.

use alloc::vec::Vec;
use core::ops::Range;

use super::array::{Block, Content};
use super::codec::{self, HISTORY, Pieces};
use super::types::Compression;
use crate::codec::shuffle;
use crate::error::{Error, ErrorKind};
use crate::limits;

/// The largest block that is decoded whole.
const LARGEST_WHOLE: u64 = 4 << 20;
/// Decoded bytes of a piece of a larger block.
const PIECE: usize = 1 << 20;

/// Memory that a [`Cursor`] decodes into.
pub(super) trait Memory {
    /// Its first `len` bytes, which keep what they hold.
    fn first(&mut self, len: usize) -> Result<&mut [u8], ErrorKind>;
}

impl Memory for Vec<u8> {
    fn first(&mut self, len: usize) -> Result<&mut [u8], ErrorKind> {
        if self.len() < len {
            *self = limits::zeroed(len)?;
        }
        Ok(&mut self[..len])
    }
}

impl Memory for &mut [u8] {
    fn first(&mut self, len: usize) -> Result<&mut [u8], ErrorKind> {
        self.get_mut(..len).ok_or(ErrorKind::Invalid("too little memory to decode a block in"))
    }
}

/// A place in the payload of a compressed array.
#[derive(Debug, Default)]
pub(super) struct Cursor<M> {
    /// What is decoded of the payload.
    span: Range<u64>,
    /// Where in the memory that starts; before it is what a further piece may refer to.
    start: usize,
    memory: M,
    /// Of a block that is not decoded whole: its index and its decoder.
    pieces: Option<(usize, Pieces)>,
}

impl<M: Memory> Cursor<M> {
    pub(super) fn new(memory: M) -> Self {
        Self { span: 0..0, start: 0, memory, pieces: None }
    }

    /// Whether this byte of the payload is decoded.
    pub(super) fn holds(&self, position: u64) -> bool {
        self.span.contains(&position)
    }

    /// What is decoded, and of which part of the payload.
    pub(super) fn held(&mut self) -> Result<(Range<u64>, &[u8]), ErrorKind> {
        let end = self.start + (self.span.end - self.span.start) as usize;
        Ok((self.span.clone(), &self.memory.first(end)?[self.start..]))
    }

    /// As [`held`](Self::held), once the byte `position` of the payload is decoded. `stored` gives the stored bytes of a
    /// block by its index.
    pub(super) fn at<'s, E: From<Error>>(
        &mut self,
        content: &Content,
        position: u64,
        stored: impl FnOnce(usize) -> Result<&'s [u8], E>,
    ) -> Result<(Range<u64>, &[u8]), E> {
        if !self.holds(position) {
            let (index, block) = content.block_of(position)?;
            self.load(content, index, block, position, stored(index)?)?;
        }
        Ok(self.held().map_err(|kind| content.error(kind))?)
    }

    /// Decodes all of a block: how many stored bytes follow what is decoded. Nothing is held afterwards.
    pub(super) fn check(&mut self, content: &Content, index: usize, stored: &[u8]) -> Result<usize, Error> {
        let Some(block) = content.blocks().get(index) else { return Ok(0) };
        if !in_pieces(content, block) {
            self.span = 0..0;
            let len = (block.payload.end - block.payload.start) as usize;
            let memory = self.memory.first(len).map_err(|kind| content.block_error(index, kind))?;
            return content.decode_block_and_rest(index, stored, memory);
        }
        let mut position = block.payload.start;
        while position < block.payload.end {
            self.load(content, index, block, position, stored)?;
            position = self.span.end;
        }
        self.span = 0..0;
        Ok(self.pieces.take().map_or(0, |(_, pieces)| pieces.rest(stored)))
    }

    fn load(
        &mut self,
        content: &Content,
        index: usize,
        block: &Block,
        position: u64,
        stored: &[u8],
    ) -> Result<(), Error> {
        let error = |kind| content.block_error(index, kind);
        if !in_pieces(content, block) {
            // No larger than a limit in bytes of memory.
            let len = (block.payload.end - block.payload.start) as usize;
            // Should the decoder fail, nothing is held.
            self.span = 0..0;
            let memory = self.memory.first(len).map_err(error)?;
            content.decode_block(index, stored, memory)?;
            (self.span, self.start, self.pieces) = (block.payload.clone(), 0, None);
            return Ok(());
        }
        if self.pieces.as_ref().is_none_or(|(of, _)| *of != index) || position < self.span.start {
            let pieces = Pieces::new(content.compression(), stored).map_err(error)?;
            self.pieces = Some((index, pieces));
            (self.span, self.start) = (block.payload.start..block.payload.start, 0);
        }
        while self.span.end <= position {
            if let Err(kind) = self.next_piece(content.compression(), block, stored) {
                // Nothing is held of a block that does not decode.
                (self.span, self.pieces) = (0..0, None);
                return Err(error(kind));
            }
        }
        Ok(())
    }

    /// Decodes the piece of the block that follows.
    fn next_piece(
        &mut self,
        compression: Compression,
        block: &Block,
        stored: &[u8],
    ) -> Result<(), ErrorKind> {
        let Some((_, pieces)) = &mut self.pieces else { return Err(ErrorKind::NotFound("block")) };
        let held = self.start + (self.span.end - self.span.start) as usize;
        let history = held.min(HISTORY);
        let left = block.payload.end - self.span.end;
        let len = left.min(PIECE as u64) as usize;
        let memory = self.memory.first(HISTORY + PIECE)?;
        memory.copy_within(held - history..held, 0);
        let (written, done) = pieces.next(stored, &mut memory[..history + len], history)?;
        let end = self.span.end + written as u64;
        (self.span, self.start) = (self.span.end..end, history);
        match done {
            true if end < block.payload.end => {
                let (expected, found) = (block.payload.end - block.payload.start, end - block.payload.start);
                Err(ErrorKind::Mismatch { what: "decoded bytes", expected, found })
            }
            false if end == block.payload.end => Err(codec::too_long(compression)),
            _ => Ok(()),
        }
    }
}

/// Whether a block is decoded piece by piece.
fn in_pieces(content: &Content, block: &Block) -> bool {
    block.payload.end - block.payload.start > LARGEST_WHOLE && Pieces::can(content.compression())
}

/// Reads the numbers of an array in their order, each block once for each byte plane that it has a part of.
#[derive(Debug)]
pub struct Walk<'c, 'm> {
    content: &'c Content,
    /// One for each byte plane, or one for all.
    planes: Vec<Plane<'m>>,
    /// Elements, or bytes where there are no planes, that are left.
    left: u64,
}

#[derive(Debug)]
struct Plane<'m> {
    position: u64,
    cursor: Cursor<&'m mut [u8]>,
}

impl Content {
    /// Memory that a [`walk`](Self::walk) takes: of each byte plane one block, or a piece of a large one.
    #[must_use]
    pub fn walk_memory(&self) -> usize {
        self.cursor_memory().saturating_mul(self.planes().unwrap_or(1))
    }

    fn cursor_memory(&self) -> usize {
        let (mut whole, mut pieces) = (0, 0);
        for block in self.blocks() {
            match in_pieces(self, block) {
                true => pieces = HISTORY + PIECE,
                false => whole = whole.max(block.payload.end - block.payload.start),
            }
        }
        pieces.max(whole as usize)
    }

    /// Starts at the element `first`. `memory` has at least [`walk_memory`](Self::walk_memory) bytes.
    ///
    /// Parts of the elements can be read independently, for instance on several threads.
    ///
    /// # Errors
    /// [`ErrorKind::Type`] for strings, [`ErrorKind::OutOfRange`] when there are fewer elements, [`ErrorKind::Invalid`]
    /// when there is too little memory.
    pub fn walk<'c, 'm>(&'c self, first: u64, memory: &'m mut [u8]) -> Result<Walk<'c, 'm>, Error> {
        let size = self
            .dtype
            .size()
            .ok_or_else(|| self.error(ErrorKind::Type { expected: "numbers", found: self.dtype.name() }))?;
        if first > self.elements {
            let (max, found) = (self.elements, first);
            return Err(self.error(ErrorKind::OutOfRange { what: "elements", min: 0, max, found }));
        }
        if memory.len() < self.walk_memory() {
            return Err(self.error(ErrorKind::Invalid("too little memory to decode blocks in")));
        }
        let (width, units) = match self.planes() {
            Some(width) => (width as u64, self.elements),
            None => (1, self.payload_len()),
        };
        let start = if self.planes().is_some() { first } else { first * size as u64 };
        let planes = (0..width).zip(memory.chunks_mut(self.cursor_memory().max(1)));
        let planes = planes
            .map(|(plane, memory)| Plane { position: plane * units + start, cursor: Cursor::new(memory) })
            .collect();
        Ok(Walk { content: self, planes, left: units - start })
    }
}

impl Walk<'_, '_> {
    /// Where the next `len` bytes of elements are stored.
    #[must_use]
    pub fn needed(&self, len: u64) -> Vec<Range<u64>> {
        let units = len.div_ceil(self.planes.len().max(1) as u64).min(self.left);
        let spans = self.planes.iter().map(|plane| plane.position..plane.position + units);
        super::array::merge(spans.flat_map(|span| self.content.stored_of(span)))
    }

    /// The next elements, as many as `out` has room for, as little-endian bytes. `stored` gives the stored bytes of a
    /// block by its index.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when fewer are left or they do not fill `out`, those of `stored`, and data that does not
    /// decode.
    pub fn read<'s, E: From<Error>>(
        &mut self,
        mut out: &mut [u8],
        mut stored: impl FnMut(usize) -> Result<&'s [u8], E>,
    ) -> Result<(), E> {
        let width = self.planes.len().max(1);
        let units = (out.len() / width) as u64;
        if !out.len().is_multiple_of(width) || units > self.left {
            return Err(self.content.error(ErrorKind::Invalid("elements outside the array")).into());
        }
        self.left -= units;
        while !out.is_empty() {
            let mut step = out.len() / width;
            for Plane { position, cursor } in &mut self.planes {
                let (span, _) = cursor.at(self.content, *position, &mut stored)?;
                step = step.min((span.end - *position) as usize);
            }
            let mut parts = Vec::with_capacity(width);
            for Plane { position, cursor } in &mut self.planes {
                let (span, bytes) = cursor.held().map_err(|kind| self.content.error(kind))?;
                parts.push(&bytes[(*position - span.start) as usize..][..step]);
                *position += step as u64;
            }
            let (done, rest) = out.split_at_mut(step * width);
            shuffle::join(&parts, done);
            out = rest;
        }
        Ok(())
    }
}
