//! Runs the fuzz targets of `fuzz/` for a while each.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use lexopt::{Arg, ValueExt};

use crate::{paths, process};

pub(crate) fn task(mut args: lexopt::Parser) -> Result<()> {
    let (mut only, mut time) = (None, Duration::from_secs(60));
    while let Some(arg) = args.next()? {
        match arg {
            Arg::Long("seconds") => time = Duration::from_secs(args.value()?.parse()?),
            Arg::Value(name) if only.is_none() => only = Some(name.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    let mut names = targets()?;
    names.retain(|name| only.as_ref().is_none_or(|only| only == name));
    if names.is_empty() {
        bail!("there is no such fuzz target: `cargo fuzz list` names them");
    }
    let mut failed = Vec::new();
    for name in names {
        let limit = format!("-max_total_time={}", time.as_secs());
        let mut command = cargo_fuzz(["run", &name, "--", &limit, "-rss_limit_mb=2048", "-timeout=10"]);
        if let Err(error) = process::run(&mut command) {
            failed.push(format!("{name}: {error:#}"));
        }
    }
    if !failed.is_empty() {
        bail!("fuzz targets failed; their inputs are in fuzz/artifacts:\n    {}", failed.join("\n    "));
    }
    Ok(())
}

/// The names of the fuzz targets.
fn targets() -> Result<Vec<String>> {
    if !paths::root().join("fuzz/Cargo.toml").exists() {
        bail!("there is no fuzz/");
    }
    let listed = process::stdout(&mut cargo_fuzz(["list"]));
    let listed =
        listed.context("cargo-fuzz is needed: `cargo install cargo-fuzz`, and a nightly toolchain")?;
    Ok(listed.lines().map(str::to_owned).collect())
}

/// cargo-fuzz needs a nightly compiler for its sanitizers; by rustup, the one of that name.
fn cargo_fuzz<const N: usize>(args: [&str; N]) -> std::process::Command {
    let mut command = process::command("rustup", ["run", "nightly", "cargo", "fuzz"]);
    command.args(args).env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
    command
}
