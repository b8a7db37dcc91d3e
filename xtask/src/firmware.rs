//! The programs of `firmware/`: which there are, on which boards they run, how they are built.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::boards::{self, BOARDS, Board};
use crate::thumb::{Profile, Toolchain};
use crate::{paths, process};

/// A program, `firmware/src/bin/NAME.rs`.
pub(crate) struct Program {
    pub(crate) name: String,
    /// The boards it runs on.
    pub(crate) boards: Vec<&'static Board>,
    /// Files that must lie in the folder it runs in: name, and where the bytes are from.
    pub(crate) inputs: BTreeMap<String, String>,
    /// The exit code it must end with.
    pub(crate) exit: i32,
    /// How it is optimised: it runs with each.
    pub(crate) profiles: Vec<Profile>,
}

/// An entry of `[package.metadata.programs]`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    boards: Option<Vec<String>>,
    inputs: BTreeMap<String, String>,
    exit: i32,
    profiles: Vec<Profile>,
}

/// The folder of the programs and their expected output.
pub(crate) fn bin_dir() -> PathBuf {
    paths::root().join("firmware/src/bin")
}

/// All programs, by name.
pub(crate) fn programs() -> Result<Vec<Program>> {
    let mut entries = entries().context("firmware/Cargo.toml, [package.metadata.programs]")?;
    let mut programs = Vec::new();
    for file in bin_dir().read_dir()? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let entry = entries.remove(&name).unwrap_or_default();
            programs.push(program(name, entry)?);
        }
    }
    if let Some(stray) = entries.keys().next() {
        bail!(
            "firmware/Cargo.toml: [package.metadata.programs.{stray}] is of no program in firmware/src/bin"
        );
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

fn entries() -> Result<BTreeMap<String, Entry>> {
    let manifest: toml::Table = fs::read_to_string(paths::root().join("firmware/Cargo.toml"))?.parse()?;
    let table = ["metadata", "programs"]
        .iter()
        .try_fold(manifest.get("package").context("no package")?, |value, key| value.get(key));
    Ok(table.context("is missing")?.clone().try_into()?)
}

fn program(name: String, entry: Entry) -> Result<Program> {
    let Entry { boards, inputs, exit, mut profiles } = entry;
    if profiles.is_empty() {
        profiles.push(Profile::default());
    }
    let boards = match boards {
        None => BOARDS.iter().collect(),
        Some(names) => names.iter().map(|name| boards::find(name)).collect::<Result<_>>()?,
    };
    Ok(Program { name, boards, inputs, exit, profiles })
}

/// Builds the programs for the board's target; returns the folder they lie in.
pub(crate) fn build(
    toolchain: &Toolchain,
    board: &Board,
    profile: Profile,
    names: &[&str],
) -> Result<PathBuf> {
    let mut command = toolchain.build(board.target, profile);
    command.args(["--quiet", "--package", "firmware"]);
    command.args(names.iter().flat_map(|name| ["--bin", name]));
    process::run(&mut command)?;
    Ok(toolchain.program_dir(board.target, profile))
}
