//! What a recording refuses, and that nothing is lost or hidden when it does.

mod common;

use common::{Sink, SinkFull};
use firmware_writer::State;
use firmware_writer::{
    Attribute, Dialect, Entity, Error, Memory, RecordError, Recording, Rle, Schema, SchemaError, Store,
    Stream,
};

const FAST: Stream<u8> = Stream::new(0);
const SLOW: Stream<u16> = Stream::new(1).staged(4096);
const OTHER: Stream<u8> = Stream::new(1);

static STAGED: Schema = Schema::new(Entity::group(&[
    ("fast", Entity::int(8).data(FAST.def())),
    ("slow", Entity::int(16).data(SLOW.def())),
]));
static DIRECT: Schema = Schema::new(Entity::group(&[
    ("fast", Entity::int(8).data(FAST.def())),
    ("other", Entity::int(8).data(OTHER.def())),
]));
static SINGLE: Schema = Schema::new(Entity::int(8).data(FAST.def()));

fn refused<T>(result: Result<T, Error<SinkFull>>) -> RecordError {
    match result {
        Err(Error::Record(error)) => error,
        Err(Error::Io(_) | Error::Stalled) => panic!("the sink failed"),
        Ok(_) => panic!("was not refused"),
    }
}

#[test]
fn a_full_index_log_is_an_error_before_data_is_taken() {
    let mut memory = Memory::<Rle<64>, 1, 6>::new(Rle::new());
    let mut recording = Recording::start(&mut memory, &SINGLE, Sink::default()).unwrap();
    // Nothing to compress: each block takes two bytes of the log.
    let data: Vec<u8> = (0..3 * 4096).map(|i| i as u8).collect();
    recording.push(FAST, &data).unwrap();
    let before = recording.position();
    assert_eq!(refused(recording.push(FAST, &[2])), RecordError::LogFull);
    assert_eq!(recording.position(), before);
    let file = recording.finish().unwrap().bytes;
    assert_eq!(common::read(&file, "/entity/data"), data);
}

#[test]
fn the_log_keeps_room_for_the_block_that_finish_ends() {
    let mut memory = Memory::<Rle<64>, 2, 6, 8192>::new(Rle::new());
    let mut recording = Recording::start(&mut memory, &STAGED, Sink::default()).unwrap();
    recording.push(SLOW, &[7; 10]).unwrap();
    recording.push(FAST, &[1, 2].repeat(2048)).unwrap();
    assert_eq!(refused(recording.push(FAST, &[2])), RecordError::LogFull);
    let file = recording.finish().unwrap().bytes;
    assert_eq!(common::read(&file, "/entity/children/slow/data"), [7, 0].repeat(10));
}

#[test]
fn a_second_direct_stream_waits_for_the_block_boundary() {
    let mut memory = Memory::<Rle<64>, 2, 64>::new(Rle::new());
    let mut recording = Recording::start(&mut memory, &DIRECT, Sink::default()).unwrap();
    recording.push(FAST, &[1; 4095]).unwrap();
    assert_eq!(refused(recording.push(OTHER, &[2])), RecordError::BlockOpen { stream: 0 });
    recording.push(FAST, &[1]).unwrap();
    recording.push(OTHER, &[2]).unwrap();
    let file = recording.finish().unwrap().bytes;
    assert_eq!(common::read(&file, "/entity/children/fast/data"), [1; 4096]);
    assert_eq!(common::read(&file, "/entity/children/other/data"), [2]);
}

#[test]
fn a_full_stage_says_how_much_it_can_take() {
    let mut memory = Memory::<Rle<64>, 2, 64, 8192>::new(Rle::new());
    let mut recording = Recording::start(&mut memory, &STAGED, Sink::default()).unwrap();
    recording.push(FAST, &[1; 10]).unwrap();
    recording.push(SLOW, &[2; 4000]).unwrap();
    assert_eq!(refused(recording.push(SLOW, &[3; 97])), RecordError::StageFull { stream: 1, free: 96 });
    recording.push(SLOW, &[3; 96]).unwrap();
    // The end of the direct block lets the stage out.
    recording.push(FAST, &[1; 4086]).unwrap();
    recording.push(SLOW, &[4; 10_000]).unwrap();
    let file = recording.finish().unwrap().bytes;
    let expected = [[2u8, 0].repeat(4000), [3, 0].repeat(96), [4, 0].repeat(10_000)].concat();
    assert_eq!(common::read(&file, "/entity/children/slow/data"), expected);
}

#[test]
fn the_schema_must_fit_the_memory() {
    let start = |result: Result<_, Error<SinkFull>>| refused(result);
    let mut one = Memory::<Rle<64>, 1, 64, 8192>::new(Rle::new());
    let error = start(Recording::start(&mut one, &STAGED, Sink::default()).map(drop));
    assert_eq!(error, RecordError::Schema(SchemaError::StreamNumbers));
    let mut three = Memory::<Rle<64>, 3, 64, 8192>::new(Rle::new());
    let error = start(Recording::start(&mut three, &STAGED, Sink::default()).map(drop));
    assert_eq!(error, RecordError::Schema(SchemaError::StreamNumbers));
    let mut unstaged = Memory::<Rle<64>, 2, 64>::new(Rle::new());
    let error = start(Recording::start(&mut unstaged, &STAGED, Sink::default()).map(drop));
    assert_eq!(error, RecordError::Schema(SchemaError::StageTooSmall { needed: 8192 }));
}

#[test]
fn a_stream_of_another_schema_is_unknown() {
    let mut memory = Memory::<Rle<64>, 1, 64>::new(Rle::new());
    let mut recording = Recording::start(&mut memory, &SINGLE, Sink::default()).unwrap();
    let same_number = FAST.block(8192);
    assert_eq!(refused(recording.push(same_number, &[1])), RecordError::UnknownStream { stream: 0 });
    assert_eq!(refused(recording.push(SLOW, &[1])), RecordError::UnknownStream { stream: 1 });
    recording.finish().unwrap();
}

#[test]
fn a_failed_write_poisons_and_keeps_what_was_written() {
    let whole = {
        let mut memory = Memory::<Store<64>, 1, 64>::new(Store::new());
        let mut recording = Recording::start(&mut memory, &SINGLE, Sink::default()).unwrap();
        recording.push(FAST, &[1; 5000]).unwrap();
        recording.push(FAST, &[2; 5000]).unwrap();
        recording.finish().unwrap().bytes
    };
    for room in 8..whole.len() {
        let mut memory = Memory::<Store<64>, 1, 64>::new(Store::new());
        let mut sink = Sink::with_room(room);
        let mut recording = Recording::start(&mut memory, &SINGLE, &mut sink).unwrap();
        let pushed = [[1; 5000], [2; 5000]].map(|data| recording.push(FAST, &data));
        if let [Err(Error::Io(_)), second] = pushed {
            assert_eq!(refused(second), RecordError::Poisoned);
        }
        let poisoned = pushed.iter().any(Result::is_err);
        let end = recording.finish().map(drop);
        if poisoned {
            assert_eq!(refused(end), RecordError::Poisoned);
        } else {
            assert_eq!(end, Err(Error::Io(SinkFull)));
        }
        assert_ne!(memory.state(), State::Finished);
        assert_eq!(sink.bytes, whole[..room]);
    }
}

/// A recording of which not even the header was written is none.
#[test]
fn a_header_that_fails_poisons() {
    let mut memory = Memory::<Store<64>, 1, 64>::new(Store::new());
    for room in 0..8 {
        let started = Recording::start(&mut memory, &SINGLE, Sink::with_room(room));
        assert_eq!(started.map(drop), Err(Error::Io(SinkFull)));
        assert_eq!(memory.state(), State::Poisoned);
    }
    {
        let sink = Sink::default().pending_every(1);
        let mut start = std::pin::pin!(Recording::start_async(&mut memory, &SINGLE, sink));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(Future::poll(start.as_mut(), &mut context).is_pending());
    }
    assert_eq!(memory.state(), State::Poisoned);
    drop(Recording::start(&mut memory, &SINGLE, Sink::default()).unwrap());
    assert_eq!(memory.state(), State::Unfinished);
}

/// Takes this many bytes of each write, says the sink.
struct Odd(usize);

impl embedded_io::ErrorType for Odd {
    type Error = core::convert::Infallible;
}

impl embedded_io::Write for Odd {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        Ok(if bytes.len() == 8 { 8 } else { self.0 })
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[test]
fn a_sink_that_takes_nothing_or_too_much_is_an_error() {
    for taken in [0, 5001, usize::MAX] {
        let mut memory = Memory::<Store<64>, 1, 64>::new(Store::new());
        let schema = Schema::new(Entity::int(8).data(FAST.uncompressed().def()));
        let mut recording = Recording::start(&mut memory, &schema, Odd(taken)).unwrap();
        assert_eq!(recording.push(FAST.uncompressed(), &[1; 5000]), Err(Error::Stalled));
        assert_eq!(recording.finish().map(drop), Err(Error::Record(RecordError::Poisoned)));
    }
}

#[test]
fn a_forgotten_finish_is_visible() {
    let mut memory = Memory::<Store<64>, 1, 64>::new(Store::new());
    assert_eq!(memory.state(), State::Empty);
    let mut recording = Recording::start(&mut memory, &SINGLE, Sink::default()).unwrap();
    recording.push(FAST, &[1; 100]).unwrap();
    drop(recording);
    assert_eq!(memory.state(), State::Unfinished);
    // The memory serves again, from the start.
    let recording = Recording::start(&mut memory, &SINGLE, Sink::default()).unwrap();
    recording.finish().unwrap();
    assert_eq!(memory.state(), State::Finished);
}

#[test]
fn a_future_dropped_half_way_poisons() {
    let mut memory = Memory::<Store<64>, 1, 64>::new(Store::new());
    let sink = Sink::default().pending_every(3);
    let mut recording = pollster::block_on(Recording::start_async(&mut memory, &SINGLE, sink)).unwrap();
    {
        let mut push = std::pin::pin!(recording.push_async(FAST, &[1; 5000]));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(Future::poll(push.as_mut(), &mut context).is_pending());
    }
    let again = pollster::block_on(recording.push_async(FAST, &[1]));
    assert_eq!(refused(again), RecordError::Poisoned);
}

/// What the constructor of schemas says of `root`.
fn mistake(root: Entity<'_>) -> Option<SchemaError> {
    Schema::try_new(root, Dialect::Spec).err()
}

#[test]
fn a_schema_that_no_reader_would_take_is_a_mistake() {
    const WORD: Stream<u16> = Stream::new(0);
    const LONG: Stream<u64> = Stream::new(0);
    let word = Entity::int(16).data(WORD.def());
    let block = |elements| mistake(Entity::int(16).data(WORD.block(elements).def()));
    assert_eq!(block(1 << 25), None);
    for elements in [0, 1, 2048, 5000, 1 << 26] {
        assert_eq!(block(elements), Some(SchemaError::BlockSize { stream: 0 }));
    }
    for elements in [1, 4095, u32::MAX] {
        let staged = Entity::timestamp().data(LONG.staged(elements).def());
        assert_eq!(mistake(staged), Some(SchemaError::StageSize { stream: 0 }));
    }
    assert_eq!(mistake(Entity::tuple(&[], &word)), Some(SchemaError::NoElements));
    assert_eq!(mistake(Entity::fixed_array(0, &word)), Some(SchemaError::NoElements));
    assert_eq!(mistake(Entity::tuple(&["x", "x"], &word)), Some(SchemaError::DuplicateName));
    assert_eq!(mistake(Entity::timestamp().data(WORD.def())), Some(SchemaError::FieldOutsideElement));
    assert_eq!(mistake(Entity::int(10).at(7).data(WORD.def())), Some(SchemaError::FieldOutsideElement));
    assert_eq!(mistake(Entity::int(0).data(WORD.def())), Some(SchemaError::FieldOutsideElement));
    assert_eq!(mistake(Entity::bit_struct(&[]).at(3).data(WORD.def())), Some(SchemaError::NotAField));
    assert_eq!(mistake(Entity::int(8)), Some(SchemaError::MissingData));
    assert_eq!(mistake(Entity::group(&[]).data(WORD.def())), Some(SchemaError::UnexpectedData));
    let names = Entity::enumeration(1, &["a", "b", "c"]).data(WORD.def());
    assert_eq!(mistake(names), Some(SchemaError::TooManyValues));
    let reserved = word.attributes(&[("data", Attribute::Bool(true))]);
    assert_eq!(mistake(reserved), Some(SchemaError::ReservedAttribute));
    let keys = [("k", Attribute::real(1)), ("k", Attribute::real(2))];
    let twice = [("a", Attribute::Object(&keys))];
    assert_eq!(mistake(word.attributes(&twice)), Some(SchemaError::DuplicateName));

    fn nested(value: Attribute<'_>, levels: u32, check: &mut dyn FnMut(Attribute<'_>)) {
        match levels {
            0 => check(value),
            _ => nested(Attribute::Array(&[value]), levels - 1, check),
        }
    }
    let deep = |levels, expected| {
        nested(Attribute::Bool(true), levels, &mut |value| {
            assert_eq!(mistake(word.attributes(&[("a", value)])), expected);
        });
    };
    deep(10, None);
    deep(100, Some(SchemaError::TooDeep));
}
