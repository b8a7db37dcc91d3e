//! Chooses the board: each target has one. Puts its `memory.x` where the linker finds it.

use std::path::PathBuf;
use std::{env, fs};

/// Target, board.
const BOARDS: [(&str, &str); 4] = [
    ("thumbv6m-none-eabi", "microbit"),
    ("thumbv7m-none-eabi", "lm3s6965evb"),
    ("thumbv7em-none-eabihf", "mps2-an386"),
    ("thumbv8m.main-none-eabihf", "mps2-an505"),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=memory");
    let names: Vec<String> = BOARDS.iter().map(|(_, board)| format!("\"{board}\"")).collect();
    println!("cargo:rustc-check-cfg=cfg(board, values({}))", names.join(", "));

    let target = env::var("TARGET").expect("cargo sets TARGET");
    let Some((_, board)) = BOARDS.iter().find(|(of, _)| *of == target) else {
        panic!(
            "no board for the target {target}: build with `cargo xtask qemu-test`, or --target one of {BOARDS:?}"
        );
    };
    println!("cargo:rustc-cfg=board=\"{board}\"");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::copy(format!("memory/{board}.x"), out.join("memory.x")).expect("memory.x can be copied");
    println!("cargo:rustc-link-search={}", out.display());
}
