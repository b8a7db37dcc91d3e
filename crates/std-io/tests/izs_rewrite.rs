//! Files that are written anew hold what they held.

use std::fs;
use std::path::{Path, PathBuf};

use core_codec::Limits;
use core_codec::codec::zstd::Encoder;
use core_codec::izs::Dialect;
use std_io::{Access, Input, IzsFile, WriteOptions};

fn files() -> Vec<PathBuf> {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/izs");
    let mut roots = vec![testdata];
    match std::env::var_os("TRIPOINT_CORPUS") {
        Some(corpus) => roots.push(Path::new(&corpus).join("izs")),
        None => eprintln!("TRIPOINT_CORPUS is not set: only the files of this repository are rewritten"),
    }
    let folders = roots.iter().flat_map(|root| [root.clone(), root.join("v001")]);
    let paths = folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    paths.filter(|path| path.extension().is_some_and(|end| end == "izs")).collect()
}

fn content(file: &IzsFile) -> Vec<(String, Vec<u8>)> {
    let ids = file.schema().streams();
    ids.map(|id| {
        let stream = file.stream(id).unwrap();
        (file.schema().stream_pointer(id).to_string(), stream.read_bytes(0..stream.len()).unwrap())
    })
    .collect()
}

fn reopen(folder: &Path, bytes: &[u8]) -> IzsFile {
    let path = folder.join("again.izs");
    fs::write(&path, bytes).unwrap();
    IzsFile::from_input(Input::open(path, Access::Read).unwrap(), Limits::default()).unwrap()
}

#[test]
fn real_files_hold_the_same_in_either_dialect_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut converted = 0;
    for path in files() {
        let file = IzsFile::open(&path).unwrap();
        let spec = WriteOptions::default().threads(1);
        let is_v001 = path.parent().unwrap().ends_with("v001");
        let own = if is_v001 { spec.dialect(Dialect::V001) } else { spec };
        let same = reopen(folder.path(), &file.rewrite(Vec::new(), &own).unwrap());
        assert!(content(&same) == content(&file), "{}", path.display());
        let other = if is_v001 { spec } else { spec.dialect(Dialect::V001) };
        let Ok(bytes) = file.rewrite(Vec::new(), &other) else {
            // Fields that dialect V cannot place, types that dialect S has not.
            continue;
        };
        let other = reopen(folder.path(), &bytes);
        let back = reopen(folder.path(), &other.rewrite(Vec::new(), &own).unwrap());
        if path.file_stem().unwrap() != "summ_65540_dropped" {
            assert!(content(&back) == content(&file), "{}", path.display());
        }
        converted += 1;
    }
    assert!(converted >= 30, "{converted}");
}

#[test]
fn what_is_not_understood_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let schema = r#"{"entity":{"type":"group","children":{
        "odd":{"type":"hologram","layers":[1,null,{"z":-5}],"data":{"element":"u8","block":4096,"compress":"pcodec",
            "i_offset":27,"i_size":24,"i_compress":"none","end":5000,"checksum":"none"}},
        "number":7,
        "int":{"type":"int","bits":8,"z:last":1e999,"a:first":{"k":null},"data":{"element":"u8","block":4096,
            "compress":"none","i_offset":0,"i_size":0,"i_compress":"none","end":0}}},
        "future:attribute":true},"generator":{"name":"x"}}"#;
    let mut file = vec![0x00, 0x21, 0x4a, 0xd9, 0xff, 0x90, 0xba, 0xed];
    file.extend(b"first stored block.");
    for number in [8_u64, 14] {
        file.extend(number.to_le_bytes());
    }
    for size in [6_u32, 13] {
        file.extend(size.to_le_bytes());
    }
    let mut encoder = Encoder::new();
    let frame = encoder.encode(3, schema.as_bytes()).unwrap();
    file.extend(frame);
    file.extend((frame.len() as u32).to_le_bytes());
    file.extend([0, 0, 0, 0, 0x01, 0x21, 0x4a, 0xd9, 0x01, 0x90, 0xba, 0xed]);
    let old = reopen(folder.path(), &file);
    let bytes = old.rewrite(Vec::new(), &WriteOptions::default()).unwrap();
    let new = reopen(folder.path(), &bytes);
    // In the order of the text, numbers as they were.
    let text = new.schema().emit(Dialect::Spec, core_codec::izs::model::Strictness::Keep).unwrap();
    for part in [
        r#""layers":[1,null,{"z":-5}]"#,
        r#""number":7"#,
        r#""z:last":1e999,"a:first":{"k":null}"#,
        r#""future:attribute":true"#,
        r#""generator":{"name":"x"}"#,
        r#""compress":"pcodec""#,
        r#""checksum":"none""#,
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let id = new.find("odd").unwrap();
    let stream = new.stream(id).unwrap();
    let blocks = new.input().run(|source| stream.reader().blocks(source, 0..2)).unwrap();
    let stored =
        |number: usize| &bytes[blocks[number].bytes.start as usize..blocks[number].bytes.end as usize];
    assert_eq!((stored(0), stored(1)), (&b"first "[..], &b"stored block."[..]));
    assert_eq!(stream.len(), 5000);
}
