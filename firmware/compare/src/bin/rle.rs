//! The level *rle* of micro-zstd.
#![no_std]
#![no_main]

use micro_zstd::Rle;

#[board::entry]
fn main() -> ! {
    compare::heap::init();
    static mut ENCODER: Rle<1024> = Rle::new();
    // SAFETY: the only reference to it.
    compare::frames(unsafe { &mut *(&raw mut ENCODER) })
}
