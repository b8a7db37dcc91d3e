//! What the speeds are held against.

use bench::Speed;
use core_codec::stards::Compression;

use crate::Speeds;

/// A comparison: its name, what was reached, what was wanted.
struct Goal {
    name: String,
    reached: f64,
    wanted: f64,
}

#[derive(Default)]
pub(crate) struct Goals {
    /// Bytes a second.
    pub(crate) memcpy: f64,
    /// Bytes a second, with the memory asked from the system.
    pub(crate) memcpy_fresh: f64,
    goals: Vec<Goal>,
}

impl Goals {
    fn add(&mut self, name: String, reached: f64, wanted: f64) {
        self.goals.push(Goal { name, reached, wanted });
    }

    pub(crate) fn against_memcpy(&mut self, name: String, speed: Speed, wanted: f64) {
        self.add(format!("{name} / memcpy"), speed.bytes_per_second() / self.memcpy, wanted);
    }

    pub(crate) fn against_fresh_memcpy(&mut self, name: String, speed: Speed, wanted: f64) {
        let reached = speed.bytes_per_second() / self.memcpy_fresh;
        self.add(format!("{name} / memcpy to fresh memory"), reached, wanted);
    }

    /// A file needs more than the codec to be written: of the shuffling codecs, whose codec is fast, writing the bytes
    /// takes longer than a tenth of that, so that they are held against a plain file.
    pub(crate) fn against_bare(&mut self, codec: Compression, threads: usize, speeds: &Speeds) {
        let Speeds { file, bare, plain } = speeds;
        let threads = if threads == 1 { "1 thread".into() } else { format!("{threads} threads") };
        let write = ("write", "bare codec", bare.0, file.0);
        let plain = ("write", "bare codec and plain file", *plain, file.0);
        let read = ("read", "bare codec", bare.1, file.1);
        for (name, against, bare, file) in [write, plain, read] {
            let reached = file.bytes_per_second() / bare.bytes_per_second();
            self.add(format!("{codec} {name}, {threads} / {against}"), reached, 0.9);
        }
    }

    pub(crate) fn scaling(&mut self, codec: Compression, one: (Speed, Speed), two: (Speed, Speed)) {
        if bench::clock_is_cpu() {
            return;
        }
        for (name, one, two) in [("write", one.0, two.0), ("read", one.1, two.1)] {
            let reached = two.bytes_per_second() / one.bytes_per_second();
            self.add(format!("{codec} {name}, 2 threads / 1 thread"), reached, 1.7);
        }
    }

    /// The speeds of the reference implementation, measured once on two cores.
    pub(crate) fn against_reference(&mut self, name: &str, reference: [f64; 2], speeds: (Speed, Speed)) {
        for (what, reference, speed) in [("write", reference[0], speeds.0), ("read", reference[1], speeds.1)]
        {
            self.add(format!("{name} {what} / reference"), speed.bytes_per_second() / reference, 5.0);
        }
    }

    pub(crate) fn print(&self) {
        println!("\n{:56} {:>8} {:>8}", "", "reached", "wanted");
        for Goal { name, reached, wanted } in &self.goals {
            let verdict = if reached >= wanted { "" } else { "  MISSED" };
            println!("{name:56} {reached:>8.2} {wanted:>8.2}{verdict}");
        }
    }
}
