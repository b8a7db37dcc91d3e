//! Encodes the blocks of an array on all cores, and writes them in order.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use core_codec::codec::shuffle::split;
use core_codec::stards::{Compression, DraftArray, encode_block};
use rayon::prelude::*;

use super::write::Output;
use crate::error::Error;

/// Bytes of an array in pieces that are encoded together, unless the blocks are so large that one for each core is
/// more.
const BATCH: usize = 8 << 20;

/// Elements that a thread splits into byte planes at a time.
const SPLIT: usize = 1 << 16;

/// Encodes the payload of one array.
pub(super) struct Encoder<'e, 'd, 'a> {
    output: &'e mut Output<'d, 'a>,
    compression: Compression,
    level: u8,
    block_size: usize,
    /// Memory to encode into.
    spare: Vec<Vec<u8>>,
}

impl<'e, 'd, 'a> Encoder<'e, 'd, 'a> {
    pub(super) fn new(array: &DraftArray<'_>, output: &'e mut Output<'d, 'a>) -> Self {
        // At most MAX_BLOCK_SIZE.
        let block_size = array.block_size() as usize;
        let (compression, level) = (array.compression(), array.level());
        Self { output, compression, level, block_size, spare: Vec::new() }
    }

    /// Bytes of an array in pieces to be pushed at a time: whole blocks.
    pub(super) fn batch_len(&self) -> usize {
        let blocks = (BATCH / self.block_size).max(rayon::current_num_threads());
        self.block_size.saturating_mul(blocks)
    }

    /// Encodes some blocks; only the last one of the array may be short.
    pub(super) fn push(&mut self, payload: &[u8]) -> Result<(), Error> {
        if self.compression == Compression::None {
            return self.output.add_plain(payload, self.block_size);
        }
        let threads = rayon::current_num_threads();
        let spare = std::mem::take(&mut self.spare);
        let line = Line {
            blocks: payload.chunks(self.block_size),
            compression: self.compression,
            level: self.level,
            window: 2 * threads,
            queue: Mutex::new(Queue { spare, ..Queue::default() }),
            moved: Condvar::new(),
            output: Mutex::new(self.output),
        };
        (0..threads).into_par_iter().with_max_len(1).try_for_each(|_| line.work())?;
        self.spare = line.queue.into_inner().unwrap_or_else(PoisonError::into_inner).spare;
        Ok(())
    }
}

/// Blocks on their way to the file. Each thread takes one after the other; whichever ends the one that is next in the
/// file writes it, and those after it that are ready, while the others go on.
struct Line<'l, 'p, 'd, 'a> {
    blocks: std::slice::Chunks<'p, u8>,
    compression: Compression,
    level: u8,
    /// No block is taken before the one so many places ahead is written: that bounds the memory.
    window: usize,
    queue: Mutex<Queue>,
    /// A block has been written, or none is to be taken any more.
    moved: Condvar,
    output: Mutex<&'l mut Output<'d, 'a>>,
}

#[derive(Default)]
struct Queue {
    /// Blocks that a thread has taken.
    taken: usize,
    written: usize,
    /// Encoded blocks by their number.
    ready: BTreeMap<usize, Encoded>,
    /// Whether a thread is writing.
    busy: bool,
    spare: Vec<Vec<u8>>,
}

/// The first bytes of a buffer.
struct Encoded {
    buffer: Vec<u8>,
    len: usize,
}

impl Line<'_, '_, '_, '_> {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Encodes blocks until there is none left.
    fn work(&self) -> Result<(), Error> {
        while let Some((index, mut buffer)) = self.take() {
            // No thread waits for a block that does not come.
            let done =
                self.encode(index, &mut buffer).and_then(|len| self.put(index, Encoded { buffer, len }));
            done.inspect_err(|_| self.stop())?;
        }
        Ok(())
    }

    /// The number of a block to encode, and memory for it.
    fn take(&self) -> Option<(usize, Vec<u8>)> {
        let mut queue = self.queue();
        while queue.taken < self.blocks.len() {
            if queue.taken < queue.written + self.window {
                queue.taken += 1;
                return Some((queue.taken - 1, queue.spare.pop().unwrap_or_default()));
            }
            queue = self.moved.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn stop(&self) {
        self.queue().taken = self.blocks.len();
        self.moved.notify_all();
    }

    fn encode(&self, index: usize, buffer: &mut Vec<u8>) -> Result<usize, Error> {
        let block = self.blocks.clone().nth(index).unwrap_or_default();
        let encoded = encode_block(self.compression, self.level, block, buffer);
        Ok(encoded.map_err(|kind| core_codec::Error::new("array data", kind))?.len())
    }

    /// Hands over an encoded block, and writes what is next in the file unless another thread does.
    fn put(&self, index: usize, encoded: Encoded) -> Result<(), Error> {
        let mut queue = self.queue();
        queue.ready.insert(index, encoded);
        while !queue.busy {
            let next = queue.written;
            let Some(encoded) = queue.ready.remove(&next) else { break };
            queue.busy = true;
            drop(queue);
            let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
            output.add_block(&encoded.buffer[..encoded.len])?;
            drop(output);
            queue = self.queue();
            queue.busy = false;
            queue.written += 1;
            queue.spare.push(encoded.buffer);
            self.moved.notify_all();
        }
        Ok(())
    }
}

/// Splits elements of `width` bytes into their byte planes, on all cores.
pub(super) fn shuffle(data: &[u8], width: usize, planes: &mut [u8]) {
    let count = data.len() / width;
    let mut parts: Vec<Vec<&mut [u8]>> = (0..count.div_ceil(SPLIT)).map(|_| Vec::new()).collect();
    for plane in planes.chunks_mut(count.max(1)) {
        parts.iter_mut().zip(plane.chunks_mut(SPLIT)).for_each(|(part, piece)| part.push(piece));
    }
    data.par_chunks(SPLIT * width).zip(parts).for_each(|(data, mut planes)| split(data, &mut planes));
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_codec::stards::{BASE_LAYER, DataType, Draft, Storage};

    #[test]
    fn a_failure_ends_all_threads() {
        let folder = tempfile::tempdir().unwrap();
        let mut draft = Draft::new();
        let storage = Storage { compression: Compression::Lz4, block_size: Some(1000), ..Storage::default() };
        draft.put_pieces(BASE_LAYER, "x", DataType::Uint8, &[20_000], storage).unwrap();
        for threads in [1, 3] {
            let mut output = Output::create(&draft, &folder.path().join("x")).unwrap();
            output.begin_array().unwrap();
            let array = &draft.arrays()[0];
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let pushed = pool.install(|| Encoder::new(array, &mut output).push(&[7; 100_000]));
            assert!(pushed.unwrap_err().to_string().contains("more blocks"));
        }
    }

    #[test]
    fn planes_are_those_of_one_thread() {
        for (width, count) in [(2, 0), (2, 1), (4, SPLIT), (8, SPLIT + 1), (8, 3 * SPLIT - 5)] {
            let data: Vec<u8> = (0..width * count).map(|i| (i / 3) as u8).collect();
            let (mut expected, mut planes) = (vec![0; data.len()], vec![0; data.len()]);
            core_codec::codec::shuffle::shuffle(&data, width, &mut expected);
            shuffle(&data, width, &mut planes);
            assert!(planes == expected, "{count} of {width} bytes");
        }
    }
}
