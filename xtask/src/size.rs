//! Flash and RAM of the programs of `firmware/bare`, over the empty one, against `ci/budgets.toml`.

use anyhow::{Result, ensure};
use lexopt::Arg;

use crate::boards::{BOARDS, Board};
use crate::budgets::{self, Figure};
use crate::elf::{self, Sizes};
use crate::thumb::{Profile, Toolchain};
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
        for profile in Profile::ALL {
            figures.extend(measure(toolchain, board, profile, &names)?);
        }
    }
    figures.sort_by(|a, b| a.name.cmp(&b.name));
    budgets::judge(&figures, Some(is_figure), tighten)
}

fn measure(
    toolchain: &Toolchain,
    board: &'static Board,
    profile: Profile,
    names: &[String],
) -> Result<Vec<Figure>> {
    let mut command = toolchain.build(board.target, profile);
    command.args(["--quiet", "--package", "bare", "--bin", "empty"]);
    command.args(names.iter().flat_map(|name| ["--bin", name]));
    process::run(&mut command)?;
    let dir = toolchain.program_dir(board.target, profile);
    let empty = elf::sizes(&dir.join("empty"))?;
    let mut figures = Vec::new();
    for name in names {
        let Sizes { flash, ram } = elf::sizes(&dir.join(name))?;
        ensure!(
            flash > empty.flash,
            "{name} is no larger than the empty program: its work was optimised away"
        );
        let mut add = |name, size| figures.push(Figure { name, board: board.name, value: size as f64 });
        add(format!("{FLASH}, {name}{}", profile.label()), flash - empty.flash);
        if profile == Profile::Release {
            add(format!("{RAM}, {name}"), ram.saturating_sub(empty.ram));
        }
    }
    Ok(figures)
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
