//! Payloads of pages: decrypt, decompress, decode.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use crate::codec;
use crate::error::{Error, ErrorKind};
use crate::limits::{Limits, check, room};
use crate::source::{Poll, Source, Stop};
use crate::tsfile::chunk::{Chunk, Page, Role};
use crate::tsfile::column::{Column, Values};
use crate::tsfile::encoding::time::{Count, decode_times, decode_unnamed};
use crate::tsfile::encoding::{self, Flavour};
use crate::tsfile::encryption::{Encryption, PageKey};
use crate::tsfile::metadata::Metadata;
use crate::tsfile::statistics::{Statistics, Summary, ValueStatistics};
use crate::tsfile::types::{Compression, Encoding};
use crate::tsfile::wire::{int32, uvarint};

/// Whether and how the pages of a file can be read.
#[derive(Clone, Debug, Default)]
pub enum Access {
    /// They are not encrypted.
    #[default]
    Open,
    /// They are encrypted, and nobody gave the key.
    Locked(Encryption),
    /// They are encrypted with this key.
    Unlocked(PageKey),
}

impl Access {
    /// Access to the pages of a file without a key.
    #[must_use]
    pub fn new(metadata: &Metadata) -> Self {
        metadata.encryption().map_or(Self::Open, Self::Locked)
    }
}

/// Bytes of a buffer that is kept for the next page.
const KEPT: usize = 1 << 20;

/// Bytes that a row takes at least: its time and a value.
const ROW: u64 = 16;

/// Decoded bytes for each stored byte that data takes which is not made to fill memory.
pub(super) const EXPANSION: u64 = 16;

/// A way to decode a stream of times.
type TimeDecoder = fn(&[u8], Count, &mut Vec<i64>) -> Result<(), ErrorKind>;

/// Decodes pages; it keeps its buffers from one page to the next, unless they are large.
#[derive(Clone, Debug, Default)]
pub struct PageDecoder {
    limits: Limits,
    access: Access,
    decrypted: Vec<u8>,
    decompressed: Vec<u8>,
}

impl PageDecoder {
    /// A decoder of the pages of a file.
    #[must_use]
    pub fn new(limits: Limits, access: Access) -> Self {
        Self { limits, access, ..Self::default() }
    }

    /// Decrypts and decompresses the payload of a page, and says where it is.
    fn load<S: Source + ?Sized>(&mut self, source: &S, chunk: &Chunk, page: &Page) -> Poll<Payload> {
        let fail = |kind| Error::new("page", kind).at(page.payload.start).item(chunk.name.clone());
        let mut stored = source.bytes(page.payload.clone())?;
        let mut payload = Payload::Stored(page.payload.clone());
        match &self.access {
            Access::Open => {}
            Access::Locked(encryption) => {
                return Err(encryption.no_key().at(page.payload.start).item(chunk.name.clone()).into());
            }
            Access::Unlocked(key) => {
                self.decrypted.clear();
                room(&mut self.decrypted, stored.len()).map_err(fail)?;
                self.decrypted.extend_from_slice(stored);
                key.apply(&mut self.decrypted);
                stored = &self.decrypted;
                payload = Payload::Decrypted;
            }
        }
        let size = page.uncompressed as usize;
        if chunk.compression == Compression::Uncompressed {
            if stored.len() != size {
                let (expected, found) = (size as u64, stored.len() as u64);
                let kind = ErrorKind::Mismatch { what: "bytes of an uncompressed page", expected, found };
                return Err(Error::new("page", kind).at(page.offset).item(chunk.name.clone()).into());
            }
            return Ok(payload);
        }
        let missing = size.saturating_sub(self.decompressed.len());
        room(&mut self.decompressed, missing).map_err(fail)?;
        self.decompressed.resize(self.decompressed.len() + missing, 0);
        decompress(chunk.compression, stored, &mut self.decompressed[..size], &self.limits).map_err(fail)?;
        Ok(Payload::Decompressed(size))
    }

    /// The bytes of a payload.
    fn bytes<'a, S: Source + ?Sized>(&'a self, source: &'a S, payload: &Payload) -> Poll<&'a [u8]> {
        match payload {
            Payload::Stored(range) => source.bytes(range.clone()),
            Payload::Decrypted => Ok(&self.decrypted),
            Payload::Decompressed(size) => Ok(&self.decompressed[..*size]),
        }
    }

    /// Gives back buffers that are large, before others are needed.
    fn release(&mut self) {
        for buffer in [&mut self.decrypted, &mut self.decompressed] {
            if buffer.capacity() > KEPT {
                *buffer = Vec::new();
            }
        }
    }

    /// Bytes of memory that its buffers hold.
    #[must_use]
    pub fn held(&self) -> usize {
        self.decrypted.capacity() + self.decompressed.capacity()
    }

    /// Decodes the times of a page of a time chunk in place of what is in `times`.
    ///
    /// `statistics` are those of the page or, where it is the only one, of the chunk.
    ///
    /// # Errors
    /// What is wrong with the page.
    pub fn times<S: Source + ?Sized>(
        &mut self,
        source: &S,
        chunk: &Chunk,
        page: &Page,
        statistics: Option<&Statistics>,
        times: &mut Vec<i64>,
    ) -> Poll<()> {
        times.clear();
        let count =
            self.count(page, statistics).map_err(|kind| failure("times of a page", chunk, page, kind))?;
        if page.uncompressed == 0 {
            return Ok(());
        }
        let fail = |kind| failure("times of a page", chunk, page, kind);
        room(times, count.known.unwrap_or(0)).map_err(fail)?;
        let payload = self.load(source, chunk, page)?;
        let bytes = self.bytes(source, &payload)?;
        decode_times(chunk.encoding, bytes, count, times).map_err(fail)?;
        check_none(count, |count, out| decode_times(chunk.encoding, bytes, count, out)).map_err(fail)?;
        self.release();
        Ok(())
    }

    fn count(&self, page: &Page, statistics: Option<&Statistics>) -> Result<Count, ErrorKind> {
        let stored = page.payload.end - page.payload.start;
        let bytes = self.limits.block_bytes.saturating_add(stored.saturating_mul(EXPANSION));
        let most = check("rows of a page", bytes / ROW, u64::MAX)?;
        let known = statistics
            .map(|statistics| check("rows of a page", statistics.count.into(), most as u64))
            .transpose()?;
        Ok(Count { known, most })
    }

    /// Decodes a page of a value chunk into `column`, in place of what is in it: one row for each of `rows` times.
    ///
    /// # Errors
    /// What is wrong with the page; [`ErrorKind::Mismatch`] when it has another number of rows.
    pub fn values<S: Source + ?Sized>(
        &mut self,
        source: &S,
        chunk: &Chunk,
        page: &Page,
        statistics: Option<&Statistics>,
        rows: usize,
        column: &mut Column,
    ) -> Poll<()> {
        column.reuse();
        let fail = |kind| failure("values of a page", chunk, page, kind);
        if page.uncompressed == 0 {
            return Ok(column.push_nulls(rows).map_err(fail)?);
        }
        let payload = self.load(source, chunk, page)?;
        let bytes = self.bytes(source, &payload)?;
        let values = value_page(rows, bytes, column).map_err(fail)?;
        let at = bytes.len() - values.len();
        let count = column.validity.count();
        self.decode(source, chunk, statistics, (payload, at), count, &mut column.values)?.map_err(fail)?;
        Ok(column.values.spread(&column.validity).map_err(fail)?)
    }

    /// Decodes the values that stand in a payload from an offset to its end.
    fn decode<S: Source + ?Sized>(
        &mut self,
        source: &S,
        chunk: &Chunk,
        statistics: Option<&Statistics>,
        (payload, at): (Payload, usize),
        count: usize,
        out: &mut Values,
    ) -> Poll<Result<(), ErrorKind>> {
        let done = match (&payload, &mut *out) {
            (&Payload::Decompressed(size), Values::Binary(out))
                if chunk.encoding == Encoding::Plain && size > KEPT =>
            {
                let mut bytes = mem::take(&mut self.decompressed);
                bytes.truncate(size);
                encoding::plain::binary_within(bytes, at, count, out)
            }
            _ => decode_values(chunk, statistics, &self.bytes(source, &payload)?[at..], count, out),
        };
        self.release();
        Ok(done)
    }

    /// Decodes a page of a chunk that is not aligned, in place of what is in `times` and `column`.
    ///
    /// # Errors
    /// What is wrong with the page.
    pub fn rows<S: Source + ?Sized>(
        &mut self,
        source: &S,
        chunk: &Chunk,
        page: &Page,
        statistics: Option<&Statistics>,
        times: &mut Vec<i64>,
        column: &mut Column,
    ) -> Poll<()> {
        debug_assert!(chunk.role == Role::Plain);
        let mut read =
            |decode: TimeDecoder| self.rows_by(source, chunk, page, statistics, decode, times, column);
        let found = read(decode_unnamed);
        if statistics.is_some() || !matches!(found, Err(Stop::Error(_))) {
            return found;
        }
        // Small times in PLAIN look like blocks of TS_2DIFF: the values tell how many there are.
        read(|stream, count, out| decode_times(Encoding::Plain, stream, count, out))
            .or_else(|_| read(decode_unnamed))
    }

    #[expect(clippy::too_many_arguments, reason = "those of `rows`")]
    fn rows_by<S: Source + ?Sized>(
        &mut self,
        source: &S,
        chunk: &Chunk,
        page: &Page,
        statistics: Option<&Statistics>,
        decode_times: TimeDecoder,
        times: &mut Vec<i64>,
        column: &mut Column,
    ) -> Poll<()> {
        times.clear();
        column.reuse();
        let fail = |kind| failure("times of a page", chunk, page, kind);
        let count = self.count(page, statistics).map_err(fail)?;
        if page.uncompressed == 0 {
            return Ok(());
        }
        room(times, count.known.unwrap_or(0)).map_err(fail)?;
        let payload = self.load(source, chunk, page)?;
        let bytes = self.bytes(source, &payload)?;
        let (values, stream) = crate::wire::parse("page", page.offset, bytes, |input| {
            let (rest, length) = uvarint(input)?;
            crate::wire::take(rest, length.into())
        })
        // Offsets inside a decompressed payload are none of the file.
        .map_err(|error| fail(error.kind().clone()))?;
        decode_times(stream, count, times).map_err(fail)?;
        check_none(count, |count, out| decode_times(stream, count, out)).map_err(fail)?;
        let at = bytes.len() - values.len();
        self.decode(source, chunk, statistics, (payload, at), times.len(), &mut column.values)?
            .map_err(|kind| failure("values of a page", chunk, page, kind))?;
        column.validity.extend(true, times.len());
        Ok(())
    }
}

/// Sees to it that a page of which the statistics say that it has no rows has none.
fn check_none(
    count: Count,
    decode: impl FnOnce(Count, &mut Vec<i64>) -> Result<(), ErrorKind>,
) -> Result<(), ErrorKind> {
    let mut times = Vec::new();
    if count.known == Some(0)
        && decode(Count { known: None, ..count }, &mut times).is_ok()
        && !times.is_empty()
    {
        let found = times.len() as u64;
        return Err(ErrorKind::Mismatch { what: "rows by the statistics", expected: 0, found });
    }
    Ok(())
}

/// Where the payload of a page is, when it has been decrypted and decompressed.
enum Payload {
    /// In the file, as it is.
    Stored(Range<u64>),
    Decrypted,
    /// In so many bytes of the buffer.
    Decompressed(usize),
}

fn failure(structure: &'static str, chunk: &Chunk, page: &Page, kind: ErrorKind) -> Error {
    let encoding = chunk.encoding.to_string();
    Error::new(structure, kind).at(page.offset).item(chunk.name.clone()).detail(encoding)
}

fn decompress(
    compression: Compression,
    stored: &[u8],
    out: &mut [u8],
    limits: &Limits,
) -> Result<(), ErrorKind> {
    let _ = limits;
    match compression {
        Compression::Snappy => codec::snappy::decode(stored, out),
        Compression::Lzo => codec::lzo::decode(stored, out),
        #[cfg(feature = "deflate")]
        Compression::Gzip if stored.starts_with(&[0x1f, 0x8b]) => codec::deflate::decode(stored, out),
        #[cfg(feature = "deflate")]
        Compression::Gzip => Err(ErrorKind::Codec { codec: "gzip", reason: "no gzip member" }),
        #[cfg(feature = "lz4")]
        Compression::Lz4 => codec::lz4::decode(stored, out),
        #[cfg(any(feature = "zstd", feature = "zstd-c"))]
        Compression::Zstd => codec::zstd::decode(stored, out),
        #[cfg(feature = "xz")]
        Compression::Lzma2 => codec::xz::decode(stored, out, limits.block_bytes.saturating_mul(2)),
        Compression::Uncompressed => Err(ErrorKind::Invalid("not compressed")),
        Compression::Sdt => Err(ErrorKind::Unsupported("compression SDT")),
        Compression::Paa => Err(ErrorKind::Unsupported("compression PAA")),
        Compression::Pla => Err(ErrorKind::Unsupported("compression PLA")),
        #[allow(unreachable_patterns)]
        _ => Err(ErrorKind::Unsupported("compression (its codec is not built in)")),
    }
}

/// Takes `int32` rows and a bitmap of the rows that have a value, and returns these values.
fn value_page<'a>(rows: usize, payload: &'a [u8], column: &mut Column) -> Result<&'a [u8], ErrorKind> {
    let (rest, found) = encoding::part(int32, payload)?;
    if u64::try_from(found) != Ok(rows as u64) {
        let (expected, found) = (rows as u64, u64::from(found as u32));
        return Err(ErrorKind::Mismatch { what: "rows of a value page", expected, found });
    }
    let bitmap_bytes = rows.div_ceil(8);
    let Some((bitmap, values)) = rest.split_at_checked(bitmap_bytes) else {
        return Err(ErrorKind::Truncated { needed: bitmap_bytes as u64, available: rest.len() as u64 });
    };
    column.validity.set_msb(bitmap, rows);
    Ok(values)
}

/// Decodes values; where the writers disagree, the statistics tell which of them it was.
fn decode_values(
    chunk: &Chunk,
    statistics: Option<&Statistics>,
    input: &[u8],
    count: usize,
    out: &mut Values,
) -> Result<(), ErrorKind> {
    let (dtype, encoding) = (chunk.dtype, chunk.encoding);
    if !out.is_of(dtype) {
        return Err(ErrorKind::Invalid("chunks of one column differ in type"));
    }
    let first = encoding::decode(encoding, dtype, Flavour::Cpp, input, count, out);
    if !encoding::has_flavours(encoding, dtype) {
        return first;
    }
    let known =
        statistics.map(|statistics| &statistics.values).filter(|values| **values != ValueStatistics::None);
    if first.is_ok() && known.is_some_and(|values| agrees(values, out)) {
        return Ok(());
    }
    let mut other = Values::new(dtype).ok_or(ErrorKind::Unsupported("type"))?;
    let second = encoding::decode(encoding, dtype, Flavour::Java, input, count, &mut other);
    match known {
        _ if second.is_err() => first,
        None if first.is_ok() && same_bits(out, &other) => first,
        None if first.is_ok() => {
            Err(ErrorKind::Unsupported("values that two writers encode differently, without statistics"))
        }
        Some(values) if first.is_ok() && !agrees(values, &other) => first,
        _ => {
            *out = other;
            Ok(())
        }
    }
}

/// Whether the values are the same, NaN being equal to itself.
fn same_bits(one: &Values, other: &Values) -> bool {
    match (one, other) {
        (Values::Float(one), Values::Float(other)) => {
            one.iter().map(|v| v.to_bits()).eq(other.iter().map(|v| v.to_bits()))
        }
        (Values::Double(one), Values::Double(other)) => {
            one.iter().map(|v| v.to_bits()).eq(other.iter().map(|v| v.to_bits()))
        }
        _ => one == other,
    }
}

/// Whether first, last, smallest and largest value are those of the statistics.
fn agrees(statistics: &ValueStatistics, values: &Values) -> bool {
    /// `same` compares bits, so that NaN equals itself; `less` is false for NaN, which so is never smallest.
    fn check<T: Copy, S>(
        stored: &Summary<T, S>,
        values: &[T],
        same: impl Fn(T, T) -> bool,
        less: impl Fn(T, T) -> bool,
    ) -> bool {
        let (Some(&first), Some(&last)) = (values.first(), values.last()) else { return true };
        let outside = |&value: &T| less(value, stored.min) || less(stored.max, value);
        same(first, stored.first) && same(last, stored.last) && !values.iter().any(outside)
    }
    match (statistics, values) {
        (ValueStatistics::Int32(stored), Values::Int32(values)) => {
            check(stored, values, |a, b| a == b, |a, b| a < b)
        }
        (ValueStatistics::Int64(stored), Values::Int64(values)) => {
            check(stored, values, |a, b| a == b, |a, b| a < b)
        }
        (ValueStatistics::Float(stored), Values::Float(values)) => {
            check(stored, values, |a, b| a.to_bits() == b.to_bits(), |a, b| a < b)
        }
        (ValueStatistics::Double(stored), Values::Double(values)) => {
            check(stored, values, |a, b| a.to_bits() == b.to_bits(), |a, b| a < b)
        }
        _ => true,
    }
}
