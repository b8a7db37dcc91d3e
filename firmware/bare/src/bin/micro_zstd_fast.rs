//! An encoder of the level *fast*, of default size.
#![no_std]
#![no_main]

use bare as _;
use micro_zstd::Fast;

static mut ENCODER: Fast = Fast::new();

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let encoder = &raw mut ENCODER;
    // SAFETY: the only reference to it.
    bare::encode(unsafe { &mut *encoder })
}
