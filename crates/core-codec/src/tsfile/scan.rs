//! The data section read by its markers, without footer and index: for files that were never closed.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::error::{Error, ErrorKind};
use crate::limits::{Limits, check};
use crate::source::{Poll, Source, Stop};
use crate::tsfile::chunk::{Chunk, Page, PageCursor, Role};
use crate::tsfile::device::{DeviceId, DeviceKey};
#[cfg(feature = "aes")]
use crate::tsfile::encryption::PageKey;
use crate::tsfile::file::TsFile;
use crate::tsfile::metadata::{DATA_START, Metadata, SEPARATOR, Version, read_head};
use crate::tsfile::page::PageDecoder;
use crate::tsfile::series::{ChunkMetadata, Series, read_at};
use crate::tsfile::statistics::{Statistics, ValueStatistics};
use crate::tsfile::wire::{byte, int64};
use crate::tsfile::{Bitmap, Column, Values};

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
    /// Its series, in the order in which they appear; the time column of aligned measurements is among them.
    pub series: Vec<Series>,
}

/// Builds by a scan what the index of a closed file says: all devices, series and chunks with their statistics.
///
/// Pages without statistics of their own are decoded. Memory grows with the number of chunks, up to the limit of
/// entries.
pub struct Indexer {
    scanner: Scanner,
    file: TsFile,
    decoder: PageDecoder,
    devices: Vec<ScannedDevice>,
    places: BTreeMap<Vec<Option<Box<str>>>, usize>,
    /// Place of a series in its device, by the place of the device and its name.
    series: BTreeMap<(usize, Box<str>), usize>,
    current: Option<usize>,
    /// A chunk whose statistics are being worked out.
    pending: Option<Pending>,
    /// Times of the last time chunk, if it has only one page.
    times: Vec<i64>,
    chunks: u64,
    damage: Option<Error>,
}

struct Pending {
    chunk: Chunk,
    pages: PageCursor,
    /// Of the pages so far.
    statistics: Option<Statistics>,
}

impl Indexer {
    /// Starts.
    ///
    /// # Errors
    /// As [`read_head`].
    pub fn new<S: Source + ?Sized>(source: &S, limits: &Limits) -> Poll<Self> {
        let scanner = Scanner::new(source, limits)?;
        // A file that was closed may name its encryption, tables and properties.
        let metadata = match Metadata::read(source, limits) {
            Ok(metadata) => Metadata { roots: Vec::new(), bloom: None, ..metadata },
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
            series: BTreeMap::new(),
            current: None,
            pending: None,
            times: Vec::new(),
            chunks: 0,
            damage: None,
        })
    }

    /// Gives the master key of an encrypted file. A file without footer does not say whether it is encrypted: it
    /// is taken to be.
    ///
    /// # Errors
    /// As [`TsFile::unlock`].
    #[cfg(feature = "aes")]
    pub fn unlock(&mut self, master: &[u8]) -> Result<(), Error> {
        if self.file.metadata.range.is_empty() {
            self.file.set_key(PageKey::derive(master)?);
        } else {
            self.file.unlock(master)?;
        }
        self.decoder = self.file.decoder();
        Ok(())
    }

    /// Goes on to the end of the data, or to the first damage.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn run<S: Source + ?Sized>(&mut self, source: &S) -> Poll<()> {
        while self.step(source)? {}
        Ok(())
    }

    /// Takes in the next thing of the data section. `false` at the end of the data and at the first damage.
    ///
    /// # Errors
    /// [`Stop::Need`], and a limit that is passed; damage is told by [`finish`](Self::finish).
    pub fn step<S: Source + ?Sized>(&mut self, source: &S) -> Poll<bool> {
        if self.damage.is_some() {
            return Ok(false);
        }
        match self.advance(source) {
            Err(Stop::Error(error)) if !matches!(error.kind(), ErrorKind::Limit { what: "chunks", .. }) => {
                self.damage = Some(error);
                Ok(false)
            }
            other => other,
        }
    }

    /// The file, whose index is what was found, and what ended the scan before the end of the data.
    #[must_use]
    pub fn finish(self) -> (TsFile, Option<Error>) {
        let end = self.position();
        let Self { mut file, devices, damage, .. } = self;
        file.set_scanned(devices, end);
        (file, damage)
    }

    /// Where the data that was understood ends.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.pending.as_ref().map_or(self.scanner.position(), |pending| pending.chunk.offset)
    }

    fn advance<S: Source + ?Sized>(&mut self, source: &S) -> Poll<bool> {
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
                self.pending = Some(Pending { chunk, pages, statistics: None });
            }
        }
        Ok(true)
    }

    fn enter(&mut self, id: DeviceId) {
        let devices = &mut self.devices;
        let place = *self.places.entry(id.segments().to_vec()).or_insert_with(|| {
            devices.push(ScannedDevice { id, series: Vec::new() });
            devices.len() - 1
        });
        self.current = Some(place);
        self.times.clear();
    }

    /// Adds the next page of the pending chunk to its statistics, or files the chunk.
    ///
    /// A page that cannot be read leaves the chunk without statistics: where the next chunk starts is known, and
    /// whoever reads this one is told.
    fn describe<S: Source + ?Sized>(&mut self, source: &S) -> Poll<()> {
        let Some(pending) = &self.pending else { return Ok(()) };
        let mut pages = pending.pages.clone();
        let found = match pages.next(source, self.file.limits()) {
            Ok(Some(page)) => self.page(source, &page).map(Some),
            Ok(None) => Ok(None),
            Err(stop) => Err(stop),
        };
        match (found, &mut self.pending) {
            (Err(Stop::Need(ranges)), _) => return Err(Stop::Need(ranges)),
            (Ok(Some(found)), Some(pending)) => {
                pending.statistics = joined(pending.statistics.take(), found);
                pending.pages = pages;
            }
            (Ok(None), _) => self.file_chunk(false),
            (Err(Stop::Error(_)), _) | (Ok(Some(_)), None) => self.file_chunk(true),
        }
        Ok(())
    }

    /// Count and times of a page of the pending chunk: as it says, or by decoding it. `None` for one without
    /// values.
    fn page<S: Source + ?Sized>(&mut self, source: &S, page: &Page) -> Poll<Option<Statistics>> {
        let Self { pending, decoder, times: last, .. } = self;
        let Some(Pending { chunk, .. }) = pending else { return Ok(None) };
        if page.statistics.is_some() || page.uncompressed == 0 {
            return Ok(page.statistics.clone());
        }
        source.request(core::slice::from_ref(&page.payload))?;
        let values = Values::new(chunk.dtype).unwrap_or(Values::Boolean(Vec::new()));
        let mut column = Column { values, validity: Bitmap::default() };
        let mut times = Vec::new();
        match chunk.role {
            Role::Time => {
                last.clear();
                decoder.times(source, chunk, page, None, &mut times)?;
                last.clone_from(&times);
            }
            Role::Value => {
                decoder.values(source, chunk, page, None, last.len(), &mut column)?;
                let present = last.iter().enumerate().filter(|&(row, _)| column.validity.get(row));
                times.extend(present.map(|(_, time)| time));
            }
            Role::Plain => {
                // Values that cannot be read have times all the same.
                let read = decoder.rows(source, chunk, page, None, &mut times, &mut column);
                if times.is_empty() {
                    read?;
                }
            }
        }
        let ends = times.iter().min().copied().zip(times.iter().max().copied());
        let count = times.len() as u32;
        Ok(ends.map(|(start, end)| Statistics { count, start, end, values: ValueStatistics::None }))
    }

    /// Files the pending chunk under its device and name.
    fn file_chunk(&mut self, unreadable: bool) {
        let Some(Pending { chunk, statistics, .. }) = self.pending.take() else { return };
        let Some(place) = self.current else { return };
        let Some(device) = self.devices.get_mut(place) else { return };
        let index = *self.series.entry((place, chunk.name.clone())).or_insert_with(|| {
            let statistics =
                Statistics { count: 0, start: i64::MAX, end: i64::MIN, values: ValueStatistics::None };
            let (name, dtype) = (chunk.name.clone(), chunk.dtype);
            device.series.push(Series { name, dtype, statistics, chunks: Vec::new() });
            device.series.len() - 1
        });
        let Some(series) = device.series.get_mut(index) else { return };
        if let Some(found) = &statistics {
            let all = &mut series.statistics;
            all.count = all.count.saturating_add(found.count);
            all.start = all.start.min(found.start);
            all.end = all.end.max(found.end);
        }
        let statistics = statistics.filter(|_| !unreadable);
        series.chunks.push(ChunkMetadata { offset: chunk.offset, statistics });
    }
}

/// Count and times of the pages before and of one more.
fn joined(all: Option<Statistics>, page: Option<Statistics>) -> Option<Statistics> {
    let Some(page) = page else { return all };
    let (count, start, end) = match all {
        None => (page.count, page.start, page.end),
        Some(all) => (all.count.saturating_add(page.count), all.start.min(page.start), all.end.max(page.end)),
    };
    Some(Statistics { count, start, end, values: ValueStatistics::None })
}
