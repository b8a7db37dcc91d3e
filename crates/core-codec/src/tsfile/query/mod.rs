//! Rows of a device: some columns, in a time range, as batches of columns.
//!
//! [`Plan`] says which chunks hold them, [`Rows`] reads and merges these page by page. What a statistic rules out
//! is not read. Memory is bounded by the pages of the chunks that overlap in time, and these by 64 MiB, 256 KiB for each
//! column, and 16 bytes for each byte that they are stored in.

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
pub use rows::{Executor, LATE, Rows, Serial, Task};

/// Bytes of memory that decoded pages may take together, beyond what good data would: some bytes for each
/// stored one.
const MEMORY: u64 = 64 << 20;

/// And for each column, as many as a page takes of the size that the writers make by default, times included.
const COLUMN_MEMORY: u64 = 256 << 10;

/// The memory for pages of so many columns, beyond what good data would take.
fn memory(columns: usize) -> u64 {
    MEMORY.saturating_add((columns as u64).saturating_mul(COLUMN_MEMORY))
}

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

    /// Bytes of memory that it holds, used or not.
    #[must_use]
    pub fn held(&self) -> usize {
        let columns: usize = self.columns.iter().map(Column::held).sum();
        columns + self.times.capacity() * size_of::<i64>()
    }
}
