//! Records with the level *fast* what the host's test `on_target` records too: the files must be the same. Also says
//! how much RAM the recording takes.
#![no_std]
#![no_main]

#[allow(dead_code, reason = "there are more recordings than this one")]
#[path = "../../../crates/firmware-writer/tests/scenario/mod.rs"]
mod scenario;

use firmware_writer::{Fast, Memory};
use scenario::Hash;

type Single = Memory<Fast, 1, 256>;

#[board::entry]
fn main() -> ! {
    // `entry` makes it safe: only `main` has it.
    static mut SINGLE: Single = Single::new(<Fast>::new());

    board::println!("Memory<Fast, 1, 256>: {} bytes of RAM", Single::SIZE);
    match scenario::logic(SINGLE, Hash::new()) {
        Ok(hash) => board::println!("fast: {hash}"),
        Err(error) => board::println!("fast: {error:?}"),
    }
    board::exit(0)
}
