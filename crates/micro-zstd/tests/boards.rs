//! The host makes the frames that the programs `zstd_fast` and `zstd_entropy` make on the boards: what those print is
//! in `firmware/src/bin`.

use micro_zstd::{Entropy, Fast, FrameEncoder};

/// Bytes that a program encodes of each stream, and bytes of a block.
const BYTES: usize = 65536;
const BLOCK: usize = 4096;

fn streams() -> [(&'static str, Vec<u8>); 3] {
    let samples = BYTES / 2;
    [
        ("logic", streams::logic_bytes(BYTES)),
        ("adc", streams::little_endian(streams::adc().take(samples))),
        ("slow", streams::little_endian(streams::slow().take(samples))),
    ]
}

/// What the program prints.
fn printed<E: FrameEncoder>(encoder: &mut E, level: &str) -> String {
    let mut lines = String::new();
    for (stream, content) in streams() {
        let (mut hash, mut written) = (0x811C_9DC5_u32, 0);
        let mut output = |bytes: &[u8]| {
            written += bytes.len();
            hash = bytes.iter().fold(hash, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
        };
        for mut rest in content.chunks(BLOCK) {
            encoder.start(None);
            while !rest.is_empty() {
                let encoded = encoder.encode(rest);
                output(encoded.output);
                rest = &rest[encoded.taken..];
            }
            while let Some(last) = encoder.finish() {
                output(last);
            }
        }
        lines += &format!("{level}, {stream}: {BYTES} bytes in frames of {written}, hash {hash:08x}\n");
    }
    lines
}

#[test]
fn fast_is_the_same_on_the_boards() {
    assert_eq!(printed(&mut <Fast>::new(), "fast"), include_str!("../../../firmware/src/bin/zstd_fast.out"));
}

#[test]
fn entropy_is_the_same_on_the_boards() {
    let expected = include_str!("../../../firmware/src/bin/zstd_entropy.out");
    assert_eq!(printed(&mut <Entropy>::new(), "entropy"), expected);
}
