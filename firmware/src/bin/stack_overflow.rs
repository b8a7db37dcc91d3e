//! A stack that grows too far ends the run with a message, and never overwrites a variable.
#![no_std]
#![no_main]

use core::hint::black_box;

#[expect(unconditional_recursion, reason = "this is the point")]
#[inline(never)]
fn deeper(level: u32) -> u32 {
    let here = black_box([level; 16]);
    deeper(here[7] + 1) + here[3]
}

#[board::entry]
fn main() -> ! {
    board::println!("about to overflow the stack");
    board::println!("came back with {}", deeper(0));
    board::exit(0)
}
