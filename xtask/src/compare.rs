//! Compares compressors on a Cortex-M4: instructions, memory and ratio, each block of 4096 elements by itself. The
//! programs are those of `firmware/compare`; the ratios of the C libraries are computed on the host.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use lexopt::Arg;
use micro_zstd::{Entropy, Fast, FrameEncoder, Rle, Store};
use zstd_safe::{CCtx, CParameter};

use crate::boards::{self, Board};
use crate::qemu_test::{self, MEASURED};
use crate::thumb::{Profile, Toolchain};
use crate::{capture, elf, inputs, paths, process, qemu, setup};

const BOARD: &str = "mps2-an386";
/// Elements of a block.
const BLOCK: usize = 4096;
/// The program that only copies.
const EMPTY: &str = "empty";
/// The programs, in the order of the table.
const PROGRAMS: [&str; 8] =
    ["store", "rle", "fast", "entropy", "lz4_flex", "heatshrink", "miniz_oxide", "ruzstd"];
/// Levels of the C library.
const C_LEVELS: [i32; 3] = [-5, 1, 3];
const C_WINDOW_LOG: u32 = 12;

/// What is compressed.
struct Input {
    name: String,
    bytes: Vec<u8>,
    /// Bytes of a block.
    block: usize,
    /// Too long for the board.
    host_only: bool,
}

pub(crate) fn task(mut args: lexopt::Parser) -> Result<()> {
    let mut captures = Vec::new();
    while let Some(arg) = args.next()? {
        match arg {
            Arg::Value(path) => captures.push(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    let mut all = Vec::new();
    for (kind, count, width) in [("logic", 1 << 20, 1), ("adc", 1 << 19, 2), ("slow", 1 << 19, 2)] {
        let bytes = inputs::bytes(&format!("stream {kind} {count}"))?;
        all.push(Input { name: kind.into(), bytes, block: BLOCK * width, host_only: false });
    }
    for path in &captures {
        let mut bytes = capture::samples(path)?;
        bytes.truncate(4 << 20);
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = name.split("__").last().unwrap_or_default().to_owned();
        all.push(Input { name, bytes, block: BLOCK, host_only: true });
    }
    let toolchain = setup::ensure()?;
    for profile in Profile::ALL {
        on_the_board(&toolchain, profile, &all)?;
    }
    on_the_host(&all)
}

/// The table of what runs on the board.
fn on_the_board(toolchain: &Toolchain, profile: Profile, inputs: &[Input]) -> Result<()> {
    let board = boards::find(BOARD)?;
    let mut command = toolchain.build(board.target, profile);
    process::run(command.args(["--quiet", "--package", "compare"]))?;
    let dir = toolchain.program_dir(board.target, profile);
    let empty = elf::sizes(&dir.join(EMPTY))?.flash;
    println!("\nProfile {} on {BOARD}: instructions a byte (ratio)\n", profile.name());
    print!("| program | flash | RAM | stack |");
    inputs.iter().filter(|input| !input.host_only).for_each(|input| print!(" {} |", input.name));
    println!(
        "\n|---|---:|---:|---:|{}",
        "---:|".repeat(inputs.iter().filter(|input| !input.host_only).count())
    );
    for program in PROGRAMS {
        let flash = elf::sizes(&dir.join(program))?.flash - empty;
        let (mut ram, mut stack, mut cells) = (0, 0, String::new());
        for input in inputs.iter().filter(|input| !input.host_only) {
            let run = measure(board, &dir.join(program), input).with_context(|| program.to_owned())?;
            check(program, input, &run.output)?;
            ram = ram.max(run.figure("ram")?);
            stack = stack.max(run.figure("stack")?);
            let output: usize = run.output.iter().map(Vec::len).sum();
            let instructions = run.figure("instructions")? as f64 / input.bytes.len() as f64;
            cells += &format!(" {instructions:.2} ({}) |", ratio(input, output));
        }
        println!("| {program} | {flash} | {ram} | {stack} |{cells}");
    }
    Ok(())
}

/// What a program did.
struct Run {
    figures: BTreeMap<String, u64>,
    /// The output of each block.
    output: Vec<Vec<u8>>,
}

impl Run {
    fn figure(&self, name: &str) -> Result<u64> {
        self.figures.get(name).copied().with_context(|| format!("it did not measure {name}"))
    }
}

fn measure(board: &Board, program: &Path, input: &Input) -> Result<Run> {
    let dir = paths::target().join("compare");
    fs::create_dir_all(&dir)?;
    fs::write(dir.join("input"), &input.bytes)?;
    fs::write(dir.join("block"), (input.block as u32).to_le_bytes())?;
    let output = dir.join("output");
    if output.exists() {
        // What is measured must be what this program writes.
        fs::remove_file(&output)?;
    }
    let ended = qemu::run(board, program, &dir)?;
    let status = ended.status.context("it did not end in time")?;
    ensure!(status.success(), "{status}: {}{}", ended.stdout, ended.stderr);
    let measured = ended.stdout.lines().filter(|line| line.starts_with(MEASURED));
    let figures = measured.map(qemu_test::measured).collect::<Result<_>>()?;
    let bytes = fs::read(output)?;
    let mut rest = &bytes[..];
    let mut output = Vec::new();
    while let Some((len, behind)) = rest.split_first_chunk() {
        let (block, behind) =
            behind.split_at_checked(u32::from_le_bytes(*len) as usize).context("the output is cut off")?;
        output.push(block.to_vec());
        rest = behind;
    }
    Ok(Run { figures, output })
}

/// Our frames must decode, and be those that the host makes.
fn check(program: &str, input: &Input, output: &[Vec<u8>]) -> Result<()> {
    let blocks = input.bytes.chunks(input.block);
    ensure!(blocks.len() == output.len(), "{} blocks became {}", blocks.len(), output.len());
    let Some(host) = on_host(program, input) else { return Ok(()) };
    for (index, (content, frame)) in blocks.zip(output).enumerate() {
        let mut decoded = vec![0; content.len() + 1];
        match zstd_safe::decompress(&mut decoded[..], frame) {
            Ok(len) => ensure!(decoded[..len] == *content, "block {index} decodes to something else"),
            Err(code) => bail!("block {index}: {}", zstd_safe::get_error_name(code)),
        }
    }
    ensure!(host == output, "the host makes other frames");
    Ok(())
}

/// The frames that the host makes; `None` for a program that is not of micro-zstd.
fn on_host(program: &str, input: &Input) -> Option<Vec<Vec<u8>>> {
    Some(match program {
        "store" => frames(&mut Store::<1024>::new(), input),
        "rle" => frames(&mut Rle::<1024>::new(), input),
        "fast" => frames(&mut <Fast>::new(), input),
        "entropy" => frames(&mut <Entropy>::new(), input),
        _ => return None,
    })
}

fn frames<E: FrameEncoder>(encoder: &mut E, input: &Input) -> Vec<Vec<u8>> {
    let frame = |mut rest: &[u8]| {
        let mut frame = Vec::new();
        encoder.start(None);
        while !rest.is_empty() {
            let encoded = encoder.encode(rest);
            frame.extend_from_slice(encoded.output);
            rest = &rest[encoded.taken..];
        }
        while let Some(output) = encoder.finish() {
            frame.extend_from_slice(output);
        }
        frame
    };
    input.bytes.chunks(input.block).map(frame).collect()
}

/// The ratio in four digits, which tell apart those close to 1.
fn ratio(input: &Input, output: usize) -> String {
    let ratio = input.bytes.len() as f64 / output as f64;
    let digits = if ratio < 1.0 { 4 } else { 3 - ratio.log10() as usize };
    format!("{ratio:.digits$}")
}

/// The table of ratios, of all inputs and the C library too.
fn on_the_host(inputs: &[Input]) -> Result<()> {
    println!("\nRatios\n");
    print!("| compressor |");
    inputs.iter().for_each(|input| print!(" {} |", input.name));
    println!("\n|---|{}", "---:|".repeat(inputs.len()));
    for level in PROGRAMS {
        let mut cells = String::new();
        for input in inputs {
            let Some(frames) = on_host(level, input) else { continue };
            cells += &format!(" {} |", ratio(input, frames.iter().map(Vec::len).sum()));
        }
        if !cells.is_empty() {
            println!("| {level} |{cells}");
        }
    }
    for level in C_LEVELS {
        let mut cells = String::new();
        for input in inputs {
            cells += &format!(" {} |", ratio(input, by_c(level, input)?));
        }
        println!("| C zstd, level {level}, windowLog {C_WINDOW_LOG} |{cells}");
    }
    Ok(())
}

/// How long the frames of the C library are.
fn by_c(level: i32, input: &Input) -> Result<usize> {
    let mut context = CCtx::create();
    let named = |code| anyhow::anyhow!(zstd_safe::get_error_name(code));
    context.set_parameter(CParameter::CompressionLevel(level)).map_err(named)?;
    context.set_parameter(CParameter::WindowLog(C_WINDOW_LOG)).map_err(named)?;
    let mut total = 0;
    let mut frame = vec![0; zstd_safe::compress_bound(input.block)];
    for block in input.bytes.chunks(input.block) {
        total += context.compress2(&mut frame[..], block).map_err(named)?;
    }
    Ok(total)
}
