//! Shows that no panic is left in the crates for microcontrollers: a program that calls every public function links
//! with a panic handler that calls a function that does not exist. See `firmware/bare`.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::boards::{BOARDS, Board};
use crate::elf::{self, Location};
use crate::thumb::{Profile, Toolchain};
use crate::{paths, process, setup};

/// The function that the panic handler calls.
const MISSING: &str = "a_panic_can_be_reached";

pub(crate) fn task(args: lexopt::Parser) -> Result<()> {
    process::no_more(args)?;
    run(&setup::ensure()?)
}

pub(crate) fn run(toolchain: &Toolchain) -> Result<()> {
    for board in &BOARDS {
        check_the_check(toolchain, board)?;
        if !links(toolchain, board, "no_panic", &[])? {
            let found = locations(toolchain, board, "no_panic", &[])?;
            bail!("{}", culprits(toolchain, board, "no_panic", &found));
        }
        check_async(toolchain, board)?;
        println!("{}: no panic can be reached; a deliberate one is found", board.target);
    }
    Ok(())
}

/// The compiler makes every `async fn` panic when it is polled after its end. That place is where its body begins;
/// no other may panic.
fn check_async(toolchain: &Toolchain, board: &Board) -> Result<()> {
    let mut found = locations(toolchain, board, "no_panic_async", &[])?;
    ensure!(!found.is_empty(), "no_panic_async has no panics at all: it may be linked like no_panic by now");
    found.retain(|place| !is_async_body(place));
    ensure!(found.is_empty(), "{}", culprits(toolchain, board, "no_panic_async", &found));
    Ok(())
}

/// Whether the place in the source is the brace that opens the body of an `async fn`.
fn is_async_body(place: &Location) -> bool {
    let Ok(source) = fs::read_to_string(paths::root().join("firmware").join(&place.file)) else {
        return false;
    };
    let before: Vec<_> = source.lines().take(place.line as usize).collect();
    let Some(line) = before.last() else { return false };
    // The signature may take several lines, the start of which the body's own line follows.
    let signature = before.iter().rev().find(|line| line.contains("fn "));
    line.as_bytes().get((place.column as usize).wrapping_sub(1)) == Some(&b'{')
        && signature.is_some_and(|s| s.contains("async fn "))
}

/// A program that does panic must not link, and its panic must be found.
fn check_the_check(toolchain: &Toolchain, board: &Board) -> Result<()> {
    let linked = links(toolchain, board, "self_test", &["self-test"])?;
    ensure!(!linked, "{}: a program that panics was linked: the check checks nothing", board.target);
    let found = locations(toolchain, board, "self_test", &["self-test"])?;
    ensure!(
        found.iter().any(|place| place.file.ends_with("self_test.rs")),
        "the panic of self_test is not in {found:?}"
    );
    Ok(())
}

fn build(toolchain: &Toolchain, board: &Board, program: &str, features: &[&str]) -> Command {
    let mut command = toolchain.build(board.target, Profile::Release);
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
fn locations(
    toolchain: &Toolchain,
    board: &Board,
    program: &str,
    features: &[&str],
) -> Result<Vec<Location>> {
    let features: Vec<_> = features.iter().copied().chain(["find-panics"]).collect();
    process::run(&mut build(toolchain, board, program, &features))?;
    elf::locations(&toolchain.program_dir(board.target, Profile::Release).join(program))
}

fn culprits(toolchain: &Toolchain, board: &Board, program: &str, found: &[Location]) -> String {
    let found: Vec<_> = found.iter().map(Location::to_string).collect();
    format!(
        "{}: a panic can be reached. These places in the source are in the program:\n    {}\n\
         An index, a slice, a division or an unwrap there is not seen to be safe: use get(), first_chunk(), \
         checked or wrapping operations, or bounds that the optimiser can follow. \
         A place in core or compiler_builtins is reached through a call of ours: disassemble {}, built \
         with the feature find-panics of firmware/bare, and look for the caller.",
        board.target,
        found.join("\n    "),
        toolchain.program_dir(board.target, Profile::Release).join(program).display(),
    )
}
