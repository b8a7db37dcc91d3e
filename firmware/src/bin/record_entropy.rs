//! Records with the level *entropy* what the host's test `on_target` records too: the files must be the same. Also says
//! how much RAM the recording takes.
#![no_std]
#![no_main]

#[allow(dead_code, reason = "there are more recordings than this one")]
#[path = "../../../crates/firmware-writer/tests/scenario/mod.rs"]
mod scenario;

use firmware_writer::{Entropy, Memory};
use scenario::Hash;

type Single = Memory<Entropy, 1, 256>;

#[board::entry]
fn main() -> ! {
    // `entry` makes it safe: only `main` has it.
    static mut SINGLE: Single = Single::new(<Entropy>::new());

    board::println!("Memory<Entropy, 1, 256>: {} bytes of RAM", Single::SIZE);
    match scenario::logic(SINGLE, Hash::new()) {
        Ok(hash) => board::println!("entropy: {hash}"),
        Err(error) => board::println!("entropy: {error:?}"),
    }
    board::exit(0)
}
