//! Runs a compressor over blocks of a file of the host, and measures it.
//!
//! The file `block` holds the length of a block (four bytes, little-endian), the file `input` the blocks. Each
//! block's output goes to the file `output`, behind its length; what was measured is printed.
#![no_std]

extern crate alloc;

pub mod heap;

use alloc::vec;

use board::file::File;
use board::meter::{self, Meter};
use board::stack;
use embedded_io::{Read, Write};
use micro_zstd::FrameEncoder;

/// Takes the output of one block.
#[derive(Debug)]
pub struct Output<'a> {
    buffer: &'a mut [u8],
    len: usize,
}

impl Output<'_> {
    /// Appends bytes.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.buffer[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Lets `write` fill the buffer; it returns how many bytes it wrote.
    #[inline]
    pub fn fill(&mut self, write: impl FnOnce(&mut [u8]) -> usize) {
        self.len += write(&mut self.buffer[self.len..]);
    }
}

/// Compresses all blocks and prints the measurements; `fixed_ram` is what the compressor takes beside heap and
/// stack.
pub fn run(fixed_ram: usize, mut compress: impl FnMut(&[u8], &mut Output<'_>)) -> ! {
    let mut block = [0; 4];
    File::open(c"block").expect("block is there").read_exact(&mut block).expect("it has four bytes");
    let block = u32::from_le_bytes(block) as usize;
    let mut input = File::open(c"input").expect("input is there");
    let mut output = File::create(c"output").expect("output can be created");
    let mut content = vec![0; block];
    let mut buffer = vec![0; 2 * block + 1024];

    let (mut bytes, mut instructions, mut deepest) = (0, 0, 0);
    loop {
        let len = read_all(&mut input, &mut content);
        if len == 0 {
            break;
        }
        let mut out = Output { buffer: &mut buffer, len: 0 };
        let before = stack::repaint();
        let mut meter = Meter::start();
        compress(&content[..len], &mut out);
        meter.lap();
        deepest = deepest.max(stack::deepest() - before);
        instructions += meter.instructions();
        bytes += len as u64;
        output.write_all(&(out.len as u32).to_le_bytes()).expect("output can be written");
        output.write_all(&out.buffer[..out.len]).expect("output can be written");
    }
    meter::report("bytes", bytes);
    meter::report("instructions", instructions);
    meter::report("stack", deepest);
    meter::report("ram", fixed_ram + heap::most() - content.len() - buffer.len());
    board::exit(0)
}

fn read_all(file: &mut File, buffer: &mut [u8]) -> usize {
    let mut len = 0;
    while let n @ 1.. = file.read(&mut buffer[len..]).expect("input can be read") {
        len += n;
    }
    len
}

/// Runs an encoder of micro-zstd, a frame of unknown size for each block.
pub fn frames<E: FrameEncoder>(encoder: &mut E) -> ! {
    run(size_of::<E>(), |content, output| {
        encoder.start(None);
        let mut rest = content;
        while !rest.is_empty() {
            let encoded = encoder.encode(rest);
            output.put(encoded.output);
            rest = &rest[encoded.taken..];
        }
        while let Some(last) = encoder.finish() {
            output.put(last);
        }
    })
}
