//! Whole arrays on all cores, and arrays that are larger than memory part by part.

use std::ops::Range;

use bytemuck::cast_slice_mut;
use core_codec::codec::shuffle::unshuffle;
use core_codec::source::{Source, complete};
use core_codec::stards::{Compression, Content, DataType, Element, Tensor};
use core_codec::{ErrorKind, limits};
use rayon::prelude::*;

use super::StardsArray;
use crate::error::Error;
use crate::map;

/// Bytes of elements that a thread joins from their planes at a time, or copies.
const PART: usize = 1 << 20;

impl<'a> StardsArray<'a> {
    /// All of its numbers, in row-major order, decoded on all cores.
    ///
    /// # Errors
    /// When they are not of type `T`, do not fit in memory, or cannot be read.
    pub fn read<T: Element>(&self) -> Result<Vec<T>, Error> {
        let content = self.array.typed::<T>()?;
        let len = limits::check("elements", content.elements(), usize::MAX as u64)
            .map_err(|kind| core_codec::Error::new("array data", kind).item(self.array.name()))?;
        let mut values = bytemuck::try_zeroed_vec(len).map_err(|()| no_memory(content))?;
        self.read_into(&mut values)?;
        Ok(values)
    }

    /// All of its numbers, in row-major order, into `out`.
    ///
    /// # Errors
    /// As [`read`](Self::read), and when `out` has another length.
    pub fn read_into<T: Element>(&self, out: &mut [T]) -> Result<(), Error> {
        let content = self.array.typed::<T>()?;
        let (expected, found) = (content.elements(), out.len() as u64);
        if expected != found {
            let kind = ErrorKind::Mismatch { what: "elements of the buffer", expected, found };
            return Err(core_codec::Error::new("array data", kind).item(self.array.name()).into());
        }
        self.payload_into(content, cast_slice_mut(out))?;
        if cfg!(target_endian = "big") {
            out.iter_mut().for_each(|value| *value = value.swap_le());
        }
        Ok(())
    }

    /// All of it, of any type.
    ///
    /// # Errors
    /// When it does not fit in memory or cannot be read.
    pub fn tensor(&self) -> Result<Tensor, Error> {
        let content = self.array.content()?;
        if content.dtype() == DataType::String {
            return self.file.input.run(|source| self.array.read(source));
        }
        let len = limits::check("bytes of an array", content.payload_len(), usize::MAX as u64)
            .map_err(|kind| core_codec::Error::new("array data", kind).item(self.array.name()))?;
        let mut bytes = bytemuck::try_zeroed_vec(len).map_err(|()| no_memory(content))?;
        self.payload_into(content, &mut bytes)?;
        Ok(Tensor::new(content.dtype(), self.array.shape(), bytes)?)
    }

    /// Its numbers where they stand in the memory map: nothing is copied. `None` when they are compressed, not
    /// aligned for `T`, or the file is not mapped.
    ///
    /// # Errors
    /// When they are not of type `T`.
    pub fn view<T: Element>(&self) -> Result<Option<&'a [T]>, Error> {
        match self.file.input.mapped() {
            Some(map) => Ok(complete(self.array.view(map))?),
            None => Ok(None),
        }
    }

    /// Hands over all elements, part after part, as the bytes that a digest is made of. Of numbers, memory holds
    /// 4 MiB at a time, or one block (of byte planes, one of each plane) when that is more; strings are read whole.
    ///
    /// # Errors
    /// Data that cannot be read, and those of `part`.
    pub fn for_each_part<E: From<Error>>(
        &self,
        mut part: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let content = self.array.content().map_err(Error::from)?;
        let Some(size) = content.dtype().size() else { return part(self.tensor()?.bytes()) };
        let all = content.elements();
        let step = self.part_elements(content, size as u64);
        let mut bytes = Vec::new();
        let mut start = 0;
        while start < all {
            let end = all.min(start.saturating_add(step));
            bytes.resize((end - start) as usize * size, 0);
            self.elements_into(content, start..end, &mut bytes)?;
            part(&bytes)?;
            start = end;
        }
        Ok(())
    }

    /// Elements of a part: whole blocks, so that few are decoded twice.
    fn part_elements(&self, content: &Content, size: u64) -> u64 {
        const TARGET: u64 = 4 << 20;
        let block = together(content);
        match content.planes() {
            // A block is a part of one byte of its elements.
            Some(_) => (TARGET / size / block).max(1) * block,
            None => ((TARGET / block).max(1) * block / size).max(1),
        }
    }

    /// A run of elements as little-endian bytes.
    fn elements_into(&self, content: &Content, elements: Range<u64>, out: &mut [u8]) -> Result<(), Error> {
        if elements == (0..content.elements()) {
            return self.payload_into(content, out);
        }
        // Parts of the part on all cores.
        let size = content.dtype().size().unwrap_or(1) as u64;
        let blocks = together(content);
        let step = match content.planes() {
            Some(_) => blocks,
            None => blocks.div_ceil(size),
        };
        let step = step.max(PART as u64 / size);
        out.par_chunks_mut((step * size) as usize).enumerate().try_for_each(|(index, out)| {
            let start = elements.start + index as u64 * step;
            let end = start + out.len() as u64 / size;
            self.file.input.run(|source| content.read_elements(source, start..end, out))
        })
    }

    fn payload_into(&self, content: &Content, out: &mut [u8]) -> Result<(), Error> {
        match content.planes() {
            None => self.decode(content, out),
            Some(width) => self.join_planes(content, width, out),
        }
    }

    fn join_planes(&self, content: &Content, width: usize, out: &mut [u8]) -> Result<(), Error> {
        if content.planes_share_blocks() {
            let len = out.len();
            let mut planes = map::scratch(len)?;
            self.decode(content, &mut planes[..len])?;
            out.par_chunks_mut(PART / width * width)
                .enumerate()
                .for_each(|(index, out)| unshuffle(&planes[..len], width, index * (PART / width), out));
            return Ok(());
        }
        self.join_parts(content, width, out)
    }

    /// Each thread decodes the blocks of its part of the elements.
    fn join_parts(&self, content: &Content, width: usize, out: &mut [u8]) -> Result<(), Error> {
        // A block that two parts share is decoded twice: few parts, which start where blocks do.
        let block = together(content) as usize;
        let threads = rayon::current_num_threads();
        let part = (out.len() / width).div_ceil(threads).next_multiple_of(block).max(PART / width);
        // A block is shorter than a plane.
        let memory_len = width * content.largest_block() as usize;
        let mut memory = map::scratch(memory_len * out.len().div_ceil(part * width))?;
        self.file.input.run(|source| {
            source.request(&content.stored_ranges())?;
            let stored: Vec<&[u8]> = content
                .blocks()
                .iter()
                .map(|block| source.bytes(block.stored.clone()))
                .collect::<Result<_, _>>()?;
            let find = |index: usize| {
                self.file.input.prepare(&content.blocks()[index].stored);
                Ok::<_, core_codec::Error>(stored[index])
            };
            let parts = out.par_chunks_mut(part * width).zip(memory.par_chunks_mut(memory_len)).enumerate();
            parts.try_for_each(|(index, (out, memory))| {
                content.join_planes((index * part) as u64, out, memory, find)
            })?;
            Ok(())
        })
    }

    /// Decodes all blocks, byte planes as planes.
    fn decode(&self, content: &Content, out: &mut [u8]) -> Result<(), Error> {
        if let (Some(map), Some(range)) = (self.file.input.mapped(), content.plain_range()) {
            let stored = complete(Source::bytes(map, range.clone()))?;
            let parts = out.par_chunks_mut(PART).zip(stored.par_chunks(PART)).enumerate();
            parts.for_each(|(index, (out, stored))| {
                let start = range.start + (index * PART) as u64;
                self.file.input.prepare(&(start..start + stored.len() as u64));
                out.copy_from_slice(stored);
            });
            return Ok(());
        }
        // All at once: one request where the bytes are far away.
        self.file.input.run(|source| {
            source.request(&content.stored_ranges())?;
            let mut rest = &mut *out;
            let mut parts = Vec::with_capacity(content.blocks().len());
            for (index, block) in content.blocks().iter().enumerate() {
                let len = (block.payload.end - block.payload.start) as usize;
                let (part, tail) = rest.split_at_mut(len);
                parts.push((index, source.bytes(block.stored.clone())?, part));
                rest = tail;
            }
            let decode = |(index, stored, part): (usize, &[u8], _)| {
                self.file.input.prepare(&content.blocks()[index].stored);
                content.decode_block(index, stored, part)
            };
            Ok(parts.into_par_iter().try_for_each(decode)?)
        })
    }
}

fn no_memory(content: &Content) -> core_codec::Error {
    let kind = ErrorKind::Memory { needed: content.payload_len() };
    core_codec::Error::new("array data", kind).item(content.name())
}

/// Bytes of the payload that are decoded together. What the file says of its block size may be wrong; of blocks that are
/// not compressed any part can be had alone.
fn together(content: &Content) -> u64 {
    match content.compression() {
        Compression::None => 1,
        _ => content.largest_block().clamp(1, 1 << 30),
    }
}
