//! Every level of the encoder, with and without a checksum.

use core::hint::black_box;

use micro_zstd::{Entropy, Fast, FrameEncoder, NoChecksum, Rle, Store, Xxh64};

pub(crate) fn all() {
    encoder(&mut Store::<1024, NoChecksum>::new());
    encoder(&mut Store::<1024, Xxh64>::new());
    encoder(&mut Rle::<64, NoChecksum>::new());
    encoder(&mut Rle::<1024, Xxh64>::new());
    encoder(&mut <Fast>::new());
    encoder(&mut Fast::<1000, 64, 300, Xxh64>::new());
    encoder(&mut <Entropy>::new());
    encoder(&mut Entropy::<1000, 64, 300, Xxh64>::new());
}

#[inline(never)]
fn encoder(encoder: &mut impl FrameEncoder) {
    let encoder = black_box(encoder);
    for _ in 0..black_box(3) {
        encoder.start(black_box(None));
        let content = black_box(&[0; 5000][..]);
        let mut rest = content;
        while !rest.is_empty() {
            let encoded = encoder.encode(rest);
            black_box(encoded.output);
            rest = rest.get(encoded.taken..).unwrap_or_default();
        }
        while let Some(output) = encoder.finish() {
            black_box(output);
        }
    }
    black_box(max_output(encoder));
}

fn max_output<E: FrameEncoder>(_: &E) -> u64 {
    E::max_output(black_box(1 << 20))
}
