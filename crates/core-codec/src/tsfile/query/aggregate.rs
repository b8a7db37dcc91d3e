//! Count, first, last, smallest and largest value of one column in a time range, from the statistics where these
//! can tell.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::cmp::Ordering;

use super::piece::{PieceReader, Work};
use super::plan::{Piece, Plan};
use super::rows::{Executor, Rows};
use super::{Batch, Field, TimeRange};
use crate::source::{Poll, Source};
use crate::tsfile::column::Value;
use crate::tsfile::file::TsFile;
use crate::tsfile::statistics::{Statistics, Summary, ValueStatistics};

/// A value on its own.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Scalar {
    /// BOOLEAN.
    Boolean(bool),
    /// INT32, DATE.
    Int32(i32),
    /// INT64, TIMESTAMP.
    Int64(i64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// TEXT, STRING, BLOB.
    Binary(Box<[u8]>),
}

impl From<Value<'_>> for Scalar {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Boolean(value) => Self::Boolean(value),
            Value::Int32(value) => Self::Int32(value),
            Value::Int64(value) => Self::Int64(value),
            Value::Float(value) => Self::Float(value),
            Value::Double(value) => Self::Double(value),
            Value::Binary(value) => Self::Binary(value.into()),
        }
    }
}

impl Scalar {
    /// The value, borrowed.
    #[must_use]
    pub fn value(&self) -> Value<'_> {
        match self {
            Self::Boolean(value) => Value::Boolean(*value),
            Self::Int32(value) => Value::Int32(*value),
            Self::Int64(value) => Value::Int64(*value),
            Self::Float(value) => Value::Float(*value),
            Self::Double(value) => Value::Double(*value),
            Self::Binary(value) => Value::Binary(value),
        }
    }
}

/// Order of two values of one type; NaN has none.
fn compare(a: Value<'_>, b: Value<'_>) -> Option<Ordering> {
    match (a, b) {
        (Value::Boolean(a), Value::Boolean(b)) => Some(a.cmp(&b)),
        (Value::Int32(a), Value::Int32(b)) => Some(a.cmp(&b)),
        (Value::Int64(a), Value::Int64(b)) => Some(a.cmp(&b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(&b),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(&b),
        (Value::Binary(a), Value::Binary(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn is_nan(value: Value<'_>) -> bool {
    match value {
        Value::Float(value) => value.is_nan(),
        Value::Double(value) => value.is_nan(),
        _ => false,
    }
}

/// How much is asked for: the less, the more often the statistics suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    /// The count alone.
    Count,
    /// Count, first and last.
    Ends,
    /// All, the smallest and the largest value too.
    All,
}

/// What is known of the values of a column in a time range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aggregate {
    /// How many there are.
    pub count: u64,
    /// The earliest and its time, if asked for.
    pub first: Option<(i64, Scalar)>,
    /// The latest and its time, if asked for.
    pub last: Option<(i64, Scalar)>,
    /// The smallest, if asked for. NaN is neither small nor large.
    pub min: Option<Scalar>,
    /// The largest, if asked for.
    pub max: Option<Scalar>,
    /// Pages and chunks whose statistics sufficed.
    pub from_statistics: u64,
    /// Batches that were decoded.
    pub decoded: u64,
}

impl Aggregate {
    fn bound(&mut self, value: Value<'_>) {
        if is_nan(value) {
            return;
        }
        let beyond = |bound: &Option<Scalar>, side| match bound {
            None => true,
            Some(bound) => compare(value, bound.value()) == Some(side),
        };
        if beyond(&self.min, Ordering::Less) {
            self.min = Some(value.into());
        }
        if beyond(&self.max, Ordering::Greater) {
            self.max = Some(value.into());
        }
    }

    fn end(&mut self, time: i64, value: Value<'_>) {
        if self.first.as_ref().is_none_or(|(first, _)| time < *first) {
            self.first = Some((time, value.into()));
        }
        if self.last.as_ref().is_none_or(|(last, _)| time >= *last) {
            self.last = Some((time, value.into()));
        }
    }

    fn rows(&mut self, ask: Ask, batch: &Batch, rows: core::ops::Range<usize>) {
        self.decoded += 1;
        let Some(column) = batch.columns.first() else { return };
        for row in rows {
            let Some(value) = column.get(row) else { continue };
            self.count += 1;
            if ask >= Ask::Ends {
                self.end(batch.times[row], value);
            }
            if ask == Ask::All {
                self.bound(value);
            }
        }
    }

    /// Adds values of which only statistics are known; `false` when these do not say all that is asked for.
    fn statistics(&mut self, ask: Ask, statistics: &Statistics) -> bool {
        let Some(known) = Known::of(ask, statistics) else { return false };
        self.from_statistics += 1;
        self.count += u64::from(statistics.count);
        if let Some((first, last)) = known.ends {
            self.end(statistics.start, first);
            self.end(statistics.end, last);
        }
        if let Some((min, max)) = known.bounds {
            self.bound(min);
            self.bound(max);
        }
        true
    }
}

/// What statistics say of values.
struct Known<'a> {
    ends: Option<(Value<'a>, Value<'a>)>,
    bounds: Option<(Value<'a>, Value<'a>)>,
}

impl<'a> Known<'a> {
    /// `None` where they do not say all that is asked for.
    fn of(ask: Ask, statistics: &'a Statistics) -> Option<Self> {
        if statistics.count == 0 || ask == Ask::Count {
            return Some(Self { ends: None, bounds: None });
        }
        let (ends, bounds) = Self::values(statistics)?;
        match (ask, bounds) {
            (Ask::All, None) => None,
            (Ask::All, bounds) => Some(Self { ends: Some(ends), bounds }),
            _ => Some(Self { ends: Some(ends), bounds: None }),
        }
    }

    #[allow(clippy::type_complexity, reason = "two pairs of values")]
    fn values(
        statistics: &'a Statistics,
    ) -> Option<((Value<'a>, Value<'a>), Option<(Value<'a>, Value<'a>)>)> {
        fn summary<'a, T: Copy, S>(
            of: &Summary<T, S>,
            value: impl Fn(T) -> Value<'a>,
        ) -> ((Value<'a>, Value<'a>), Option<(Value<'a>, Value<'a>)>) {
            ((value(of.first), value(of.last)), Some((value(of.min), value(of.max))))
        }
        let found = match &statistics.values {
            ValueStatistics::None => return None,
            ValueStatistics::Boolean { first, last, sum } => {
                let all = *sum >= i64::from(statistics.count);
                let bounds = (Value::Boolean(all), Value::Boolean(*sum > 0));
                ((Value::Boolean(*first), Value::Boolean(*last)), Some(bounds))
            }
            ValueStatistics::Int32(of) => summary(of, Value::Int32),
            ValueStatistics::Int64(of) => summary(of, Value::Int64),
            // A NaN among the values shows in the sum, and spoils smallest and largest.
            ValueStatistics::Float(of) if of.sum.is_nan() => (summary(of, Value::Float).0, None),
            ValueStatistics::Double(of) if of.sum.is_nan() => (summary(of, Value::Double).0, None),
            ValueStatistics::Float(of) => summary(of, Value::Float),
            ValueStatistics::Double(of) => summary(of, Value::Double),
            ValueStatistics::Text { first, last } => ((Value::Binary(first), Value::Binary(last)), None),
            ValueStatistics::String { first, last, min, max } => {
                ((Value::Binary(first), Value::Binary(last)), Some((Value::Binary(min), Value::Binary(max))))
            }
        };
        Some(found)
    }
}

/// Pieces that overlap in time have to be merged; one on its own may be answered from statistics.
enum Step {
    /// A piece, and whether its chunk has been opened.
    Alone(Piece),
    Pages(PieceReader, Box<Work>),
    Merge(Box<Rows>),
}

/// Works out an [`Aggregate`] of the first field of a plan.
pub struct Aggregator {
    fields: Arc<[Field]>,
    range: TimeRange,
    ask: Ask,
    pieces: VecDeque<Piece>,
    step: Option<Step>,
    result: Aggregate,
}

impl Aggregator {
    /// Starts.
    #[must_use]
    pub fn new(mut plan: Plan, ask: Ask) -> Self {
        plan.fields.truncate(1);
        for piece in &mut plan.pieces {
            piece.columns.retain(|(field, _)| *field == 0);
        }
        plan.pieces.retain(|piece| piece.time.is_some() || !piece.columns.is_empty());
        Self {
            fields: plan.fields.into(),
            range: plan.range.unwrap_or(TimeRange::ALL),
            ask,
            pieces: plan.pieces.into(),
            step: None,
            result: Aggregate::default(),
        }
    }

    /// Goes on until all is known.
    ///
    /// # Errors
    /// What is wrong with the chunks and pages.
    pub fn run<S: Source + ?Sized>(
        &mut self,
        file: &TsFile,
        source: &S,
        executor: &impl Executor<S>,
    ) -> Poll<Aggregate> {
        loop {
            let Some(step) = &mut self.step else {
                match self.next_step(file) {
                    Some(step) => self.step = Some(step),
                    None => return Ok(self.result.clone()),
                }
                continue;
            };
            match step {
                Step::Alone(piece) => {
                    let statistics = piece.columns.first().map(|(_, chunk)| chunk.statistics.as_ref());
                    let inside =
                        |statistics: &&Statistics| statistics.inside(self.range.start, self.range.end);
                    let known = match statistics {
                        // An aligned piece without a chunk of this column has no values.
                        None => true,
                        Some(found) => found
                            .filter(inside)
                            .is_some_and(|statistics| self.result.statistics(self.ask, statistics)),
                    };
                    if known {
                        self.step = None;
                    } else {
                        let reader = PieceReader::open(file, source, piece, &self.fields, self.range)?;
                        self.step = Some(Step::Pages(reader, Box::new(Work::new(file.decoder()))));
                    }
                }
                Step::Pages(reader, work) => {
                    if !work.is_waiting() && !reader.take(file, source, work)? {
                        self.step = None;
                        continue;
                    }
                    let inside =
                        |statistics: &&Statistics| statistics.inside(self.range.start, self.range.end);
                    let known = work.is_empty_column()
                        || work
                            .statistics()
                            .filter(inside)
                            .is_some_and(|statistics| self.result.statistics(self.ask, statistics));
                    if !known {
                        source.request(&work.ranges().collect::<alloc::vec::Vec<_>>())?;
                        work.run(source);
                        work.outcome()?;
                        self.result.rows(self.ask, &work.block, work.rows.clone());
                    }
                    work.done();
                }
                Step::Merge(rows) => {
                    let mut batch = Batch::default();
                    if rows.next(file, source, executor, &mut batch)? {
                        self.result.rows(self.ask, &batch, 0..batch.rows());
                    } else {
                        self.step = None;
                    }
                }
            }
        }
    }

    /// The next piece, with those that overlap it.
    fn next_step(&mut self, file: &TsFile) -> Option<Step> {
        let first = self.pieces.pop_front()?;
        let mut end = first.range.end;
        let mut group = alloc::vec![first];
        while let Some(next) = self.pieces.front() {
            if next.range.start > end {
                break;
            }
            end = end.max(next.range.end);
            group.extend(self.pieces.pop_front());
        }
        if group.len() == 1 {
            return group.pop().map(Step::Alone);
        }
        let plan =
            Plan { fields: self.fields.to_vec(), pieces: group, range: Some(self.range), ..Plan::default() };
        Some(Step::Merge(Box::new(Rows::new(file, plan))))
    }
}
