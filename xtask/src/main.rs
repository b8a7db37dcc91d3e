//! The tasks of this workspace. `cargo xtask` lists them.

mod boards;
mod budgets;
mod elf;
mod firmware;
mod inputs;
mod no_panic;
mod paths;
mod process;
mod qemu;
mod qemu_test;
mod setup;
mod size;
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
    Task {
        name: "setup",
        args: "",
        help: "installs what the other tasks need: the thumb targets and QEMU",
        run: setup::task,
    },
    Task {
        name: "qemu-test",
        args: "[NAME] [--board BOARD] [--bless] [--tighten]",
        help: "runs the programs of firmware/ in QEMU, compares their output (--bless updates it), and holds the \
               figures against ci/budgets.toml (--tighten lowers the budgets)",
        run: qemu_test::task,
    },
    Task {
        name: "no-panic",
        args: "",
        help: "shows that no panic is left in the crates for microcontrollers",
        run: no_panic::task,
    },
    Task {
        name: "size",
        args: "[--tighten]",
        help: "holds flash and RAM of the crates for microcontrollers against ci/budgets.toml",
        run: size::task,
    },
];

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
