//! The checks that run on the host.

use std::process::Command;

use anyhow::Result;

use crate::boards::BOARDS;
use crate::test::Outcome;
use crate::thumb::Toolchain;
use crate::{paths, process};

const DENY_WARNINGS: [&str; 3] = ["--", "-D", "warnings"];

/// The folders with a workspace of their own, other than the root.
fn other_workspaces() -> impl Iterator<Item = &'static str> {
    ["firmware", "fuzz"].into_iter().filter(|dir| paths::root().join(dir).join("Cargo.toml").exists())
}

/// Cargo in another workspace, with the one target folder.
fn cargo_in(dir: &str, args: &[&str]) -> Command {
    let mut command = process::cargo(args);
    command.current_dir(paths::root().join(dir)).env("CARGO_TARGET_DIR", paths::target());
    command
}

pub(crate) fn format() -> Result<Outcome> {
    process::run(&mut process::cargo(["fmt", "--all", "--check"]))?;
    for dir in other_workspaces() {
        process::run(&mut cargo_in(dir, &["fmt", "--all", "--check"]))?;
    }
    Ok(Outcome::Passed)
}

pub(crate) fn clippy() -> Result<Outcome> {
    let args = ["clippy", "--quiet", "--workspace", "--all-targets"];
    process::run(process::cargo(args).args(DENY_WARNINGS))?;
    Ok(Outcome::Passed)
}

pub(crate) fn clippy_firmware(toolchain: &Toolchain) -> Result<Outcome> {
    if matches!(toolchain, Toolchain::Debian { .. }) {
        return Ok(Outcome::Skipped(
            "Debian's compiler, which stands in for the targets, has no clippy".into(),
        ));
    }
    for board in &BOARDS {
        let args =
            ["clippy", "--quiet", "--workspace", "--release", "--all-features", "--target", board.target];
        process::run(cargo_in("firmware", &args).args(DENY_WARNINGS))?;
    }
    Ok(Outcome::Passed)
}

pub(crate) fn clippy_fuzz() -> Result<Outcome> {
    if other_workspaces().all(|dir| dir != "fuzz") {
        return Ok(Outcome::Skipped("there is no fuzz/".into()));
    }
    process::run(
        cargo_in("fuzz", &["clippy", "--quiet", "--workspace", "--all-targets"]).args(DENY_WARNINGS),
    )?;
    Ok(Outcome::Passed)
}

pub(crate) fn tests() -> Result<Outcome> {
    if process::succeeds(&mut process::cargo(["nextest", "--version"])) {
        process::run(&mut process::cargo(["nextest", "run", "--workspace", "--no-fail-fast"]))?;
    } else {
        process::run(&mut process::cargo([
            "test",
            "--workspace",
            "--no-fail-fast",
            "--lib",
            "--bins",
            "--tests",
        ]))?;
    }
    let mut left_out = Vec::new();
    if std::env::var_os("TRIPOINT_CORPUS").is_none() {
        left_out.push("the wider corpus was not swept: TRIPOINT_CORPUS is unset");
    }
    if process::command("python3", ["--version"]).output().is_err() {
        left_out.push("no other reader saw our StarDS files: there is no python3");
    }
    Ok(if left_out.is_empty() { Outcome::Passed } else { Outcome::PassedBut(left_out.join("; ")) })
}

pub(crate) fn doctests() -> Result<Outcome> {
    process::run(&mut process::cargo(["test", "--quiet", "--workspace", "--doc", "--no-fail-fast"]))?;
    Ok(Outcome::Passed)
}

pub(crate) fn docs() -> Result<Outcome> {
    let mut command = process::cargo(["doc", "--quiet", "--workspace", "--no-deps"]);
    process::run(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Outcome::Passed)
}
