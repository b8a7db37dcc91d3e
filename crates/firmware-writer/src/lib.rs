//! One-pass `.izs` recordings on microcontrollers: no heap, no seek, no panic.
//!
//! ```
//! use firmware_writer::{Attribute, Entity, Memory, Recording, Rle, Schema, Stream};
//!
//! // What is recorded: constants, in flash.
//! const PINS: Stream<u8> = Stream::new(0).block(1 << 20);
//! static SCHEMA: Schema = Schema::new(
//!     Entity::bit_struct(&[("sda", Entity::bits(1)), ("scl", Entity::bits(1).at(1))])
//!         .attributes(&[("time:rate", Attribute::real(1_000_000))])
//!         .data(PINS.def()),
//! );
//!
//! // All RAM of a recording, in a place of your choice.
//! let mut memory = Memory::<Rle<256>, 1, 64>::new(Rle::new());
//!
//! # let mut storage = [0u8; 4096];
//! let uart = storage.as_mut_slice(); // anything with embedded_io::Write
//! let mut recording = Recording::start(&mut memory, &SCHEMA, uart)?;
//! for _ in 0..100 {
//!     let samples = [0b11; 512]; // from DMA, say
//!     recording.push(PINS, &samples)?;
//! }
//! recording.finish()?;
//! # Ok::<(), firmware_writer::Error<embedded_io::SliceWriteError>>(())
//! ```
//!
//! # What is kept where
//!
//! A block is written while it fills, as one Zstandard frame of many small Zstandard blocks, so a block of a
//! million elements needs no more RAM than one of 4096. [`Memory::SIZE`] is all the RAM there is; the table
//! gives it in bytes on a 32-bit target, as the firmware program `record` prints it:
//!
//! | `Memory<E, STREAMS, LOG, STAGE>` | what it records | bytes |
//! |---|---|---|
//! | `Memory<Store<32>, 1, 0>` | one stream, `compress: none`, of any length | 280 |
//! | `Memory<Rle<256>, 1, 256>` | one stream, zstd with raw and RLE blocks, at least 85 blocks of less than 2 MiB | 752 |
//! | `Memory<Fast, 1, 256>` | one stream, zstd with matches | 6224 |
//! | `Memory<Entropy, 1, 256>` | one stream, zstd with matches and entropy coding | 9208 |
//! | `Memory<Rle<256>, 2, 512, 6144>` | two streams, one of them staged in blocks of 4096 | 7192 |
//!
//! The encoder `E` is the level of `compress: zstd`, a type of `micro-zstd`; its documentation says what each
//! costs and gains.
//!
//! The index log takes 2 or 3 bytes a block of less than 2 MiB, 4 for a larger one; nothing at all for a single stream
//! with `compress: none`, whose blocks can be placed by arithmetic.
//!
//! # Several streams
//!
//! A file that is written in one pass has room for one open block at a time: the next block cannot start before
//! this one has ended. So streams interleave at block boundaries:
//!
//! - Channels sampled together need only one stream: pack them into a
//!   [`bit_struct`](Entity::bit_struct).
//! - One stream may be *direct*: its block stays open on the wire, from push to push, and needs no RAM.
//! - All others are [*staged*](Stream::staged): they collect at least a block (4096 elements) in RAM, and
//!   it is written whole as soon as no block is open. While the direct stream's block is open they must be able
//!   to wait, so its block should be short: at `r` bytes a second of the staged stream and `t` seconds that a
//!   direct block stays open, the stage needs a block and `r * t` bytes more.
//!
//! # Summaries
//!
//! A viewer draws a long recording from its summary: coarser levels of a stream, which a recording can build as it
//! goes. Each level is a staged stream with a number of its own; [`Entity::summary`] declares them, [`Summary`] is
//! their state, and [`push_summarised`](Recording::push_summarised) feeds them:
//!
//! ```
//! use firmware_writer::{Entity, Memory, RangeUnsigned, Recording, Rle, Schema, Stream, Summary};
//!
//! const LEVEL: Stream<u16> = Stream::new(0);
//! // Streams 1 to 4 are the levels.
//! static SCHEMA: Schema = Schema::new(Entity::int(12).data(LEVEL.def()).summary(1, 4));
//!
//! # let mut storage = [0u8; 65536];
//! # let flash = storage.as_mut_slice();
//! let mut memory = Memory::<Rle<256>, 5, 512, 40_448>::new(Rle::new());
//! let mut summary = Summary::<RangeUnsigned, 4>::new(&SCHEMA, LEVEL).expect("it is declared");
//! let mut recording = Recording::start(&mut memory, &SCHEMA, flash)?;
//! recording.push_summarised(LEVEL, &mut summary, &[0; 20_000])?;
//! recording.finish()?;
//! # Ok::<(), firmware_writer::Error<embedded_io::SliceWriteError>>(())
//! ```
//!
//! They are the levels that the writer for hosts makes, of the same bytes. Level 0 stands for 4 elements a group, each
//! next one for twice as many; a recording of `n` elements has those of 1024 groups and more, and one beyond. Fewer
//! may be declared: then a viewer reads more when it zooms out far.
//!
//! | what it costs | |
//! |---|---|
//! | RAM of the stages | 4096 elements a level, and, in all, as many as half a block of the stream gives twice over: with four levels over a `u8` stream in blocks of 4096, 20,224 bytes |
//! | other RAM | 40 bytes a level in the memory; 16 a level and 48 in the `Summary`; the stack is 612 bytes deep in that program, and up to 1.2 KiB deeper with `u64` |
//! | size of the file | before compression as many bytes again as the stream has, a quarter of that for `timestamp` |
//! | instructions a byte of logic samples | 24 with four levels, on a Cortex-M4 at `opt-level = 3`, where it is 3 without: program `record_summary` |
//!
//! # When something goes wrong
//!
//! - What cannot be taken is refused before any of it is taken: [`RecordError`] tells a full index log, a full
//!   stage and an open block apart. The recording goes on; it can always be finished.
//! - After a failed write the recording takes no more ([`RecordError::Poisoned`]); the bytes before it stay as
//!   they are. The same holds for a future dropped half-way.
//! - Nothing can be pushed after [`finish`](Recording::finish), which takes the recording. One that was never
//!   finished shows in [`Memory::state`], and the file it left has no footer.
#![no_std]
#![forbid(unsafe_code)]

use core::fmt;

pub use core_codec::izs::recorder::summing::{
    BitAndOr, RangeFloat, RangeSigned, RangeUnsigned, Reduction, SkipFirst, SkipLast, Summary,
};
pub use core_codec::izs::recorder::{ClosedBlock, Gap, NoGap, State};
pub use core_codec::izs::{
    Attribute, Compression, Dialect, Element, Entity, Memory, RecordError, Recorder, Sample, Schema,
    SchemaError, Stream,
};
pub use micro_zstd::{Entropy, Fast, FrameEncoder, Rle, Store};

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Error<E> {
    /// The recording refused; nothing was taken.
    Record(RecordError),
    /// The sink failed; the recording takes no more.
    Io(E),
    /// The sink took no byte of those it was given, or says that it took more; the recording takes no more.
    Stalled,
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
            Self::Stalled => f.write_str("the sink takes nothing"),
        }
    }
}

impl<E: core::error::Error> core::error::Error for Error<E> {}

/// Writes all of `bytes`; unlike [`embedded_io::Write::write_all`] without a panic, whatever the sink does.
fn write_all<W: embedded_io::Write>(out: &mut W, mut bytes: &[u8]) -> Result<(), Error<W::Error>> {
    while !bytes.is_empty() {
        let written = out.write(bytes).map_err(Error::Io)?;
        bytes = rest(bytes, written)?;
    }
    Ok(())
}

/// [`write_all`] for an asynchronous sink.
async fn write_all_async<W: embedded_io_async::Write>(
    out: &mut W,
    mut bytes: &[u8],
) -> Result<(), Error<W::Error>> {
    while !bytes.is_empty() {
        let written = out.write(bytes).await.map_err(Error::Io)?;
        bytes = rest(bytes, written)?;
    }
    Ok(())
}

fn rest<E>(bytes: &[u8], written: usize) -> Result<&[u8], Error<E>> {
    bytes.get(written..).filter(|_| written != 0).ok_or(Error::Stalled)
}

/// A recording into `out`, which is an [`embedded_io::Write`] or, for the calls that end in `_async`, an
/// [`embedded_io_async::Write`].
#[derive(Debug)]
#[must_use = "without `finish` the file has neither index nor schema"]
pub struct Recording<'m, W, E, const STREAMS: usize, const LOG: usize, const STAGE: usize = 0, G = NoGap> {
    recorder: Recorder<'m, E, STREAMS, LOG, STAGE, G>,
    out: W,
}

impl<'m, W, E, const STREAMS: usize, const LOG: usize, const STAGE: usize, G>
    Recording<'m, W, E, STREAMS, LOG, STAGE, G>
where
    W: embedded_io::Write,
    E: FrameEncoder,
    G: Gap,
{
    /// Starts a recording in `memory`, and writes the file's header.
    ///
    /// # Errors
    /// [`RecordError::Schema`] when the streams of `schema` do not fit the memory; an error of the sink.
    pub fn start(
        memory: &'m mut Memory<E, STREAMS, LOG, STAGE, G>,
        schema: &'m Schema<'m>,
        mut out: W,
    ) -> Result<Self, Error<W::Error>> {
        let mut recorder = Recorder::new(memory, schema).map_err(Error::Record)?;
        let mut pieces = recorder.header();
        while let Some(piece) = pieces.next() {
            write_all(&mut out, piece)?;
        }
        Ok(Self { recorder, out })
    }

    /// Takes `elements` of `stream`, all or none, and writes what is ready.
    ///
    /// # Errors
    /// [`Error::Record`] when nothing was taken, [`Error::Io`] when the sink failed.
    pub fn push<T: Sample>(&mut self, stream: Stream<T>, elements: &[T]) -> Result<(), Error<W::Error>> {
        let mut pieces = self.recorder.push(stream, elements).map_err(Error::Record)?;
        while let Some(piece) = pieces.next() {
            write_all(&mut self.out, piece)?;
        }
        Ok(())
    }

    /// Takes `elements` of `stream`, all or none, and their groups into its summary; writes what is ready.
    ///
    /// # Errors
    /// Those of [`push`](Self::push).
    pub fn push_summarised<T: Sample, R: Reduction, const LEVELS: usize>(
        &mut self,
        stream: Stream<T>,
        summary: &mut Summary<R, LEVELS>,
        mut elements: &[T],
    ) -> Result<(), Error<W::Error>> {
        loop {
            let pushed = self.recorder.push_summarised(stream, summary, elements);
            let (taken, mut pieces) = pushed.map_err(Error::Record)?;
            while let Some(piece) = pieces.next() {
                write_all(&mut self.out, piece)?;
            }
            elements = elements.get(taken..).unwrap_or_default();
            if elements.is_empty() {
                return Ok(());
            }
        }
    }

    /// Writes the rest of the file, flushes the sink and gives it back.
    ///
    /// # Errors
    /// [`RecordError::Poisoned`] after an earlier failed write; an error of the sink.
    pub fn finish(self) -> Result<W, Error<W::Error>> {
        let Self { recorder, mut out } = self;
        let mut pieces = recorder.finish().map_err(Error::Record)?;
        while let Some(piece) = pieces.next() {
            write_all(&mut out, piece)?;
        }
        out.flush().map_err(Error::Io)?;
        Ok(out)
    }
}

impl<'m, W, E, const STREAMS: usize, const LOG: usize, const STAGE: usize, G>
    Recording<'m, W, E, STREAMS, LOG, STAGE, G>
where
    W: embedded_io_async::Write,
    E: FrameEncoder,
    G: Gap,
{
    /// [`start`](Self::start) for an asynchronous sink.
    ///
    /// # Errors
    /// Those of `start`.
    pub async fn start_async(
        memory: &'m mut Memory<E, STREAMS, LOG, STAGE, G>,
        schema: &'m Schema<'m>,
        mut out: W,
    ) -> Result<Self, Error<W::Error>> {
        let mut recorder = Recorder::new(memory, schema).map_err(Error::Record)?;
        let mut pieces = recorder.header();
        while let Some(piece) = pieces.next() {
            write_all_async(&mut out, piece).await?;
        }
        Ok(Self { recorder, out })
    }

    /// [`push`](Self::push) for an asynchronous sink. A future that is dropped half-way poisons the recording.
    ///
    /// # Errors
    /// Those of `push`.
    pub async fn push_async<T: Sample>(
        &mut self,
        stream: Stream<T>,
        elements: &[T],
    ) -> Result<(), Error<W::Error>> {
        let mut pieces = self.recorder.push(stream, elements).map_err(Error::Record)?;
        while let Some(piece) = pieces.next() {
            write_all_async(&mut self.out, piece).await?;
        }
        Ok(())
    }

    /// [`push_summarised`](Self::push_summarised) for an asynchronous sink.
    ///
    /// # Errors
    /// Those of `push_summarised`.
    pub async fn push_summarised_async<T: Sample, R: Reduction, const LEVELS: usize>(
        &mut self,
        stream: Stream<T>,
        summary: &mut Summary<R, LEVELS>,
        mut elements: &[T],
    ) -> Result<(), Error<W::Error>> {
        loop {
            let pushed = self.recorder.push_summarised(stream, summary, elements);
            let (taken, mut pieces) = pushed.map_err(Error::Record)?;
            while let Some(piece) = pieces.next() {
                write_all_async(&mut self.out, piece).await?;
            }
            elements = elements.get(taken..).unwrap_or_default();
            if elements.is_empty() {
                return Ok(());
            }
        }
    }

    /// [`finish`](Self::finish) for an asynchronous sink.
    ///
    /// # Errors
    /// Those of `finish`.
    pub async fn finish_async(self) -> Result<W, Error<W::Error>> {
        let Self { recorder, mut out } = self;
        let mut pieces = recorder.finish().map_err(Error::Record)?;
        while let Some(piece) = pieces.next() {
            write_all_async(&mut out, piece).await?;
        }
        out.flush().await.map_err(Error::Io)?;
        Ok(out)
    }
}

impl<W, E: FrameEncoder, const STREAMS: usize, const LOG: usize, const STAGE: usize, G: Gap>
    Recording<'_, W, E, STREAMS, LOG, STAGE, G>
{
    /// Bytes of the file up to now.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.recorder.position()
    }
}

#[cfg(feature = "defmt")]
impl<W, E, const STREAMS: usize, const LOG: usize, const STAGE: usize, G> defmt::Format
    for Recording<'_, W, E, STREAMS, LOG, STAGE, G>
{
    fn format(&self, f: defmt::Formatter<'_>) {
        self.recorder.format(f);
    }
}
