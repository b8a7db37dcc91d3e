//! Decodes pages of TsFiles on several threads.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;

use core_codec::source::Source;
use core_codec::tsfile::query::{Executor, Task, Work};
use memmap2::Mmap;
use rayon::Yield;

/// What is under way at once, for each thread: one to work on and one to go on with. More would only take more
/// memory, which costs most where it is new.
const EACH: usize = 2;

/// Pages that take fewer bytes together are decoded at once: waking a thread would take longer.
const WORTH_A_THREAD: u64 = 4 << 10;

/// How many jobs there should be under way at once.
pub(crate) fn width() -> usize {
    match rayon::current_num_threads() {
        1 => 1,
        threads => threads * EACH,
    }
}

/// Runs `job` on a thread of the current rayon pool. The function that it returns waits for the result.
pub(crate) fn start<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> Box<dyn FnOnce() -> T + Send> {
    let (sender, receiver) = mpsc::sync_channel(1);
    rayon::spawn(move || {
        // Nobody waits any more when the receiver is gone.
        let _ = sender.send(panic::catch_unwind(AssertUnwindSafe(job)));
    });
    Box::new(move || {
        let result = loop {
            match receiver.try_recv() {
                Ok(result) => break result,
                Err(TryRecvError::Disconnected) => unreachable!("the job sends its result or its panic"),
                Err(TryRecvError::Empty) => {}
            }
            // A thread of the pool works on while it waits, or all of them might wait for one another.
            match rayon::yield_now() {
                Some(Yield::Executed) => {}
                Some(Yield::Idle) => thread::yield_now(),
                None => break receiver.recv().expect("the job sends its result or its panic"),
            }
        };
        result.unwrap_or_else(|panic| panic::resume_unwind(panic))
    })
}

/// Runs on the threads of the current rayon pool.
#[derive(Clone, Debug)]
pub(crate) struct Parallel {
    map: Arc<Mmap>,
    width: usize,
}

impl Parallel {
    /// Decodes pages of `map`.
    pub(crate) fn new(map: Arc<Mmap>) -> Self {
        Self { map, width: width() }
    }
}

impl<S: Source + ?Sized> Executor<S> for Parallel {
    fn start(&self, source: &S, mut work: Work) -> Task {
        if work.stored_bytes() < WORTH_A_THREAD {
            work.run(source);
            return Task::Done(work);
        }
        let map = self.map.clone();
        Task::Running(start(move || {
            work.run(&map[..]);
            work
        }))
    }

    fn width(&self) -> usize {
        self.width
    }
}
