//! Adding to `.izs` files.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use core_codec::Limits;
use core_codec::izs::model::{SchemaBuilder, StreamId};
use core_codec::izs::raw::Footer;
use core_codec::izs::reader::{self, Izs};
use core_codec::izs::writer::Writer;

use super::find_stream;
use super::writer::{IzsWriter, WriteOptions};
use crate::error::Error;
use crate::fetch::FileRanges;
use crate::input::Input;
use crate::new_file::{Durability, NewFile};

/// An `.izs` file that is about to grow: its streams go on, new ones are added.
///
/// What is added comes behind the old end, and not one old byte changes. [`open`](Self::open) adds to a copy, which
/// takes the file's name when it is complete: until then everybody finds the old file. [`open_in_place`](Self::open_in_place)
/// adds to the file itself, for those that are too large to be copied.
///
/// There can be but one at a time for a file: on Unix, opening locks it against others of its kind.
///
/// The short last block of a stream that grows is written again as part of what is added; its old bytes stay
/// where they are, unused.
///
/// ```
/// use core_codec::izs::Element;
/// use core_codec::izs::model::{Kind, SchemaBuilder};
/// use std_io::{IzsAppend, IzsFile, IzsWriter, WriteOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("capture.izs");
/// let mut schema = SchemaBuilder::new(Kind::Group);
/// let adc = schema.add(schema.root(), "adc", Kind::Int { bits: 12 })?;
/// let adc = schema.stream(adc, Element::U16)?;
/// let mut writer = IzsWriter::create(&path, schema.finish()?, &WriteOptions::default())?;
/// writer.push(adc, &[1_u16, 2, 3])?;
/// writer.finish()?.commit()?;
///
/// let mut append = IzsAppend::open(&path)?;
/// let adc = append.find("adc")?; // not what named it when the file was written
/// let schema = append.schema();
/// let marks = schema.add(schema.root(), "marks", Kind::Timestamp)?;
/// let marks = schema.stream(marks, Element::U64)?;
/// let mut writer = append.start(&WriteOptions::default())?;
/// writer.push(adc, &[4_u16])?;
/// writer.push(marks, &[1_000_000_u64])?;
/// writer.finish()?.commit()?;
///
/// let file = IzsFile::open(&path)?;
/// assert_eq!(file.stream(file.find("adc")?)?.read::<u16>(0..4)?, [1, 2, 3, 4]);
/// # Ok::<(), std_io::Error>(())
/// ```
#[derive(Debug)]
pub struct IzsAppend {
    file: File,
    /// What a copy is to become; none when the file itself grows.
    path: Option<PathBuf>,
    input: Input,
    izs: Izs,
    limits: Limits,
    schema: SchemaBuilder,
    lost: Vec<String>,
}

impl IzsAppend {
    /// Opens a file to add to a copy of it in the same folder, which takes its name in
    /// [`commit`](AppendedFile::commit). Where the file system can, the copy shares the old bytes.
    ///
    /// # Errors
    /// When it cannot be opened for reading and writing, another adds to it ([`io::ErrorKind::WouldBlock`]), or its
    /// footer or schema is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = std::fs::canonicalize(path)?;
        Self::locked(&path, Some(path.clone()))
    }

    /// Opens a file to add to it where it is: nothing is copied, and no disk has to hold it twice.
    ///
    /// While something is added, whoever opens the file finds an end without a footer; [`IzsFile::open_last`] then reads
    /// what was there before, and so it does after a crash. The file is cut back to its old length when writing fails,
    /// and when the writer or the [`AppendedFile`] is dropped before [`commit`](AppendedFile::commit).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    ///
    /// [`IzsFile::open_last`]: crate::IzsFile::open_last
    pub fn open_in_place(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::locked(path.as_ref(), None)
    }

    fn locked(path: &Path, copied: Option<PathBuf>) -> Result<Self, Error> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        lock(&file, path)?;
        let input = Input::fetching(FileRanges::new(file.try_clone()?)?);
        let limits = Limits::default();
        let izs = input.run(|source| reader::open(source, &limits))?;
        let schema = SchemaBuilder::extend(izs.schema().clone());
        Ok(Self { file, path: copied, input, izs, limits, schema, lost: Vec::new() })
    }

    /// The schema, to add to it.
    pub fn schema(&mut self) -> &mut SchemaBuilder {
        &mut self.schema
    }

    /// The stream that a JSON pointer or a path of names names, as [`IzsFile::find`](crate::IzsFile::find) does.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](core_codec::ErrorKind::NotFound).
    pub fn find(&self, item: &str) -> Result<StreamId, Error> {
        find_stream(self.schema.schema(), item)
    }

    /// Gets ready to write. The dialect is that of the file, whatever `options` say.
    ///
    /// # Errors
    /// When what was added to the schema is not complete, or the file cannot be read.
    pub fn start(mut self, options: &WriteOptions) -> Result<IzsWriter<AppendedFile>, Error> {
        let schema = self.schema.finish()?;
        let mut writer = Writer::append(&self.izs, schema, options.settings())?;
        for id in self.izs.schema().streams() {
            let resumed = self.input.run(|source| writer.resume(source, &self.izs, id, &self.limits))?;
            self.lost.extend(resumed);
        }
        let old_len = self.izs.file_len();
        let out = match self.path {
            Some(path) => Out::Copy(Copy::new(&path, self.file, old_len)?),
            None => Out::Grown(Grown::new(self.file, old_len)?),
        };
        IzsWriter::continued(AppendedFile { out, old_len, lost: self.lost }, writer, options)
    }
}

/// Locks a file until it is closed.
#[cfg(unix)]
fn lock(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;

    use rustix::fs::{FlockOperation, flock};

    let busy = |reason| Err(io::Error::new(io::ErrorKind::WouldBlock, reason));
    // Some network file systems have no locks.
    if flock(file, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
        return busy("another program is adding to the file");
    }
    // Another may have put a longer copy in its place before it let go of the lock.
    let (ours, named) = (file.metadata()?, std::fs::metadata(path)?);
    if (ours.dev(), ours.ino()) != (named.dev(), named.ino()) {
        return busy("another program has just added to the file");
    }
    Ok(())
}

/// A lock of this system would keep readers out, too.
#[cfg(not(unix))]
fn lock(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

/// A file with what was added to it: as if nothing had been added unless it is [committed](Self::commit).
#[derive(Debug)]
#[must_use = "what was added is kept when it is committed"]
pub struct AppendedFile {
    out: Out,
    old_len: u64,
    lost: Vec<String>,
}

#[derive(Debug)]
enum Out {
    Copy(Copy),
    Grown(Grown),
}

impl AppendedFile {
    /// Length of the file before.
    #[must_use]
    pub fn old_len(&self) -> u64 {
        self.old_len
    }

    /// Summaries that cannot go on, since they are not understood or lack groups: each is dropped if its stream
    /// has grown.
    #[must_use]
    pub fn lost_summaries(&self) -> &[String] {
        &self.lost
    }

    /// Makes what was added part of the file, and waits until it is on the disk.
    ///
    /// # Errors
    /// When not all of it can be written; the file is as it was then.
    pub fn commit(self) -> io::Result<()> {
        match self.out {
            Out::Copy(copy) => copy.file.persist(Durability::Synced),
            Out::Grown(grown) => grown.commit(),
        }
    }
}

impl Write for AppendedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Out::Copy(copy) => copy.file.write(bytes),
            Out::Grown(grown) => grown.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::Copy(copy) => copy.file.flush(),
            Out::Grown(grown) => grown.flush(),
        }
    }
}

/// A longer copy of a file.
#[derive(Debug)]
struct Copy {
    file: NewFile,
    /// Keeps the lock.
    _original: File,
}

impl Copy {
    fn new(path: &Path, mut original: File, old_len: u64) -> io::Result<Self> {
        let mut file = NewFile::create(path)?;
        original.rewind()?;
        if file.copy_from(&mut original)? != old_len {
            return Err(changed());
        }
        Ok(Self { file, _original: original })
    }
}

fn changed() -> io::Error {
    io::Error::other("the file has changed since it was opened")
}

/// A file that grows in its place, and is cut off again unless it is committed.
#[derive(Debug)]
struct Grown {
    /// None once it is committed.
    file: Option<BufWriter<File>>,
    /// The last bytes, which are held back: the footer, once all is written.
    held: Vec<u8>,
    old_len: u64,
}

/// Bytes that are held back.
const HELD: usize = Footer::LEN;

impl Grown {
    fn new(mut file: File, old_len: u64) -> io::Result<Self> {
        if file.seek(SeekFrom::End(0))? != old_len {
            return Err(changed());
        }
        let file = Some(BufWriter::with_capacity(1 << 16, file));
        Ok(Self { file, held: Vec::new(), old_len })
    }

    /// The footer follows when all before it is on the disk, so that a file that ends with a footer lacks nothing.
    fn commit(mut self) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.flush()?;
            file.get_ref().sync_data()?;
            file.write_all(&self.held)?;
            file.flush()?;
            file.get_ref().sync_data()?;
        }
        // Nothing is buffered, so there is nothing left to be written, or lost.
        self.file
            .take()
            .map_or(Ok(()), |file| file.into_inner().map(drop).map_err(io::IntoInnerError::into_error))
    }
}

impl Write for Grown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.file else { return Ok(0) };
        // What is held and is not among the last bytes any more; then what comes before those.
        let (before, last) = bytes.split_at(bytes.len().saturating_sub(HELD));
        let passed = (self.held.len() + last.len()).saturating_sub(HELD);
        file.write_all(&self.held[..passed])?;
        self.held.drain(..passed);
        file.write_all(before)?;
        self.held.extend_from_slice(last);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Grown {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            let (file, _) = file.into_parts();
            // Nobody is left to tell; an unfinished end is found by its missing footer.
            let _ = file.set_len(self.old_len);
        }
    }
}
