//! What every level promises, for all of them.

mod common;

use common::check;
use micro_zstd::{Entropy, Fast, Rle, Store, Xxh64};
use proptest::prelude::*;

/// All levels, small and large, one encoder of each for many frames.
#[derive(Default)]
struct Levels {
    store: Store<32>,
    store_large: Store<4096, Xxh64>,
    rle: Rle<64>,
    rle_checked: Rle<100, Xxh64>,
    rle_large: Rle<4096>,
    fast: Fast,
    fast_small: Fast<256, 16, 128>,
    fast_large: Fast<32768, 4096, 8192, Xxh64>,
    entropy: Entropy,
    entropy_small: Entropy<256, 16, 256>,
    entropy_large: Entropy<32768, 4096, 32768, Xxh64>,
}

impl Levels {
    fn check(&mut self, content: &[u8]) {
        check(&mut self.store, content, "Store<32>");
        check(&mut self.store_large, content, "Store<4096, Xxh64>");
        check(&mut self.rle, content, "Rle<64>");
        check(&mut self.rle_checked, content, "Rle<100, Xxh64>");
        check(&mut self.rle_large, content, "Rle<4096>");
        check(&mut self.fast, content, "Fast");
        check(&mut self.fast_small, content, "Fast<256, 16, 128>");
        check(&mut self.fast_large, content, "Fast<32768, 4096, 8192, Xxh64>");
        check(&mut self.entropy, content, "Entropy");
        check(&mut self.entropy_small, content, "Entropy<256, 16, 256>");
        check(&mut self.entropy_large, content, "Entropy<32768, 4096, 32768, Xxh64>");
    }
}

#[test]
fn short_content() {
    let mut levels = Levels::default();
    for len in 0..300 {
        levels.check(&vec![0x55; len]);
        levels.check(&(0..len).map(|i| (i * 31) as u8).collect::<Vec<_>>());
        levels.check(&(0..len).map(|i| (i / 9) as u8).collect::<Vec<_>>());
        levels.check(&(0..len).map(|i| (i % 5) as u8).collect::<Vec<_>>());
    }
}

#[test]
fn runs_at_the_largest_block_size() {
    let mut levels = Levels::default();
    for len in [(128 << 10) - 1, 128 << 10, (128 << 10) + 1, (256 << 10) + 3, 65_791, 65_792] {
        levels.check(&vec![0; len]);
        let mut content = vec![7; len];
        content.extend_from_slice(b"the end");
        levels.check(&content);
    }
}

#[test]
fn noise_at_the_largest_block_size() {
    let mut state = 1_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(0x0019_660D).wrapping_add(0x3C6E_F35F);
        (state >> 24) as u8
    })
    .take((128 << 10) + 1)
    .collect();
    let mut levels = Levels::default();
    for len in [noise.len() - 2, noise.len() - 1, noise.len()] {
        levels.check(&noise[..len]);
    }
}

/// Content of several kinds, one after the other.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let noise = prop::collection::vec(any::<u8>(), 0..200);
    let few = prop::collection::vec(0_u8..3, 0..300);
    let run = (any::<u8>(), 0_usize..600).prop_map(|(byte, len)| vec![byte; len]);
    let period =
        (prop::collection::vec(any::<u8>(), 1..40), 1_usize..30).prop_map(|(unit, times)| unit.repeat(times));
    let piece = prop_oneof![noise, few, run, period];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_content(content in content()) {
        Levels::default().check(&content);
    }
}
