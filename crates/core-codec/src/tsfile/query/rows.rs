//! Reads and merges the pieces of a plan.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use super::merge::{self, Part};
use super::piece::{Failure, PieceReader, Work};
use super::plan::{Piece, Plan};
use super::{Batch, Field, MEMORY, TimeRange, memory};
use crate::error::{Error, ErrorKind};
use crate::limits::check;
use crate::source::{Poll, Source};
use crate::tsfile::column::Column;
use crate::tsfile::file::TsFile;
use crate::tsfile::series::FIRST_READ;

/// Headers of chunks that are asked for together.
const HEADERS: usize = 64;

/// Bytes of pages beside which no others are decoded ahead.
const LARGE: u64 = 4 << 20;

/// Pages that are being decoded.
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be an allocation a page, and few of them wait at once"
)]
pub enum Task {
    /// They are.
    Done(Work),
    /// Somewhere else; the function waits for them.
    Running(Box<dyn FnOnce() -> Work + Send>),
}

impl Task {
    fn finish(self) -> Work {
        match self {
            Self::Done(work) => work,
            Self::Running(wait) => wait(),
        }
    }
}

/// Decodes pages: one after another, or several at once.
pub trait Executor<S: ?Sized> {
    /// Starts to decode, by [`Work::run`].
    fn start(&self, source: &S, work: Work) -> Task;

    /// How many pages there should be under way at once.
    fn width(&self) -> usize {
        1
    }
}

/// Decodes one page after another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl<S: Source + ?Sized> Executor<S> for Serial {
    fn start(&self, source: &S, mut work: Work) -> Task {
        work.run(source);
        Task::Done(work)
    }
}

/// A piece that is open.
struct Active {
    reader: PieceReader,
    /// By the statistics.
    start: i64,
    /// Pages whose headers have been read.
    taken: Vec<Work>,
    /// Pages under way, in order, each with the [surplus](Work::surplus) that its rows may be.
    tasks: VecDeque<(u64, Task)>,
    /// There have been pages so large that one after another is decoded.
    large: bool,
    /// A block with rows that have not been given.
    front: Option<Work>,
    /// No more pages to take.
    exhausted: bool,
    /// Last time that was decoded.
    last: Option<i64>,
    /// Its rows have been told to be late.
    is_late: bool,
    /// Why columns of its pages were left out.
    failed: Vec<Failure>,
}

impl Active {
    fn pages(&self) -> usize {
        usize::from(self.front.is_some()) + self.taken.len() + self.tasks.len()
    }

    /// Bytes of memory that it holds or will, beyond what good data would take.
    fn surplus(&self) -> u64 {
        let front = self.front.as_ref().map_or(0, |work| work.surplus(work.held()));
        let taken = self.taken.iter().map(|work| work.surplus(work.expected()));
        taken.chain(self.tasks.iter().map(|(surplus, _)| *surplus)).fold(front, u64::saturating_add)
    }

    fn is_done(&self) -> bool {
        self.exhausted && self.pages() == 0
    }

    /// Reads the headers of the next pages, until there are `most` at work.
    fn take<S: Source + ?Sized>(
        &mut self,
        file: &TsFile,
        source: &S,
        most: usize,
        spare: &mut Vec<Work>,
    ) -> Poll<()> {
        while !self.exhausted && self.pages() < if self.large { 1 } else { most } {
            let mut work = spare.pop().unwrap_or_else(|| Work::new(file.decoder()));
            let taken = self.reader.take(file, source, &mut work);
            if taken == Ok(true) {
                self.large |= work.expected() > LARGE;
                self.taken.push(work);
                continue;
            }
            spare.push(work);
            self.exhausted = !taken?;
        }
        Ok(())
    }

    fn start<S: Source + ?Sized>(&mut self, source: &S, executor: &impl Executor<S>) {
        let started =
            self.taken.drain(..).map(|work| (work.surplus(work.expected()), executor.start(source, work)));
        self.tasks.extend(started);
    }

    /// Waits for the next block with rows, if pages are under way.
    fn settle(&mut self, order: &mut Order, spare: &mut Vec<Work>) -> Poll<()> {
        while self.front.is_none() {
            let Some((_, task)) = self.tasks.pop_front() else { break };
            let mut work = task.finish();
            work.outcome()?;
            self.failed.append(&mut work.failed);
            if self.check(&work, order)? {
                self.front = Some(work);
            } else {
                spare.push(work);
            }
        }
        Ok(())
    }

    /// Holds a block against what came before. Says whether it has rows to give.
    fn check(&mut self, work: &Work, order: &mut Order) -> Result<bool, Error> {
        let times = &work.block.times;
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return Ok(false) };
        let disorder = |what| Error::new("times of a page", ErrorKind::Invalid(what)).at(work.offset());
        if self.last.is_some_and(|last| first <= last) {
            return Err(disorder("pages of a chunk overlap in time"));
        }
        self.last = Some(last);
        if work.rows.is_empty() {
            return Ok(false);
        }
        if order.given.is_some_and(|given| times[work.rows.start] <= given) {
            let late = Error::new(LATE, ErrorKind::Invalid("earlier than the statistics of the chunk say"));
            let late = late.at(work.offset());
            let late = self.reader.name().into_iter().fold(late, Error::item);
            if !order.any {
                return Err(late);
            }
            if !mem::replace(&mut self.is_late, true) {
                order.late.push(late);
            }
        }
        Ok(true)
    }
}

/// What is given in which order.
struct Order {
    /// The last time that was given.
    given: Option<i64>,
    /// Rows may come late.
    any: bool,
    /// What has come late, once a chunk.
    late: Vec<Error>,
}

impl Order {
    fn give(&mut self, horizon: i64) {
        self.given = self.given.max(Some(horizon));
    }
}

/// The structure of the error that tells of rows that come late.
pub const LATE: &str = "late rows";

/// The rows of a plan, in order of time, as batches.
///
/// Chunks are opened by their statistics. Where those say a start that is too late, rows of others may have been given
/// by then. That is an error, unless the plan allows [any order](Plan::any_order): then its rows come late, and
/// [`take_left_out`](Self::take_left_out) tells it.
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
    /// The next pieces, opened so that there are pages to decode meanwhile.
    ahead: VecDeque<Active>,
    /// By rank.
    active: Vec<Active>,
    spare: Vec<Work>,
    order: Order,
    memory: u64,
    /// Pieces whose headers have been asked for.
    asked: usize,
    /// Fields of which something was left out.
    damaged: Vec<bool>,
    left_out: Vec<Error>,
}

impl Rows {
    /// Starts to read.
    #[must_use]
    pub fn new(file: &TsFile, plan: Plan) -> Self {
        let fields = plan.fields.len();
        Self {
            asked: 0,
            damaged: alloc::vec![false; fields],
            left_out: Vec::new(),
            fields: plan.fields.into(),
            range: plan.range.unwrap_or(TimeRange::ALL),
            pieces: plan.pieces.into(),
            ahead: VecDeque::new(),
            active: Vec::new(),
            spare: Vec::new(),
            order: Order { given: None, any: plan.any_order, late: Vec::new() },
            memory: file.limits().item_bytes.min(memory(fields)),
        }
    }

    /// Starts to read another plan of the same file, with the memory of the one before.
    pub fn restart(&mut self, file: &TsFile, plan: Plan) {
        let spare = mem::take(&mut self.spare);
        *self = Self { spare, ..Self::new(file, plan) };
    }

    /// The columns of the batches.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Why values were left out since this was last called, one reason a column at most: pages of one among
    /// several columns that cannot be read are passed over, and their values are null. And which chunks have [`LATE`]
    /// rows, which are not left out.
    pub fn take_left_out(&mut self) -> Vec<Error> {
        let mut all = mem::take(&mut self.left_out);
        all.append(&mut self.order.late);
        all
    }

    /// Replaces `batch` by the next rows; its memory is used again. `false` when there are no more.
    ///
    /// # Errors
    /// What is wrong with the times, or with the pages of the only column.
    pub fn next<S: Source + ?Sized>(
        &mut self,
        file: &TsFile,
        source: &S,
        executor: &impl Executor<S>,
        batch: &mut Batch,
    ) -> Poll<bool> {
        batch.columns.iter_mut().for_each(Column::reuse);
        loop {
            self.refill(file, source, executor)?;
            let Some(low) = self.active.iter().filter_map(head).min() else {
                if self.open_next(file, source)? {
                    continue;
                }
                return Ok(false);
            };
            // All that may come before it at once: each time anew would go through all that are open.
            let mut opened = false;
            while self.next_start().is_some_and(|start| start <= low) {
                self.open_next(file, source)?;
                opened = true;
            }
            if opened {
                continue;
            }
            let next_start = self.next_start();
            let ends = self.active.iter().filter_map(block_end);
            let horizon = ends.chain(next_start.map(|start| start - 1)).min().unwrap_or(low);
            self.emit(horizon, batch)?;
            return Ok(true);
        }
    }

    fn next_start(&self) -> Option<i64> {
        let ahead = self.ahead.front().map(|active| active.start);
        ahead.or_else(|| self.pieces.front().map(|piece| piece.range.start))
    }

    /// Asks for the headers of the next chunks together: one by one they would be a journey each.
    fn ask<S: Source + ?Sized>(&mut self, file: &TsFile, source: &S) -> Poll<()> {
        let end = file.metadata.meta_offset;
        let mut ranges = Vec::new();
        for piece in &self.pieces {
            if ranges.len() >= HEADERS {
                break;
            }
            let chunks = piece.time.iter().chain(piece.columns.iter().map(|(_, chunk)| chunk));
            ranges.extend(chunks.map(|chunk| chunk.offset..end.min(chunk.offset + FIRST_READ)));
            self.asked += 1;
        }
        source.request(&ranges)
    }

    /// Opens the next piece of the plan.
    fn open<S: Source + ?Sized>(&mut self, file: &TsFile, source: &S) -> Poll<Option<Active>> {
        if self.asked == 0 {
            self.ask(file, source)?;
        }
        let Some(piece) = self.pieces.front() else { return Ok(None) };
        let reader = PieceReader::open(file, source, piece, &self.fields, self.range)?;
        let start = piece.range.start;
        self.pieces.pop_front();
        self.asked = self.asked.saturating_sub(1);
        Ok(Some(Active {
            reader,
            start,
            taken: Vec::new(),
            tasks: VecDeque::new(),
            large: false,
            front: None,
            exhausted: false,
            last: None,
            is_late: false,
            failed: Vec::new(),
        }))
    }

    /// Gives from one piece more. Says whether there is one.
    fn open_next<S: Source + ?Sized>(&mut self, file: &TsFile, source: &S) -> Poll<bool> {
        let next = match self.ahead.pop_front() {
            Some(active) => Some(active),
            None => self.open(file, source)?,
        };
        let Some(active) = next else { return Ok(false) };
        let at = self.active.partition_point(|other| other.reader.rank <= active.reader.rank);
        self.active.insert(at, active);
        Ok(true)
    }

    /// Sees to it that each piece has a block, or is closed, and that as many pages as should be are under way.
    fn refill<S: Source + ?Sized>(
        &mut self,
        file: &TsFile,
        source: &S,
        executor: &impl Executor<S>,
    ) -> Poll<()> {
        let width = executor.width();
        while self.active.iter().any(|active| active.front.is_none()) {
            // One is given from while the others are decoded.
            let each = match width {
                1 => 1,
                _ if self.surplus() > self.memory / 4 => 1,
                _ => width.div_ceil(self.active.len()).max(2),
            };
            for active in &mut self.active {
                active.take(file, source, each, &mut self.spare)?;
            }
            self.check_memory()?;
            let ranges: Vec<_> =
                self.active.iter().flat_map(|active| &active.taken).flat_map(Work::ranges).collect();
            source.request(&ranges)?;
            self.active.iter_mut().for_each(|active| active.start(source, executor));
            self.look_ahead(file, source, executor);
            let Self { active, order, spare, damaged, left_out, .. } = self;
            for active in active.iter_mut() {
                active.settle(order, spare)?;
                for (field, error) in active.failed.drain(..).chain(active.reader.failed.drain(..)) {
                    if let Some(told @ false) = damaged.get_mut(field) {
                        *told = true;
                        left_out.push(error);
                    }
                }
            }
            self.active.retain(|active| !active.is_done());
        }
        self.check_memory()?;
        self.spare.truncate(2 * width + self.active.len());
        Ok(())
    }

    fn surplus(&self) -> u64 {
        self.active.iter().chain(&self.ahead).map(Active::surplus).fold(0, u64::saturating_add)
    }

    /// Sees to it that what is held, and will be when the pages under way are decoded, is within bounds.
    fn check_memory(&mut self) -> Result<(), Error> {
        let needed = self.surplus();
        let spare = self.spare.iter().map(Work::held).fold(needed, u64::saturating_add);
        if spare > self.memory {
            self.spare.clear();
        }
        check("bytes of pages that overlap in time", needed, self.memory)
            .map_err(|kind| Error::new("query", kind))?;
        Ok(())
    }

    /// Starts on pages of the next pieces while those of the open ones are fewer than can be decoded at once.
    ///
    /// What is wrong with them is told when it is their turn, so that all ways of reading give the same.
    fn look_ahead<S: Source + ?Sized>(&mut self, file: &TsFile, source: &S, executor: &impl Executor<S>) {
        let width = executor.width();
        if width == 1 {
            return;
        }
        loop {
            let mut all = self.active.iter().chain(&self.ahead);
            if all.clone().any(|active| active.large) {
                return;
            }
            let open = all.by_ref().map(Active::pages).sum::<usize>();
            let Some(room) = width.checked_sub(open).filter(|&room| room > 0) else { return };
            let Ok(Some(mut active)) = self.open(file, source) else { return };
            let taken = active.take(file, source, room, &mut self.spare);
            if !active.large {
                active.start(source, executor);
            }
            self.ahead.push_back(active);
            if taken.is_err() {
                return;
            }
        }
    }

    /// Gives all rows up to `horizon`, which no block passes.
    fn emit(&mut self, horizon: i64, batch: &mut Batch) -> Poll<()> {
        let Self { active, fields, spare, order, .. } = self;
        let fail = |kind| Error::new("batch", kind);
        let mut giving =
            active.iter_mut().filter(|active| head(active).is_some_and(|first| first <= horizon));
        if let (Some(only), None) = (giving.next(), giving.next())
            && let Some(work) = &mut only.front
        {
            let whole = work.rows == (0..work.block.times.len()) && block_last(work) <= horizon;
            let same = work.block.columns.len() == fields.len()
                && (0..fields.len()).all(|column| work.field(column) == column);
            if whole && same {
                mem::swap(batch, &mut work.block);
                order.give(horizon);
                spare.extend(only.front.take());
                return Ok(());
            }
        }
        merge::shape(batch, fields).map_err(fail)?;
        let mut parts: Vec<Part<'_>> = active
            .iter()
            .filter_map(|active| {
                let work = active.front.as_ref()?;
                let mut part = Part { work, rows: work.rows.clone() };
                part.cut(horizon).then_some(part)
            })
            .collect();
        let mut horizon = horizon;
        match parts.as_slice() {
            [part] => merge::append(part, batch),
            _ => {
                // Blocks that share no time would come to as many rows as they have together, of all columns.
                let most = MEMORY / (8 * (1 + fields.len() as u64));
                merge::union(&parts, usize::try_from(most).unwrap_or(0).max(1), &mut batch.times);
                horizon = batch.times.last().map_or(horizon, |&last| last);
                parts.retain_mut(|part| part.cut(horizon));
                merge::merge(&parts, batch)
            }
        }
        .map_err(fail)?;
        order.give(horizon);
        for active in active.iter_mut() {
            let Some(work) = &mut active.front else { continue };
            let times = &work.block.times[work.rows.clone()];
            work.rows.start += times.partition_point(|&time| time <= horizon);
            if work.rows.is_empty() {
                spare.extend(active.front.take());
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
    let work = active.front.as_ref()?;
    work.block.times.get(work.rows.start).copied()
}

/// Last time of the block that a piece gives from.
fn block_end(active: &Active) -> Option<i64> {
    active.front.as_ref().map(block_last)
}
