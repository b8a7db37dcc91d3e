//! Eight channels of a logic analyser.

use crate::random::Random;

const SDA: u8 = 1 << 0;
const SCL: u8 = 1 << 1;
const CLOCK: u8 = 1 << 2;
const OUT: u8 = 1 << 3;
const IN: u8 = 1 << 4;
const SELECT: u8 = 1 << 5;
const GLITCH: u8 = 1 << 7;

/// Passes `count` samples to `emit` as runs: the sample, and how many times it follows.
pub fn logic(count: usize, emit: impl FnMut(u8, usize)) {
    let mut line =
        Line { random: Random::new(0x1234_5678_9ABC_DEF1), state: SDA | SCL | SELECT, left: count, emit };
    while line.left > 0 {
        let idle = 2000 + line.random.below(58_000);
        line.put(idle as usize);
        if line.random.below(8) == 0 {
            line.glitch();
        }
        if line.random.below(2) == 0 {
            line.i2c();
        } else {
            line.spi();
        }
    }
}

struct Line<F> {
    random: Random,
    state: u8,
    /// Samples still wanted.
    left: usize,
    emit: F,
}

impl<F: FnMut(u8, usize)> Line<F> {
    fn put(&mut self, run: usize) {
        let run = run.min(self.left);
        self.left -= run;
        if run > 0 {
            (self.emit)(self.state, run);
        }
    }

    fn glitch(&mut self) {
        self.state ^= GLITCH;
        self.put(1);
        self.state ^= GLITCH;
    }

    fn set(&mut self, line: u8, high: bool) {
        self.state = if high { self.state | line } else { self.state & !line };
    }

    /// A quarter of a bit on the two wires: eight samples, with a rare jitter of one.
    fn quarter(&mut self) {
        let jitter = usize::from(self.random.below(16) == 0);
        self.put(8 + jitter);
    }

    /// Start, bytes of nine bits, stop.
    fn i2c(&mut self) {
        self.set(SDA, false);
        self.quarter();
        for index in 0..2 + self.random.below(30) {
            let byte = if index == 0 { 0xA0 | self.random.below(2) as u8 } else { self.random.next() as u8 };
            for bit in (0..8).rev().map(|bit| byte >> bit & 1 != 0).chain([false]) {
                self.set(SCL, false);
                self.quarter();
                self.set(SDA, bit);
                self.quarter();
                self.set(SCL, true);
                self.quarter();
                self.quarter();
            }
        }
        self.set(SDA | SCL, false);
        self.quarter();
        self.set(SCL, true);
        self.quarter();
        self.set(SDA, true);
        self.quarter();
    }

    /// Select, bytes of eight bits both ways, deselect.
    fn spi(&mut self) {
        self.set(SELECT, false);
        self.put(6);
        for _ in 0..4 + self.random.below(60) {
            let (out, input) = (self.random.next() as u8, self.random.next() as u8 & 0x0F);
            for bit in (0..8).rev() {
                self.set(CLOCK, false);
                self.set(OUT, out >> bit & 1 != 0);
                self.set(IN, input >> bit & 1 != 0);
                self.put(2);
                self.set(CLOCK, true);
                self.put(2);
            }
        }
        self.set(CLOCK, false);
        self.set(SELECT, true);
        self.put(1);
    }
}
