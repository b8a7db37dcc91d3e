//! Writes and reads `.izs` beside crate `iguazu` 0.0.1 and the bare `zstd` crate, on the same data in one run.
//!
//! `cargo xtask bench izs [--rounds N] [--mib N] [--level N]` prints MB/s of elements on 64 MiB of the streams `logic` and `adc`, in
//! memory and in files, the ratios to the goals, sizes, and the peak memory of processes that write and read.

use std::error::Error;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::{env, fs};

use bench::izs::reference::{self, Blocks, InMemory, Samples};
use bench::izs::table::{NEARLY, Table};
use core_codec::Limits;
use core_codec::izs::model::{Kind, Schema, SchemaBuilder, StreamId};
use core_codec::izs::{Compression, Dialect, Element};
use std_io::{Input, IzsFile, IzsWriter, WriteOptions};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Options {
    rounds: usize,
    bytes: usize,
    level: u8,
}

/// One of the streams of the benchmark.
#[derive(Clone, Copy, PartialEq)]
enum Data {
    Logic,
    Adc,
}

impl Data {
    fn name(self) -> &'static str {
        if self == Self::Logic { "logic, u8" } else { "adc, u16" }
    }

    fn bytes(self, len: usize) -> Vec<u8> {
        match self {
            Self::Logic => streams::logic_bytes(len),
            Self::Adc => streams::little_endian(streams::adc().take(len / 2)),
        }
    }

    /// How many rounds stand for one: what takes little time needs more of them to be sure of.
    fn rounds(self, rounds: usize) -> usize {
        if self == Self::Logic { 3 * rounds } else { rounds }
    }

    fn schema(self, block: u64, compression: Compression) -> (Schema, StreamId) {
        let (kind, element) = match self {
            Self::Logic => (Kind::Bits { bits: 8 }, Element::U8),
            Self::Adc => (Kind::Int { bits: 12 }, Element::U16),
        };
        let mut schema = SchemaBuilder::new(kind);
        let stream = schema.stream_with(schema.root(), element, block, compression).expect("a valid stream");
        (schema.finish().expect("a valid schema"), stream)
    }
}

fn main() -> Result<()> {
    let mut options = Options { rounds: 9, bytes: 64 << 20, level: 3 };
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--rounds" => options.rounds = value()?.parse()?,
            "--mib" => options.bytes = value()?.parse::<usize>()? << 20,
            "--level" => options.level = value()?.parse()?,
            "--peak" => return peak(&value()?, &value()?, &value()?),
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    for data in [Data::Logic, Data::Adc] {
        measure(data, &options)?;
    }
    println!(
        "\nrandom block and `none` are in elements decoded; each block has 2^20 elements, as the reference has"
    );
    Ok(())
}

/// Entries of the bare `zstd` crate: what the codec allows.
const BARE: &str = "bare zstd crate, one context";
const BARE_TWO: &str = "bare zstd crate, two threads";
const BARE_BUFFER: &str = "bare zstd crate into one buffer";
const BARE_SUMMARIES: &str = "bare zstd crate, data and levels";

/// Elements of a block of the reference.
const BLOCK: u64 = 1 << 20;

fn write_with(
    data: Data,
    bytes: &[u8],
    block: u64,
    compression: Compression,
    options: &WriteOptions,
) -> Vec<u8> {
    let (schema, stream) = data.schema(block, compression);
    let mut writer = IzsWriter::new(Vec::new(), schema, options).expect("a valid schema");
    writer.push_bytes(stream, bytes).expect("memory takes all");
    writer.finish().expect("memory takes all")
}

fn measure(data: Data, options: &Options) -> Result<()> {
    let bytes = data.bytes(options.bytes);
    let len = bytes.len();
    let level = options.level;
    let write = WriteOptions::default().level(level).dialect(Dialect::V001);
    let one = write.threads(1);
    let two = write.threads(2);
    let zstd = Compression::Zstd;
    let folder = tempfile::tempdir()?;

    let (theirs, ours) = (folder.path().join("theirs"), folder.path().join("ours"));
    let samples = Samples::new(&bytes, data == Data::Adc);
    let block = BLOCK as usize * if data == Data::Adc { 2 } else { 1 };
    let blocks: Vec<&[u8]> = bytes.chunks(block).collect();
    // Data and levels of a summary as our file cuts them into blocks.
    let with_levels = contents(&write_with(data, &bytes, BLOCK, zstd, &one.summaries(true)))?;
    let with_levels: Vec<&[u8]> = with_levels.iter().map(Vec::as_slice).collect();
    let mut table = Table::default();
    table.add(BARE, len, || {
        black_box(bare_write(&blocks, block, level));
    });
    table.add(BARE_TWO, len, || {
        let (first, second) = blocks.split_at(blocks.len() / 2);
        std::thread::scope(|scope| {
            scope.spawn(|| black_box(bare_write(first, block, level)));
            black_box(bare_write(second, block, level));
        });
    });
    table.add(BARE_SUMMARIES, len, || {
        black_box(bare_write(&with_levels, block, level));
    });
    table.add("iguazu", len, || drop(black_box(samples.write(false))));
    table.add("1 thread", len, || drop(black_box(write_with(data, &bytes, BLOCK, zstd, &one))));
    table.add("2 threads", len, || drop(black_box(write_with(data, &bytes, BLOCK, zstd, &two))));
    table.add("1 thread, 2^18 elements a block", len, || {
        drop(black_box(write_with(data, &bytes, 1 << 18, zstd, &one)));
    });
    table.add("1 thread, level 1", len, || {
        drop(black_box(write_with(data, &bytes, BLOCK, zstd, &one.level(1))));
    });
    table.add("iguazu with summaries", len, || drop(black_box(samples.write(true))));
    table.add("1 thread with summaries", len, || {
        drop(black_box(write_with(data, &bytes, BLOCK, zstd, &one.summaries(true))));
    });
    table.add("2 threads with summaries", len, || {
        drop(black_box(write_with(data, &bytes, BLOCK, zstd, &two.summaries(true))));
    });
    table.add("iguazu to a file", len, || samples.write_to(&theirs));
    table.add("1 thread to a file", len, || write_file(data, &bytes, &ours, &one));
    table.run(data.rounds(options.rounds));
    table.print(&format!("write {}", data.name()));
    table.ratio_within("1 thread to iguazu", "1 thread", "iguazu", 1.5, BARE);
    table.ratio("1 thread to bare zstd", "1 thread", BARE, NEARLY);
    table.scaling("2 threads to 1 thread", ["2 threads", "1 thread"], 1.8, [BARE_TWO, BARE]);
    table.ratio_within("file: 1 thread to iguazu", "1 thread to a file", "iguazu to a file", 1.5, BARE);
    let [with, theirs_with] = ["1 thread with summaries", "iguazu with summaries"];
    table.ratio_within("summaries: 1 thread to iguazu", with, theirs_with, 1.5, BARE_SUMMARIES);
    drop(table);
    for (name, size) in [
        ("iguazu", samples.write(false).len()),
        ("ours", write_with(data, &bytes, BLOCK, zstd, &one).len()),
        ("ours, 2^18 elements a block", write_with(data, &bytes, 1 << 18, zstd, &one).len()),
        ("ours, level 1", write_with(data, &bytes, BLOCK, zstd, &one.level(1)).len()),
        ("iguazu with summaries", samples.write(true).len()),
        ("ours with summaries", write_with(data, &bytes, BLOCK, zstd, &one.summaries(true)).len()),
    ] {
        println!("  size, {name:<36} {:>9.2}x   {size} bytes", len as f64 / size as f64);
    }
    reads(data, &bytes, &write_with(data, &bytes, BLOCK, zstd, &one), options, &ours)?;
    peaks(data, options, folder.path())
}

/// Compresses blocks of at most `most` bytes with one context and one buffer, and keeps the frames, as a file in
/// memory does.
fn bare_write(blocks: &[&[u8]], most: usize, level: u8) -> Vec<u8> {
    let mut compressor = zstd::bulk::Compressor::new(level.into()).expect("memory");
    let mut buffer = vec![0; zstd::zstd_safe::compress_bound(most)];
    let mut frames = Vec::new();
    for block in blocks {
        let len = compressor.compress_to_buffer(block, &mut buffer[..]).expect("room");
        frames.extend_from_slice(&buffer[..len]);
    }
    frames
}

/// Decompresses frames, one after the other, to where they follow one another in `out`.
fn bare_read(frames: &[(Vec<u8>, usize)], out: &mut [u8]) {
    let mut decompressor = zstd::bulk::Decompressor::new().expect("memory");
    let mut rest = out;
    for (frame, size) in frames {
        let (part, more) = rest.split_at_mut(*size);
        decompressor.decompress_to_buffer(frame, part).expect("valid");
        rest = more;
    }
}

/// The content of the blocks of all streams of a file.
fn contents(file: &[u8]) -> Result<Vec<Vec<u8>>> {
    let izs = open_memory(&Arc::new(file.to_vec()));
    let mut all = Vec::new();
    for id in izs.schema().streams() {
        let stream = izs.stream(id)?;
        let (len, block) = (stream.len(), stream.descriptor().block);
        for start in (0..len).step_by(block as usize) {
            all.push(stream.read_bytes(start..len.min(start + block))?);
        }
    }
    Ok(all)
}

fn write_file(data: Data, bytes: &[u8], path: &Path, options: &WriteOptions) {
    let (schema, stream) = data.schema(BLOCK, Compression::Zstd);
    let mut writer = IzsWriter::create(path, schema, options).expect("a folder");
    writer.push_bytes(stream, bytes).expect("a disk");
    // None of the peers waits for the disk.
    writer.finish().and_then(|file| Ok(file.commit_unsynced()?)).expect("a disk");
}

fn open_memory(file: &Arc<Vec<u8>>) -> IzsFile {
    IzsFile::from_input(Input::fetching(file.clone()), Limits::default()).expect("a valid file")
}

fn reads(data: Data, bytes: &[u8], file: &[u8], options: &Options, path: &Path) -> Result<()> {
    let len = bytes.len();
    fs::write(path, file)?;
    let frames = frames(file)?;
    let block = frames[0].1;
    let shared = Arc::new(file.to_vec());
    let none =
        Arc::new(write_with(data, bytes, BLOCK, Compression::None, &WriteOptions::default().threads(1)));
    fs::write(path.with_extension("none"), &*none)?;
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let (one, two) = (pool(1)?, pool(2)?);
    let mapped = IzsFile::open(path)?;
    let uncompressed = IzsFile::open(path.with_extension("none"))?;
    let in_memory = open_memory(&shared);
    let mut out = vec![0_u8; len];
    let mut whole = vec![0_u8; len];
    let mut third = vec![0_u8; len];
    let mut fourth = vec![0_u8; len];
    let mut fifth = vec![0_u8; len];
    let mut sixth = vec![0_u8; len];
    let mut scratch = vec![0; block];
    let mut table = Table::default();
    table.add(BARE, len, || {
        let mut decompressor = zstd::bulk::Decompressor::new().expect("memory");
        for (frame, size) in &frames {
            decompressor.decompress_to_buffer(frame, &mut scratch[..*size]).expect("valid");
            black_box(&scratch);
        }
    });
    table.add("iguazu from memory", len, || {
        assert_eq!(reference::read(Arc::new(InMemory(shared.clone()))), len);
    });
    table.add("block by block from memory", len, || assert_eq!(by_parts(&in_memory), len));
    table.add("iguazu from a file", len, || assert_eq!(reference::read(reference::on_disk(path)), len));
    table.add("block by block from a file", len, || {
        assert_eq!(by_parts(&IzsFile::open(path).expect("it is there")), len);
    });
    table.add(BARE_BUFFER, len, || bare_read(&frames, &mut out));
    table.add(BARE_TWO, len, || {
        let (first, second) = frames.split_at(frames.len() / 2);
        let (left, right) = sixth.split_at_mut(first.iter().map(|frame| frame.1).sum());
        std::thread::scope(|scope| {
            scope.spawn(|| bare_read(first, left));
            bare_read(second, right);
        });
    });
    table.add("1 thread into one buffer", len, || one.install(|| read_into(&mapped, &mut whole)));
    table.add("2 threads into one buffer", len, || two.install(|| read_into(&mapped, &mut third)));
    table.add("memcpy", len, || fourth.copy_from_slice(black_box(bytes)));
    table.add("none, 1 thread into one buffer", len, || one.install(|| read_into(&uncompressed, &mut fifth)));
    table.run(data.rounds(options.rounds));
    table.print(&format!("read {}", data.name()));
    let [memory, disk] = ["block by block from memory", "block by block from a file"];
    table.ratio_within("memory: 1 thread to iguazu", memory, "iguazu from memory", 1.5, BARE);
    table.ratio_within("file: 1 thread to iguazu", disk, "iguazu from a file", 1.5, BARE);
    table.ratio("1 thread to bare zstd", memory, BARE, NEARLY);
    let [two, one] = ["2 threads into one buffer", "1 thread into one buffer"];
    table.ratio("buffer: to bare zstd", one, BARE_BUFFER, NEARLY);
    table.scaling("2 threads to 1 thread", [two, one], 1.8, [BARE_TWO, BARE_BUFFER]);
    table.ratio("none to memcpy", "none, 1 thread into one buffer", "memcpy", 0.8);
    drop(table);
    assert!([&out, &whole, &third, &fifth, &sixth].iter().all(|read| **read == bytes));
    random(data, &frames, &mapped, path, options)
}

/// The frames of the one stream of a file, and how long their content is.
fn frames(file: &[u8]) -> Result<Vec<(Vec<u8>, usize)>> {
    let izs = open_memory(&Arc::new(file.to_vec()));
    let stream = izs.stream(izs.schema()[izs.schema().root()].data().ok_or("no stream")?)?;
    let reader = stream.reader();
    let blocks = izs.input().run(|source| reader.blocks(source, 0..stream.descriptor().blocks()))?;
    let frame = |block: &core_codec::izs::reader::Block| {
        let place = block.bytes.start as usize..block.bytes.end as usize;
        Ok((file[place].to_vec(), reader.block_bytes(block.number)?))
    };
    blocks.iter().map(frame).collect()
}

fn data_of(file: &IzsFile) -> std_io::IzsStream<'_> {
    let id = file.schema()[file.schema().root()].data().expect("one stream");
    file.stream(id).expect("it can be read")
}

fn by_parts(file: &IzsFile) -> usize {
    let stream = data_of(file);
    let mut total = 0;
    let counted = stream.for_each_part(0..stream.len(), |_, bytes| {
        total += black_box(bytes).len();
        Ok::<_, std_io::Error>(())
    });
    counted.expect("a valid file");
    total
}

fn read_into(file: &IzsFile, out: &mut [u8]) {
    let stream = data_of(file);
    stream.read_into(0..stream.len(), out).expect("a valid file");
}

fn random(
    data: Data,
    frames: &[(Vec<u8>, usize)],
    file: &IzsFile,
    path: &Path,
    options: &Options,
) -> Result<()> {
    let stream = data_of(file);
    let blocks = Blocks::open(reference::on_disk(path));
    let size = frames[0].1;
    let width = usize::from(stream.descriptor().element.size());
    let mut scratch = vec![0; size];
    let mut decompressor = zstd::bulk::Decompressor::new()?;
    // The same walk over the whole blocks for all, far from one to the next.
    let count = frames.len() as u64 - 1;
    let number = |step: u64| step * 37 % count.max(1);
    let (mut a, mut b, mut c) = (0, 0, 0);
    let mut few = vec![0; 100 * width];
    let mut table = Table::default();
    table.add("bare decode", size, || {
        a += 1;
        decompressor.decompress_to_buffer(&frames[number(a) as usize].0, &mut scratch[..]).expect("valid");
    });
    table.add("iguazu", size, || {
        b += 1;
        black_box(blocks.read(number(b)));
    });
    table.add("100 elements", size, || {
        c += 1;
        let start = number(c) * BLOCK + 5000;
        stream.read_into(start..start + 100, &mut few).expect("valid");
    });
    table.run(options.rounds * 20);
    table.print(&format!("random block of {}", data.name()));
    table.ratio("to bare decode", "100 elements", "bare decode", NEARLY);
    table.ratio("to iguazu", "100 elements", "iguazu", 1.0);
    Ok(())
}

/// Peak memory of processes of their own, which read their input from a file piece by piece.
fn peaks(data: Data, options: &Options, folder: &Path) -> Result<()> {
    let raw = folder.join("raw");
    fs::write(&raw, data.bytes(options.bytes))?;
    let name = if data == Data::Adc { "adc" } else { "logic" };
    println!("  peak memory of a process of its own");
    for what in ["nothing", "write-1", "write-2", "write-2-summaries", "read", "iguazu-write", "iguazu-read"]
    {
        let mut command = Command::new(env::current_exe()?);
        let output = command.args(["--peak", what, name]).arg(&raw).output()?;
        if !output.status.success() {
            return Err(format!("{what}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        println!("    {what:<40} {}", String::from_utf8(output.stdout)?.trim());
    }
    Ok(())
}

fn peak(what: &str, data: &str, raw: &str) -> Result<()> {
    let data = if data == "adc" { Data::Adc } else { Data::Logic };
    let raw = Path::new(raw);
    let file = raw.with_extension("izs");
    let options = WriteOptions::default().dialect(Dialect::V001);
    let write = |options: &WriteOptions| -> Result<()> {
        let (schema, stream) = data.schema(BLOCK, Compression::Zstd);
        let mut writer = IzsWriter::create(&file, schema, options)?;
        let mut input = fs::File::open(raw)?;
        let mut piece = vec![0; 64 << 10];
        loop {
            let len = input.read(&mut piece)?;
            if len == 0 {
                return Ok(writer.finish()?.commit_unsynced()?);
            }
            writer.push_bytes(stream, &piece[..len])?;
        }
    };
    match what {
        "nothing" => {}
        "write-1" => write(&options.threads(1))?,
        "write-2" => write(&options.threads(2))?,
        "write-2-summaries" => write(&options.threads(2).summaries(true))?,
        "read" => {
            by_parts(&IzsFile::from_input(Input::open(&file, std_io::Access::Read)?, Limits::default())?);
        }
        // It takes its input from memory.
        "iguazu-write" => Samples::new(&fs::read(raw)?, data == Data::Adc).write_to(&file),
        "iguazu-read" => {
            reference::read(reference::on_disk(&file));
        }
        other => return Err(format!("unknown work {other}").into()),
    }
    let mib = bench::peak_memory().unwrap_or(0) as f64 / f64::from(1 << 20);
    writeln!(std::io::stdout(), "{mib:.1} MiB")?;
    Ok(())
}
