//! StarDS: 64 MiB of float64, written and read, beside h5py, zarr and NumPy in the same run, and against memcpy.
//!
//! The peers come from PyPI into a virtual environment under `target/`; without Python or a network they are left
//! out, and said to be. All files are in one folder, so in the same cache of the system.
//!
//! With names of codecs as arguments, only those are measured, and no peer.

mod bare;
mod goals;
mod peers;

use std::cell::RefCell;
use std::hint::black_box;
use std::path::Path;

use bench::Speed;
use core_codec::codec::shuffle::{shuffle, unshuffle};
use core_codec::stards::{BASE_LAYER, Compression, Draft};
use rayon::ThreadPoolBuilder;
use std_io::{StardsFile, StardsWriter};

use crate::bare::Bare;
use crate::goals::Goals;

const COUNT: usize = 8 << 20;
const BYTES: usize = 8 * COUNT;
const RUNS: usize = 5;
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
    println!("\n{:18} {:>6} {:>12} {:>12} {:>12} {:>12}", "", "", "1 thread", "", "2 threads", "");
    println!("{:18} {:>6} {:>12} {:>12} {:>12} {:>12}", "", "ratio", "write", "read", "write", "read");
    let only: Vec<String> = std::env::args().skip(1).collect();
    for codec in
        CODECS.into_iter().filter(|codec| only.is_empty() || only.iter().any(|name| name == codec.name()))
    {
        codec_speeds(codec, &values, folder.path(), &mut goals)?;
    }
    if only.is_empty() {
        println!();
        peers::run(folder.path(), &values)?;
    }
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

/// A codec on one thread and on two, in a file and without any.
fn codec_speeds(codec: Compression, values: &[f64], folder: &Path, goals: &mut Goals) -> anyhow::Result<()> {
    let path = folder.join("x.stards");
    let mut draft = Draft::new();
    draft.put_slice(BASE_LAYER, "x", &[COUNT as u64], values, codec)?;
    let mut bare = Bare::new(codec, values);
    let mut speeds = Vec::new();
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        speeds.push(pool.install(|| side_by_side(&draft, &path, &mut bare)));
        assert!(bare.read == values, "{codec}: what is read is not what was written");
    }
    let ratio = std::fs::metadata(&path)?.len() as f64 / BYTES as f64;
    let [one, two] = [speeds[0], speeds[1]];
    row(codec.name(), &format!("{ratio:.3}"), [one.file, two.file]);
    match codec {
        Compression::None => none_speeds(&draft, &path, [one, two], goals),
        _ => row("  bare codec", "", [one.bare, two.bare]),
    }
    row("  and a plain file", "", [one.plain, two.plain].map(|write| (write, None)));
    if !matches!(codec, Compression::None | Compression::Zstd) {
        goals.against_bare(codec, 1, &one);
        goals.scaling(codec, one.file, two.file);
        goals.against_bare(codec, 2, &two);
    }
    if codec == Compression::Lz4 {
        goals.against_reference("LZ4", [153e6, 267e6], two.file);
    }
    Ok(())
}

/// What is special without a codec.
fn none_speeds(draft: &Draft<'_>, path: &Path, [one, two]: [Speeds; 2], goals: &mut Goals) {
    let synced = Speed::of(BYTES, RUNS, || {
        StardsWriter::new(draft).save(path).expect("written");
    });
    let fresh = Speed::of(BYTES, RUNS, || {
        let file = StardsFile::open(path).expect("opened");
        drop(black_box(file.array(BASE_LAYER, "x").and_then(|x| x.read::<f64>()).expect("read")));
    });
    println!("{:18} {:>6} {:>12} {:>12} {:>12} {:>12}", "  to the disk", "", "", "", synced.to_string(), "");
    println!(
        "{:18} {:>6} {:>12} {:>12} {:>12} {:>12}",
        "  to fresh memory",
        "",
        "",
        "",
        "",
        fresh.to_string()
    );
    goals.against_memcpy("NONE read".into(), one.file.1, 0.8);
    goals.against_fresh_memcpy("NONE read to fresh memory".into(), fresh, 0.8);
    goals.against_reference("NONE", [155e6, 241e6], two.file);
}

/// Of one codec on some threads: write and read.
#[derive(Clone, Copy)]
pub(crate) struct Speeds {
    pub(crate) file: (Speed, Speed),
    /// Without a file.
    pub(crate) bare: (Speed, Speed),
    /// The bare codec, and its blocks written to a file.
    pub(crate) plain: Speed,
}

/// Takes turns in all that is to be compared. Like the peers, a writer first removes what was there, and does not wait
/// for the disk.
fn side_by_side(draft: &Draft<'_>, path: &Path, bare: &mut Bare) -> Speeds {
    let anew = || {
        let _ = std::fs::remove_file(path);
    };
    let plain_path = path.with_extension("plain");
    let (bare, read) = (RefCell::new(bare), RefCell::new(vec![0.0; COUNT]));
    let [write, read_file, encode, plain, decode] = Speed::of_each(
        BYTES,
        RUNS,
        [
            &mut || {
                anew();
                StardsWriter::new(draft).unsynced().save(path).expect("written");
            },
            &mut || {
                let file = StardsFile::open(path).expect("opened");
                let out = &mut *read.borrow_mut();
                file.array(BASE_LAYER, "x").and_then(|x| x.read_into(black_box(out))).expect("read");
            },
            &mut || bare.borrow_mut().encode(),
            &mut || {
                let _ = std::fs::remove_file(&plain_path);
                bare.borrow_mut().encode();
                bare.borrow().write(&plain_path).expect("written");
            },
            &mut || bare.borrow_mut().decode(),
        ],
    );
    bare.into_inner().read = read.into_inner();
    Speeds { file: (write, read_file), bare: (encode, decode), plain }
}

fn row(name: &str, ratio: &str, speeds: [(Speed, impl Into<Option<Speed>>); 2]) {
    print!("{name:18} {ratio:>6}");
    for (write, read) in speeds {
        let read = read.into().map(|read| read.to_string()).unwrap_or_default();
        print!(" {:>12} {read:>12}", write.to_string());
    }
    println!();
}
