//! The level *store* of micro-zstd.
#![no_std]
#![no_main]

use micro_zstd::Store;

#[board::entry]
fn main() -> ! {
    compare::heap::init();
    static mut ENCODER: Store<1024> = Store::new();
    let encoder = &raw mut ENCODER;
    // SAFETY: the only reference to it.
    compare::frames(unsafe { &mut *encoder })
}
