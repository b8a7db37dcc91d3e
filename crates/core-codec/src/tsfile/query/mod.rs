//! Rows of a device: some columns, in a time range, as batches of columns.
//!
//! [`Plan`] says which chunks hold them, [`Rows`] reads and merges these page by page. What a statistic rules out
//! is not read. Memory is bounded by the pages of the chunks that overlap in time, and these by 1 GiB.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::tsfile::column::Column;
use crate::tsfile::types::DataType;

mod aggregate;
mod filter;
mod merge;
mod piece;
mod plan;
mod rows;

pub use aggregate::{Aggregate, Aggregator, Ask, Scalar};
pub use filter::{TagFilter, Test};
pub use piece::Work;
pub use plan::{Piece, Plan};
pub use rows::{Executor, Rows, Serial, Task};

/// Bytes that the decoded pages which overlap in time may take together, and one range of rows alone.
const MEMORY: u64 = 1 << 30;

/// A closed range of times, in the unit of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The first time inside.
    pub start: i64,
    /// The last time inside.
    pub end: i64,
}

impl TimeRange {
    /// All times.
    pub const ALL: Self = Self { start: i64::MIN, end: i64::MAX };

    /// The indexes of `times`, which are in order, that lie inside.
    pub(crate) fn cut(self, times: &[i64]) -> core::ops::Range<usize> {
        let start = times.partition_point(|&time| time < self.start);
        let end = times.partition_point(|&time| time <= self.end);
        start..end.max(start)
    }
}

/// A column that a query gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: Box<str>,
    /// Type of its values.
    pub dtype: DataType,
}

/// Rows, by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Times of the rows, in order, none twice.
    pub times: Vec<i64>,
    /// The columns, as many as the query has fields, each with a row for each time.
    pub columns: Vec<Column>,
}

impl Batch {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.times.len()
    }
}
