//! What every program has.
#![no_std]
#![no_main]

use bare as _;

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    loop {
        core::hint::spin_loop();
    }
}
