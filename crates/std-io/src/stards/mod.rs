//! StarDS files.

mod encode;
mod pieces;
mod read;
mod write;

use std::path::Path;

use core_codec::Limits;
use core_codec::stards::{Array, Dataset, Draft, Entry, Finding, Slice, Tensor};

use crate::error::Error;
use crate::input::{Access, Input};

pub use write::StardsWriter;

/// An open StarDS file. Opening reads its header and changes nothing.
///
/// ```
/// use core_codec::stards::{BASE_LAYER, Compression, Draft};
/// use std_io::{StardsFile, StardsWriter};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("x.stards");
/// let mut draft = Draft::new();
/// draft.put_slice(BASE_LAYER, "depth", &[3], &[1.5f64, 2.0, 2.5], Compression::None)?;
/// StardsWriter::new(&draft).save(&path)?;
///
/// let file = StardsFile::open(&path)?;
/// assert_eq!(file.array(BASE_LAYER, "depth")?.read::<f64>()?, [1.5, 2.0, 2.5]);
///
/// // Read, change, write anew.
/// let mut draft = file.draft()?;
/// draft.remove(BASE_LAYER, "depth");
/// StardsWriter::new(&draft).original(&file).save(&path)?;
/// # Ok::<(), std_io::Error>(())
/// ```
#[derive(Debug)]
pub struct StardsFile {
    input: Input,
    dataset: Dataset,
}

impl StardsFile {
    /// Opens a file by a memory map, with the default limits.
    ///
    /// # Errors
    /// When it cannot be opened, or its header is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_input(Input::open(path, Access::Map)?, &Limits::default())
    }

    /// Opens what `input` holds.
    ///
    /// # Errors
    /// When its header is damaged.
    pub fn from_input(input: Input, limits: &Limits) -> Result<Self, Error> {
        let dataset = input.run(|source| Dataset::open(source, limits))?;
        Ok(Self { input, dataset })
    }

    /// What stands in the header: layers, arrays, keys.
    #[must_use]
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Where the bytes come from.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The array `key` of the layer `layer`.
    ///
    /// # Errors
    /// When there is none.
    pub fn array(&self, layer: &str, key: &str) -> Result<StardsArray<'_>, Error> {
        Ok(StardsArray { file: self, array: self.dataset.array(layer, key)? })
    }

    /// As [`array`](Self::array), and that of the base layer when the layer has none.
    ///
    /// # Errors
    /// When there is none.
    pub fn inherited_array(&self, layer: &str, key: &str) -> Result<StardsArray<'_>, Error> {
        Ok(StardsArray { file: self, array: self.dataset.inherited_array(layer, key)? })
    }

    /// All arrays in file order, those included that a later one of the same key hides.
    pub fn arrays(&self) -> impl Iterator<Item = StardsArray<'_>> {
        self.dataset.arrays().iter().map(|array| StardsArray { file: self, array })
    }

    /// The metadata of a layer, sorted by key.
    ///
    /// # Errors
    /// When there is no such layer, or its metadata block is damaged.
    pub fn metadata(&self, layer: &str) -> Result<Vec<Entry>, Error> {
        self.input.run(|source| {
            self.dataset.request_metadata(source)?;
            self.dataset.metadata(source, layer)
        })
    }

    /// As [`metadata`](Self::metadata), with the keys of the base layer that the layer has not.
    ///
    /// # Errors
    /// As [`metadata`](Self::metadata).
    pub fn inherited_metadata(&self, layer: &str) -> Result<Vec<Entry>, Error> {
        self.input.run(|source| self.dataset.inherited_metadata(source, layer))
    }

    /// Reads everything and tells all that is wrong or odd. What is fetched for it is held a few blocks at a time.
    ///
    /// # Errors
    /// When the bytes cannot be had.
    pub fn verify(&self) -> Result<Vec<Finding>, Error> {
        let mut findings = Vec::new();
        self.for_each_finding(|finding| {
            findings.push(finding);
            Ok::<_, Error>(())
        })?;
        Ok(findings)
    }

    /// As [`verify`](Self::verify), one finding after the other: a file can be made to have a great many.
    ///
    /// # Errors
    /// When the bytes cannot be had, and those of `emit`.
    pub fn for_each_finding<E: From<Error>>(
        &self,
        mut emit: impl FnMut(Finding) -> Result<(), E>,
    ) -> Result<(), E> {
        self.input.run(|source| self.dataset.request_metadata(source))?;
        for check in self.dataset.checks(self.input.batch()) {
            let found = self.input.run(|source| self.dataset.check(source, &check))?;
            found.into_iter().try_for_each(&mut emit)?;
        }
        Ok(())
    }

    /// All that the file holds, to be changed and written by [`StardsWriter`].
    ///
    /// # Errors
    /// Metadata or an index entry that cannot be read: it would be lost.
    pub fn draft(&self) -> Result<Draft<'static>, Error> {
        self.input.run(|source| Draft::from_dataset(&self.dataset, source))
    }
}

/// An array of an open file.
#[derive(Clone, Copy, Debug)]
pub struct StardsArray<'a> {
    file: &'a StardsFile,
    array: &'a Array,
}

impl<'a> StardsArray<'a> {
    /// What the index says about it.
    #[must_use]
    pub fn info(&self) -> &'a Array {
        self.array
    }

    /// Name of its layer.
    #[must_use]
    pub fn layer(&self) -> &'a str {
        self.file.dataset.layers()[self.array.layer()].name()
    }

    /// The part of it that `slices` take, of any type. Only the blocks that hold it are read.
    ///
    /// # Errors
    /// Slices that do not fit the shape; data that cannot be read.
    pub fn slice(&self, slices: &[Slice]) -> Result<Tensor, Error> {
        self.file.input.run(|source| self.array.read_slice(source, slices))
    }
}
