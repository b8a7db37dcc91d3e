//! The tasks of this workspace. `cargo xtask` lists them.

mod bench;
mod boards;
mod budgets;
mod capture;
mod compare;
mod demo;
mod deny;
mod elf;
mod features;
mod firmware;
mod fuzz;
mod host;
mod inputs;
mod msrv;
mod no_panic;
mod paths;
mod process;
mod qemu;
mod qemu_test;
mod setup;
mod size;
mod test;
mod thumb;

use std::process::ExitCode;

use anyhow::{Result, bail};

/// A task: what is typed, what may follow it, what it does, and the function that does it.
struct Task {
    name: &'static str,
    args: &'static str,
    help: &'static str,
    run: fn(lexopt::Parser) -> Result<()>,
}

const TASKS: &[Task] = &[
    task("setup", "", setup::task, "installs what the other tasks need: the thumb targets and QEMU"),
    task("demo", "", demo::task, "shows the main job: a microcontroller records, the host reads"),
    task(
        "test",
        "[--list] [STEP ...]",
        test::task,
        "runs every check of the project, or some steps of it (--list names them)",
    ),
    task(
        "qemu-test",
        "[NAME] [--board BOARD] [--bless] [--tighten]",
        qemu_test::task,
        "runs the programs of firmware/ in QEMU, compares their output (--bless updates it), and holds the figures
      against ci/budgets.toml (--tighten lowers the budgets)",
    ),
    task("no-panic", "", no_panic::task, "shows that no panic is left in the crates for microcontrollers"),
    task("size", "[--tighten]", size::task, "holds flash and RAM of those crates against ci/budgets.toml"),
    task(
        "bench",
        "NAME [--pure-rust] [ARGS]",
        bench::task,
        "runs a benchmark of crates/bench (--pure-rust: our side without the codecs written in C)",
    ),
    task(
        "compare",
        "[CAPTURE...]",
        compare::task,
        "makes a table of compressors on a Cortex-M4, and of ratios on the captures too (.sr, the first 4 MiB)",
    ),
    task("fuzz", "[NAME] [--seconds N]", fuzz::task, "runs the fuzz targets, each for 60 seconds or N"),
    task("msrv", "", msrv::task, "builds with the oldest Rust that is supported"),
    task("deny", "", deny::task, "checks licences and origins of the dependencies, by cargo-deny"),
];

const fn task(
    name: &'static str,
    args: &'static str,
    run: fn(lexopt::Parser) -> Result<()>,
    help: &'static str,
) -> Task {
    Task { name, args, help, run }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut args = lexopt::Parser::from_env();
    let name = match args.next()? {
        None | Some(lexopt::Arg::Long("help") | lexopt::Arg::Short('h')) => {
            print!("{}", help());
            return Ok(());
        }
        Some(lexopt::Arg::Value(name)) => name,
        Some(other) => return Err(other.unexpected().into()),
    };
    match TASKS.iter().find(|task| name == task.name) {
        Some(task) if std::env::args().skip(2).any(|arg| arg == "--help" || arg == "-h") => {
            print!("usage: cargo xtask {} {}\n\n      {}\n", task.name, task.args, task.help);
            Ok(())
        }
        Some(task) => (task.run)(args),
        None => bail!("there is no task {}\n\n{}", name.display(), help()),
    }
}

fn help() -> String {
    let mut text = String::from("usage: cargo xtask TASK\n\n");
    for Task { name, args, help, .. } in TASKS {
        text += &format!("  {name} {args}\n      {help}\n");
    }
    text
}
