//! What TsFiles take of memory: those made to fill it end in an error, and large values are not copied.

#![allow(missing_docs)]

#[path = "../../core-codec/tests/tsfile_support/mod.rs"]
mod tsfile_support;

use std::convert::Infallible;
use std::fs;

use core_codec::tsfile::{Compression, DataType, Encoding};
use peak_alloc::PeakAlloc;
use std_io::tsfile::{Batch, TimeRange, TsFile};
use tsfile_support::{RawChunk, RawPage, raw_file, zero_chunk, zeros};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const MIB: usize = 1 << 20;

/// What `use_it` gives, and the MiB that it took of a file of these bytes.
fn measured<T>(bytes: Vec<u8>, use_it: impl FnOnce(&TsFile) -> T) -> (T, usize) {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    fs::write(&path, bytes).unwrap();
    let file = TsFile::open(&path).unwrap();
    let live = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let found = use_it(&file);
    (found, (ALLOCATOR.peak_usage() - live) / MIB)
}

/// Reads all columns of all devices, and says how many rows there are.
fn rows(file: &TsFile) -> Result<usize, std_io::Error> {
    let (mut all, mut batch) = (0, Batch::default());
    for device in file.devices(None) {
        let mut rows = file.rows(&device?, None, TimeRange::ALL)?;
        while rows.next(&mut batch)? {
            all += batch.rows();
        }
    }
    Ok(all)
}

fn findings(file: &TsFile) -> Vec<String> {
    let mut all = Vec::new();
    let done: Result<(), Infallible> = file.verify(|finding| {
        all.push(format!("{}: {}", finding.item, finding.message));
        Ok(())
    });
    done.unwrap();
    all
}

const DEVICE: [Option<&str>; 2] = [Some("root.sg"), Some("d")];

/// Chunks of one column, all of them at the same times.
fn overlapping(chunks: usize, rows: i64) -> Vec<u8> {
    let chunk = zero_chunk("s", vec![zeros(0..rows, 1)]);
    raw_file(&DEVICE, &vec![chunk; chunks])
}

/// One large value, compressed, in each of some pages.
fn large(pages: i64, size: usize) -> Vec<u8> {
    let page = |time: i64| {
        let times = [&[24][..], &[0; 16], &time.to_be_bytes()].concat();
        let mut plain = times;
        core_codec::tsfile::wire::put_uvarint(&mut plain, 2 * size as u32);
        plain.resize(plain.len() + size, time as u8);
        // Snappy: one literal.
        let mut payload = Vec::new();
        core_codec::tsfile::wire::put_uvarint(&mut payload, plain.len() as u32);
        payload.push(0xfc);
        payload.extend((plain.len() as u32 - 1).to_le_bytes());
        payload.extend(&plain);
        RawPage { uncompressed: plain.len(), rows: 1, times: time..time + 1, payload }
    };
    let chunk = RawChunk {
        name: "s".into(),
        marker: 1,
        dtype: DataType::Blob,
        encoding: Encoding::Plain,
        compression: Compression::Snappy,
        pages: (0..pages).map(page).collect(),
    };
    raw_file(&DEVICE, &[chunk])
}

// One test, since the allocations of others would be counted too.
#[test]
fn memory_is_bounded() {
    // 200 x 100,000 rows of 16 bytes, in 20 KB.
    let bytes = overlapping(200, 100_000);
    assert!(bytes.len() < 40_000);
    let (found, peak) = measured(bytes, rows);
    let error = found.unwrap_err().to_string();
    assert!(error.contains("bytes of pages that overlap in time") && peak < 80, "{peak} MiB: {error}");
    // Nothing is merged here.
    let (found, peak) = measured(overlapping(10, 100_000), findings);
    assert!(
        found == ["root.sg.d.s: series: count: the statistics say 100000, the data 1000000"],
        "{found:?}"
    );
    assert!(peak < 10, "{peak} MiB");
    // Fewer are read.
    let (found, peak) = measured(overlapping(20, 100_000), rows);
    assert!(matches!(found, Ok(100_000)) && peak < 80, "{peak} MiB: {found:?}");

    // A wide device whose columns have pages of usual size.
    let columns: Vec<RawChunk> =
        (0..1000).map(|column| zero_chunk(&format!("s{column:04}"), vec![zeros(0..10_000, 1)])).collect();
    let (found, peak) = measured(raw_file(&DEVICE, &columns), rows);
    assert!(matches!(found, Ok(10_000)), "{peak} MiB: {found:?}");

    // Columns that share no time: a row a value, each of all columns.
    let columns: Vec<RawChunk> = (0..64)
        .map(|column| zero_chunk(&format!("s{column:02}"), vec![zeros(column..column + 64 * 6000, 64)]))
        .collect();
    let (found, peak) = measured(raw_file(&DEVICE, &columns), rows);
    assert!(matches!(found, Ok(384_000)) && peak < 100, "{peak} MiB: {found:?}");

    // Large values: the one that was given, and the one that is decoded.
    let (found, peak) = measured(large(1, 24 * MIB), rows);
    assert!(matches!(found, Ok(1)) && peak < 26, "{peak} MiB: {found:?}");
    let (found, peak) = measured(large(1, 24 * MIB), findings);
    assert!(found.is_empty() && peak < 26, "{peak} MiB: {found:?}");
    let (found, peak) = measured(large(6, 8 * MIB), rows);
    assert!(matches!(found, Ok(6)) && peak < 18, "{peak} MiB: {found:?}");

    // Long names do not count for each of many series.
    let name = "d".repeat(60_000);
    let columns: Vec<RawChunk> =
        (0..2000).map(|column| zero_chunk(&format!("s{column:04}"), vec![zeros(0..2, 1)])).collect();
    let (found, peak) = measured(raw_file(&[Some("root"), Some(&name)], &columns), findings);
    assert!(found.is_empty() && peak < 10, "{peak} MiB: {found:?}");
}
