//! Writing `.izs` files, compressing on several threads.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use core_codec::error::ErrorKind;
use core_codec::izs::model::{Schema, StreamId, Strictness};
use core_codec::izs::writer::{Encoding, Job, Settings, Ticket, Writer};
use core_codec::izs::{Dialect, Sample};

use super::pipeline::{Encoders, Lent, Pipeline, block_error};
use crate::error::Error;
use crate::output::OutputFile;

/// Calls with fewer bytes than this do not compress in the caller's memory: a block that they complete is copied.
const WORTH_A_SCOPE: usize = 64 << 10;

/// How a file is written.
///
/// ```
/// let options = std_io::WriteOptions::default().level(1).summaries(true).threads(2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    dialect: Dialect,
    settings: Settings,
    threads: usize,
}

impl WriteOptions {
    /// Sets the dialect: that of the specification unless set.
    #[must_use]
    pub const fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Sets the zstd level, 1 to 19; 3 unless set.
    #[must_use]
    pub const fn level(mut self, level: u8) -> Self {
        self.settings = self.settings.level(level);
        self
    }

    /// Sets whether summaries are built of all streams that can have one; not unless set.
    #[must_use]
    pub const fn summaries(mut self, summaries: bool) -> Self {
        self.settings = self.settings.summaries(summaries);
        self
    }

    /// Sets whether what the reference cannot read is refused, as it is unless set, or kept.
    #[must_use]
    pub const fn strictness(mut self, strictness: Strictness) -> Self {
        self.settings = self.settings.strictness(strictness);
        self
    }

    /// Sets how many threads compress: 1 stands for the calling thread; all processors unless set, or for 0.
    #[must_use]
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    pub(crate) fn chosen_dialect(&self) -> Dialect {
        self.dialect
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// Writes an `.izs` file in one pass.
///
/// Memory: one open block for each stream, and, with several threads, up to 8 MiB of blocks that are being compressed or
/// wait for it, or one block for each thread if those are larger; blocks in the memory of the caller of
/// [`push`](Self::push) are compressed before it returns.
///
/// ```
/// use core_codec::izs::Element;
/// use core_codec::izs::model::{Kind, SchemaBuilder};
/// use std_io::{IzsFile, IzsWriter, WriteOptions};
///
/// let mut schema = SchemaBuilder::new(Kind::Group);
/// let adc = schema.add(schema.root(), "adc", Kind::Int { bits: 12 })?;
/// schema.attribute(adc, "time:rate", 1e6)?;
/// let adc = schema.stream(adc, Element::U16)?;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("capture.izs");
/// let mut writer = IzsWriter::create(&path, schema.finish()?, &WriteOptions::default())?;
/// writer.push(adc, &[2048_u16; 100_000])?;
/// writer.finish()?.commit()?;
///
/// let file = IzsFile::open(&path)?;
/// assert_eq!(file.stream(file.find("adc")?)?.len(), 100_000);
/// # Ok::<(), std_io::Error>(())
/// ```
#[derive(Debug)]
pub struct IzsWriter<W> {
    writer: Writer,
    out: W,
    encoders: Arc<Encoders>,
    /// None where the calling thread does all.
    pipeline: Option<Pipeline>,
    /// An earlier call failed, so that the file has lost blocks.
    failed: bool,
}

impl IzsWriter<OutputFile> {
    /// Starts a file that appears under `path` when it is [finished](Self::finish) and
    /// [committed](OutputFile::commit).
    ///
    /// # Errors
    /// When the folder cannot be written to, and as [`Writer::new`].
    pub fn create(path: impl AsRef<Path>, schema: Schema, options: &WriteOptions) -> Result<Self, Error> {
        // The schema is checked before anything is created.
        let writer = Writer::new(schema, options.dialect, &options.settings)?;
        Self::start(OutputFile::create(path)?, writer, options)
    }
}

impl<W: Write> IzsWriter<W> {
    /// Starts a file and writes its header.
    ///
    /// # Errors
    /// As [`Writer::new`], and when `out` cannot be written to.
    pub fn new(out: W, schema: Schema, options: &WriteOptions) -> Result<Self, Error> {
        Self::start(out, Writer::new(schema, options.dialect, &options.settings)?, options)
    }

    fn start(mut out: W, writer: Writer, options: &WriteOptions) -> Result<Self, Error> {
        out.write_all(&Writer::HEADER)?;
        Self::continued(out, writer, options)
    }

    /// Goes on behind what `out` holds already.
    pub(crate) fn continued(out: W, writer: Writer, options: &WriteOptions) -> Result<Self, Error> {
        let encoders = Arc::new(Encoders::default());
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let pipeline = (threads > 1).then(|| Pipeline::new(threads, encoders.clone())).transpose()?;
        Ok(Self { writer, out, encoders, pipeline, failed: false })
    }

    /// The sans-IO writer behind it.
    #[must_use]
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    /// What the file is written to.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// Sets the zstd level of one stream and of its summary.
    ///
    /// # Errors
    /// As [`Writer::set_level`].
    pub fn set_level(&mut self, stream: StreamId, level: u8) -> Result<(), Error> {
        Ok(self.writer.set_level(stream, level)?)
    }

    /// Builds the summary of one stream, if it has not begun. Whether there is a rule for one.
    pub fn summarise(&mut self, stream: StreamId) -> bool {
        self.writer.summarise(stream)
    }

    /// Appends elements to a stream.
    ///
    /// # Errors
    /// When the stream's elements are of another width, when nothing has been taken; when a block cannot be written, and
    /// the file is lost.
    pub fn push<T: Sample>(&mut self, stream: StreamId, elements: &[T]) -> Result<(), Error> {
        let element = self.writer.element(stream)?;
        if element != T::ELEMENT {
            let (expected, found) = (element.size().into(), T::ELEMENT.size().into());
            let kind = ErrorKind::Mismatch { what: "bytes of an element", expected, found };
            return Err(core_codec::Error::new("stream", kind).into());
        }
        // The crate does not build for big-endian machines.
        self.push_bytes(stream, bytemuck::cast_slice(elements))
    }

    /// Appends elements to a stream, from their little-endian bytes.
    ///
    /// # Errors
    /// As [`Writer::check`], when nothing has been taken; when a block cannot be written, and the file is lost.
    pub fn push_bytes(&mut self, stream: StreamId, bytes: &[u8]) -> Result<(), Error> {
        self.writer.check(stream, bytes)?;
        self.guard(|this| match this.pipeline.as_ref().filter(|_| bytes.len() >= WORTH_A_SCOPE) {
            Some(pipeline) => pipeline.pool().in_place_scope(|scope| {
                let lent = Lent::new(scope);
                this.push_pieces(stream, bytes, Some(&lent))?;
                let Self { writer, pipeline, .. } = this;
                pipeline.as_mut().map_or(Ok(()), |pipeline| pipeline.use_up(writer, &lent))
            }),
            None => this.push_pieces(stream, bytes, None),
        })
    }

    /// Appends a block as another file stores it; see [`Writer::push_stored`].
    ///
    /// # Errors
    /// As [`Writer::push_stored`], and when it cannot be written.
    pub fn push_stored(&mut self, stream: StreamId, elements: u64, stored: Vec<u8>) -> Result<(), Error> {
        self.guard(|this| {
            let mut jobs = Vec::new();
            this.writer.push_stored(stream, elements, stored, &mut jobs)?;
            this.store(&mut jobs, None)
        })
    }

    /// Writes the rest of the file and returns what it was written to.
    ///
    /// # Errors
    /// When an earlier call failed, or the rest cannot be written.
    pub fn finish(mut self) -> Result<W, Error> {
        self.guard(|this| {
            let mut jobs = Vec::new();
            this.writer.finish(&mut jobs)?;
            this.store(&mut jobs, None)?;
            let Self { writer, out, pipeline, .. } = this;
            pipeline.as_mut().map_or(Ok(()), |pipeline| pipeline.write_all(writer, out))
        })?;
        let ending = self.encoders.with(|encoder| self.writer.ending(encoder))?;
        self.out.write_all(&ending)?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Runs a step that loses blocks when it fails.
    fn guard<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.failed {
            return Err(std::io::Error::other("an earlier write to this file failed").into());
        }
        self.failed = true;
        let done = step(self);
        self.failed = done.is_err();
        done
    }

    /// Pushes what a stream takes, and stores the blocks that are complete.
    fn push_pieces<'scope>(
        &mut self,
        stream: StreamId,
        bytes: &'scope [u8],
        lent: Option<&Lent<'_, 'scope>>,
    ) -> Result<(), Error> {
        let (mut rest, mut jobs) = (bytes, Vec::new());
        while !rest.is_empty() {
            let taken = self.writer.push(stream, rest, &mut jobs)?;
            rest = &rest[taken..];
            self.store(&mut jobs, lent)?;
        }
        Ok(())
    }

    /// Compresses and writes blocks, in their order: here, or on other threads while this one goes on.
    fn store<'scope>(
        &mut self,
        jobs: &mut Vec<Job<'scope>>,
        lent: Option<&Lent<'_, 'scope>>,
    ) -> Result<(), Error> {
        let Self { writer, out, encoders, pipeline, .. } = self;
        for job in jobs.drain(..) {
            match pipeline {
                Some(pipeline) if !pipeline.is_empty() || job.encoding != Encoding::None => {
                    pipeline.submit(job, lent);
                    pipeline.write_some(writer, out, lent)?;
                }
                _ => store_here(writer, out, encoders, job)?,
            }
        }
        Ok(())
    }
}

fn store_here(
    writer: &mut Writer,
    out: &mut impl Write,
    encoders: &Encoders,
    job: Job<'_>,
) -> Result<(), Error> {
    match job.encoding {
        Encoding::None => write(writer, out, job.ticket, &job.raw)?,
        Encoding::Zstd { level } => encoders.with(|encoder| {
            let frame = encoder.encode(level, &job.raw).map_err(block_error)?;
            write(writer, out, job.ticket, frame)
        })?,
    }
    writer.recycle(job.raw);
    Ok(())
}

fn write(writer: &mut Writer, out: &mut impl Write, ticket: Ticket, bytes: &[u8]) -> Result<(), Error> {
    out.write_all(bytes)?;
    Ok(writer.stored(ticket, bytes.len())?)
}
