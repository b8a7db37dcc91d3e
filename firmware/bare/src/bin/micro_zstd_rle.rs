//! An encoder of the level *rle* with a buffer of 1 KiB.
#![no_std]
#![no_main]

use bare as _;
use micro_zstd::Rle;

static mut ENCODER: Rle<1024> = Rle::new();

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let encoder = &raw mut ENCODER;
    // SAFETY: the only reference to it.
    bare::encode(unsafe { &mut *encoder })
}
