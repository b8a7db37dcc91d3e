//! The level *rle* of micro-zstd.
#![no_std]
#![no_main]

use micro_zstd::Rle;

#[board::entry]
fn main() -> ! {
    compare::heap::init();
    static mut ENCODER: Rle<1024> = Rle::new();
    let encoder = &raw mut ENCODER;
    // SAFETY: the only reference to it.
    compare::frames(unsafe { &mut *encoder })
}
