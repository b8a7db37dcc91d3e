//! What the programs on the boards stand on: entry, output and files over semihosting, faults that end the run
//! with a message, an instruction counter and a stack gauge.
//!
//! Each target has one board (see `build.rs`): thumbv6m the BBC micro:bit (Cortex-M0, 16 KiB of RAM), thumbv7m
//! the LM3S6965 (Cortex-M3, 64 KiB), thumbv7em-hf the MPS2 AN386 (Cortex-M4F), thumbv8m.main-hf the MPS2 AN505
//! (Cortex-M33). All run in QEMU with `-icount shift=0`, where an instruction takes a nanosecond.
//!
//! ```ignore
//! #![no_std]
//! #![no_main]
//!
//! #[board::entry]
//! fn main() -> ! {
//!     board::println!("hello");
//!     board::exit(0)
//! }
//! ```
#![no_std]

mod fault;
pub mod file;
pub mod meter;
pub mod stack;

pub use cortex_m_rt::entry;
pub use semihosting::{print, println};

/// The board's name, as QEMU's option `-machine` takes it.
pub const NAME: &str = if cfg!(board = "microbit") {
    "microbit"
} else if cfg!(board = "lm3s6965evb") {
    "lm3s6965evb"
} else if cfg!(board = "mps2-an386") {
    "mps2-an386"
} else {
    "mps2-an505"
};

/// Ends the run: QEMU exits with `code`.
pub fn exit(code: i32) -> ! {
    semihosting::process::exit(code)
}
