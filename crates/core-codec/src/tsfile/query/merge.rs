//! Rows of several blocks in the order of their times.

use alloc::collections::BinaryHeap;
use alloc::collections::binary_heap::PeekMut;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;

use super::piece::Work;
use super::{Batch, Field};
use crate::error::ErrorKind;
use crate::tsfile::column::{Column, Values};

/// Rows of a block that are to be merged.
pub(super) struct Part<'a> {
    pub(super) work: &'a Work,
    pub(super) rows: Range<usize>,
}

impl Part<'_> {
    fn times(&self) -> &[i64] {
        &self.work.block.times[self.rows.clone()]
    }

    /// Leaves out the rows behind `horizon`. Says whether there are others.
    pub(super) fn cut(&mut self, horizon: i64) -> bool {
        self.rows.end = self.rows.start + self.times().partition_point(|&time| time <= horizon);
        !self.rows.is_empty()
    }
}

/// Sorts the rows of a block; of several with one time the last wins.
pub(super) fn sort(block: &mut Batch) -> Result<(), ErrorKind> {
    let times = &block.times;
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&row| (times[row], row));
    let last_of_its_time = |at: usize| order.get(at + 1).is_none_or(|&next| times[next] != times[order[at]]);
    let kept: Vec<usize> = (0..order.len()).filter(|&at| last_of_its_time(at)).map(|at| order[at]).collect();
    for column in &mut block.columns {
        let mut sorted = Column { values: empty_like(&column.values), validity: Default::default() };
        for &row in &kept {
            sorted.validity.push(column.validity.get(row));
            sorted.values.push_from(&column.values, Some(row))?;
        }
        *column = sorted;
    }
    block.times = kept.iter().map(|&row| block.times[row]).collect();
    Ok(())
}

fn empty_like(values: &Values) -> Values {
    match values {
        Values::Boolean(_) => Values::Boolean(Vec::new()),
        Values::Int32(_) => Values::Int32(Vec::new()),
        Values::Int64(_) => Values::Int64(Vec::new()),
        Values::Float(_) => Values::Float(Vec::new()),
        Values::Double(_) => Values::Double(Vec::new()),
        Values::Binary(_) => Values::Binary(Default::default()),
    }
}

/// Gives `batch` a column for each field; those that fit already keep their memory.
pub(super) fn shape(batch: &mut Batch, fields: &[Field]) -> Result<(), ErrorKind> {
    batch.times.clear();
    let fits = batch.columns.len() == fields.len()
        && batch.columns.iter().zip(fields).all(|(column, field)| column.values.is_of(field.dtype));
    if fits {
        batch.columns.iter_mut().for_each(Column::clear);
        return Ok(());
    }
    batch.columns.clear();
    for field in fields {
        let column = Column::new(field.dtype).ok_or(ErrorKind::Unsupported("type of its values"))?;
        batch.columns.push(column);
    }
    Ok(())
}

/// Appends the rows of one block, whose times are all later than those of the batch.
pub(super) fn append(part: &Part<'_>, batch: &mut Batch) -> Result<(), ErrorKind> {
    let Range { start, end } = part.rows.clone();
    batch.times.extend_from_slice(part.times());
    let mut given = alloc::vec![false; batch.columns.len()];
    for (index, column) in part.work.block.columns.iter().enumerate() {
        let field = part.work.field(index);
        let target = &mut batch.columns[field];
        target.values.extend_from(&column.values, start, end)?;
        target.validity.extend_from(&column.validity, start, end);
        given[field] = true;
    }
    for (column, _) in batch.columns.iter_mut().zip(given).filter(|(_, given)| !given) {
        column.push_nulls(end - start)?;
    }
    Ok(())
}

/// Gives the times of `batch`, which are the [`union`] of those of the parts, their values; `parts` are by rank, and a
/// later value wins.
pub(super) fn merge(parts: &[Part<'_>], batch: &mut Batch) -> Result<(), ErrorKind> {
    let Batch { times, columns } = batch;
    let mut sources: Vec<Vec<(&Column, &Part<'_>)>> = alloc::vec![Vec::new(); columns.len()];
    for part in parts {
        for (index, column) in part.work.block.columns.iter().enumerate() {
            sources[part.work.field(index)].push((column, part));
        }
    }
    for (target, sources) in columns.iter_mut().zip(sources) {
        match sources.as_slice() {
            [] => target.push_nulls(times.len())?,
            [(column, part)] if part.rows.len() == times.len() => {
                target.values.extend_from(&column.values, part.rows.start, part.rows.end)?;
                target.validity.extend_from(&column.validity, part.rows.start, part.rows.end);
            }
            sources => pick(sources, times, target)?,
        }
    }
    Ok(())
}

/// The rows of parts in the order of their times, those of one time in the order of the parts: time, number of the
/// part, row of its block.
struct Merged<'a> {
    /// Times of the blocks, up to the last row of each part.
    times: Vec<&'a [i64]>,
    /// The next row of each part that has one.
    heads: BinaryHeap<Reverse<(i64, usize, usize)>>,
}

impl<'a> Merged<'a> {
    fn new(parts: impl Iterator<Item = &'a Part<'a>> + Clone) -> Self {
        let head = |(number, part): (usize, &Part<'_>)| {
            part.times().first().map(|&time| Reverse((time, number, part.rows.start)))
        };
        Self {
            times: parts.clone().map(|part| &part.work.block.times[..part.rows.end]).collect(),
            heads: parts.enumerate().filter_map(head).collect(),
        }
    }
}

impl Iterator for Merged<'_> {
    type Item = (i64, usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let mut head = self.heads.peek_mut()?;
        let Reverse((time, part, row)) = *head;
        match self.times[part].get(row + 1) {
            Some(&next) => *head = Reverse((next, part, row + 1)),
            None => drop(PeekMut::pop(head)),
        }
        Some((time, part, row))
    }
}

/// The first times of all parts, once each, `most` of them.
pub(super) fn union(parts: &[Part<'_>], most: usize, times: &mut Vec<i64>) {
    if let [first, others @ ..] = parts
        && others.iter().all(|other| other.times() == first.times())
    {
        times.extend(first.times().iter().take(most));
        return;
    }
    for (time, ..) in Merged::new(parts.iter()) {
        if times.last() == Some(&time) {
            continue;
        }
        if times.len() == most {
            return;
        }
        times.push(time);
    }
}

/// For each time the last value that one of the sources has.
fn pick(sources: &[(&Column, &Part<'_>)], times: &[i64], target: &mut Column) -> Result<(), ErrorKind> {
    let mut rows = Merged::new(sources.iter().map(|(_, part)| *part)).peekable();
    for &time in times {
        let mut found = None;
        while let Some((_, source, row)) = rows.next_if(|(next, ..)| *next == time) {
            let (column, _) = sources[source];
            if column.validity.get(row) {
                found = Some((column, row));
            }
        }
        target.validity.push(found.is_some());
        match found {
            Some((column, row)) => target.values.push_from(&column.values, Some(row))?,
            None => target.values.extend_empty(1)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tsfile::column::Value;
    use crate::tsfile::page::PageDecoder;
    use crate::tsfile::types::DataType;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    type Rows = BTreeMap<i64, Option<i64>>;

    fn work(rows: &Rows) -> Work {
        let mut work = Work::new(PageDecoder::default());
        let mut column = Column::new(DataType::Int64).unwrap();
        column.values = Values::Int64(rows.values().map(|value| value.unwrap_or(0)).collect());
        rows.values().for_each(|value| column.validity.push(value.is_some()));
        work.block = Batch { times: rows.keys().copied().collect(), columns: alloc::vec![column] };
        work
    }

    /// Blocks with a range of rows of each, as they are left over when some have been given.
    fn blocks() -> impl Strategy<Value = Vec<(Rows, Range<usize>)>> {
        let rows = prop::collection::btree_map(-20i64..20, prop::option::of(any::<i64>()), 1..20);
        let block =
            (rows, any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(|(rows, a, b)| {
                let (a, b) = (a.index(rows.len()), b.index(rows.len()));
                (rows, a.min(b)..a.max(b) + 1)
            });
        prop::collection::vec(block, 1..9)
    }

    proptest! {
        #[test]
        fn merging_gives_the_last_value_of_each_time(blocks in blocks(), most in 1usize..50) {
            let works: Vec<Work> = blocks.iter().map(|(rows, _)| work(rows)).collect();
            let mut parts: Vec<Part<'_>> =
                works.iter().zip(&blocks).map(|(work, (_, rows))| Part { work, rows: rows.clone() }).collect();
            let mut expected = Rows::new();
            for (rows, range) in &blocks {
                for (&time, &value) in rows.iter().skip(range.start).take(range.len()) {
                    let last = expected.entry(time).or_default();
                    *last = value.or(*last);
                }
            }
            let expected: Vec<(i64, Option<i64>)> = expected.into_iter().take(most).collect();

            let mut batch = Batch { times: Vec::new(), columns: alloc::vec![Column::new(DataType::Int64).unwrap()] };
            union(&parts, most, &mut batch.times);
            parts.retain_mut(|part| part.cut(batch.times[batch.times.len() - 1]));
            merge(&parts, &mut batch).unwrap();
            let value = |row| match batch.columns[0].get(row) {
                Some(Value::Int64(value)) => Some(value),
                _ => None,
            };
            let found: Vec<_> = batch.times.iter().enumerate().map(|(row, &time)| (time, value(row))).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
