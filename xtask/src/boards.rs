//! The boards that the programs run on. Each has a target of its own, by which `firmware/board` knows it.

use anyhow::{Context, Result};

/// A board in QEMU.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Board {
    /// QEMU's name of it.
    pub(crate) name: &'static str,
    pub(crate) target: &'static str,
}

pub(crate) const BOARDS: [Board; 4] = [
    Board { name: "microbit", target: "thumbv6m-none-eabi" },
    Board { name: "lm3s6965evb", target: "thumbv7m-none-eabi" },
    Board { name: "mps2-an386", target: "thumbv7em-none-eabihf" },
    Board { name: "mps2-an505", target: "thumbv8m.main-none-eabihf" },
];

/// The board of that name.
pub(crate) fn find(name: &str) -> Result<&'static Board> {
    BOARDS.iter().find(|board| board.name == name).with_context(|| {
        let names: Vec<_> = BOARDS.iter().map(|board| board.name).collect();
        format!("there is no board {name}: there are {}", names.join(", "))
    })
}
