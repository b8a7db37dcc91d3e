//! Runs a program on a board in QEMU.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::boards::Board;
use crate::process::{self, Ended};

pub(crate) const PROGRAM: &str = "qemu-system-arm";

/// No program comes near it, on a busy machine either.
const LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn is_there() -> bool {
    process::succeeds(&mut process::command(PROGRAM, ["--version"]))
}

pub(crate) fn version() -> Result<String> {
    let printed = process::stdout(&mut process::command(PROGRAM, ["--version"]))?;
    Ok(printed.lines().next().unwrap_or_default().to_owned())
}

/// Runs `program` on `board` until it exits, with `dir` as the folder of its files. An instruction takes a
/// nanosecond, so that two runs count alike.
pub(crate) fn run(board: &Board, program: &Path, dir: &Path) -> Result<Ended> {
    let mut command = process::command(PROGRAM, ["-machine", board.name]);
    command.args(["-display", "none", "-monitor", "none", "-serial", "null", "-icount", "shift=0"]);
    command.args(["-semihosting-config", "enable=on,target=native", "-kernel"]).arg(program);
    command.current_dir(dir);
    process::run_for(&mut command, LIMIT)
        .with_context(|| format!("running {} on {}", program.display(), board.name))
}
