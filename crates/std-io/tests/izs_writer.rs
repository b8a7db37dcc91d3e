//! Files that are written come back, whatever they hold and however they are fed.

use std::io::Cursor;

use core_codec::Limits;
use core_codec::izs::model::{Kind, SchemaBuilder, StreamId};
use core_codec::izs::summary::{Pyramid, Rule};
use core_codec::izs::{Compression, Dialect, Element};
use proptest::prelude::*;
use std_io::{Input, IzsFile, IzsWriter, WriteOptions};

fn open(bytes: Vec<u8>) -> IzsFile {
    IzsFile::from_input(Input::fetching(bytes), Limits::default()).unwrap()
}

#[derive(Clone, Debug)]
struct Channel {
    kind: Kind,
    element: Element,
    block: u64,
    compression: Compression,
    bytes: Vec<u8>,
}

fn channel() -> impl Strategy<Value = Channel> {
    let kind = prop_oneof![
        Just(Kind::Bits { bits: 7 }),
        Just(Kind::Int { bits: 8 }),
        Just(Kind::Signed { bits: 8 }),
        Just(Kind::Timestamp),
        Just(Kind::Float32),
        Just(Kind::Null),
    ];
    let element = prop::sample::select(&Element::ALL[..]);
    let compression = prop::sample::select(&[Compression::None, Compression::Zstd][..]);
    (kind, element, 12..14_u32, compression, 0..40_000_usize, any::<u64>()).prop_map(
        |(kind, element, log, compression, len, seed)| {
            let element = match kind {
                Kind::Timestamp => Element::U64,
                Kind::Float32 if element != Element::U64 => Element::U32,
                _ => element,
            };
            let len = len / usize::from(element.size()) * usize::from(element.size());
            let bytes = (0..len as u64).map(|i| ((seed ^ (i >> 5)).wrapping_mul(0x9E37_79B9) >> 24) as u8);
            Channel { kind, element, block: 1 << log, compression, bytes: bytes.collect() }
        },
    )
}

fn schema(channels: &[Channel]) -> (core_codec::izs::model::Schema, Vec<StreamId>) {
    let mut schema = SchemaBuilder::new(Kind::Group);
    let streams = channels.iter().enumerate().map(|(number, channel)| {
        let entity = schema.add(schema.root(), &number.to_string(), channel.kind.clone()).unwrap();
        schema.attribute(entity, "time:rate", 1000.0 + number as f64).unwrap();
        schema.stream_with(entity, channel.element, channel.block, channel.compression).unwrap()
    });
    let streams = streams.collect();
    (schema.finish().unwrap(), streams)
}

/// Feeds `part` bytes (whole elements) of each channel in turn.
fn write(channels: &[Channel], options: &WriteOptions, part: usize) -> Vec<u8> {
    let (schema, streams) = schema(channels);
    let mut writer = IzsWriter::new(Cursor::new(Vec::new()), schema, options).unwrap();
    let mut rest: Vec<&[u8]> = channels.iter().map(|channel| &channel.bytes[..]).collect();
    while rest.iter().any(|rest| !rest.is_empty()) {
        for (stream, rest) in streams.iter().zip(&mut rest) {
            let (now, later) = rest.split_at(part.min(rest.len()));
            writer.push_bytes(*stream, now).unwrap();
            *rest = later;
        }
    }
    writer.finish().unwrap().into_inner()
}

fn expected_levels(channel: &Channel, dialect: Dialect) -> Option<(Rule, Vec<Vec<u8>>)> {
    let rule = Rule::of(&channel.kind, channel.element, dialect)?;
    let elements = channel.bytes.len() / usize::from(channel.element.size());
    let mut levels = vec![Vec::new(); rule.levels(elements as u64) as usize];
    let mut pyramid = Pyramid::<53>::new(rule, channel.element);
    pyramid.push(&channel.bytes, &mut |level, groups| {
        if let Some(level) = levels.get_mut(level as usize) {
            level.extend_from_slice(groups);
        }
    });
    Some((rule, levels)).filter(|(_, levels)| !levels.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_is_written_is_read(
        channels in prop::collection::vec(channel(), 1..5),
        part in 1..3000_usize,
        summaries in any::<bool>(),
        dialect in prop::sample::select(&[Dialect::Spec, Dialect::V001][..]),
        level in 1..=9_u8,
    ) {
        let options = WriteOptions::default().dialect(dialect).summaries(summaries).level(level);
        let bytes = write(&channels, &options.threads(1), part * 8);
        for threads in [2, 4] {
            prop_assert!(bytes == write(&channels, &options.threads(threads), part * 8));
        }
        let file = open(bytes);
        let mut odd = Vec::new();
        file.verify(true, &mut |finding| odd.push(finding.message)).unwrap();
        // The channels are of any width, and their times in any order.
        odd.retain(|odd| !odd.contains("a float32 has elements of u32") && !odd.contains("before the one before it"));
        prop_assert_eq!(odd, [""; 0]);
        for (number, channel) in channels.iter().enumerate() {
            let id = file.find(&number.to_string()).unwrap();
            let stream = file.stream(id).unwrap();
            prop_assert_eq!(stream.descriptor().dialect, dialect);
            prop_assert_eq!(stream.descriptor().block, channel.block);
            prop_assert!(stream.read_bytes(0..stream.len()).unwrap() == channel.bytes);
            let entity = &file.schema()[file.schema()[id].entity()];
            let expected = expected_levels(channel, dialect).filter(|_| summaries);
            prop_assert_eq!(entity.summaries().len(), usize::from(expected.is_some()));
            let Some((rule, levels)) = expected else { continue };
            let summary = &entity.summaries()[0];
            prop_assert_eq!((&*summary.key, summary.base_level), (rule.key(), Some(rule.base_level())));
            prop_assert_eq!(summary.levels.len(), levels.len());
            for (&id, expected) in summary.levels.iter().zip(&levels) {
                let level = file.stream(id).unwrap();
                prop_assert!(level.read_bytes(0..level.len()).unwrap() == *expected);
            }
        }
    }

    #[test]
    fn one_stream_gives_the_same_bytes_however_it_is_split(channel in channel(), part in 1..9000_usize) {
        let options = WriteOptions::default().summaries(true).threads(1);
        let channels = [channel];
        let whole = write(&channels, &options, usize::MAX);
        prop_assert!(whole == write(&channels, &options, part * 8));
    }
}

/// Blocks in the caller's memory and in our own, stored as they are and compressed, many more than may be under way.
#[test]
fn large_calls_give_the_bytes_of_small_ones() {
    let noise: Vec<u8> =
        (0..3_u64 << 20).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61) as u8).collect();
    let write = |threads: usize, piece: usize| {
        let mut schema = SchemaBuilder::new(Kind::Group);
        let mut stream = |name, block, compression| {
            let entity = schema.add(schema.root(), name, Kind::Int { bits: 8 }).unwrap();
            schema.stream_with(entity, Element::U8, block, compression).unwrap()
        };
        let streams = [
            stream("small", 4096, Compression::Zstd),
            stream("plain", 8192, Compression::None),
            stream("large", 1 << 20, Compression::Zstd),
        ];
        let options = WriteOptions::default().threads(threads);
        let mut writer = IzsWriter::new(Vec::new(), schema.finish().unwrap(), &options).unwrap();
        for part in noise.chunks(500_001) {
            for stream in streams {
                part.chunks(piece).for_each(|piece| writer.push_bytes(stream, piece).unwrap());
            }
        }
        writer.finish().unwrap()
    };
    let expected = write(1, usize::MAX);
    for (threads, piece) in [(2, usize::MAX), (3, 200_000), (2, 10_000), (1, 10_000)] {
        assert!(write(threads, piece) == expected, "{threads} threads, {piece} bytes");
    }
}

#[test]
fn indexes_stand_together_before_the_schema() {
    let channel = Channel {
        kind: Kind::Int { bits: 8 },
        element: Element::U8,
        block: 4096,
        compression: Compression::Zstd,
        bytes: vec![9; 100_000],
    };
    let bytes = write(&[channel.clone(), channel], &WriteOptions::default().summaries(true), 5000);
    let file = open(bytes);
    let mut at = file.izs().schema_bytes().start;
    let ids: Vec<StreamId> = file.schema().streams().collect();
    for id in ids.into_iter().rev() {
        let descriptor = file.schema()[id].descriptor().unwrap();
        at -= descriptor.i_size;
        assert_eq!(descriptor.i_offset, at);
    }
}

#[test]
fn blocks_larger_than_all_that_may_wait_are_written() {
    let zeros = vec![0; 40 << 20];
    let write = |threads, piece| {
        let mut schema = SchemaBuilder::new(Kind::Int { bits: 8 });
        let stream = schema.stream_with(schema.root(), Element::U8, 1 << 24, Compression::Zstd).unwrap();
        let options = WriteOptions::default().threads(threads);
        let mut writer = IzsWriter::new(Vec::new(), schema.finish().unwrap(), &options).unwrap();
        zeros.chunks(piece).for_each(|piece| writer.push_bytes(stream, piece).unwrap());
        writer.finish().unwrap()
    };
    let expected = write(1, usize::MAX);
    for (threads, piece) in [(2, usize::MAX), (2, 50_000), (3, 9 << 20)] {
        assert!(write(threads, piece) == expected, "{threads} threads, {piece} bytes");
    }
}

#[test]
fn a_failed_write_is_reported_from_then_on() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            if taken == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for threads in [1, 2] {
        let mut schema = SchemaBuilder::new(Kind::Bits { bits: 8 });
        let stream = schema.stream_with(schema.root(), Element::U8, 4096, Compression::None).unwrap();
        let options = WriteOptions::default().threads(threads);
        let mut writer = IzsWriter::new(Full(10_000), schema.finish().unwrap(), &options).unwrap();
        assert!(writer.push(stream, &[0_u16; 10]).is_err());
        assert!(writer.push_bytes(stream, &[]).is_ok());
        writer.push(stream, &[0_u8; 5000]).unwrap();
        assert!(writer.push(stream, &[0_u8; 9000]).is_err());
        assert!(writer.push(stream, &[0_u8; 1]).is_err());
        assert!(writer.finish().is_err());
    }
}
