//! Writes small TsFiles for tests, of INT64 columns in PLAIN without compression, in the order that a test wants.

#![allow(missing_docs, dead_code, unreachable_pub)]

use std::ops::Range;

use core_codec::tsfile::wire::{put_uvarint, put_var_string};
use core_codec::tsfile::{Compression, DataType, Encoding};

/// Rows of one column.
#[derive(Clone, Debug)]
pub struct Cells {
    pub name: String,
    pub values: Vec<Option<i64>>,
    pub encoding: Encoding,
}

/// A chunk of several columns (aligned) or one column (not), all of one page.
#[derive(Clone, Debug)]
pub struct Rows {
    pub times: Vec<i64>,
    pub columns: Vec<Cells>,
}

#[derive(Clone, Debug)]
pub struct Device {
    pub segments: Vec<Option<String>>,
    pub aligned: bool,
    pub chunks: Vec<Rows>,
}

pub fn cells(name: &str, values: &[Option<i64>]) -> Cells {
    Cells { name: name.into(), values: values.to_vec(), encoding: Encoding::Plain }
}

pub fn device(path: &[Option<&str>], aligned: bool, chunks: Vec<Rows>) -> Device {
    Device { segments: path.iter().map(|s| s.map(str::to_owned)).collect(), aligned, chunks }
}

pub fn device_id(out: &mut Vec<u8>, segments: &[Option<String>]) {
    put_uvarint(out, segments.len() as u32);
    segments.iter().for_each(|segment| put_var_string(out, segment.as_deref()).unwrap());
}

fn statistics(out: &mut Vec<u8>, times: &[i64], values: Option<&[i64]>) {
    put_uvarint(out, times.len() as u32);
    for end in [times.first(), times.last()] {
        out.extend(end.copied().unwrap_or(0).to_be_bytes());
    }
    let Some(values) = values else { return };
    let summary = [values.iter().min(), values.iter().max(), values.first(), values.last()];
    summary.iter().for_each(|value| out.extend(value.copied().unwrap_or(0).to_be_bytes()));
    out.extend(values.iter().map(|&value| value as f64).sum::<f64>().to_be_bytes());
}

fn chunk(out: &mut Vec<u8>, marker: u8, name: &str, dtype: DataType, encoding: Encoding, payload: &[u8]) {
    let mut page = vec![];
    put_uvarint(&mut page, payload.len() as u32);
    put_uvarint(&mut page, payload.len() as u32);
    page.extend(payload);
    out.push(marker);
    put_var_string(out, Some(name)).unwrap();
    put_uvarint(out, page.len() as u32);
    out.extend([dtype as u8, 0, encoding as u8]);
    out.extend(page);
}

/// A chunk in the index: its offset, times and values.
struct Indexed {
    offset: u64,
    times: Vec<i64>,
    values: Option<Vec<i64>>,
}

struct Series {
    name: String,
    chunks: Vec<Indexed>,
}

/// A series as the index has it, its statistics encoded.
struct Record {
    name: String,
    dtype: DataType,
    statistics: Vec<u8>,
    chunks: Vec<(u64, Vec<u8>)>,
}

/// A page, its payload as it is stored.
#[derive(Clone, Debug)]
pub struct RawPage {
    pub uncompressed: usize,
    pub rows: u32,
    pub times: Range<i64>,
    pub payload: Vec<u8>,
}

/// A chunk of a type without statistics of values, page by page.
#[derive(Clone, Debug)]
pub struct RawChunk {
    pub name: String,
    pub marker: u8,
    pub dtype: DataType,
    pub encoding: Encoding,
    pub compression: Compression,
    pub pages: Vec<RawPage>,
}

fn raw_statistics(out: &mut Vec<u8>, dtype: DataType, rows: u32, times: &Range<i64>) {
    put_uvarint(out, rows);
    out.extend(times.start.to_be_bytes());
    out.extend((times.end - 1).to_be_bytes());
    if dtype == DataType::Int64 {
        // All values are 0.
        out.extend([0; 40]);
    }
}

/// A page of consecutive times, with zeros at them: some bytes, whatever their number.
pub fn zeros(times: Range<i64>, step: i64) -> RawPage {
    let rows = ((times.end - times.start) / step) as i32;
    let block = |step: i64, first: i64| {
        [&(rows - 1).to_be_bytes()[..], &[0; 4], &step.to_be_bytes(), &first.to_be_bytes()].concat()
    };
    let payload = [&[24][..], &block(step, times.start), &block(0, 0)].concat();
    let last = times.start + step * i64::from(rows - 1);
    RawPage { uncompressed: payload.len(), rows: rows as u32, times: times.start..last + 1, payload }
}

/// A chunk of such pages.
pub fn zero_chunk(name: &str, pages: Vec<RawPage>) -> RawChunk {
    RawChunk {
        name: name.into(),
        marker: if pages.len() == 1 { 5 } else { 1 },
        dtype: DataType::Int64,
        encoding: Encoding::Ts2Diff,
        compression: Compression::Uncompressed,
        pages,
    }
}

/// Writes a file of one device with these chunks.
pub fn raw_file(segments: &[Option<&str>], chunks: &[RawChunk]) -> Vec<u8> {
    let segments: Vec<Option<String>> = segments.iter().map(|s| s.map(str::to_owned)).collect();
    let mut out = b"TsFile\x04\0".to_vec();
    device_id(&mut out, &segments);
    let mut records: Vec<Record> = vec![];
    for chunk in chunks {
        let offset = out.len() as u64;
        let mut pages = vec![];
        for page in &chunk.pages {
            put_uvarint(&mut pages, page.uncompressed as u32);
            if page.uncompressed > 0 {
                put_uvarint(&mut pages, page.payload.len() as u32);
                if chunk.marker & 0x3f == 1 {
                    raw_statistics(&mut pages, chunk.dtype, page.rows, &page.times);
                }
                pages.extend(&page.payload);
            }
        }
        out.push(chunk.marker);
        put_var_string(&mut out, Some(&chunk.name)).unwrap();
        put_uvarint(&mut out, pages.len() as u32);
        out.extend([chunk.dtype as u8, chunk.compression as u8, chunk.encoding as u8]);
        out.extend(pages);
        let filled = chunk.pages.iter().filter(|page| page.rows > 0);
        let ends = filled.clone().map(|page| page.times.start).min().unwrap_or(0)
            ..filled.clone().map(|page| page.times.end).max().unwrap_or(1);
        let rows = filled.map(|page| page.rows).sum();
        let mut statistics = vec![];
        raw_statistics(&mut statistics, chunk.dtype, rows, &ends);
        match records.iter_mut().find(|record| record.name == chunk.name) {
            Some(record) => record.chunks.push((offset, statistics)),
            None => {
                let chunks = vec![(offset, statistics.clone())];
                records.push(Record { name: chunk.name.clone(), dtype: chunk.dtype, statistics, chunks });
            }
        }
    }
    put_index(out, vec![(segments, records)], &Footer::default())
}

fn put_rows(out: &mut Vec<u8>, gap: u64, aligned: bool, rows: &Rows, series: &mut Vec<Series>) {
    let plain = |values: &[i64]| -> Vec<u8> { values.iter().flat_map(|v| v.to_be_bytes()).collect() };
    let mut note = |name: &str, indexed: Indexed| match series.iter_mut().find(|series| series.name == name) {
        Some(found) => found.chunks.push(indexed),
        None => series.push(Series { name: name.into(), chunks: vec![indexed] }),
    };
    if aligned {
        note("", Indexed { offset: out.len() as u64 + gap, times: rows.times.clone(), values: None });
        chunk(out, 0x85, "", DataType::Vector, Encoding::Plain, &plain(&rows.times));
    }
    for column in &rows.columns {
        let present = |value: &Option<i64>| value.is_some();
        let times: Vec<i64> =
            rows.times.iter().zip(&column.values).filter(|(_, v)| present(v)).map(|(&t, _)| t).collect();
        let values: Vec<i64> = column.values.iter().flatten().copied().collect();
        let offset = out.len() as u64 + gap;
        let mut payload = vec![];
        if aligned {
            payload.extend((rows.times.len() as i32).to_be_bytes());
            let mut bitmap = vec![0u8; rows.times.len().div_ceil(8)];
            for row in (0..rows.times.len()).filter(|&row| present(&column.values[row])) {
                bitmap[row / 8] |= 0x80 >> (row % 8);
            }
            payload.extend(bitmap);
        } else {
            // TS_2DIFF, a block a time.
            let stream: Vec<u8> =
                times.iter().flat_map(|t| [[0; 16].as_slice(), &t.to_be_bytes()].concat()).collect();
            put_uvarint(&mut payload, stream.len() as u32);
            payload.extend(stream);
        }
        payload.extend(plain(&values));
        let marker = if aligned { 0x45 } else { 0x05 };
        chunk(out, marker, &column.name, DataType::Int64, column.encoding, &payload);
        note(&column.name, Indexed { offset, times, values: Some(values) });
    }
}

fn put_series(out: &mut Vec<u8>, series: &Record) {
    let several = series.chunks.len() > 1;
    out.push(u8::from(several));
    put_var_string(out, Some(&series.name)).unwrap();
    out.push(series.dtype as u8);
    let mut list = vec![];
    for (offset, statistics) in &series.chunks {
        list.extend((*offset as i64).to_be_bytes());
        if several {
            list.extend(statistics);
        }
    }
    put_uvarint(out, list.len() as u32);
    out.extend(&series.statistics);
    out.extend(list);
}

impl Series {
    fn record(&self) -> Record {
        let is_time = self.chunks[0].values.is_none();
        let mut times: Vec<i64> = self.chunks.iter().flat_map(|chunk| chunk.times.clone()).collect();
        times.sort_unstable();
        let values: Vec<i64> = self.chunks.iter().flat_map(|chunk| chunk.values.clone()).flatten().collect();
        let encoded = |times: &[i64], values: Option<&[i64]>| {
            let mut out = vec![];
            statistics(&mut out, times, values);
            out
        };
        let of_chunk = |chunk: &Indexed| (chunk.offset, encoded(&chunk.times, chunk.values.as_deref()));
        Record {
            name: self.name.clone(),
            dtype: if is_time { DataType::Vector } else { DataType::Int64 },
            statistics: encoded(&times, (!is_time).then_some(&values)),
            chunks: self.chunks.iter().map(of_chunk).collect(),
        }
    }
}

/// What surrounds the index.
#[derive(Clone, Debug, Default)]
pub struct Footer {
    /// Bytes from the bloom filter on; no filter and no properties by default.
    pub end: Option<Vec<u8>>,
    /// Table schemas in their encoded form, with their count.
    pub schemas: Option<Vec<u8>>,
    /// Bytes between the version and the data that are not written: what follows has offsets larger by them.
    pub gap: u64,
}

/// Writes a file whose devices all have one table (segment 0).
pub fn file(devices: &[Device], footer: &Footer) -> Vec<u8> {
    let mut out = b"TsFile\x04".to_vec();
    let mut index = vec![];
    for device in devices {
        let mut series = vec![];
        out.push(0);
        device_id(&mut out, &device.segments);
        device
            .chunks
            .iter()
            .for_each(|rows| put_rows(&mut out, footer.gap, device.aligned, rows, &mut series));
        index.push((device.segments.clone(), series.iter().map(Series::record).collect()));
    }
    put_index(out, index, footer)
}

/// Puts index and footer behind the data.
fn put_index(mut out: Vec<u8>, index: Vec<(Vec<Option<String>>, Vec<Record>)>, footer: &Footer) -> Vec<u8> {
    let gap = footer.gap as i64;
    let meta_offset = out.len() as i64 + gap;
    out.push(2);
    let mut root = vec![];
    put_uvarint(&mut root, index.len() as u32);
    // The nodes of all devices stand one after another behind the records of all series.
    let mut nodes = vec![];
    for (_, series) in &index {
        let mut node = vec![];
        put_uvarint(&mut node, series.len() as u32);
        for series in series {
            put_var_string(&mut node, Some(&series.name)).unwrap();
            node.extend((out.len() as i64 + gap).to_be_bytes());
            put_series(&mut out, series);
        }
        node.extend((out.len() as i64 + gap).to_be_bytes());
        node.push(3);
        nodes.push(node);
    }
    for ((segments, _), node) in index.iter().zip(nodes) {
        device_id(&mut root, segments);
        root.extend((out.len() as i64 + gap).to_be_bytes());
        out.extend(node);
    }
    root.extend((out.len() as i64 + gap).to_be_bytes());
    root.push(1);
    let start = out.len();
    put_uvarint(&mut out, 1);
    let table = index.first().and_then(|(segments, _)| segments[0].clone()).unwrap_or_default();
    put_var_string(&mut out, Some(&table)).unwrap();
    out.extend(root);
    out.extend(footer.schemas.as_deref().unwrap_or(&[0]));
    out.extend(meta_offset.to_be_bytes());
    out.extend(footer.end.as_deref().unwrap_or(&[0, 0]));
    let size = (out.len() - start) as i32;
    out.extend(size.to_be_bytes());
    out.extend(b"TsFile");
    out
}
