//! Calls every public function of the crates for microcontrollers, with arguments that the optimiser cannot know.
#![no_std]
#![no_main]

mod firmware_writer;
mod micro_zstd;

use bare as _;

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    micro_zstd::all();
    firmware_writer::all();
    loop {
        core::hint::spin_loop();
    }
}
