//! Where the official readers and writers disagree with their documents or with each other, and what users ran
//! into: one test each, unless it stands beside the code (`docs/tsfile.md` says where).

#![allow(missing_docs)]

mod tsfile_support;

use std::ops::Range;
use std::path::Path;

use core_codec::limits::Limits;
use core_codec::source::{Poll, Source, Stop, check_range, complete};
use core_codec::tsfile::column::Binaries;
use core_codec::tsfile::encoding::{Flavour, decode};
use core_codec::tsfile::query::{Batch, Plan, Rows as Query, Serial, TimeRange};
use core_codec::tsfile::wire::{put_string32, put_uvarint, put_var_string, put_varint};
use core_codec::tsfile::{DataType, DeviceId, Encoding, TsFile, Values};
use core_codec::{Error, ErrorKind};
use tsfile_support::{Device, Footer, Rows, cells, device, file};

fn open(bytes: &[u8]) -> TsFile {
    complete(TsFile::open(bytes, &Limits::default())).unwrap()
}

fn id(segments: &[Option<&str>]) -> DeviceId {
    DeviceId::new(segments.iter().map(|segment| segment.map(Box::from)).collect())
}

fn one(path: &[Option<&str>], value: i64) -> Device {
    device(path, true, vec![Rows { times: vec![1], columns: vec![cells("v", &[Some(value)])] }])
}

/// The only value of a device.
fn value<S: Source + ?Sized>(file: &TsFile, source: &S, device: &DeviceId) -> Result<i64, Error> {
    let entry = complete(file.device(source, device))?.expect("the device is there");
    let plan = complete(Plan::new(file, source, &entry, None, TimeRange::ALL))?;
    let mut rows = Query::new(file, plan);
    let mut batch = Batch::default();
    assert!(complete(rows.next(file, source, &Serial, &mut batch))?);
    match &batch.columns[0].values {
        Values::Int64(values) => Ok(values[0]),
        other => panic!("{other:?}"),
    }
}

// Row 1 of the table.
#[test]
fn trailing_null_tags_are_found_trimmed_or_not() {
    let devices = [
        one(&[Some("t"), None, None], 1),
        one(&[Some("t"), Some("a"), None, None], 2),
        one(&[Some("t"), Some("b")], 3),
        one(&[Some("t"), Some("null")], 4),
    ];
    let bytes = file(&devices, &Footer::default());
    let opened = open(&bytes);
    let paths: [&[Option<&str>]; 4] =
        [&[Some("t")], &[Some("t"), Some("a")], &[Some("t"), Some("b"), None], &[Some("t"), Some("null")]];
    for (at, path) in paths.iter().enumerate() {
        assert_eq!(value(&opened, &bytes[..], &id(path)), Ok(at as i64 + 1), "{path:?}");
    }
}

// Rows 3 and 4: the files here have no role bits and PLAIN times.
#[test]
fn aligned_columns_are_told_by_their_time_column_and_read_by_the_header() {
    let bytes = file(&[one(&[Some("t"), Some("a")], 7)], &Footer::default());
    assert_eq!(value(&open(&bytes), &bytes[..], &id(&[Some("t"), Some("a")])), Ok(7));
}

// Row 5.
#[test]
fn only_bit_streams_may_have_bytes_left_over() {
    let cases: [(Encoding, &[u8], bool); 4] = [
        (Encoding::Gorilla, &[0, 0, 0, 5, 0], true),
        (Encoding::Chimp, &[0, 0, 0, 5, 0], true),
        (Encoding::GorillaV1, &[5, 0, 0, 0, 0, 0, 0], true),
        (Encoding::Plain, &[10, 0], false),
    ];
    for (encoding, bytes, allowed) in cases {
        let mut out = Values::Int32(vec![]);
        let found = decode(encoding, DataType::Int32, Flavour::Cpp, bytes, 1, &mut out);
        assert_eq!(found.is_ok(), allowed, "{encoding}");
        assert_eq!(out, Values::Int32(vec![5]), "{encoding}");
    }
}

// Row 9.
#[test]
fn counts_of_properties_and_absent_filters_are_read_in_all_their_forms() {
    let property = |out: &mut Vec<u8>| {
        put_var_string(out, Some("key")).unwrap();
        put_var_string(out, Some("value")).unwrap();
    };
    let mut signed = vec![0];
    put_varint(&mut signed, 1);
    property(&mut signed);
    let mut unsigned = vec![0];
    put_uvarint(&mut unsigned, 1);
    property(&mut unsigned);
    let mut int32_zero = vec![0, 0, 0, 0];
    put_varint(&mut int32_zero, 1);
    property(&mut int32_zero);
    for end in [signed, unsigned, int32_zero] {
        let bytes = file(&[one(&[Some("t")], 1)], &Footer { end: Some(end.clone()), ..Footer::default() });
        assert_eq!(open(&bytes).metadata.property("key"), Some("value"), "{end:?}");
    }
    let bytes = file(&[one(&[Some("t")], 1)], &Footer { end: Some(vec![0, 0, 9]), ..Footer::default() });
    assert!(complete(TsFile::open(&bytes[..], &Limits::default())).is_err());
}

// Row 10.
#[test]
fn names_in_the_order_of_utf16_are_found() {
    // In UTF-16 a surrogate (d83d) stands before U+FF21, in bytes after it.
    let names = ["\u{1f600}", "\u{ff21}"];
    let devices: Vec<Device> =
        names.iter().zip(1..).map(|(name, value)| one(&[Some("t"), Some(name)], value)).collect();
    let bytes = file(&devices, &Footer::default());
    for (name, expected) in names.iter().zip(1..) {
        assert_eq!(value(&open(&bytes), &bytes[..], &id(&[Some("t"), Some(name)])), Ok(expected));
    }
    let columns = names.iter().zip(1..).map(|(name, value)| cells(name, &[Some(value)])).collect();
    let bytes =
        file(&[device(&[Some("t")], true, vec![Rows { times: vec![1], columns }])], &Footer::default());
    let opened = open(&bytes);
    let entry = complete(opened.device(&bytes[..], &id(&[Some("t")]))).unwrap().unwrap();
    for name in names {
        assert!(complete(opened.series(&bytes[..], &entry, name)).unwrap().is_some());
    }
    assert_eq!(complete(opened.series(&bytes[..], &entry, "\u{1f601}")), Ok(None));
}

// Users: a footer with properties of columns.
#[test]
fn properties_of_columns_do_not_shift_the_footer() {
    let mut schemas = vec![1];
    put_var_string(&mut schemas, Some("t")).unwrap();
    put_uvarint(&mut schemas, 1);
    put_string32(&mut schemas, Some("v")).unwrap();
    schemas.extend([DataType::Int64 as u8, 0, 0]);
    schemas.extend(2i32.to_be_bytes());
    for text in ["unit", "K", "site", ""] {
        put_string32(&mut schemas, Some(text)).unwrap();
    }
    schemas.extend(1i32.to_be_bytes());
    let bytes = file(&[one(&[Some("t")], 1)], &Footer { schemas: Some(schemas), ..Footer::default() });
    let opened = open(&bytes);
    assert_eq!(opened.metadata.tables[0].columns[0].properties[0], ("unit".into(), "K".into()));
    assert_eq!(value(&opened, &bytes[..], &id(&[Some("t")])), Ok(1));
}

// Users: a page of 17 bytes that other readers never leave.
#[test]
fn no_short_page_is_read_for_ever() {
    let encodings = [
        Encoding::Plain,
        Encoding::Rle,
        Encoding::Ts2Diff,
        Encoding::Gorilla,
        Encoding::GorillaV1,
        Encoding::Chimp,
        Encoding::Zigzag,
        Encoding::Sprintz,
        Encoding::Rlbe,
        Encoding::Camel,
        Encoding::Regular,
        Encoding::Dictionary,
    ];
    let dtypes = [DataType::Int32, DataType::Int64, DataType::Float, DataType::Double, DataType::Boolean];
    for fill in [0u8, 1, 0x7f, 0x80, 0xff] {
        for encoding in encodings {
            for dtype in dtypes.into_iter().chain([DataType::Text]) {
                for flavour in [Flavour::Cpp, Flavour::Java] {
                    let mut out = Values::new(dtype).unwrap();
                    let found = decode(encoding, dtype, flavour, &[fill; 17], 1_000_000, &mut out);
                    assert!(found.is_err(), "{encoding} {dtype} {fill:#x}");
                }
            }
        }
    }
}

// Users: a null timestamp became the smallest number, a null tag the text "null".
#[test]
fn null_is_not_a_value() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tsfile/table_alltypes_nulls.tsfile");
    let bytes = std::fs::read(path).unwrap();
    let opened = open(&bytes);
    let mut devices = opened.devices(None);
    let entry = complete(devices.next(&bytes[..])).unwrap().unwrap();
    let plan = complete(Plan::new(&opened, &bytes[..], &entry, None, TimeRange::ALL)).unwrap();
    let at = plan.fields.iter().position(|field| field.dtype == DataType::Timestamp).unwrap();
    let mut rows = Query::new(&opened, plan);
    let mut batch = Batch::default();
    let mut nulls = 0;
    while complete(rows.next(&opened, &bytes[..], &Serial, &mut batch)).unwrap() {
        let column = &batch.columns[at];
        nulls += batch.rows() - column.validity.count();
        assert_eq!((0..batch.rows()).filter(|&row| column.get(row).is_none()).count(), nulls);
    }
    assert!(nulls > 0);
}

/// A file with a hole behind its version that nobody may read.
struct Sparse<'a> {
    bytes: &'a [u8],
    gap: u64,
}

impl Source for Sparse<'_> {
    fn len(&self) -> u64 {
        self.bytes.len() as u64 + self.gap
    }

    fn bytes(&self, range: Range<u64>) -> Poll<&[u8]> {
        check_range(&range, self.len())?;
        let head = range.end <= 8;
        if !head && range.start < 7 + self.gap {
            return Err(Stop::Error(Error::new("hole", ErrorKind::Invalid("was read")).at(range.start)));
        }
        // The marker behind the version is looked at for an encryption header.
        let shift = if range.start >= 7 + self.gap { self.gap } else { 0 };
        Ok(&self.bytes[(range.start - shift) as usize..(range.end - shift) as usize])
    }
}

// Users: files over 2 and 4 GB.
#[test]
fn offsets_have_64_bits() {
    for gap in [0, 1 << 31, 1 << 32, 1 << 40] {
        let footer = Footer { gap, ..Footer::default() };
        let bytes = file(&[one(&[Some("t"), Some("a")], 1), one(&[Some("t"), Some("b")], 2)], &footer);
        let source = Sparse { bytes: &bytes, gap };
        let opened = complete(TsFile::open(&source, &Limits::default())).unwrap();
        assert_eq!(value(&opened, &source, &id(&[Some("t"), Some("b")])), Ok(2), "{gap}");
    }
}

// Encodings that nothing writes.
#[test]
fn an_unsupported_encoding_concerns_its_column_alone() {
    for encoding in [Encoding::Diff, Encoding::Bitmap, Encoding::Freq] {
        let mut odd = cells("odd", &[Some(1)]);
        odd.encoding = encoding;
        let rows = Rows { times: vec![1], columns: vec![odd, cells("v", &[Some(7)])] };
        let bytes = file(&[device(&[Some("t")], true, vec![rows])], &Footer::default());
        let opened = open(&bytes);
        let entry = complete(opened.device(&bytes[..], &id(&[Some("t")]))).unwrap().unwrap();
        let read = |name: &str| {
            let plan =
                complete(Plan::new(&opened, &bytes[..], &entry, Some(&[name]), TimeRange::ALL)).unwrap();
            let mut batch = Batch::default();
            complete(Query::new(&opened, plan).next(&opened, &bytes[..], &Serial, &mut batch))
        };
        assert_eq!(read("v"), Ok(true));
        let error = read("odd").unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
        assert!(error.to_string().contains(encoding.name()), "{error}");
        let all = complete(Plan::new(&opened, &bytes[..], &entry, None, TimeRange::ALL)).unwrap();
        assert_eq!(all.fields.iter().map(|field| &*field.name).collect::<Vec<_>>(), ["v"]);
        assert_eq!(all.left_out.len(), 1);
        assert_eq!(value(&opened, &bytes[..], &id(&[Some("t")])), Ok(7));
    }
    let mut out = Values::Binary(Binaries::default());
    assert!(decode(Encoding::Rle, DataType::Text, Flavour::Cpp, &[], 1, &mut out).is_err());
}
