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
        work();
        let mut timed = || {
            let (start, cpu) = (Instant::now(), cpu_time());
            work();
            match (cpu, cpu_time()) {
                (Some(before), Some(after)) => after.saturating_sub(before),
                _ => start.elapsed(),
            }
        };
        let time = (0..runs.max(1)).map(|_| timed()).min().unwrap_or_default();
        Self { bytes, time: time.max(Duration::from_nanos(1)) }
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

/// Time that the threads of this process have had, when it is asked for and the system tells it.
fn cpu_time() -> Option<Duration> {
    if std::env::var_os("TRIPOINT_BENCH_CLOCK")? != "cpu" {
        return None;
    }
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let nanoseconds = threads.map(|thread| {
        let stat = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        stat.split(' ').next()?.parse::<u64>().ok()
    });
    nanoseconds.sum::<Option<u64>>().map(Duration::from_nanos)
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
