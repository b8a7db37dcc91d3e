//! Arrays that come in pieces, larger than memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use core_codec::stards::DraftArray;

use super::encode::{Encoder, shuffle};
use crate::error::Error;

/// Takes the bytes of one array.
pub(super) struct Pieces<'e, 'd, 'a> {
    encoder: Encoder<'e, 'd, 'a>,
    key: String,
    /// Bytes that are still to come.
    missing: u64,
    /// Bytes that wait for a batch to be full.
    waiting: Vec<u8>,
    planes: Option<Planes>,
}

impl<'e, 'd, 'a> Pieces<'e, 'd, 'a> {
    /// `folder` is where the byte planes wait.
    pub(super) fn new(
        array: &DraftArray<'_>,
        encoder: Encoder<'e, 'd, 'a>,
        folder: Option<&Path>,
    ) -> Result<Self, Error> {
        let missing = array.payload_len();
        let planes = match array.planes() {
            Some(width) => Some(Planes::new(width, missing, folder.unwrap_or(Path::new(".")))?),
            None => None,
        };
        Ok(Self { encoder, key: array.key().to_owned(), missing, waiting: Vec::new(), planes })
    }

    /// Bytes that are handled together.
    fn batch_len(&self) -> usize {
        match &self.planes {
            Some(planes) => planes.batch_len(),
            None => self.encoder.batch_len(),
        }
    }

    fn flush_batch(&mut self) -> Result<(), Error> {
        match &mut self.planes {
            Some(planes) => planes.add(&self.waiting)?,
            None => self.encoder.push(&self.waiting)?,
        }
        self.waiting.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), Error> {
        if self.missing > 0 {
            let message = format!("{:?} got {} bytes too few", self.key, self.missing);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message).into());
        }
        if !self.waiting.is_empty() {
            self.flush_batch()?;
        }
        if let Some(planes) = self.planes {
            planes.replay(self.encoder.batch_len(), |batch| self.encoder.push(batch))?;
        }
        Ok(())
    }
}

impl Write for Pieces<'_, '_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.missing {
            let message = format!("{:?} got more bytes than its shape has", self.key);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let room = self.batch_len() - self.waiting.len();
        let taken = &bytes[..bytes.len().min(room)];
        self.waiting.extend_from_slice(taken);
        self.missing -= taken.len() as u64;
        if self.waiting.len() == self.batch_len() {
            self.flush_batch().map_err(|error| match error {
                Error::Io(error) => error,
                error => io::Error::other(error),
            })?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Byte planes in a temporary file: the last byte of the first element is stored long after its first.
struct Planes {
    file: File,
    width: usize,
    elements: u64,
    /// Elements that are there.
    done: u64,
    buffer: Vec<u8>,
}

impl Planes {
    fn new(width: usize, payload: u64, folder: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        Ok(Self { file, width, elements: payload / width as u64, done: 0, buffer: Vec::new() })
    }

    fn batch_len(&self) -> usize {
        self.width << 20
    }

    /// Adds whole elements.
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.resize(bytes.len(), 0);
        shuffle(bytes, self.width, &mut self.buffer);
        let count = bytes.len() / self.width;
        for (index, plane) in (0u64..).zip(self.buffer.chunks(count)) {
            self.file.seek(SeekFrom::Start(index * self.elements + self.done))?;
            self.file.write_all(plane)?;
        }
        self.done += count as u64;
        Ok(())
    }

    /// Hands over all planes, in batches.
    fn replay(mut self, batch: usize, mut push: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut left = self.elements * self.width as u64;
        while left > 0 {
            let len = left.min(batch as u64);
            self.buffer.resize(len as usize, 0);
            self.file.read_exact(&mut self.buffer)?;
            push(&self.buffer)?;
            left -= len;
        }
        Ok(())
    }
}
