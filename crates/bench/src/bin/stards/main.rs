//! StarDS: 64 MiB of float64, written and read, beside h5py, zarr and NumPy in the same run, and against memcpy.
//!
//! The peers come from PyPI into a virtual environment under `target/`; without Python or a network they are left
//! out, and said to be. All files are in one folder, so in the same cache of the system.

mod goals;
mod peers;

use std::hint::black_box;
use std::path::Path;

use bench::Speed;
use core_codec::codec::shuffle::{shuffle, unshuffle};
use core_codec::stards::{BASE_LAYER, Compression, DEFAULT_BLOCK_SIZE, DEFAULT_LEVEL, Draft, encode_block};
use rayon::ThreadPoolBuilder;
use std_io::{StardsFile, StardsWriter};

use crate::goals::Goals;

const COUNT: usize = 8 << 20;
const BYTES: usize = 8 * COUNT;
const RUNS: usize = 3;
const CODECS: [Compression; 6] = [
    Compression::None,
    Compression::Lz4,
    Compression::Lz4Shuffle,
    Compression::Zstd,
    Compression::Gzip,
    Compression::GzipShuffle,
];

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let values = values();
    let mut goals = Goals::default();
    println!("64 MiB of float64 in {}; the fastest of {RUNS} runs\n", folder.path().display());
    memory(&values, &mut goals);
    println!("\n{:14} {:>6} {:>12} {:>12} {:>12} {:>12}", "", "", "1 thread", "", "2 threads", "");
    println!("{:14} {:>6} {:>12} {:>12} {:>12} {:>12}", "", "ratio", "write", "read", "write", "read");
    for codec in CODECS {
        codec_speeds(codec, &values, folder.path(), &mut goals)?;
    }
    println!();
    peers::run(folder.path(), &values)?;
    goals.print();
    Ok(())
}

/// A slow wave with noise in the third decimal, as a sensor's values are.
fn values() -> Vec<f64> {
    let mut noise = 1u32;
    (0..COUNT)
        .map(|i| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = 100.0 * (i as f64 * 1e-3).sin() + f64::from(noise >> 22) * 1e-3;
            (value * 1e3).round() / 1e3
        })
        .collect()
}

fn line(name: &str, speed: Speed) {
    println!("{name:32} {:>12}", speed.to_string());
}

fn bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// What happens in memory alone.
fn memory(values: &[f64], goals: &mut Goals) {
    let data = bytes(values);
    let mut out = vec![0; BYTES];
    let memcpy = Speed::of(BYTES, RUNS, || black_box(&mut out).copy_from_slice(black_box(&data)));
    goals.memcpy = memcpy.bytes_per_second();
    line("memcpy", memcpy);
    let fresh = Speed::of(BYTES, RUNS, || drop(black_box(data.clone())));
    goals.memcpy_fresh = fresh.bytes_per_second();
    line("memcpy to fresh memory", fresh);
    for width in [2, 4, 8] {
        let speed = Speed::of(BYTES, RUNS, || shuffle(black_box(&data), width, black_box(&mut out)));
        line(&format!("shuffle, {width} bytes"), speed);
        goals.against_memcpy(format!("shuffle {width}"), speed, 0.3);
        let planes = out.clone();
        let speed = Speed::of(BYTES, RUNS, || unshuffle(black_box(&planes), width, 0, black_box(&mut out)));
        line(&format!("unshuffle, {width} bytes"), speed);
        goals.against_memcpy(format!("unshuffle {width}"), speed, 0.3);
    }
}

/// A codec on one thread, on two, and without any file.
fn codec_speeds(codec: Compression, values: &[f64], folder: &Path, goals: &mut Goals) -> anyhow::Result<()> {
    let path = folder.join("x.stards");
    let mut draft = Draft::new();
    draft.put_slice(BASE_LAYER, "x", &[COUNT as u64], values, codec)?;
    let mut columns = String::new();
    let mut speeds = Vec::new();
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let save = || StardsWriter::new(&draft).save(&path).expect("written");
        let write = pool.install(|| Speed::of(BYTES, RUNS, save));
        let mut out = vec![0.0; COUNT];
        let read = pool.install(|| {
            Speed::of(BYTES, RUNS, || {
                let file = StardsFile::open(&path).expect("opened");
                file.array(BASE_LAYER, "x").and_then(|x| x.read_into(black_box(&mut out))).expect("read");
            })
        });
        assert!(out == values, "{codec}: what is read is not what was written");
        columns += &format!(" {:>12} {:>12}", write.to_string(), read.to_string());
        speeds.push((write, read));
    }
    let ratio = std::fs::metadata(&path)?.len() as f64 / BYTES as f64;
    println!("{:14} {ratio:>6.3}{columns}", codec.name());
    let [one, two] = [speeds[0], speeds[1]];
    match codec {
        Compression::None => {
            goals.against_memcpy("NONE read".into(), one.1, 0.8);
            let read = Speed::of(BYTES, RUNS, || {
                let file = StardsFile::open(&path).expect("opened");
                drop(black_box(file.array(BASE_LAYER, "x").and_then(|x| x.read::<f64>()).expect("read")));
            });
            println!(
                "{:14} {:>6} {:>12} {:>12} {:>12} {:>12}",
                "  to fresh memory",
                "",
                "",
                "",
                "",
                read.to_string()
            );
            goals.against_fresh_memcpy("NONE read to fresh memory".into(), read, 0.8);
            goals.against_reference("NONE", [155e6, 241e6], two);
        }
        _ => {
            let bare = bare(codec, values);
            println!("{:14} {:>6} {:>12} {:>12}", "  bare codec", "", bare.0.to_string(), bare.1.to_string());
            if codec != Compression::Zstd {
                goals.against_bare(codec, bare, one);
                goals.scaling(codec, one, two);
            }
            if codec == Compression::Lz4 {
                goals.against_reference("LZ4", [153e6, 267e6], two);
            }
        }
    }
    Ok(())
}

/// Encoding and decoding alone, block by block in memory that is there.
fn bare(codec: Compression, values: &[f64]) -> (Speed, Speed) {
    let mut data = bytes(values);
    if codec.shuffles() {
        let mut planes = vec![0; BYTES];
        shuffle(&data, 8, &mut planes);
        data = planes;
    }
    let blocks: Vec<&[u8]> = data.chunks(DEFAULT_BLOCK_SIZE as usize).collect();
    let encode = |block: &&[u8]| encode_block(codec, DEFAULT_LEVEL, block).expect("encoded").into_owned();
    let mut stored: Vec<Vec<u8>> = Vec::new();
    let encoding = Speed::of(BYTES, RUNS, || stored = blocks.iter().map(encode).collect());
    let mut out = vec![0; BYTES];
    let decoding = Speed::of(BYTES, RUNS, || {
        for (stored, out) in stored.iter().zip(out.chunks_mut(DEFAULT_BLOCK_SIZE as usize)) {
            decode(codec, stored, out);
        }
    });
    (encoding, decoding)
}

fn decode(codec: Compression, stored: &[u8], out: &mut [u8]) {
    use core_codec::codec::{deflate, lz4, zstd};
    match codec {
        Compression::Gzip | Compression::GzipShuffle => deflate::decode(stored, out),
        Compression::Lz4 | Compression::Lz4Shuffle => lz4::decode(stored, out),
        _ => zstd::decode(stored, out),
    }
    .expect("decoded");
}
