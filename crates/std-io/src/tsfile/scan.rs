//! Rows of many devices.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::Arc;

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

/// Bytes of the rows of a device that is read as a whole, however many values these are.
const SMALL_BYTES: usize = 2 << 20;

/// What has been read ahead of one device.
enum Ahead {
    Rows(Whole),
    Large {
        device: DeviceEntry,
        plan: Plan,
    },
    /// The device, or the index, if that is what cannot be read.
    Failed(Option<DeviceId>, Error),
}

/// A device of which all rows have been read, or all before it cannot be read.
struct Whole {
    device: DeviceId,
    fields: Vec<Field>,
    left_out: Vec<core_codec::Error>,
    batches: VecDeque<Batch>,
    error: Option<Error>,
}

/// What has been read of some devices, in order.
type Group = VecDeque<Ahead>;

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
#[derive(Clone)]
struct Query {
    columns: Option<Vec<String>>,
    range: TimeRange,
    any_order: bool,
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
    /// By their texts.
    left_out: BTreeMap<String, core_codec::Error>,
    failed: Option<DeviceId>,
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
                any_order: false,
            }),
            filter: Box::new(filter),
            reading: VecDeque::new(),
            memories: Vec::new(),
            spare: Vec::new(),
            ahead: VecDeque::new(),
            large: None,
            left_out: BTreeMap::new(),
            failed: None,
        }
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<ScanBatch, Error>;

    /// As [`read`](Scan::read), into memory that is new.
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
    /// Of each device, gives also rows that come late, as [`Plan::any_order`] says; [`left_out`](Self::left_out) tells of
    /// them.
    #[must_use]
    pub fn any_order(mut self) -> Self {
        Arc::make_mut(&mut self.query).any_order = true;
        self
    }

    /// Why columns that were not named, and values of one among several columns, have been left out so far.
    pub fn left_out(&self) -> impl Iterator<Item = &core_codec::Error> {
        self.left_out.values()
    }

    /// The device that the last error is about; `None` where it is about the index.
    #[must_use]
    pub fn failed(&self) -> Option<&DeviceId> {
        self.failed.as_ref()
    }

    /// Replaces `into` by the next rows; its memory is used again, which the iterator cannot. `false` when there
    /// are no more.
    ///
    /// # Errors
    /// What is wrong with a device: the next call goes on with the one after it. After an error of the input there
    /// is nothing more.
    pub fn read(&mut self, into: &mut ScanBatch) -> Result<bool, Error> {
        let done = self.advance(into);
        if matches!(done, Err(Error::Io(_))) {
            self.devices.failed = true;
            self.reading.clear();
            self.ahead.clear();
        }
        done
    }

    fn advance(&mut self, into: &mut ScanBatch) -> Result<bool, Error> {
        loop {
            if let Some((device, mut rows)) = self.large.take() {
                let more = rows.next(&mut into.batch);
                self.leave_out(rows.left_out());
                match more {
                    Ok(true) => {
                        if into.device != device {
                            into.device = device.clone();
                            into.fields = rows.fields().to_vec();
                        }
                        self.large = Some((device, rows));
                        return Ok(true);
                    }
                    Ok(false) => {}
                    Err(error) => return self.fail(Some(device), error),
                }
            }
            match self.ahead.pop_front() {
                Some(Ahead::Failed(device, error)) => return self.fail(device, error),
                Some(Ahead::Large { device, plan }) => {
                    self.large = Some((device.id, self.file.read(plan)));
                    // Fields are of the batch before.
                    into.device = DeviceId::new(Vec::new());
                }
                Some(Ahead::Rows(mut whole)) => {
                    self.leave_out(&whole.left_out);
                    whole.left_out.clear();
                    let Some(batch) = whole.batches.pop_front() else {
                        match whole.error {
                            Some(error) => return self.fail(Some(whole.device), error),
                            None => continue,
                        }
                    };
                    self.keep(mem::replace(&mut into.batch, batch));
                    (into.device, into.fields) = (whole.device.clone(), whole.fields.clone());
                    if !whole.batches.is_empty() || whole.error.is_some() {
                        self.ahead.push_front(Ahead::Rows(whole));
                    }
                    return Ok(true);
                }
                None if self.read_ahead() => {}
                None => return Ok(false),
            }
        }
    }

    fn fail(&mut self, device: Option<DeviceId>, error: Error) -> Result<bool, Error> {
        self.failed = device;
        Err(error)
    }

    fn leave_out(&mut self, errors: &[core_codec::Error]) {
        self.left_out.extend(errors.iter().map(|error| (error.to_string(), error.clone())));
    }

    /// Keeps the memory of a batch, unless it is much.
    fn keep(&mut self, batch: Batch) {
        if batch.held() <= SMALL_BYTES {
            self.spare.push(batch);
        }
    }

    /// Reads the next devices. Says whether there were any.
    fn read_ahead(&mut self) -> bool {
        let threads = rayon::current_num_threads();
        let Some(map) = self.file.input.shared_map().filter(|_| threads > 1) else {
            let next = self.entries(1).pop();
            let mut memory = self.memory();
            self.ahead.extend(next.map(|device| self.query.read(self.file, device, &mut memory)));
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
                let read = |device: Result<_, _>| query.read_mapped(&reader, &map, device, &mut memory);
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

    fn ordered(&self, plan: Plan) -> Plan {
        Plan { any_order: self.any_order, ..plan }
    }

    fn read(&self, file: &TsFile, device: Result<DeviceEntry, Error>, memory: &mut Memory) -> Ahead {
        if let Some(bytes) = file.input.mapped() {
            return self.read_mapped(&file.reader, bytes, device, memory);
        }
        let plan = |device: &DeviceEntry| {
            let plan = file.plan(device, self.columns().as_deref(), self.range);
            plan.map(|plan| self.ordered(plan))
        };
        match device.map(|device| (plan(&device), device)) {
            Ok((Ok(plan), device)) => Ahead::Large { device, plan },
            Ok((Err(error), device)) => Ahead::Failed(Some(device.id), error),
            Err(error) => Ahead::Failed(None, error),
        }
    }

    /// Reads a small device, and plans a large one.
    fn read_mapped(
        &self,
        reader: &Reader,
        bytes: &[u8],
        device: Result<DeviceEntry, Error>,
        memory: &mut Memory,
    ) -> Ahead {
        let device = match device {
            Ok(device) => device,
            Err(error) => return Ahead::Failed(None, error),
        };
        let plan = || {
            let plan = Plan::new(reader, bytes, &device, self.columns().as_deref(), self.range);
            complete(plan).map(|plan| self.ordered(plan))
        };
        let found = plan().and_then(|found| {
            if found.pieces.iter().map(values).fold(0, u64::saturating_add) > SMALL {
                return Ok(Err(found));
            }
            match whole(reader, bytes, &device, found, memory) {
                Some(whole) => Ok(Ok(whole)),
                None => plan().map(Err),
            }
        });
        match found {
            Ok(Ok(whole)) => Ahead::Rows(whole),
            Ok(Err(plan)) => Ahead::Large { device, plan },
            Err(error) => Ahead::Failed(Some(device.id), error.into()),
        }
    }
}

/// Reads all rows of a device; `None` where they are larger than their number lets expect.
fn whole(
    reader: &Reader,
    bytes: &[u8],
    device: &DeviceEntry,
    plan: Plan,
    memory: &mut Memory,
) -> Option<Whole> {
    let (fields, mut left_out) = (plan.fields.clone(), plan.left_out.clone());
    let rows = match &mut memory.rows {
        Some(rows) => {
            rows.restart(reader, plan);
            rows
        }
        none => none.insert(Rows::new(reader, plan)),
    };
    let (mut batches, mut held) = (VecDeque::new(), 0);
    let error = loop {
        let mut batch = memory.batches.pop().unwrap_or_default();
        match complete(rows.next(reader, bytes, &Serial, &mut batch)) {
            Ok(true) => {}
            end => {
                memory.batches.push(batch);
                break end.err();
            }
        }
        held += batch.held();
        if held > SMALL_BYTES {
            return None;
        }
        batches.push_back(batch);
    };
    left_out.extend(rows.take_left_out());
    Some(Whole { device: device.id.clone(), fields, left_out, batches, error: error.map(Error::from) })
}

/// Values of a piece by its statistics; many where there are none.
fn values(piece: &Piece) -> u64 {
    let time = piece.time.as_ref().and_then(|chunk| chunk.statistics.as_ref());
    let column = piece.columns.first().and_then(|(_, chunk)| chunk.statistics.as_ref());
    let rows = time.or(column).map_or(SMALL, |statistics| u64::from(statistics.count));
    rows.saturating_mul(piece.columns.len() as u64)
}
