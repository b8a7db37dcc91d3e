//! Heatshrink with a window of 2 KiB, lookahead of 16 bytes and an index for its search.
#![no_std]
#![no_main]

use heatshrink::encoder::HeatshrinkEncoder;
use heatshrink::{Finish, Poll};

type Encoder = HeatshrinkEncoder<11, 4, 4096>;

#[board::entry]
fn main() -> ! {
    compare::heap::init();
    compare::run(size_of::<Encoder>(), |content, output| {
        let mut encoder = Encoder::new();
        let mut rest = content;
        while !rest.is_empty() {
            let taken = encoder.sink(rest).expect("it was polled");
            rest = &rest[taken..];
            output.fill(|buffer| poll(&mut encoder, buffer));
        }
        while let Finish::More = encoder.finish() {
            output.fill(|buffer| poll(&mut encoder, buffer));
        }
    })
}

fn poll(encoder: &mut Encoder, buffer: &mut [u8]) -> usize {
    match encoder.poll(buffer).expect("there is room") {
        Poll::Empty(len) => len,
        Poll::More(_) => panic!("there is room"),
    }
}
