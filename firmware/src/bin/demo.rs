//! The main job: samples come in small buffers, as from DMA, and leave as an .izs file, in one pass.
//!
//! Semihosting stands in for the logic analyser and for the card: the samples are in the file `samples`, and
//! `capture.izs` is written.
#![no_std]
#![no_main]

use board::file::File;
use board::meter;
use embedded_io::Read;
use firmware_writer::{Attribute, Entity, Memory, Recording, Rle, Schema, Stream};

/// Half a transfer of DMA.
const BUFFER: usize = 512;

const PINS: Stream<u8> = Stream::new(0).block(1 << 16);

static SCHEMA: Schema = Schema::new(
    Entity::bit_struct(&[("sda", Entity::bits(1)), ("scl", Entity::bits(1).at(2))])
        .attributes(&[("time:rate", Attribute::real(500_000))])
        .data(PINS.def()),
);

#[board::entry]
fn main() -> ! {
    // `entry` makes it safe: only `main` has it.
    static mut MEMORY: Memory<Rle<256>, 1, 128> = Memory::new(Rle::new());

    let mut samples = File::open(c"samples").expect("the samples are there");
    let file = File::create(c"capture.izs").expect("the file can be written");
    let (mut buffer, mut count) = ([0; BUFFER], 0);
    let instructions = meter::count(|| {
        let mut recording = Recording::start(MEMORY, &SCHEMA, file).expect("the schema fits the memory");
        while let n @ 1.. = samples.read(&mut buffer).expect("samples can be read") {
            recording.push(PINS, &buffer[..n]).expect("there is room in the index log");
            count += n;
        }
        recording.finish().expect("the file can be ended");
    });
    board::println!("recorded {count} samples in {} bytes of RAM", size_of_val(MEMORY));
    meter::report("instructions a sample, demo", meter::Per { count: instructions, of: count as u64 });
    board::exit(0)
}
