//! Writing: blocks are encoded on all cores, in bounded memory, while the ones before them go to the file.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use core_codec::ErrorKind;
use core_codec::source::{Source, complete};
use core_codec::stards::{Content, Data, Draft, DraftArray, Layout};

use super::StardsFile;
use super::encode::{Encoder, shuffle};
use super::pieces::Pieces;
use crate::error::Error;
use crate::map;
use crate::new_file::{Durability, NewFile};

/// Writes a [`Draft`] to a file: beside its final place first, so that a failure leaves what was there.
#[derive(Debug)]
pub struct StardsWriter<'d, 'a> {
    draft: &'d Draft<'a>,
    original: Option<&'d StardsFile>,
    durability: Durability,
}

impl<'d, 'a> StardsWriter<'d, 'a> {
    /// A writer of `draft`.
    #[must_use]
    pub fn new(draft: &'d Draft<'a>) -> Self {
        Self { draft, original: None, durability: Durability::Synced }
    }

    /// Names the file that the draft was made from: its arrays are copied from there.
    #[must_use]
    pub fn original(mut self, file: &'d StardsFile) -> Self {
        self.original = Some(file);
        self
    }

    /// Does not wait for the disk: after a loss of power, the file may lack some of its data. Without this, the file
    /// that was there or the new one is there then, and whole.
    #[must_use]
    pub fn unsynced(mut self) -> Self {
        self.durability = Durability::Unsynced;
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
    /// Of an array in pieces, memory holds 8 MiB, or one block a core when that is more; of any array, two encoded blocks
    /// a core. The byte planes of an array in pieces wait in a temporary file.
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
            output.begin_array().map_err(Error::from)?;
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
        Ok(output.finish(self.durability)?)
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
    file: NewFile,
    layout: Layout<'d, 'a>,
}

impl<'d, 'a> Output<'d, 'a> {
    /// Leaves room for the header.
    pub(super) fn create(draft: &'d Draft<'a>, path: &Path) -> Result<Self, Error> {
        let layout = Layout::new(draft)?;
        let mut output = Self { file: NewFile::create(path)?, layout };
        output.zeros(output.layout.header_size())?;
        Ok(output)
    }

    /// Writes the metadata and the header.
    fn finish(mut self, durability: Durability) -> Result<(), Error> {
        self.file.write_all(self.layout.metadata())?;
        let header = self.layout.finish()?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header)?;
        Ok(self.file.persist(durability)?)
    }

    /// The blocks that follow are those of the next array.
    pub(super) fn begin_array(&mut self) -> io::Result<()> {
        let padding = self.layout.begin_array();
        self.zeros(padding as u64)
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
        Encoder::new(array, self).push(payload)
    }

    /// Adds blocks that are not encoded.
    pub(super) fn add_plain(&mut self, payload: &[u8], block_size: usize) -> Result<(), Error> {
        for block in payload.chunks(block_size) {
            self.layout.add_block(block.len() as u64)?;
        }
        Ok(self.file.write_all(payload)?)
    }

    /// Adds an encoded block.
    pub(super) fn add_block(&mut self, stored: &[u8]) -> Result<(), Error> {
        self.layout.add_block(stored.len() as u64)?;
        Ok(self.file.write_all(stored)?)
    }
}
