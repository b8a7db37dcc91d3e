//! A recording of four streams, three of them staged, of all kinds.
#![no_std]
#![no_main]

use core::hint::black_box;

use bare::recordings::{ADC, COUNTER, LOGIC, SCHEMA, Sink, TIMES, samples};
use firmware_writer::{Memory, Recording, Rle};

static mut MEMORY: Memory<Rle<256>, 4, 512, 65_536> = Memory::new(Rle::new());

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let memory = &raw mut MEMORY;
    loop {
        // SAFETY: the only reference to it, gone at the end of the turn.
        let memory = unsafe { &mut *memory };
        if let Ok(mut recording) = Recording::start(memory, &SCHEMA, Sink) {
            while black_box(true) {
                black_box(recording.push(LOGIC, samples()).is_ok());
                black_box(recording.push(ADC, samples()).is_ok());
                black_box(recording.push(COUNTER, samples()).is_ok());
                black_box(recording.push(TIMES, samples()).is_ok());
            }
            black_box(recording.finish().is_ok());
        }
    }
}
