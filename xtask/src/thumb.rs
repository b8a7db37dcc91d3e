//! Which toolchain builds for the thumb targets.
//!
//! The one that runs this task, when it has their standard library. Else Debian's, which builds `core` and `alloc`
//! from its own source, and links with the `rust-lld` of the other one.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::boards::BOARDS;
use crate::{paths, process};

/// How the programs are optimised: a profile of `firmware/Cargo.toml`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Profile {
    /// For speed.
    #[default]
    Release,
    /// For size.
    Small,
}

impl Profile {
    pub(crate) const ALL: [Self; 2] = [Self::Release, Self::Small];

    /// The name of the profile, and of the folder of what it makes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Small => "small",
        }
    }

    /// What is told with a figure.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Release => "",
            Self::Small => ", opt-level s",
        }
    }
}

/// A toolchain for the thumb targets.
pub(crate) enum Toolchain {
    /// The toolchain in use has the targets.
    Own,
    /// Debian's packages `cargo-web rustc-web rust-web-src`.
    Debian { linker: PathBuf },
}

const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

impl Toolchain {
    /// The toolchain that is ready to use, if one is.
    pub(crate) fn find() -> Option<Self> {
        let own = sysroot(&mut rustc());
        if let Some(own) = &own
            && BOARDS.iter().all(|board| has_core(own, board.target))
        {
            return Some(Self::Own);
        }
        let debian = sysroot(&mut debian_rustc())?;
        let ready =
            Path::new(DEBIAN_CARGO).exists() && debian.join("lib/rustlib/src/rust/library/core").exists();
        let linker = linker([own, Some(debian)].into_iter().flatten())?;
        ready.then_some(Self::Debian { linker })
    }

    /// Builds for `target` in the workspace `firmware/`: `cargo build --profile PROFILE --target TARGET`.
    pub(crate) fn build(&self, target: &str, profile: Profile) -> Command {
        let mut command = match self {
            Self::Own => process::cargo(["build"]),
            Self::Debian { linker } => {
                let mut command = process::command(DEBIAN_CARGO, ["build", "-Zbuild-std=core,alloc"]);
                let variable =
                    format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace(['-', '.'], "_"));
                command.env("RUSTC", DEBIAN_RUSTC).env("RUSTC_BOOTSTRAP", "1").env(variable, linker);
                for inherited in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
                    command.env_remove(inherited);
                }
                command
            }
        };
        command
            .args(["--profile", profile.name(), "--target", target])
            .arg("--target-dir")
            .arg(self.target_dir());
        command.current_dir(paths::root().join("firmware"));
        command
    }

    /// Where [`Self::build`] puts what it makes.
    pub(crate) fn target_dir(&self) -> PathBuf {
        match self {
            Self::Own => paths::target(),
            // Another compiler's output would push out that of the first, to and fro.
            Self::Debian { .. } => paths::target().join("debian"),
        }
    }

    /// The folder of the programs for `target`.
    pub(crate) fn program_dir(&self, target: &str, profile: Profile) -> PathBuf {
        self.target_dir().join(target).join(profile.name())
    }
}

fn rustc() -> Command {
    process::command(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()), [] as [&str; 0])
}

fn debian_rustc() -> Command {
    let mut command = process::command(DEBIAN_RUSTC, [] as [&str; 0]);
    command.env_remove("RUSTUP_TOOLCHAIN");
    command
}

/// Where the compiler's own files lie; `None` where there is no such compiler.
fn sysroot(rustc: &mut Command) -> Option<PathBuf> {
    let printed = rustc.args(["--print", "sysroot"]).output().ok()?;
    printed.status.success().then(|| String::from_utf8_lossy(&printed.stdout).trim_end().into())
}

fn has_core(sysroot: &Path, target: &str) -> bool {
    let libraries = sysroot.join("lib/rustlib").join(target).join("lib");
    let Ok(mut entries) = libraries.read_dir() else { return false };
    entries.any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("libcore-")))
}

/// LLVM's linker, as Rust ships it for its host.
fn linker(sysroots: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let host = host().ok()?;
    let candidates = sysroots.map(|sysroot| sysroot.join("lib/rustlib").join(&host).join("bin/rust-lld"));
    candidates.into_iter().find(|linker| linker.exists())
}

fn host() -> Result<String> {
    let version = process::stdout(rustc().arg("-vV"))?;
    let line = version.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).context("`rustc -vV` names no host")
}
