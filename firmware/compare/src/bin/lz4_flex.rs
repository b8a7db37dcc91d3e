//! The block format of LZ4, with the table of 8 KiB that small inputs have.
#![no_std]
#![no_main]

use lz4_flex::block::{CompressTable, compress_into_with_table};

#[board::entry]
fn main() -> ! {
    compare::heap::init();
    let mut table = CompressTable::small();
    compare::run(size_of::<CompressTable>(), |content, output| {
        output.fill(|buffer| compress_into_with_table(content, buffer, &mut table).expect("there is room"));
    })
}
