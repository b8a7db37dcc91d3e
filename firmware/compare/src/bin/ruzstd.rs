//! The encoder of ruzstd at its fastest compressing level.
#![no_std]
#![no_main]

extern crate alloc;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

#[board::entry]
fn main() -> ! {
    compare::heap::init();
    compare::run(0, |content, output| output.put(&compress_to_vec(content, CompressionLevel::Fastest)))
}
