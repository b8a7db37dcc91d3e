//! The level *entropy* of micro-zstd.
#![no_std]
#![no_main]

use micro_zstd::Entropy;

#[board::entry]
fn main() -> ! {
    static mut ENCODER: Entropy = Entropy::new();
    compare::heap::init();
    compare::frames(ENCODER)
}
