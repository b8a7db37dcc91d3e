//! Real `.izs` files, read in every way.

mod izs_support;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, io};

use core_codec::izs::model::{Kind, Role, SchemaBuilder, Value};
use core_codec::izs::{Compression, Dialect, Element};
use core_codec::{ErrorKind, Limits};
use std_io::{Access, Basis, Error, Fetch, FileRanges, Input, IzsFile, IzsWriter, WriteOptions};

use izs_support::{every_file, made, made_bytes, testdata};

fn open(name: &str) -> IzsFile {
    IzsFile::open(testdata().join(name)).unwrap()
}

#[test]
fn ids_of_another_file_are_errors() {
    let schema = |children: &str| format!(r#"{{"entity":{{"type":"group","children":{{{children}}}}}}}"#);
    let child = |name: &str, data: &str| format!(r#""{name}":{{"type":"bits","bits":8,"data":{data}}}"#);
    let large = made(&schema(&[child("a", "@0"), child("b", "@1")].join(",")), &[("u8", &[1]), ("u8", &[2])]);
    let small = made(r#"{"entity":{"type":"bits","bits":8,"data":@0}}"#, &[("u8", &[3])]);
    let (stream, entity) = (large.find("b").unwrap(), large.schema().find("b").unwrap());
    let errors = [
        small.stream(stream).map(drop).unwrap_err(),
        small.rows(entity).unwrap_err(),
        small.fields(entity).map(drop).unwrap_err(),
        small.values(entity, 0..1).map(drop).unwrap_err(),
        small.scaled_values(entity, 0..1).map(drop).unwrap_err(),
        small.bits(entity, 0..1).map(drop).unwrap_err(),
        small.quantities(entity, 0..1).map(drop).unwrap_err(),
        small.events(entity, 0..1).map(drop).unwrap_err(),
        small.times(entity, 0..1).map(drop).unwrap_err(),
        small.time_field(entity).map(drop).unwrap_err(),
        small.overview(entity, 0..1, 1, 1 << 20).map(drop).unwrap_err(),
        small.picks(stream, 0..1, 1).map(drop).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("no such"), "{error}");
    }
    let record = large.find("").unwrap_err().to_string();
    assert!(record.contains("group"), "{record}");
}

#[test]
fn a_map_and_positional_reads_give_the_same() {
    for path in every_file() {
        let map = IzsFile::open(&path).unwrap();
        // A cache of nothing, so that every read fetches what it needs.
        let input = Input::open(&path, Access::Read).unwrap().with_cache(0);
        let reads = IzsFile::from_input(input, Limits::default()).unwrap();
        assert_eq!(map.schema(), reads.schema());
        for id in map.schema().streams() {
            let (map, reads) = (map.stream(id).unwrap(), reads.stream(id).unwrap());
            let whole = map.read_bytes(0..map.len()).unwrap();
            assert_eq!(whole, reads.read_bytes(0..map.len()).unwrap(), "{}", path.display());
            let width = u64::from(map.descriptor().element.size());
            let part = map.len() / 3..map.len() - map.len() / 4;
            let inside = &whole[(part.start * width) as usize..(part.end * width) as usize];
            assert_eq!(inside, reads.read_bytes(part).unwrap());
        }
    }
}

#[test]
fn typed_reads_want_the_width_of_the_element() {
    let file = open("two_blocks_u16_summ.izs");
    let stream = file.stream(file.find("").unwrap()).unwrap();
    let samples: Vec<u16> = stream.read(5..9).unwrap();
    let bytes = stream.read_bytes(5..9).unwrap();
    assert_eq!(bytes, samples.iter().flat_map(|sample| sample.to_le_bytes()).collect::<Vec<_>>());
    let Err(Error::Format(error)) = stream.read::<u8>(5..9) else { panic!("u16 read as u8") };
    assert_eq!(*error.kind(), ErrorKind::Mismatch { what: "bytes of an element", expected: 1, found: 2 });
    let past = stream.len()..stream.len() + 1;
    assert!(matches!(stream.read_bytes(past), Err(Error::Format(_))));
}

#[test]
fn nested_values() {
    let values = |name: &str, item: &str, range| {
        let file = open(name);
        let entity = file.schema().find(item).unwrap();
        file.values(entity, range).unwrap().iter().map(Value::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        values("variable_array_of_record.izs", "", 1..3),
        [
            "[]",
            r#"[{"addr":103,"val":-3000},{"addr":104,"val":-4000},{"addr":105,"val":-5000},{"addr":106,"val":-6000}]"#
        ]
    );
    assert_eq!(values("variable_array_of_record.izs", "addr", 2..3), ["102"]);
    assert_eq!(values("string_variable_array.izs", "", 0..3), ["\"hello\"", "\"\"", "\"naïve café\""]);
    assert_eq!(values("fixed_array_4x3.izs", "", 1..2), ["[[12,13,14],[15,16,17],[18,19,20],[21,22,23]]"]);
    assert_eq!(values("tuple_complex_f32.izs", "", 1..2), [r#"{"re":0.99875027,"im":0.04997917}"#]);
    assert_eq!(values("v001/tagged_u16.izs", "", 0..1), [r#"{"none":null}"#]);
    assert_eq!(values("enum3_u8.izs", "", 2..4), ["\"idle\"", "\"data\""]);
}

/// A name that each row repeats counts for each.
#[test]
fn values_are_read_as_far_as_they_fit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.izs");
    let values = ["V".repeat(1 << 20).into()].into();
    let mut schema = SchemaBuilder::new(Kind::Record);
    let state = schema.add(schema.root(), "state", Kind::Enum { bits: 8, values }).unwrap();
    let stream = schema.stream(state, Element::U8).unwrap();
    let mut writer =
        IzsWriter::create(&path, schema.finish().unwrap(), &WriteOptions::default().threads(1)).unwrap();
    writer.push(stream, &[0_u8; 4096]).unwrap();
    writer.finish().unwrap().commit().unwrap();
    let file = IzsFile::open(&path).unwrap();
    assert_eq!(file.values(file.schema().root(), 0..3).unwrap().len(), 3);
    let Err(Error::Format(error)) = file.values(file.schema().root(), 0..4096) else { panic!("4 GiB read") };
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
}

/// Whatever the level of a summary says, all elements say.
#[test]
fn overviews_from_summaries_equal_those_from_data() {
    let mut from_summaries = 0;
    for path in every_file() {
        let file = IzsFile::open(&path).unwrap();
        for id in file.schema().streams().filter(|&id| file.schema()[id].role() == Role::Data) {
            let entity = file.schema()[id].entity();
            let Ok(stream) = file.stream(id) else { continue };
            let all = 0..stream.len();
            // So little that only a summary, or samples, are within it.
            let little = stream.len() * u64::from(stream.descriptor().element.size()) / 2;
            let coarse = file.overview(entity, all.clone(), 8, little).unwrap();
            let fine = file.overview(entity, all, 8, u64::MAX).unwrap();
            if matches!(coarse.basis, Basis::Summary(_)) {
                from_summaries += 1;
                // A group that straddles two columns counts for the first.
                for (coarse, fine) in coarse.traces.iter().zip(&fine.traces) {
                    let whole = |trace: &std_io::Trace| {
                        trace.columns.iter().flatten().copied().reduce(std_io::Extent::union)
                    };
                    assert_eq!(whole(coarse), whole(fine), "{}", path.display());
                }
            }
        }
    }
    assert!(from_summaries >= 4, "{from_summaries}");
}

#[test]
fn bits_and_quantities() {
    let file = made(
        r#"{"entity":{"type":"bit_struct","children":{
            "a":{"type":"bits","bits":1,"pos":3},
            "v":{"type":"signed","bits":12,"pos":4,"number:scale":0.5,"number:offset":10}},"data":@0}}"#,
        &[("u16", &[0x0008, 0xfff0, 0x0018])],
    );
    let entity = |name| file.schema().find(name).unwrap();
    assert_eq!(file.bits(entity("a"), 0..3).unwrap(), [true, false, true]);
    assert_eq!(file.quantities(entity("v"), 0..3).unwrap(), [10.0, 9.5, 10.5]);
    assert!(file.bits(entity("v"), 0..1).unwrap_err().to_string().contains("not a single bit"));
    assert!(file.quantities(entity(""), 0..1).is_err());
}

#[test]
fn events_with_one_time_or_two() {
    let file = made(
        r#"{"entity":{"type":"group","core:role":"record","time:rate":1000.0,"children":{
            "when":{"type":"timestamp","data":@0},
            "what":{"type":"enum","bits":1,"values":["start","stop"],"data":@1}}}}"#,
        &[("u64", &[5, 9]), ("u8", &[1, 0])],
    );
    let events = file.events(file.schema().root(), 0..2).unwrap();
    assert_eq!((events[1].start, events[1].end), (9, None));
    assert_eq!(events[1].fields.get("what"), Some(&Value::String("start".into())));
    assert_eq!(file.schema().clock(file.schema().find("when").unwrap()).unwrap().rate.hertz(), 1000.0);

    let file = made(
        r#"{"entity":{"type":"record","children":{
            "byte":{"type":"int","bits":8,"data":@1},
            "span":{"type":"tuple","fields":{"start":{},"end":{}},"child":{"type":"timestamp","data":@0}}}}}"#,
        &[("u64", &[5, 7, 9, 12]), ("u8", &[0x55, 0xaa])],
    );
    let events = file.events(file.schema().root(), 1..2).unwrap();
    assert_eq!((events[0].start, events[0].end), (9, Some(12)));
    assert_eq!(events[0].fields.get("byte"), Some(&Value::Unsigned(0xaa)));
    assert!(file.events(file.schema().find("byte").unwrap(), 0..1).is_err());
}

/// Counts what is fetched.
struct Counting(FileRanges, Arc<AtomicUsize>);

impl Fetch for Counting {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.fetch(range)
    }

    fn gap(&self) -> u64 {
        0
    }
}

/// Whoever reads the same rows of a union twice, part by part, counts the tags before them once.
#[test]
fn rows_of_a_union_are_counted_once() {
    let schema = r#"{"entity":{"type":"union","data":@0,"variants":{"a":{"type":"null","data":@1}}}}"#;
    let rows = 40 * 4096;
    let zeros = vec![0; rows as usize];
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    fs::write(&path, made_bytes(Dialect::Spec, schema, &[("u8", &zeros), ("u8", &zeros)])).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let ranges = FileRanges::new(fs::File::open(&path).unwrap()).unwrap();
    let input = Input::fetching(Counting(ranges, count.clone())).with_cache(0);
    let file = IzsFile::from_input(input, Limits::default()).unwrap().with_block_cache(0);
    let mut most = 0;
    for start in (0..rows).step_by(4096) {
        count.store(0, Ordering::Relaxed);
        let read = || file.values(file.schema().root(), start..start + 4096).unwrap();
        assert_eq!(read(), read());
        most = most.max(count.load(Ordering::Relaxed));
    }
    assert!(most < 20, "{most}");
}

/// Reading here and there in a block fetches and decodes it once, however long it is.
#[test]
fn small_reads_of_a_block_decode_it_once() {
    let path = testdata().join("logic8_u8_summ.izs");
    let fetches = |block_cache: usize| {
        let count = Arc::new(AtomicUsize::new(0));
        let ranges = FileRanges::new(fs::File::open(&path).unwrap()).unwrap();
        let input = Input::fetching(Counting(ranges, count.clone())).with_cache(0);
        let file = IzsFile::from_input(input, Limits::default()).unwrap().with_block_cache(block_cache);
        let stream = file.stream(file.find("").unwrap()).unwrap();
        assert!(stream.descriptor().block > 1000);
        count.store(0, Ordering::Relaxed);
        (0..20).for_each(|index| drop(stream.read_bytes(index..index + 1).unwrap()));
        count.load(Ordering::Relaxed)
    };
    // The index is asked for each time; the block the first time only, if all of it or a part is kept.
    assert_eq!((fetches(1 << 20), fetches(32 << 10)), (20 + 1, 20 + 1));
    assert!(fetches(0) >= 20 + 20);
}

/// A block that is not held as a whole reads as one that is.
#[test]
fn a_large_block_comes_in_parts() {
    let elements: Vec<u16> = (0..3_000_001_u32).map(|i| (i.wrapping_mul(i) >> 9) as u16).collect();
    for compression in [Compression::None, Compression::Zstd] {
        let mut schema = SchemaBuilder::new(Kind::Int { bits: 16 });
        let stream = schema.stream_with(schema.root(), Element::U16, 1 << 22, compression).unwrap();
        let options = WriteOptions::default().threads(1);
        let mut writer = IzsWriter::new(Vec::new(), schema.finish().unwrap(), &options).unwrap();
        writer.push(stream, &elements).unwrap();
        let mut bytes = writer.finish().unwrap();
        let read = |bytes: &[u8]| {
            let file = IzsFile::from_input(Input::fetching(bytes.to_vec()), Limits::default()).unwrap();
            let stream = file.stream(file.find("").unwrap()).unwrap();
            let (mut parts, mut at) = (Vec::new(), 0);
            let result = stream.for_each_part(0..stream.len(), |range, part| {
                assert_eq!((range.start, range.end - range.start), (at, part.len() as u64 / 2));
                at = range.end;
                parts.push(part.to_vec());
                Ok::<_, Error>(())
            });
            assert_eq!(result.is_ok(), stream.read_bytes(0..stream.len()).is_ok());
            result.map(|()| parts)
        };
        let parts = read(&bytes).unwrap();
        assert!(parts.len() > 20, "{}", parts.len());
        assert!(parts.concat() == bytemuck::cast_slice::<_, u8>(&elements));
        // What the callback says ends it.
        let file = IzsFile::from_input(Input::fetching(bytes.clone()), Limits::default()).unwrap();
        let stream = file.stream(file.find("").unwrap()).unwrap();
        let mut calls = 0;
        let ended = stream.for_each_part(0..stream.len(), |_, _| {
            calls += 1;
            Err(Error::from(io::Error::other("enough")))
        });
        assert!(ended.is_err() && calls == 1, "{calls}");
        // The header of the frame.
        bytes[8] ^= 0xff;
        assert_eq!(read(&bytes).is_err(), compression == Compression::Zstd);
    }
}

/// Rows that are read part by part are those that are read at once, however little of the blocks is kept.
#[test]
fn rows_are_the_same_whatever_is_kept() {
    for path in every_file() {
        let whole = IzsFile::open(&path).unwrap();
        for budget in [0, 20_000, 1 << 20] {
            let file = IzsFile::open(&path).unwrap().with_block_cache(budget);
            for entity in whole.schema().entities() {
                let Ok(rows) = whole.rows(entity) else { continue };
                let Ok(values) = whole.values(entity, 0..rows.min(20_000)) else { continue };
                for (part, expected) in values.chunks(1777).enumerate() {
                    let start = part as u64 * 1777;
                    let range = start..start + expected.len() as u64;
                    let times = |file: &IzsFile| file.times(entity, range.clone()).ok();
                    assert_eq!(times(&file), times(&whole), "{}", path.display());
                    assert_eq!(file.values(entity, range.clone()).unwrap(), expected, "{}", path.display());
                }
            }
        }
    }
}
