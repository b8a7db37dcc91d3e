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
    let mut command =
        process::cargo(["run", "--quiet", "--release", "--package", "bench", "--bin", &name, "--"]);
    process::run(command.args(args.raw_args()?))
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
