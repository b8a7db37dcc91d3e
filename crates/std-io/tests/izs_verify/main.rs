//! `verify` on `.izs` files: a test for each rule of the specification and of the data model.
//!
//! | section | rule | test |
//! |---|---|---|
//! | header | the eight bytes | `bytes_at_the_ends` |
//! | footer | magic, reserved bytes, schema inside the file | such a file does not open: `izs_bad` of the command |
//! | schema | Zstandard, JSON, `entity` | the same |
//! | schema | each key once; the keys of one dialect, all of them; later names in dialect V | `keys_of_the_schema` |
//! | schema | `data` is there, with an `element`, `compress` and `i_compress` that are known, and integers | `descriptors` |
//! | schema | `block` is a power of two from 4096 on, and readers have room for one | `descriptors` |
//! | schema | one finding for one mistake | `one_mistake_is_told_once` |
//! | types | types are known, and of the dialect; they have what they need | `types` |
//! | types | and nothing that belongs to others: containers, `data`, `summaries`, `pos` | `members_of_other_types` |
//! | types | widths, names that tell things apart, something of everything | `widths_and_names` |
//! | types | fields inside their element, none over another | `fields` |
//! | block index | a whole number of entries, as many as blocks; inside the file | `indexes` |
//! | block index | behind all blocks of its stream | `bytes_at_the_ends` |
//! | blocks | inside the file, neither in the header nor in the schema nor, in part, in one another | `indexes`, `places` |
//! | blocks | as many elements as they should have, the last too; `none` and `zstd` decode | `blocks` |
//! | contents | streams of a record are of one length; arrays of whole elements; ends; tags of unions | `lengths` |
//! | contents | tags of `tagged` and values of `enum`, wherever these lie | `tags_and_values` |
//! | contents | times in order, events that end after they start | `times_in_order` |
//! | contents | text in UTF-8, each of its elements | `text` |
//! | contents | what is not checked for its cost is told | `the_cost_of_looking_is_bounded` |
//! | attributes | those that are made use of have a use | `attributes`, `scales`, `templates` |
//! | attributes | times: rates, epochs, time fields | `attributes_of_times` |
//! | summaries | what they are of, `base_level`, members | `summaries_as_they_are_declared` |
//! | summaries | levels: how many, how long, how wide | `levels` |
//! | summaries | groups | `groups` |
//! | the reference | what it cannot read: null, negative integers, numbers beyond a double, two keys for one thing, 128 levels; that it cannot is seen in `izs_verify` of `interop` | `attributes`, `keys_of_the_schema` |

#[path = "../izs_support/mod.rs"]
mod izs_support;

mod attributes;
mod bytes;
mod contents;
mod mutations;
mod summaries;
mod types;

use std::fs;
use std::path::Path;

use core_codec::Limits;
use core_codec::izs::Dialect;
use std_io::{Finding, Input, IzsFile, Severity};

use izs_support::{every_file, made_bytes, testdata};

fn findings(file: &IzsFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    file.verify(true, &mut |finding| findings.push(finding)).unwrap();
    findings
}

/// Findings as text: `E` or `W`, item, message.
fn shown(file: &IzsFile) -> Vec<String> {
    let shown = |Finding { severity, item, message }: Finding| {
        let severity = if severity == Severity::Error { 'E' } else { 'W' };
        format!("{severity} {item} {message}")
    };
    findings(file).into_iter().map(shown).collect()
}

/// What is found in a made file.
fn found(schema: &str, streams: &[(&str, &[u64])]) -> Vec<String> {
    shown(&of_bytes(&made_bytes(Dialect::Spec, schema, streams)))
}

/// What is found in one of dialect V.
fn found_in_v001(schema: &str, streams: &[(&str, &[u64])]) -> Vec<String> {
    shown(&of_bytes(&made_bytes(Dialect::V001, schema, streams)))
}

const NOTHING: [&str; 0] = [];

/// The only message.
fn only(schema: &str, streams: &[(&str, &[u64])]) -> String {
    let found = found(schema, streams);
    assert_eq!(found.len(), 1, "{found:?}");
    found.concat()
}

/// The schema of a single entity.
fn entity(members: &str) -> String {
    format!(r#"{{"entity":{{{members}}}}}"#)
}

/// The schema of a group.
fn group(members: &str, children: &str) -> String {
    entity(&format!(r#""type":"group","children":{{{children}}}{members}"#))
}

fn bits(attributes: &str) -> String {
    entity(&format!(r#""type":"bits","bits":8{attributes},"data":@0"#))
}

fn int(attributes: &str) -> String {
    entity(&format!(r#""type":"int","bits":8{attributes},"data":@0"#))
}

/// Reads bytes as a file.
fn of_bytes(bytes: &[u8]) -> IzsFile {
    IzsFile::from_input(Input::fetching(bytes.to_vec()), Limits::default()).unwrap()
}

/// The bytes of `hand_none_exact`: two blocks of 4096 bytes, then the index.
fn two_blocks() -> Vec<u8> {
    fs::read(testdata().join("hand_none_exact.izs")).unwrap()
}

fn has(findings: &[Finding], severity: Severity, message: &str) -> bool {
    findings.iter().any(|finding| finding.severity == severity && finding.message.contains(message))
}

/// Good files that are odd on purpose.
const ODD: [(&str, &str); 2] = [
    ("hand_block_1000", "W /entity/data blocks of 1000 elements: should be a power of 2 from 4096 on"),
    ("bitstruct_overlap_gap", "W /entity fields \"all\" and \"mid\" share bits 20 to 29"),
];

#[test]
fn verify_finds_nothing_wrong_in_good_files() {
    for path in every_file() {
        let mut found = shown(&IzsFile::open(&path).unwrap());
        let name = path.file_stem().unwrap().to_str().unwrap();
        if let Some((_, odd)) = ODD.iter().find(|(odd, _)| *odd == name) {
            assert_eq!(found.pop().as_deref(), Some(*odd));
        }
        assert_eq!(found, NOTHING, "{}", path.display());
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
                let mut report = |finding: Finding| {
                    assert_eq!(finding.severity, Severity::Warning, "{}: {finding:?}", path.display());
                };
                IzsFile::open(&path).unwrap().verify(true, &mut report).unwrap();
            }
        }
    }
}
