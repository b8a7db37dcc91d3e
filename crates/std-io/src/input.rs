//! The driver of sans-IO readers: gives them the bytes that they ask for.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use core_codec::source::{Poll, Source, Stop, check_range};
use memmap2::Mmap;

use crate::error::Error;
use crate::fetch::{Fetch, FileRanges, check_seekable};
use crate::map;
use crate::segments::{Segments, coalesce};

/// How a file is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// By a memory map: the fastest. A file that is truncated meanwhile ends the process. What cannot be mapped, such as
    /// a file that is larger than the address space, is read as by [`Read`](Self::Read).
    #[default]
    Map,
    /// By positional reads of the parts that are needed.
    Read,
}

/// Bytes of fetched parts that an [`Input`] keeps by default.
const DEFAULT_CACHE: usize = 16 << 20;

/// The most bytes that joined ranges are fetched in at once.
const LARGEST_FETCH: u64 = 8 << 20;

/// Bytes that sans-IO readers can be run on: a memory map or ranges fetched on demand.
///
/// ```
/// use core_codec::source::Source;
/// use std_io::{Access, Input};
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// # std::fs::write(&path, "the whole file")?;
/// let input = Input::open(&path, Access::Read)?;
/// let word = input.run(|source| Ok(source.bytes(4..9)?.to_vec()))?;
/// assert_eq!(word, b"whole");
/// # Ok::<(), std_io::Error>(())
/// ```
pub struct Input(Storage);

enum Storage {
    Map(Arc<Mmap>),
    Ranges { fetch: Box<dyn Fetch>, cache: Cache, budget: usize },
}

/// A reader works on the parts that were there when it started, so that none waits for another.
#[derive(Default)]
struct Cache(Mutex<Arc<Segments>>);

impl Cache {
    fn lock(&self) -> MutexGuard<'_, Arc<Segments>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn parts(&self) -> Arc<Segments> {
        self.lock().clone()
    }

    fn change(&self, change: impl FnOnce(&mut Segments)) {
        change(Arc::make_mut(&mut self.lock()));
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_map() { "map" } else { "ranges" };
        f.debug_struct("Input").field("kind", &kind).field("len", &self.len()).finish()
    }
}

impl Input {
    /// Opens a file.
    ///
    /// # Errors
    /// When it cannot be opened, or is not a regular file.
    pub fn open(path: impl AsRef<Path>, access: Access) -> io::Result<Self> {
        // Before it is opened: opening a pipe waits for its writer.
        check_seekable(&fs::metadata(&path)?)?;
        let file = File::open(path)?;
        match access {
            Access::Map => Self::mapping(file, map::map),
            Access::Read => FileRanges::new(file).map(Self::fetching),
        }
    }

    /// By a memory map, where the system makes one.
    fn mapping(file: File, map: impl FnOnce(&File) -> io::Result<Mmap>) -> io::Result<Self> {
        // Only the map of a regular file has all of it; an empty one cannot be mapped.
        let metadata = file.metadata()?;
        if metadata.is_file()
            && metadata.len() > 0
            && let Ok(map) = map(&file)
        {
            return Ok(Self(Storage::Map(Arc::new(map))));
        }
        FileRanges::new(file).map(Self::fetching)
    }

    /// Fetches what is needed, when it is needed.
    pub fn fetching(fetch: impl Fetch + 'static) -> Self {
        Self(Storage::Ranges { fetch: Box::new(fetch), cache: Cache::default(), budget: DEFAULT_CACHE })
    }

    /// Puts bytes that are already there, from `start` of the file on, into the cache.
    pub fn preload(&self, start: u64, bytes: Vec<u8>) {
        if let Storage::Ranges { cache, .. } = &self.0 {
            cache.change(|parts| parts.insert(start, bytes));
        }
    }

    /// Bounds the fetched bytes that are kept for later (16 MiB by default). A single run of a reader may hold
    /// more, as much as it asks for.
    #[must_use]
    pub fn with_cache(mut self, bytes: usize) -> Self {
        if let Storage::Ranges { budget, .. } = &mut self.0 {
            *budget = bytes;
        }
        self
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.0 {
            Storage::Map(map) => map.len() as u64,
            Storage::Ranges { fetch, .. } => fetch.len(),
        }
    }

    /// Whether there is no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all bytes are in memory, so that there is nothing to fetch ahead.
    #[must_use]
    pub fn is_map(&self) -> bool {
        matches!(self.0, Storage::Map(_))
    }

    /// All bytes, where they are in memory: for what borrows from them.
    #[must_use]
    pub fn mapped(&self) -> Option<&[u8]> {
        match &self.0 {
            Storage::Map(map) => Some(map),
            Storage::Ranges { .. } => None,
        }
    }

    /// Tells that a range will be read in order and in pieces; see [`Fetch::expect`].
    pub(crate) fn expect(&self, range: Range<u64>) {
        if let Storage::Ranges { fetch, .. } = &self.0 {
            fetch.expect(range);
        }
    }

    /// Two ranges with at most this many bytes between them are fetched as one.
    pub(crate) fn gap(&self) -> u64 {
        match &self.0 {
            Storage::Map(_) => 0,
            Storage::Ranges { fetch, .. } => fetch.gap(),
        }
    }

    /// Bytes that are best fetched at a time: as many as the cache surely keeps until they are used.
    pub(crate) fn batch(&self) -> u64 {
        match &self.0 {
            Storage::Map(_) => u64::MAX,
            Storage::Ranges { budget, .. } => *budget as u64 / 4,
        }
    }

    /// The memory map, for threads that outlive a borrow.
    pub(crate) fn shared_map(&self) -> Option<&Arc<Mmap>> {
        match &self.0 {
            Storage::Map(map) => Some(map),
            Storage::Ranges { .. } => None,
        }
    }

    /// Prepares the system for reading a range soon, where that is possible.
    pub(crate) fn prepare(&self, range: &Range<u64>) {
        if let Storage::Map(map) = &self.0 {
            map::populate(map, range);
        }
    }

    /// Runs a reader: calls `step` until it stops asking for bytes.
    ///
    /// # Errors
    /// Those of the reader and of fetching.
    pub fn run<T>(&self, mut step: impl FnMut(&dyn Source) -> Poll<T>) -> Result<T, Error> {
        let (fetch, cache, budget) = match &self.0 {
            Storage::Map(map) => {
                return Ok(core_codec::source::complete(step(&&***map))?);
            }
            Storage::Ranges { fetch, cache, budget } => (&**fetch, cache, *budget),
        };
        let mut held = Segments::default();
        let result = loop {
            let view = View { len: fetch.len(), held: &held, cache: cache.parts() };
            match step(&view) {
                Ok(value) => break Ok(value),
                Err(Stop::Error(error)) => break Err(error.into()),
                Err(Stop::Need(ranges)) => {
                    drop(view);
                    fetch_into(&mut held, fetch, ranges)?;
                }
            }
        };
        if !held.is_empty() {
            cache.change(|parts| {
                parts.absorb(held);
                parts.shrink_to(budget);
            });
        }
        result
    }
}

/// Fetches `ranges` into `held`. A range that is held already cannot be asked for again, so the loop that calls
/// this ends.
fn fetch_into(held: &mut Segments, fetch: &dyn Fetch, ranges: Vec<Range<u64>>) -> Result<(), Error> {
    if ranges.iter().all(|range| held.get(range).is_some()) {
        return Err(io::Error::other("a reader asked again for bytes that it was given").into());
    }
    for range in coalesce(ranges, fetch.gap(), LARGEST_FETCH) {
        let expected = range.end - range.start;
        let bytes = fetch.fetch(range.clone())?;
        if bytes.len() as u64 != expected {
            let message = format!("asked for {expected} bytes from {}, got {}", range.start, bytes.len());
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message).into());
        }
        held.insert(range.start, bytes);
    }
    Ok(())
}

/// What one call of a reader sees: the bytes that this run fetched, and those that are cached.
struct View<'a> {
    len: u64,
    held: &'a Segments,
    cache: Arc<Segments>,
}

impl Source for View<'_> {
    fn len(&self) -> u64 {
        self.len
    }

    fn bytes(&self, range: Range<u64>) -> Poll<&[u8]> {
        check_range(&range, self.len)?;
        if range.is_empty() {
            return Ok(&[]);
        }
        let found = self.held.get(&range).or_else(|| self.cache.get(&range));
        found.ok_or_else(|| Stop::Need(vec![range]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    /// Not even for one that works inside of it, as on a pool of threads.
    #[test]
    fn no_reader_waits_for_another() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        fs::write(&path, [7; 100]).unwrap();
        let input = Arc::new(Input::open(&path, Access::Read).unwrap());
        let read = input.run(|source| {
            source.bytes(0..10)?;
            let (done, is_done) = mpsc::channel();
            let other = input.clone();
            thread::spawn(move || {
                other.run(|source| Ok(source.bytes(50..60)?.len())).unwrap();
                done.send(()).unwrap();
            });
            Ok(is_done.recv_timeout(Duration::from_secs(20)))
        });
        assert_eq!(read.unwrap(), Ok(()));
    }

    #[test]
    fn what_cannot_be_mapped_is_read_by_position() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        fs::write(&path, [7; 100]).unwrap();
        let open = |map: fn(&File) -> io::Result<Mmap>| {
            let input = Input::mapping(File::open(&path).unwrap(), map).unwrap();
            assert_eq!(input.run(|source| Ok(source.bytes(40..60)?.to_vec())).unwrap(), [7; 20]);
            input.is_map()
        };
        assert!(open(map::map));
        assert!(!open(|_| Err(io::ErrorKind::OutOfMemory.into())));
    }

    #[test]
    fn a_file_that_was_cut_is_said_to_have_changed() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        fs::write(&path, [7; 100]).unwrap();
        let input = Input::open(&path, Access::Read).unwrap();
        fs::write(&path, [7; 50]).unwrap();
        let error = input.run(|source| Ok(source.bytes(40..60)?.len())).unwrap_err();
        assert_eq!(error.to_string(), "the file changed while it was read");
    }
}
