//! Says hello, and shows that initialised and zeroed variables and the stack are in order.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering};

static SET: AtomicU32 = AtomicU32::new(42);
static ZERO: AtomicU32 = AtomicU32::new(0);

#[board::entry]
fn main() -> ! {
    board::println!("hello");
    board::println!("set {}, zero {}", SET.load(Ordering::Relaxed), ZERO.load(Ordering::Relaxed));
    let depth = board::stack::deepest();
    board::println!("stack used: {}", depth > 0 && depth < board::stack::bounds().len());
    board::exit(0)
}
