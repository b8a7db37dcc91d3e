//! Installs what the other tasks need: the thumb targets and QEMU.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::boards::BOARDS;
use crate::thumb::Toolchain;
use crate::{process, qemu};

pub(crate) fn task(args: lexopt::Parser) -> Result<()> {
    process::no_more(args)?;
    let toolchain = ensure()?;
    let origin = match &toolchain {
        Toolchain::Own => "of the toolchain in use",
        Toolchain::Debian { .. } => "built by Debian's toolchain",
    };
    let targets: Vec<_> = BOARDS.iter().map(|board| board.target).collect();
    println!("targets {}: {origin}", targets.join(", "));
    println!("{}: {}", qemu::PROGRAM, qemu::version()?);
    Ok(())
}

/// Sees to it that the targets and QEMU are there; quick and silent when they are.
pub(crate) fn ensure() -> Result<Toolchain> {
    let toolchain = match Toolchain::find() {
        Some(toolchain) => Ok(toolchain),
        None => install_targets(),
    };
    let qemu = if qemu::is_there() { Ok(()) } else { install_qemu() };
    match (toolchain, qemu) {
        (Ok(toolchain), Ok(())) => Ok(toolchain),
        (Err(targets), Err(qemu)) => bail!("{targets:#}\n\n{qemu:#}"),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

fn install_targets() -> Result<Toolchain> {
    let mut rustup = process::command("rustup", ["target", "add"]);
    rustup.args(BOARDS.iter().map(|board| board.target));
    if let Err(error) = process::run(&mut rustup) {
        eprintln!("{error:#}");
    } else if let Some(toolchain) = Toolchain::find() {
        return Ok(toolchain);
    }
    eprintln!("rustup did not bring the targets; Debian's compiler can build for them");
    if let Err(error) = apt_install(&["cargo-web", "rustc-web", "rust-web-src"]) {
        bail!(
            "{error:#}\n\nThe programs for the boards need the Rust targets {0}. Install them with\n    \
             rustup target add {0}\nor, on Debian 12, its compiler with\n    \
             apt-get install cargo-web rustc-web rust-web-src",
            BOARDS.each_ref().map(|board| board.target).join(" ")
        );
    }
    match Toolchain::find() {
        Some(toolchain) => Ok(toolchain),
        None => bail!(
            "Debian's compiler is installed, but no rust-lld was found to link with: \
             `rustup component add llvm-tools` or a toolchain of rustup's brings one"
        ),
    }
}

fn install_qemu() -> Result<()> {
    if let Err(error) = apt_install(&["qemu-system-arm"]) {
        bail!(
            "{error:#}\n\nThe programs for the boards run in QEMU, and {} was not found. Install it with one of\n    \
             apt-get install qemu-system-arm   (Debian, Ubuntu)\n    dnf install qemu-system-arm       (Fedora)\n    \
             pacman -S qemu-system-arm         (Arch)\n    brew install qemu                 (macOS)",
            qemu::PROGRAM
        );
    }
    if !qemu::is_there() {
        bail!("the package qemu-system-arm is installed, but {} does not run", qemu::PROGRAM);
    }
    Ok(())
}

/// Installs Debian packages: as root, or by a sudo that asks nothing. Otherwise the error says what to type.
fn apt_install(packages: &[&str]) -> Result<()> {
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("this machine has no apt-get");
    }
    let root = process::stdout(&mut process::command("id", ["-u"]))?.trim() == "0";
    if !root && !process::succeeds(&mut process::command("sudo", ["-n", "true"])) {
        bail!("neither root nor sudo without a password; type: sudo apt-get install {}", packages.join(" "));
    }
    let apt_get = |args: &[&str]| -> Command {
        let prefix: &[&str] = if root { &["env"] } else { &["sudo", "-n", "env"] };
        let mut command = process::command(prefix[0], &prefix[1..]);
        command.arg("DEBIAN_FRONTEND=noninteractive").arg("apt-get").args(args);
        command
    };
    process::run(&mut apt_get(&["update", "--quiet"]))?;
    process::run(
        apt_get(&["install", "--quiet", "--yes", "--no-install-recommends", "--no-remove"]).args(packages),
    )
}
