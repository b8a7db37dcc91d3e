//! Summaries that are built while a recording is made: the levels that the host's writer makes.

mod common;

use common::Sink;
use core_codec::codec::zstd::Encoder;
use core_codec::izs::model::{self, Role, SchemaBuilder};
use core_codec::izs::writer::{Encoding, Settings, Writer};
use core_codec::izs::{Dialect, Sample, reader};
use core_codec::{Limits, source};
use firmware_writer::{
    BitAndOr, Entity, Error, Memory, RangeFloat, RangeSigned, RangeUnsigned, RecordError, Recording,
    Reduction, Rle, Schema, SchemaError, SkipFirst, SkipLast, Stream, Summary,
};
use std_io::IzsFile;

const LEVELS: usize = 5;
/// A block of each level, and what comes in with a block of 8192 elements, of eight bytes each.
const STAGE: usize = 8 * (LEVELS * 4096 + 8192);

type Recorded<const STREAMS: usize> = Memory<Rle<256>, STREAMS, 4096, STAGE>;

/// The recording of `elements`, in pushes of these sizes, again and again.
fn record<T: Sample, R: Reduction>(
    entity: Entity<'_>,
    dialect: Dialect,
    block: u32,
    elements: &[T],
    sizes: &[usize],
) -> Vec<u8> {
    let stream = Stream::<T>::new(0).block(block);
    let schema = Schema::try_new(entity.data(stream.def()).summary(1, LEVELS as u8), dialect).unwrap();
    let mut memory = Box::new(Recorded::<6>::new(Rle::new()));
    let mut summary = Summary::<R, LEVELS>::new(&schema, stream).unwrap();
    let mut recording = Recording::start(&mut memory, &schema, Sink::default()).unwrap();
    let mut rest = elements;
    for size in sizes.iter().cycle() {
        let (now, later) = rest.split_at(rest.len().min(*size));
        recording.push_summarised(stream, &mut summary, now).unwrap();
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    recording.finish().unwrap().bytes
}

/// The file that the host's writer makes of the same.
fn write<T: Sample>(kind: model::Kind, dialect: Dialect, elements: &[T]) -> Vec<u8> {
    let mut schema = SchemaBuilder::new(kind);
    let stream = schema.stream(schema.root(), T::ELEMENT).unwrap();
    let settings = Settings::default().summaries(true);
    let mut writer = Writer::new(schema.finish().unwrap(), dialect, &settings).unwrap();
    let mut file = Writer::HEADER.to_vec();
    let mut jobs = Vec::new();
    let mut bytes: &[u8] = bytemuck::must_cast_slice(elements);
    while !bytes.is_empty() {
        let taken = writer.push(stream, bytes, &mut jobs).unwrap();
        bytes = &bytes[taken..];
    }
    writer.finish(&mut jobs).unwrap();
    let mut encoder = Encoder::new();
    for job in jobs {
        let frame = match job.encoding {
            Encoding::None => &job.raw[..],
            Encoding::Zstd { level } => encoder.encode(level, &job.raw).unwrap(),
        };
        file.extend_from_slice(frame);
        writer.stored(job.ticket, frame.len()).unwrap();
    }
    file.extend(writer.ending(&mut encoder).unwrap());
    file
}

/// The pointers of all streams, and their bytes.
fn streams(file: &[u8]) -> Vec<(String, Vec<u8>)> {
    let limits = Limits::default();
    let izs = source::complete(reader::open(file, &limits)).unwrap();
    let schema = izs.schema();
    let read = |id| {
        let stream = izs.stream(id, &limits).unwrap();
        let mut bytes = vec![0; stream.byte_len().unwrap() as usize];
        source::complete(stream.read(file, 0..stream.descriptor().end, &mut bytes)).unwrap();
        (schema.stream_pointer(id).to_string(), bytes)
    };
    schema.streams().map(read).collect()
}

/// What `tripoint verify` finds, with the summaries computed again.
fn findings(file: &[u8]) -> Vec<String> {
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), file).unwrap();
    let mut findings = Vec::new();
    let file = IzsFile::open(path.path()).unwrap();
    file.verify(true, &mut |finding| findings.push(format!("{finding:?}"))).unwrap();
    findings
}

fn check<T: Sample, R: Reduction>(
    entity: Entity<'_>,
    kind: model::Kind,
    dialect: Dialect,
    element: impl Fn(u64) -> T,
) {
    // The last one has as many levels as are declared; of the fault of the reference, 65,540.
    for len in [0, 1, 1023, 1024, 2047, 4096, 8200, 30_001, 65_540] {
        let elements: Vec<T> = (0..len).map(&element).collect();
        let host = write(kind.clone(), dialect, &elements);
        for block in [4096, 8192] {
            let file = record::<T, R>(entity, dialect, block, &elements, &[1, 700, 2, 16, 3, 9001, 128]);
            let again = record::<T, R>(entity, dialect, block, &elements, &[100_000]);
            assert!(file == again, "{len} elements in blocks of {block}: it depends on the pushes");
            let (ours, mut theirs) = (streams(&file), streams(&host));
            theirs.truncate(1 + LEVELS);
            assert!(ours == theirs, "{len} elements in blocks of {block}: {:?}", names(&ours));
            assert_eq!(findings(&file), [""; 0], "{len} elements in blocks of {block}");
        }
    }
}

fn names(streams: &[(String, Vec<u8>)]) -> Vec<(&str, usize)> {
    streams.iter().map(|(name, bytes)| (&**name, bytes.len())).collect()
}

/// Looks like noise.
fn noise(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (i / 3000)
}

#[test]
fn levels_are_those_of_the_host() {
    let spec = Dialect::Spec;
    check::<u8, BitAndOr>(Entity::bits(8), model::Kind::Bits { bits: 8 }, spec, |i| {
        (noise(i / 50) >> 56) as u8
    });
    check::<u16, RangeUnsigned>(Entity::int(12), model::Kind::Int { bits: 12 }, spec, |i| {
        (noise(i) >> 52) as u16
    });
    check::<u32, RangeSigned>(Entity::signed(32), model::Kind::Signed { bits: 32 }, spec, |i| {
        (noise(i) >> 32) as u32
    });
    check::<u64, RangeFloat>(Entity::float64(), model::Kind::Float64, spec, |i| {
        f64::from(noise(i) as i32).to_bits()
    });
    check::<u64, SkipFirst>(Entity::timestamp(), model::Kind::Timestamp, spec, |i| 7 * i);
    check::<u64, SkipLast>(Entity::timestamp(), model::Kind::Timestamp, Dialect::V001, |i| 7 * i);
}

const PINS: Stream<u8> = Stream::new(0);
static SCHEMA: Schema = Schema::new(Entity::bits(8).data(PINS.def()).summary(1, LEVELS as u8));

#[test]
fn elements_without_their_summary_leave_none() {
    let mut memory = Box::new(Recorded::<6>::new(Rle::new()));
    let mut summary = Summary::<BitAndOr, LEVELS>::new(&SCHEMA, PINS).unwrap();
    let mut recording = Recording::start(&mut memory, &SCHEMA, Sink::default()).unwrap();
    recording.push_summarised(PINS, &mut summary, &[1; 20_000]).unwrap();
    recording.push(PINS, &[2; 4]).unwrap();
    let refused = recording.push_summarised(PINS, &mut summary, &[3; 4]);
    assert_eq!(refused, Err(Error::Record(RecordError::Summary { stream: 0 })));
    let file = recording.finish().unwrap().bytes;
    assert_eq!(names(&streams(&file)), [("/entity/data", 20_004)]);
    assert_eq!(findings(&file), [""; 0]);
}

#[test]
fn what_cannot_be_is_refused() {
    assert_eq!(
        Summary::<RangeUnsigned, LEVELS>::new(&SCHEMA, PINS).map(drop),
        Err(RecordError::Summary { stream: 0 })
    );
    assert_eq!(Summary::<BitAndOr, 4>::new(&SCHEMA, PINS).map(drop), Err(RecordError::Summary { stream: 0 }));
    let other = PINS.block(8192);
    assert_eq!(
        Summary::<BitAndOr, LEVELS>::new(&SCHEMA, other).map(drop),
        Err(RecordError::Summary { stream: 0 })
    );

    let declared = |entity: Entity<'static>| Schema::try_new(entity, Dialect::Spec).map(drop);
    let none = Err(SchemaError::NoSummary);
    assert_eq!(declared(Entity::bits(8).data(PINS.def()).summary(1, 0)), none);
    assert_eq!(declared(Entity::bits(8).data(PINS.def()).summary(250, 6)), none);
    assert_eq!(declared(Entity::character().data(PINS.def()).summary(1, 1)), none);
    assert_eq!(declared(Entity::signed(7).data(PINS.def()).summary(1, 1)), none);

    let mut small = Memory::<Rle<256>, 6, 4096, 20_000>::new(Rle::new());
    let needed = 5 * 4096 + 2048 + 1024 + 512 + 256 + 128;
    assert_eq!(
        Recording::start(&mut small, &SCHEMA, Sink::default()).map(drop),
        Err(Error::Record(RecordError::Schema(SchemaError::StageTooSmall { needed })))
    );
}

#[test]
fn a_full_log_takes_nothing_and_leaves_the_levels_right() {
    let mut memory = Box::new(Memory::<Rle<256>, 6, 64, STAGE>::new(Rle::new()));
    let mut summary = Summary::<BitAndOr, LEVELS>::new(&SCHEMA, PINS).unwrap();
    let mut recording = Recording::start(&mut memory, &SCHEMA, Sink::default()).unwrap();
    let mut taken = 0;
    let elements: Vec<u8> = (0..5000).map(|i| (noise(i) >> 60) as u8).collect();
    loop {
        match recording.push_summarised(PINS, &mut summary, &elements) {
            Ok(()) => taken += elements.len(),
            Err(error) => {
                assert_eq!(error, Error::Record(RecordError::LogFull));
                break;
            }
        }
    }
    assert!(taken > 20_000, "{taken}");
    let file = recording.finish().unwrap().bytes;
    let streams = streams(&file);
    assert_eq!(streams[0].1, elements.repeat(taken / elements.len()));
    assert_eq!(findings(&file), [""; 0]);
    let izs = source::complete(reader::open(&file[..], &Limits::default())).unwrap();
    let levels = izs.schema().streams().filter(|id| matches!(izs.schema()[*id].role(), Role::Level { .. }));
    assert!(levels.count() > 1);
}

/// Beside a block that another stream keeps open, a push whose groups do not fit is refused as a whole.
#[test]
fn a_push_that_does_not_fit_takes_nothing() {
    let staged = Stream::<u8>::new(0).staged(16_384);
    let direct = Stream::<u8>::new(1);
    let entities =
        [("s", Entity::int(8).data(staged.def()).summary(2, 3)), ("x", Entity::int(8).data(direct.def()))];
    let schema = Schema::new(Entity::group(&entities));
    let mut memory = Box::new(Memory::<Rle<64>, 5, 512, 40_000>::new(Rle::new()));
    let mut summary = Summary::<RangeUnsigned, 3>::new(&schema, staged).unwrap();
    let mut recording = Recording::start(&mut memory, &schema, Sink::default()).unwrap();
    recording.push(direct, &[1]).unwrap();
    let refused = recording.push_summarised(staged, &mut summary, &[7; 16_384]);
    assert!(matches!(refused, Err(Error::Record(RecordError::StageFull { stream: 2, .. }))), "{refused:?}");
    recording.push(direct, &[1; 4095]).unwrap();
    recording.push_summarised(staged, &mut summary, &[7; 16_384]).unwrap();
    let file = recording.finish().unwrap().bytes;
    let streams = streams(&file);
    let (_, elements) = streams.iter().find(|(pointer, _)| pointer == "/entity/children/s/data").unwrap();
    assert_eq!(elements.len(), 16_384);
}

/// A summary has the levels and the rule of one schema only.
#[test]
fn a_summary_of_another_schema_is_refused() {
    let stream = Stream::<u8>::new(0);
    let other = Stream::<u8>::new(3).staged(4096);
    let entity = |levels| {
        [("a", Entity::int(8).data(stream.def()).summary(levels, 2)), ("b", Entity::int(8).data(other.def()))]
    };
    let (one, bits) = (entity(1), Entity::bits(8).data(stream.def()).summary(1, 2));
    let schema = Schema::new(Entity::group(&one));
    let mut memory = Box::new(Memory::<Rle<64>, 4, 512, 20_000>::new(Rle::new()));
    let mut recording = Recording::start(&mut memory, &schema, Sink::default()).unwrap();
    let of_bits = Schema::new(bits);
    let mut summary = Summary::<BitAndOr, 2>::new(&of_bits, stream).unwrap();
    let refused = recording.push_summarised(stream, &mut summary, &[9; 100]);
    assert!(matches!(refused, Err(Error::Record(RecordError::Summary { stream: 0 }))), "{refused:?}");
    let mut own = Summary::<RangeUnsigned, 2>::new(&schema, stream).unwrap();
    recording.push_summarised(stream, &mut own, &[9; 100]).unwrap();
    recording.finish().unwrap();
}

/// Even where no group was complete, so that no length tells.
#[test]
fn a_summary_of_an_abandoned_recording_is_refused() {
    let mut memory = Box::new(Recorded::<6>::new(Rle::new()));
    let mut left = Summary::<BitAndOr, LEVELS>::new(&SCHEMA, PINS).unwrap();
    let mut recording = Recording::start(&mut memory, &SCHEMA, Sink::default()).unwrap();
    recording.push_summarised(PINS, &mut left, &[1; 3]).unwrap();
    drop(recording);
    let mut recording = Recording::start(&mut memory, &SCHEMA, Sink::default()).unwrap();
    let summary_error = Err(Error::Record(RecordError::Summary { stream: 0 }));
    assert_eq!(recording.push_summarised(PINS, &mut left, &[2; 3]), summary_error);
    recording.push(PINS, &[2; 3]).unwrap();
    assert_eq!(recording.push_summarised(PINS, &mut left, &[2]), summary_error);
    recording.finish().unwrap();
}

/// Nor does one serve two recorders, though each of them be the first recording of its memory.
#[test]
fn a_summary_of_another_memory_is_refused() {
    let [mut one, mut other] = [(); 2].map(|()| Box::new(Recorded::<6>::new(Rle::new())));
    let [mut of_one, mut of_other] =
        [(); 2].map(|()| Summary::<BitAndOr, LEVELS>::new(&SCHEMA, PINS).unwrap());
    let mut one = Recording::start(&mut one, &SCHEMA, Sink::default()).unwrap();
    let mut other = Recording::start(&mut other, &SCHEMA, Sink::default()).unwrap();
    one.push_summarised(PINS, &mut of_one, &[1; 3]).unwrap();
    other.push_summarised(PINS, &mut of_other, &[2; 3]).unwrap();
    let summary_error = Err(Error::Record(RecordError::Summary { stream: 0 }));
    assert_eq!(one.push_summarised(PINS, &mut of_other, &[1]), summary_error);
    one.push_summarised(PINS, &mut of_one, &[1]).unwrap();
    one.finish().unwrap();
}

#[test]
fn nothing_is_refused_too_after_a_failed_write() {
    let mut memory = Box::new(Recorded::<6>::new(Rle::new()));
    let mut summary = Summary::<BitAndOr, LEVELS>::new(&SCHEMA, PINS).unwrap();
    let mut recording = Recording::start(&mut memory, &SCHEMA, Sink::with_room(8)).unwrap();
    recording.push_summarised(PINS, &mut summary, &[]).unwrap();
    assert!(matches!(recording.push_summarised(PINS, &mut summary, &[1; 5000]), Err(Error::Io(_))));
    let poisoned = Err(Error::Record(RecordError::Poisoned));
    assert_eq!(recording.push_summarised(PINS, &mut summary, &[]), poisoned);
    assert_eq!(pollster::block_on(recording.push_summarised_async(PINS, &mut summary, &[])), poisoned);
}
