//! Any bytes through the block codecs of StarDS: an error or exactly the bytes asked for, in pieces as at once; what is
//! encoded decodes.
#![no_main]

use core_codec::ErrorKind;
use core_codec::codec::{deflate, lz4, shuffle};
use libfuzzer_sys::fuzz_target;

/// Decodes in pieces of `len` bytes, of at most as many as `whole` has and one more.
fn check_pieces(
    whole: &[u8],
    len: usize,
    mut next: impl FnMut(&mut [u8], usize) -> Result<(usize, bool), ErrorKind>,
) {
    let (mut buffer, mut at) = (vec![0; whole.len() + 1], 0);
    loop {
        let end = buffer.len().min(at + len);
        let (written, done) = next(&mut buffer[..end], at).expect("what decodes at once decodes in pieces");
        at += written;
        if done {
            break;
        }
        assert_eq!(at, end);
    }
    assert_eq!(buffer[..at], *whole);
}

fuzz_target!(|input: (u16, &[u8])| {
    let (len, stored) = input;
    let mut out = vec![0; len.into()];
    let piece = stored.first().map_or(1, |&byte| usize::from(byte) + 1);
    if lz4::decode(stored, &mut out).is_ok() {
        let mut decoder = lz4::PieceDecoder::default();
        check_pieces(&out, piece, |buffer, start| decoder.next(stored, buffer, start));
    }
    let exact = deflate::decode(stored, &mut out).is_ok();
    if let Ok(decoded) = deflate::decode_bounded(stored, 1 << 16) {
        assert_eq!(exact, decoded.len() == out.len());
        let mut decoder = deflate::PieceDecoder::new(stored).unwrap();
        check_pieces(&decoded, piece, |buffer, start| decoder.next(stored, buffer, start));
    }
    let encoded = lz4::encode(stored);
    lz4::decode(&encoded, &mut vec![0; stored.len()]).unwrap();
    let mut decoder = lz4::PieceDecoder::default();
    check_pieces(stored, piece, |buffer, start| decoder.next(&encoded, buffer, start));
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
