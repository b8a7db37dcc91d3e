//! Competitors that run in turns.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

/// Work whose time is taken.
pub struct Entry<'a> {
    name: &'static str,
    /// Bytes that one run handles.
    bytes: usize,
    work: Box<dyn FnMut() + 'a>,
    best: Duration,
    /// The least processor time of a run, on all threads.
    cpu: Duration,
    all: Vec<Duration>,
}

/// The part of a bare codec's speed that counts as reaching it.
pub const NEARLY: f64 = 0.95;

/// Entries that run one after the other, round after round, so that what else the machine does hits them alike.
#[derive(Default)]
pub struct Table<'a>(Vec<Entry<'a>>);

impl<'a> Table<'a> {
    /// Adds an entry.
    pub fn add(&mut self, name: &'static str, bytes: usize, work: impl FnMut() + 'a) {
        self.0.push(Entry {
            name,
            bytes,
            work: Box::new(work),
            best: Duration::MAX,
            cpu: Duration::MAX,
            all: Vec::new(),
        });
    }

    /// Runs all entries for so many rounds, after one that does not count.
    pub fn run(&mut self, rounds: usize) {
        for round in 0..=rounds {
            for entry in &mut self.0 {
                let (start, cpu) = (Instant::now(), ProcessTime::now());
                (entry.work)();
                let (time, cpu) = (start.elapsed(), cpu.elapsed());
                if round > 0 {
                    entry.cpu = entry.cpu.min(cpu);
                    entry.best = entry.best.min(time);
                    entry.all.push(time);
                }
            }
        }
    }

    /// Prints the fastest and the median run of each entry, and what it took of the processor.
    pub fn print(&mut self, title: &str) {
        println!("\n{title:<44} {:>10} {:>10} {:>10}", "best MB/s", "median", "per CPU s");
        for entry in &mut self.0 {
            entry.all.sort_unstable();
            let median = entry.all.get(entry.all.len() / 2).copied().unwrap_or(Duration::MAX);
            let speed = |time: Duration| entry.bytes as f64 / time.as_secs_f64() / 1e6;
            let [best, median, cpu] = [entry.best, median, entry.cpu].map(speed);
            println!("  {:<42} {best:>10.0} {median:>10.0} {cpu:>10.0}", entry.name);
        }
    }

    /// Prints how two entries on one thread compare, and whether that reaches a goal. What counts is the time of
    /// the processor, which other programs on the machine do not lengthen.
    pub fn ratio(&self, what: &str, name: &str, to: &str, goal: f64) {
        self.compare(
            what,
            "CPU",
            goal,
            self.speed(name, |entry| entry.cpu) / self.speed(to, |entry| entry.cpu),
        );
    }

    /// As [`ratio`](Self::ratio), where `bare`, the codec and nothing else, bounds what can be reached: then it is
    /// [`NEARLY`] all of that.
    pub fn ratio_within(&self, what: &str, name: &str, to: &str, goal: f64, bare: &str) {
        let speed = |name| self.speed(name, |entry| entry.cpu);
        self.compare_within(what, "CPU", goal, speed(name) / speed(to), speed(bare) / speed(to));
    }

    /// How much faster two threads are than one, by the clock; `bare` are the codec alone on two and on one.
    pub fn scaling(&self, what: &str, [two, one]: [&str; 2], goal: f64, bare: [&str; 2]) {
        let speed = |name| self.speed(name, |entry| entry.best);
        self.compare_within(what, "clock", goal, speed(two) / speed(one), speed(bare[0]) / speed(bare[1]));
    }

    fn compare_within(&self, what: &str, time: &str, goal: f64, ratio: f64, allowed: f64) {
        self.compare(what, time, goal.min(NEARLY * allowed), ratio);
        println!("  {:<42} {allowed:>9.2}x", "  zstd alone");
    }

    fn compare(&self, what: &str, time: &str, goal: f64, ratio: f64) {
        let verdict = if ratio >= goal { "holds" } else { "MISSED" };
        println!("  {what:<42} {ratio:>9.2}x   goal {goal:.2}x {verdict} ({time})");
    }

    fn speed(&self, name: &str, time: impl Fn(&Entry<'_>) -> Duration) -> f64 {
        let entry = self.0.iter().find(|entry| entry.name == name);
        entry.map_or(f64::NAN, |entry| entry.bytes as f64 / time(entry).as_secs_f64())
    }
}
