//! The bytes of each structure, field by field: nothing here knows what the fields mean together.

use alloc::vec::Vec;

use nom::Parser;
use nom::number::complete::{le_u8, le_u16, le_u32, le_u64};

use crate::error::ErrorKind;
use crate::wire::{Parsed, WireError, take};

/// What every file starts with.
pub const MAGIC: &[u8; 6] = b"STARDS";
/// The only format version there is.
pub const VERSION: u8 = 1;
/// Bytes of the fixed file header.
pub const FILE_HEADER_LEN: u64 = 31;
/// What every metadata block starts with.
pub const METADATA_MAGIC: &[u8; 8] = b"STARMETA";
/// The only version of a metadata block.
pub const METADATA_VERSION: u8 = 1;
/// Bytes of a [`BlockInfo`].
pub const BLOCK_INFO_LEN: u64 = 24;

/// "1. Fixed file header".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Bytes of sections 1 to 5, counted from the start of the file.
    pub header_size: u64,
    /// Index entries.
    pub entry_count: u64,
    /// Named layers; the base layer is not counted.
    pub layer_count: u32,
    /// Keys in the registry.
    pub key_count: u32,
}

/// Fixed bytes, with what stands in their place when they differ.
fn magic<'a>(input: &'a [u8], expected: &'static [u8]) -> Parsed<'a, ()> {
    let (rest, bytes) = take(input, expected.len() as u64)?;
    if bytes == expected {
        return Ok((rest, ()));
    }
    let mut found = [0; 8];
    found[..bytes.len()].copy_from_slice(bytes);
    Err(WireError::at(input, ErrorKind::Magic { expected, found }))
}

/// A version byte that must be `expected`.
fn version(input: &[u8], expected: u8) -> Parsed<'_, ()> {
    let (rest, found) = le_u8(input)?;
    if found == expected {
        return Ok((rest, ()));
    }
    let kind = ErrorKind::Mismatch { what: "format version", expected: expected.into(), found: found.into() };
    Err(WireError::at(input, kind))
}

/// "1. Fixed file header".
///
/// # Errors
/// [`ErrorKind::Magic`], [`ErrorKind::Mismatch`] for another version, [`ErrorKind::Truncated`].
pub fn file_header(input: &[u8]) -> Parsed<'_, FileHeader> {
    let (rest, ()) = magic(input, MAGIC)?;
    let (rest, ()) = version(rest, VERSION)?;
    let (rest, (header_size, entry_count, layer_count, key_count)) =
        (le_u64, le_u64, le_u32, le_u32).parse(rest)?;
    Ok((rest, FileHeader { header_size, entry_count, layer_count, key_count }))
}

/// A name with a length of two bytes.
fn name(input: &[u8]) -> Parsed<'_, &[u8]> {
    let (rest, len) = le_u16(input)?;
    take(rest, len.into())
}

/// One entry of "2. Global key registry": the key and its hash.
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn key_entry(input: &[u8]) -> Parsed<'_, (&[u8], u64)> {
    (name, le_u64).parse(input)
}

/// One entry of "3. Layer metadata registry".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerEntry<'a> {
    /// Name of the layer.
    pub name: &'a [u8],
    /// Absolute offset of the metadata block.
    pub position: u64,
    /// Stored bytes of the metadata block.
    pub size: u32,
    /// Code of the codec of the metadata block.
    pub compression: u8,
    /// Registry indices of the metadata keys.
    pub keys: Vec<u16>,
}

/// One entry of "3. Layer metadata registry".
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn layer_entry(input: &[u8]) -> Parsed<'_, LayerEntry<'_>> {
    let (rest, (name, position, size, compression, keys)) =
        (name, le_u64, le_u32, le_u8, le_u16).parse(input)?;
    let (rest, keys) = words(rest, keys.into(), u16::from_le_bytes)?;
    Ok((rest, LayerEntry { name, position, size, compression, keys }))
}

/// `len` integers of `N` bytes; nothing is allocated before they are all there.
fn words<const N: usize, T>(input: &[u8], len: u64, from: fn([u8; N]) -> T) -> Parsed<'_, Vec<T>> {
    let (rest, bytes) = take(input, len.saturating_mul(N as u64))?;
    Ok((rest, bytes.as_chunks::<N>().0.iter().copied().map(from).collect()))
}

/// One bitmap of "4. Layer presence bitmaps", for `entry_count` index entries.
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn bitmap(input: &[u8], entry_count: u64) -> Parsed<'_, Vec<u64>> {
    words(input, entry_count.div_ceil(64), u64::from_le_bytes)
}

/// "Block metadata": one stored block of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Offset from the position of the array.
    pub offset: u64,
    /// Stored bytes.
    pub stored: u64,
    /// Bytes once decoded.
    pub decoded: u64,
}

/// One entry of "5. Index entries".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Index of the storage key in the registry.
    pub key: u16,
    /// Absolute offset of the data.
    pub position: u64,
    /// Stored bytes of all blocks; stale in some files.
    pub total_bytes: u64,
    /// Code of the element type.
    pub dtype: u8,
    /// Size of each dimension; none for a scalar.
    pub shape: Vec<u64>,
    /// Code of the codec.
    pub compression: u8,
    /// Bytes of a decoded block; wrong in some files.
    pub block_size: u64,
    /// The blocks.
    pub blocks: Vec<BlockInfo>,
    /// Whether the value stands in the metadata block instead; 0 in version 1.
    pub in_metadata: u8,
}

/// One entry of "5. Index entries".
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn index_entry(input: &[u8]) -> Parsed<'_, IndexEntry> {
    let (rest, (key, position, total_bytes, dtype, ndim)) =
        (le_u16, le_u64, le_u64, le_u8, le_u64).parse(input)?;
    let (rest, shape) = words(rest, ndim, u64::from_le_bytes)?;
    let (rest, (compression, block_size, block_count)) = (le_u8, le_u64, le_u64).parse(rest)?;
    let (rest, table) = take(rest, block_count.saturating_mul(BLOCK_INFO_LEN))?;
    let mut blocks = Vec::with_capacity(table.len() / BLOCK_INFO_LEN as usize);
    let mut left = table;
    while !left.is_empty() {
        let (next, block) = block_info(left)?;
        blocks.push(block);
        left = next;
    }
    let (rest, in_metadata) = le_u8(rest)?;
    let entry =
        IndexEntry { key, position, total_bytes, dtype, shape, compression, block_size, blocks, in_metadata };
    Ok((rest, entry))
}

/// "Block metadata".
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn block_info(input: &[u8]) -> Parsed<'_, BlockInfo> {
    let (rest, (offset, stored, decoded)) = (le_u64, le_u64, le_u64).parse(input)?;
    Ok((rest, BlockInfo { offset, stored, decoded }))
}

/// The start of a decoded metadata block: the layer's name and the number of entries.
///
/// # Errors
/// [`ErrorKind::Magic`], [`ErrorKind::Mismatch`] for another version, [`ErrorKind::Truncated`].
pub fn metadata_header(input: &[u8]) -> Parsed<'_, (&[u8], u16)> {
    let (rest, ()) = magic(input, METADATA_MAGIC)?;
    let (rest, ()) = version(rest, METADATA_VERSION)?;
    (name, le_u16).parse(rest)
}

/// What precedes the data of one metadata value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataEntry {
    /// Index of the key in the registry.
    pub key: u16,
    /// Code of the element type.
    pub dtype: u8,
    /// Size of each dimension; none for a scalar.
    pub shape: Vec<u64>,
}

/// What precedes the data of one metadata value.
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn metadata_entry(input: &[u8]) -> Parsed<'_, MetadataEntry> {
    let (rest, (key, dtype, ndim)) = (le_u16, le_u8, le_u8).parse(input)?;
    let (rest, shape) = words(rest, ndim.into(), u64::from_le_bytes)?;
    Ok((rest, MetadataEntry { key, dtype, shape }))
}

/// The payload of strings: the `u32` sum that precedes them, and the rest of the input.
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn strings_header(input: &[u8]) -> Parsed<'_, u32> {
    le_u32(input)
}

/// One string.
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn string(input: &[u8]) -> Parsed<'_, &[u8]> {
    let (rest, len) = le_u32(input)?;
    take(rest, len.into())
}
