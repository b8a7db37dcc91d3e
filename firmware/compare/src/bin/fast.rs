//! The level *fast* of micro-zstd.
#![no_std]
#![no_main]

use micro_zstd::Fast;

#[board::entry]
fn main() -> ! {
    static mut ENCODER: Fast = Fast::new();
    compare::heap::init();
    compare::frames(ENCODER)
}
