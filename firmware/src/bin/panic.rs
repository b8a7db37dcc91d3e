//! A panic ends the run with its message and a code that is not zero.
#![no_std]
#![no_main]

#[board::entry]
fn main() -> ! {
    board::println!("about to panic");
    panic!("on purpose");
}
