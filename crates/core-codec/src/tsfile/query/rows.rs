//! Reads and merges the pieces of a plan.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use super::merge::{self, Part};
use super::piece::{PieceReader, Work};
use super::plan::{Piece, Plan};
use super::{Batch, Field, MEMORY, TimeRange};
use crate::error::{Error, ErrorKind};
use crate::limits::check;
use crate::source::{Poll, Source};
use crate::tsfile::file::TsFile;

/// Decodes pages: one after another, or on several threads.
pub trait Executor<S: ?Sized> {
    /// Calls [`Work::run`] on each.
    fn run(&self, source: &S, work: &mut [Work]);

    /// How many pages there should be at once.
    fn width(&self) -> usize {
        1
    }
}

/// Decodes one page after another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl<S: Source + ?Sized> Executor<S> for Serial {
    fn run(&self, source: &S, work: &mut [Work]) {
        work.iter_mut().for_each(|work| work.run(source));
    }
}

/// A piece with rows ahead.
struct Active {
    reader: PieceReader,
    /// Blocks with rows that have not been given, in order.
    ready: VecDeque<Work>,
    exhausted: bool,
    /// Last time that was decoded.
    last: Option<i64>,
}

/// The rows of a plan, in order of time, as batches.
///
/// ```
/// use core_codec::tsfile::query::{Batch, Plan, Rows, Serial, TimeRange};
/// # use core_codec::tsfile::TsFile;
/// # fn example(bytes: &[u8]) -> Result<(), core_codec::source::Stop> {
/// let file = TsFile::open(bytes, &Default::default())?;
/// let mut devices = file.devices(None);
/// while let Some(device) = devices.next(bytes)? {
///     let plan = Plan::new(&file, bytes, &device, None, TimeRange { start: 0, end: 1_000 })?;
///     let mut rows = Rows::new(&file, plan);
///     let mut batch = Batch::default();
///     while rows.next(&file, bytes, &Serial, &mut batch)? {
///         assert_eq!(batch.columns.len(), rows.fields().len());
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct Rows {
    fields: Arc<[Field]>,
    range: TimeRange,
    pieces: VecDeque<Piece>,
    active: Vec<Active>,
    /// Pages whose headers have been read, with the index of their piece.
    pending: Vec<Work>,
    owners: Vec<usize>,
    spare: Vec<Work>,
    /// Last time that was given.
    given: Option<i64>,
    memory: u64,
}

impl Rows {
    /// Starts to read.
    #[must_use]
    pub fn new(file: &TsFile, plan: Plan) -> Self {
        Self {
            fields: plan.fields.into(),
            range: plan.range.unwrap_or(TimeRange::ALL),
            pieces: plan.pieces.into(),
            active: Vec::new(),
            pending: Vec::new(),
            owners: Vec::new(),
            spare: Vec::new(),
            given: None,
            memory: file.limits().item_bytes.min(MEMORY),
        }
    }

    /// The columns of the batches.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Replaces `batch` by the next rows; its memory is used again. `false` when there are no more.
    ///
    /// # Errors
    /// What is wrong with the chunks and pages.
    pub fn next<S: Source + ?Sized>(
        &mut self,
        file: &TsFile,
        source: &S,
        executor: &impl Executor<S>,
        batch: &mut Batch,
    ) -> Poll<bool> {
        loop {
            self.refill(file, source, executor)?;
            let Some(low) = self.active.iter().filter_map(head).min() else {
                if self.open_next(file, source)? {
                    continue;
                }
                return Ok(false);
            };
            let next_start = self.pieces.front().map(|piece| piece.range.start);
            if next_start.is_some_and(|start| start <= low) {
                self.open_next(file, source)?;
                continue;
            }
            let ends = self.active.iter().filter_map(block_end);
            let horizon = ends.chain(next_start.map(|start| start - 1)).min().unwrap_or(low);
            self.emit(horizon, batch)?;
            return Ok(true);
        }
    }

    fn open_next<S: Source + ?Sized>(&mut self, file: &TsFile, source: &S) -> Poll<bool> {
        let Some(piece) = self.pieces.front() else { return Ok(false) };
        let reader = PieceReader::open(file, source, piece, &self.fields, self.range)?;
        self.pieces.pop_front();
        let at = self.active.partition_point(|active| active.reader.rank <= reader.rank);
        let active = Active { reader, ready: VecDeque::new(), exhausted: false, last: None };
        debug_assert!(self.pending.is_empty());
        self.active.insert(at, active);
        Ok(true)
    }

    /// Sees to it that each open piece has a block, or is closed.
    fn refill<S: Source + ?Sized>(
        &mut self,
        file: &TsFile,
        source: &S,
        executor: &impl Executor<S>,
    ) -> Poll<()> {
        loop {
            let width = executor.width();
            let hungry =
                self.active.iter().filter(|active| active.ready.is_empty() && !active.exhausted).count();
            if hungry == 0 && self.pending.is_empty() {
                let Self { active, spare, .. } = self;
                active.retain(|active| !active.ready.is_empty());
                spare.truncate(2 * width + active.len());
                return Ok(());
            }
            let each = width.div_ceil(hungry.max(1));
            for (index, active) in self.active.iter_mut().enumerate() {
                let asked = self.owners.iter().filter(|&&owner| owner == index).count();
                if !active.ready.is_empty() || active.exhausted {
                    continue;
                }
                for _ in asked..each {
                    let mut work = self.spare.pop().unwrap_or_else(|| Work::new(file.decoder()));
                    if !active.reader.take(file, source, &mut work)? {
                        active.exhausted = true;
                        self.spare.push(work);
                        break;
                    }
                    self.pending.push(work);
                    self.owners.push(index);
                }
            }
            let ranges: Vec<_> = self.pending.iter().flat_map(Work::ranges).collect();
            source.request(&ranges)?;
            executor.run(source, &mut self.pending);
            self.collect()?;
        }
    }

    /// Gives decoded pages to their pieces.
    fn collect(&mut self) -> Poll<()> {
        let owners = mem::take(&mut self.owners);
        for (mut work, owner) in mem::take(&mut self.pending).into_iter().zip(owners) {
            work.outcome()?;
            let times = &work.block.times;
            let (Some(&first), Some(&last)) = (times.first(), times.last()) else {
                self.spare.push(work);
                continue;
            };
            let active = &mut self.active[owner];
            let disorder = |what| Error::new("times of a page", ErrorKind::Invalid(what)).at(work.offset());
            if active.last.is_some_and(|last| first <= last) {
                return Err(disorder("pages of a chunk overlap in time").into());
            }
            active.last = Some(last);
            if work.rows.is_empty() {
                self.spare.push(work);
                continue;
            }
            if self.given.is_some_and(|given| times[work.rows.start] <= given) {
                return Err(disorder("earlier than the statistics of the chunk say").into());
            }
            active.ready.push_back(work);
        }
        let bytes: usize = self.active.iter().flat_map(|active| &active.ready).map(Work::bytes).sum();
        check("bytes of pages that overlap in time", bytes as u64, self.memory)
            .map_err(|kind| Error::new("query", kind))?;
        Ok(())
    }

    /// Gives all rows up to `horizon`, which no block passes.
    fn emit(&mut self, horizon: i64, batch: &mut Batch) -> Poll<()> {
        let Self { active, fields, spare, .. } = self;
        let fail = |kind| Error::new("batch", kind);
        self.given = Some(horizon);
        if let [only] = active.as_mut_slice()
            && let Some(work) = only.ready.front_mut()
        {
            let whole = work.rows == (0..work.block.times.len()) && block_last(work) <= horizon;
            let same = work.block.columns.len() == fields.len()
                && (0..fields.len()).all(|column| work.field(column) == column);
            if whole && same {
                mem::swap(batch, &mut work.block);
                spare.extend(only.ready.pop_front());
                return Ok(());
            }
        }
        merge::shape(batch, fields).map_err(fail)?;
        let parts: Vec<Part<'_>> = active
            .iter()
            .filter_map(|active| {
                let work = active.ready.front()?;
                let times = &work.block.times[work.rows.clone()];
                let end = work.rows.start + times.partition_point(|&time| time <= horizon);
                (end > work.rows.start).then_some(Part { work, rows: work.rows.start..end })
            })
            .collect();
        match parts.as_slice() {
            [part] => merge::append(part, batch),
            parts => merge::merge(parts, batch),
        }
        .map_err(fail)?;
        for active in active.iter_mut() {
            let Some(work) = active.ready.front_mut() else { continue };
            let times = &work.block.times[work.rows.clone()];
            work.rows.start += times.partition_point(|&time| time <= horizon);
            if work.rows.is_empty() {
                spare.extend(active.ready.pop_front());
            }
        }
        Ok(())
    }
}

fn block_last(work: &Work) -> i64 {
    work.block.times[..work.rows.end].last().copied().unwrap_or(i64::MAX)
}

/// First time of a piece that has not been given.
fn head(active: &Active) -> Option<i64> {
    let work = active.ready.front()?;
    work.block.times.get(work.rows.start).copied()
}

/// Last time of the block that a piece gives from.
fn block_end(active: &Active) -> Option<i64> {
    active.ready.front().map(block_last)
}
