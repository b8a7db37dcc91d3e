//! What the benchmarks share. Each is a program in `src/bin`: `cargo xtask bench NAME` builds it for speed and runs
//! it. A benchmark runs all the competitors side by side in one run, and prints one table.
//!
//! ```
//! let speed = bench::Speed::of(1 << 20, 3, || {
//!     std::hint::black_box(vec![1; 1 << 20]);
//! });
//! assert!(speed.bytes_per_second() > 0.0);
//! println!("fill a vector: {speed}");
//! ```

use std::fmt;
use std::time::{Duration, Instant};

/// How fast some bytes were worked through.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    bytes: usize,
    time: Duration,
}

impl Speed {
    /// Runs `work`, which handles `bytes` bytes, `runs` times after one to warm up; the fastest counts.
    ///
    /// With `TRIPOINT_BENCH_CLOCK=cpu`, time is that of the processors (of all threads together) where the system
    /// tells it: for a machine that is busy with something else. What two threads gain does not show then.
    pub fn of(bytes: usize, runs: usize, mut work: impl FnMut()) -> Self {
        let [speed] = Self::of_each(bytes, runs, [&mut work]);
        speed
    }

    /// As [`of`](Self::of) for things to be compared: they take turns, so that what else the machine does meanwhile
    /// slows all of them.
    pub fn of_each<const N: usize>(bytes: usize, runs: usize, mut works: [&mut dyn FnMut(); N]) -> [Self; N] {
        works.iter_mut().for_each(|work| work());
        let mut times = [Duration::MAX; N];
        for _ in 0..runs.max(1) {
            for (time, work) in times.iter_mut().zip(&mut works) {
                *time = timed(work).min(*time);
            }
        }
        times.map(|time| Self { bytes, time: time.max(Duration::from_nanos(1)) })
    }

    /// The time of the fastest run.
    #[must_use]
    pub fn time(&self) -> Duration {
        self.time
    }

    /// Bytes a second in the fastest run.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.time.as_secs_f64()
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} MB/s", self.bytes_per_second() / 1e6)
    }
}

fn timed(work: &mut dyn FnMut()) -> Duration {
    let (start, cpu) = (Instant::now(), cpu_time());
    work();
    match (cpu, cpu_time()) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => start.elapsed(),
    }
}

/// Whether times are asked for that do not show what several threads gain.
#[must_use]
pub fn clock_is_cpu() -> bool {
    std::env::var_os("TRIPOINT_BENCH_CLOCK").is_some_and(|clock| clock == "cpu")
}

/// Time that the threads of this process have had, when it is asked for and the system tells it.
fn cpu_time() -> Option<Duration> {
    if !clock_is_cpu() {
        return None;
    }
    cpu_time::ProcessTime::try_now().ok().map(|time| time.as_duration())
}

/// The most memory that this process has had at any time, in bytes; `None` where the system does not tell.
#[must_use]
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

pub mod izs;
pub mod tsfile;
