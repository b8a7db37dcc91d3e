//! Records on the board what the host's test `on_target` records too: the files must be the same. Also says how
//! much RAM a recording takes.
#![no_std]
#![no_main]

#[allow(dead_code, reason = "there is a program of its own for the summaries")]
#[path = "../../../crates/firmware-writer/tests/scenario/mod.rs"]
mod scenario;

use firmware_writer::{Rle, Store};
use scenario::{Hash, Pair, Raw, Single};

#[board::entry]
fn main() -> ! {
    // `entry` makes these safe: only `main` has them.
    static mut RAW: Raw = Raw::new(Store::new());
    static mut SINGLE: Single = Single::new(Rle::new());
    static mut PAIR: Pair = Pair::new(Rle::new());

    board::println!("Memory<Store<32>, 1, 0>: {} bytes of RAM", Raw::SIZE);
    board::println!("Memory<Rle<256>, 1, 256>: {} bytes of RAM", Single::SIZE);
    board::println!("Memory<Rle<256>, 2, 512, 6144>: {} bytes of RAM", Pair::SIZE);

    let print = |name, hash: Result<Hash, _>| match hash {
        Ok(hash) => board::println!("{name}: {hash}"),
        Err(error) => board::println!("{name}: {error:?}"),
    };
    print("raw", scenario::raw(RAW, Hash::new()));
    print("logic", scenario::logic(SINGLE, Hash::new()));
    print("long_block", scenario::long_block(SINGLE, Hash::new()));
    print("pair", scenario::pair(PAIR, Hash::new()));
    print("v001", scenario::v001(PAIR, Hash::new()));
    board::exit(0)
}
