#![no_main]

mod tsfile_support;

use core_codec::tsfile::Encoding;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| tsfile_support::decoder(Encoding::GorillaV1, data));
