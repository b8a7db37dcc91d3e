//! A recording of one stream, not compressed.
#![no_std]
#![no_main]

use core::hint::black_box;

use bare::recordings::{LOGIC, LOGIC_ONLY, Sink, samples};
use firmware_writer::{Memory, Recording, Store};

static mut MEMORY: Memory<Store<32>, 1, 0> = Memory::new(Store::new());

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let memory = &raw mut MEMORY;
    loop {
        // SAFETY: the only reference to it, gone at the end of the turn.
        let memory = unsafe { &mut *memory };
        if let Ok(mut recording) = Recording::start(memory, &LOGIC_ONLY, Sink) {
            while recording.push(LOGIC.uncompressed(), samples()).is_ok() && black_box(true) {}
            black_box(recording.finish().is_ok());
        }
    }
}
