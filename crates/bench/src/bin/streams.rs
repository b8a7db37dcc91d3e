//! How fast the reference streams are made: what a benchmark that makes its input pays.

use std::hint::black_box;

use bench::Speed;

const COUNT: usize = 1 << 20;

fn main() {
    println!("logic  {}", Speed::of(COUNT, 3, || drop(black_box(streams::logic_bytes(COUNT)))));
    let words = |samples: &mut dyn Iterator<Item = u16>| {
        black_box(streams::little_endian(samples.take(COUNT)));
    };
    println!("adc    {}", Speed::of(2 * COUNT, 3, || words(&mut streams::adc())));
    println!("slow   {}", Speed::of(2 * COUNT, 3, || words(&mut streams::slow())));
}
