//! Real `.izs` files, read in every way.

use std::path::{Path, PathBuf};

use core_codec::izs::model::{Role, Value};
use core_codec::{ErrorKind, Limits};
use std_io::{Access, Basis, Error, Input, IzsFile, Severity};

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/izs")
}

fn open(name: &str) -> IzsFile {
    IzsFile::open(testdata().join(name)).unwrap()
}

fn every_file() -> Vec<PathBuf> {
    let folders = [testdata(), testdata().join("v001")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
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
        for entry in std::fs::read_dir(Path::new(&corpus).join(folder)).unwrap() {
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
        std::fs::write(&path, bytes).unwrap();
        let mut findings = Vec::new();
        IzsFile::open(&path).unwrap().verify(true, &mut |finding| findings.push(finding)).unwrap();
        findings
    };
    let mut bytes = std::fs::read(testdata().join("hand_none_exact.izs")).unwrap();
    assert_eq!(findings(&bytes), []);
    bytes[0] = 7;
    assert!(findings(&bytes)[0].message.starts_with("the header is [07,"));
    // The second block ends inside the index.
    bytes[8208..8216].copy_from_slice(&4108u64.to_le_bytes());
    let found = findings(&bytes);
    assert!(found.iter().any(|finding| finding.message.contains("ends after the index starts")), "{found:?}");

    let bad = testdata().join("bad/14_attr_null.izs");
    let found = findings(&std::fs::read(bad).unwrap());
    assert!(found[0].message.contains("reads no file with null"), "{found:?}");
}
