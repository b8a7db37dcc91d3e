//! What a recording writes, the reader reads: any settings, any data, however it is split into pushes.

mod common;

use common::Sink;
use core_codec::izs::reader;
use core_codec::{Limits, source};
use firmware_writer::{
    Attribute, ClosedBlock, Dialect, Entity, Error, FrameEncoder, Gap, Memory, NoGap, Recording, Rle, Schema,
    Store, Stream,
};
use proptest::prelude::*;

/// Settings of a recording of a direct u8 stream, a staged u16 stream and a staged u64 stream.
#[derive(Clone, Copy, Debug)]
struct Settings {
    blocks: [u32; 3],
    stages: [u32; 2],
    uncompressed: [bool; 3],
    dialect: Dialect,
}

impl Settings {
    fn bytes(&self) -> Stream<u8> {
        self.stream(0)
    }

    fn words(&self) -> Stream<u16> {
        self.stream(1).staged(self.blocks[1] + self.stages[0])
    }

    fn longs(&self) -> Stream<u64> {
        self.stream(2).staged(self.blocks[2] + self.stages[1])
    }

    fn stream<T: firmware_writer::Sample>(&self, id: u8) -> Stream<T> {
        let stream = Stream::new(id).block(self.blocks[usize::from(id)]);
        if self.uncompressed[usize::from(id)] { stream.uncompressed() } else { stream }
    }
}

prop_compose! {
    fn settings()(
        blocks in prop::array::uniform3(12u32..15),
        stages in prop::array::uniform2(0u32..5000),
        uncompressed in any::<[bool; 3]>(),
        v001 in any::<bool>(),
    ) -> Settings {
        let dialect = if v001 { Dialect::V001 } else { Dialect::Spec };
        Settings { blocks: blocks.map(|log| 1 << log), stages, uncompressed, dialect }
    }
}

/// A push: the stream, the number of elements, and what they hold.
#[derive(Clone, Copy, Debug)]
struct Push {
    stream: u8,
    count: usize,
    start: u64,
    step: u64,
}

prop_compose! {
    fn pushes()(pushes in prop::collection::vec((0u8..3, 0usize..9000, any::<u64>(), 0u64..3), 0..12)) -> Vec<Push> {
        pushes.into_iter().map(|(stream, count, start, step)| Push { stream, count, start, step }).collect()
    }
}

impl Push {
    fn values(self) -> impl Iterator<Item = u64> {
        (0..self.count as u64).map(move |i| self.start.wrapping_add(i * self.step))
    }
}

/// Bytes that no index names, of several lengths, after each block.
#[derive(Debug, Default)]
struct Marks {
    text: Vec<u8>,
}

impl Gap for Marks {
    const MAX: u32 = 40;

    fn record(&mut self, closed: &ClosedBlock) -> &[u8] {
        self.text =
            format!("<{} {}>", closed.stream, closed.number).repeat(closed.number as usize % 3).into();
        &self.text
    }
}

/// Records `pushes`, in pieces of at most `split` elements, and returns the file with what was taken.
fn record<E: FrameEncoder, G: Gap>(
    encoder: E,
    gap: G,
    settings: Settings,
    pushes: &[Push],
    split: usize,
) -> (Vec<u8>, [Vec<u8>; 3]) {
    let attributes = [("a", Attribute::real(-5))];
    let entities = [
        ("bytes", Entity::int(8).data(settings.bytes().def())),
        ("words", Entity::signed(12).attributes(&attributes).data(settings.words().def())),
        ("longs", Entity::timestamp().data(settings.longs().def())),
    ];
    let schema = Schema::try_new(Entity::group(&entities), settings.dialect).unwrap();
    let mut memory = Box::new(Memory::<E, 3, 512, { (16384 + 5000) * 10 }, G>::with_gap(encoder, gap));
    let mut recording = Recording::start(&mut memory, &schema, Sink::default()).unwrap();
    let mut taken = [const { Vec::new() }; 3];
    for push in pushes {
        let values: Vec<u64> = push.values().collect();
        for values in values.chunks(split) {
            let accepted: Result<Vec<u8>, _> = match push.stream {
                0 => {
                    let values: Vec<u8> = values.iter().map(|&v| v as u8).collect();
                    recording.push(settings.bytes(), &values).map(|()| values)
                }
                1 => {
                    let values: Vec<u16> = values.iter().map(|&v| v as u16).collect();
                    recording
                        .push(settings.words(), &values)
                        .map(|()| values.iter().flat_map(|v| v.to_le_bytes()).collect())
                }
                _ => recording
                    .push(settings.longs(), values)
                    .map(|()| values.iter().flat_map(|v| v.to_le_bytes()).collect()),
            };
            match accepted {
                Ok(bytes) => taken[usize::from(push.stream)].extend(bytes),
                Err(Error::Record(firmware_writer::RecordError::StageFull { .. })) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    let at = recording.position();
    let file = recording.finish().unwrap().bytes;
    assert!(at <= file.len() as u64);
    (file, taken)
}

fn check(file: &[u8], taken: &[Vec<u8>; 3]) {
    for (name, bytes) in ["bytes", "words", "longs"].iter().zip(taken) {
        assert_eq!(&common::read(file, &format!("/entity/children/{name}/data")), bytes, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 48 } else { 1000 }))]

    #[test]
    fn any_recording_reads_back(settings in settings(), pushes in pushes()) {
        let (file, taken) = record(Rle::<64>::new(), NoGap, settings, &pushes, usize::MAX);
        check(&file, &taken);
        let (file, taken) = record(Store::<100>::new(), NoGap, settings, &pushes, usize::MAX);
        check(&file, &taken);
    }

    #[test]
    fn gaps_between_blocks_are_passed_over(settings in settings(), pushes in pushes()) {
        let (file, taken) = record(Rle::<64>::new(), Marks::default(), settings, &pushes, usize::MAX);
        check(&file, &taken);
    }

    #[test]
    fn the_size_of_pushes_leaves_no_trace(settings in settings(), mut pushes in pushes(), split in 1usize..500) {
        // A staged block goes out when the wire is free, so only the direct stream can be split anywhere.
        pushes.retain(|push| push.stream == 0);
        let (whole, _) = record(Rle::<64>::new(), NoGap, settings, &pushes, usize::MAX);
        let (parts, _) = record(Rle::<64>::new(), NoGap, settings, &pushes, split);
        prop_assert_eq!(whole, parts);
    }
}

const ONLY: Stream<u16> = Stream::new(0).uncompressed();
static ONE: Schema = Schema::new(Entity::int(16).data(ONLY.def()));

#[test]
fn one_uncompressed_stream_needs_no_log() {
    for count in [0, 1, 4095, 4096, 4097, 100_000] {
        let values: Vec<u16> = (0..count).map(|i| (i * 7) as u16).collect();
        let mut memory = Memory::<Store<32>, 1, 0>::new(Store::new());
        let mut recording = Recording::start(&mut memory, &ONE, Sink::default()).unwrap();
        values.chunks(777).for_each(|chunk| recording.push(ONLY, chunk).unwrap());
        let file = recording.finish().unwrap().bytes;
        let expected: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(common::read(&file, "/entity/data"), expected);
        assert_eq!(file[8..8 + expected.len()], expected);
    }
}

#[test]
fn blocking_and_asynchronous_sinks_get_the_same_bytes() {
    let values: Vec<u16> = (0..50_000u32).map(|i| (i / 1000) as u16).collect();
    const PACKED: Stream<u16> = Stream::new(0);
    static SCHEMA: Schema = Schema::new(Entity::int(16).data(PACKED.def()));
    let mut memory = Memory::<Rle<128>, 1, 64>::new(Rle::new());
    let mut recording = Recording::start(&mut memory, &SCHEMA, Sink::default()).unwrap();
    values.chunks(100).for_each(|chunk| recording.push(PACKED, chunk).unwrap());
    let blocking = recording.finish().unwrap().bytes;

    let asynchronous = pollster::block_on(async {
        let sink = Sink::default().pending_every(3);
        let mut recording = Recording::start_async(&mut memory, &SCHEMA, sink).await.unwrap();
        for chunk in values.chunks(100) {
            recording.push_async(PACKED, chunk).await.unwrap();
        }
        recording.finish_async().await.unwrap().bytes
    });
    assert_eq!(blocking, asynchronous);
}

#[test]
fn every_entity_and_attribute_reads_back() {
    const PINS: Stream<u8> = Stream::new(0);
    const MODE: Stream<u8> = Stream::new(1).staged(4096);
    const PAIRS: Stream<u32> = Stream::new(2).staged(4096);
    const ENDS: Stream<u64> = Stream::new(3).staged(4096);
    const TEXT: Stream<u8> = Stream::new(4).staged(4096);
    const REAL: Stream<u64> = Stream::new(5).staged(4096);
    const TILE: Stream<u16> = Stream::new(6).staged(4096);
    static SCHEMA: Schema = Schema::new(
        Entity::group(&[
            (
                "quote\" back\\ tab\t é",
                Entity::bit_struct(&[
                    ("high", Entity::int(4).at(4)),
                    ("low", Entity::bits(1).attributes(&[("display:color", Attribute::Text("red"))])),
                ])
                .data(PINS.def()),
            ),
            ("mode", Entity::enumeration(2, &["off", "on"]).data(MODE.def())),
            ("complex", Entity::tuple(&["re", "im"], &Entity::float32().data(PAIRS.def()))),
            ("text", Entity::variable_array(&Entity::character().data(TEXT.def())).data(ENDS.def())),
            ("real", Entity::float64().data(REAL.def())),
            ("tile", Entity::fixed_array(3, &Entity::signed(12).data(TILE.def()))),
        ])
        .attributes(&[
            ("core:role", Attribute::Text("capture")),
            ("yes", Attribute::Bool(true)),
            ("whole", Attribute::Integer(u64::MAX)),
            ("least", Attribute::decimal(i64::MIN, -128)),
            (
                "list",
                Attribute::Array(&[Attribute::Bool(false), Attribute::Object(&[("k", Attribute::real(1))])]),
            ),
        ]),
    );
    let mut memory = Memory::<Store<64>, 7, 64, { 4096 * (1 + 4 + 8 + 1 + 8 + 2) }>::new(Store::new());
    let mut recording = Recording::start(&mut memory, &SCHEMA, Sink::default()).unwrap();
    recording.push(PAIRS, &[1f32.to_bits(), 2f32.to_bits()]).unwrap();
    let file: &[u8] = &recording.finish().unwrap().bytes;
    let limits = Limits::default();
    let izs = source::complete(reader::open(file, &limits)).unwrap();
    let schema = izs.schema();
    let paths: Vec<_> = schema.entities().map(|id| schema.entity_path(id).to_string()).collect();
    for name in ["quote\" back\\ tab\t é", "mode", "complex", "text", "real", "tile"] {
        assert!(paths.iter().any(|path| path == name), "{name} is not among {paths:?}");
    }
    assert_eq!(schema.streams().len(), 7);
    let attributes = schema[schema.root()].attributes();
    assert_eq!(attributes.get("whole").unwrap().as_u64(), Some(u64::MAX));
    assert_eq!(attributes.get("least").unwrap().as_f64(), Some(i64::MIN as f64 * 1e-128));
    assert_eq!(common::read(file, "/entity/children/complex/child/data").len(), 8);
}
