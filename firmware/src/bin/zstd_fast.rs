//! Encodes the reference streams at the level *fast*: the same frames on every board, and on the host.
#![no_std]
#![no_main]

#[path = "../frames.rs"]
mod frames;

use micro_zstd::Fast;

#[board::entry]
fn main() -> ! {
    static mut ENCODER: Fast = Fast::new();
    frames::encode(ENCODER, "fast", "logic", c"logic");
    frames::encode(ENCODER, "fast", "adc", c"adc");
    frames::encode(ENCODER, "fast", "slow", c"slow");
    board::exit(0)
}
