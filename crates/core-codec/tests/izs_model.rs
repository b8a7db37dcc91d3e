//! Schemas of real files: written again they say the same, in either dialect; their summaries are what the rules
//! give.
#![cfg(any(feature = "zstd", feature = "zstd-c"))]
#![allow(missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

use core_codec::izs::Dialect;
use core_codec::izs::model::{Schema, Strictness};
use core_codec::izs::reader::{self, Izs};
use core_codec::izs::summary::{MAX_LEVELS, Pyramid, Rule};
use core_codec::{Limits, source};
use serde_json::Value;

/// The folders of real files: those in this repository, and a wider sweep.
fn folders() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/izs");
    let mut roots = vec![own];
    match std::env::var_os("TRIPOINT_CORPUS") {
        Some(corpus) => roots.push(Path::new(&corpus).join("izs")),
        None => eprintln!("TRIPOINT_CORPUS is not set: only the files of this repository are looked at"),
    }
    roots.into_iter().flat_map(|root| [root.clone(), root.join("v001")]).collect()
}

fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in folders() {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "izs")));
    }
    assert!(files.len() >= 30, "only {} files", files.len());
    files
}

fn open(file: &[u8]) -> Izs {
    source::complete(reader::open(file, &Limits::default())).unwrap()
}

/// The text of the schema of a file.
fn text(path: &Path) -> String {
    let file = fs::read(path).unwrap();
    let range = open(&file).schema_bytes();
    let stored = &file[range.start as usize..range.end as usize];
    String::from_utf8(core_codec::codec::zstd::decode_bounded(stored, 1 << 20).unwrap()).unwrap()
}

/// Says the schema again, in `dialect`.
fn again(text: &str, dialect: Dialect) -> String {
    let schema = Schema::parse(text.as_bytes(), &Limits::default()).unwrap();
    schema.emit(dialect, Strictness::Keep).unwrap()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn dialect(path: &Path) -> Dialect {
    if path.parent().unwrap().ends_with("v001") { Dialect::V001 } else { Dialect::Spec }
}

#[test]
fn a_schema_written_again_says_the_same() {
    for path in files() {
        let original = text(&path);
        assert_eq!(value(&again(&original, dialect(&path))), value(&original), "{}", path.display());
    }
}

/// `value` without what tells where streams lie, and without the attributes that the converter of the corpus
/// left out of dialect V.
fn bare(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        if let Value::Object(members) = value {
            for key in ["data", "summaries", "display:color", "display:accent_color"] {
                members.remove(key);
            }
            if members.get("core:role").is_some_and(|role| role == "capture") {
                members.remove("core:role");
            }
            members.values_mut().for_each(strip);
        }
    }
    strip(&mut value);
    value
}

/// Pairs of files in which the converter of the corpus did not leave a name of dialect S in dialect V.
const EXACT: [&str; 4] =
    ["logic8_u8_summ", "group_capture_multi", "int12_u16_range", "variable_array_of_record"];

#[test]
fn a_schema_in_the_other_dialect_is_that_of_the_other_file() {
    let (mut pairs, mut exact) = (0, 0);
    for path in files().iter().filter(|path| dialect(path) == Dialect::Spec) {
        let v001 = path.parent().unwrap().join("v001").join(path.file_name().unwrap());
        if !v001.exists() {
            continue;
        }
        let (spec, other) = (text(path), text(&v001));
        let converted = again(&spec, Dialect::V001);
        assert_eq!(value(&again(&converted, Dialect::Spec)), value(&spec), "{}", path.display());
        let back = value(&again(&other, Dialect::Spec));
        assert_eq!(bare(back), bare(value(&spec)), "{}", path.display());
        if EXACT.iter().any(|exact| path.file_stem().unwrap() == *exact) {
            assert_eq!(bare(value(&converted)), bare(value(&other)), "{}", path.display());
            exact += 1;
        }
        pairs += 1;
    }
    assert!(pairs >= 9 && exact >= 2, "only {pairs} pairs, {exact} exact");
}

/// Levels from which the reference left the last group: it does so where the last block of the stream below, of
/// 65,536 elements in its memory, holds no more than that group.
const DROPPED: [&str; 1] = ["summ_65540_dropped"];

#[test]
fn summaries_are_what_the_rules_give() {
    let (mut summaries, mut dropped) = (0, 0);
    let limits = Limits::default();
    for path in files() {
        let file = fs::read(&path).unwrap();
        let izs = open(&file);
        let schema = izs.schema();
        let read = |id| {
            let stream = izs.stream(id, &limits).unwrap();
            let mut bytes = vec![0; stream.byte_len().unwrap() as usize];
            source::complete(stream.read(&file[..], 0..stream.descriptor().end, &mut bytes)).unwrap();
            bytes
        };
        for id in schema.entities() {
            let entity = &schema[id];
            for summary in entity.summaries() {
                let name = format!("{} {}", path.display(), schema.entity_pointer(id));
                let data = schema[entity.data().unwrap()].descriptor().unwrap();
                let rule = Rule::named(&summary.key, entity.kind(), data.element, data.dialect).expect(&name);
                assert_eq!(summary.base_level, Some(rule.base_level()), "{name}");
                let mut levels = vec![Vec::new(); MAX_LEVELS];
                let elements = read(entity.data().unwrap());
                Pyramid::<MAX_LEVELS>::new(rule, data.element).push(&elements, &mut |level, groups| {
                    levels[level as usize].extend_from_slice(groups);
                });
                assert_eq!(summary.levels.len() as u32, rule.levels(data.end), "{name}");
                let known = DROPPED.iter().any(|known| path.file_stem().unwrap() == *known);
                for (&id, computed) in summary.levels.iter().zip(&levels) {
                    let stored = read(id);
                    if known && stored.len() < computed.len() {
                        let group = usize::from(rule.group_len() * data.element.size());
                        assert_eq!(stored, computed[..computed.len() - group], "{name}");
                        dropped += 1;
                        continue;
                    }
                    assert!(stored == *computed, "{name}: {}", schema.stream_pointer(id));
                }
                summaries += 1;
            }
        }
    }
    assert!(summaries >= 8, "only {summaries} summaries");
    eprintln!("{summaries} summaries are equal; {dropped} levels lack the group that the reference drops");
}
