//! Writing `.izs` files, compressing on several threads.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError, mpsc};

use core_codec::codec::zstd::Encoder;
use core_codec::error::ErrorKind;
use core_codec::izs::model::{Schema, StreamId, Strictness};
use core_codec::izs::writer::{Encoding, Job, Settings, Writer};
use core_codec::izs::{Dialect, Sample};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Error;
use crate::output::OutputFile;

/// Bytes of blocks that are compressed together.
const BATCH_BYTES: usize = 16 << 20;

/// Blocks that are compressed together, for each thread.
const BATCH_BLOCKS: usize = 16;

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
/// Memory: one open block for each stream, and, with several threads, up to 16 MiB of blocks that wait to be
/// compressed.
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
    threads: Threads,
    /// Blocks that are complete and wait to be compressed.
    queue: Vec<Job<'static>>,
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
        let threads = Threads::new(options.threads)?;
        Ok(Self { writer, out, threads, queue: Vec::new(), failed: false })
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
    /// When the stream's elements are of another width, or a block cannot be written; the file is lost then.
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
        self.guard(|this| {
            let mut batch: Vec<Job<'_>> = std::mem::take(&mut this.queue);
            let mut rest = bytes;
            while !rest.is_empty() {
                let taken = this.writer.push(stream, rest, &mut batch)?;
                rest = &rest[taken..];
                if this.is_full(&batch) {
                    this.run(&mut batch)?;
                }
            }
            // Borrowed blocks cannot wait for the next call.
            if batch.iter().any(|job| matches!(job.raw, Cow::Borrowed(_))) || this.threads.pool.is_none() {
                this.run(&mut batch)?;
            }
            this.queue = batch.into_iter().map(Job::into_owned).collect();
            Ok(())
        })
    }

    /// Appends a block as another file stores it; see [`Writer::push_stored`].
    ///
    /// # Errors
    /// As [`Writer::push_stored`], and when it cannot be written.
    pub fn push_stored(&mut self, stream: StreamId, elements: u64, stored: Vec<u8>) -> Result<(), Error> {
        self.guard(|this| {
            let mut batch: Vec<Job<'_>> = std::mem::take(&mut this.queue);
            this.writer.push_stored(stream, elements, stored, &mut batch)?;
            if this.is_full(&batch) {
                this.run(&mut batch)?;
            }
            this.queue = batch.into_iter().map(Job::into_owned).collect();
            Ok(())
        })
    }

    /// Writes the rest of the file and returns what it was written to.
    ///
    /// # Errors
    /// When an earlier call failed, or the rest cannot be written.
    pub fn finish(mut self) -> Result<W, Error> {
        self.guard(|this| {
            let mut batch: Vec<Job<'_>> = std::mem::take(&mut this.queue);
            this.writer.finish(&mut batch)?;
            this.run(&mut batch)
        })?;
        let ending = self.threads.with_encoder(|encoder| self.writer.ending(encoder))?;
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

    fn is_full(&self, batch: &[Job<'_>]) -> bool {
        match &self.threads.pool {
            None => !batch.is_empty(),
            Some(pool) => {
                batch.len() >= BATCH_BLOCKS * pool.current_num_threads()
                    || batch.iter().map(|job| job.raw.len()).sum::<usize>() >= BATCH_BYTES
            }
        }
    }

    /// Compresses and writes all of `batch`, in its order.
    fn run(&mut self, batch: &mut Vec<Job<'_>>) -> Result<(), Error> {
        match &self.threads.pool {
            None => batch.drain(..).try_for_each(|job| self.store_here(job)),
            Some(_) => self.store_in_parallel(batch),
        }
    }

    fn store_here(&mut self, job: Job<'_>) -> Result<(), Error> {
        let Self { writer, out, threads, .. } = self;
        match job.encoding {
            Encoding::None => store(writer, out, job.ticket, &job.raw)?,
            Encoding::Zstd { level } => threads.with_encoder(|encoder| {
                let frame = encoder.encode(level, &job.raw).map_err(block_error)?;
                store(writer, out, job.ticket, frame)
            })?,
        }
        writer.recycle(job.raw);
        Ok(())
    }

    /// The pool compresses; this thread writes each block as soon as those before it are written.
    fn store_in_parallel(&mut self, batch: &mut Vec<Job<'_>>) -> Result<(), Error> {
        let Self { writer, out, threads, .. } = self;
        let threads = &*threads;
        let Some(pool) = &threads.pool else { return Ok(()) };
        let (sender, frames) = mpsc::channel();
        let stored = pool.in_place_scope(|scope| {
            for (number, job) in batch.iter().enumerate() {
                if let Encoding::Zstd { level } = job.encoding {
                    let (sender, raw) = (sender.clone(), &*job.raw);
                    scope.spawn(move |_| {
                        let frame =
                            threads.with_encoder(|encoder| encoder.encode(level, raw).map(<[u8]>::to_vec));
                        // The receiver is gone only when another block has failed.
                        let _ = sender.send((number, frame));
                    });
                }
            }
            drop(sender);
            let mut early: Vec<Option<Vec<u8>>> = vec![None; batch.len()];
            let mut tickets = Vec::with_capacity(batch.len());
            for (number, job) in batch.iter().enumerate() {
                if job.encoding != Encoding::None {
                    while early[number].is_none() {
                        let (number, frame) = frames.recv().map_err(std::io::Error::other)?;
                        early[number] = Some(frame.map_err(block_error)?);
                    }
                }
                let frame = early[number].take();
                let bytes = frame.as_deref().unwrap_or(&job.raw);
                out.write_all(bytes)?;
                tickets.push(bytes.len());
            }
            Ok::<_, Error>(tickets)
        })?;
        for (job, size) in batch.drain(..).zip(stored) {
            writer.stored(job.ticket, size)?;
            writer.recycle(job.raw);
        }
        Ok(())
    }
}

fn store(
    writer: &mut Writer,
    out: &mut impl Write,
    ticket: core_codec::izs::writer::Ticket,
    bytes: &[u8],
) -> Result<(), Error> {
    out.write_all(bytes)?;
    Ok(writer.stored(ticket, bytes.len())?)
}

fn block_error(kind: ErrorKind) -> Error {
    core_codec::Error::new("block", kind).into()
}

/// The threads that compress, and their encoders.
#[derive(Debug)]
struct Threads {
    /// None where the calling thread does all.
    pool: Option<ThreadPool>,
    /// Encoders that nobody uses now.
    encoders: Mutex<Vec<Encoder>>,
}

impl Threads {
    fn new(count: usize) -> Result<Self, Error> {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let count = if count == 0 { available() } else { count };
        let pool = match count {
            1 => None,
            count => {
                Some(ThreadPoolBuilder::new().num_threads(count).build().map_err(std::io::Error::other)?)
            }
        };
        Ok(Self { pool, encoders: Mutex::new(Vec::new()) })
    }

    fn with_encoder<T>(&self, work: impl FnOnce(&mut Encoder) -> T) -> T {
        let idle = || self.encoders.lock().unwrap_or_else(PoisonError::into_inner);
        let mut encoder = idle().pop().unwrap_or_default();
        let result = work(&mut encoder);
        idle().push(encoder);
        result
    }
}
