//! What `verify` says that crate `iguazu` 0.0.1 does not read, it does not; and it opens what is clean.

use std::panic::{AssertUnwindSafe, catch_unwind};

use core_codec::izs::Dialect;
use std_io::{IzsFile, Severity};

#[path = "../../std-io/tests/izs_support/mod.rs"]
mod izs_support;
mod reference;

use izs_support::made_bytes;
use reference::by_reference;

/// What `verify` finds in a file with this entity, and whether the reference reads it.
fn told_and_read(entity: &str) -> (Vec<String>, bool) {
    let schema = format!(r#"{{"entity":{entity}}}"#);
    let path = tempfile::Builder::new().suffix(".izs").tempfile().unwrap().into_temp_path();
    std::fs::write(&path, made_bytes(Dialect::V001, &schema, &[("u8", &[1, 0]), ("u64", &[1, 2])])).unwrap();
    let mut told = Vec::new();
    let mut report = |finding: std_io::Finding| {
        assert_eq!(finding.severity, Severity::Warning, "{finding:?}");
        told.push(finding.message);
    };
    IzsFile::open(&path).unwrap().verify(true, &mut report).unwrap();
    // It panics on some.
    let read = catch_unwind(AssertUnwindSafe(|| by_reference(&path)));
    (told, read.is_ok_and(|read| read.is_ok()))
}

/// An attribute of so many arrays inside of one another.
fn nested(arrays: usize) -> String {
    let (open, close) = ("[".repeat(arrays), "]".repeat(arrays));
    format!(r#"{{"type":"bits","bits":1,"x":{open}{close},"data":@0}}"#)
}

#[test]
fn it_reads_what_is_clean() {
    for entity in [
        r#"{"type":"bits","bits":1,"x":-5.0,"y":[true,{"z":"w"}],"sample_rate":5,"data":@0}"#,
        r#"{"type":"tuple","fields":{"a":{},"b":{"x":1}},"child":{"type":"int","bits":8,"data":@0}}"#,
        r#"{"type":"record","time":"t","text":"{v}","children":{"t":{"type":"timestamp","time:rate":5,"data":@1},"v":{"type":"bits","bits":8,"data":@0}}}"#,
        r#"{"type":"variable_array","data":@1,"child":{"type":"character","data":@0}}"#,
        &nested(125),
    ] {
        assert_eq!(told_and_read(entity), (Vec::new(), true), "{entity}");
    }
}

#[test]
fn it_does_not_read_what_verify_says() {
    let empty_index =
        r#"{"element":"u8","end_idx":0,"block":4096,"compress":"none","root":1048576,"root_len":0}"#;
    let two_names = r#"{"element":"u8","end_idx":0,"block":4096,"block_size":4096,"compress":"none","root":0,"root_len":0}"#;
    for entity in [
        r#"{"type":"bits","bits":1,"x":null,"data":@0}"#.to_owned(),
        r#"{"type":"bits","bits":1,"x":[{"y":-5}],"data":@0}"#.into(),
        r#"{"type":"bits","bits":1,"x":1e999,"data":@0}"#.into(),
        r#"{"type":"tuple","fields":{"a":{"x":null}},"child":{"type":"int","bits":8,"data":@0}}"#.into(),
        r#"{"type":"tuple","fields":["a","b"],"child":{"type":"int","bits":8,"data":@0}}"#.into(),
        r#"{"type":"tuple","names":["a","b"],"child":{"type":"int","bits":8,"data":@0}}"#.into(),
        r#"{"type":"fixed_array","elements":1,"inner":{"type":"int","bits":8,"data":@0}}"#.into(),
        r#"{"type":"hologram","data":@0}"#.into(),
        format!(r#"{{"type":"bits","bits":1,"data":{empty_index}}}"#),
        format!(r#"{{"type":"bits","bits":1,"data":{two_names}}}"#),
        nested(126),
    ] {
        let (told, read) = told_and_read(&entity);
        assert!(told.len() == 1 && !read, "{entity}: {told:?}, read: {read}");
    }
}
