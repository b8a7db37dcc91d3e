//! Any bytes through the block codecs of StarDS: an error or exactly the bytes asked for; what is encoded decodes.
#![no_main]

use core_codec::codec::{deflate, lz4, shuffle};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, &[u8])| {
    let (len, stored) = input;
    let mut out = vec![0; len.into()];
    let _ = lz4::decode(stored, &mut out);
    let exact = deflate::decode(stored, &mut out).is_ok();
    if let Ok(decoded) = deflate::decode_bounded(stored, 1 << 16) {
        assert_eq!(exact, decoded.len() == out.len());
    }
    lz4::decode(&lz4::encode(stored), &mut vec![0; stored.len()]).unwrap();
    for framing in [deflate::Framing::Zlib, deflate::Framing::Gzip] {
        let encoded = deflate::encode(stored, (len % 10) as u8, framing);
        assert_eq!(deflate::decode_bounded(&encoded, stored.len() as u64).unwrap(), stored);
    }
    for width in [1, 2, 3, 4, 8] {
        let whole = &stored[..stored.len() / width * width];
        let (mut planes, mut joined) = (vec![0; whole.len()], vec![0; whole.len()]);
        shuffle::shuffle(whole, width, &mut planes);
        shuffle::unshuffle(&planes, width, 0, &mut joined);
        assert_eq!(joined, whole);
    }
});
