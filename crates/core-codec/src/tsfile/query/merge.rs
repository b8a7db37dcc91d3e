//! Rows of several blocks in the order of their times.

use alloc::vec::Vec;
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
    for (field, target) in columns.iter_mut().enumerate() {
        let sources: Vec<(&Column, &Part<'_>)> = parts
            .iter()
            .flat_map(|part| {
                let columns = part.work.block.columns.iter().enumerate();
                columns.filter(|(index, _)| part.work.field(*index) == field).map(move |(_, c)| (c, part))
            })
            .collect();
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

/// The first times of all parts, once each, `most` of them.
pub(super) fn union(parts: &[Part<'_>], most: usize, times: &mut Vec<i64>) {
    if let [first, others @ ..] = parts
        && others.iter().all(|other| other.times() == first.times())
    {
        times.extend(first.times().iter().take(most));
        return;
    }
    let mut heads = alloc::vec![0usize; parts.len()];
    while times.len() < most {
        let head = |(part, &at): (&Part<'_>, &usize)| part.times().get(at).copied();
        let Some(next) = parts.iter().zip(&heads).filter_map(head).min() else { return };
        times.push(next);
        for (part, at) in parts.iter().zip(&mut heads) {
            *at += usize::from(part.times().get(*at) == Some(&next));
        }
    }
}

/// For each time the last value that one of the sources has.
fn pick(sources: &[(&Column, &Part<'_>)], times: &[i64], target: &mut Column) -> Result<(), ErrorKind> {
    let mut heads = alloc::vec![0usize; sources.len()];
    for &time in times {
        let mut found = None;
        for ((column, part), at) in sources.iter().zip(&mut heads) {
            if part.times().get(*at) == Some(&time) {
                let row = part.rows.start + *at;
                *at += 1;
                if column.validity.get(row) {
                    found = Some((column, row));
                }
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
