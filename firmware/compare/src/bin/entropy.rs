//! The level *entropy* of micro-zstd.
#![no_std]
#![no_main]

use micro_zstd::Entropy;

#[board::entry]
fn main() -> ! {
    compare::heap::init();
    static mut ENCODER: Entropy = Entropy::new();
    let encoder = &raw mut ENCODER;
    // SAFETY: the only reference to it.
    compare::frames(unsafe { &mut *encoder })
}
