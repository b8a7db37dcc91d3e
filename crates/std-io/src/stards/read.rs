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

/// Bytes of elements that are handed over at a time.
const PARTS: u64 = 4 << 20;

/// The largest array in byte planes that is held whole, where it has less than a block for each plane.
const LARGEST_AT_ONCE: u64 = 16 << 20;

impl<'a> StardsArray<'a> {
    /// All of its numbers, in row-major order, decoded on all cores.
    ///
    /// # Errors
    /// When they are not of type `T`, do not fit in memory, or cannot be read.
    pub fn read<T: Element>(&self) -> Result<Vec<T>, Error> {
        let content = self.array.typed::<T>()?;
        let len = limits::check("elements", content.elements(), usize::MAX as u64)
            .map_err(|kind| core_codec::Error::new("array data", kind).item(self.array.name().to_string()))?;
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
            return Err(core_codec::Error::new("array data", kind)
                .item(self.array.name().to_string())
                .into());
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
            .map_err(|kind| core_codec::Error::new("array data", kind).item(self.array.name().to_string()))?;
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
    /// at most 4 MiB at a time, and of byte planes a block of each, or a piece of it; strings are read whole.
    ///
    /// # Errors
    /// Data that cannot be read, and those of `part`.
    pub fn for_each_part<E: From<Error>>(
        &self,
        mut part: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let content = self.array.content().map_err(Error::from)?;
        let Some(size) = content.dtype().size() else { return part(self.tensor()?.bytes()) };
        let whole = content.payload_len()
            <= match content.planes_share_blocks() {
                // Each block is decoded once, not once for each plane.
                true => LARGEST_AT_ONCE,
                false => PARTS,
            };
        if whole {
            return part(self.tensor()?.bytes());
        }
        match content.planes() {
            None if content.largest_block() <= PARTS || content.compression() == Compression::None => {
                self.parts(content, size as u64, part)
            }
            _ => self.walk(content, size, part),
        }
    }

    /// Hands over whole blocks, so that few are decoded twice, on all cores.
    fn parts<E: From<Error>>(
        &self,
        content: &Content,
        size: u64,
        mut part: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (all, block) = (content.elements(), together(content));
        let step = (PARTS / block).max(1) * block / size;
        let mut bytes = Vec::new();
        let mut start = 0;
        while start < all {
            let end = all.min(start.saturating_add(step));
            resize(content, &mut bytes, (end - start) as usize * size as usize).map_err(Error::from)?;
            self.elements_into(content, start..end, &mut bytes)?;
            part(&bytes)?;
            start = end;
        }
        Ok(())
    }

    /// Hands over pieces of blocks, in their order.
    fn walk<E: From<Error>>(
        &self,
        content: &Content,
        size: usize,
        mut part: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut memory = map::scratch(content.walk_memory()).map_err(Error::from)?;
        let mut walk = content.walk(0, &mut memory).map_err(Error::from)?;
        // What is fetched for a block is there for all pieces of it.
        let step = together(content) * content.planes().unwrap_or(1) as u64;
        let step = step.max(PARTS).next_multiple_of(size as u64);
        let all = content.elements() * size as u64;
        let mut bytes = Vec::new();
        for start in (0..all).step_by(step as usize) {
            let mut left = step.min(all - start);
            let mut refused = Ok(());
            self.file.input.run(|source| {
                source.request(&walk.needed(left))?;
                while left > 0 && refused.is_ok() {
                    resize(content, &mut bytes, left.min(PARTS) as usize)?;
                    walk.read(&mut bytes, |index| {
                        let stored = content.blocks().get(index).map_or(0..0, |block| block.stored.clone());
                        source.bytes(stored)
                    })?;
                    refused = part(&bytes);
                    left -= bytes.len() as u64;
                }
                Ok(())
            })?;
            refused?;
        }
        Ok(())
    }

    /// A run of elements as little-endian bytes: parts of the run on all cores.
    fn elements_into(&self, content: &Content, elements: Range<u64>, out: &mut [u8]) -> Result<(), Error> {
        let size = content.dtype().size().unwrap_or(1) as u64;
        let step = together(content).div_ceil(size).max(PART as u64 / size);
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
        let memory_len = content.walk_memory();
        // All threads together take no more than the array itself, unless that is small.
        let most = (out.len().max(LARGEST_AT_ONCE as usize) / memory_len.max(1)).max(1);
        let threads = rayon::current_num_threads().min(most);
        let part = (out.len() / width).div_ceil(threads).next_multiple_of(block).max(PART / width);
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
            parts.try_for_each(|(index, (out, memory))| -> Result<(), core_codec::Error> {
                content.walk((index * part) as u64, memory)?.read(out, find)
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

/// As `Vec::resize`, for lengths that a file states.
fn resize(content: &Content, bytes: &mut Vec<u8>, len: usize) -> Result<(), core_codec::Error> {
    let more = len.saturating_sub(bytes.len());
    bytes.try_reserve_exact(more).map_err(|_| no_memory(content))?;
    bytes.resize(len, 0);
    Ok(())
}

fn no_memory(content: &Content) -> core_codec::Error {
    let kind = ErrorKind::Memory { needed: content.payload_len() };
    core_codec::Error::new("array data", kind).item(content.name().to_string())
}

/// Bytes of the payload that are decoded together. What the file says of its block size may be wrong; of blocks that are
/// not compressed any part can be had alone.
fn together(content: &Content) -> u64 {
    match content.compression() {
        Compression::None => 1,
        _ => content.largest_block().clamp(1, 1 << 30),
    }
}
