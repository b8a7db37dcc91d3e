//! Flash and RAM of the programs of `firmware/bare`, over the empty one, against `ci/budgets.toml`.

use anyhow::{Result, ensure};
use lexopt::Arg;

use crate::boards::BOARDS;
use crate::budgets::{self, Figure};
use crate::elf::{self, Sizes};
use crate::thumb::Toolchain;
use crate::{paths, process, setup};

/// The first words of the figures' names.
const FLASH: &str = "bytes of flash";
const RAM: &str = "bytes of RAM";

/// Whether a figure of that name is measured here.
pub(crate) fn is_figure(name: &str) -> bool {
    name.starts_with(FLASH) || name.starts_with(RAM)
}

pub(crate) fn task(mut args: lexopt::Parser) -> Result<()> {
    let mut tighten = false;
    while let Some(arg) = args.next()? {
        match arg {
            Arg::Long("tighten") => tighten = true,
            other => return Err(other.unexpected().into()),
        }
    }
    run(&setup::ensure()?, tighten)
}

pub(crate) fn run(toolchain: &Toolchain, tighten: bool) -> Result<()> {
    let names = programs()?;
    let mut figures = Vec::new();
    for board in &BOARDS {
        let mut command = toolchain.build(board.target);
        command.args(["--quiet", "--package", "bare", "--bin", "empty"]);
        command.args(names.iter().flat_map(|name| ["--bin", name]));
        process::run(&mut command)?;
        let dir = toolchain.release_dir(board.target);
        let empty = elf::sizes(&dir.join("empty"))?;
        for name in &names {
            let Sizes { flash, ram } = elf::sizes(&dir.join(name))?;
            ensure!(
                flash > empty.flash,
                "{name} is no larger than the empty program: its work was optimised away"
            );
            for (kind, size) in [(FLASH, flash - empty.flash), (RAM, ram.saturating_sub(empty.ram))] {
                figures.push(Figure {
                    name: format!("{kind}, {name}"),
                    board: board.name,
                    value: size as f64,
                });
            }
        }
    }
    figures.sort_by(|a, b| a.name.cmp(&b.name));
    budgets::judge(&figures, Some(is_figure), tighten)
}

/// The programs that are measured: all but the empty one and those of the panic check.
fn programs() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in paths::root().join("firmware/bare/src/bin").read_dir()? {
        let name = entry?.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !["empty", "no_panic", "no_panic_async", "self_test"].contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
