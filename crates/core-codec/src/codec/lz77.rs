//! What the byte-oriented LZ77 codecs share: literals and copies into a block of known size.

use crate::error::ErrorKind;

/// A block that fills from the front.
pub(crate) struct Output<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl<'a> Output<'a> {
    pub(crate) fn new(out: &'a mut [u8]) -> Self {
        Self { out, at: 0 }
    }

    /// Appends `bytes`.
    #[inline]
    pub(crate) fn literals(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let target = self.out.get_mut(self.at..).and_then(|rest| rest.get_mut(..bytes.len()));
        target.ok_or("decodes to more bytes than it should")?.copy_from_slice(bytes);
        self.at += bytes.len();
        Ok(())
    }

    /// Appends `length` bytes, each of them the one `distance` before.
    #[inline]
    pub(crate) fn copy(&mut self, distance: usize, length: usize) -> Result<(), &'static str> {
        if length > self.out.len() - self.at {
            return Err("decodes to more bytes than it should");
        }
        if distance == 0 || distance > self.at {
            return Err("a match starts before the first byte");
        }
        let from = self.at - distance;
        // What has been copied repeats, so that each pass can copy twice as much.
        let mut done = 0;
        while done < length {
            let step = (distance + done).min(length - done);
            self.out.copy_within(from..from + step, self.at + done);
            done += step;
        }
        self.at += length;
        Ok(())
    }

    /// Checks that the block is full.
    pub(crate) fn finish(self) -> Result<(), ErrorKind> {
        let (expected, found) = (self.out.len() as u64, self.at as u64);
        if expected == found {
            return Ok(());
        }
        Err(ErrorKind::Mismatch { what: "decoded bytes", expected, found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_overlap() {
        let mut bytes = [0; 11];
        let mut out = Output::new(&mut bytes);
        out.literals(b"abc").unwrap();
        out.copy(3, 8).unwrap();
        assert_eq!(out.copy(1, 1), Err("decodes to more bytes than it should"));
        out.finish().unwrap();
        assert_eq!(&bytes, b"abcabcabcab");
    }

    #[test]
    fn copies_stay_inside() {
        let mut bytes = [0; 4];
        let mut out = Output::new(&mut bytes);
        assert!(out.copy(1, 1).is_err());
        out.literals(b"a").unwrap();
        assert!(out.copy(0, 1).is_err() && out.copy(2, 1).is_err());
        assert!(out.finish().is_err());
    }
}
