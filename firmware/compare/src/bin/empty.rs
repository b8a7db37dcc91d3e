//! Copies: what the other programs are measured against.
#![no_std]
#![no_main]

#[board::entry]
fn main() -> ! {
    compare::heap::init();
    compare::run(0, |content, output| output.put(content))
}
