//! DEFLATE, level 1.
#![no_std]
#![no_main]

use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, TDEFLStatus, compress, create_comp_flags_from_zip_params,
};

#[board::entry]
fn main() -> ! {
    compare::heap::init();
    let mut compressor = CompressorOxide::new(create_comp_flags_from_zip_params(1, -15, 0));
    compare::run(size_of::<CompressorOxide>(), |content, output| {
        compressor.reset();
        output.fill(|buffer| {
            let (status, taken, written) = compress(&mut compressor, content, buffer, TDEFLFlush::Finish);
            assert!(status == TDEFLStatus::Done && taken == content.len());
            written
        });
    })
}
