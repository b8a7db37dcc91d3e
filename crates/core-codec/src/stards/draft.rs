//! A file to be written: new, or made out of an opened one.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::array::{Content, DATA};
use super::codec::{self, DEFAULT_LEVEL, encode_block};
use super::dataset::{BASE_LAYER, Dataset};
use super::layout::Layout;
use super::storage::{MAX_DIMENSIONS, Storage};
use super::tensor::{self, Tensor};
use super::types::{Compression, DataType, Element};
use crate::error::{Error, ErrorKind};
use crate::source::{Poll, Source};

const DRAFT: &str = "draft";

/// Where the data of an array comes from.
#[derive(Clone, Debug)]
pub enum Data<'a> {
    /// The payload: little-endian elements; of strings, their total length, then each with its length.
    Payload(Cow<'a, [u8]>),
    /// The blocks of the file that the draft was made from, copied as they are.
    Stored(Content),
    /// So many bytes of payload, supplied while the file is written.
    Pieces(u64),
}

/// An array of a [`Draft`].
#[derive(Clone, Debug)]
pub struct DraftArray<'a> {
    pub(super) layer: usize,
    pub(super) key: String,
    pub(super) dtype: DataType,
    pub(super) shape: Vec<u64>,
    pub(super) compression: Compression,
    pub(super) level: u8,
    pub(super) block_size: u64,
    pub(super) data: Data<'a>,
}

impl DraftArray<'_> {
    /// Its key inside the layer.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Type of the elements.
    #[must_use]
    pub fn dtype(&self) -> DataType {
        self.dtype
    }

    /// Size of each dimension; none for a scalar.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The codec.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// DEFLATE level.
    #[must_use]
    pub fn level(&self) -> u8 {
        self.level
    }

    /// Bytes of a decoded block; the last one can be shorter.
    #[must_use]
    pub fn block_size(&self) -> u64 {
        self.block_size
    }

    /// Where its data comes from.
    #[must_use]
    pub fn data(&self) -> &Data<'_> {
        &self.data
    }

    /// Width of the elements whose byte planes are stored; `None` when it is the elements themselves.
    #[must_use]
    pub fn planes(&self) -> Option<usize> {
        self.dtype.size().filter(|&size| size > 1 && self.compression.shuffles())
    }

    /// Bytes of the payload.
    #[must_use]
    pub fn payload_len(&self) -> u64 {
        match &self.data {
            Data::Payload(bytes) => bytes.len() as u64,
            Data::Stored(content) => content.payload_len(),
            Data::Pieces(len) => *len,
        }
    }

    /// Number of blocks.
    #[must_use]
    pub fn block_count(&self) -> u64 {
        match &self.data {
            Data::Stored(content) => content.blocks().len() as u64,
            _ => self.payload_len().div_ceil(self.block_size),
        }
    }

    /// Bytes of block `index` once decoded.
    pub(super) fn block_len(&self, index: u64) -> u64 {
        match &self.data {
            Data::Stored(content) => {
                let block = usize::try_from(index).ok().and_then(|index| content.blocks().get(index));
                block.map_or(0, |block| block.payload.end - block.payload.start)
            }
            _ => self.payload_len().saturating_sub(index * self.block_size).min(self.block_size),
        }
    }

    /// Bytes that its position is a multiple of: what is stored uncompressed can be used where it stands.
    pub(super) fn alignment(&self) -> u64 {
        match (self.compression, self.dtype.size()) {
            (Compression::None, Some(size)) => size as u64,
            _ => 1,
        }
    }
}

/// A layer of a [`Draft`].
#[derive(Clone, Debug)]
pub(super) struct DraftLayer {
    pub(super) name: String,
    pub(super) metadata: BTreeMap<String, Tensor>,
}

/// A file to be written.
///
/// ```
/// use core_codec::Limits;
/// use core_codec::source::complete;
/// use core_codec::stards::{BASE_LAYER, Compression, Dataset, Draft};
///
/// let mut draft = Draft::new();
/// draft.put_slice(BASE_LAYER, "depth", &[2, 3], &[1.5f32, 2.0, 2.5, 3.0, 3.5, 4.0], Compression::None)?;
/// draft.set_metadata(BASE_LAYER, "unit", "m")?;
/// let file = draft.to_bytes(&[][..])?;
///
/// let dataset = complete(Dataset::open(&file[..], &Limits::default()))?;
/// let depth = dataset.array(BASE_LAYER, "depth")?;
/// assert_eq!(complete(depth.read_vec::<f32, _>(&file[..]))?[5], 4.0);
/// # Ok::<(), core_codec::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    pub(super) layers: Vec<DraftLayer>,
    pub(super) arrays: Vec<DraftArray<'a>>,
    layer_index: BTreeMap<String, usize>,
    array_index: BTreeMap<(usize, String), usize>,
    metadata_compression: Compression,
}

impl Default for Draft<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Draft<'a> {
    /// An empty file: the base layer and nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self {
            layers: vec![DraftLayer { name: BASE_LAYER.into(), metadata: BTreeMap::new() }],
            arrays: Vec::new(),
            layer_index: [(BASE_LAYER.into(), 0)].into(),
            array_index: BTreeMap::new(),
            metadata_compression: Compression::Lz4,
        }
    }

    /// All that an opened file holds. Its arrays are copied block by block when the draft is written, not decoded;
    /// holes, hidden arrays and unused keys are left behind.
    ///
    /// # Errors
    /// Metadata or an index entry that cannot be read: it would be lost. Those of the source.
    pub fn from_dataset<S: Source + ?Sized>(dataset: &Dataset, source: &S) -> Poll<Self> {
        dataset.request_metadata(source)?;
        let mut draft = Self::new();
        if let Some(compression) = Compression::from_code(dataset.base().compression_code())
            && dataset.base().has_metadata()
        {
            draft.metadata_compression = compression;
        }
        for layer in dataset.layers() {
            draft.add_layer(layer.name())?;
            for entry in dataset.metadata(source, layer.name())? {
                draft.set_metadata(layer.name(), &entry.key, entry.value?)?;
            }
        }
        let visible = dataset.arrays().iter().enumerate().filter(|(index, _)| dataset.is_visible(*index));
        for (_, array) in visible {
            let content = array.content()?;
            draft.replace(DraftArray {
                layer: draft.layer(dataset.layers()[array.layer()].name())?,
                key: array.key().into(),
                dtype: content.dtype(),
                shape: content.shape.to_vec(),
                compression: content.compression(),
                level: DEFAULT_LEVEL,
                block_size: content.block_size(),
                data: Data::Stored(content.clone()),
            });
        }
        Ok(draft)
    }

    /// Names of the layers, the base layer first.
    pub fn layers(&self) -> impl Iterator<Item = &str> {
        self.layers.iter().map(|layer| &*layer.name)
    }

    /// The arrays in the order in which they are written.
    #[must_use]
    pub fn arrays(&self) -> &[DraftArray<'a>] {
        &self.arrays
    }

    /// Adds an empty layer, unless it is there.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for a name of more than 65,535 bytes.
    pub fn add_layer(&mut self, name: &str) -> Result<(), Error> {
        check_name("bytes of a layer name", name)?;
        if !self.layer_index.contains_key(name) {
            self.layer_index.insert(name.into(), self.layers.len());
            self.layers.push(DraftLayer { name: name.into(), metadata: BTreeMap::new() });
        }
        Ok(())
    }

    /// Removes a layer with its arrays and metadata. Returns whether it was there.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for the base layer, which every file has.
    pub fn remove_layer(&mut self, name: &str) -> Result<bool, Error> {
        if name == BASE_LAYER {
            return Err(Error::new(DRAFT, ErrorKind::Invalid("the base layer cannot be removed")));
        }
        let Ok(removed) = self.layer(name) else { return Ok(false) };
        self.layers.remove(removed);
        self.arrays.retain(|array| array.layer != removed);
        for array in self.arrays.iter_mut().filter(|array| array.layer > removed) {
            array.layer -= 1;
        }
        self.layer_index = (0..).zip(&self.layers).map(|(at, layer)| (layer.name.clone(), at)).collect();
        self.index_arrays();
        Ok(true)
    }

    /// Sets an array of numbers, in row-major order, in place of one that has its key.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] without such a layer; a shape that `values` do not fill; a block size or a number of
    /// dimensions that the format or the reference implementation does not allow.
    pub fn put_slice<T: Element>(
        &mut self,
        layer: &str,
        key: &str,
        shape: &[u64],
        values: &'a [T],
        storage: impl Into<Storage>,
    ) -> Result<(), Error> {
        self.put_payload(layer, key, T::DTYPE, shape, tensor::le_bytes(values), storage.into())
    }

    /// Sets an array of numbers by their little-endian bytes in row-major order, as they stand in a mapped file.
    ///
    /// # Errors
    /// As [`put_slice`](Self::put_slice); [`ErrorKind::Type`] for strings.
    pub fn put_bytes(
        &mut self,
        layer: &str,
        key: &str,
        dtype: DataType,
        shape: &[u64],
        bytes: &'a [u8],
        storage: impl Into<Storage>,
    ) -> Result<(), Error> {
        if dtype == DataType::String {
            let kind = ErrorKind::Type { expected: "numbers", found: dtype.name() };
            return Err(Error::new(DRAFT, kind).item(key));
        }
        self.put_payload(layer, key, dtype, shape, bytes.into(), storage.into())
    }

    /// Sets an array of any type, in place of one that has its key.
    ///
    /// # Errors
    /// As [`put_slice`](Self::put_slice); [`ErrorKind::Limit`] for strings of more than 4 GiB.
    pub fn put(
        &mut self,
        layer: &str,
        key: &str,
        value: impl Into<Tensor>,
        storage: impl Into<Storage>,
    ) -> Result<(), Error> {
        let value = value.into();
        let (dtype, shape) = (value.dtype(), value.shape().to_vec());
        let payload = match dtype {
            DataType::String => string_payload(value.bytes()).map_err(|error| error.item(key))?,
            _ => value.into_bytes(),
        };
        self.put_payload(layer, key, dtype, &shape, payload.into(), storage.into())
    }

    /// Announces an array of numbers whose bytes are supplied while the file is written, for arrays that are larger
    /// than memory.
    ///
    /// # Errors
    /// As [`put_bytes`](Self::put_bytes).
    pub fn put_pieces(
        &mut self,
        layer: &str,
        key: &str,
        dtype: DataType,
        shape: &[u64],
        storage: impl Into<Storage>,
    ) -> Result<(), Error> {
        let error = |kind| Error::new(DRAFT, kind).item(key);
        let size = dtype
            .size()
            .ok_or_else(|| error(ErrorKind::Type { expected: "numbers", found: dtype.name() }))?;
        let payload = tensor::element_count(shape)
            .map_err(error)?
            .checked_mul(size as u64)
            .ok_or_else(|| error(ErrorKind::Invalid("the shape has more than 2^64 bytes")))?;
        self.put_data(layer, key, dtype, shape, Data::Pieces(payload), storage.into())
    }

    fn put_payload(
        &mut self,
        layer: &str,
        key: &str,
        dtype: DataType,
        shape: &[u64],
        payload: Cow<'a, [u8]>,
        storage: Storage,
    ) -> Result<(), Error> {
        let error = |kind| Error::new(DRAFT, kind).item(key);
        let elements = tensor::element_count(shape).map_err(error)?;
        if let Some(size) = dtype.size() {
            let expected = elements.saturating_mul(size as u64);
            let found = payload.len() as u64;
            if expected != found {
                let what = "bytes, against the shape";
                return Err(error(ErrorKind::Mismatch { what, expected, found }));
            }
        }
        self.put_data(layer, key, dtype, shape, Data::Payload(payload), storage)
    }

    fn put_data(
        &mut self,
        layer: &str,
        key: &str,
        dtype: DataType,
        shape: &[u64],
        data: Data<'a>,
        storage: Storage,
    ) -> Result<(), Error> {
        let error = |kind| Error::new(DRAFT, kind).item(key);
        check_name("bytes of a key", key)?;
        let (limit, found) = (MAX_DIMENSIONS, shape.len() as u64);
        if found > limit {
            return Err(error(ErrorKind::Limit { what: "dimensions", limit, found }));
        }
        codec::check_support(storage.compression).map_err(error)?;
        let mut array = DraftArray {
            layer: self.layer(layer)?,
            key: key.into(),
            dtype,
            shape: shape.to_vec(),
            compression: storage.compression,
            level: storage.level,
            block_size: 1,
            data,
        };
        array.block_size = storage.block_size_for(array.payload_len()).map_err(error)?;
        self.replace(array);
        Ok(())
    }

    fn replace(&mut self, array: DraftArray<'a>) {
        match self.array_index.entry((array.layer, array.key.clone())) {
            Entry::Occupied(found) => self.arrays[*found.get()] = array,
            Entry::Vacant(free) => {
                free.insert(self.arrays.len());
                self.arrays.push(array);
            }
        }
    }

    /// Removes an array. Returns whether it was there.
    pub fn remove(&mut self, layer: &str, key: &str) -> bool {
        let found = self.layer(layer).ok().and_then(|layer| self.array_index.get(&(layer, key.into())));
        let Some(&index) = found else { return false };
        self.arrays.remove(index);
        self.index_arrays();
        true
    }

    fn index_arrays(&mut self) {
        let keys = self.arrays.iter().map(|array| (array.layer, array.key.clone()));
        self.array_index = keys.zip(0..).collect();
    }

    /// Sets a metadata value.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] without such a layer, [`ErrorKind::Limit`] for a value of more than 255 dimensions.
    pub fn set_metadata(&mut self, layer: &str, key: &str, value: impl Into<Tensor>) -> Result<(), Error> {
        check_name("bytes of a key", key)?;
        let value = value.into();
        let (limit, found) = (u8::MAX.into(), value.shape().len() as u64);
        if found > limit {
            return Err(Error::new(DRAFT, ErrorKind::Limit { what: "dimensions", limit, found }).item(key));
        }
        let layer = self.layer(layer)?;
        self.layers[layer].metadata.insert(key.into(), value);
        Ok(())
    }

    /// Removes a metadata value and returns it.
    pub fn remove_metadata(&mut self, layer: &str, key: &str) -> Option<Tensor> {
        let layer = self.layer(layer).ok()?;
        self.layers[layer].metadata.remove(key)
    }

    /// A metadata value.
    #[must_use]
    pub fn metadata(&self, layer: &str, key: &str) -> Option<&Tensor> {
        self.layers[self.layer(layer).ok()?].metadata.get(key)
    }

    /// Chooses the codec of the metadata blocks: `NONE`, `GZIP` or `LZ4`, which is the default.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for another one.
    pub fn set_metadata_compression(&mut self, compression: Compression) -> Result<(), Error> {
        match compression {
            Compression::None | Compression::Gzip | Compression::Lz4 => {
                self.metadata_compression = compression;
                Ok(())
            }
            _ => Err(Error::new(DRAFT, ErrorKind::Unsupported("codec of a metadata block"))
                .detail(compression.name())),
        }
    }

    /// The codec of the metadata blocks.
    #[must_use]
    pub fn metadata_compression(&self) -> Compression {
        self.metadata_compression
    }

    /// The whole file in memory. `source` is the file that the draft was made from, or anything for a new one.
    ///
    /// # Errors
    /// More keys or longer metadata than the format holds, keys that are read as those of another layer, arrays
    /// that are to come in pieces, and those of the source.
    pub fn to_bytes<S: Source + ?Sized>(&self, source: &S) -> Result<Vec<u8>, Error> {
        let mut layout = Layout::new(self)?;
        let mut file = vec![0; layout.header_size() as usize];
        for array in &self.arrays {
            let padding = layout.begin_array();
            file.resize(file.len() + padding, 0);
            self.append(array, source, &mut layout, &mut file)?;
        }
        file.extend_from_slice(layout.metadata());
        let header = layout.finish()?;
        file[..header.len()].copy_from_slice(&header);
        Ok(file)
    }

    fn append<S: Source + ?Sized>(
        &self,
        array: &DraftArray<'_>,
        source: &S,
        layout: &mut Layout<'_, '_>,
        file: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let error = |kind| Error::new(DATA, kind).item(&*array.key);
        let payload: &[u8] = match &array.data {
            Data::Payload(payload) => payload,
            Data::Stored(content) => {
                for block in content.blocks() {
                    let stored = crate::source::complete(source.bytes(block.stored.clone()))?;
                    layout.add_block(stored.len() as u64)?;
                    file.extend_from_slice(stored);
                }
                return Ok(());
            }
            Data::Pieces(_) => {
                return Err(error(ErrorKind::Unsupported("array in pieces: only a file can be written so")));
            }
        };
        let mut planes = Vec::new();
        let payload = match array.planes() {
            Some(width) => {
                planes.resize(payload.len(), 0);
                crate::codec::shuffle::shuffle(payload, width, &mut planes);
                &planes
            }
            None => payload,
        };
        // At most MAX_BLOCK_SIZE.
        let mut buffer = Vec::new();
        for block in payload.chunks(array.block_size as usize) {
            let stored = encode_block(array.compression, array.level, block, &mut buffer).map_err(error)?;
            layout.add_block(stored.len() as u64)?;
            file.extend_from_slice(stored);
        }
        Ok(())
    }

    fn layer(&self, name: &str) -> Result<usize, Error> {
        let found = self.layer_index.get(name).copied();
        found.ok_or_else(|| Error::new(DRAFT, ErrorKind::NotFound("layer")).detail(name))
    }
}

fn check_name(what: &'static str, name: &str) -> Result<(), Error> {
    let (limit, found) = (u16::MAX.into(), name.len() as u64);
    if found > limit {
        return Err(Error::new(DRAFT, ErrorKind::Limit { what, limit, found }));
    }
    Ok(())
}

/// Strings with their total length before them.
pub(super) fn string_payload(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let Ok(total) = u32::try_from(bytes.len()) else {
        let (limit, found) = (u32::MAX.into(), bytes.len() as u64);
        return Err(Error::new(DRAFT, ErrorKind::Limit { what: "bytes of all strings", limit, found }));
    };
    let mut payload = Vec::with_capacity(bytes.len() + 4);
    payload.extend(total.to_le_bytes());
    payload.extend_from_slice(bytes);
    Ok(payload)
}
