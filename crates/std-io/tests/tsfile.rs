//! TsFiles on the host: all ways of reading give the same rows, and damage is found.

#![allow(missing_docs)]

#[path = "../../core-codec/tests/tsfile_support/mod.rs"]
mod tsfile_support;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{env, fs};

use core_codec::Limits;
use core_codec::tsfile::query::TagFilter;
use core_codec::tsfile::scan::{Entry, Scanner};
use core_codec::tsfile::{DataType, Series};
use std_io::tsfile::{Ask, Batch, RowReader, ScanBatch, TimeRange, TsFile, matching};
use std_io::{Access, Input};
use tsfile_support::{RawChunk, RawPage, raw_file, zero_chunk, zeros};

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

#[test]
fn aggregates_come_from_statistics() {
    let file = TsFile::open(testdata("tree_multipage")).unwrap();
    let device = file.devices(None).next().unwrap().unwrap();
    let found = file.aggregate(&device, "s1", TimeRange::ALL, Ask::All).unwrap().unwrap();
    let rows = drain(file.rows(&device, Some(&["s1"]), TimeRange::ALL).unwrap());
    assert_eq!((found.count, found.decoded), (rows.len() as u64, 0));
    assert!(found.from_statistics > 0);
    assert_eq!(file.aggregate(&device, "no such series", TimeRange::ALL, Ask::All).unwrap(), None);
}

fn offsets(file: &TsFile) -> BTreeSet<u64> {
    let devices = file.devices(None).map(Result::unwrap);
    let series = devices.flat_map(|device| file.series(&device).map(Result::unwrap).collect::<Vec<_>>());
    series.flat_map(|series| series.chunks).map(|chunk| chunk.offset).collect()
}

/// All values as text: device, measurement, time and value.
fn values(file: &TsFile) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for device in file.devices(None).map(Result::unwrap) {
        for series in file.series(&device).map(Result::unwrap).filter(|series| !series.is_time()) {
            let Ok(mut rows) = file.rows(&device, Some(&[&series.name]), TimeRange::ALL) else { continue };
            let mut batch = Batch::default();
            while matches!(rows.next(&mut batch), Ok(true)) {
                let values =
                    batch.times.iter().enumerate().map(|(row, &time)| (time, batch.columns[0].get(row)));
                all.extend(
                    values
                        .filter(|(_, value)| value.is_some())
                        .map(|(time, value)| format!("{} {} {time} {value:?}", device.id, series.name)),
                );
            }
        }
    }
    all
}

/// Where the chunk groups of a file end, each with the chunks before it.
fn groups(file: &TsFile) -> Vec<(u64, Vec<u64>)> {
    let (mut scanner, mut before, mut all) = (
        file.input().run(|source| Scanner::new(source, &Limits::default())).unwrap(),
        Vec::new(),
        Vec::new(),
    );
    loop {
        let start = scanner.position();
        match file.input().run(|source| scanner.next(source)).unwrap() {
            Some(Entry::Chunk(chunk)) => before.push(chunk.offset),
            Some(Entry::Group(_)) => all.push((start, before.clone())),
            None => {
                all.push((start, before));
                return all;
            }
            _ => {}
        }
    }
}

#[test]
fn all_complete_chunk_groups_of_a_cut_file_are_recovered() {
    let mut wider = files();
    if let Some(corpus) = env::var_os("TRIPOINT_CORPUS") {
        let all = fs::read_dir(Path::new(&corpus).join("tsfile")).unwrap();
        wider.extend(all.map(|entry| entry.unwrap().path()).filter(|path| {
            let text = path.to_str().unwrap();
            text.ends_with(".tsfile") && !text.contains("encrypted")
        }));
    }
    for path in wider {
        let (bytes, whole) = (fs::read(&path).unwrap(), TsFile::open(&path).unwrap());
        let (end, groups, all) = (whole.metadata().meta_offset as usize, groups(&whole), values(&whole));
        let cuts = (0..=12).map(|twelfth| 7 + (end - 7) * twelfth / 12).chain([end + 1, bytes.len() - 1]);
        for cut in cuts {
            let file = tempfile::NamedTempFile::new().unwrap().into_temp_path();
            fs::write(&file, &bytes[..cut]).unwrap();
            assert!(TsFile::open(&file).is_err());
            let recovered = TsFile::recover(&file).unwrap();
            let found = offsets(&recovered);
            let complete = groups.iter().rfind(|(end, _)| *end <= cut as u64);
            let missing = complete.iter().flat_map(|(_, chunks)| chunks).find(|&at| !found.contains(at));
            assert_eq!(missing, None, "{} cut at {cut}", path.display());
            let values = values(&recovered);
            assert!(values.is_subset(&all), "{} cut at {cut}", path.display());
            if cut >= end {
                assert!(recovered.unread().is_none());
                // All but what only statistics tell how to decode.
                let untold = ["java4_tree_all_encodings", "tree_enc_", "tree_special", "LOSSY"];
                let untold = untold.iter().any(|name| path.to_str().unwrap().contains(name));
                assert!(untold || values.len() == all.len(), "{} cut at {cut}", path.display());
            }
            let ranged = Input::open(&file, Access::Read).unwrap().with_cache(1 << 10);
            let ranged = TsFile::recover_input(ranged, &Limits::default(), None).unwrap();
            assert_eq!(offsets(&ranged), found);
        }
        let recovered = TsFile::recover(&path).unwrap();
        assert_eq!((offsets(&recovered), recovered.unread().is_none()), (offsets(&whole), true));
    }
}

fn findings(bytes: &[u8]) -> Option<usize> {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    fs::write(&path, bytes).unwrap();
    Some(errors(&TsFile::open(&path).ok()?).len())
}

fn errors(file: &TsFile) -> Vec<String> {
    let mut wrong = Vec::new();
    let done: Result<(), Infallible> = file.verify(|finding| {
        if finding.severity == std_io::Severity::Error {
            wrong.push(format!("{}: {}", finding.item, finding.message));
        }
        Ok(())
    });
    done.unwrap();
    wrong
}

#[test]
fn verify_notices_lies_of_hand_made_files() {
    let differ = |what: &str, stored: i64, found: i64| {
        format!("{what}: the statistics say {stored}, the data {found}")
    };
    let times = |what: &str, end| {
        [("first", 100, 1), ("last", 200, end)]
            .map(|(which, stored, found)| differ(&format!("{what}: {which} time"), stored, found))
    };
    let too_late = |what: &str| {
        [("first", 15, 5), ("last", 17, 7)].map(|(which, stored, found)| {
            differ(&format!("root.sg.d.b: {what}: {which} time"), stored, found)
        })
    };
    let of_chunk = times("root.sg.d.v: chunk of times at byte 19", 3);
    let of_column = times("root.sg.d.v: time column", 3);
    for (name, says) in [
        ("times_of_series", times("root.sg.d.s: series", 5).to_vec()),
        ("times_of_time_chunk", [of_chunk, of_column].concat()),
        ("series_twice", vec!["root.sg.d.s: is in the device more than once".to_owned()]),
        ("start_too_late", ["chunk at byte 77", "series"].map(too_late).concat()),
    ] {
        assert_eq!(errors(&TsFile::open(testdata(&format!("bad/{name}"))).unwrap()), says);
    }
    // The rows that the statistics hide are not passed over, neither here nor by a query.
    let file = TsFile::open(testdata("bad/count_0")).unwrap();
    let found = errors(&file);
    assert!(found.len() == 1 && found[0].contains("times of a page of s at byte 26"), "{found:?}");
    let device = file.devices(None).next().unwrap().unwrap();
    let mut rows = file.rows(&device, None, TimeRange::ALL).unwrap();
    assert!(rows.next(&mut Batch::default()).is_err());

    let file = TsFile::open(testdata("bad/series_twice")).unwrap();
    let device = file.devices(None).next().unwrap().unwrap();
    let plan = file.plan(&device, None, TimeRange::ALL).unwrap();
    assert_eq!((plan.fields.len(), plan.left_out.len()), (1, 1));
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

// Found by reading: what stood behind such a page was held against the statistics of another.
#[test]
fn pages_without_rows_are_verified_as_such() {
    let empty = RawPage { uncompressed: 0, rows: 0, times: 0..0, payload: Vec::new() };
    let pages = vec![zeros(0..10, 1), empty.clone(), zeros(20..23, 1), zeros(30..35, 1)];
    let plain = zero_chunk("s", pages);
    let bytes = raw_file(&[Some("root.sg"), Some("d")], std::slice::from_ref(&plain));
    assert_eq!(findings(&bytes), Some(0));
    // A wrong count in the statistics of the last page.
    let at = bytes.windows(9).rposition(|window| window == [&[5][..], &30i64.to_be_bytes()].concat());
    let mut bad = bytes.clone();
    bad[at.unwrap()] = 4;
    assert_ne!(findings(&bad), Some(0));

    let aligned = |times: &[Range<i64>], values: &[usize]| {
        let time = |times: &Range<i64>| match zeros(times.clone(), 1) {
            page if times.is_empty() => RawPage { uncompressed: 0, rows: 0, ..page },
            page => RawPage { uncompressed: 24, payload: page.payload[1..25].to_vec(), ..page },
        };
        let value = |(times, &rows): (&Range<i64>, &usize)| {
            let all = (times.end - times.start) as i32;
            let page = zeros(0..rows.max(1) as i64, 1);
            let bitmap = [(0xff00u16 >> rows) as u8];
            let payload = [&all.to_be_bytes()[..], &bitmap, &page.payload[25..]].concat();
            let times = times.start..times.start + rows as i64;
            let uncompressed = if rows == 0 { 0 } else { payload.len() };
            RawPage { uncompressed, rows: rows as u32, times, payload }
        };
        let of = |marker, name: &str, dtype, pages| RawChunk { marker, dtype, ..zero_chunk(name, pages) };
        let times_of = of(0x81, "", DataType::Vector, times.iter().map(time).collect());
        let values = times.iter().zip(values).map(value).collect();
        raw_file(&[Some("root.sg"), Some("d")], &[times_of, of(0x41, "s", DataType::Int64, values)])
    };
    // All null in the middle, and a page without times.
    let bytes = aligned(&[0..4, 10..13, 20..25, 30..32], &[4, 0, 2, 1]);
    assert_eq!(findings(&bytes), Some(0));
    let bytes = aligned(&[0..4, 9..9, 10..13, 20..25], &[4, 0, 3, 1]);
    assert_eq!(findings(&bytes), Some(0));
}

/// Where each column has times of its own, there are far more cells than values.
#[test]
fn columns_with_times_of_their_own_are_scanned() {
    let columns: Vec<RawChunk> =
        (0..300).map(|i| zero_chunk(&format!("s{i}"), vec![zeros(i..i + 300 * 100, 300)])).collect();
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    fs::write(&path, raw_file(&[Some("root.sg"), Some("d")], &columns)).unwrap();
    let file = TsFile::open(&path).unwrap();
    let mut scan = file.scan(None, None, TimeRange::ALL, |_| true);
    let (mut batch, mut times) = (ScanBatch::default(), Vec::new());
    while scan.read(&mut batch).unwrap() {
        assert_eq!(batch.batch.columns.len(), 300);
        times.extend_from_slice(&batch.batch.times);
    }
    assert!(times.iter().copied().eq(0..300 * 100));
}

#[test]
fn one_damaged_device_ends_no_scan() {
    let bytes = fs::read(testdata("table_basic")).unwrap();
    let scanned = |bytes: &[u8]| {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        fs::write(&path, bytes).unwrap();
        let file = TsFile::open(&path).unwrap();
        let mut scan = file.scan(None, None, TimeRange::ALL, |_| true);
        let (mut batch, mut rows, mut failed) = (ScanBatch::default(), Vec::new(), Vec::new());
        loop {
            match scan.read(&mut batch) {
                Ok(true) => put(&mut rows, &batch.batch),
                Ok(false) => return (rows, failed),
                Err(_) => failed.push(scan.failed().map(ToString::to_string)),
            }
        }
    };
    let (all, failed) = scanned(&bytes);
    assert_eq!((all.len(), failed.len()), (12, 0));
    // The list of chunks of the times of the second device.
    let mut bad = bytes.clone();
    bad[576] ^= 0x7f;
    let (rows, failed) = scanned(&bad);
    assert_eq!(failed, [Some("t1/north/d1").map(|name| format!("/{name}"))]);
    assert_eq!(rows, [&all[..3], &all[6..]].concat());
}

#[test]
fn verify_compares_texts() {
    // The last value of TEXT in its only page: the index says otherwise.
    for (name, from, to) in [("tree_multichunk", "r249", "r24x"), ("table_basic", "x", "y")] {
        let bytes = fs::read(testdata(name)).unwrap();
        assert_eq!(findings(&bytes), Some(0));
        let at = bytes.windows(from.len() + 4).rposition(|window| {
            let (length, text) = window.split_at(4);
            text == from.as_bytes() && length == (from.len() as u32).to_be_bytes()
        });
        let at = at.unwrap() + 4;
        let mut bad = bytes.clone();
        bad[at..at + to.len()].copy_from_slice(to.as_bytes());
        assert_ne!(findings(&bad), Some(0), "{name}");
    }
}
