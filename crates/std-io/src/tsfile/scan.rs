//! Rows of many devices.

use std::collections::{BTreeSet, VecDeque};

use core_codec::ErrorKind;
use core_codec::source::complete;
use core_codec::tsfile::query::{Batch, Field, Plan, Rows, Serial, TimeRange};
use core_codec::tsfile::{DeviceEntry, DeviceId};
use rayon::prelude::*;

use super::{Devices, RowReader, TsFile};
use crate::error::Error;

/// Devices that are read at once, for each thread.
const DEVICES_A_THREAD: usize = 8;

/// A device of at most this many values is read as a whole, several of them at once; of a larger one the pages
/// are decoded at once.
const SMALL: u64 = 1 << 18;

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

/// Rows of all devices, or those of one table, that pass a filter.
pub struct Scan<'a> {
    file: &'a TsFile,
    devices: Devices<'a>,
    columns: Option<Vec<String>>,
    range: TimeRange,
    filter: Box<dyn Fn(&DeviceId) -> bool + 'a>,
    ahead: VecDeque<Result<Ahead, Error>>,
    large: Option<(DeviceId, RowReader<'a>)>,
    left_out: BTreeSet<String>,
    width: usize,
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
            columns: columns.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
            range,
            filter: Box::new(filter),
            ahead: VecDeque::new(),
            large: None,
            left_out: BTreeSet::new(),
            width: match rayon::current_num_threads() {
                1 => 1,
                threads => threads * DEVICES_A_THREAD,
            },
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
    /// Why columns that were not named have been left out so far.
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
            self.ahead.clear();
            self.large = None;
        }
        done
    }

    fn advance(&mut self, into: &mut ScanBatch) -> Result<bool, Error> {
        loop {
            if let Some((device, rows)) = &mut self.large {
                if rows.next(&mut into.batch)? {
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
                    self.left_out.extend(plan.left_out.iter().map(ToString::to_string));
                    self.large = Some((device.id, self.file.read(plan)));
                    // Fields are of the batch before.
                    into.device = DeviceId::new(Vec::new());
                }
                Some(Ok(Ahead::Rows { device, fields, left_out, mut batches })) => {
                    self.left_out.extend(left_out.iter().map(ToString::to_string));
                    let Some(batch) = batches.pop_front() else { continue };
                    *into = ScanBatch { device: device.clone(), fields: fields.clone(), batch };
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
        let Self { file, devices, columns, range, filter, ahead, width, .. } = self;
        let mut entries = Vec::new();
        let wanted = devices.filter(|device| device.as_ref().map_or(true, |device| filter(&device.id)));
        for device in wanted.take(*width) {
            entries.push(device);
        }
        let columns: Option<Vec<&str>> =
            columns.as_ref().map(|names| names.iter().map(String::as_str).collect());
        let read = |device: Result<DeviceEntry, Error>| file.read_device(device?, columns.as_deref(), *range);
        if entries.len() > 1 && file.input.is_map() {
            ahead.extend(entries.into_par_iter().map(read).collect::<Vec<_>>());
        } else {
            ahead.extend(entries.into_iter().map(read));
        }
        !ahead.is_empty()
    }
}

impl TsFile {
    fn read_device(
        &self,
        device: DeviceEntry,
        columns: Option<&[&str]>,
        range: TimeRange,
    ) -> Result<Ahead, Error> {
        let plan = self.plan(&device, columns, range)?;
        let statistics = |piece: &core_codec::tsfile::query::Piece| {
            let time = piece.time.as_ref().and_then(|chunk| chunk.statistics.as_ref());
            let column = piece.columns.first().and_then(|(_, chunk)| chunk.statistics.as_ref());
            let rows = time.or(column).map(|statistics| u64::from(statistics.count));
            rows.unwrap_or(SMALL).saturating_mul(piece.columns.len() as u64)
        };
        let values: u64 = plan.pieces.iter().map(statistics).sum();
        let bytes = match self.input.mapped() {
            Some(bytes) if values <= SMALL => bytes,
            _ => return Ok(Ahead::Large { device, plan }),
        };
        let (fields, left_out) = (plan.fields.clone(), plan.left_out.clone());
        let mut rows = Rows::new(&self.reader, plan);
        let (mut batches, mut found) = (VecDeque::new(), 0);
        loop {
            let mut batch = Batch::default();
            if !complete(rows.next(&self.reader, bytes, &Serial, &mut batch))? {
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
