//! Rows of many devices.

use std::collections::{BTreeSet, VecDeque};
use std::mem;
use std::sync::Arc;

use core_codec::ErrorKind;
use core_codec::source::complete;
use core_codec::tsfile::query::{Batch, Field, Piece, Plan, Rows, Serial, TimeRange};
use core_codec::tsfile::{DeviceEntry, DeviceId, TsFile as Reader};

use super::{Devices, RowReader, TsFile};
use crate::error::Error;
use crate::parallel;

/// Devices that a thread reads before it hands them over.
const DEVICES: usize = 8;

/// A device of at most this many values is read as a whole; of a larger one the pages are decoded at once.
const SMALL: u64 = 1 << 16;

/// A batch, and whose rows they are.
#[derive(Clone, Debug)]
pub struct ScanBatch {
    /// The device.
    pub device: DeviceId,
    /// The columns of the batch: those of the query that the device has.
    pub fields: Vec<Field>,
    /// Its rows.
    pub batch: Batch,
}

impl Default for ScanBatch {
    fn default() -> Self {
        Self { device: DeviceId::new(Vec::new()), fields: Vec::new(), batch: Batch::default() }
    }
}

/// What has been read ahead of one device.
enum Ahead {
    Rows { device: DeviceId, fields: Vec<Field>, left_out: Vec<core_codec::Error>, batches: VecDeque<Batch> },
    Large { device: DeviceEntry, plan: Plan },
}

/// What has been read of some devices, in order.
type Group = VecDeque<Result<Ahead, Error>>;

/// What reading a device takes, used again for the next: memory that is new costs more than decoding into it, and what
/// one thread frees another has to ask for.
#[derive(Default)]
struct Memory {
    rows: Option<Rows>,
    batches: Vec<Batch>,
}

/// Batches that are kept for later.
const SPARE: usize = 4 * DEVICES;

/// What is asked of each device.
struct Query {
    columns: Option<Vec<String>>,
    range: TimeRange,
}

/// Rows of all devices, or those of one table, that pass a filter.
pub struct Scan<'a> {
    file: &'a TsFile,
    devices: Devices<'a>,
    query: Arc<Query>,
    filter: Box<dyn Fn(&DeviceId) -> bool + 'a>,
    /// Groups that threads are reading.
    reading: VecDeque<Box<dyn FnOnce() -> (Group, Memory) + Send>>,
    /// Of groups that have been read.
    memories: Vec<Memory>,
    /// Batches that have been given.
    spare: Vec<Batch>,
    ahead: Group,
    large: Option<(DeviceId, RowReader<'a>)>,
    left_out: BTreeSet<String>,
}

impl TsFile {
    /// Rows of all devices or those of one table, device by device in the order of the index: these columns (all
    /// of them by default) in a range of times.
    #[must_use]
    pub fn scan<'a>(
        &'a self,
        table: Option<&str>,
        columns: Option<&[&str]>,
        range: TimeRange,
        filter: impl Fn(&DeviceId) -> bool + 'a,
    ) -> Scan<'a> {
        Scan {
            file: self,
            devices: self.devices(table),
            query: Arc::new(Query {
                columns: columns.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
                range,
            }),
            filter: Box::new(filter),
            reading: VecDeque::new(),
            memories: Vec::new(),
            spare: Vec::new(),
            ahead: VecDeque::new(),
            large: None,
            left_out: BTreeSet::new(),
        }
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<ScanBatch, Error>;

    /// The next rows. After an error there is nothing more.
    fn next(&mut self) -> Option<Self::Item> {
        let mut batch = ScanBatch::default();
        match self.read(&mut batch) {
            Ok(true) => Some(Ok(batch)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl Scan<'_> {
    /// Why columns that were not named, and values of one among several columns, have been left out so far.
    pub fn left_out(&self) -> impl Iterator<Item = &str> {
        self.left_out.iter().map(String::as_str)
    }

    /// Replaces `into` by the next rows; its memory is used again, which the iterator cannot. `false` when there
    /// are no more.
    ///
    /// # Errors
    /// What is wrong with the file. After an error there is nothing more.
    pub fn read(&mut self, into: &mut ScanBatch) -> Result<bool, Error> {
        let done = self.advance(into);
        if done.is_err() {
            self.devices.failed = true;
            self.reading.clear();
            self.ahead.clear();
            self.large = None;
        }
        done
    }

    fn advance(&mut self, into: &mut ScanBatch) -> Result<bool, Error> {
        loop {
            if let Some((device, rows)) = &mut self.large {
                let more = rows.next(&mut into.batch)?;
                self.left_out.extend(rows.left_out().iter().map(ToString::to_string));
                if more {
                    if into.device != *device {
                        into.device = device.clone();
                        into.fields = rows.fields().to_vec();
                    }
                    return Ok(true);
                }
                self.large = None;
            }
            match self.ahead.pop_front() {
                Some(Err(error)) => return Err(error),
                Some(Ok(Ahead::Large { device, plan })) => {
                    self.large = Some((device.id, self.file.read(plan)));
                    // Fields are of the batch before.
                    into.device = DeviceId::new(Vec::new());
                }
                Some(Ok(Ahead::Rows { device, fields, left_out, mut batches })) => {
                    self.left_out.extend(left_out.iter().map(ToString::to_string));
                    let Some(batch) = batches.pop_front() else { continue };
                    self.spare.push(mem::replace(&mut into.batch, batch));
                    (into.device, into.fields) = (device.clone(), fields.clone());
                    if !batches.is_empty() {
                        let left_out = Vec::new();
                        self.ahead.push_front(Ok(Ahead::Rows { device, fields, left_out, batches }));
                    }
                    return Ok(true);
                }
                None if self.read_ahead() => {}
                None => return Ok(false),
            }
        }
    }

    /// Reads the next devices. Says whether there were any.
    fn read_ahead(&mut self) -> bool {
        let threads = rayon::current_num_threads();
        let Some(map) = self.file.input.shared_map().filter(|_| threads > 1) else {
            let next = self.entries(1).pop();
            let mut memory = self.memory();
            self.ahead.extend(next.map(|device| self.query.read(self.file, device?, &mut memory)));
            self.memories.push(memory);
            return !self.ahead.is_empty();
        };
        // A group is work for long enough: one more of them waiting would only push what is in the caches out of them.
        while self.reading.len() < threads {
            let entries = self.entries(DEVICES);
            if entries.is_empty() {
                break;
            }
            let (reader, map, query) = (self.file.reader.clone(), map.clone(), self.query.clone());
            let mut memory = self.memory();
            self.reading.push_back(parallel::start(move || {
                let read = |device: Result<_, _>| query.read_mapped(&reader, &map, device?, &mut memory);
                (entries.into_iter().map(read).collect(), memory)
            }));
        }
        let Some(wait) = self.reading.pop_front() else { return false };
        let (group, memory) = wait();
        self.memories.push(memory);
        self.ahead = group;
        !self.ahead.is_empty()
    }

    /// Memory that is not in use.
    fn memory(&mut self) -> Memory {
        let mut memory = self.memories.pop().unwrap_or_default();
        memory.batches.append(&mut self.spare);
        memory.batches.truncate(SPARE);
        memory
    }

    /// The next devices that pass the filter.
    fn entries(&mut self, most: usize) -> Vec<Result<DeviceEntry, Error>> {
        let Self { devices, filter, .. } = self;
        let wanted = devices.filter(|device| device.as_ref().map_or(true, |device| filter(&device.id)));
        wanted.take(most).collect()
    }
}

impl Query {
    fn columns(&self) -> Option<Vec<&str>> {
        self.columns.as_ref().map(|names| names.iter().map(String::as_str).collect())
    }

    fn read(&self, file: &TsFile, device: DeviceEntry, memory: &mut Memory) -> Result<Ahead, Error> {
        match file.input.mapped() {
            Some(bytes) => self.read_mapped(&file.reader, bytes, device, memory),
            None => {
                let plan = file.plan(&device, self.columns().as_deref(), self.range)?;
                Ok(Ahead::Large { device, plan })
            }
        }
    }

    /// Reads a small device, and plans a large one.
    fn read_mapped(
        &self,
        reader: &Reader,
        bytes: &[u8],
        device: DeviceEntry,
        memory: &mut Memory,
    ) -> Result<Ahead, Error> {
        let plan = complete(Plan::new(reader, bytes, &device, self.columns().as_deref(), self.range))?;
        if plan.pieces.iter().map(values).fold(0, u64::saturating_add) > SMALL {
            return Ok(Ahead::Large { device, plan });
        }
        let (fields, mut left_out) = (plan.fields.clone(), plan.left_out.clone());
        let rows = match &mut memory.rows {
            Some(rows) => {
                rows.restart(reader, plan);
                rows
            }
            none => none.insert(Rows::new(reader, plan)),
        };
        let (mut batches, mut found) = (VecDeque::new(), 0);
        loop {
            let mut batch = memory.batches.pop().unwrap_or_default();
            if !complete(rows.next(reader, bytes, &Serial, &mut batch))? {
                memory.batches.push(batch);
                left_out.extend(rows.take_left_out());
                return Ok(Ahead::Rows { device: device.id, fields, left_out, batches });
            }
            found += batch.rows() as u64 * batch.columns.len() as u64;
            if found > 4 * SMALL {
                let kind =
                    ErrorKind::Invalid("pages hold far more values than the statistics of their chunks say");
                return Err(core_codec::Error::new("chunk", kind).item(device.id.to_string()).into());
            }
            batches.push_back(batch);
        }
    }
}

/// Values of a piece by its statistics; many where there are none.
fn values(piece: &Piece) -> u64 {
    let time = piece.time.as_ref().and_then(|chunk| chunk.statistics.as_ref());
    let column = piece.columns.first().and_then(|(_, chunk)| chunk.statistics.as_ref());
    let rows = time.or(column).map_or(SMALL, |statistics| u64::from(statistics.count));
    rows.saturating_mul(piece.columns.len() as u64)
}
