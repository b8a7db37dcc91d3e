//! What the programs that record have in common: streams, a schema, samples and a sink, about which the optimiser
//! cannot know anything.

use core::fmt::{self, Write as _};
use core::hint::black_box;

use firmware_writer::{Attribute, Entity, Error, Sample, Schema, Stream};

/// Direct.
pub const LOGIC: Stream<u8> = Stream::new(0).block(1 << 20);
/// Staged, two blocks of it.
pub const ADC: Stream<u16> = Stream::new(1).staged(8192);
/// Staged, not compressed.
pub const COUNTER: Stream<u32> = Stream::new(2).staged(4096).uncompressed();
/// Staged.
pub const TIMES: Stream<u64> = Stream::new(3).staged(4096);

/// The four streams, below all kinds of entities and attributes.
pub static SCHEMA: Schema = Schema::new(Entity::group(&[
    (
        "logic",
        Entity::bit_struct(&[
            ("sda", Entity::bits(1)),
            ("mode", Entity::enumeration(2, &["a", "b\n"]).at(2)),
        ])
        .data(LOGIC.def()),
    ),
    ("adc", Entity::int(12).attributes(&[("time:rate", Attribute::decimal(48, 3))]).data(ADC.def())),
    ("counter", Entity::signed(32).data(COUNTER.def())),
    ("times", Entity::timestamp().data(TIMES.def())),
]));

/// [`LOGIC`], not compressed.
pub static LOGIC_ONLY: Schema = Schema::new(Entity::bits(8).data(LOGIC.uncompressed().def()));

/// A sink that does what it likes.
#[derive(Debug)]
pub struct Sink;

impl embedded_io::ErrorType for Sink {
    type Error = embedded_io::ErrorKind;
}

impl embedded_io::Write for Sink {
    fn write(&mut self, buf: &[u8]) -> Result<usize, Self::Error> {
        black_box(buf);
        black_box(Ok(buf.len()))
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        black_box(Ok(()))
    }
}

impl embedded_io_async::Write for Sink {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, Self::Error> {
        embedded_io::Write::write(self, buf)
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        embedded_io::Write::flush(self)
    }
}

/// Samples from nowhere.
#[inline(never)]
pub fn samples<T: Sample>() -> &'static [T] {
    black_box(&[])
}

/// Writes what an error has to say.
#[inline(never)]
pub fn show(result: Result<(), Error<embedded_io::ErrorKind>>) {
    if let Err(error) = black_box(result) {
        let _ = write!(Text, "{error}");
    }
}

/// Text to nowhere.
#[derive(Debug)]
pub struct Text;

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        black_box(text);
        black_box(Ok(()))
    }
}
