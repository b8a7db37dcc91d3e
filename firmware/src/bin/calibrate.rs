//! Counts loops whose number of instructions is known, so that the meter can be believed on every board.
#![no_std]
#![no_main]

use core::arch::asm;

use board::meter::{self, Meter};

/// Two instructions a turn.
#[inline(never)]
fn spin(turns: u32) {
    // SAFETY: counts a register of its own down to zero; touches no memory.
    unsafe {
        asm!("2:", "subs {n}, {n}, #1", "bne 2b", n = inout(reg) turns => _, options(nomem, nostack));
    }
}

fn check(name: &str, counted: u64, expected: u64) {
    // The call, the reads of the counter and one tick (125 instructions at the most, on two boards of four).
    let within = counted >= expected && counted - expected < 200;
    board::println!("{name}: {expected} instructions, counted as many: {within}");
    if !within {
        board::println!("counted {counted}");
    }
}

#[board::entry]
fn main() -> ! {
    check("nothing", meter::count(|| ()), 0);
    check("a short loop", meter::count(|| spin(10_000)), 20_000);
    check("a long loop", meter::count(|| spin(10_000_000)), 20_000_000);

    let mut meter = Meter::start();
    for _ in 0..10 {
        spin(20_000_000);
        meter.lap();
    }
    let counted = meter.instructions();
    let off = counted.abs_diff(400_000_000);
    board::println!(
        "over a wrap of the counter: 400000000 instructions, off by less than 1000: {}",
        off < 1000
    );
    board::exit(0)
}
