#![no_main]

use core_codec::codec::lzo;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [low, high, stored @ ..] = data else { return };
    let mut out = vec![0; usize::from(u16::from_le_bytes([*low, *high]))];
    let _ = lzo::decode(stored, &mut out);
});
