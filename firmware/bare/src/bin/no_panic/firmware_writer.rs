//! Recordings of every shape.

use core::fmt::Write as _;
use core::hint::black_box;

use bare::recordings::{ADC, COUNTER, LOGIC, LOGIC_ONLY, SCHEMA, Sink, TIMES, Text, samples, show};
use firmware_writer::{
    BitAndOr, ClosedBlock, Dialect, Entity, Error, FrameEncoder, Gap, Memory, RangeFloat, RangeSigned,
    RangeUnsigned, Recording, Reduction, Rle, Sample, Schema, SkipFirst, SkipLast, Store, Stream, Summary,
};

/// Records that a reader passes over.
struct Records([u8; 24]);

impl Gap for Records {
    const MAX: u32 = 24;

    fn record(&mut self, closed: &ClosedBlock) -> &[u8] {
        black_box(closed);
        black_box(&self.0)
    }
}

pub(crate) fn all() {
    every_stream(&mut Memory::<Rle<256>, 4, 512, 65_536>::new(Rle::new()));
    every_stream(&mut Memory::<Store<256>, 4, 512, 65_536, Records>::with_gap(
        Store::new(),
        Records([0; 24]),
    ));
    one_stream(&mut Memory::<Store<32>, 1, 0>::new(Store::new()));
    summarised::<u8, BitAndOr>(Entity::bits(black_box(8)));
    summarised::<u16, BitAndOr>(Entity::bits(black_box(8)));
    summarised::<u16, RangeUnsigned>(Entity::int(black_box(12)));
    summarised::<u32, RangeSigned>(Entity::signed(black_box(32)));
    summarised::<u32, RangeFloat>(Entity::float32());
    summarised::<u64, RangeFloat>(Entity::float64());
    summarised::<u64, SkipFirst>(Entity::timestamp());
    summarised::<u64, SkipLast>(Entity::timestamp());
    schema();
}

#[inline(never)]
fn every_stream<E: FrameEncoder, const LOG: usize, G: Gap>(memory: &mut Memory<E, 4, LOG, 65_536, G>) {
    let memory = black_box(memory);
    show(blocking(memory));
    black_box(memory.state());
}

fn blocking<E: FrameEncoder, const LOG: usize, G: Gap>(
    memory: &mut Memory<E, 4, LOG, 65_536, G>,
) -> Result<(), Error<embedded_io::ErrorKind>> {
    let mut recording = Recording::start(memory, black_box(&SCHEMA), Sink)?;
    while black_box(true) {
        recording.push(black_box(LOGIC), samples())?;
        recording.push(black_box(ADC), samples())?;
        recording.push(black_box(COUNTER), samples())?;
        recording.push(black_box(TIMES), samples())?;
        black_box(recording.position());
    }
    recording.finish().map(drop)
}

#[inline(never)]
fn one_stream(memory: &mut Memory<Store<32>, 1, 0>) {
    let record = |memory| {
        let mut recording = Recording::start(memory, black_box(&LOGIC_ONLY), Sink)?;
        recording.push(black_box(LOGIC.uncompressed()), samples())?;
        recording.finish()
    };
    show(record(black_box(memory)).map(drop));
}

/// A stream and its summary.
#[inline(never)]
fn summarised<T: Sample, R: Reduction>(entity: Entity<'_>) {
    let record = || {
        let stream = Stream::<T>::new(black_box(0)).block(black_box(8192));
        let entity = entity.data(stream.def()).summary(black_box(1), black_box(3));
        let schema = Schema::try_new(entity, black_box(Dialect::Spec));
        let Ok(schema) = schema else { return Ok(()) };
        let mut memory = Memory::<Rle<256>, 4, 512, 65_536>::new(Rle::new());
        let mut summary = Summary::<R, 3>::new(&schema, black_box(stream)).map_err(Error::Record)?;
        let mut recording = Recording::start(black_box(&mut memory), &schema, Sink)?;
        while black_box(true) {
            recording.push_summarised(black_box(stream), &mut summary, samples())?;
            recording.push(black_box(stream), samples())?;
        }
        recording.finish().map(drop)
    };
    show(record());
}

/// A schema that is put together at run time.
#[inline(never)]
fn schema() {
    let stream = Stream::<u16>::new(black_box(0)).block(black_box(8192)).staged(black_box(9000));
    let leaf = black_box(Entity::int(black_box(16)).at(black_box(3)).data(stream.def()));
    let children = [("a", leaf), ("b", black_box(Entity::fixed_array(black_box(3), &leaf)))];
    let tuple = Entity::tuple(&["x", "y"], &leaf);
    let root = [("children", Entity::group(&children)), ("tuple", tuple), ("f", Entity::float64())];
    for dialect in [Dialect::Spec, Dialect::V001] {
        let schema = Schema::try_new(Entity::group(black_box(&root)), black_box(dialect));
        match black_box(schema) {
            Ok(schema) => drop(black_box(schema)),
            Err(error) => {
                let _ = write!(Text, "{error}");
            }
        }
    }
}
