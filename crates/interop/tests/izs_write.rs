//! All that crate `iguazu` 0.0.1 can express is written by us, in dialect V, so that it reads the same; what it
//! writes is read by us.

use std::path::Path;
use std::sync::Arc;

use async_executor::Executor;
use core_codec::izs::model::{Kind, Object, SchemaBuilder, StreamId, Value};
use core_codec::izs::{Compression, Dialect, Element};
use futures_lite::future;
use iguazu::schema::EntityStream;
use iguazu::schema::attribute::AttributeValue;
use std_io::{IzsAppend, IzsFile, IzsWriter, WriteOptions};

mod reference;

use reference::{agree, by_reference, by_us, rewrite};

const NONE: Compression = Compression::None;
const ZSTD: Compression = Compression::Zstd;

/// A schema with every type and every form of attribute, and its streams.
fn everything(union: bool) -> (SchemaBuilder, Vec<(StreamId, Element)>) {
    let mut schema = SchemaBuilder::new(Kind::Group);
    let root = schema.root();
    let mut streams = Vec::new();
    let mut stream = |schema: &mut SchemaBuilder, entity, element, compression| {
        streams.push((schema.stream_with(entity, element, 4096, compression).unwrap(), element));
    };
    for (name, kind, element, compression) in [
        ("null", Kind::Null, Element::U8, ZSTD),
        ("bits", Kind::Bits { bits: 3 }, Element::U8, NONE),
        ("wide", Kind::Bits { bits: 64 }, Element::U64, ZSTD),
        ("int", Kind::Int { bits: 12 }, Element::U16, ZSTD),
        ("signed", Kind::Signed { bits: 32 }, Element::U32, ZSTD),
        ("short", Kind::Signed { bits: 7 }, Element::U8, ZSTD),
        ("single", Kind::Float32, Element::U32, NONE),
        ("double", Kind::Float64, Element::U64, ZSTD),
        ("time", Kind::Timestamp, Element::U64, ZSTD),
        ("text", Kind::Character, Element::U8, ZSTD),
        ("enum", Kind::Enum { bits: 2, values: ["a".into(), "ü \"\\\n".into()].into() }, Element::U8, ZSTD),
    ] {
        let entity = schema.add(root, name, kind).unwrap();
        stream(&mut schema, entity, element, compression);
    }
    let packed = schema.add(root, "bit struct", Kind::BitStruct).unwrap();
    schema.add(packed, "low", Kind::Bits { bits: 1 }).unwrap();
    let inner = schema.add(packed, "inner", Kind::BitStruct).unwrap();
    schema.add(inner, "a", Kind::Int { bits: 5 }).unwrap();
    schema.add(inner, "b", Kind::Signed { bits: 6 }).unwrap();
    schema.add(packed, "nothing", Kind::Null).unwrap();
    schema.add(packed, "high", Kind::Enum { bits: 4, values: ["x".into()].into() }).unwrap();
    stream(&mut schema, packed, Element::U16, ZSTD);
    let tagged = schema.add(root, "tagged", Kind::Tagged { tag_bits: 2 }).unwrap();
    schema.add(tagged, "a", Kind::Int { bits: 14 }).unwrap();
    schema.add(tagged, "b", Kind::Bits { bits: 3 }).unwrap();
    stream(&mut schema, tagged, Element::U16, ZSTD);

    let record = schema.add(root, "record", Kind::Record).unwrap();
    let pair = schema.add(
        record,
        "span",
        Kind::Tuple {
            fields: [("start".into(), Object::default()), ("end".into(), Object::default())].into(),
        },
    );
    let time = schema.inner(pair.unwrap(), Kind::Timestamp).unwrap();
    stream(&mut schema, time, Element::U64, ZSTD);
    let texts = schema.add(record, "texts", Kind::VariableArray).unwrap();
    stream(&mut schema, texts, Element::U32, ZSTD);
    let characters = schema.inner(texts, Kind::Character).unwrap();
    stream(&mut schema, characters, Element::U8, ZSTD);
    let role = schema.add(root, "role", Kind::Group).unwrap();
    schema.attribute(role, "core:role", "record").unwrap();
    let array = schema.add(role, "fixed", Kind::FixedArray { elements: 4 }).unwrap();
    let cells = schema.inner(array, Kind::Int { bits: 8 }).unwrap();
    stream(&mut schema, cells, Element::U8, NONE);
    if union {
        let union = schema.add(root, "union", Kind::Union).unwrap();
        stream(&mut schema, union, Element::U8, ZSTD);
        for name in ["first", "second"] {
            let variant = schema.add(union, name, Kind::Int { bits: 8 }).unwrap();
            stream(&mut schema, variant, Element::U8, ZSTD);
        }
    }
    let int = schema.schema().find("int").unwrap();
    let object = [("min".into(), Value::from(-5_i64)), ("deep".into(), Value::Array([true.into()].into()))];
    for (key, value) in [
        ("time:rate", Value::from(1e6)),
        ("number:min", (-1650_i64).into()),
        ("number:max", 1650_u64.into()),
        ("number:scale", 0.000_805_66.into()),
        ("display:color", "blue".into()),
        ("our:object", object.into_iter().collect::<Object>().into()),
        ("our:flag", false.into()),
        ("our:text", "ü\u{1}\"".into()),
    ] {
        schema.attribute(int, key, value).unwrap();
    }
    (schema, streams)
}

fn sample(stream: usize, number: u64) -> u64 {
    (number / 7).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (stream % 48)
}

fn bytes(stream: usize, element: Element, range: std::ops::Range<u64>) -> Vec<u8> {
    let size = usize::from(element.size());
    range.flat_map(|number| sample(stream, number).to_le_bytes()[..size].to_vec()).collect()
}

fn write(path: &Path, len: impl Fn(usize) -> u64, summaries: bool, union: bool) {
    let (schema, streams) = everything(union);
    let options = WriteOptions::default().dialect(Dialect::V001).summaries(summaries);
    let mut writer = IzsWriter::create(path, schema.finish().unwrap(), &options).unwrap();
    for (number, &(stream, element)) in streams.iter().enumerate() {
        writer.push_bytes(stream, &bytes(number, element, 0..len(number))).unwrap();
    }
    writer.finish().unwrap().commit().unwrap();
}

#[test]
fn it_reads_all_that_we_write() {
    let folder = tempfile::tempdir().unwrap();
    let (path, again) = (folder.path().join("ours.izs"), folder.path().join("theirs.izs"));
    for summaries in [false, true] {
        // Empty, one element, whole blocks, and any number.
        for len in [0, 1, 4096, 8192, 9999] {
            let lens = |number| if len == 9999 { len + 100 * number as u64 } else { len };
            write(&path, lens, summaries, true);
            agree(&path);
            // It gives the variants of a union in its own files the wrong places.
            write(&path, lens, summaries, false);
            agree(&path);
            rewrite(&path, &again).unwrap();
            assert!(by_us(&again) == by_us(&path), "{len} elements");
            agree(&again);
        }
    }
    assert!(by_us(&path).len() > 30);
}

#[test]
fn it_finds_the_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours.izs");
    write(&path, |_| 10, false, true);
    let executor = Arc::new(Executor::new());
    let entity = future::block_on(executor.run(reference::open(&path, &executor))).unwrap();
    let int = entity.child("int").unwrap();
    assert_eq!(int.sample_rate(), Some(1e6));
    let EntityStream::Data { field, .. } = int else { panic!("not a field") };
    let range = field.number_range().unwrap();
    assert_eq!((range.min, range.max), (-1650.0, 1650.0));
    let text: Option<&AttributeValue> = int.attributes().attributes.get("our:text");
    assert_eq!(text, Some(&AttributeValue::from("ü\u{1}\"")));
    assert!(matches!(entity.child("role"), Some(EntityStream::Record { .. })));
    let names: Vec<_> = int.attributes().items().map(|(name, _)| name).collect();
    let expected = [
        "sample_rate",
        "number:range",
        "number:scale",
        "display:accent_color",
        "our:object",
        "our:flag",
        "our:text",
    ];
    assert_eq!(names, expected);
}

#[test]
fn it_reads_files_that_have_grown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours.izs");
    write(&path, |_| 5000, true, true);
    let (_, streams) = everything(true);
    let options = WriteOptions::default().summaries(true);
    let mut writer = IzsAppend::open(&path).unwrap().start(&options).unwrap();
    // The file's own ids are in the order of the text.
    let file = IzsFile::open(&path).unwrap();
    let data: Vec<_> = file.schema().entities().filter_map(|id| file.schema()[id].data()).collect();
    assert_eq!(data.len(), streams.len());
    for &id in &data {
        let element = file.stream(id).unwrap().descriptor().element;
        writer.push_bytes(id, &bytes(3, element, 0..5000)).unwrap();
    }
    writer.finish().unwrap().commit().unwrap();
    agree(&path);
    let grown = IzsFile::open(&path).unwrap();
    // There are more levels now, so that the ids have changed.
    let data: Vec<_> = grown.schema().entities().filter_map(|id| grown.schema()[id].data()).collect();
    assert_eq!(data.len(), streams.len());
    assert!(data.iter().all(|&id| grown.stream(id).unwrap().len() == 10_000));
}

/// Why new files must not have null attributes and integers below 0: it opens no such file.
#[test]
fn it_refuses_what_we_refuse_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours.izs");
    for (value, readable) in [("null", false), ("-5", false), ("-5.0", true)] {
        let text = format!(
            r#"{{"entity":{{"type":"int","bits":8,"x":{value},"data":{{"element":"u8","block":4096,
            "compress":"none","root":8,"root_len":0,"end_idx":0}}}}}}"#
        );
        let mut file = vec![0x00, 0x21, 0x4a, 0xd9, 0xff, 0x90, 0xba, 0xed];
        let mut encoder = core_codec::codec::zstd::Encoder::new();
        let frame = encoder.encode(3, text.as_bytes()).unwrap();
        file.extend(frame);
        file.extend((frame.len() as u32).to_le_bytes());
        file.extend([0, 0, 0, 0, 0x01, 0x21, 0x4a, 0xd9, 0x01, 0x90, 0xba, 0xed]);
        std::fs::write(&path, file).unwrap();
        assert_eq!(by_reference(&path).is_ok(), readable, "{value}");
        assert_eq!(by_us(&path).len(), 1);
    }
}
