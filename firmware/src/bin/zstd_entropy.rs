//! Encodes the reference streams at the level *entropy*: the same frames on every board, and on the host.
#![no_std]
#![no_main]

#[path = "../frames.rs"]
mod frames;

use micro_zstd::Entropy;

#[board::entry]
fn main() -> ! {
    static mut ENCODER: Entropy = Entropy::new();
    frames::encode(ENCODER, "entropy", "logic", c"logic");
    frames::encode(ENCODER, "entropy", "adc", c"adc");
    frames::encode(ENCODER, "entropy", "slow", c"slow");
    board::exit(0)
}
