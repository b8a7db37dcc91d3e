//! `TimeseriesMetadata`: what the index says of a series, and where its chunks are.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use crate::error::{Error, ErrorKind};
use crate::limits::{Limits, check};
use crate::source::{Poll, Source};
use crate::tsfile::index::{DeviceEntry, RecordCursor, find_records};
use crate::tsfile::metadata::{DATA_START, Metadata, data_type};
use crate::tsfile::statistics::Statistics;
use crate::tsfile::types::DataType;
use crate::tsfile::wire::{byte, int64, uvarint, var_string};
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

/// Reads the record that starts at `range.start`; returns also where the next one starts.
fn read_record<S: Source + ?Sized>(
    source: &S,
    metadata: &Metadata,
    limits: &Limits,
    range: Range<u64>,
    wanted: impl Fn(&str) -> bool,
) -> Poll<(Option<Series>, u64)> {
    let (record, start) = read_at(source, "timeseries metadata", range.clone(), limits, record)?;
    let end = start + u64::from(record.list_bytes);
    let name = record.name.clone();
    let fail = |kind, at| Error::new("chunk metadata list", kind).at(at).item(name.clone());
    if end > range.end {
        let kind = ErrorKind::Truncated { needed: end - start, available: range.end - start };
        return Err(fail(kind, start).into());
    }
    if !wanted(&record.name) {
        return Ok((None, end));
    }
    check("bytes", end - start, limits.item_bytes).map_err(|kind| fail(kind, start))?;
    let bytes = source.bytes(start..end)?;
    let mut rest = bytes;
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let at = end - rest.len() as u64;
        let chunk = parse("chunk metadata", at, rest, |input| {
            chunk_metadata(input, record.dtype, record.own_statistics)
        });
        let (after, (offset, statistics)) = chunk.map_err(|error| error.item(name.clone()))?;
        if !(DATA_START..metadata.meta_offset).contains(&offset) {
            let (min, max) = (DATA_START, metadata.meta_offset - 1);
            return Err(fail(
                ErrorKind::OutOfRange { what: "offset of a chunk", min, max, found: offset },
                at,
            )
            .into());
        }
        check("chunks", chunks.len() as u64 + 1, limits.entries).map_err(|kind| fail(kind, at))?;
        let statistics = statistics.or_else(|| Some(record.statistics.clone()));
        chunks.push(ChunkMetadata { offset, statistics });
        rest = after;
    }
    let mut offsets: Vec<u64> = chunks.iter().map(|chunk: &ChunkMetadata| chunk.offset).collect();
    offsets.sort_unstable();
    if let Some(pair) = offsets.windows(2).find(|pair| pair[0] == pair[1]) {
        let kind = ErrorKind::Invalid("the list names a chunk twice");
        return Err(fail(kind, start).detail(format!("the one at byte {}", pair[0])).into());
    }
    if !record.own_statistics && chunks.len() > 1 {
        // One set of statistics cannot speak for several chunks.
        chunks.iter_mut().for_each(|chunk| chunk.statistics = None);
    }
    let Record { name, dtype, statistics, .. } = record;
    Ok((Some(Series { name, dtype, statistics, chunks }), end))
}

/// Goes through the series of a device, with one of them in memory.
pub struct SeriesCursor {
    /// Those of a device that was scanned.
    listed: alloc::vec::IntoIter<Series>,
    records: Option<RecordCursor>,
    range: Range<u64>,
}

impl SeriesCursor {
    /// All series of `device`.
    #[must_use]
    pub fn new(metadata: &Metadata, limits: &Limits, device: &DeviceEntry) -> Self {
        let records = RecordCursor::new(metadata, limits, device);
        Self { listed: Vec::new().into_iter(), records: Some(records), range: 0..0 }
    }

    /// These series.
    pub(crate) fn listed(series: Vec<Series>) -> Self {
        Self { listed: series.into_iter(), records: None, range: 0..0 }
    }

    /// The next series.
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
                let (series, next) = read_record(source, metadata, limits, self.range.clone(), &wanted)?;
                self.range.start = next;
                if series.is_some() {
                    return Ok(series);
                }
            }
            let Some(records) = &mut self.records else { return Ok(None) };
            match records.next(source)? {
                Some(range) => self.range = range,
                None => return Ok(None),
            }
        }
    }
}

/// Finds one series of a device by its name; the empty name is the time column of aligned measurements.
///
/// # Errors
/// What is wrong with the index or the record.
pub fn find_series<S: Source + ?Sized>(
    source: &S,
    metadata: &Metadata,
    limits: &Limits,
    device: &DeviceEntry,
    name: &str,
) -> Poll<Option<Series>> {
    if let Some(mut range) = find_records(source, metadata, limits, device, name)? {
        while !range.is_empty() {
            let (series, next) = read_record(source, metadata, limits, range.clone(), |found| found == name)?;
            if series.is_some() {
                return Ok(series);
            }
            range.start = next;
        }
    }
    if name.is_empty() {
        // It stands before all others in any order.
        return Ok(None);
    }
    // The names may be ordered by UTF-16.
    let mut all = SeriesCursor::new(metadata, limits, device);
    all.next_wanted(source, metadata, limits, |found| found == name)
}
