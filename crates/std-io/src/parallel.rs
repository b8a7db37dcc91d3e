//! Decodes pages of TsFiles on several threads.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;

use core_codec::source::Source;
use core_codec::tsfile::query::{Executor, Task, Work};
use memmap2::Mmap;
use rayon::Yield;

/// Pages that take fewer bytes together are decoded at once: waking a thread would take longer.
const WORTH_A_THREAD: u64 = 4 << 10;

/// How many jobs of pages there should be under way at once: one for each thread, and one to go on with. More would only
/// take more memory, which costs most where it is new.
pub(crate) fn width() -> usize {
    match rayon::current_num_threads() {
        1 => 1,
        threads => threads + 1,
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
    worth: u64,
}

impl Parallel {
    /// Decodes pages of `map`.
    pub(crate) fn new(map: Arc<Mmap>) -> Self {
        Self { map, width: width(), worth: WORTH_A_THREAD }
    }
}

impl<S: Source + ?Sized> Executor<S> for Parallel {
    fn start(&self, source: &S, mut work: Work) -> Task {
        if work.stored_bytes() < self.worth {
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use core_codec::source::complete;
    use core_codec::tsfile::TsFile;
    use core_codec::tsfile::query::{Batch, Plan, Rows, Serial, TimeRange};

    use super::*;

    fn rows(file: &TsFile, bytes: &[u8], executor: &impl Executor<[u8]>) -> Vec<String> {
        let mut all = Vec::new();
        let mut devices = file.devices(None);
        while let Some(device) = complete(devices.next(bytes)).unwrap() {
            let plan = complete(Plan::new(file, bytes, &device, None, TimeRange::ALL)).unwrap();
            let mut rows = Rows::new(file, plan);
            let mut batch = Batch::default();
            while complete(rows.next(file, bytes, executor, &mut batch)).unwrap() {
                all.push(format!("{batch:?}"));
            }
        }
        all
    }

    #[test]
    fn threads_give_the_batches_of_one() {
        for name in
            ["tree_multipage", "tree_multichunk", "aligned_tree_multichunk", "java4_aligned_nulls_multipage"]
        {
            let path =
                Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../testdata/tsfile/{name}.tsfile"));
            let map = Arc::new(crate::map::map(&std::fs::File::open(path).unwrap()).unwrap());
            let file = complete(TsFile::open(&map[..], &core_codec::Limits::default())).unwrap();
            let one = rows(&file, &map, &Serial);
            for width in [2, 5] {
                let threads = Parallel { map: map.clone(), width, worth: 0 };
                assert_eq!(rows(&file, &map, &threads), one, "{name}");
            }
        }
    }

    #[test]
    fn the_only_thread_of_a_pool_can_wait() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let sum: u32 = pool.install(|| {
            let jobs: Vec<_> = (0..10u32).map(|number| start(move || number)).collect();
            jobs.into_iter().map(|wait| wait()).sum()
        });
        assert_eq!(sum, 45);
    }

    #[test]
    fn a_panic_comes_to_whoever_waits() {
        let wait = start(|| panic!("on purpose"));
        assert!(panic::catch_unwind(AssertUnwindSafe(|| -> () { wait() })).is_err());
    }
}
