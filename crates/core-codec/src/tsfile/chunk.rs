//! Chunks and their pages: headers and where the payloads are.

use alloc::boxed::Box;
use core::ops::Range;

use crate::error::{Error, ErrorKind};
use crate::limits::{Limits, check};
use crate::source::{Poll, Source};
use crate::tsfile::metadata::{compression, data_type, encoding};
use crate::tsfile::series::read_at;
use crate::tsfile::statistics::Statistics;
use crate::tsfile::types::{Compression, DataType, Encoding};
use crate::tsfile::wire::{byte, uvarint, var_string};
use crate::wire::{Parsed, WireError};

/// The bit of a marker of a time chunk.
pub const TIME_BIT: u8 = 0x80;
/// The bit of a marker of a value chunk of aligned measurements.
pub const VALUE_BIT: u8 = 0x40;
const KIND_BITS: u8 = 0x3f;

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Times and values of one measurement.
    Plain,
    /// The times of aligned measurements.
    Time,
    /// The values of one of them.
    Value,
}

/// A chunk: its header and where its pages are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Offset of its marker.
    pub offset: u64,
    /// By the bits of its marker.
    pub role: Role,
    /// Whether it may have several pages, each with statistics of its own.
    pub several_pages: bool,
    /// Name of the measurement; empty in a time chunk.
    pub name: Box<str>,
    /// Type of its values; VECTOR in a time chunk.
    pub dtype: DataType,
    /// Compression of its pages.
    pub compression: Compression,
    /// Encoding of its values, or of its times in a time chunk.
    pub encoding: Encoding,
    /// Where its pages are.
    pub data: Range<u64>,
}

fn header(input: &[u8]) -> Parsed<'_, (Chunk, u32)> {
    let (rest, marker) = byte(input)?;
    let several_pages = match marker & KIND_BITS {
        1 => true,
        5 => false,
        _ => {
            return Err(WireError::at(
                input,
                ErrorKind::Magic { expected: &[1, 5], found: [marker, 0, 0, 0, 0, 0, 0, 0] },
            ));
        }
    };
    let role = match marker & !KIND_BITS {
        0 => Role::Plain,
        TIME_BIT => Role::Time,
        VALUE_BIT => Role::Value,
        _ => return Err(WireError::at(input, ErrorKind::Invalid("chunk of times and of values at once"))),
    };
    let (rest, name) = var_string(rest)?;
    let (rest, size) = uvarint(rest)?;
    let (rest, dtype) = data_type(rest)?;
    let (rest, compression) = compression(rest)?;
    let (rest, encoding) = encoding(rest)?;
    let name = name.unwrap_or("").into();
    let chunk = Chunk { offset: 0, role, several_pages, name, dtype, compression, encoding, data: 0..0 };
    Ok((rest, (chunk, size)))
}

impl Chunk {
    /// Reads the header of the chunk at `offset`; the data section ends at `end`.
    ///
    /// # Errors
    /// What is wrong with the header; [`ErrorKind::Truncated`] when its data does not end before `end`.
    pub fn read<S: Source + ?Sized>(source: &S, offset: u64, end: u64, limits: &Limits) -> Poll<Self> {
        let ((mut chunk, size), start) = read_at(source, "chunk header", offset..end, limits, header)?;
        let available = end - start;
        if u64::from(size) > available {
            let kind = ErrorKind::Truncated { needed: size.into(), available };
            return Err(Error::new("chunk", kind).at(start).item(chunk.name).into());
        }
        chunk.offset = offset;
        chunk.data = start..start + u64::from(size);
        Ok(chunk)
    }

    /// The pages of this chunk.
    #[must_use]
    pub fn pages(&self) -> PageCursor {
        PageCursor {
            range: self.data.clone(),
            dtype: self.dtype,
            several: self.several_pages,
            name: self.name.clone(),
        }
    }
}

/// A page: its header and where its payload is.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// Offset of its header.
    pub offset: u64,
    /// Bytes of the payload when decompressed; 0 is a page without values.
    pub uncompressed: u32,
    /// Statistics, in a chunk of several pages.
    pub statistics: Option<Statistics>,
    /// The payload as it is stored.
    pub payload: Range<u64>,
}

type PageHeader = (u32, u32, Option<Statistics>);

fn page_header(input: &[u8], dtype: DataType, several: bool) -> Parsed<'_, PageHeader> {
    let (rest, uncompressed) = uvarint(input)?;
    if uncompressed == 0 {
        return Ok((rest, (0, 0, None)));
    }
    let (mut rest, compressed) = uvarint(rest)?;
    let mut statistics = None;
    if several {
        let found;
        (rest, found) = Statistics::parse(dtype, rest)?;
        statistics = Some(found);
    }
    Ok((rest, (uncompressed, compressed, statistics)))
}

/// Goes through the pages of a chunk.
#[derive(Clone, Debug)]
pub struct PageCursor {
    range: Range<u64>,
    dtype: DataType,
    several: bool,
    name: Box<str>,
}

/// Chunks up to this size are asked for as a whole, larger ones page by page.
const WHOLE_CHUNK: u64 = 1 << 20;

impl PageCursor {
    /// Header of the next page, and where its payload is.
    ///
    /// # Errors
    /// What is wrong with the header.
    pub fn next<S: Source + ?Sized>(&mut self, source: &S, limits: &Limits) -> Poll<Option<Page>> {
        if self.range.is_empty() {
            return Ok(None);
        }
        if self.range.end - self.range.start <= WHOLE_CHUNK {
            source.request(core::slice::from_ref(&self.range))?;
        }
        let (dtype, several) = (self.dtype, self.several);
        let offset = self.range.start;
        let ((uncompressed, compressed, statistics), start) =
            read_at(source, "page header", self.range.clone(), limits, |input| {
                page_header(input, dtype, several)
            })?;
        let fail = |kind, at| Error::new("page", kind).at(at).item(self.name.clone());
        let available = self.range.end - start;
        if u64::from(compressed) > available {
            return Err(fail(ErrorKind::Truncated { needed: compressed.into(), available }, start).into());
        }
        check("bytes of the page", uncompressed.into(), limits.block_bytes)
            .map_err(|kind| fail(kind, offset))?;
        let most = u64::from(compressed).saturating_mul(limits.expansion);
        check("bytes of the page", uncompressed.into(), most).map_err(|kind| fail(kind, offset))?;
        let end = start + u64::from(compressed);
        if !several && end != self.range.end {
            return Err(
                fail(ErrorKind::Invalid("bytes left over behind the only page of a chunk"), end).into()
            );
        }
        self.range.start = end;
        Ok(Some(Page { offset, uncompressed, statistics, payload: start..end }))
    }
}
