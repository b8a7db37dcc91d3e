//! Frames of every level decode to their content, by the C library and by ruzstd, and do not depend on how the
//! content was split.
//!
//! The first byte of the input chooses the level, the second whether the size is known, the third how the content
//! is split; the rest is a recipe of the content: runs, copies and bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use micro_zstd::{Entropy, Fast, FrameEncoder, Rle, Store, Xxh64};

/// No content is longer.
const LONGEST: usize = 200_000;

fuzz_target!(|input: &[u8]| {
    let [level, known, split, recipe @ ..] = input else { return };
    let content = content(recipe);
    let size = (known & 1 == 1).then_some(content.len() as u64);
    let split = usize::from(*split) + 1;
    match level % 10 {
        0 => check(Store::<64, Xxh64>::new(), size, split, &content),
        1 => check(Rle::<64>::new(), size, split, &content),
        2 => check(Rle::<1000, Xxh64>::new(), size, split, &content),
        3 => check(<Fast>::new(), size, split, &content),
        4 => check(Fast::<300, 16, 128>::new(), size, split, &content),
        5 => check(Fast::<32768, 256, 40000, Xxh64>::new(), size, split, &content),
        6 => check(<Entropy>::new(), size, split, &content),
        7 => check(Entropy::<300, 16, 256>::new(), size, split, &content),
        8 => check(Entropy::<32768, 256, 65536, Xxh64>::new(), size, split, &content),
        _ => check(Entropy::<5000, 64, 1200>::new(), size, split, &content),
    }
});

/// What a recipe makes: each step is a byte that says what, and how much.
fn content(mut recipe: &[u8]) -> Vec<u8> {
    let mut content: Vec<u8> = Vec::new();
    while let [step, rest @ ..] = recipe {
        recipe = rest;
        let count = usize::from(step >> 2) + 1;
        match (step & 3, recipe) {
            // Bytes as they are.
            (0 | 1, _) => {
                let (bytes, rest) = recipe.split_at(count.min(recipe.len()));
                content.extend_from_slice(bytes);
                recipe = rest;
            }
            // A long run.
            (2, [byte, rest @ ..]) => {
                content.resize(content.len() + count * count * 8, *byte);
                recipe = rest;
            }
            // A copy from before.
            (3, [low, high, rest @ ..]) => {
                let distance = usize::from(u16::from_le_bytes([*low, *high])) + 1;
                if let Some(start) = content.len().checked_sub(distance) {
                    for at in start..start + count * 3 {
                        content.push(content[at]);
                    }
                }
                recipe = rest;
            }
            _ => {}
        }
        if content.len() > LONGEST {
            content.truncate(LONGEST);
            break;
        }
    }
    content
}

fn check<E: FrameEncoder>(mut encoder: E, size: Option<u64>, split: usize, content: &[u8]) {
    let frame = encode(&mut encoder, size, &mut content.chunks(content.len().max(1)));
    // A frame before must not matter.
    encode(&mut encoder, None, &mut content[content.len() / 3..].chunks(1000));
    let again = encode(&mut encoder, size, &mut content.chunks(split));
    assert!(frame == again, "the split matters");
    assert!(frame.len() as u64 <= E::max_output(content.len() as u64), "the bound does not hold");

    let mut out = vec![0; content.len() + 1];
    let len =
        zstd_safe::decompress(&mut out[..], &frame).map_err(zstd_safe::get_error_name).expect("C decodes");
    assert!(out[..len] == *content, "C decodes something else");
    let len = ruzstd::decoding::FrameDecoder::new().decode_all(&frame, &mut out).expect("ruzstd decodes");
    assert!(out[..len] == *content, "ruzstd decodes something else");
}

fn encode<E: FrameEncoder>(
    encoder: &mut E,
    size: Option<u64>,
    pieces: &mut dyn Iterator<Item = &[u8]>,
) -> Vec<u8> {
    let mut frame = Vec::new();
    encoder.start(size);
    for mut piece in pieces {
        while !piece.is_empty() {
            let encoded = encoder.encode(piece);
            frame.extend_from_slice(encoded.output);
            piece = &piece[encoded.taken..];
        }
    }
    while let Some(output) = encoder.finish() {
        frame.extend_from_slice(output);
    }
    frame
}
