//! The data section read by its markers, without footer and index: for files that were never closed.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::error::{Error, ErrorKind};
use crate::limits::{Limits, check};
use crate::source::{Poll, Source, Stop};
use crate::tsfile::chunk::{Chunk, PageCursor, Role};
use crate::tsfile::device::{DeviceId, DeviceKey};
use crate::tsfile::file::TsFile;
use crate::tsfile::metadata::{DATA_START, Metadata, SEPARATOR, Version, read_head, read_tail};
use crate::tsfile::page::PageDecoder;
use crate::tsfile::series::{ChunkMetadata, Series, read_at};
use crate::tsfile::statistics::{Statistics, ValueStatistics};
use crate::tsfile::types::DataType;
use crate::tsfile::wire::{byte, int64};
use crate::tsfile::{Column, Values};

const CHUNK_GROUP: u8 = 0x00;
const PLAN_INDEX: u8 = 0x04;

/// A thing in the data section.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Entry {
    /// What follows belongs to this device.
    Group(DeviceId),
    /// A chunk of the last device.
    Chunk(Chunk),
    /// Smallest and largest plan index of what stands before.
    PlanIndex(i64, i64),
}

/// Goes through the data section by its markers.
#[derive(Clone, Debug)]
pub struct Scanner {
    version: Version,
    at: u64,
    done: bool,
    limits: Limits,
}

impl Scanner {
    /// Starts behind the version of a file.
    ///
    /// # Errors
    /// As [`read_head`].
    pub fn new<S: Source + ?Sized>(source: &S, limits: &Limits) -> Poll<Self> {
        Ok(Self { version: read_head(source)?, at: DATA_START, done: false, limits: limits.clone() })
    }

    /// Version of the file.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Where the next entry starts: all bytes before have been understood.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.at
    }

    /// The next entry; `None` at the separator that ends the data, at the end of the file, or where nothing but
    /// zeros follows, which a file system leaves behind when the power fails.
    ///
    /// # Errors
    /// What is wrong at the [`position`](Self::position); a chunk that is cut is [`ErrorKind::Truncated`].
    pub fn next<S: Source + ?Sized>(&mut self, source: &S) -> Poll<Option<Entry>> {
        let end = source.len();
        if self.done || self.at >= end {
            return Ok(None);
        }
        let marker = source.bytes(self.at..self.at + 1)?.first().copied().unwrap_or(SEPARATOR);
        match marker {
            SEPARATOR => {
                self.done = true;
                Ok(None)
            }
            CHUNK_GROUP if self.only_zeros(source)? => {
                self.done = true;
                Ok(None)
            }
            CHUNK_GROUP => {
                let version = self.version;
                let range = self.at + 1..end;
                let (id, next) = read_at(source, "chunk group header", range, &self.limits, |input| {
                    DeviceKey::parse(version, input).map(|(rest, key)| (rest, key.to_id()))
                })?;
                self.at = next;
                Ok(Some(Entry::Group(id)))
            }
            PLAN_INDEX => {
                let ((min, max), next) =
                    read_at(source, "plan index range", self.at..end, &self.limits, |input| {
                        let (rest, _) = byte(input)?;
                        let (rest, min) = int64(rest)?;
                        int64(rest).map(|(rest, max)| (rest, (min, max)))
                    })?;
                self.at = next;
                Ok(Some(Entry::PlanIndex(min, max)))
            }
            _ => {
                let chunk = Chunk::read(source, self.at, end, &self.limits)?;
                self.at = chunk.data.end;
                Ok(Some(Entry::Chunk(chunk)))
            }
        }
    }

    fn only_zeros<S: Source + ?Sized>(&self, source: &S) -> Poll<bool> {
        const PART: u64 = 1 << 16;
        let mut at = self.at;
        while at < source.len() {
            let end = source.len().min(at + PART);
            if source.bytes(at..end)?.iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
            at = end;
        }
        Ok(true)
    }
}

/// Series of a device, found by a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct ScannedDevice {
    /// The device.
    pub id: DeviceId,
    /// The time column of aligned measurements, if it has them.
    pub time: Option<Series>,
    /// Its measurements, in the order in which they appear.
    pub series: Vec<Series>,
}

/// Builds by a scan what the index of a closed file says: all devices, series and chunks with their statistics.
///
/// Pages of chunks that have only one are decoded for their times. Memory grows with the number of chunks, up to
/// the limit of entries.
pub struct Indexer {
    scanner: Scanner,
    file: TsFile,
    decoder: PageDecoder,
    devices: Vec<ScannedDevice>,
    places: BTreeMap<Vec<Option<Box<str>>>, usize>,
    current: Option<usize>,
    /// A chunk whose statistics are being worked out.
    pending: Option<(Chunk, PageCursor, Option<Statistics>)>,
    chunks: u64,
    damage: Option<Error>,
}

impl Indexer {
    /// Starts.
    ///
    /// # Errors
    /// As [`read_head`].
    pub fn new<S: Source + ?Sized>(source: &S, limits: &Limits) -> Poll<Self> {
        let scanner = Scanner::new(source, limits)?;
        // A file that was closed may name its encryption, tables and properties.
        let metadata = match read_tail(source, limits).and_then(|_| Metadata::read(source, limits)) {
            Ok(metadata) => metadata,
            Err(Stop::Need(ranges)) => return Err(Stop::Need(ranges)),
            Err(Stop::Error(_)) => Metadata {
                version: scanner.version(),
                range: source.len()..source.len(),
                roots: Vec::new(),
                tables: Vec::new(),
                meta_offset: source.len(),
                bloom: None,
                properties: Vec::new(),
            },
        };
        let file = TsFile::new(metadata, limits);
        Ok(Self {
            scanner,
            decoder: file.decoder(),
            file,
            devices: Vec::new(),
            places: BTreeMap::new(),
            current: None,
            pending: None,
            chunks: 0,
            damage: None,
        })
    }

    /// Gives the master key of an encrypted file.
    ///
    /// # Errors
    /// As [`TsFile::unlock`].
    #[cfg(feature = "aes")]
    pub fn unlock(&mut self, master: &[u8]) -> Result<(), Error> {
        self.file.unlock(master)?;
        self.decoder = self.file.decoder();
        Ok(())
    }

    /// Goes on to the end of the data, or to the first damage.
    ///
    /// # Errors
    /// [`Stop::Need`], and a limit that is passed; damage is told by [`finish`](Self::finish).
    pub fn run<S: Source + ?Sized>(&mut self, source: &S) -> Poll<()> {
        while self.damage.is_none() {
            match self.step(source) {
                Ok(true) => {}
                Ok(false) => break,
                Err(Stop::Error(error))
                    if matches!(error.kind(), ErrorKind::Limit { what: "chunks", .. }) =>
                {
                    return Err(error.into());
                }
                Err(Stop::Error(error)) => {
                    self.pending = None;
                    self.damage = Some(error);
                }
                Err(need) => return Err(need),
            }
        }
        Ok(())
    }

    /// The file, its devices, and what ended the scan before the end of the data.
    #[must_use]
    pub fn finish(self) -> (TsFile, Vec<ScannedDevice>, Option<Error>) {
        (self.file, self.devices, self.damage)
    }

    /// Where the data that was understood ends.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.pending.as_ref().map_or(self.scanner.position(), |(chunk, ..)| chunk.offset)
    }

    fn step<S: Source + ?Sized>(&mut self, source: &S) -> Poll<bool> {
        if self.pending.is_some() {
            self.describe(source)?;
            return Ok(true);
        }
        match self.scanner.next(source)? {
            None => return Ok(false),
            Some(Entry::PlanIndex(..)) => {}
            Some(Entry::Group(id)) => self.enter(id),
            Some(Entry::Chunk(chunk)) => {
                let place = Error::new("chunk", ErrorKind::Invalid("stands before any chunk group"));
                self.current.ok_or_else(|| place.at(chunk.offset))?;
                self.chunks += 1;
                check("chunks", self.chunks, self.file.limits().entries)
                    .map_err(|kind| Error::new("file", kind).at(chunk.offset))?;
                let pages = chunk.pages();
                self.pending = Some((chunk, pages, None));
            }
        }
        Ok(true)
    }

    fn enter(&mut self, id: DeviceId) {
        let devices = &mut self.devices;
        let place = *self.places.entry(id.segments().to_vec()).or_insert_with(|| {
            devices.push(ScannedDevice { id, time: None, series: Vec::new() });
            devices.len() - 1
        });
        self.current = Some(place);
    }

    /// Adds the next page of the pending chunk to its statistics, or files the chunk.
    fn describe<S: Source + ?Sized>(&mut self, source: &S) -> Poll<()> {
        let Some((chunk, pages, statistics)) = &mut self.pending else { return Ok(()) };
        let mut ahead = pages.clone();
        let Some(page) = ahead.next(source, self.file.limits())? else {
            let (chunk, _, statistics) = match self.pending.take() {
                Some(pending) => pending,
                None => return Ok(()),
            };
            self.file_chunk(&chunk, statistics);
            return Ok(());
        };
        let found = match &page.statistics {
            Some(found) => Some(found.clone()),
            None if page.uncompressed == 0 || chunk.role == Role::Value => None,
            None => {
                source.request(core::slice::from_ref(&page.payload))?;
                let mut times = Vec::new();
                match chunk.role {
                    Role::Time => self.decoder.times(source, chunk, &page, None, &mut times)?,
                    _ => {
                        let values = Values::new(chunk.dtype).unwrap_or(Values::Boolean(Vec::new()));
                        let mut column = Column { values, validity: Default::default() };
                        self.decoder.rows(source, chunk, &page, None, &mut times, &mut column)?;
                    }
                }
                let start = times.iter().min().copied();
                start.zip(times.iter().max().copied()).map(|(start, end)| Statistics {
                    count: times.len() as u32,
                    start,
                    end,
                    values: ValueStatistics::None,
                })
            }
        };
        if let Some(found) = found {
            *statistics = Some(match statistics.take() {
                None => Statistics { values: ValueStatistics::None, ..found },
                Some(all) => Statistics {
                    count: all.count.saturating_add(found.count),
                    start: all.start.min(found.start),
                    end: all.end.max(found.end),
                    values: ValueStatistics::None,
                },
            });
        }
        *pages = ahead;
        Ok(())
    }

    fn file_chunk(&mut self, chunk: &Chunk, statistics: Option<Statistics>) {
        let Some(device) = self.current.and_then(|current| self.devices.get_mut(current)) else { return };
        let meta = ChunkMetadata { offset: chunk.offset, statistics: statistics.clone() };
        let new = || Series {
            name: chunk.name.clone(),
            dtype: chunk.dtype,
            statistics: Statistics {
                count: 0,
                start: i64::MAX,
                end: i64::MIN,
                values: ValueStatistics::None,
            },
            chunks: Vec::new(),
        };
        let series = if chunk.role == Role::Time || chunk.dtype == DataType::Vector {
            device.time.get_or_insert_with(new)
        } else {
            match device.series.iter().position(|series| series.name == chunk.name) {
                Some(index) => &mut device.series[index],
                None => {
                    device.series.push(new());
                    let last = device.series.len() - 1;
                    &mut device.series[last]
                }
            }
        };
        if let Some(found) = statistics {
            let all = &mut series.statistics;
            all.count = all.count.saturating_add(found.count);
            all.start = all.start.min(found.start);
            all.end = all.end.max(found.end);
        }
        series.chunks.push(meta);
    }
}
