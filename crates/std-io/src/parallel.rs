//! Decodes pages of TsFiles on several threads.

use core_codec::source::Source;
use core_codec::tsfile::query::{Executor, Work};
use rayon::prelude::*;

/// Pages that are decoded at once, for each thread: enough that no thread waits long for the last of them.
const PAGES_A_THREAD: usize = 8;

/// Runs on the threads of the current rayon pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parallel {
    width: usize,
}

impl Default for Parallel {
    fn default() -> Self {
        Self::with_width(match rayon::current_num_threads() {
            1 => 1,
            threads => threads * PAGES_A_THREAD,
        })
    }
}

impl Parallel {
    pub(crate) fn with_width(width: usize) -> Self {
        Self { width }
    }
}

impl<S: Source + Sync + ?Sized> Executor<S> for Parallel {
    fn run(&self, source: &S, work: &mut [Work]) {
        if self.width == 1 || work.len() == 1 {
            work.iter_mut().for_each(|work| work.run(source));
        } else {
            work.par_iter_mut().for_each(|work| work.run(source));
        }
    }

    fn width(&self) -> usize {
        self.width
    }
}
