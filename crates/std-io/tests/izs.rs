//! Real `.izs` files, read in every way.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, io};

use core_codec::izs::Element;
use core_codec::izs::model::{Kind, Role, SchemaBuilder, Value};
use core_codec::{ErrorKind, Limits};
use std_io::{Access, Basis, Error, Fetch, FileRanges, Input, IzsFile, IzsWriter, Severity, WriteOptions};

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/izs")
}

fn open(name: &str) -> IzsFile {
    IzsFile::open(testdata().join(name)).unwrap()
}

fn every_file() -> Vec<PathBuf> {
    let folders = [testdata(), testdata().join("v001")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let files: Vec<_> = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "izs"))
        .collect();
    assert!(files.len() > 30);
    files
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
fn verify_finds_nothing_wrong_in_good_files() {
    for path in every_file() {
        let mut wrong = Vec::new();
        IzsFile::open(&path).unwrap().verify(true, &mut |finding| wrong.push(finding)).unwrap();
        wrong.retain(|finding| finding.severity == Severity::Error);
        assert_eq!(wrong, [], "{}", path.display());
    }
}

/// As the sweep over all files of the corpus does, where there is one.
#[test]
fn verify_finds_nothing_wrong_in_the_corpus() {
    let Some(corpus) = std::env::var_os("TRIPOINT_CORPUS") else {
        println!("did not run: TRIPOINT_CORPUS is not set");
        return;
    };
    for folder in ["izs", "izs/v001"] {
        for entry in fs::read_dir(Path::new(&corpus).join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "izs") {
                let mut report = |finding: std_io::Finding| {
                    assert_eq!(finding.severity, Severity::Warning, "{}: {finding:?}", path.display());
                };
                IzsFile::open(&path).unwrap().verify(true, &mut report).unwrap();
            }
        }
    }
}

#[test]
fn verify_finds_what_is_wrong() {
    let findings = |bytes: &[u8]| {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        fs::write(&path, bytes).unwrap();
        let mut findings = Vec::new();
        IzsFile::open(&path).unwrap().verify(true, &mut |finding| findings.push(finding)).unwrap();
        findings
    };
    let mut bytes = fs::read(testdata().join("hand_none_exact.izs")).unwrap();
    assert_eq!(findings(&bytes), []);
    bytes[0] = 7;
    assert!(findings(&bytes)[0].message.starts_with("the header is [07,"));
    // The second block ends inside the index.
    bytes[8208..8216].copy_from_slice(&4108u64.to_le_bytes());
    let found = findings(&bytes);
    assert!(found.iter().any(|finding| finding.message.contains("ends after the index starts")), "{found:?}");

    let bad = testdata().join("bad/14_attr_null.izs");
    let found = findings(&fs::read(bad).unwrap());
    assert!(found[0].message.contains("reads no file with null"), "{found:?}");
}

/// A file of uncompressed streams, each of one block, from a schema in which `@0`, `@1`, ... stand for them.
fn made(schema: &str, streams: &[(&str, &[u64])]) -> IzsFile {
    let mut file = vec![0x00, 0x21, 0x4a, 0xd9, 0xff, 0x90, 0xba, 0xed];
    let mut schema = schema.to_owned();
    for (number, (element, values)) in streams.iter().enumerate() {
        let width = element[1..].parse::<usize>().unwrap() / 8;
        let start = file.len() as u64;
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()[..width].to_vec()));
        let (index, size) = (file.len(), file.len() as u32 - start as u32);
        file.extend(start.to_le_bytes());
        file.extend(size.to_le_bytes());
        let descriptor = format!(
            r#"{{"element":"{element}","end":{},"block":4096,"compress":"none","i_offset":{index},"i_size":12}}"#,
            values.len()
        );
        schema = schema.replace(&format!("@{number}"), &descriptor);
    }
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    frame.extend((schema.len() as u32).to_le_bytes());
    frame.extend(&((schema.len() as u32) << 3 | 1).to_le_bytes()[..3]);
    frame.extend(schema.as_bytes());
    file.extend(&frame);
    file.extend((frame.len() as u32).to_le_bytes());
    file.extend([0, 0, 0, 0, 0x01, 0x21, 0x4a, 0xd9, 0x01, 0x90, 0xba, 0xed]);
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    fs::write(&path, file).unwrap();
    // Read by positions, the file may go while it is open.
    IzsFile::from_input(Input::open(&path, Access::Read).unwrap(), Limits::default()).unwrap()
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
    assert_eq!(file.schema().rate(file.schema().find("when").unwrap()).unwrap().hertz(), 1000.0);

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

#[test]
fn verify_compares_lengths_ends_and_summaries() {
    let wrong = |schema: &str, streams: &[(&str, &[u64])]| {
        let mut wrong = Vec::new();
        made(schema, streams).verify(true, &mut |finding| wrong.push(finding)).unwrap();
        wrong.retain(|finding| finding.severity == Severity::Error);
        wrong.iter().map(|finding| finding.message.clone()).collect::<Vec<_>>()
    };
    let record = r#"{"entity":{"type":"record","children":{
        "a":{"type":"int","bits":8,"data":@0},"b":{"type":"int","bits":8,"data":@1}}}}"#;
    let found = wrong(record, &[("u8", &[1, 2]), ("u8", &[1])]);
    assert_eq!(found, ["children of a record have 2 and 1 elements"]);

    let array = r#"{"entity":{"type":"variable_array","data":@0,"child":{"type":"character","data":@1}}}"#;
    assert_eq!(wrong(array, &[("u64", &[1, 2]), ("u8", &[65, 66])]), [] as [&str; 0]);
    let found = wrong(array, &[("u64", &[2, 1]), ("u8", &[65, 66])]);
    assert_eq!(found, ["element 1 ends at 1, before the one before it, at 2"]);
    let found = wrong(array, &[("u64", &[1, 5]), ("u8", &[65, 66])]);
    assert_eq!(found, ["the last element ends at 5, the child has 2 elements"]);

    let range = r#"{"entity":{"type":"signed","bits":8,"data":@0,
        "summaries":{"range":{"base_level":2,"levels":[@1]}}}}"#;
    let data = ("u8", &[1, 0xff, 3, 4, 5, 6, 7, 8, 9][..]);
    assert_eq!(wrong(range, &[data, ("u8", &[0xff, 4, 5, 8])]), [] as [&str; 0]);
    let found = wrong(range, &[data, ("u8", &[1, 0xff, 5, 8])]);
    assert_eq!(found, ["group 0 differs from its elements"]);

    let wide = r#"{"entity":{"type":"int","bits":9,"data":@0}}"#;
    assert_eq!(wrong(wide, &[("u8", &[1])]), ["the field ends at bit 9 of an element of 8 bits"]);
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
    // The index is asked for each time; the block the first time only, if anything is kept.
    assert_eq!((fetches(1 << 20), fetches(1), fetches(0)), (20 + 1, 20 + 1, 20 + 20));
}
