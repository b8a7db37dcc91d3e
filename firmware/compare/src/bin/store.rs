//! The level *store* of micro-zstd.
#![no_std]
#![no_main]

use micro_zstd::Store;

#[board::entry]
fn main() -> ! {
    static mut ENCODER: Store<1024> = Store::new();
    compare::heap::init();
    compare::frames(ENCODER)
}
