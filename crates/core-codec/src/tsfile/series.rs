//! `TimeseriesMetadata`: what the index says of a series, and where its chunks are.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use crate::error::{Error, ErrorKind};
use crate::limits::{Limits, check};
use crate::source::{Poll, Source, Stop};
use crate::tsfile::index::{DeviceEntry, RecordCursor, find_records};
use crate::tsfile::metadata::{DATA_START, Metadata, data_type};
use crate::tsfile::statistics::Statistics;
use crate::tsfile::types::DataType;
use crate::tsfile::wire::{byte, int64, put_var_string, uvarint, var_string};
use crate::wire::{Parsed, parse};

/// Where a chunk is and what it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkMetadata {
    /// Offset of the chunk's marker.
    pub offset: u64,
    /// Its statistics. `None` when the file has no index and the chunk several pages.
    pub statistics: Option<Statistics>,
}

/// A series of the index.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the measurement; empty for the time column of aligned measurements.
    pub name: Box<str>,
    /// Type of its values.
    pub dtype: DataType,
    /// Of all its chunks.
    pub statistics: Statistics,
    /// Its chunks, in the order of the index.
    pub chunks: Vec<ChunkMetadata>,
}

impl Series {
    /// Whether it is the time column of aligned measurements. The C++ writer does not set the role bits of the
    /// record, so only type and name can tell.
    #[must_use]
    pub fn is_time(&self) -> bool {
        self.dtype == DataType::Vector || self.name.is_empty()
    }
}

/// Bytes that a structure of unknown length is first tried with.
pub(crate) const FIRST_READ: u64 = 512;

/// Parses a structure of unknown length at `offset`, from as few bytes as it takes.
///
/// Returns the value and the offset of the first byte behind it.
pub(crate) fn read_at<S: Source + ?Sized, T>(
    source: &S,
    structure: &'static str,
    range: Range<u64>,
    limits: &Limits,
    parser: impl for<'a> Fn(&'a [u8]) -> Parsed<'a, T>,
) -> Poll<(T, u64)> {
    let mut size = FIRST_READ;
    loop {
        let end = range.start.saturating_add(size).min(range.end);
        let bytes = source.bytes(range.start..end)?;
        match parse(structure, range.start, bytes, &parser) {
            Ok((rest, value)) => return Ok((value, end - rest.len() as u64)),
            Err(error) => match error.kind() {
                ErrorKind::Truncated { .. } if end < range.end && size < limits.metadata_bytes => size *= 8,
                _ => return Err(error.into()),
            },
        }
    }
}

struct Record {
    name: Box<str>,
    dtype: DataType,
    list_bytes: u32,
    own_statistics: bool,
    statistics: Statistics,
}

fn record(input: &[u8]) -> Parsed<'_, Record> {
    let (rest, kind) = byte(input)?;
    let (rest, name) = var_string(rest)?;
    let (rest, dtype) = data_type(rest)?;
    let (rest, list_bytes) = uvarint(rest)?;
    let (rest, statistics) = Statistics::parse(dtype, rest)?;
    let name = name.unwrap_or("").into();
    Ok((rest, Record { name, dtype, list_bytes, own_statistics: kind & 0x3f != 0, statistics }))
}

fn chunk_metadata(input: &[u8], dtype: DataType, own: bool) -> Parsed<'_, (u64, Option<Statistics>)> {
    let (mut rest, offset) = int64(input)?;
    let mut statistics = None;
    if own {
        let found;
        (rest, found) = Statistics::parse(dtype, rest)?;
        statistics = Some(found);
    }
    Ok((rest, (offset as u64, statistics)))
}

/// Reads the record that starts at `range.start`, and says where its list of chunks is.
fn read_record<S: Source + ?Sized>(
    source: &S,
    limits: &Limits,
    range: Range<u64>,
) -> Poll<(Record, Range<u64>)> {
    let (record, start) = read_at(source, "timeseries metadata", range.clone(), limits, record)?;
    let (needed, available) = (u64::from(record.list_bytes), range.end - start);
    if needed > available {
        let kind = ErrorKind::Truncated { needed, available };
        return Err(Error::new("chunk metadata list", kind).at(start).item(record.name).into());
    }
    Ok((record, start..start + needed))
}

/// Reads the list of chunks of a record.
fn read_chunks<S: Source + ?Sized>(
    source: &S,
    metadata: &Metadata,
    limits: &Limits,
    record: Record,
    list: Range<u64>,
) -> Poll<Series> {
    let Record { name, dtype, statistics, own_statistics, .. } = record;
    let fail = |kind, at| Error::new("chunk metadata list", kind).at(at).item(name.clone());
    check("bytes", list.end - list.start, limits.item_bytes).map_err(|kind| fail(kind, list.start))?;
    let mut rest = source.bytes(list.clone())?;
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let at = list.end - rest.len() as u64;
        let chunk = parse("chunk metadata", at, rest, |input| chunk_metadata(input, dtype, own_statistics));
        let (after, (offset, own)) = chunk.map_err(|error| error.item(name.clone()))?;
        if !(DATA_START..metadata.meta_offset).contains(&offset) {
            let (min, max) = (DATA_START, metadata.meta_offset - 1);
            return Err(fail(
                ErrorKind::OutOfRange { what: "offset of a chunk", min, max, found: offset },
                at,
            )
            .into());
        }
        check("chunks", chunks.len() as u64 + 1, limits.entries).map_err(|kind| fail(kind, at))?;
        chunks.push(ChunkMetadata { offset, statistics: own.or_else(|| Some(statistics.clone())) });
        rest = after;
    }
    let mut offsets: Vec<u64> = chunks.iter().map(|chunk: &ChunkMetadata| chunk.offset).collect();
    offsets.sort_unstable();
    if let Some(pair) = offsets.windows(2).find(|pair| pair[0] == pair[1]) {
        let kind = ErrorKind::Invalid("the list names a chunk twice");
        return Err(fail(kind, list.start).detail(format!("the one at byte {}", pair[0])).into());
    }
    if !own_statistics && chunks.len() > 1 {
        // One set of statistics cannot speak for several chunks.
        chunks.iter_mut().for_each(|chunk| chunk.statistics = None);
    }
    Ok(Series { name, dtype, statistics, chunks })
}

/// Bytes that a record is tried with where nothing says that there is one.
const TRIED: usize = 4 << 10;

/// Records that cannot be read, after which nothing more is looked for: each costs a search.
const MOST_DAMAGED: u64 = 64;

/// Where the next record starts behind the start of the range: the first place from where one can be that names a
/// chunk of its own name. The end of the range where there is none.
fn resume<S: Source + ?Sized>(
    source: &S,
    metadata: &Metadata,
    limits: &Limits,
    range: Range<u64>,
) -> Poll<u64> {
    if range.end - range.start > limits.metadata_bytes {
        return Ok(range.end);
    }
    let bytes = source.bytes(range.clone())?;
    for (at, from) in (range.start + 1..range.end).zip(1..) {
        let rest = &bytes[from..];
        let tried = &rest[..rest.len().min(TRIED)];
        let Ok((list, record)) = record(tried) else { continue };
        let before = (tried.len() - list.len()) as u64;
        let first = chunk_metadata(list, record.dtype, record.own_statistics);
        if let Ok((_, (offset, _))) = first
            && before + u64::from(record.list_bytes) <= rest.len() as u64
            // The time column stands before all others.
            && !record.name.is_empty()
            && names(source, metadata, offset, &record.name)?
        {
            return Ok(at);
        }
    }
    Ok(range.end)
}

/// Whether there is a chunk of this name at `offset`.
fn names<S: Source + ?Sized>(source: &S, metadata: &Metadata, offset: u64, name: &str) -> Poll<bool> {
    let mut encoded = Vec::new();
    if put_var_string(&mut encoded, Some(name)).is_none() {
        return Ok(false);
    }
    let start = offset.saturating_add(1);
    let end = start.saturating_add(encoded.len() as u64);
    let inside = offset >= DATA_START && end <= metadata.meta_offset;
    Ok(inside && source.bytes(start..end)? == encoded)
}

/// Goes through the series of a device, with one of them in memory.
pub struct SeriesCursor {
    /// Those of a device that was scanned.
    listed: alloc::vec::IntoIter<Series>,
    records: Option<RecordCursor>,
    range: Range<u64>,
    /// Where the last record started that was read.
    last: u64,
    damaged: u64,
}

impl SeriesCursor {
    /// All series of `device`.
    #[must_use]
    pub fn new(metadata: &Metadata, limits: &Limits, device: &DeviceEntry) -> Self {
        let records = RecordCursor::new(metadata, limits, device);
        Self { records: Some(records), ..Self::within(0..0) }
    }

    /// The series whose records stand in `range`.
    fn within(range: Range<u64>) -> Self {
        Self { listed: Vec::new().into_iter(), records: None, last: range.start, range, damaged: 0 }
    }

    /// These series.
    pub(crate) fn listed(series: Vec<Series>) -> Self {
        Self { listed: series.into_iter(), ..Self::within(0..0) }
    }

    /// The next series. After an error it goes on behind what cannot be read.
    ///
    /// # Errors
    /// What is wrong with the index or the record.
    pub fn next<S: Source + ?Sized>(
        &mut self,
        source: &S,
        metadata: &Metadata,
        limits: &Limits,
    ) -> Poll<Option<Series>> {
        self.next_wanted(source, metadata, limits, |_| true)
    }

    /// The next series whose name is `wanted`.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn next_wanted<S: Source + ?Sized>(
        &mut self,
        source: &S,
        metadata: &Metadata,
        limits: &Limits,
        wanted: impl Fn(&str) -> bool,
    ) -> Poll<Option<Series>> {
        if let Some(series) = self.listed.find(|series| wanted(&series.name)) {
            return Ok(Some(series));
        }
        loop {
            while !self.range.is_empty() {
                let (record, list) = match read_record(source, limits, self.range.clone()) {
                    Err(Stop::Error(error)) => return Err(self.pass_over(source, metadata, limits, error)),
                    found => found?,
                };
                self.last = self.range.start;
                let next = list.end;
                if wanted(&record.name) {
                    match read_chunks(source, metadata, limits, record, list) {
                        Err(Stop::Error(error)) => {
                            return Err(self.pass_over(source, metadata, limits, error));
                        }
                        Err(need) => return Err(need),
                        Ok(series) => {
                            self.range.start = next;
                            return Ok(Some(series));
                        }
                    }
                }
                self.range.start = next;
            }
            let Some(records) = &mut self.records else { return Ok(None) };
            match records.next(source)? {
                Some(range) => {
                    self.last = range.start;
                    self.range = range;
                }
                None => return Ok(None),
            }
        }
    }

    /// Goes on behind a record that cannot be read. It may be the one before that says wrongly where this one starts.
    fn pass_over<S: Source + ?Sized>(
        &mut self,
        source: &S,
        metadata: &Metadata,
        limits: &Limits,
        error: Error,
    ) -> Stop {
        let end = self.range.end;
        let next = match resume(source, metadata, limits, self.last..end) {
            Err(Stop::Need(ranges)) => return Stop::Need(ranges),
            next => next.unwrap_or(end),
        };
        (self.last, self.range.start) = (next, next);
        self.damaged += 1;
        if let Err(kind) = check("records that cannot be read", self.damaged, MOST_DAMAGED) {
            (self.range, self.records) = (end..end, None);
            return Error::new("timeseries metadata", kind).at(next).into();
        }
        error.into()
    }
}

/// Finds one series of a device by its name; the empty name is the time column of aligned measurements.
///
/// # Errors
/// What is wrong with the index or the record; what is wrong with other records only if it is not found.
pub fn find_series<S: Source + ?Sized>(
    source: &S,
    metadata: &Metadata,
    limits: &Limits,
    device: &DeviceEntry,
    name: &str,
) -> Poll<Option<Series>> {
    let mut damage = None;
    let mut look = |cursor: &mut SeriesCursor| loop {
        match cursor.next_wanted(source, metadata, limits, |found| found == name) {
            // It may be that of another series.
            Err(Stop::Error(error)) => damage = damage.take().or(Some(error)),
            found => return found,
        }
    };
    if let Some(range) = find_records(source, metadata, limits, device, name)?
        && let Some(series) = look(&mut SeriesCursor::within(range))?
    {
        return Ok(Some(series));
    }
    // The names may be ordered by UTF-16; the time column stands before all others in any order.
    if !name.is_empty()
        && let Some(series) = look(&mut SeriesCursor::new(metadata, limits, device))?
    {
        return Ok(Some(series));
    }
    damage.map_or(Ok(None), |error| Err(error.into()))
}
