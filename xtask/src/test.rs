//! Every check of the project, one after the other; all failures are told before it ends.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use lexopt::{Arg, ValueExt};

use crate::thumb::Toolchain;
use crate::{demo, deny, features, host, msrv, no_panic, qemu_test, setup, size};

/// How a step ended that did not fail.
pub(crate) enum Outcome {
    Passed,
    /// What was done passed; this was not done.
    PassedBut(String),
    /// It could not be done here, for this reason.
    Skipped(String),
}

impl Outcome {
    /// For a step that was asked for by itself: not to do it is a failure.
    pub(crate) fn required(self) -> Result<()> {
        match self {
            Self::Passed | Self::PassedBut(_) => Ok(()),
            Self::Skipped(reason) => bail!(reason),
        }
    }
}

/// A step: its name, and what it does.
struct Step {
    name: &'static str,
    run: fn(&Toolchain) -> Result<Outcome>,
}

/// The quick ones first.
const STEPS: &[Step] = &[
    Step { name: "format", run: |_| host::format() },
    Step { name: "clippy", run: |_| host::clippy() },
    Step { name: "clippy of firmware", run: host::clippy_firmware },
    Step { name: "clippy of fuzz", run: |_| host::clippy_fuzz() },
    Step { name: "tests", run: |_| host::tests() },
    Step { name: "examples in the docs", run: |_| host::doctests() },
    Step { name: "docs", run: |_| host::docs() },
    Step { name: "features", run: |_| features::host() },
    Step { name: "features on the targets", run: features::thumb },
    Step { name: "no panic", run: |toolchain| done(no_panic::run(toolchain)) },
    Step { name: "programs in QEMU", run: |toolchain| done(qemu_test::run_all(toolchain)) },
    Step { name: "flash and RAM", run: |toolchain| done(size::run(toolchain, false)) },
    Step { name: "demo", run: |toolchain| done(demo::run(toolchain)) },
    Step { name: "oldest Rust", run: |_| msrv::run() },
    Step { name: "licences", run: |_| deny::run() },
];

fn done(result: Result<()>) -> Result<Outcome> {
    result.map(|()| Outcome::Passed)
}

pub(crate) fn task(mut args: lexopt::Parser) -> Result<()> {
    let mut wanted = Vec::new();
    while let Some(arg) = args.next()? {
        match arg {
            Arg::Value(name) => wanted.push(name.string()?),
            Arg::Long("list") => {
                STEPS.iter().for_each(|step| println!("{}", step.name));
                return Ok(());
            }
            other => return Err(other.unexpected().into()),
        }
    }
    if let Some(stray) = wanted.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        bail!("there is no step `{stray}`: there are {}", names.join(", "));
    }
    let toolchain = setup::ensure()?;
    let ended: Vec<_> = STEPS
        .iter()
        .filter(|step| wanted.is_empty() || wanted.iter().any(|name| name == step.name))
        .map(|step| {
            eprintln!("\n=== {}", step.name);
            let start = Instant::now();
            let result = (step.run)(&toolchain);
            if let Err(error) = &result {
                eprintln!("error: {error:#}");
            }
            (step.name, result, start.elapsed())
        })
        .collect();
    if !summarise(&ended) {
        // Not by an error: the summary is to be the last that is read.
        std::process::exit(1);
    }
    Ok(())
}

/// Lists the steps; says whether none failed.
fn summarise(ended: &[(&str, Result<Outcome>, Duration)]) -> bool {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    println!();
    for (name, result, time) in ended {
        let word = match result {
            Ok(Outcome::Passed) => {
                passed += 1;
                "passed".to_owned()
            }
            Ok(Outcome::PassedBut(reason)) => {
                passed += 1;
                format!("passed; {reason}")
            }
            Ok(Outcome::Skipped(reason)) => {
                skipped += 1;
                format!("SKIPPED: {reason}")
            }
            Err(error) => {
                failed += 1;
                let first = format!("{error:#}");
                format!("FAILED: {}", first.lines().next().unwrap_or_default())
            }
        };
        println!("{name:24} {:7.1} s  {word}", time.as_secs_f64());
    }
    let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    println!("\n{passed} passed, {failed} failed{skipped}");
    failed == 0
}
