//! Shows that no panic is left in the crates for microcontrollers: a program that calls every public function links
//! with a panic handler that calls a function that does not exist. See `firmware/bare`.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::boards::{BOARDS, Board};
use crate::thumb::Toolchain;
use crate::{elf, process, setup};

/// The function that the panic handler calls.
const MISSING: &str = "a_panic_can_be_reached";

pub(crate) fn task(mut args: lexopt::Parser) -> Result<()> {
    if let Some(arg) = args.next()? {
        return Err(arg.unexpected().into());
    }
    run(&setup::ensure()?)
}

pub(crate) fn run(toolchain: &Toolchain) -> Result<()> {
    for board in &BOARDS {
        check_the_check(toolchain, board)?;
        if links(toolchain, board, "no_panic", &[])? {
            println!("{}: no panic can be reached; a deliberate one is found", board.target);
        } else {
            bail!("{}", culprits(toolchain, board, "no_panic")?);
        }
    }
    Ok(())
}

/// A program that does panic must not link, and its panic must be found.
fn check_the_check(toolchain: &Toolchain, board: &Board) -> Result<()> {
    let linked = links(toolchain, board, "self_test", &["self-test"])?;
    ensure!(!linked, "{}: a program that panics was linked: the check checks nothing", board.target);
    let found = locations(toolchain, board, "self_test", &["self-test"])?;
    ensure!(
        found.iter().any(|place| place.contains("self_test.rs")),
        "the panic of self_test is not in {found:?}"
    );
    Ok(())
}

fn build(toolchain: &Toolchain, board: &Board, program: &str, features: &[&str]) -> Command {
    let mut command = toolchain.build(board.target);
    command.args(["--quiet", "--package", "bare", "--bin", program, "--features", &features.join(",")]);
    command
}

/// Whether the program links; an error if it is not for a panic that it does not.
fn links(toolchain: &Toolchain, board: &Board, program: &str, features: &[&str]) -> Result<bool> {
    let mut command = build(toolchain, board, program, features);
    let output = command.stdout(Stdio::inherit()).output().context("cannot start cargo")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        eprint!("{stderr}");
        return Ok(true);
    }
    if !stderr.contains(MISSING) {
        bail!("`{}` failed: {}\n{stderr}", process::display(&command), output.status);
    }
    Ok(false)
}

/// Links the program all the same, and reads from it where panics start.
fn locations(toolchain: &Toolchain, board: &Board, program: &str, features: &[&str]) -> Result<Vec<String>> {
    let features: Vec<_> = features.iter().copied().chain(["find-panics"]).collect();
    process::run(&mut build(toolchain, board, program, &features))?;
    elf::locations(&toolchain.release_dir(board.target).join(program))
}

fn culprits(toolchain: &Toolchain, board: &Board, program: &str) -> Result<String> {
    let found = locations(toolchain, board, program, &[])?;
    Ok(format!(
        "{}: a panic can be reached. These places in the source are in the program:\n    {}\n\
         An index, a slice, a division or an unwrap there is not seen to be safe: use get(), first_chunk(), \
         checked or wrapping operations, or bounds that the optimiser can follow. \
         A place in core or compiler_builtins is reached through a call of ours: disassemble {}, built \
         with the feature find-panics of firmware/bare, and look for the caller.",
        board.target,
        found.join("\n    "),
        toolchain.release_dir(board.target).join(program).display(),
    ))
}
