//! Panics where an index that the optimiser cannot know is out of range.
#![no_std]
#![no_main]

use core::hint::black_box;

use bare as _;

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let bytes = black_box([1, 2, 3]);
    black_box(bytes[black_box(7)]);
    loop {
        core::hint::spin_loop();
    }
}
