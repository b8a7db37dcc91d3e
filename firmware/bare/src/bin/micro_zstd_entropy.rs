//! An encoder of the level *entropy*, of default size.
#![no_std]
#![no_main]

use bare as _;
use micro_zstd::Entropy;

static mut ENCODER: Entropy = Entropy::new();

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let encoder = &raw mut ENCODER;
    // SAFETY: the only reference to it.
    bare::encode(unsafe { &mut *encoder })
}
