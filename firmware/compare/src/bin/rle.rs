//! The level *rle* of micro-zstd.
#![no_std]
#![no_main]

use micro_zstd::Rle;

#[board::entry]
fn main() -> ! {
    static mut ENCODER: Rle<1024> = Rle::new();
    compare::heap::init();
    compare::frames(ENCODER)
}
