//! The metadata block of a layer.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::dataset::Layer;
use super::name::Text;
use super::raw;
use super::tensor::{self, Tensor};
use super::types::{Compression, DataType};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::wire::{self, Parsed, WireError};

pub(super) const METADATA_BLOCK: &str = "metadata block";

/// One key of a layer's metadata.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: Text,
    /// Its value, or why it cannot be read.
    pub value: Result<Tensor, Error>,
}

/// What the metadata block of a layer says, in the order of the block.
#[derive(Clone, Debug)]
pub(super) struct Decoded {
    pub(super) layer_name: Box<[u8]>,
    pub(super) entries: Vec<(u16, Result<Tensor, Error>)>,
    pub(super) left_over: usize,
    /// Stored bytes after the stream of a compressed block.
    pub(super) rest: usize,
}

/// Decodes a stored metadata block.
pub(super) fn decode(layer: &Layer, stored: &[u8], limits: &Limits) -> Result<Decoded, Error> {
    let error = |kind| Error::new(METADATA_BLOCK, kind).at(layer.position()).item(layer.label());
    let unsupported =
        |code| error(ErrorKind::Unsupported("compression")).detail(alloc::format!("code {code}"));
    let code = layer.compression_code();
    let compression = Compression::from_code(code).ok_or_else(|| unsupported(code))?;
    let decoded;
    let mut rest = 0;
    let (block, raw) = match compression {
        Compression::None => (stored, true),
        Compression::Gzip => {
            (decoded, rest) = inflate(stored, limits).map_err(error)?;
            (&decoded[..], false)
        }
        Compression::Lz4 => {
            decoded = lz4(stored, limits).map_err(error)?;
            (&decoded[..], false)
        }
        _ => return Err(unsupported(code)),
    };
    // Offsets inside a compressed block are no offsets of the file: name its first byte instead.
    let parsed = parse(layer, block).map(|parsed| Decoded { rest, ..parsed });
    parsed.map_err(|error| {
        if raw {
            return error;
        }
        let offset = error.offset().unwrap_or(0).saturating_sub(layer.position());
        error.at(layer.position()).detail(alloc::format!("at byte {offset} of the decoded block"))
    })
}

#[cfg(feature = "deflate")]
fn inflate(stored: &[u8], limits: &Limits) -> Result<(Vec<u8>, usize), ErrorKind> {
    crate::codec::deflate::decode_bounded_and_rest(stored, limits.metadata_bytes)
}

#[cfg(not(feature = "deflate"))]
fn inflate(_: &[u8], _: &Limits) -> Result<(Vec<u8>, usize), ErrorKind> {
    super::codec::check_support(Compression::Gzip).map(|()| (Vec::new(), 0))
}

/// A `u64` size, then a raw block of that size.
fn lz4(stored: &[u8], limits: &Limits) -> Result<Vec<u8>, ErrorKind> {
    let available = stored.len() as u64;
    let (size, block) = stored.split_first_chunk().ok_or(ErrorKind::Truncated { needed: 8, available })?;
    let size = u64::from_le_bytes(*size);
    let max = (block.len() as u64).saturating_mul(super::codec::max_expansion(Compression::Lz4));
    if size > max {
        let what = "decoded bytes of the block, against the stored ones";
        return Err(ErrorKind::OutOfRange { what, min: 0, max, found: size });
    }
    let len = crate::limits::check("decoded bytes of the block", size, limits.metadata_bytes)?;
    let mut out = crate::limits::zeroed(len)?;
    super::codec::decode(Compression::Lz4, block, &mut out)?;
    Ok(out)
}

fn parse(layer: &Layer, block: &[u8]) -> Result<Decoded, Error> {
    let start = layer.position();
    let at = |rest: &[u8]| start + (block.len() - rest.len()) as u64;
    let named = |error: Error| error.item(layer.label());
    let (mut rest, (name, count)) =
        wire::parse(METADATA_BLOCK, start, block, raw::metadata_header).map_err(named)?;
    let mut entries = Vec::new();
    for _ in 0..count {
        let (tail, head) =
            wire::parse("metadata entry", at(rest), rest, raw::metadata_entry).map_err(named)?;
        let Some(dtype) = DataType::from_code(head.dtype) else {
            let error = Error::new("metadata entry", ErrorKind::Unsupported("data type"));
            let error = error.at(at(rest)).item(layer.label());
            // Its length is unknown, and so is where the next entry starts.
            entries.push((head.key, Err(error.detail(alloc::format!("code {}", head.dtype)))));
            return Ok(Decoded { layer_name: name.into(), entries, left_over: 0, rest: 0 });
        };
        let (tail, bytes) =
            wire::parse("metadata value", at(tail), tail, |input| value(input, dtype, &head.shape))
                .map_err(named)?;
        entries.push((head.key, Ok(Tensor::checked(dtype, &head.shape, owned(layer, bytes)?))));
        rest = tail;
    }
    Ok(Decoded { layer_name: name.into(), entries, left_over: rest.len(), rest: 0 })
}

/// A copy, or an error where the system has not as much memory.
fn owned(layer: &Layer, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).map_err(|_| {
        let kind = ErrorKind::Memory { needed: bytes.len() as u64 };
        Error::new(METADATA_BLOCK, kind).at(layer.position()).item(layer.label())
    })?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// The data of a value, without the total length of strings.
fn value<'a>(input: &'a [u8], dtype: DataType, shape: &[u64]) -> Parsed<'a, &'a [u8]> {
    let elements = tensor::element_count(shape).map_err(|kind| WireError::at(input, kind))?;
    if let Some(size) = dtype.size() {
        return wire::take(input, elements.saturating_mul(size as u64));
    }
    let (strings, _) = raw::strings_header(input)?;
    if elements > strings.len() as u64 / 4 {
        let kind =
            ErrorKind::Truncated { needed: elements.saturating_mul(4), available: strings.len() as u64 };
        return Err(WireError::at(strings, kind));
    }
    let mut rest = strings;
    for _ in 0..elements {
        rest = raw::string(rest)?.0;
    }
    Ok((rest, &strings[..strings.len() - rest.len()]))
}
