//! The writer for hosts, sans-IO: elements of any number of streams go in, blocks to compress come out.
//!
//! A [`Writer`] cuts streams into blocks and knows where they lie; it neither compresses nor writes. The driver
//! gets [`Job`]s in the order of the file, compresses them (in parallel, if it likes), writes them one after the
//! other behind what stands there already, and reports each stored size with [`Writer::stored`]. Which jobs come,
//! and in what order, follows from the elements alone: neither the number of threads nor, for streams that take
//! turns in the same order, the split into calls matters.
//!
//! ```
//! use core_codec::codec::zstd::Encoder;
//! use core_codec::izs::model::{Kind, SchemaBuilder};
//! use core_codec::izs::writer::{Encoding, Settings, Writer};
//! use core_codec::izs::{Dialect, Element, reader};
//! use core_codec::{Limits, source};
//!
//! let mut schema = SchemaBuilder::new(Kind::Int { bits: 8 });
//! let samples = schema.stream(schema.root(), Element::U8)?;
//! let mut writer = Writer::new(schema.finish()?, Dialect::Spec, &Settings::default())?;
//!
//! let mut file = Writer::HEADER.to_vec();
//! let mut jobs = Vec::new();
//! assert_eq!(writer.push(samples, &[1, 2, 3, 4, 5], &mut jobs)?, 5);
//! writer.finish(&mut jobs)?;
//! let mut encoder = Encoder::new();
//! for job in jobs {
//!     let frame = match job.encoding {
//!         Encoding::None => &job.raw,
//!         Encoding::Zstd { level } => encoder.encode(level, &job.raw).unwrap(),
//!     };
//!     file.extend_from_slice(frame);
//!     writer.stored(job.ticket, frame.len())?;
//! }
//! file.extend(writer.ending(&mut encoder)?);
//!
//! let izs = source::complete(reader::open(&file[..], &Limits::default()))?;
//! let mut read = [0; 2];
//! let limits = Limits::default();
//! source::complete(izs.stream(samples, &limits)?.read(&file[..], 3..5, &mut read))?;
//! assert_eq!(read, [4, 5]);
//! # Ok::<(), core_codec::Error>(())
//! ```
mod append;
mod ending;
mod summing;
mod track;

use alloc::borrow::Cow;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;

use summing::Summing;
use track::Track;

use super::model::{Method, Role, Schema, StreamId, Strictness};
use super::raw::{Compression, Dialect, Element, HEADER, IndexEntry};
use super::summary::Rule;
use crate::codec::zstd;
use crate::error::{Error, ErrorKind};

/// What a file says nothing about: how hard to compress, and what to build on the side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Level of `zstd`, 1 to 19.
    pub level: u8,
    /// Whether summaries are built of all streams that have a rule for one.
    pub summaries: bool,
    /// Whether what the reference cannot read is refused.
    pub strictness: Strictness,
}

impl Default for Settings {
    fn default() -> Self {
        Self { level: zstd::DEFAULT_LEVEL, summaries: false, strictness: Strictness::New }
    }
}

impl Settings {
    /// Sets the level of `zstd`, 1 to 19.
    #[must_use]
    pub const fn level(mut self, level: u8) -> Self {
        self.level = level;
        self
    }

    /// Sets whether summaries are built.
    #[must_use]
    pub const fn summaries(mut self, summaries: bool) -> Self {
        self.summaries = summaries;
        self
    }

    /// Sets whether what the reference cannot read is refused or kept.
    #[must_use]
    pub const fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }
}

/// How a block is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    None,
    /// In a frame.
    Zstd {
        /// The level, 1 to 19.
        level: u8,
    },
}

/// Names a block whose stored size is to be reported.
#[derive(Debug)]
#[must_use = "the stored size of each block has to be reported"]
pub struct Ticket {
    track: u32,
    number: u64,
}

/// A block to store.
#[derive(Debug)]
pub struct Job<'a> {
    /// Names it in [`Writer::stored`].
    pub ticket: Ticket,
    /// Its elements, in the caller's memory when a whole block was there.
    pub raw: Cow<'a, [u8]>,
    /// How it is stored.
    pub encoding: Encoding,
}

impl Job<'_> {
    /// The job with the elements in memory of its own.
    #[must_use]
    pub fn into_owned(self) -> Job<'static> {
        Job { ticket: self.ticket, raw: Cow::Owned(self.raw.into_owned()), encoding: self.encoding }
    }
}

/// A file that is being written.
#[derive(Debug)]
pub struct Writer {
    schema: Schema,
    dialect: Dialect,
    settings: Settings,
    /// Those of the schema's streams first, by their ids; then the new levels of summaries.
    tracks: Vec<Track>,
    /// By stream: its summary.
    summaries: Vec<Option<Summing>>,
    /// Blocks that were handed out and not yet reported.
    outstanding: VecDeque<(u32, u64)>,
    /// Bytes of the file up to now.
    position: u64,
    /// Buffers to use again.
    spare: Vec<Vec<u8>>,
    finished: bool,
}

impl Writer {
    /// The first bytes of a file.
    pub const HEADER: [u8; 8] = HEADER;

    /// A new file with this schema, whose streams are all to be filled. What it says about their lengths and
    /// places is replaced.
    ///
    /// # Errors
    /// When the schema cannot be written in this dialect (see [`Schema::emit`]), a block is too large, or the
    /// level is outside 1 to 19.
    pub fn new(schema: Schema, dialect: Dialect, settings: &Settings) -> Result<Self, Error> {
        let mut writer = Self::bare(schema, dialect, settings)?;
        if settings.summaries {
            for stream in writer.schema.streams() {
                writer.summarise(stream);
            }
        }
        Ok(writer)
    }

    fn bare(mut schema: Schema, dialect: Dialect, settings: &Settings) -> Result<Self, Error> {
        zstd::check_level(settings.level).map_err(|kind| Error::new("writer", kind))?;
        schema.emit(dialect, settings.strictness)?;
        let mut tracks = Vec::new();
        for id in schema.streams() {
            if let Some(descriptor) = schema.descriptor_mut(id) {
                (descriptor.end, descriptor.i_offset, descriptor.i_size) = (0, 0, 0);
            }
            tracks.push(match schema[id].descriptor() {
                Ok(descriptor) => Track::new(descriptor, settings.level).map_err(|kind| {
                    Error::new("stream descriptor", kind).item(format!("{}", schema.stream_pointer(id)))
                })?,
                // Refused above, unless nothing in the tree leads to it.
                Err(_) => Track::closed(),
            });
        }
        let summaries = tracks.iter().map(|_| None).collect();
        Ok(Self {
            schema,
            dialect,
            settings: *settings,
            tracks,
            summaries,
            outstanding: VecDeque::new(),
            position: HEADER.len() as u64,
            spare: Vec::new(),
            finished: false,
        })
    }

    /// The schema. Lengths and places of streams are not in it before the end.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Bytes of the file up to now: where the next block goes.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Elements that a stream has.
    #[must_use]
    pub fn elements(&self, stream: StreamId) -> u64 {
        self.tracks.get(stream.index()).map_or(0, |track| track.elements)
    }

    /// Width of the elements of a stream.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn element(&self, stream: StreamId) -> Result<Element, Error> {
        let track = self.tracks.get(stream.index()).filter(|_| stream.index() < self.summaries.len());
        track.map(|track| track.element).ok_or_else(|| Error::new("writer", ErrorKind::NotFound("stream")))
    }

    /// Bytes of memory that blocks which are not complete take.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.tracks.iter().map(|track| track.buffer.capacity()).sum()
    }

    /// Sets the zstd level of one stream and of its summary, for the blocks that are still to come.
    ///
    /// # Errors
    /// When the level is outside 1 to 19, or there is no such stream.
    pub fn set_level(&mut self, stream: StreamId, level: u8) -> Result<(), Error> {
        self.element(stream)?;
        zstd::check_level(level).map_err(|kind| Error::new("writer", kind))?;
        self.tracks[stream.index()].set_level(level);
        let levels = self.summaries[stream.index()].iter().flat_map(|summing| &summing.levels);
        levels.for_each(|&track| self.tracks[track as usize].set_level(level));
        Ok(())
    }

    /// Builds the summary of one stream, if it has not begun. Whether there is a rule for one.
    pub fn summarise(&mut self, stream: StreamId) -> bool {
        if self.element(stream).is_err() {
            return false;
        }
        let Ok(descriptor) = self.schema[stream].descriptor() else { return false };
        let entity = self.schema[stream].entity();
        let rule = Rule::of(self.schema[entity].kind(), descriptor.element, self.dialect);
        let begun = self.tracks[stream.index()].elements != 0;
        let wanted = self.schema[stream].role() == Role::Data && !begun;
        let copied = matches!(descriptor.compress, Method::Other(_));
        match rule {
            Some(rule) if wanted && !copied => {
                self.summaries[stream.index()] = Some(Summing::new(rule, descriptor.element));
                true
            }
            _ => false,
        }
    }

    /// The key of the summary that is built of a stream.
    #[must_use]
    pub fn summary_key(&self, stream: StreamId) -> Option<&'static str> {
        self.summaries.get(stream.index())?.as_ref().map(|summing| summing.pyramid.rule().key())
    }

    /// Whether a stream takes these bytes now, all of them in several calls of [`push`](Self::push).
    ///
    /// # Errors
    /// When there is no such stream, `bytes` ends inside an element, or the stream or the file is finished.
    pub fn check(&self, stream: StreamId, bytes: &[u8]) -> Result<(), Error> {
        let size = usize::from(self.element(stream)?.size());
        let track = &self.tracks[stream.index()];
        let closed = self.finished || track.block_bytes == 0 || track.cut_short || track.kept.is_some();
        let reason = if track.is_level {
            "is a level of a summary, which its stream continues"
        } else if closed {
            "takes no more elements"
        } else if !bytes.len().is_multiple_of(size) {
            "the bytes end inside an element"
        } else {
            return Ok(());
        };
        let pointer = format!("{}", self.schema.stream_pointer(stream));
        Err(Error::new("stream", ErrorKind::Invalid(reason)).item(pointer))
    }

    /// Takes little-endian elements from the front of `bytes`, up to the end of a block, and adds the blocks that
    /// are complete to `jobs`: whole elements, so many bytes of which the number is returned.
    ///
    /// # Errors
    /// As [`check`](Self::check); nothing has been taken then.
    pub fn push<'a>(
        &mut self,
        stream: StreamId,
        bytes: &'a [u8],
        jobs: &mut Vec<Job<'a>>,
    ) -> Result<usize, Error> {
        self.check(stream, bytes)?;
        let track = &self.tracks[stream.index()];
        let (taken, _) = bytes.split_at(bytes.len().min(track.room()));
        // Groups that are complete before the block come before it in the file.
        if let Some(mut summing) = self.summaries[stream.index()].take() {
            self.sum(stream.index(), &mut summing, taken, jobs);
            self.summaries[stream.index()] = Some(summing);
        }
        let job = self.tracks[stream.index()].push(stream.index() as u32, taken, &mut self.spare);
        self.hand_out(job, jobs);
        Ok(taken.len())
    }

    /// Takes a block as it is stored in another file: `elements` of them, a whole block or the last one.
    ///
    /// # Errors
    /// As [`push`](Self::push), and when it is not the stream's turn for a block of that length.
    pub fn push_stored(
        &mut self,
        stream: StreamId,
        elements: u64,
        stored: Vec<u8>,
        jobs: &mut Vec<Job<'_>>,
    ) -> Result<(), Error> {
        let refuse = |reason| Error::new("stream", ErrorKind::Invalid(reason));
        self.element(stream)?;
        let track = &mut self.tracks[stream.index()];
        if self.finished
            || track.cut_short
            || track.kept.is_some()
            || !track.buffer.is_empty()
            || elements > track.block
        {
            return Err(refuse("takes no block of that length now"));
        }
        if self.summaries[stream.index()].is_some() {
            return Err(refuse("needs the elements for its summary, not a stored block"));
        }
        track.elements += elements;
        track.cut_short = elements < track.block;
        let job = track.job(stream.index() as u32, Cow::Owned(stored));
        self.hand_out(Some(Job { encoding: Encoding::None, ..job }), jobs);
        Ok(())
    }

    /// Ends all streams: adds the short last blocks to `jobs`.
    ///
    /// # Errors
    /// When it was called before.
    pub fn finish(&mut self, jobs: &mut Vec<Job<'_>>) -> Result<(), Error> {
        if core::mem::replace(&mut self.finished, true) {
            return Err(Error::new("writer", ErrorKind::Invalid("finished already")));
        }
        for stream in 0..self.summaries.len() {
            let levels = self.levels(stream).to_vec();
            for track in core::iter::once(stream as u32).chain(levels) {
                let job = self.tracks[track as usize].finish(track);
                self.hand_out(job, jobs);
            }
        }
        Ok(())
    }

    /// Reports the stored size of the next block of the file.
    ///
    /// # Errors
    /// When it is another block's turn, or the size does not fit 32 bits.
    pub fn stored(&mut self, ticket: Ticket, size: usize) -> Result<(), Error> {
        if self.outstanding.front() != Some(&(ticket.track, ticket.number)) {
            return Err(Error::new("writer", ErrorKind::Invalid("a block out of its turn")));
        }
        let size = u32::try_from(size).map_err(|_| {
            let kind = ErrorKind::Limit { what: "stored bytes", limit: u32::MAX.into(), found: size as u64 };
            Error::new("block", kind)
        })?;
        self.outstanding.pop_front();
        self.tracks[ticket.track as usize].blocks.push(IndexEntry { offset: self.position, size });
        self.position += u64::from(size);
        Ok(())
    }

    /// Takes the buffer of a job that is done, to use it again.
    pub fn recycle(&mut self, raw: Cow<'_, [u8]>) {
        if let Cow::Owned(mut buffer) = raw
            && self.spare.len() < track::MOST_SPARE
        {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    fn hand_out<'a>(&mut self, job: Option<Job<'a>>, jobs: &mut Vec<Job<'a>>) {
        if let Some(job) = job {
            self.outstanding.push_back((job.ticket.track, job.ticket.number));
            jobs.push(job);
        }
    }
}

impl Encoding {
    fn compression(self) -> Compression {
        match self {
            Self::None => Compression::None,
            Self::Zstd { .. } => Compression::Zstd,
        }
    }
}

/// The encoding that a method and a level stand for; what is not known is only copied.
fn encoding(method: &Method, level: u8) -> Encoding {
    match method {
        Method::Known(Compression::Zstd) => Encoding::Zstd { level },
        Method::Known(Compression::None) | Method::Other(_) => Encoding::None,
    }
}
