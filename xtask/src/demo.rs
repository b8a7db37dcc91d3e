//! The main job, end to end: a microcontroller records a real capture in one pass, and the host reads it back.

use std::fs;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::thumb::{Profile, Toolchain};
use crate::{boards, capture, firmware, paths, process, qemu, setup};

const BOARD: &str = "mps2-an386";
const CAPTURE: &str = "i2c_atecc508a.sr";

pub(crate) fn task(args: lexopt::Parser) -> Result<()> {
    process::no_more(args)?;
    run(&setup::ensure()?)
}

pub(crate) fn run(toolchain: &Toolchain) -> Result<()> {
    let source = capture::path(CAPTURE);
    let samples = capture::samples(&source)?;
    let expected: String = Sha256::digest(&samples).iter().map(|byte| format!("{byte:02x}")).collect();

    println!("Building `tripoint` and the program for the board; the first time, this takes some minutes.");
    process::run(&mut process::cargo(["build", "--package", "tripoint"]))?;

    println!(
        "\n1. A Cortex-M4F ({BOARD} in QEMU) records testdata/captures/{CAPTURE}, 512 samples at a time:\n"
    );
    let file = record(toolchain, &samples)?;
    let shown = file.strip_prefix(paths::root()).unwrap_or(&file).display();
    println!("{} bytes of samples became {} bytes: {shown}", samples.len(), fs::metadata(&file)?.len());

    println!("\n2. The host looks at the file, with `tripoint info`:\n");
    let tripoint = |command: &str| {
        let mut cargo = process::cargo(["run", "--quiet", "--package", "tripoint", "--", command]);
        cargo.arg(&file);
        cargo
    };
    print!("{}", process::stdout(&mut tripoint("info"))?);

    println!("\n3. The host reads every sample back, with `tripoint digest`:\n");
    let digest = process::stdout(&mut tripoint("digest"))?;
    print!("{digest}");
    println!("sha256 of the samples that went in: {expected}");
    ensure!(digest.lines().count() == 1, "expected one stream in {shown}");
    ensure!(digest.contains(&format!("\"{expected}\"")), "{shown} does not hold the samples that went in");
    println!("\nThe digests are equal: all {} samples came through.", samples.len());
    Ok(())
}

/// Has the board record the samples; returns the file that it wrote.
fn record(toolchain: &Toolchain, samples: &[u8]) -> Result<std::path::PathBuf> {
    let board = boards::find(BOARD)?;
    let dir = paths::target().join("demo");
    fs::create_dir_all(&dir)?;
    fs::write(dir.join("samples"), samples)?;
    let file = dir.join("capture.izs");
    if file.exists() {
        // What is read later must be what is written now.
        fs::remove_file(&file)?;
    }
    let programs = firmware::build(toolchain, board, Profile::Release, &["demo"])?;
    let ended = qemu::run(board, &programs.join("demo"), &dir)?;
    print!("{}", ended.stdout);
    let status = ended.status.context("the board did not end in time")?;
    ensure!(status.success(), "the board failed: {status}\n{}", ended.stderr);
    Ok(file)
}
