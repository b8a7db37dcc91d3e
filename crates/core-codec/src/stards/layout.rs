//! The order of a new file: the header is first and holds the places of all that follows, so it is planned first
//! and written last.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::codec::encode_block;
use super::dataset::{BASE_LAYER, LayerNames, layer_prefix};
use super::draft::{Draft, DraftArray, DraftLayer, string_payload};
use super::hash::hash;
use super::raw::{FILE_HEADER_LEN, MAGIC, METADATA_MAGIC, METADATA_VERSION, VERSION};
use super::types::{Compression, DataType};
use crate::error::{Error, ErrorKind};

const LAYOUT: &str = "file layout";

/// DEFLATE level of metadata blocks, that of the reference.
const METADATA_LEVEL: u8 = 6;

/// The plan of a file while it is written.
///
/// The size of the header is known before any data is; the sizes of the stored blocks are not. So a driver leaves
/// [`header_size`](Self::header_size) bytes free (or keeps the data aside), writes the arrays of the draft in order
/// and tells how long each block became, appends [`metadata`](Self::metadata), and puts the bytes of
/// [`finish`](Self::finish) at the start. [`Draft::to_bytes`] is the simplest driver.
#[derive(Debug)]
pub struct Layout<'d, 'a> {
    draft: &'d Draft<'a>,
    registry: Registry,
    header_size: u64,
    /// Offset of the next byte.
    end: u64,
    placed: Vec<Placed>,
    metadata: Vec<u8>,
    metadata_blocks: Vec<MetadataBlock>,
}

/// Where the blocks of an array are.
#[derive(Debug)]
struct Placed {
    position: u64,
    stored: Vec<u64>,
}

#[derive(Debug, Default)]
struct MetadataBlock {
    size: u32,
    keys: Vec<u16>,
}

/// The keys of a file. The storage keys of the arrays come first, so that an array's index in the registry is its
/// index among the entries: presence bitmaps mean the one in the specification, the other in the reference.
#[derive(Debug, Default)]
struct Registry {
    keys: Vec<String>,
    indices: BTreeMap<String, usize>,
}

impl Registry {
    fn new(draft: &Draft<'_>) -> Result<Self, Error> {
        let mut registry = Self::default();
        for array in &draft.arrays {
            registry.add(&storage_key(draft, array));
        }
        // Further words of a bitmap cannot hold a key, so that no key is added for its bit only.
        let bits = bitmap_words(draft) * 64;
        for array in draft.arrays.iter().filter(|array| array.layer != 0) {
            if registry.keys.len() < bits {
                registry.add(&array.key);
            }
        }
        for layer in &draft.layers {
            layer.metadata.keys().for_each(|key| registry.add(key));
        }
        let (limit, found) = (1 << 16, registry.keys.len() as u64);
        if found > limit {
            return Err(Error::new(LAYOUT, ErrorKind::Limit { what: "keys", limit, found }));
        }
        Ok(registry)
    }

    fn add(&mut self, key: &str) {
        if !self.indices.contains_key(key) {
            self.indices.insert(key.into(), self.keys.len());
            self.keys.push(key.into());
        }
    }

    /// There are at most 2^16 keys, and every key that is asked for is one of them.
    fn index(&self, key: &str) -> u16 {
        self.indices.get(key).map_or(0, |&index| index as u16)
    }
}

fn storage_key(draft: &Draft<'_>, array: &DraftArray<'_>) -> String {
    match array.layer {
        0 => array.key.clone(),
        layer => layer_prefix(&draft.layers[layer].name) + &array.key,
    }
}

fn bitmap_words(draft: &Draft<'_>) -> usize {
    draft.arrays.len().div_ceil(64)
}

impl<'d, 'a> Layout<'d, 'a> {
    /// Plans the file.
    ///
    /// # Errors
    /// More keys or longer metadata than the format holds, and keys that are read as those of another layer.
    pub fn new(draft: &'d Draft<'a>) -> Result<Self, Error> {
        check_keys(draft)?;
        let registry = Registry::new(draft)?;
        let mut layout = Self {
            draft,
            registry,
            header_size: 0,
            end: 0,
            placed: Vec::new(),
            metadata: Vec::new(),
            metadata_blocks: Vec::new(),
        };
        for layer in &draft.layers {
            let block = layout.metadata_block(layer)?;
            layout.metadata_blocks.push(block);
        }
        // The sizes of all structures are known, only their values are not.
        layout.header_size = layout.header().len() as u64;
        layout.end = layout.header_size;
        Ok(layout)
    }

    /// Bytes of the header, where the data starts.
    #[must_use]
    pub fn header_size(&self) -> u64 {
        self.header_size
    }

    /// Starts the next array of the draft, and tells how many zero bytes come before it.
    pub fn begin_array(&mut self) -> usize {
        let alignment = self.draft.arrays.get(self.placed.len()).map_or(1, DraftArray::alignment);
        let position = self.end.next_multiple_of(alignment);
        let padding = position - self.end;
        self.end = position;
        self.placed.push(Placed { position, stored: Vec::new() });
        padding as usize
    }

    /// The next block of the array that was started last has `stored` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when no array was started or it has all its blocks.
    pub fn add_block(&mut self, stored: u64) -> Result<(), Error> {
        let error = |reason| Error::new(LAYOUT, ErrorKind::Invalid(reason));
        let index = self.placed.len().checked_sub(1).ok_or_else(|| error("no array was started"))?;
        let (placed, array) = (&mut self.placed[index], &self.draft.arrays[index]);
        if placed.stored.len() as u64 >= array.block_count() {
            return Err(error("the array has more blocks than it was planned with").item(&*array.key));
        }
        placed.stored.push(stored);
        self.end = self
            .end
            .checked_add(stored)
            .ok_or_else(|| error("the file has more than 2^64 bytes").item(&*array.key))?;
        Ok(())
    }

    /// The metadata blocks of all layers, which follow the last array.
    #[must_use]
    pub fn metadata(&self) -> &[u8] {
        &self.metadata
    }

    /// The header, once all arrays are written.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] when an array or a block is missing.
    pub fn finish(self) -> Result<Vec<u8>, Error> {
        let mismatch =
            |what, expected, found| Error::new(LAYOUT, ErrorKind::Mismatch { what, expected, found });
        let (expected, found) = (self.draft.arrays.len() as u64, self.placed.len() as u64);
        if expected != found {
            return Err(mismatch("arrays", expected, found));
        }
        for (array, placed) in self.draft.arrays.iter().zip(&self.placed) {
            let (expected, found) = (array.block_count(), placed.stored.len() as u64);
            if expected != found {
                return Err(mismatch("blocks", expected, found).item(&*array.key));
            }
        }
        Ok(self.header())
    }

    /// Encodes the metadata of a layer and appends it.
    fn metadata_block(&mut self, layer: &DraftLayer) -> Result<MetadataBlock, Error> {
        if layer.metadata.is_empty() {
            return Ok(MetadataBlock::default());
        }
        let error = |kind| Error::new("metadata block", kind).item(&*layer.name);
        let limited = |what, limit, found| error(ErrorKind::Limit { what, limit, found });
        let count = layer.metadata.len() as u64;
        let Ok(count) = u16::try_from(count) else {
            return Err(limited("metadata keys", u16::MAX.into(), count));
        };
        let mut block = METADATA_MAGIC.to_vec();
        block.push(METADATA_VERSION);
        put_name(&mut block, &layer.name);
        block.extend(count.to_le_bytes());
        let mut keys = Vec::new();
        for (key, value) in &layer.metadata {
            keys.push(self.registry.index(key));
            block.extend(self.registry.index(key).to_le_bytes());
            block.push(value.dtype().code());
            block.push(value.shape().len() as u8);
            value.shape().iter().for_each(|size| block.extend(size.to_le_bytes()));
            match value.dtype() {
                DataType::String => block.extend(string_payload(value.bytes())?),
                _ => block.extend_from_slice(value.bytes()),
            }
        }
        keys.sort_unstable();
        let start = self.metadata.len();
        let compression = self.draft.metadata_compression();
        if compression == Compression::Lz4 {
            self.metadata.extend((block.len() as u64).to_le_bytes());
        }
        self.metadata.extend_from_slice(
            encode_block(compression, METADATA_LEVEL, &block, &mut Vec::new()).map_err(error)?,
        );
        let size = self.metadata.len() - start;
        let size = u32::try_from(size).map_err(|_| limited("stored bytes", u32::MAX.into(), size as u64))?;
        Ok(MetadataBlock { size, keys })
    }

    /// Sections 1 to 5, as far as the values are known.
    fn header(&self) -> Vec<u8> {
        let draft = self.draft;
        let mut out = MAGIC.to_vec();
        out.push(VERSION);
        out.extend(self.header_size.to_le_bytes());
        out.extend((draft.arrays.len() as u64).to_le_bytes());
        out.extend((draft.layers.len() as u32 - 1).to_le_bytes());
        out.extend((self.registry.keys.len() as u32).to_le_bytes());
        debug_assert_eq!(out.len() as u64, FILE_HEADER_LEN);
        for key in &self.registry.keys {
            put_name(&mut out, key);
            out.extend(hash(key.as_bytes()).to_le_bytes());
        }
        self.put_layers(&mut out);
        self.put_bitmaps(&mut out);
        for (index, array) in draft.arrays.iter().enumerate() {
            self.put_entry(&mut out, index, array);
        }
        out
    }

    fn put_layers(&self, out: &mut Vec<u8>) {
        let mut position = self.end;
        for (layer, block) in self.draft.layers.iter().zip(&self.metadata_blocks) {
            put_name(out, &layer.name);
            let (at, compression) = match block.size {
                0 => (0, Compression::None),
                _ => (position, self.draft.metadata_compression()),
            };
            out.extend(at.to_le_bytes());
            out.extend(block.size.to_le_bytes());
            out.push(compression.code());
            out.extend((block.keys.len() as u16).to_le_bytes());
            block.keys.iter().for_each(|key| out.extend(key.to_le_bytes()));
            position += u64::from(block.size);
        }
    }

    /// Marks each array in its layer by its own index and, as the reference does, by the registry index of the key
    /// without the prefix.
    fn put_bitmaps(&self, out: &mut Vec<u8>) {
        let words = bitmap_words(self.draft);
        let mut bitmaps = vec![0u64; words * self.draft.layers.len()];
        for (index, array) in self.draft.arrays.iter().enumerate() {
            let bitmap = &mut bitmaps[array.layer * words..][..words];
            let logical = self.registry.indices.get(&array.key).filter(|&&bit| bit < words * 64);
            for &bit in [Some(&index), logical].into_iter().flatten() {
                bitmap[bit / 64] |= 1 << (bit % 64);
            }
        }
        bitmaps.iter().for_each(|word| out.extend(word.to_le_bytes()));
    }

    fn put_entry(&self, out: &mut Vec<u8>, index: usize, array: &DraftArray<'_>) {
        // Before the array is written, its blocks count with a stored length of 0.
        let placed = self.placed.get(index);
        let stored = |block: u64| placed.and_then(|placed| placed.stored.get(block as usize).copied());
        let stored = |block| stored(block).unwrap_or(0);
        let blocks = array.block_count();
        // The storage keys are the first keys of the registry.
        out.extend((index as u16).to_le_bytes());
        out.extend(placed.map_or(0, |placed| placed.position).to_le_bytes());
        out.extend((0..blocks).map(stored).sum::<u64>().to_le_bytes());
        out.push(array.dtype.code());
        out.extend((array.shape.len() as u64).to_le_bytes());
        array.shape.iter().for_each(|size| out.extend(size.to_le_bytes()));
        out.push(array.compression.code());
        out.extend(array.block_size.to_le_bytes());
        out.extend(blocks.to_le_bytes());
        let mut offset = 0u64;
        for block in 0..blocks {
            out.extend(offset.to_le_bytes());
            out.extend(stored(block).to_le_bytes());
            out.extend(array.block_len(block).to_le_bytes());
            offset += stored(block);
        }
        out.push(0);
    }
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    // Names of more than 65,535 bytes have been rejected.
    out.extend((name.len() as u16).to_le_bytes());
    out.extend_from_slice(name.as_bytes());
}

/// Checks that a reader finds each array in the layer that it belongs to.
fn check_keys(draft: &Draft<'_>) -> Result<(), Error> {
    let names = LayerNames::new(draft.layers.iter().map(|layer| &*layer.name));
    for array in &draft.arrays {
        let storage_key = storage_key(draft, array);
        let error = |kind| Error::new(LAYOUT, kind).item(&*storage_key);
        let (limit, found) = (u16::MAX.into(), storage_key.len() as u64);
        if found > limit {
            return Err(error(ErrorKind::Limit { what: "bytes of a key with its layer", limit, found }));
        }
        let (layer, key) = names.candidates(&storage_key).next().unwrap_or((0, &storage_key));
        if (layer, key) != (array.layer, &*array.key) {
            let kind = ErrorKind::Invalid("the key is read as one of another layer");
            return Err(error(kind).detail(format!("layer {}", draft.layers[layer].name)));
        }
    }
    debug_assert_eq!(draft.layers[0].name, BASE_LAYER);
    Ok(())
}
