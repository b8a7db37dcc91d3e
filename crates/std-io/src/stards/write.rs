//! Writing: blocks are encoded on all cores, in bounded memory, while the ones before them go to the file.

use std::borrow::Cow;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use core_codec::ErrorKind;
use core_codec::codec::shuffle::shuffle;
use core_codec::source::{Source, complete};
use core_codec::stards::{Compression, Content, Data, Draft, DraftArray, Layout, encode_block};
use rayon::prelude::*;

use super::StardsFile;
use super::pieces::Pieces;
use crate::error::Error;
use crate::map;
use crate::new_file::NewFile;

/// Bytes that are encoded together, unless the blocks are so large that one for each core is more.
const BATCH: usize = 8 << 20;

/// Writes a [`Draft`] to a file: beside its final place first, so that a failure leaves what was there.
#[derive(Debug)]
pub struct StardsWriter<'d, 'a> {
    draft: &'d Draft<'a>,
    original: Option<&'d StardsFile>,
}

impl<'d, 'a> StardsWriter<'d, 'a> {
    /// A writer of `draft`.
    #[must_use]
    pub fn new(draft: &'d Draft<'a>) -> Self {
        Self { draft, original: None }
    }

    /// Names the file that the draft was made from: its arrays are copied from there.
    #[must_use]
    pub fn original(mut self, file: &'d StardsFile) -> Self {
        self.original = Some(file);
        self
    }

    /// Writes the file, in place of one that is there.
    ///
    /// # Errors
    /// What the format cannot hold, an array that is to come in pieces, and failures to write.
    pub fn save(self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.save_with(path, |array, _| {
            let kind = ErrorKind::Unsupported("array in pieces: they have to be supplied");
            Err::<(), Error>(core_codec::Error::new("array data", kind).item(array.key()).into())
        })
    }

    /// Writes the file, in place of one that is there. `supply` is called for each array that is to come in
    /// pieces, and writes all of its little-endian bytes in row-major order.
    ///
    /// Memory holds two batches of blocks: 8 MiB, or one block a core when that is more, before and after encoding.
    /// The byte planes of an array in pieces wait in a temporary file.
    ///
    /// # Errors
    /// What the format cannot hold, an array that gets more or fewer bytes than announced, failures to write, and
    /// those of `supply`.
    pub fn save_with<E: From<Error>>(
        self,
        path: impl AsRef<Path>,
        mut supply: impl FnMut(&DraftArray<'a>, &mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let path = path.as_ref();
        let mut output = Output::create(self.draft, path)?;
        for array in self.draft.arrays() {
            let padding = output.layout.begin_array();
            output.zeros(padding as u64).map_err(Error::from)?;
            match array.data() {
                Data::Payload(payload) => output.payload(array, payload)?,
                Data::Stored(content) => self.copy(array, content, &mut output)?,
                Data::Pieces(_) => {
                    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                    let mut pieces = Pieces::new(array, Encoder::new(array, &mut output), folder)?;
                    supply(array, &mut pieces)?;
                    pieces.finish()?;
                }
            }
        }
        Ok(output.finish()?)
    }

    /// Copies the stored blocks of the original.
    fn copy(
        &self,
        array: &DraftArray<'_>,
        content: &Content,
        output: &mut Output<'_, '_>,
    ) -> Result<(), Error> {
        let Some(original) = self.original else {
            let kind = ErrorKind::NotFound("original file");
            return Err(core_codec::Error::new("array data", kind).item(array.key()).into());
        };
        for block in content.blocks() {
            output.layout.add_block(block.stored.end - block.stored.start)?;
            match original.input().mapped() {
                Some(map) => output.file.write_all(complete(Source::bytes(map, block.stored.clone()))?)?,
                None => {
                    let stored =
                        original.input().run(|source| Ok(source.bytes(block.stored.clone())?.to_vec()))?;
                    output.file.write_all(&stored)?;
                }
            }
        }
        Ok(())
    }
}

/// The file, written in order, and the plan of it.
pub(super) struct Output<'d, 'a> {
    file: BufWriter<NewFile>,
    layout: Layout<'d, 'a>,
}

impl<'d, 'a> Output<'d, 'a> {
    /// Leaves room for the header.
    fn create(draft: &'d Draft<'a>, path: &Path) -> Result<Self, Error> {
        let layout = Layout::new(draft)?;
        let file = BufWriter::with_capacity(1 << 16, NewFile::create(path)?);
        let mut output = Self { file, layout };
        output.zeros(output.layout.header_size())?;
        Ok(output)
    }

    /// Writes the metadata and the header.
    fn finish(mut self) -> Result<(), Error> {
        self.file.write_all(self.layout.metadata())?;
        let header = self.layout.finish()?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header)?;
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(file.persist()?)
    }

    fn zeros(&mut self, count: u64) -> io::Result<()> {
        io::copy(&mut io::Read::take(io::repeat(0), count), &mut self.file).map(drop)
    }

    /// An array that is in memory.
    fn payload(&mut self, array: &DraftArray<'_>, payload: &[u8]) -> Result<(), Error> {
        let mut planes;
        let payload = match array.planes() {
            Some(width) => {
                planes = map::scratch(payload.len())?;
                let planes = &mut planes[..payload.len()];
                shuffle(payload, width, planes);
                planes
            }
            None => payload,
        };
        let mut encoder = Encoder::new(array, self);
        payload.chunks(encoder.batch_len()).try_for_each(|batch| encoder.push(batch))?;
        encoder.finish()
    }
}

/// Encodes the payload of one array.
pub(super) struct Encoder<'e, 'd, 'a> {
    output: &'e mut Output<'d, 'a>,
    compression: Compression,
    level: u8,
    block_size: usize,
    /// Encoded, not yet written.
    pending: Vec<Vec<u8>>,
}

impl<'e, 'd, 'a> Encoder<'e, 'd, 'a> {
    fn new(array: &DraftArray<'_>, output: &'e mut Output<'d, 'a>) -> Self {
        // At most MAX_BLOCK_SIZE.
        let block_size = array.block_size() as usize;
        Self {
            output,
            compression: array.compression(),
            level: array.level(),
            block_size,
            pending: Vec::new(),
        }
    }

    /// Bytes to be pushed at a time: whole blocks.
    pub(super) fn batch_len(&self) -> usize {
        let blocks = (BATCH / self.block_size).max(rayon::current_num_threads());
        self.block_size.saturating_mul(blocks)
    }

    /// Encodes some blocks; only the last one of the array may be short.
    pub(super) fn push(&mut self, batch: &[u8]) -> Result<(), Error> {
        if self.compression == Compression::None {
            for block in batch.chunks(self.block_size) {
                self.output.layout.add_block(block.len() as u64)?;
            }
            return Ok(self.output.file.write_all(batch)?);
        }
        let (compression, level, block_size) = (self.compression, self.level, self.block_size);
        let encode = |block| encode_block(compression, level, block).map(Cow::into_owned);
        let before = std::mem::take(&mut self.pending);
        let (written, encoded) = rayon::join(
            || self.write(&before),
            || batch.par_chunks(block_size).map(encode).collect::<Result<Vec<_>, _>>(),
        );
        written?;
        self.pending = encoded.map_err(|kind| core_codec::Error::new("array data", kind))?;
        Ok(())
    }

    fn write(&mut self, blocks: &[Vec<u8>]) -> Result<(), Error> {
        for block in blocks {
            self.output.layout.add_block(block.len() as u64)?;
            self.output.file.write_all(block)?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), Error> {
        let pending = std::mem::take(&mut self.pending);
        self.write(&pending)
    }
}
