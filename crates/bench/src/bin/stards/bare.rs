//! The codecs alone: blocks in memory that is there, one after the other on each thread. Of a shuffling codec that is the
//! shuffle and then the codec, and back: both have to be paid.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use core_codec::codec::shuffle::{split, unshuffle};
use core_codec::codec::{deflate, lz4, zstd};
use core_codec::stards::{Compression, DEFAULT_BLOCK_SIZE, DEFAULT_LEVEL, encode_block};
use rayon::prelude::*;

const BLOCK: usize = DEFAULT_BLOCK_SIZE as usize;
const WIDTH: usize = 8;
/// Elements that are shuffled at a time.
const PART: usize = 1 << 16;

pub(crate) struct Bare {
    codec: Compression,
    data: Vec<u8>,
    planes: Vec<u8>,
    out: Vec<u8>,
    /// Buffers of the encoder, and the bytes that count.
    blocks: Vec<(Vec<u8>, usize)>,
    /// What was read meanwhile from a file.
    pub(crate) read: Vec<f64>,
}

impl Bare {
    pub(crate) fn new(codec: Compression, values: &[f64]) -> Self {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let blocks = vec![(Vec::new(), 0); data.len().div_ceil(BLOCK)];
        let (planes, out) = (vec![0; data.len()], vec![0; data.len()]);
        Self { codec, data, planes, out, blocks, read: Vec::new() }
    }

    /// On all threads of the pool.
    pub(crate) fn encode(&mut self) {
        let shuffles = self.codec.shuffles();
        if shuffles {
            shuffle(&self.data, &mut self.planes);
        }
        let payload = if shuffles { &self.planes } else { &self.data };
        self.blocks.par_iter_mut().zip(payload.par_chunks(BLOCK)).for_each(|((buffer, len), block)| {
            *len = encode_block(self.codec, DEFAULT_LEVEL, block, buffer).expect("encoded").len();
        });
    }

    /// Writes what was encoded, block by block.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = File::create(path)?;
        if self.codec == Compression::None {
            return file.write_all(&self.data);
        }
        self.blocks.iter().try_for_each(|(buffer, len)| file.write_all(&buffer[..*len]))
    }

    /// On all threads of the pool.
    pub(crate) fn decode(&mut self) {
        if self.codec == Compression::None {
            return self.out.copy_from_slice(&self.data);
        }
        let shuffles = self.codec.shuffles();
        let payload = if shuffles { &mut self.planes } else { &mut self.out };
        let parts = payload.par_chunks_mut(BLOCK).zip(&self.blocks);
        parts.for_each(|(out, (buffer, len))| decode(self.codec, &buffer[..*len], out));
        if shuffles {
            let parts = self.out.par_chunks_mut(PART * WIDTH).enumerate();
            parts.for_each(|(part, out)| unshuffle(&self.planes, WIDTH, part * PART, out));
        }
        assert!(self.out[..64] == self.data[..64]);
    }
}

fn shuffle(data: &[u8], planes: &mut [u8]) {
    let count = data.len() / WIDTH;
    let mut parts: Vec<Vec<&mut [u8]>> = (0..count.div_ceil(PART)).map(|_| Vec::new()).collect();
    for plane in planes.chunks_mut(count) {
        parts.iter_mut().zip(plane.chunks_mut(PART)).for_each(|(part, piece)| part.push(piece));
    }
    data.par_chunks(PART * WIDTH).zip(parts).for_each(|(data, mut planes)| split(data, &mut planes));
}

fn decode(codec: Compression, stored: &[u8], out: &mut [u8]) {
    match codec {
        Compression::Gzip | Compression::GzipShuffle => deflate::decode(stored, out),
        Compression::Lz4 | Compression::Lz4Shuffle => lz4::decode(stored, out),
        _ => zstd::decode(stored, out),
    }
    .expect("decoded");
}
