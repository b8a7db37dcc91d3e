//! Reads an `.izs` file in every way there is: nothing panics, and all ways agree.
//!
//! Input that ends in the footer's magic is a file as it is. Any other is JSON text up to the first zero byte,
//! which becomes the schema, and behind it the bytes between header and schema: so the fuzzer need not find its
//! way through compression.

#![no_main]

use core_codec::Limits;
use core_codec::izs::model::Target;
use core_codec::izs::raw::{FOOTER_MAGIC, Footer, HEADER};
use core_codec::izs::reader;
use core_codec::source;
use libfuzzer_sys::fuzz_target;
use std_io::{Input, IzsFile};

fn file(data: &[u8]) -> Vec<u8> {
    if data.ends_with(&FOOTER_MAGIC) {
        return data.to_vec();
    }
    let end = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    let (text, body) = (&data[..end], data.get(end + 1..).unwrap_or(&[]));
    let frame = raw_frame(text);
    let footer = Footer { schema_len: frame.len() as u32, reserved: 0 };
    [&HEADER[..], body, &frame, &footer.emit()].concat()
}

/// A Zstandard frame of raw blocks.
fn raw_frame(text: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    frame.extend((text.len() as u32).to_le_bytes());
    let count = text.len().div_ceil(1 << 16).max(1);
    for number in 0..count {
        let part = &text[number << 16..text.len().min((number + 1) << 16)];
        let header = (part.len() as u32) << 3 | u32::from(number + 1 == count);
        frame.extend(&header.to_le_bytes()[..3]);
        frame.extend(part);
    }
    frame
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.metadata_bytes = 1 << 20;
    limits.block_bytes = 1 << 17;
    limits.item_bytes = 1 << 18;
    limits
}

fuzz_target!(|data: &[u8]| {
    let bytes = file(data);
    let limits = limits();
    let opened = source::complete(reader::open(&bytes[..], &limits));
    let ranges = IzsFile::from_input(Input::fetching(bytes.clone()).with_cache(1 << 10), limits.clone());
    assert_eq!(opened.is_ok(), ranges.is_ok());
    let (Ok(izs), Ok(ranges)) = (opened, ranges) else { return };
    // So little that large blocks are not kept.
    let little = IzsFile::from_input(Input::fetching(bytes.clone()), limits.clone())
        .unwrap()
        .with_block_cache(1 << 12);
    let schema = izs.schema();
    for entity in schema.entities() {
        let pointer = schema.entity_pointer(entity).to_string();
        assert_eq!(schema.find_item(&pointer), Some(Target::Entity(entity)), "{pointer}");
        let _ = (schema.entity_path(entity).to_string(), schema.width(entity), schema.bit_position(entity));
    }
    for id in schema.streams() {
        let Ok(stream) = izs.stream(id, &limits) else {
            assert!(ranges.stream(id).is_err());
            continue;
        };
        let descriptor = stream.descriptor();
        let few = 0..descriptor.end.min(3);
        let last = descriptor.end.saturating_sub(2)..descriptor.end;
        for range in [few, last, 0..descriptor.end] {
            let width = u64::from(descriptor.element.size());
            let len = (range.end - range.start).saturating_mul(width);
            if len > 1 << 18 {
                continue;
            }
            let mut direct = vec![0; len as usize];
            let read = source::complete(stream.read(&bytes[..], range.clone(), &mut direct));
            // Of a block that is wanted in part, it does not see what is wrong behind that.
            let in_parts = little.stream(id).unwrap().read_bytes(range.clone());
            assert!(read.is_err() || in_parts.is_ok_and(|bytes| bytes == direct));
            match (read, ranges.stream(id).unwrap().read_bytes(range)) {
                (Ok(()), Ok(fetched)) => assert_eq!(direct, fetched),
                (Err(_), Err(_)) => {}
                (direct, fetched) => panic!("{direct:?} {:?}", fetched.map(|bytes| bytes.len())),
            }
        }
        let entity = schema[id].entity();
        if let Some((_, fields)) = schema.fields(entity) {
            for field in &fields {
                let _ = (field.value(0), field.value(u64::MAX));
            }
            let _ = ranges.values(entity, 0..descriptor.end.min(5));
            if fields.len() <= 64 {
                let _ = ranges.overview(entity, 0..descriptor.end, 7, 1 << 17);
            }
        }
    }
});
