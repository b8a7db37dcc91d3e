//! TsFiles.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use core_codec::Limits;
use core_codec::tsfile::query::{Aggregator, Rows, Serial, Test};
use core_codec::tsfile::scan::Indexer;
use core_codec::tsfile::{
    DeviceCursor, DeviceEntry, DeviceId, Metadata, Series, SeriesCursor, TsFile as Reader,
};

use crate::error::Error;
use crate::input::{Access, Input};
use crate::parallel::{self, Parallel};

mod scan;
mod verify;

pub use core_codec::tsfile::query::{Aggregate, Ask, Batch, Field, Plan, TimeRange};
pub use scan::{Scan, ScanBatch};
pub use verify::Finding;

/// An open TsFile.
///
/// ```no_run
/// use std_io::tsfile::{Batch, TimeRange, TsFile};
///
/// let file = TsFile::open("plant.tsfile")?;
/// for device in file.devices(None) {
///     let device = device?;
///     let mut rows = file.rows(&device, Some(&["temperature"]), TimeRange::ALL)?;
///     let mut batch = Batch::default();
///     while rows.next(&mut batch)? {
///         println!("{}: {} rows", device.id, batch.rows());
///     }
/// }
/// # Ok::<(), std_io::Error>(())
/// ```
#[derive(Debug)]
pub struct TsFile {
    input: Input,
    reader: Arc<Reader>,
    unread: Option<Unread>,
}

/// The end of a file that was [recovered](TsFile::recover): what was not understood.
#[derive(Clone, Debug)]
pub struct Unread {
    /// Where it is.
    pub bytes: Range<u64>,
    /// Why.
    pub reason: core_codec::Error,
}

impl TsFile {
    /// Opens a file by a memory map, with the default limits.
    ///
    /// # Errors
    /// When it cannot be opened, or its footer is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_input(Input::open(path, Access::Map)?, &Limits::default())
    }

    /// Opens what `input` holds.
    ///
    /// # Errors
    /// When its footer is damaged.
    pub fn from_input(input: Input, limits: &Limits) -> Result<Self, Error> {
        let reader = input.run(|source| Reader::open(source, limits))?;
        Ok(Self { input, reader: Arc::new(reader), unread: None })
    }

    /// Opens a file that was cut off or never finished: goes through the data section by its markers, and takes
    /// what is found for the index. The file itself stays as it is.
    ///
    /// Everything before the first damage is there, [`unread`](Self::unread) tells the rest. Memory grows with the
    /// number of chunks. Without a footer nobody knows the tables: their devices have the paths that the chunk
    /// groups name, and what the bloom filter says of a series is not asked.
    ///
    /// # Errors
    /// When it cannot be opened, or does not start as a TsFile.
    pub fn recover(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::recover_input(Input::open(path, Access::Map)?, &Limits::default(), None)
    }

    /// As [`recover`](Self::recover), of what `input` holds. `master` is the key of an encrypted file.
    ///
    /// # Errors
    /// As [`recover`](Self::recover), and when it is not the key of the file.
    pub fn recover_input(input: Input, limits: &Limits, master: Option<&[u8]>) -> Result<Self, Error> {
        let mut indexer = input.run(|source| Indexer::new(source, limits))?;
        if let Some(master) = master {
            indexer.unlock(master)?;
        }
        // One step a run, so that what a step has asked for can be forgotten.
        while input.run(|source| indexer.step(source))? {}
        let bytes = indexer.position()..input.len();
        let (reader, damage) = indexer.finish();
        let unread = damage.map(|reason| Unread { bytes, reason });
        Ok(Self { input, reader: Arc::new(reader), unread })
    }

    /// What was not understood when the file was [recovered](Self::recover), if anything.
    #[must_use]
    pub fn unread(&self) -> Option<&Unread> {
        self.unread.as_ref()
    }

    /// Gives the master key of an encrypted file; nothing happens to one that is not encrypted.
    ///
    /// # Errors
    /// When it is not the key of the file, or the cipher is unknown.
    pub fn unlock(&mut self, master: &[u8]) -> Result<(), Error> {
        Ok(Arc::make_mut(&mut self.reader).unlock(master)?)
    }

    /// The metadata of the footer.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.reader.metadata
    }

    /// The sans-IO reader.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Where the bytes come from.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// All devices, or those of one table, in the order of the index. Memory does not grow with their number.
    #[must_use]
    pub fn devices(&self, table: Option<&str>) -> Devices<'_> {
        Devices { file: self, cursor: self.reader.devices(table), failed: false }
    }

    /// Finds a device.
    ///
    /// # Errors
    /// What is wrong with the index.
    pub fn device(&self, id: &DeviceId) -> Result<Option<DeviceEntry>, Error> {
        self.input.run(|source| self.reader.device(source, id))
    }

    /// The series of a device, the time column of aligned measurements among them.
    #[must_use]
    pub fn series(&self, device: &DeviceEntry) -> SeriesIter<'_> {
        SeriesIter { file: self, cursor: self.reader.series_of(device), failed: false }
    }

    /// Finds one series of a device; the bloom filter is asked first.
    ///
    /// # Errors
    /// What is wrong with the index.
    pub fn find(&self, device: &DeviceId, measurement: &str) -> Result<Option<Series>, Error> {
        self.input.run(|source| self.reader.find(source, device, measurement))
    }

    /// Which chunks of a device hold rows of these columns (all of them by default) in a range of times.
    ///
    /// # Errors
    /// What is wrong with the index.
    pub fn plan(
        &self,
        device: &DeviceEntry,
        columns: Option<&[&str]>,
        range: TimeRange,
    ) -> Result<Plan, Error> {
        self.input.run(|source| Plan::new(&self.reader, source, device, columns, range))
    }

    /// Rows of a device: these columns (all of them by default) in a range of times. Pages are decoded on all
    /// threads.
    ///
    /// # Errors
    /// What is wrong with the index.
    pub fn rows(
        &self,
        device: &DeviceEntry,
        columns: Option<&[&str]>,
        range: TimeRange,
    ) -> Result<RowReader<'_>, Error> {
        Ok(self.read(self.plan(device, columns, range)?))
    }

    /// Count, first, last, smallest and largest of a column in a range of times, from statistics where the range
    /// covers a chunk or a page, else from its values. `None` when the device has no such column.
    ///
    /// # Errors
    /// What is wrong with the index, the chunks and pages.
    pub fn aggregate(
        &self,
        device: &DeviceEntry,
        column: &str,
        range: TimeRange,
        ask: Ask,
    ) -> Result<Option<Aggregate>, Error> {
        let plan = self.plan(device, Some(&[column]), range)?;
        if plan.fields.is_empty() {
            return Ok(None);
        }
        let mut aggregator = Aggregator::new(plan, ask);
        self.input.run(|source| aggregator.run(&self.reader, source, &Serial)).map(Some)
    }

    /// The rows of a plan.
    #[must_use]
    pub fn read(&self, mut plan: Plan) -> RowReader<'_> {
        let left_out = std::mem::take(&mut plan.left_out);
        let parallel = self.input.shared_map().filter(|_| parallel::width() > 1).cloned().map(Parallel::new);
        RowReader { file: self, rows: Rows::new(&self.reader, plan), left_out, parallel }
    }
}

/// A test of tags by a regular expression.
///
/// # Errors
/// When it is no regular expression.
pub fn matching(pattern: &str) -> Result<Test, regex::Error> {
    let regex = regex::Regex::new(pattern)?;
    Ok(Test::Matches(Arc::new(move |tag| regex.is_match(tag))))
}

/// Devices of a file. What is wrong with some of them hides no other: it goes on after an error.
pub struct Devices<'a> {
    file: &'a TsFile,
    cursor: DeviceCursor,
    failed: bool,
}

impl Iterator for Devices<'_> {
    type Item = Result<DeviceEntry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.file.input.run(|source| self.cursor.next(source));
        self.failed = matches!(next, Err(Error::Io(_)));
        next.transpose()
    }
}

/// Series of a device. What is wrong with some of them hides no other: it goes on after an error.
pub struct SeriesIter<'a> {
    file: &'a TsFile,
    cursor: SeriesCursor,
    failed: bool,
}

impl Iterator for SeriesIter<'_> {
    type Item = Result<Series, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let reader = &self.file.reader;
        let next = self.file.input.run(|source| self.cursor.next(source, &reader.metadata, reader.limits()));
        self.failed = matches!(next, Err(Error::Io(_)));
        next.transpose()
    }
}

/// Rows of a device as batches of columns.
pub struct RowReader<'a> {
    file: &'a TsFile,
    rows: Rows,
    left_out: Vec<core_codec::Error>,
    /// Where pages are decoded by several threads.
    parallel: Option<Parallel>,
}

impl RowReader<'_> {
    /// The columns of the batches.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        self.rows.fields()
    }

    /// Why columns are left out, as [`Plan::left_out`] says, and so far values of one among several columns; and which
    /// rows have come [late](core_codec::tsfile::query::LATE).
    #[must_use]
    pub fn left_out(&self) -> &[core_codec::Error] {
        &self.left_out
    }

    /// Decodes one page after another, on the calling thread alone.
    #[must_use]
    pub fn serial(mut self) -> Self {
        self.parallel = None;
        self
    }

    /// Replaces `batch` by the next rows; its memory is used again. `false` when there are no more.
    ///
    /// Pages of one among several columns that cannot be read are [left out](Self::left_out): their values are null.
    ///
    /// # Errors
    /// What is wrong with the times, or with the pages of the only column.
    pub fn next(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        let Self { file, rows, left_out, parallel } = self;
        let done = file.input.run(|source| match parallel {
            Some(parallel) => rows.next(&file.reader, source, parallel, batch),
            None => rows.next(&file.reader, source, &Serial, batch),
        });
        left_out.extend(rows.take_left_out());
        done
    }
}
