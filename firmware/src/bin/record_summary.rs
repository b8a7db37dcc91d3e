//! Records a stream with its summary, as the host's test `on_target` does: the files must be the same. Also says how
//! much RAM that takes, and how many instructions.
#![no_std]
#![no_main]

#[allow(dead_code, reason = "there are more recordings than this one")]
#[path = "../../../crates/firmware-writer/tests/scenario/mod.rs"]
mod scenario;

use core::hint::black_box;

use board::file::File;
use board::meter::{self, Meter, Per};
use board::stack;
use embedded_io::{ErrorType, Read, Write};
use firmware_writer::{BitAndOr, Entity, Recording, Rle, Schema, Stream, Summary};
use scenario::{Hash, Summarised};

const LOGIC: Stream<u8> = Stream::new(0);
static SCHEMA: Schema = Schema::new(Entity::bits(8).data(LOGIC.def()).summary(1, 4));

/// Takes all, and keeps none of it.
struct Null;

impl ErrorType for Null {
    type Error = core::convert::Infallible;
}

impl Write for Null {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        Ok(black_box(bytes).len())
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[board::entry]
fn main() -> ! {
    // `entry` makes it safe: only `main` has it.
    static mut MEMORY: Summarised = Summarised::new(Rle::new());

    board::println!("Memory<Rle<256>, 5, 512, 20224>: {} bytes of RAM", Summarised::SIZE);
    board::println!("Summary<BitAndOr, 4>: {} bytes of RAM", size_of::<Summary<BitAndOr, 4>>());
    match scenario::summarised(MEMORY, Hash::new(), &[500]) {
        Ok(hash) => board::println!("summarised: {hash}"),
        Err(error) => board::println!("summarised: {error:?}"),
    }
    count(MEMORY);
    board::exit(0)
}

/// Counts what a recording of the file `logic` takes, 512 samples at a time.
fn count(memory: &mut Summarised) {
    let mut file = File::open(c"logic").expect("the input is there");
    let mut summary = Summary::<BitAndOr, 4>::new(&SCHEMA, LOGIC).expect("it is declared");
    let (mut instructions, mut deepest, mut bytes) = (0, 0, 0);
    let mut counted = |work: &mut dyn FnMut()| {
        let before = stack::repaint();
        let mut meter = Meter::start();
        work();
        meter.lap();
        instructions += meter.instructions();
        deepest = deepest.max(stack::deepest() - before);
    };
    let mut recording = Recording::start(memory, &SCHEMA, Null).expect("it starts");
    let mut samples = [0; 512];
    while let n @ 1.. = file.read(&mut samples).expect("it can be read") {
        counted(&mut || {
            recording.push_summarised(LOGIC, &mut summary, &samples[..n]).expect("it takes samples");
        });
        bytes += n as u64;
    }
    let mut recording = Some(recording);
    counted(&mut || {
        recording.take().map(Recording::finish).transpose().expect("it ends");
    });
    meter::report("instructions a byte, izs rle with summary, logic", Per { count: instructions, of: bytes });
    meter::report("bytes of stack, izs rle with summary, logic", deepest);
}
