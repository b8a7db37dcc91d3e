//! How small the levels make the reference streams and real captures, beside other compressors: each block of 4096
//! elements by itself, as `cargo xtask compare` does it.

mod common;

use std::fs::File;
use std::io::Read;

use common::{check, encode};
use lz4_flex::block::{CompressTable, compress_into_with_table};
use micro_zstd::{Entropy, Fast, FrameEncoder, Rle, Store};
use zip::ZipArchive;
use zstd_safe::{CCtx, CParameter};

/// Elements of a block.
const BLOCK: usize = 4096;
const CAPTURES: [&str; 2] = ["i2c_atecc508a", "caliper_5in"];

/// What is compressed, and bytes of a block.
struct Input {
    name: &'static str,
    bytes: Vec<u8>,
    block: usize,
}

impl Input {
    fn ours<E: FrameEncoder>(&self, encoder: &mut E) -> usize {
        let frame = |block| encode(encoder, None, block, &[usize::MAX]).len();
        self.bytes.chunks(self.block).map(frame).sum()
    }

    /// The C library, with a window of 4 KiB.
    fn by_c(&self, level: i32) -> usize {
        let mut context = CCtx::create();
        context.set_parameter(CParameter::CompressionLevel(level)).unwrap();
        context.set_parameter(CParameter::WindowLog(12)).unwrap();
        let mut frame = vec![0; zstd_safe::compress_bound(self.block)];
        self.bytes.chunks(self.block).map(|block| context.compress2(&mut frame[..], block).unwrap()).sum()
    }

    /// LZ4 with a table of 8 KiB.
    fn by_lz4(&self) -> usize {
        let mut table = CompressTable::small();
        let mut out = vec![0; 2 * self.block];
        let mut block = |block| compress_into_with_table(block, &mut out, &mut table).unwrap();
        self.bytes.chunks(self.block).map(&mut block).sum()
    }
}

fn inputs() -> Vec<Input> {
    let mut inputs = vec![
        Input { name: "logic", bytes: streams::logic_bytes(1 << 20), block: BLOCK },
        Input { name: "adc", bytes: streams::little_endian(streams::adc().take(1 << 19)), block: 2 * BLOCK },
        Input {
            name: "slow",
            bytes: streams::little_endian(streams::slow().take(1 << 19)),
            block: 2 * BLOCK,
        },
    ];
    inputs.extend(CAPTURES.map(|name| Input { name, bytes: capture(name), block: BLOCK }));
    inputs
}

/// The samples of a capture, the chunks of a zip file.
fn capture(name: &str) -> Vec<u8> {
    let path = format!("{}/../../testdata/captures/{name}.sr", env!("CARGO_MANIFEST_DIR"));
    let mut archive = ZipArchive::new(File::open(path).unwrap()).unwrap();
    let mut samples = Vec::new();
    for chunk in 1.. {
        let Ok(mut chunk) = archive.by_name(&format!("logic-1-{chunk}")) else { break };
        chunk.read_to_end(&mut samples).unwrap();
    }
    assert!(samples.len() >= 1_000_000, "{name}");
    samples
}

#[test]
fn captures_decode() {
    for name in CAPTURES {
        let samples = capture(name);
        check(&mut Store::<1024>::new(), &samples, name);
        check(&mut Rle::<1024>::new(), &samples, name);
        check(&mut <Fast>::new(), &samples, name);
        check(&mut <Entropy>::new(), &samples, name);
        for block in samples.chunks(BLOCK).step_by(10) {
            check(&mut <Fast>::new(), block, name);
            check(&mut <Entropy>::new(), block, name);
        }
    }
}

#[test]
fn fast_is_smaller_than_c_at_level_minus_5_and_than_lz4() {
    for input in inputs() {
        let (ours, c, lz4) = (input.ours(&mut <Fast>::new()), input.by_c(-5), input.by_lz4());
        assert!(ours <= c, "{}: {ours} bytes, by C {c}", input.name);
        assert!(ours < lz4, "{}: {ours} bytes, by LZ4 {lz4}", input.name);
    }
}

#[test]
fn entropy_is_within_a_twentieth_of_c_at_level_1() {
    for input in inputs() {
        let (ours, c) = (input.ours(&mut <Entropy>::new()), input.by_c(1));
        assert!(ours * 20 <= c * 21, "{}: {ours} bytes, by C {c}", input.name);
    }
}
