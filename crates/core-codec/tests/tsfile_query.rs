//! Queries give what was written, whatever the layout: overlapping chunks, aligned or not, any range, with bytes
//! that come late or without a footer.

#![allow(missing_docs)]

mod tsfile_support;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::{env, fs};

use core_codec::limits::Limits;
use core_codec::source::{Poll, Source, Stop, check_range, complete};
use core_codec::tsfile::query::{
    Aggregate, Aggregator, Ask, Batch, Executor, LATE, Plan, Rows as Query, Scalar, Serial, Task, TimeRange,
    Work,
};
use core_codec::tsfile::scan::Indexer;
use core_codec::tsfile::{BloomFilter, DataType, DeviceEntry, Encoding, Series, Statistics, TsFile, Value};
use proptest::prelude::*;
use tsfile_support::{
    Cells, Device, Footer, RawChunk, RawPage, Rows, cells, device, file, raw_file, zero_chunk, zeros,
};

/// Rows as one reads them: a value a column, or none.
type Table = Vec<(i64, Vec<Option<Scalar>>)>;

fn drain<S: Source + ?Sized>(file: &TsFile, source: &S, plan: Plan) -> Poll<Table> {
    let (table, end) = drain_by(file, source, &Serial, plan);
    end.map(|()| table)
}

/// The rows before the end or the first error.
fn drain_by<S: Source + ?Sized>(
    file: &TsFile,
    source: &S,
    executor: &impl Executor<S>,
    plan: Plan,
) -> (Table, Poll<()>) {
    let mut rows = Query::new(file, plan);
    let mut batch = Batch::default();
    let mut table = Vec::new();
    loop {
        match retry(|| rows.next(file, source, executor, &mut batch)) {
            Ok(true) => {}
            end => {
                assert!(table.is_sorted_by(|a: &(i64, _), b| a.0 < b.0));
                return (table, end.map(|_| ()));
            }
        }
        for (row, &time) in batch.times.iter().enumerate() {
            let values = batch.columns.iter().map(|column| column.get(row).map(Scalar::from)).collect();
            table.push((time, values));
        }
    }
}

/// Decodes pages when they are waited for, which is as late as threads may be.
struct Deferred {
    bytes: Arc<[u8]>,
    width: usize,
}

impl Executor<[u8]> for Deferred {
    fn start(&self, _: &[u8], mut work: Work) -> Task {
        let bytes = self.bytes.clone();
        Task::Running(Box::new(move || {
            work.run(&bytes[..]);
            work
        }))
    }

    fn width(&self) -> usize {
        self.width
    }
}

thread_local! {
    /// Ranges that a late source has been asked for.
    static FETCHED: RefCell<Vec<Range<u64>>> = const { RefCell::new(Vec::new()) };
}

/// Calls a reader until it stops asking for bytes.
fn retry<T>(mut step: impl FnMut() -> Poll<T>) -> Poll<T> {
    loop {
        match step() {
            Err(Stop::Need(ranges)) => FETCHED.with_borrow_mut(|fetched| fetched.extend(ranges)),
            other => return other,
        }
    }
}

/// Bytes that come only after they have been asked for.
struct Late<'a>(&'a [u8]);

impl Source for Late<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn bytes(&self, range: Range<u64>) -> Poll<&[u8]> {
        check_range(&range, self.len())?;
        let there = FETCHED.with_borrow(|fetched| {
            fetched.iter().any(|known| known.start <= range.start && range.end <= known.end)
        });
        if there { self.0.bytes(range) } else { Err(Stop::Need(vec![range])) }
    }
}

fn devices<S: Source + ?Sized>(file: &TsFile, source: &S) -> Vec<DeviceEntry> {
    let mut cursor = file.devices(None);
    let mut all = Vec::new();
    while let Some(device) = retry(|| cursor.next(source)).unwrap() {
        all.push(device);
    }
    all
}

fn rows_of(bytes: &[u8], columns: Option<&[&str]>, range: TimeRange) -> Table {
    let file = complete(TsFile::open(bytes, &Limits::default())).unwrap();
    let device = devices(&file, bytes).remove(0);
    let plan = complete(Plan::new(&file, bytes, &device, columns, range)).unwrap();
    complete(drain(&file, bytes, plan)).unwrap()
}

fn ints(table: Table) -> Vec<(i64, Vec<Option<i64>>)> {
    let number = |value: Scalar| match value {
        Scalar::Int64(value) => value,
        other => panic!("{other:?}"),
    };
    table.into_iter().map(|(time, row)| (time, row.into_iter().map(|v| v.map(number)).collect())).collect()
}

const DEVICE: [Option<&str>; 2] = [Some("root.sg"), Some("d")];

#[test]
fn of_overlapping_chunks_the_later_one_wins() {
    let chunks = vec![
        Rows { times: vec![1, 3, 5], columns: vec![cells("s", &[Some(10), Some(30), Some(50)])] },
        Rows { times: vec![3, 4], columns: vec![cells("s", &[Some(-3), Some(-4)])] },
        Rows { times: vec![0, 5], columns: vec![cells("s", &[Some(-10), Some(-5)])] },
    ];
    let bytes = file(&[device(&DEVICE, false, chunks)], &Footer::default());
    let expected = [(0, -10), (1, 10), (3, -3), (4, -4), (5, -5)].map(|(t, v)| (t, vec![Some(v)]));
    assert_eq!(ints(rows_of(&bytes, None, TimeRange::ALL)), expected);
}

#[test]
fn a_null_does_not_win_over_a_value() {
    let chunks = vec![
        Rows {
            times: vec![1, 2],
            columns: vec![cells("a", &[Some(1), Some(2)]), cells("b", &[None, Some(20)])],
        },
        Rows {
            times: vec![1, 2],
            columns: vec![cells("a", &[None, Some(-2)]), cells("b", &[Some(-1), None])],
        },
    ];
    let bytes = file(&[device(&DEVICE, true, chunks)], &Footer::default());
    let expected = [(1, vec![Some(1), Some(-1)]), (2, vec![Some(-2), Some(20)])];
    assert_eq!(ints(rows_of(&bytes, None, TimeRange::ALL)), expected);
}

#[test]
fn rows_that_miss_a_measurement_do_not_shift_values() {
    let chunk = Rows {
        times: vec![1, 2, 3],
        columns: vec![cells("a", &[Some(1), None, Some(3)]), cells("b", &[None, Some(2), None])],
    };
    let bytes = file(&[device(&DEVICE, true, vec![chunk])], &Footer::default());
    let expected = [(1, vec![Some(1), None]), (2, vec![None, Some(2)]), (3, vec![Some(3), None])];
    assert_eq!(ints(rows_of(&bytes, None, TimeRange::ALL)), expected);
    // A column that the index does not have for one of the chunks is null there.
    let first = Rows { times: vec![1], columns: vec![cells("a", &[Some(1)])] };
    let second = Rows { times: vec![2], columns: vec![cells("a", &[Some(2)]), cells("late", &[Some(9)])] };
    let bytes = file(&[device(&DEVICE, true, vec![first, second])], &Footer::default());
    let expected = [(1, vec![Some(1), None]), (2, vec![Some(2), Some(9)])];
    assert_eq!(ints(rows_of(&bytes, None, TimeRange::ALL)), expected);
}

// Found by changing bytes of files: a column came out with twice as many rows as there are times.
#[test]
fn of_two_chunks_with_the_same_times_the_later_one_wins() {
    let columns = vec![cells("a", &[Some(1), Some(2)]), cells("a", &[Some(-1), None])];
    let twice = Rows { times: vec![1, 2], columns };
    let once = Rows { times: vec![3], columns: vec![cells("b", &[Some(3)])] };
    let bytes = file(&[device(&DEVICE, true, vec![twice, once])], &Footer::default());
    let expected = [(1, vec![Some(-1), None]), (2, vec![None, None]), (3, vec![None, Some(3)])];
    assert_eq!(ints(rows_of(&bytes, None, TimeRange::ALL)), expected);
}

/// Counts what is read, as ranges.
struct Counted<'a>(&'a [u8], RefCell<Vec<Range<u64>>>);

impl Source for Counted<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn bytes(&self, range: Range<u64>) -> Poll<&[u8]> {
        self.1.borrow_mut().push(range.clone());
        self.0.bytes(range)
    }
}

#[test]
fn a_series_that_the_filter_rules_out_is_not_looked_for() {
    let (_, bytes) = testdata().find(|(name, _)| name == "tree_enc_int64").unwrap();
    let file = complete(TsFile::open(&bytes[..], &Limits::default())).unwrap();
    assert!(file.metadata.bloom.is_some());
    let entry = devices(&file, &bytes[..]).remove(0);
    let reads = |file: &TsFile, name: &str| {
        let source = Counted(&bytes, RefCell::new(Vec::new()));
        let found = complete(file.find(&source, &entry.id, name)).unwrap().is_some();
        let index = |range: &&Range<u64>| range.end <= file.metadata.range.start;
        let reads = source.1.borrow().iter().filter(index).count();
        (found, reads)
    };
    // Only the filter in the footer is read.
    assert_eq!(reads(&file, "there is no such series"), (false, 0));
    let (found, present) = reads(&file, "s_rle");
    assert!(found && present > 0);
    let mut blind = file.clone();
    blind.metadata.bloom = None;
    assert!(reads(&blind, "there is no such series").1 > present);
}

#[test]
fn a_filter_that_lies_hides_no_column_of_a_device() {
    let (_, bytes) = testdata().find(|(name, _)| name == "tree_enc_int64").unwrap();
    let mut file = complete(TsFile::open(&bytes[..], &Limits::default())).unwrap();
    let entry = devices(&file, &bytes[..]).remove(0);
    // No bit is set.
    file.metadata.bloom = BloomFilter::new(0..0, 256, 5);
    assert_eq!(complete(file.may_hold(&bytes[..], &entry.id, "s_rle")), Ok(false));
    let plan = complete(Plan::new(&file, &bytes[..], &entry, Some(&["s_rle"]), TimeRange::ALL)).unwrap();
    let found = complete(drain(&file, &bytes[..], plan)).unwrap();
    assert!(!found.is_empty() && found == rows_of(&bytes, Some(&["s_rle"]), TimeRange::ALL));
}

#[test]
fn an_empty_filter_rules_nothing_out() {
    let rows = || Rows { times: vec![1], columns: vec![cells("s", &[Some(7)])] };
    // No bytes and no properties; the same with an absent filter as `int32` 0, as some Java writes it.
    for end in [&[0, 0][..], &[0, 0, 0, 0, 0]] {
        let footer = Footer { end: Some(end.to_vec()), ..Footer::default() };
        let bytes = file(&[device(&DEVICE, false, vec![rows()])], &footer);
        let opened = complete(TsFile::open(&bytes[..], &Limits::default())).unwrap();
        let entry = devices(&opened, &bytes[..]).remove(0);
        assert_eq!(complete(opened.may_hold(&bytes[..], &entry.id, "s")), Ok(true), "{end:?}");
        assert!(complete(opened.find(&bytes[..], &entry.id, "s")).unwrap().is_some(), "{end:?}");
        assert_eq!(ints(rows_of(&bytes, Some(&["s"]), TimeRange::ALL)), [(1, vec![Some(7)])]);
    }
}

#[test]
fn a_damaged_record_hides_no_other() {
    let (_, bytes) = testdata().find(|(name, _)| name == "tree_alltypes_plain").unwrap();
    let opened = complete(TsFile::open(&bytes[..], &Limits::default())).unwrap();
    let entry = devices(&opened, &bytes[..]).remove(0);
    let all = complete(opened.all_series(&bytes[..], &entry)).unwrap();
    assert!(all.len() > 5);
    let index = opened.metadata.meta_offset as usize + 1;
    for bad in &all {
        // Role, name, type, bytes of the list.
        let name = [&[2 * bad.name.len() as u8], bad.name.as_bytes()].concat();
        let at = index + bytes[index..].windows(name.len()).position(|window| window == name).unwrap();
        for (what, at, flip) in [
            ("name", at, 0x20),
            ("type", at + name.len(), 0x70),
            ("bytes of the list", at + name.len() + 1, 0x01),
            ("bytes of the list", at + name.len() + 1, 0x80),
        ] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            let find = |name: &str| complete(opened.series(&damaged[..], &entry, name));
            for other in all.iter().filter(|other| other.name != bad.name) {
                assert_eq!(find(&other.name).as_ref(), Ok(&Some(other.clone())), "{what} of {}", bad.name);
            }
            assert!(find(&bad.name).is_err(), "{what} of {}", bad.name);
            let plan = complete(Plan::new(&opened, &damaged[..], &entry, None, TimeRange::ALL)).unwrap();
            assert_eq!(
                (plan.fields.len(), plan.left_out.len()),
                (all.len() - 1, 1),
                "{what} of {}",
                bad.name
            );
            let names: Vec<&str> = all.iter().map(|series| &*series.name).collect();
            let plan =
                complete(Plan::new(&opened, &damaged[..], &entry, Some(&names), TimeRange::ALL)).unwrap();
            assert_eq!(
                (plan.fields.len(), plan.left_out.len()),
                (all.len() - 1, 1),
                "{what} of {}",
                bad.name
            );
        }
    }
}

#[test]
fn what_is_wrong_with_one_column_does_not_hide_the_others() {
    for aligned in [true, false] {
        let chunk = |start: i64| {
            let mut bad = cells("bad", &[Some(start), Some(-1)]);
            if start == 10 {
                // The values are PLAIN.
                bad.encoding = Encoding::Rle;
            }
            let good = cells("good", &[Some(start + 1), Some(start + 2)]);
            Rows { times: vec![start, start + 1], columns: vec![bad, good] }
        };
        let bytes =
            file(&[device(&DEVICE, aligned, vec![chunk(0), chunk(10), chunk(20)])], &Footer::default());
        let opened = complete(TsFile::open(&bytes[..], &Limits::default())).unwrap();
        let entry = devices(&opened, &bytes[..]).remove(0);
        let plan = |names: &[&str]| {
            complete(Plan::new(&opened, &bytes[..], &entry, Some(names), TimeRange::ALL)).unwrap()
        };
        let mut rows = Query::new(&opened, plan(&["bad", "good"]));
        let (mut batch, mut found) = (Batch::default(), Vec::new());
        while complete(rows.next(&opened, &bytes[..], &Serial, &mut batch)).unwrap() {
            let number = |column: usize, row: usize| match batch.columns[column].get(row) {
                Some(Value::Int64(value)) => Some(value),
                _ => None,
            };
            found.extend((0..batch.rows()).map(|row| (number(0, row), number(1, row))));
        }
        let some = |bad: i64, good: i64| (Some(bad), Some(good));
        let expected =
            [some(0, 1), some(-1, 2), (None, Some(11)), (None, Some(12)), some(20, 21), some(-1, 22)];
        assert_eq!(found, expected);
        let left_out = rows.take_left_out();
        assert!(left_out.len() == 1 && left_out[0].to_string().contains("of bad"), "{left_out:?}");
        assert!(rows.take_left_out().is_empty());

        let (table, end) = drain_by(&opened, &bytes[..], &Serial, plan(&["bad"]));
        assert_eq!(table.len(), 2);
        assert!(complete(end).unwrap_err().to_string().contains("of bad"));
        // From the middle of the chunk on, so that it must be decoded.
        let mut part = plan(&["bad", "good"]);
        part.range = Some(TimeRange { start: 11, end: 100 });
        let aggregate = Aggregator::new(part, Ask::All).run(&opened, &bytes[..], &Serial);
        assert!(aggregate.is_err(), "{aggregate:?}");
    }
}

#[test]
fn a_start_that_is_too_late_costs_no_rows() {
    // The chunk of `b` has the times 5 to 14.
    let late = RawPage { times: 150..160, ..zeros(5..15, 1) };
    let chunks = [zero_chunk("a", vec![zeros(0..200, 1)]), zero_chunk("b", vec![late])];
    let bytes = raw_file(&DEVICE, &chunks);
    let opened = complete(TsFile::open(&bytes[..], &Limits::default())).unwrap();
    let entry = devices(&opened, &bytes[..]).remove(0);
    let plan = |names, range| complete(Plan::new(&opened, &bytes[..], &entry, names, range)).unwrap();
    let (table, end) = drain_by(&opened, &bytes[..], &Serial, plan(None, TimeRange::ALL));
    let error = complete(end).unwrap_err();
    assert_eq!((table.len(), error.structure()), (150, LATE));
    let mut rows = Query::new(&opened, Plan { any_order: true, ..plan(None, TimeRange::ALL) });
    let (mut batch, mut found) = (Batch::default(), [Vec::new(), Vec::new()]);
    while complete(rows.next(&opened, &bytes[..], &Serial, &mut batch)).unwrap() {
        for (column, times) in batch.columns.iter().zip(&mut found) {
            let there = batch.times.iter().enumerate().filter(|(row, _)| column.get(*row).is_some());
            times.extend(there.map(|(_, time)| *time));
        }
    }
    assert_eq!(found, [(0..200).collect::<Vec<_>>(), (5..15).collect()]);
    let told: Vec<String> = rows.take_left_out().iter().map(ToString::to_string).collect();
    assert!(told.len() == 1 && told[0].starts_with("late rows of b at byte "), "{told:?}");
    let alone = ints(rows_of(&bytes, Some(&["b"]), TimeRange::ALL));
    assert_eq!(alone, (5..15).map(|time| (time, vec![Some(0)])).collect::<Vec<_>>());
    // Where times are asked for, what the statistics rule out is not looked at.
    assert!(plan(Some(&["b"]), TimeRange { start: 0, end: 20 }).pieces.is_empty());
}

/// What a scan finds in the data of a file.
fn scanned(bytes: &[u8]) -> Table {
    let closed = complete(TsFile::open(bytes, &Limits::default())).unwrap();
    let cut = &bytes[..closed.metadata.meta_offset as usize];
    let mut indexer = complete(Indexer::new(cut, &Limits::default())).unwrap();
    complete(indexer.run(cut)).unwrap();
    let (scanned, damage) = indexer.finish();
    assert_eq!(damage, None);
    let found = devices(&scanned, cut);
    assert_eq!(found.len(), 1);
    let plan = complete(Plan::new(&scanned, cut, &found[0], None, TimeRange::ALL)).unwrap();
    complete(drain(&scanned, cut, plan)).unwrap()
}

#[test]
fn small_times_in_plain_are_not_taken_for_differences() {
    for rows in [1, 3, 6, 9] {
        let times: Vec<u8> = (0..rows).flat_map(i64::to_be_bytes).collect();
        let values: Vec<u8> = (0..rows).flat_map(|time| (-time).to_be_bytes()).collect();
        let payload = [&[times.len() as u8], &times[..], &values].concat();
        let page = RawPage { uncompressed: payload.len(), rows: rows as u32, times: 0..rows, payload };
        let chunk = RawChunk { encoding: Encoding::Plain, ..zero_chunk("s", vec![page]) };
        let bytes = raw_file(&DEVICE, &[chunk]);
        let expected: Vec<_> = (0..rows).map(|time| (time, vec![Some(-time)])).collect();
        assert_eq!(ints(rows_of(&bytes, None, TimeRange::ALL)), expected);
        assert_eq!(ints(scanned(&bytes)), expected);
    }
}

/// Chunks of up to three columns with some values missing.
fn some_device() -> impl Strategy<Value = Device> {
    let rows =
        prop::collection::btree_map(-20i64..20, prop::array::uniform3(prop::option::of(any::<i64>())), 1..12);
    let chunks = prop::collection::vec(rows, 1..5);
    (any::<bool>(), chunks).prop_map(|(aligned, chunks)| {
        let columns = |rows: &BTreeMap<i64, [Option<i64>; 3]>| -> Vec<Cells> {
            let column = |at: usize| rows.values().map(|row| row[at]).collect::<Vec<_>>();
            (0..3).map(|at| cells(&format!("s{at}"), &column(at))).collect()
        };
        let chunks = chunks
            .iter()
            .map(|rows| Rows { times: rows.keys().copied().collect(), columns: columns(rows) })
            .collect();
        device(&DEVICE, aligned, chunks)
    })
}

/// What the rows should be: by time and column the last value that was written.
fn model(device: &Device, range: TimeRange) -> Vec<(i64, Vec<Option<i64>>)> {
    let mut rows: BTreeMap<i64, Vec<Option<i64>>> = BTreeMap::new();
    for chunk in &device.chunks {
        for (at, &time) in chunk.times.iter().enumerate() {
            for (column, cells) in chunk.columns.iter().enumerate() {
                if cells.values[at].is_some() || device.aligned {
                    let row = rows.entry(time).or_insert_with(|| vec![None; 3]);
                    row[column] = cells.values[at].or(row[column]);
                }
            }
        }
    }
    rows.into_iter().filter(|(time, _)| range.start <= *time && *time <= range.end).collect()
}

proptest! {
    #[test]
    fn queries_give_what_was_written(device in some_device(), start in -25i64..25, length in 0i64..50) {
        let bytes = file(std::slice::from_ref(&device), &Footer::default());
        for range in [TimeRange::ALL, TimeRange { start, end: start + length }] {
            let expected = model(&device, range);
            prop_assert_eq!(&ints(rows_of(&bytes, None, range)), &expected);

            let file = complete(TsFile::open(&bytes[..], &Limits::default())).unwrap();
            let entry = devices(&file, &bytes[..]).remove(0);
            for column in 0..3 {
                let name = format!("s{column}");
                let plan = complete(Plan::new(&file, &bytes[..], &entry, Some(&[&name]), range)).unwrap();
                let found = complete(Aggregator::new(plan, Ask::All).run(&file, &bytes[..], &Serial)).unwrap();
                let values: Vec<(i64, i64)> =
                    expected.iter().filter_map(|(time, row)| Some((*time, row[column]?))).collect();
                let ends = |row: Option<&(i64, i64)>| row.map(|&(time, value)| (time, Scalar::Int64(value)));
                prop_assert_eq!(found.count, values.len() as u64);
                prop_assert_eq!(found.first, ends(values.first()));
                prop_assert_eq!(found.last, ends(values.last()));
                let of = |value: Option<i64>| value.map(Scalar::Int64);
                prop_assert_eq!(found.min, of(values.iter().map(|row| row.1).min()));
                prop_assert_eq!(found.max, of(values.iter().map(|row| row.1).max()));
            }
        }
    }

    #[test]
    fn pages_under_way_change_nothing(device in some_device(), width in 2usize..9, bad in any::<prop::sample::Index>()) {
        let bytes = file(std::slice::from_ref(&device), &Footer::default());
        let opened = complete(TsFile::open(&bytes[..], &Limits::default())).unwrap();
        let entry = devices(&opened, &bytes[..]).remove(0);
        // As it is, and with a byte of the data changed.
        let mut changed = bytes.clone();
        changed[7 + bad.index(opened.metadata.meta_offset as usize - 7)] ^= 0xff;
        for bytes in [bytes, changed] {
            let Ok(plan) = complete(Plan::new(&opened, &bytes[..], &entry, None, TimeRange::ALL)) else { continue };
            let one = drain_by(&opened, &bytes[..], &Serial, plan.clone());
            let executor = Deferred { bytes: bytes.clone().into(), width };
            prop_assert_eq!(drain_by(&opened, &bytes[..], &executor, plan), one);
        }
    }

    #[test]
    fn a_scan_without_footer_gives_the_same(device in some_device()) {
        let bytes = file(std::slice::from_ref(&device), &Footer::default());
        prop_assert_eq!(ints(scanned(&bytes)), model(&device, TimeRange::ALL));
    }
}

fn testdata() -> impl Iterator<Item = (String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tsfile");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let tsfile = |path: &std::path::PathBuf| path.extension().is_some_and(|extension| extension == "tsfile");
    let paths = paths.into_iter().filter(tsfile);
    paths
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
        .filter(|(name, _)| !name.contains("encrypted"))
}

#[test]
fn bytes_may_come_late() {
    for (name, bytes) in testdata() {
        FETCHED.with_borrow_mut(Vec::clear);
        let late = Late(&bytes);
        let file = retry(|| TsFile::open(&late, &Limits::default())).unwrap();
        for device in devices(&file, &late) {
            let plan = retry(|| Plan::new(&file, &late, &device, None, TimeRange::ALL)).unwrap();
            let found = drain(&file, &late, plan).unwrap();
            let plan = complete(Plan::new(&file, &bytes[..], &device, None, TimeRange::ALL)).unwrap();
            // NaN differs from itself, its text does not.
            let expected = complete(drain(&file, &bytes[..], plan)).unwrap();
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{name}");
        }
    }
}

#[test]
fn what_statistics_rule_out_is_not_read() {
    let (_, bytes) = testdata().find(|(name, _)| name == "tree_multipage").unwrap();
    let file = complete(TsFile::open(&bytes[..], &Limits::default())).unwrap();
    let entry = devices(&file, &bytes[..]).remove(0);
    let all = rows_of(&bytes, Some(&["s1"]), TimeRange::ALL);
    let first = all[0].0;
    let read = |range| {
        let plan = complete(Plan::new(&file, &bytes[..], &entry, Some(&["s1"]), range)).unwrap();
        let mut rows = Query::new(&file, plan);
        let mut batch = Batch::default();
        let mut batches = 0;
        while complete(rows.next(&file, &bytes[..], &Serial, &mut batch)).unwrap() {
            batches += 1;
        }
        batches
    };
    assert!(read(TimeRange::ALL) > 1, "the file has several pages");
    assert_eq!(read(TimeRange { start: first, end: first }), 1);
    assert_eq!(read(TimeRange { start: i64::MIN, end: first - 1 }), 0);
}

/// The aggregate of decoded rows.
fn decoded(table: &Table) -> Aggregate {
    let values: Vec<(i64, &Scalar)> =
        table.iter().filter_map(|(time, row)| Some((*time, row[0].as_ref()?))).collect();
    let end = |row: Option<&(i64, &Scalar)>| row.map(|&(time, value)| (time, value.clone()));
    Aggregate {
        count: values.len() as u64,
        first: end(values.first()),
        last: end(values.last()),
        ..Aggregate::default()
    }
}

/// Whether the statistics hold the values before they were rounded to be stored.
fn is_lossy(file: &TsFile, bytes: &[u8], series: &Series) -> bool {
    let chunk = complete(file.chunk(bytes, &series.name, &series.chunks[0])).unwrap();
    let rounded = [Encoding::Rle, Encoding::Ts2Diff, Encoding::Sprintz].contains(&chunk.encoding);
    rounded && [DataType::Float, DataType::Double].contains(&series.dtype)
}

#[test]
fn aggregates_from_statistics_equal_those_of_the_data() {
    let mut from_statistics = 0;
    for (name, bytes) in testdata() {
        let file = complete(TsFile::open(&bytes[..], &Limits::default())).unwrap();
        for device in devices(&file, &bytes[..]) {
            for series in complete(file.all_series(&bytes[..], &device)).unwrap() {
                if series.is_time() || is_lossy(&file, &bytes, &series) {
                    continue;
                }
                let plan = || {
                    let names = [&*series.name];
                    let columns = Some(&names[..]);
                    complete(Plan::new(&file, &bytes[..], &device, columns, TimeRange::ALL)).unwrap()
                };
                let table = complete(drain(&file, &bytes[..], plan())).unwrap();
                let mut found =
                    complete(Aggregator::new(plan(), Ask::Ends).run(&file, &bytes[..], &Serial)).unwrap();
                from_statistics += found.from_statistics;
                (found.from_statistics, found.decoded) = (0, 0);
                let what = format!("{name} {} {}", device.id, series.name);
                assert_eq!(format!("{found:?}"), format!("{:?}", decoded(&table)), "{what}");
            }
        }
    }
    assert!(from_statistics > 100);
}

#[test]
fn scans_find_all_data_of_real_files() {
    for (name, bytes) in testdata() {
        let closed = complete(TsFile::open(&bytes[..], &Limits::default())).unwrap();
        let cut = &bytes[..closed.metadata.meta_offset as usize];
        for (bytes, zeros) in [(cut.to_vec(), 0), ([cut, &[0; 100]].concat(), 100)] {
            let mut indexer = complete(Indexer::new(&bytes[..], &Limits::default())).unwrap();
            complete(indexer.run(&bytes[..])).unwrap();
            assert_eq!(indexer.position(), bytes.len() as u64 - zeros, "{name}");
            let (scanned, damage) = indexer.finish();
            assert_eq!(damage, None, "{name}");
            let found = scanned.scanned().unwrap();
            for device in devices(&closed, &bytes_of(&name)[..]) {
                let same = found.iter().find(|found| found.id == device.id);
                let same = same.unwrap_or_else(|| panic!("{name}: {}", device.id));
                for series in complete(closed.all_series(&bytes_of(&name)[..], &device)).unwrap() {
                    let same = same.series.iter().find(|found| found.name == series.name);
                    let same = same.unwrap_or_else(|| panic!("{name}: {}", series.name));
                    let offsets =
                        |series: &Series| -> Vec<u64> { series.chunks.iter().map(|c| c.offset).collect() };
                    assert_eq!(offsets(same), offsets(&series), "{name}: {}", series.name);
                    let ends = |series: &Series| {
                        let Statistics { count, start, end, .. } = series.statistics;
                        (count > 0).then_some((count, start, end))
                    };
                    assert_eq!(ends(same), ends(&series), "{name}: {}", series.name);
                }
            }
        }
        // Cut inside: what stands before is found, and where the damage is.
        let inside = &cut[..cut.len().saturating_sub(3).max(7)];
        let mut indexer = complete(Indexer::new(inside, &Limits::default())).unwrap();
        complete(indexer.run(inside)).unwrap();
        assert!(indexer.position() <= inside.len() as u64);
        assert_eq!(indexer.finish().1.is_some(), cut.len() > 7, "{name}");
    }
}

fn bytes_of(name: &str) -> Vec<u8> {
    testdata().find(|(found, _)| found == name).unwrap().1
}

#[test]
fn values_of_every_type_come_out() {
    let (_, bytes) = testdata().find(|(name, _)| name == "table_alltypes_nulls").unwrap();
    let table = rows_of(&bytes, None, TimeRange::ALL);
    assert!(table.iter().any(|(_, row)| row.iter().any(Option::is_none)));
    let first: Vec<Option<Value<'_>>> =
        table[0].1.iter().map(|value| value.as_ref().map(Scalar::value)).collect();
    assert_eq!(first.len(), 10);
}
