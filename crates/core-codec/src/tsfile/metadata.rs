//! The two ends of a file: signature, version, tail and `TsFileMetadata`.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use crate::error::{Error, ErrorKind};
use crate::limits::{Limits, check};
use crate::source::{Poll, Source};
use crate::tsfile::bloom::BloomFilter;
use crate::tsfile::device::DeviceId;
use crate::tsfile::index::skip_root;
use crate::tsfile::types::{Category, Compression, DataType, Encoding};
use crate::tsfile::wire::{byte, int32, int64, string32, uvarint, var_binary, var_string, varint};
use crate::wire::{Parsed, WireError, parse};

/// The bytes at both ends of a file.
pub const MAGIC: &[u8; 6] = b"TsFile";
/// Where the data section starts: after the signature and the version.
pub const DATA_START: u64 = 7;
/// `int32` size of the metadata and the signature.
pub const TAIL_BYTES: u64 = 10;
/// The byte between data and index.
pub const SEPARATOR: u8 = 0x02;
/// The byte at [`DATA_START`] of a file with a `FileEncryptionHeader`.
pub const ENCRYPTION_HEADER: u8 = 0x06;

/// Version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Version {
    /// Device ids are one string, there are no tables.
    V3,
    /// Device ids have segments; tables, schemas and properties.
    V4,
}

impl Version {
    /// Its number in a file.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::V3 => 3,
            Self::V4 => 4,
        }
    }
}

/// Checks the signature and the version at the start of a file.
///
/// # Errors
/// [`ErrorKind::Magic`], [`ErrorKind::OutOfRange`] for a version other than 3 and 4, [`ErrorKind::Unsupported`]
/// for an encryption header, [`ErrorKind::Truncated`].
pub fn read_head<S: Source + ?Sized>(source: &S) -> Poll<Version> {
    let head = source.bytes(0..DATA_START)?;
    let (magic, version) = head.split_at(MAGIC.len());
    check_magic("file signature", magic, 0)?;
    let version = match version {
        [3] => Version::V3,
        [4] => Version::V4,
        other => {
            let found = other.first().copied().unwrap_or(0).into();
            let kind = ErrorKind::OutOfRange { what: "version", min: 3, max: 4, found };
            return Err(Error::new("file version", kind).at(6).into());
        }
    };
    if source.len() > DATA_START && source.bytes(DATA_START..DATA_START + 1)? == [ENCRYPTION_HEADER] {
        return Err(super::encryption::header_error(source)?.into());
    }
    Ok(version)
}

const UNFINISHED: &str = "the file was cut off or never finished";

fn check_magic(structure: &'static str, bytes: &[u8], offset: u64) -> Result<(), Error> {
    if bytes == MAGIC {
        return Ok(());
    }
    let mut found = [0; 8];
    found.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    Err(Error::new(structure, ErrorKind::Magic { expected: MAGIC, found }).at(offset))
}

/// Checks the tail and says where `TsFileMetadata` is.
///
/// # Errors
/// [`ErrorKind::Magic`] for a file that was not closed, [`ErrorKind::OutOfRange`] for a size that does not fit
/// the file, [`ErrorKind::Limit`].
pub fn read_tail<S: Source + ?Sized>(source: &S, limits: &Limits) -> Poll<Range<u64>> {
    let len = source.len();
    let room = len.checked_sub(DATA_START + TAIL_BYTES).ok_or_else(|| {
        let kind = ErrorKind::Truncated { needed: DATA_START + TAIL_BYTES, available: len };
        Error::new("tail", kind).at(0).detail(UNFINISHED)
    })?;
    let start = len - TAIL_BYTES;
    let tail = source.bytes(start..len)?;
    let (size, magic) = tail.split_at(4);
    check_magic("tail", magic, len - 6).map_err(|error| error.detail(UNFINISHED))?;
    let (_, size) = parse("tail", start, size, int32)?;
    let error = |kind| Error::new("metadata size", kind).at(start);
    let size =
        u64::try_from(size).map_err(|_| error(ErrorKind::Invalid("negative")).detail(size.to_string()))?;
    if size > room {
        return Err(error(ErrorKind::OutOfRange { what: "bytes", min: 0, max: room, found: size }).into());
    }
    check("bytes", size, limits.metadata_bytes).map_err(error)?;
    Ok(start - size..start)
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSchema {
    /// Its name.
    pub name: Box<str>,
    /// Type of its values.
    pub dtype: DataType,
    /// How its values are encoded, unless a chunk says otherwise.
    pub encoding: Encoding,
    /// How its pages are compressed, unless a chunk says otherwise.
    pub compression: Compression,
    /// Free properties.
    pub properties: Vec<(Box<str>, Box<str>)>,
    /// Its role.
    pub category: Category,
}

/// A table: its columns in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// Its name.
    pub name: Box<str>,
    /// Its columns; the tags among them, in order, are the segments of a device id after the first.
    pub columns: Vec<ColumnSchema>,
}

impl TableSchema {
    /// Its tag columns, in the order of the segments of a device id.
    pub fn tags(&self) -> impl Iterator<Item = &ColumnSchema> {
        self.columns.iter().filter(|column| column.category == Category::Tag)
    }

    /// Its columns of measured values.
    pub fn fields(&self) -> impl Iterator<Item = &ColumnSchema> {
        self.columns.iter().filter(|column| column.category == Category::Field)
    }
}

/// The root of the index of one table; version 3 has one root for all devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRoot {
    /// Segment 0 of the device ids below it; `None` in version 3.
    pub table: Option<Box<str>>,
    /// Where the root node is.
    pub node: Range<u64>,
}

/// `TsFileMetadata`: what stands at the end of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Metadata {
    /// Version of the file.
    pub version: Version,
    /// Where it stands.
    pub range: Range<u64>,
    /// Roots of the device index.
    pub roots: Vec<IndexRoot>,
    /// Tables; empty in a tree file.
    pub tables: Vec<TableSchema>,
    /// Where the separator between data and index stands.
    pub meta_offset: u64,
    /// The bloom filter, if there is one.
    pub bloom: Option<BloomFilter>,
    /// Properties: raw bytes, usually text.
    pub properties: Vec<(String, Option<Box<[u8]>>)>,
}

impl Metadata {
    /// Whether the devices are rows of tables and not paths of a tree.
    #[must_use]
    pub fn is_table_model(&self) -> bool {
        !self.tables.is_empty()
    }

    /// The name of a device: a path in a tree file, segments between slashes in a table file. No two have the same.
    #[must_use]
    pub fn device_name(&self, id: &DeviceId) -> String {
        if self.is_table_model() { id.slashed() } else { id.to_string() }
    }

    /// The device of a [name](Self::device_name).
    ///
    /// # Errors
    /// As [`DeviceId::from_slashed`].
    pub fn device_id(&self, name: &str) -> Result<DeviceId, ErrorKind> {
        if self.is_table_model() { DeviceId::from_slashed(name) } else { name.parse() }
    }

    /// The name of a series of a device: that of the device, a dot (in a table file a space), the measurement.
    #[must_use]
    pub fn series_name(&self, id: &DeviceId, measurement: &str) -> String {
        let separator = if self.is_table_model() { ' ' } else { '.' };
        format!("{}{separator}{measurement}", self.device_name(id))
    }

    /// The table of this name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&TableSchema> {
        self.tables.iter().find(|table| &*table.name == name)
    }

    /// The text of a property.
    #[must_use]
    pub fn property(&self, key: &str) -> Option<&str> {
        let (_, value) = self.properties.iter().find(|(name, _)| name == key)?;
        core::str::from_utf8(value.as_deref()?).ok()
    }

    /// Reads both ends of a file.
    ///
    /// # Errors
    /// As [`read_head`] and [`read_tail`], and what is wrong with the metadata.
    pub fn read<S: Source + ?Sized>(source: &S, limits: &Limits) -> Poll<Self> {
        let len = source.len();
        let head = 0..len.min(DATA_START + 1);
        source.request(&[head, len.saturating_sub(TAIL_BYTES)..len])?;
        let version = read_head(source)?;
        let range = read_tail(source, limits)?;
        let bytes = source.bytes(range.clone())?;
        let metadata = Self::parse(version, range, bytes, limits)?;
        metadata.check_separator(source)?;
        Ok(metadata)
    }

    fn check_separator<S: Source + ?Sized>(&self, source: &S) -> Poll<()> {
        let at = self.meta_offset;
        let found = source.bytes(at..at + 1)?;
        if found == [SEPARATOR] {
            return Ok(());
        }
        let mut eight = [0; 8];
        eight[0] = found.first().copied().unwrap_or(0);
        Err(Error::new("separator", ErrorKind::Magic { expected: &[SEPARATOR], found: eight }).at(at).into())
    }

    fn parse(version: Version, range: Range<u64>, bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let start = range.start;
        let mut metadata = Self {
            version,
            range: range.clone(),
            roots: Vec::new(),
            tables: Vec::new(),
            meta_offset: 0,
            bloom: None,
            properties: Vec::new(),
        };
        let (rest, roots) = parse("index roots", start, bytes, |input| roots(version, range, input, limits))?;
        metadata.roots = roots;
        let at = |rest: &[u8]| start + (bytes.len() - rest.len()) as u64;
        let mut rest = rest;
        if version == Version::V4 {
            (rest, metadata.tables) =
                parse("table schemas", at(rest), rest, |input| repeat(input, limits, table_schema))?;
        }
        (rest, metadata.meta_offset) = parse("metadata offset", at(rest), rest, |input| {
            let (after, found) = int64(input)?;
            let max = start.saturating_sub(1);
            match u64::try_from(found) {
                Ok(offset) if (DATA_START..=max).contains(&offset) => Ok((after, offset)),
                _ => Err(WireError::at(
                    input,
                    ErrorKind::OutOfRange {
                        what: "metadata offset",
                        min: DATA_START,
                        max,
                        found: found as u64,
                    },
                )),
            }
        })?;
        metadata.parse_end(start + bytes.len() as u64, rest, limits)?;
        Ok(metadata)
    }

    /// Bloom filter and properties. Some writers of version 4 marked an absent filter with an `int32` 0, and
    /// some counted the properties unsigned: what uses all bytes is right.
    fn parse_end(&mut self, end: u64, input: &[u8], limits: &Limits) -> Result<(), Error> {
        let start = end - input.len() as u64;
        if self.version == Version::V3 && input.is_empty() {
            return Ok(());
        }
        let (rest, bloom) = parse("bloom filter", start, input, |input| bloom_filter(input, end))?;
        self.bloom = bloom;
        let at = end - rest.len() as u64;
        if self.version == Version::V3 {
            return crate::wire::parse_all("file metadata", at, rest, |input| Ok((input, ())));
        }
        let read = |input: &[u8], count: fn(&[u8]) -> Parsed<'_, u32>| {
            let at = end - input.len() as u64;
            crate::wire::parse_all("properties", at, input, |input| properties(input, count, limits))
        };
        let first = read(rest, signed_count);
        self.properties = match first {
            Ok(properties) => properties,
            Err(error) => {
                let int32_zero = rest.strip_prefix(&[0; 3]);
                let others = [(Some(rest), uvarint as fn(&[u8]) -> Parsed<'_, u32>)]
                    .into_iter()
                    .chain([(int32_zero, signed_count as _), (int32_zero, uvarint as _)]);
                others.filter_map(|(input, count)| read(input?, count).ok()).next().ok_or(error)?
            }
        };
        Ok(())
    }
}

/// Index roots: `UVarInt` count, then table name and root node each; in version 3 one root node.
fn roots<'a>(
    version: Version,
    range: Range<u64>,
    input: &'a [u8],
    limits: &Limits,
) -> Parsed<'a, Vec<IndexRoot>> {
    let root = |table: Option<&str>, input: &'a [u8]| {
        let start = range.end - input.len() as u64;
        let (rest, ()) = skip_root(version, input)?;
        let node = start..range.end - rest.len() as u64;
        Ok((rest, IndexRoot { table: table.map(Box::from), node }))
    };
    if version == Version::V3 {
        return root(None, input).map(|(rest, root)| (rest, alloc::vec![root]));
    }
    repeat(input, limits, |input| {
        let (rest, table) = var_string(input)?;
        root(Some(table.unwrap_or("")), rest)
    })
}

/// `UVarInt` count, then that many of `parser`.
fn repeat<'a, T>(
    input: &'a [u8],
    limits: &Limits,
    parser: impl Fn(&'a [u8]) -> Parsed<'a, T>,
) -> Parsed<'a, Vec<T>> {
    let (mut rest, count) = uvarint(input)?;
    check("entries", count.into(), limits.entries).map_err(|kind| WireError::at(input, kind))?;
    let mut items = Vec::new();
    for _ in 0..count {
        let item;
        (rest, item) = parser(rest)?;
        items.push(item);
    }
    Ok((rest, items))
}

fn table_schema(input: &[u8]) -> Parsed<'_, TableSchema> {
    let (rest, name) = var_string(input)?;
    let (mut rest, count) = uvarint(rest)?;
    let mut columns = Vec::new();
    for _ in 0..count {
        let column;
        (rest, column) = column_schema(rest)?;
        columns.push(column);
    }
    Ok((rest, TableSchema { name: name.unwrap_or("").into(), columns }))
}

fn column_schema(input: &[u8]) -> Parsed<'_, ColumnSchema> {
    let (rest, name) = string32(input)?;
    let (rest, dtype) = data_type(rest)?;
    let (rest, encoding) = encoding(rest)?;
    let (rest, compression) = compression(rest)?;
    let (mut rest, count) = int32(rest)?;
    let mut properties = Vec::new();
    for _ in 0..count {
        let (key, value);
        (rest, key) = string32(rest)?;
        (rest, value) = string32(rest)?;
        properties.push((key.unwrap_or("").into(), value.unwrap_or("").into()));
    }
    let (after, code) = int32(rest)?;
    let category = u8::try_from(code).ok().and_then(Category::from_code);
    let category = category.ok_or_else(|| unknown(rest, "column category", code as u32, 3))?;
    let name = name.unwrap_or("").into();
    Ok((after, ColumnSchema { name, dtype, encoding, compression, properties, category }))
}

fn unknown(input: &[u8], what: &'static str, found: u32, max: u64) -> nom::Err<WireError> {
    WireError::at(input, ErrorKind::OutOfRange { what, min: 0, max, found: found.into() })
}

/// A data type's code.
pub(crate) fn data_type(input: &[u8]) -> Parsed<'_, DataType> {
    let (rest, code) = byte(input)?;
    DataType::from_code(code)
        .map(|found| (rest, found))
        .ok_or_else(|| unknown(input, "data type", code.into(), 12))
}

/// An encoding's code.
pub(crate) fn encoding(input: &[u8]) -> Parsed<'_, Encoding> {
    let (rest, code) = byte(input)?;
    Encoding::from_code(code)
        .map(|found| (rest, found))
        .ok_or_else(|| unknown(input, "encoding", code.into(), 14))
}

/// A compression's code.
pub(crate) fn compression(input: &[u8]) -> Parsed<'_, Compression> {
    let (rest, code) = byte(input)?;
    Compression::from_code(code)
        .map(|found| (rest, found))
        .ok_or_else(|| unknown(input, "compression", code.into(), 9))
}

fn bloom_filter(input: &[u8], end: u64) -> Parsed<'_, Option<BloomFilter>> {
    let (rest, length) = uvarint(input)?;
    if length == 0 {
        return Ok((rest, None));
    }
    let start = end - rest.len() as u64;
    let (sizes, _) = crate::wire::take(rest, length.into())?;
    let (rest, bits) = uvarint(sizes)?;
    let (rest, hashes) = uvarint(rest)?;
    let filter = BloomFilter::new(start..start + u64::from(length), bits, hashes);
    let kind = match filter {
        Some(filter) => return Ok((rest, Some(filter))),
        None if bits == 0 => {
            ErrorKind::OutOfRange { what: "bits of the bloom filter", min: 1, max: u32::MAX.into(), found: 0 }
        }
        None => {
            let what = "hash functions of the bloom filter";
            ErrorKind::OutOfRange { what, min: 1, max: 8, found: hashes.into() }
        }
    };
    Err(WireError::at(sizes, kind))
}

/// The count of the properties is a signed `VarInt`.
fn signed_count(input: &[u8]) -> Parsed<'_, u32> {
    let (rest, count) = varint(input)?;
    match u32::try_from(count) {
        Ok(count) => Ok((rest, count)),
        Err(_) => Err(WireError::at(input, ErrorKind::Invalid("negative count of properties"))),
    }
}

type Property = (String, Option<Box<[u8]>>);

fn properties<'a>(
    input: &'a [u8],
    count: fn(&[u8]) -> Parsed<'_, u32>,
    limits: &Limits,
) -> Parsed<'a, Vec<Property>> {
    let (mut rest, found) = count(input)?;
    check("properties", found.into(), limits.entries).map_err(|kind| WireError::at(input, kind))?;
    let mut items = Vec::new();
    for _ in 0..found {
        let (key, value);
        (rest, key) = var_string(rest)?;
        (rest, value) = var_binary(rest)?;
        items.push((key.unwrap_or("").to_string(), value.map(Box::from)));
    }
    Ok((rest, items))
}
