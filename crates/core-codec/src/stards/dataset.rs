//! An opened file: its layers, arrays and metadata.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::array::{Array, INDEX_ENTRY, merge};
use super::metadata::{self, Decoded, Entry, METADATA_BLOCK};
use super::name::{Name, Text, label};
use super::raw::{self, FileHeader};
use super::verify::Finding;
use crate::error::{Error, ErrorKind};
use crate::limits::{self, Limits};
use crate::source::{Poll, Source};
use crate::wire::{self, Parsed};

/// Name of the layer that every file has.
pub const BASE_LAYER: &str = "__base__";

/// Bytes that [`Dataset::open`] asks for first. The header of most files fits, so that one request opens them.
pub const FIRST_READ: u64 = 64 << 10;

/// The header of a file, parsed and checked.
#[derive(Clone, Debug)]
pub struct Dataset {
    pub(super) header: FileHeader,
    pub(super) limits: Limits,
    pub(super) keys: Vec<Key>,
    pub(super) layers: Vec<Layer>,
    pub(super) base: usize,
    /// The first key of each text.
    pub(super) by_text: BTreeMap<Text, usize>,
    /// The first layer of each name.
    by_name: BTreeMap<Text, usize>,
    pub(super) arrays: Vec<Array>,
    /// What parsing noticed and only a verification tells.
    pub(super) noticed: Vec<Finding>,
}

/// An entry of the key registry.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) text: Text,
    pub(super) hash: u64,
    /// The first key of this text: its own index, unless the key is there twice.
    pub(super) first: usize,
    /// The last array that has it as its storage key, where it is the first of its text.
    pub(super) array: Option<usize>,
}

/// A layer.
#[derive(Clone, Debug)]
pub struct Layer {
    name: Text,
    position: u64,
    size: u32,
    compression: u8,
    /// Whether the metadata blocks up to this one are together larger than the file.
    overlaps: bool,
    pub(super) at: u64,
    pub(super) keys: Vec<u16>,
    pub(super) bitmap: Vec<u64>,
}

impl Layer {
    /// Its name; [`BASE_LAYER`] for the base layer.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name, as an error tells it.
    pub(super) fn label(&self) -> String {
        label(&self.name)
    }

    /// Number of metadata keys that the registry lists.
    #[must_use]
    pub fn metadata_len(&self) -> usize {
        self.keys.len()
    }

    /// Absolute offset of the metadata block.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Stored bytes of the metadata block.
    #[must_use]
    pub fn stored_len(&self) -> u64 {
        self.size.into()
    }

    /// Code of the codec of the metadata block.
    #[must_use]
    pub fn compression_code(&self) -> u8 {
        self.compression
    }

    /// Whether it has a metadata block at all.
    #[must_use]
    pub fn has_metadata(&self) -> bool {
        !self.keys.is_empty() || self.size > 0
    }

    fn stored(&self, file_len: u64) -> Result<Range<u64>, Error> {
        let size = u64::from(self.size);
        match self.position.checked_add(size) {
            Some(_) if self.overlaps && size <= file_len => {
                let kind =
                    ErrorKind::Invalid("the metadata blocks are together larger than the file: they overlap");
                Err(Error::new(METADATA_BLOCK, kind).at(self.position).item(self.label()))
            }
            Some(end) if end <= file_len => Ok(self.position..end),
            _ => {
                let available = file_len.saturating_sub(self.position);
                let kind = ErrorKind::Truncated { needed: size, available };
                Err(Error::new(METADATA_BLOCK, kind).at(self.position).item(self.label()))
            }
        }
    }
}

/// What the storage keys of the arrays of the layer `name` start with.
pub(super) fn layer_prefix(name: &str) -> String {
    alloc::format!("__layer_{name}__:")
}

impl Dataset {
    /// Opens a file: parses the header section. No array and no metadata is read.
    ///
    /// # Errors
    /// A header that cannot be read. What is wrong with one array or metadata block only is an error when that is
    /// read.
    pub fn open<S: Source + ?Sized>(source: &S, limits: &Limits) -> Poll<Self> {
        let file_len = source.len();
        let first = source.bytes(0..file_len.min(FIRST_READ))?;
        let (_, header) = wire::parse("file header", 0, first, raw::file_header)?;
        let size = header.header_size;
        let error = |kind| Error::new("file header", kind).at(7);
        if size < raw::FILE_HEADER_LEN {
            let what = "header size";
            return Err(error(ErrorKind::OutOfRange {
                what,
                min: raw::FILE_HEADER_LEN,
                max: file_len,
                found: size,
            })
            .into());
        }
        if size > file_len {
            return Err(error(ErrorKind::Truncated { needed: size, available: file_len }).into());
        }
        limits::check("header size", size, limits.item_bytes).map_err(error)?;
        let bytes =
            if size <= first.len() as u64 { &first[..size as usize] } else { source.bytes(0..size)? };
        Ok(Parser { rest: &bytes[raw::FILE_HEADER_LEN as usize..], end: size }
            .dataset(header, file_len, limits)?)
    }

    /// The fixed file header.
    #[must_use]
    pub fn header(&self) -> &FileHeader {
        &self.header
    }

    /// The layers in file order; one of them is the base layer.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The base layer.
    #[must_use]
    pub fn base(&self) -> &Layer {
        &self.layers[self.base]
    }

    /// The arrays in file order, including those that a later one of the same key hides.
    #[must_use]
    pub fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    /// Whether [`array`](Self::array) finds this one, that is, no later array has its key.
    #[must_use]
    pub fn is_visible(&self, index: usize) -> bool {
        let key = self.arrays.get(index).and_then(|array| self.keys.get(usize::from(array.entry().key)));
        key.is_some_and(|key| self.keys[key.first].array == Some(index))
    }

    /// The key that the registry holds for an array: with the prefix of its layer.
    #[must_use]
    pub fn storage_key(&self, array: &Array) -> &str {
        self.keys.get(usize::from(array.entry().key)).map_or("", |key| &key.text)
    }

    /// The layer of this name.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn layer(&self, name: &str) -> Result<&Layer, Error> {
        let found = self.by_name.get(name).map(|&index| &self.layers[index]);
        found.ok_or_else(|| {
            Error::new("layer metadata registry", ErrorKind::NotFound("layer")).detail(label(name))
        })
    }

    /// The array `key` of the layer `layer`; the last one when the key is there twice.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn array(&self, layer: &str, key: &str) -> Result<&Array, Error> {
        let storage_key =
            if layer == BASE_LAYER { Cow::Borrowed(key) } else { Cow::Owned(layer_prefix(layer) + key) };
        self.layer(layer)?;
        let first = self.by_text.get(&*storage_key).copied();
        match first.and_then(|first| self.keys[first].array) {
            Some(index) => Ok(&self.arrays[index]),
            None => Err(Error::new("index", ErrorKind::NotFound("array")).detail(alloc::format!(
                "{:?} in layer {}",
                label(key),
                label(layer)
            ))),
        }
    }

    /// As [`array`](Self::array), and the array of the base layer when the layer has none of this key.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn inherited_array(&self, layer: &str, key: &str) -> Result<&Array, Error> {
        self.array(layer, key).or_else(|missing| {
            self.layer(layer)?;
            self.array(BASE_LAYER, key).map_err(|_| missing)
        })
    }

    /// The metadata keys that the registry lists for a layer, each once.
    pub fn metadata_keys<'a>(&'a self, layer: &'a Layer) -> impl Iterator<Item = &'a str> {
        let mut seen = BTreeSet::new();
        let keys = layer.keys.iter().filter_map(|&key| self.keys.get(usize::from(key)));
        keys.filter(move |key| seen.insert(key.first)).map(|key| &*key.text)
    }

    /// Makes sure that the metadata blocks of all layers are there.
    ///
    /// # Errors
    /// Those of the source. A block outside the file is no error here.
    pub fn request_metadata<S: Source + ?Sized>(&self, source: &S) -> Poll<()> {
        source.request(&self.metadata_ranges(source.len()))
    }

    /// Where the metadata blocks of all layers are stored, neighbours merged.
    #[must_use]
    pub fn metadata_ranges(&self, file_len: u64) -> Vec<Range<u64>> {
        merge(self.layers.iter().filter_map(|layer| layer.stored(file_len).ok()))
    }

    /// The metadata of the layer `name`, sorted by key; the last value when a key is there twice.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] without such a layer, those of the source, and a block that cannot be read. What is
    /// wrong with one entry only stands in that entry.
    pub fn metadata<S: Source + ?Sized>(&self, source: &S, name: &str) -> Poll<Vec<Entry>> {
        let layer = self.layer(name)?;
        let Some(decoded) = self.decode_metadata(source, layer)? else { return Ok(Vec::new()) };
        let first = |key: u16| self.keys.get(usize::from(key)).map_or(0, |key| key.first);
        let mut values: BTreeMap<usize, Result<_, Error>> = BTreeMap::new();
        for (key, value) in decoded.entries {
            values.insert(first(key), value);
        }
        for &key in &layer.keys {
            values.entry(first(key)).or_insert_with(|| {
                let kind = ErrorKind::Invalid("the registry lists the key, the block does not hold it");
                Err(Error::new(METADATA_BLOCK, kind).at(layer.position).item(label(self.key(key))))
            });
        }
        let entry = |(first, value): (usize, _)| Entry { key: self.keys[first].text.clone(), value };
        let mut entries: Vec<_> = values.into_iter().map(entry).collect();
        entries.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        Ok(entries)
    }

    /// As [`metadata`](Self::metadata), with the keys of the base layer that the layer has not.
    ///
    /// # Errors
    /// As [`metadata`](Self::metadata).
    pub fn inherited_metadata<S: Source + ?Sized>(&self, source: &S, name: &str) -> Poll<Vec<Entry>> {
        self.request_metadata(source)?;
        let mut entries: BTreeMap<_, _> =
            self.metadata(source, BASE_LAYER)?.into_iter().map(|entry| (entry.key, entry.value)).collect();
        entries.extend(self.metadata(source, name)?.into_iter().map(|entry| (entry.key, entry.value)));
        Ok(entries.into_iter().map(|(key, value)| Entry { key, value }).collect())
    }

    /// The metadata block of a layer; `None` when it has none. Every key index is in the registry.
    pub(super) fn decode_metadata<S: Source + ?Sized>(
        &self,
        source: &S,
        layer: &Layer,
    ) -> Poll<Option<Decoded>> {
        if !layer.has_metadata() {
            return Ok(None);
        }
        let stored = source.bytes(layer.stored(source.len())?)?;
        let decoded = metadata::decode(layer, stored, &self.limits)?;
        for (key, _) in &decoded.entries {
            self.check_key(*key, METADATA_BLOCK, layer.position)?;
        }
        Ok(Some(decoded))
    }

    pub(super) fn key(&self, index: u16) -> &str {
        self.keys.get(usize::from(index)).map_or("", |key| &key.text)
    }

    fn check_key(&self, key: u16, structure: &'static str, at: u64) -> Result<(), Error> {
        check_key(self.keys.len(), key, structure, at)
    }
}

fn check_key(keys: usize, key: u16, structure: &'static str, at: u64) -> Result<(), Error> {
    if usize::from(key) < keys {
        return Ok(());
    }
    let (max, found) = ((keys as u64).saturating_sub(1), key.into());
    Err(Error::new(structure, ErrorKind::OutOfRange { what: "key index", min: 0, max, found }).at(at))
}

/// Takes `amount` from `budget`; says whether there was as much.
pub(super) fn spend(budget: &mut u64, amount: u64) -> bool {
    let enough = amount <= *budget;
    *budget = budget.saturating_sub(amount);
    enough
}

/// The rest of the header section.
struct Parser<'a> {
    rest: &'a [u8],
    /// Offset of its end in the file.
    end: u64,
}

impl<'a> Parser<'a> {
    fn at(&self) -> u64 {
        self.end - self.rest.len() as u64
    }

    fn next<T>(
        &mut self,
        structure: &'static str,
        parser: impl FnOnce(&'a [u8]) -> Parsed<'a, T>,
    ) -> Result<T, Error> {
        let (rest, value) = wire::parse(structure, self.at(), self.rest, parser)?;
        self.rest = rest;
        Ok(value)
    }

    fn dataset(mut self, header: FileHeader, file_len: u64, limits: &Limits) -> Result<Dataset, Error> {
        let count = |what, at, found| {
            limits::check(what, found, limits.entries).map_err(|kind| Error::new("file header", kind).at(at))
        };
        let entry_count = count("entry count", 15, header.entry_count)?;
        let layer_count = count("layer count", 23, u64::from(header.layer_count) + 1)?;
        let key_count = count("key registry count", 27, header.key_count.into())?;
        let mut noticed = Vec::new();
        let mut keys = self.keys(key_count, &mut noticed)?;
        let mut by_text = BTreeMap::new();
        for (index, key) in keys.iter_mut().enumerate() {
            key.first = *by_text.entry(key.text.clone()).or_insert(index);
        }
        let mut layers = self.layers(layer_count, keys.len(), file_len, &mut noticed)?;
        for layer in &mut layers {
            layer.bitmap =
                self.next("layer presence bitmap", |input| raw::bitmap(input, header.entry_count))?;
        }
        let base = layers.iter().position(|layer| layer.name() == BASE_LAYER).ok_or_else(|| {
            let at = layers.first().map_or(raw::FILE_HEADER_LEN, |layer| layer.at);
            Error::new("layer metadata registry", ErrorKind::NotFound("layer")).at(at).detail(BASE_LAYER)
        })?;
        let by_name =
            layers.iter().enumerate().rev().map(|(index, layer)| (layer.name.clone(), index)).collect();
        let names = LayerNames::new(layers.iter().map(Layer::name));
        // No writer stores bytes for two arrays. Without a bound, a small file could keep a reader busy for days.
        let mut budget = file_len;
        let mut arrays = Vec::new();
        // Of each key of an array: the layer, and where the key inside it starts.
        let mut places = vec![None; keys.len()];
        for index in 0..entry_count {
            let at = self.at();
            let entry = self.next(INDEX_ENTRY, raw::index_entry)?;
            check_key(keys.len(), entry.key, INDEX_ENTRY, at)?;
            let first = keys[usize::from(entry.key)].first;
            let storage_key = &keys[first].text;
            let (layer, start) = *places[first].get_or_insert_with(|| {
                let mut candidates = names.candidates(storage_key);
                let (layer, key) = candidates.next().unwrap_or((base, storage_key));
                if candidates.next().is_some() {
                    let kind = ErrorKind::Invalid(
                        "the key has the prefix of several layers: the longest name counts",
                    );
                    let error = Error::new(INDEX_ENTRY, kind).at(at).item(label(storage_key));
                    noticed.push(Finding::warning(error));
                }
                (layer, storage_key.len() - key.len())
            });
            let layer_name = (layer != base).then(|| layers[layer].name.clone());
            let name = Name::new(layer_name, storage_key.clone(), start);
            keys[first].array = Some(index);
            arrays.push(Array::new(layer, name, at, entry, file_len, &mut budget, limits));
        }
        if self.rest.iter().any(|&byte| byte != 0) {
            let kind =
                ErrorKind::Invalid("bytes that are not zero between the last entry and the header size");
            noticed.push(Finding::error(Error::new("header section", kind).at(self.at())));
        }
        let limits = limits.clone();
        Ok(Dataset { header, limits, keys, layers, base, by_text, by_name, arrays, noticed })
    }

    fn keys(&mut self, count: usize, noticed: &mut Vec<Finding>) -> Result<Vec<Key>, Error> {
        let mut keys = Vec::new();
        for _ in 0..count {
            let at = self.at();
            let (bytes, hash) = self.next("key registry", raw::key_entry)?;
            let text = text(bytes, "key registry", at, noticed);
            keys.push(Key { text, hash, first: 0, array: None });
        }
        Ok(keys)
    }

    fn layers(
        &mut self,
        count: usize,
        keys: usize,
        file_len: u64,
        noticed: &mut Vec<Finding>,
    ) -> Result<Vec<Layer>, Error> {
        const STRUCTURE: &str = "layer metadata registry";
        let mut layers = Vec::new();
        let mut budget = file_len;
        for _ in 0..count {
            let at = self.at();
            let entry = self.next(STRUCTURE, raw::layer_entry)?;
            for &key in &entry.keys {
                check_key(keys, key, STRUCTURE, at)?;
            }
            layers.push(Layer {
                name: text(entry.name, STRUCTURE, at, noticed),
                position: entry.position,
                size: entry.size,
                compression: entry.compression,
                overlaps: !spend(&mut budget, entry.size.into()),
                at,
                keys: entry.keys,
                bitmap: Vec::new(),
            });
        }
        Ok(layers)
    }
}

/// A name; what is not UTF-8 is replaced, so that the rest of the file stays readable.
fn text(bytes: &[u8], structure: &'static str, at: u64, noticed: &mut Vec<Finding>) -> Text {
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, Cow::Owned(_)) {
        let kind = ErrorKind::Invalid("the name is not UTF-8");
        noticed.push(Finding::error(Error::new(structure, kind).at(at).item(label(&text))));
    }
    text.into()
}

/// Finds the layer that a storage key names.
pub(super) struct LayerNames<'a> {
    /// By length first: names of other lengths are not compared byte by byte.
    by_name: BTreeMap<(usize, &'a str), usize>,
}

impl<'a> LayerNames<'a> {
    pub(super) fn new(names: impl DoubleEndedIterator<Item = &'a str> + ExactSizeIterator) -> Self {
        // The first layer of a name counts, as in `Dataset::layer`.
        let mut by_name: BTreeMap<_, _> =
            names.enumerate().rev().map(|(index, name)| ((name.len(), name), index)).collect();
        by_name.remove(&(BASE_LAYER.len(), BASE_LAYER));
        Self { by_name }
    }

    /// The layers that fit a storage key, with the key inside them. The one with the longest name comes first; a
    /// key of the base layer has none.
    pub(super) fn candidates<'k>(&self, storage_key: &'k str) -> impl Iterator<Item = (usize, &'k str)> {
        let rest = storage_key.strip_prefix("__layer_").unwrap_or("");
        rest.rmatch_indices("__:").filter_map(|(end, mark)| {
            let name = rest.get(..end)?;
            self.by_name.get(&(end, name)).map(|&layer| (layer, &rest[end + mark.len()..]))
        })
    }
}
