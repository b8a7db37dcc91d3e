//! The level *fast* of micro-zstd.
#![no_std]
#![no_main]

use micro_zstd::Fast;

#[board::entry]
fn main() -> ! {
    compare::heap::init();
    static mut ENCODER: Fast = Fast::new();
    let encoder = &raw mut ENCODER;
    // SAFETY: the only reference to it.
    compare::frames(unsafe { &mut *encoder })
}
