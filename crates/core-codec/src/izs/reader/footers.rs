//! Finding the footers of a file that does not end with one.

use memchr::memmem;

use super::{Izs, place_of_schema};
use crate::codec::zstd;
use crate::error::{Error, ErrorKind};
use crate::izs::model::Schema;
use crate::izs::raw::{FOOTER_MAGIC, Footer};
use crate::limits::Limits;
use crate::source::{Poll, Source};

/// Bytes that are searched at once.
const WINDOW: u64 = 1 << 20;

/// Bytes of frames that look like schemas which are decoded at most: 32 of the longest, or as many short ones as a
/// file has.
const WORK: u64 = 512 << 20;

/// Where footers end in a file, the last one first: each is where the file ended once, since what is added to a file
/// comes behind its footer.
///
/// A match is eight bytes that a stream may hold by chance, too: whether it is a footer, [`open`](Self::open) tells.
///
/// ```
/// use core_codec::izs::raw::Footer;
/// use core_codec::izs::reader::Footers;
/// use core_codec::{Limits, source};
///
/// let mut file = Footer { schema_len: 0, reserved: 0 }.emit().to_vec();
/// file.extend(b"something was added, but not all of it");
/// let mut footers = Footers::new(&file[..]);
/// assert_eq!(source::complete(footers.step(&file[..]))?, Some(16));
/// // There is no schema.
/// assert_eq!(source::complete(footers.open(&file[..], 16, &Limits::default()))?, None);
/// assert_eq!(source::complete(footers.step(&file[..]))?, None);
/// assert!(footers.is_done());
/// # Ok::<(), core_codec::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Footers {
    /// What is still to be searched ends here.
    end: u64,
    /// Bytes that may still be decoded.
    left: u64,
}

impl Footers {
    /// Starts at the end of a file.
    pub fn new<S: Source + ?Sized>(source: &S) -> Self {
        Self { end: source.len(), left: WORK }
    }

    /// Whether all of the file has been searched.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.end < Footer::LEN as u64
    }

    /// Opens what the footer that ends at `end` describes; nothing where there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] when what looks like footers has cost too much.
    pub fn open<S: Source + ?Sized>(&mut self, source: &S, end: u64, limits: &Limits) -> Poll<Option<Izs>> {
        let Some(start) = end.checked_sub(Footer::LEN as u64) else { return Ok(None) };
        let Ok(place) = place_of_schema(source.bytes(start..end)?, start, limits) else { return Ok(None) };
        let stored = source.bytes(place.clone())?;
        // What is there by chance is none.
        if !zstd::is_frame(stored) {
            return Ok(None);
        }
        let text = zstd::decode_bounded(stored, limits.metadata_bytes);
        let decoded = text.as_ref().map_or(limits.metadata_bytes, |text| text.len() as u64);
        let cost = decoded.saturating_add(stored.len() as u64);
        let Some(left) = self.left.checked_sub(cost) else {
            let what = "decoded bytes of what looks like schemas";
            let kind = ErrorKind::Limit { what, limit: WORK, found: (WORK - self.left).saturating_add(cost) };
            return Err(Error::new("footer", kind).at(start).into());
        };
        self.left = left;
        let schema = text.ok().and_then(|text| Schema::parse(&text, limits).ok());
        Ok(schema.map(|schema| Izs { schema, schema_bytes: place, file_len: end }))
    }

    /// Searches up to a mebibyte more, as far as the next match: where that ends, if there is one.
    ///
    /// # Errors
    /// When `source` has become shorter.
    pub fn step<S: Source + ?Sized>(&mut self, source: &S) -> Poll<Option<u64>> {
        if self.is_done() {
            return Ok(None);
        }
        // A window stays where it is as its end comes down, so that it is fetched once. It has room for a match.
        let start = (self.end - FOOTER_MAGIC.len() as u64) / WINDOW * WINDOW;
        let window = source.bytes(start..self.end)?;
        let overlap = FOOTER_MAGIC.len() as u64 - 1;
        let found = memmem::rfind(window, &FOOTER_MAGIC).map(|at| start + at as u64);
        self.end = match found {
            Some(at) => at + overlap,
            None if start == 0 => 0,
            // A match may begin before this window.
            None => start + overlap,
        };
        let end = found.map(|at| at + FOOTER_MAGIC.len() as u64);
        Ok(end.filter(|&end| end >= Footer::LEN as u64))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::source::complete;

    fn all(file: &[u8]) -> Vec<u64> {
        let mut footers = Footers::new(file);
        let mut found = Vec::new();
        for _ in 0..file.len() + 2 {
            if footers.is_done() {
                return found;
            }
            found.extend(complete(footers.step(file)).unwrap());
        }
        panic!("it does not end");
    }

    #[test]
    fn each_is_found_once_wherever_the_windows_lie() {
        let window = WINDOW as usize;
        for end in
            [16, 17, window - 3, window, window + 5, window + 8, window + 16, 2 * window + 1, 3 * window]
        {
            let mut file = vec![0; 3 * window];
            file[end - 8..end].copy_from_slice(&FOOTER_MAGIC);
            assert_eq!(all(&file), [end as u64]);
        }
        let mut file = [FOOTER_MAGIC; 5].concat();
        assert_eq!(all(&file), [40, 32, 24, 16], "the first has no room for a footer");
        file.truncate(39);
        assert_eq!(all(&file), [32, 24, 16]);
        assert!(all(&file[..15]).is_empty());
        assert!(all(&[]).is_empty());
    }
}
