//! A recording of one stream of raw and RLE blocks, up to 85 of them.
#![no_std]
#![no_main]

use core::hint::black_box;

use bare::recordings::{LOGIC, Sink, samples};
use firmware_writer::{Entity, Memory, Recording, Rle, Schema};

static mut MEMORY: Memory<Rle<256>, 1, 256> = Memory::new(Rle::new());
static COMPRESSED: Schema = Schema::new(Entity::bits(8).data(LOGIC.def()));

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let memory = &raw mut MEMORY;
    loop {
        // SAFETY: the only reference to it, gone at the end of the turn.
        let memory = unsafe { &mut *memory };
        if let Ok(mut recording) = Recording::start(memory, &COMPRESSED, Sink) {
            while recording.push(LOGIC, samples()).is_ok() && black_box(true) {}
            black_box(recording.finish().is_ok());
        }
    }
}
