//! Sans-IO input: readers ask for byte ranges, a driver supplies them.
//!
//! A reader is an ordinary function over a [`Source`]. Where the source already holds the bytes (a slice, a
//! memory map) it runs straight through. Where it does not, the reader stops with [`Stop::Need`] and the ranges
//! that it lacks; the driver fetches them, by whatever means it has, and calls the reader again. Readers are
//! written so that the second call does little work twice: each step that needs other bytes is a function of
//! its own, and its result is kept by the caller.
//!
//! ```
//! use core_codec::source::{Source, Stop};
//!
//! let file: &[u8] = b"the whole file";
//! assert_eq!(file.bytes(4..9).unwrap(), b"whole");
//! assert!(matches!(file.bytes(4..99), Err(Stop::Error(_))));
//! ```

use alloc::vec::Vec;
use core::ops::Range;

use crate::error::{Error, ErrorKind};

/// Why a reader stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Fetch these byte ranges (absolute, inside the file), then call again.
    Need(Vec<Range<u64>>),
    /// The file cannot be read.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// What a sans-IO reader returns.
pub type Poll<T> = Result<T, Stop>;

/// Bytes of a file that a reader can look at.
pub trait Source {
    /// Length of the file in bytes.
    fn len(&self) -> u64;

    /// Whether the file has no byte.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of `range`.
    ///
    /// # Errors
    /// [`Stop::Need`] when they have to be fetched first, [`Stop::Error`] when the range is not inside the file.
    fn bytes(&self, range: Range<u64>) -> Poll<&[u8]>;

    /// Makes sure that all of `ranges` are there, and asks for all that are missing at once.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    fn request(&self, ranges: &[Range<u64>]) -> Poll<()> {
        let mut missing = Vec::new();
        for range in ranges {
            match self.bytes(range.clone()) {
                Ok(_) => {}
                Err(Stop::Need(more)) => missing.extend(more),
                Err(error) => return Err(error),
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(Stop::Need(missing)) }
    }
}

/// Checks that `range` lies inside a file of `len` bytes.
///
/// # Errors
/// [`ErrorKind::Truncated`] at the start of the range.
pub fn check_range(range: &Range<u64>, len: u64) -> Result<(), Error> {
    if range.start <= range.end && range.end <= len {
        return Ok(());
    }
    let kind = ErrorKind::Truncated {
        needed: range.end.saturating_sub(range.start),
        available: len.saturating_sub(range.start),
    };
    Err(Error::new("file", kind).at(range.start))
}

impl Source for [u8] {
    fn len(&self) -> u64 {
        self.len() as u64
    }

    fn bytes(&self, range: Range<u64>) -> Poll<&[u8]> {
        check_range(&range, self.len() as u64)?;
        // Checked: both ends are at most `self.len()`, a `usize`.
        Ok(&self[range.start as usize..range.end as usize])
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn bytes(&self, range: Range<u64>) -> Poll<&[u8]> {
        (**self).bytes(range)
    }

    fn request(&self, ranges: &[Range<u64>]) -> Poll<()> {
        (**self).request(ranges)
    }
}

/// Runs a reader over bytes that are all there.
///
/// # Errors
/// Those of the reader; a `Need` cannot occur on a source that never answers with one.
pub fn complete<T>(poll: Poll<T>) -> Result<T, Error> {
    poll.map_err(|stop| match stop {
        Stop::Error(error) => error,
        Stop::Need(_) => {
            Error::new("file", ErrorKind::Invalid("a source that holds all bytes asked for more"))
        }
    })
}
