//! Builds with the oldest Rust that the workspace states in `rust-version`.

use std::fs;

use anyhow::{Context, Result};

use crate::test::Outcome;
use crate::{paths, process};

pub(crate) fn task(args: lexopt::Parser) -> Result<()> {
    process::no_more(args)?;
    run()?.required()
}

pub(crate) fn run() -> Result<Outcome> {
    let version = stated()?;
    let cargo = |args: &[&str]| {
        let mut command = process::command("rustup", ["run", version.as_str(), "cargo"]);
        // Set by the cargo that runs this task, and meant for its own toolchain.
        command.args(args).env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
        command
    };
    if !process::succeeds(&mut cargo(&["--version"])) {
        let install = ["toolchain", "install", version.as_str(), "--profile", "minimal"];
        if let Err(error) = process::run(&mut process::command("rustup", install)) {
            return Ok(Outcome::Skipped(format!(
                "Rust {version} is not here and cannot be installed: {error:#}"
            )));
        }
    }
    process::run(&mut cargo(&[
        "check",
        "--quiet",
        "--workspace",
        "--exclude",
        "xtask",
        "--exclude",
        "interop",
        "--exclude",
        "bench",
        "--all-targets",
    ]))?;
    Ok(Outcome::Passed)
}

/// `rust-version` of the workspace, as the name of a toolchain.
fn stated() -> Result<String> {
    let manifest: toml::Table = fs::read_to_string(paths::root().join("Cargo.toml"))?.parse()?;
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    let version = package.and_then(|package| package.get("rust-version")).and_then(toml::Value::as_str);
    let version = version.context("Cargo.toml states no rust-version")?;
    Ok(if version.matches('.').count() == 1 { format!("{version}.0") } else { version.to_owned() })
}
