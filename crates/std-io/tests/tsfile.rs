//! TsFiles on the host: all ways of reading give the same rows, and damage is found.

#![allow(missing_docs)]

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};

use core_codec::Limits;
use core_codec::tsfile::Series;
use core_codec::tsfile::query::TagFilter;
use std_io::tsfile::{Batch, RowReader, TimeRange, TsFile, matching};
use std_io::{Access, Input};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tsfile");
    let mut all: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.extension().is_some_and(|extension| extension == "tsfile"));
    all.retain(|path| !path.to_str().unwrap().contains("encrypted"));
    all.sort();
    all
}

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../testdata/tsfile/{name}.tsfile"))
}

/// Rows as text: NaN differs from itself, its text does not.
fn drain(mut rows: RowReader<'_>) -> Vec<String> {
    let mut batch = Batch::default();
    let mut all = Vec::new();
    while rows.next(&mut batch).unwrap() {
        put(&mut all, &batch);
    }
    all
}

fn put(all: &mut Vec<String>, batch: &Batch) {
    for (row, time) in batch.times.iter().enumerate() {
        let values: Vec<_> = batch.columns.iter().map(|column| column.get(row)).collect();
        all.push(format!("{time} {values:?}"));
    }
}

#[test]
fn threads_and_positional_reads_give_the_same_rows() {
    for path in files() {
        let mapped = TsFile::open(&path).unwrap();
        let input = Input::open(&path, Access::Read).unwrap().with_cache(1 << 10);
        let ranged = TsFile::from_input(input, &Limits::default()).unwrap();
        let mut scanned = Vec::new();
        for batch in mapped.scan(None, None, TimeRange::ALL, |_| true) {
            put(&mut scanned, &batch.unwrap().batch);
        }
        let mut all = Vec::new();
        for device in mapped.devices(None) {
            let device = device.unwrap();
            let serial = drain(mapped.rows(&device, None, TimeRange::ALL).unwrap().serial());
            assert_eq!(drain(mapped.rows(&device, None, TimeRange::ALL).unwrap()), serial);
            assert_eq!(drain(ranged.rows(&device, None, TimeRange::ALL).unwrap()), serial);
            all.extend(serial);
        }
        assert_eq!(scanned, all, "{}", path.display());
    }
}

#[test]
fn tags_select_devices() {
    let file = TsFile::open(testdata("table_basic")).unwrap();
    let table = &file.metadata().tables[0];
    let count = |filter: &TagFilter| {
        let devices = file.devices(Some("t1")).map(Result::unwrap);
        devices.filter(|device| filter.accepts(&device.id)).count()
    };
    let all = count(&TagFilter::default());
    assert!(all > 1);
    let north = TagFilter::new(table, [("region".into(), matching("^north$").unwrap())]).unwrap();
    let some = count(&north);
    assert!(0 < some && some < all);
    assert!(TagFilter::new(table, [("v".into(), matching("").unwrap())]).is_err());
}

#[test]
fn a_series_is_found_or_certainly_not_there() {
    for path in files() {
        let file = TsFile::open(&path).unwrap();
        for device in file.devices(None) {
            let device = device.unwrap();
            for series in file.series(&device) {
                let series = series.unwrap();
                let found = file.find(&device.id, &series.name).unwrap();
                let offsets =
                    |series: Series| -> Vec<u64> { series.chunks.iter().map(|c| c.offset).collect() };
                assert_eq!(found.map(offsets), Some(offsets(series)), "{}", path.display());
            }
            assert_eq!(file.find(&device.id, "there is no such series").unwrap(), None);
        }
    }
}

fn findings(bytes: &[u8]) -> Option<usize> {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    fs::write(&path, bytes).unwrap();
    let file = TsFile::open(&path).ok()?;
    let mut wrong = 0;
    let done: Result<(), Infallible> = file.verify(|finding| {
        wrong += usize::from(finding.wrong);
        Ok(())
    });
    done.unwrap();
    Some(wrong)
}

#[test]
fn verify_notices_changed_values_and_statistics() {
    let bytes = fs::read(testdata("tree_single_point")).unwrap();
    assert_eq!(findings(&bytes), Some(0));
    for (what, at, flip) in [
        ("the device of the chunk group", 0x0a, 1),
        ("the value", 0x2b, 1),
        ("the first time in the statistics", 0x53, 1),
        ("the smallest value in the statistics", 0x5f, 1),
        ("the sum in the statistics", 0x7d, 1),
        ("the device in the index", 0xa9, 1),
        ("a bit of the bloom filter", 0xd4, 2),
    ] {
        let mut bad = bytes.clone();
        bad[at] ^= flip;
        assert_ne!(findings(&bad), Some(0), "{what}");
    }
}
