//! Recordings that a board and the host must write alike, byte for byte. The firmware program `record` includes
//! this file too.

use embedded_io::Write;
use firmware_writer::{
    Attribute, BitAndOr, Dialect, Entity, Error, FrameEncoder, Memory, NoGap, Recording, Rle, Schema, Store,
    Stream, Summary,
};

/// Levels of eight pins: idle for long, then a burst.
#[derive(Clone, Debug)]
pub(crate) struct Pins {
    state: u32,
    left: u32,
    level: u8,
}

impl Pins {
    pub(crate) const fn new() -> Self {
        Self { state: 0x9e37_79b9, left: 1000, level: 0x23 }
    }
}

impl Iterator for Pins {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        if self.left == 0 {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 17;
            self.state ^= self.state << 5;
            self.level ^= 1 << (self.state >> 29);
            self.left = if self.state & 63 == 0 { 3000 + (self.state >> 20) } else { 2 + (self.state >> 28) };
        }
        self.left -= 1;
        Some(self.level)
    }
}

/// A ramp with some noise, as from an ADC.
pub(crate) fn ramp() -> impl Iterator<Item = u16> {
    Pins::new().zip(0u16..).map(|(noise, i)| (i / 8).wrapping_add(u16::from(noise & 3)) & 0x0fff)
}

const RATE: (&str, Attribute<'static>) = ("time:rate", Attribute::real(1_000_000));

const LOGIC: Stream<u8> = Stream::new(0);
const LOGIC_LONG: Stream<u8> = Stream::new(0).block(1 << 20);
const RAW: Stream<u16> = Stream::new(0).uncompressed();
// A block, and what comes in while a block of the direct stream is open.
const STAGED: Stream<u8> = Stream::new(1).staged(4096 + 2048);

const PINS: Entity<'static> = Entity::bit_struct(&[
    ("sda", Entity::bits(1)),
    ("scl", Entity::bits(1).at(1)),
    ("bus", Entity::int(6).at(2)),
])
.attributes(&[RATE]);

static LOGIC_SCHEMA: Schema<'static> = Schema::new(PINS.data(LOGIC.def()));
static LONG_SCHEMA: Schema<'static> = Schema::new(PINS.data(LOGIC_LONG.def()));
static SUMMARISED_SCHEMA: Schema<'static> = Schema::new(PINS.data(LOGIC.def()).summary(1, 4));
static RAW_SCHEMA: Schema<'static> = Schema::new(
    Entity::int(12).attributes(&[RATE, ("number:scale", Attribute::decimal(806, -6))]).data(RAW.def()),
);
const PAIR: Entity<'static> = Entity::group(&[
    ("pins", PINS.data(LOGIC.def())),
    (
        "adc",
        Entity::signed(8).attributes(&[("number:offset", Attribute::decimal(-165, -2))]).data(STAGED.def()),
    ),
]);
static PAIR_SCHEMA: Schema<'static> = Schema::new(PAIR);
static V001_SCHEMA: Schema<'static> = match Schema::try_new(PAIR, Dialect::V001) {
    Ok(schema) => schema,
    Err(_) => panic!("the schema is one of dialect V"),
};

/// The memory of each recording, all at hand in 16 KiB.
pub(crate) type Raw = Memory<Store<32>, 1, 0>;
pub(crate) type Single = Memory<Rle<256>, 1, 256>;
pub(crate) type Pair = Memory<Rle<256>, 2, 512, 6144>;

/// The memory of a stream and four levels of a summary.
pub(crate) type Summarised = Memory<Rle<256>, 5, 512, 20_224>;

/// Elements of pins, and of ramp.
pub(crate) const PINS_LEN: usize = 30_000;
pub(crate) const RAMP_LEN: usize = 10_000;

/// One stream that compresses, at any level, in pushes of odd sizes.
pub(crate) fn logic<W: Write, E: FrameEncoder>(
    memory: &mut Memory<E, 1, 256>,
    out: W,
) -> Result<W, Error<W::Error>> {
    one(Recording::start(memory, &LOGIC_SCHEMA, out)?, LOGIC)
}

/// The same in one long block.
pub(crate) fn long_block<W: Write>(memory: &mut Single, out: W) -> Result<W, Error<W::Error>> {
    one(Recording::start(memory, &LONG_SCHEMA, out)?, LOGIC_LONG)
}

fn one<W: Write, E: FrameEncoder, const LOG: usize>(
    mut recording: Recording<'_, W, E, 1, LOG, 0, NoGap>,
    stream: Stream<u8>,
) -> Result<W, Error<W::Error>> {
    let mut pins = Pins::new();
    let mut left = PINS_LEN;
    for size in [1, 2, 3, 64, 100, 500].into_iter().cycle() {
        let mut buffer = [0; 500];
        let size = left.min(size);
        buffer[..size].fill_with(|| pins.next().unwrap_or_default());
        recording.push(stream, &buffer[..size])?;
        left -= size;
        if left == 0 {
            break;
        }
    }
    recording.finish()
}

/// One stream with its summary, pushed as `sizes` says, again and again.
pub(crate) fn summarised<W: Write>(
    memory: &mut Summarised,
    out: W,
    sizes: &[usize],
) -> Result<W, Error<W::Error>> {
    let mut summary = Summary::<BitAndOr, 4>::new(&SUMMARISED_SCHEMA, LOGIC).map_err(Error::Record)?;
    let mut recording = Recording::start(memory, &SUMMARISED_SCHEMA, out)?;
    let mut pins = Pins::new();
    let mut left = PINS_LEN;
    for size in sizes.iter().cycle() {
        let mut buffer = [0; 5000];
        let size = left.min(*size);
        buffer[..size].fill_with(|| pins.next().unwrap_or_default());
        recording.push_summarised(LOGIC, &mut summary, &buffer[..size])?;
        left -= size;
        if left == 0 {
            break;
        }
    }
    recording.finish()
}

/// One uncompressed stream, which needs no log.
pub(crate) fn raw<W: Write>(memory: &mut Raw, out: W) -> Result<W, Error<W::Error>> {
    let mut recording = Recording::start(memory, &RAW_SCHEMA, out)?;
    let mut values = ramp();
    for _ in 0..RAMP_LEN / 250 {
        recording.push(RAW, &core::array::from_fn::<u16, 250, _>(|_| values.next().unwrap_or_default()))?;
    }
    recording.finish()
}

/// A direct and a staged stream.
pub(crate) fn pair<W: Write>(memory: &mut Pair, out: W) -> Result<W, Error<W::Error>> {
    two(Recording::start(memory, &PAIR_SCHEMA, out)?)
}

/// The same in dialect V.
pub(crate) fn v001<W: Write>(memory: &mut Pair, out: W) -> Result<W, Error<W::Error>> {
    two(Recording::start(memory, &V001_SCHEMA, out)?)
}

fn two<W: Write>(
    mut recording: Recording<'_, W, Rle<256>, 2, 512, 6144, NoGap>,
) -> Result<W, Error<W::Error>> {
    let (mut pins, mut values) = (Pins::new(), ramp());
    for _ in 0..RAMP_LEN / 100 {
        recording.push(LOGIC, &core::array::from_fn::<u8, 300, _>(|_| pins.next().unwrap_or_default()))?;
        recording
            .push(STAGED, &core::array::from_fn::<u8, 100, _>(|_| values.next().unwrap_or_default() as u8))?;
    }
    recording.finish()
}

/// A sink that keeps the length and a hash (FNV-1a) of what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hash {
    pub(crate) len: u32,
    pub(crate) fnv: u64,
}

impl Hash {
    pub(crate) const fn new() -> Self {
        Self { len: 0, fnv: 0xcbf2_9ce4_8422_2325 }
    }
}

impl embedded_io::ErrorType for Hash {
    type Error = core::convert::Infallible;
}

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        for &byte in bytes {
            self.fnv = (self.fnv ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.len += bytes.len() as u32;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl core::fmt::Display for Hash {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} bytes, FNV-1a {:016x}", self.len, self.fnv)
    }
}
