//! Runs the benchmarks, the programs of `crates/bench`.

use anyhow::{Result, bail};
use lexopt::{Arg, ValueExt};

use crate::{paths, process};

pub(crate) fn task(mut args: lexopt::Parser) -> Result<()> {
    let names = names()?;
    let name = match args.next()? {
        Some(Arg::Value(name)) => name.string()?,
        Some(other) => return Err(other.unexpected().into()),
        None => bail!("which benchmark? There are: {}", names.join(", ")),
    };
    if !names.contains(&name) {
        bail!("there is no benchmark {name}; there are: {}", names.join(", "));
    }
    let (pure_rust, rest): (Vec<_>, Vec<_>) = args.raw_args()?.partition(|arg| arg == "--pure-rust");
    let mut command = process::cargo(["run", "--release", "--package", "bench", "--bin", &name]);
    if !pure_rust.is_empty() {
        command.arg("--no-default-features");
    }
    process::run(command.arg("--").args(rest))
}

fn names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in paths::root().join("crates/bench/src/bin").read_dir()? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}
