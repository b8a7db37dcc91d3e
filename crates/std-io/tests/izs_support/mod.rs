//! Files for the tests of `.izs`.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::fs;
use std::path::{Path, PathBuf};

use core_codec::Limits;
use core_codec::izs::Dialect;
use std_io::{Access, Input, IzsFile};

pub(crate) fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/izs")
}

pub(crate) fn every_file() -> Vec<PathBuf> {
    let folders = [testdata(), testdata().join("v001")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let files: Vec<_> = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "izs"))
        .collect();
    assert!(files.len() > 30);
    files
}

/// A file of uncompressed streams from a schema in which `@0`, `@1`, ... stand for them.
pub(crate) fn made(schema: &str, streams: &[(&str, &[u64])]) -> IzsFile {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    fs::write(&path, made_bytes(Dialect::Spec, schema, streams)).unwrap();
    // Read by positions, the file may go while it is open.
    IzsFile::from_input(Input::open(&path, Access::Read).unwrap(), Limits::default()).unwrap()
}

/// The bytes of such a file with the keys of a dialect.
pub(crate) fn made_bytes(dialect: Dialect, schema: &str, streams: &[(&str, &[u64])]) -> Vec<u8> {
    let (body, schema) = made_parts(dialect, schema, streams);
    ended(body, &schema)
}

/// What stands before the schema, and the schema with its descriptors.
pub(crate) fn made_parts(dialect: Dialect, schema: &str, streams: &[(&str, &[u64])]) -> (Vec<u8>, String) {
    let mut file = vec![0x00, 0x21, 0x4a, 0xd9, 0xff, 0x90, 0xba, 0xed];
    let mut schema = schema.to_owned();
    for (number, (element, values)) in streams.iter().enumerate() {
        let width = element[1..].parse::<usize>().unwrap() / 8;
        let (mut offsets, mut sizes) = (Vec::new(), Vec::new());
        // One block at least, if an empty one.
        for block in 0..values.len().div_ceil(4096).max(1) {
            let values = &values[block * 4096..values.len().min((block + 1) * 4096)];
            offsets.extend((file.len() as u64).to_le_bytes());
            sizes.extend(((values.len() * width) as u32).to_le_bytes());
            file.extend(values.iter().flat_map(|value| value.to_le_bytes()[..width].to_vec()));
        }
        let index = file.len();
        let size = offsets.len() + sizes.len();
        file.extend([offsets, sizes].concat());
        let end = values.len();
        let keys = match dialect {
            Dialect::Spec => {
                format!(r#""i_offset":{index},"i_size":{size},"i_compress":"none","end":{end}"#)
            }
            Dialect::V001 => format!(r#""root":{index},"root_len":{size},"end_idx":{end}"#),
        };
        let descriptor = format!(r#"{{"element":"{element}","block":4096,"compress":"none",{keys}}}"#);
        schema = schema.replace(&format!("@{number}"), &descriptor);
    }
    (file, schema)
}

/// A file that ends with this schema.
pub(crate) fn ended(mut file: Vec<u8>, schema: &str) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    frame.extend((schema.len() as u32).to_le_bytes());
    frame.extend(&((schema.len() as u32) << 3 | 1).to_le_bytes()[..3]);
    frame.extend(schema.as_bytes());
    file.extend(&frame);
    file.extend((frame.len() as u32).to_le_bytes());
    file.extend([0, 0, 0, 0, 0x01, 0x21, 0x4a, 0xd9, 0x01, 0x90, 0xba, 0xed]);
    file
}
