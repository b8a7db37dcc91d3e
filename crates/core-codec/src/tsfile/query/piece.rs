//! Reads one piece page by page.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use super::plan::Piece;
use super::{Batch, Field, TimeRange, memory};
use crate::error::{Error, ErrorKind};
use crate::limits::check;
use crate::source::{Poll, Source, Stop};
use crate::tsfile::chunk::{Chunk, Page, PageCursor, Role};
use crate::tsfile::column::Column;
use crate::tsfile::file::TsFile;
use crate::tsfile::page::{EXPANSION, PageDecoder};
use crate::tsfile::series::ChunkMetadata;
use crate::tsfile::statistics::Statistics;

/// A chunk with the statistics that the index has of it.
#[derive(Debug)]
struct Known {
    chunk: Chunk,
    statistics: Option<Statistics>,
}

impl Known {
    fn read<S: Source + ?Sized>(file: &TsFile, source: &S, name: &str, meta: &ChunkMetadata) -> Poll<Self> {
        Ok(Self { chunk: file.chunk(source, name, meta)?, statistics: meta.statistics.clone() })
    }

    /// The chunk of a column, which has to be of this role.
    fn column<S: Source + ?Sized>(
        file: &TsFile,
        source: &S,
        name: &str,
        meta: &ChunkMetadata,
        role: Role,
    ) -> Poll<Self> {
        let known = Self::read(file, source, name, meta)?;
        if known.chunk.role == role {
            return Ok(known);
        }
        let kind = ErrorKind::Invalid("chunk of an aligned column among others, or the other way round");
        Err(Error::new("chunk", kind).at(meta.offset).item(name).into())
    }

    /// Statistics of a page: its own or, where it is the only one, the chunk's.
    fn of<'a>(&'a self, page: &'a Page) -> Option<&'a Statistics> {
        if self.chunk.several_pages { page.statistics.as_ref() } else { self.statistics.as_ref() }
    }
}

/// The chunks of a piece, shared by the pages that are being decoded.
#[derive(Debug)]
struct Chunks {
    time: Option<Known>,
    /// With the field of each.
    columns: Vec<(usize, Known)>,
    fields: Arc<[Field]>,
}

/// Pages of one row range: a time page and the value pages that belong to it, or one page of a plain chunk.
#[derive(Clone, Debug)]
struct Segment {
    chunks: Arc<Chunks>,
    time: Option<Page>,
    /// In the order of the columns; `None` where a column has no page here, which means no value.
    columns: Vec<Option<Page>>,
}

impl Segment {
    fn pages(&self) -> impl Iterator<Item = &Page> {
        self.time.iter().chain(self.columns.iter().flatten())
    }

    /// The payloads.
    fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.pages().map(|page| page.payload.clone()).filter(|range| !range.is_empty())
    }

    fn stored_bytes(&self) -> u64 {
        self.ranges().map(|range| range.end - range.start).sum()
    }

    fn expected(&self) -> u64 {
        let first = self.chunks.columns.first().map(|(_, known)| known).zip(self.columns.first());
        let times = match (&self.time, &self.chunks.time, first) {
            (Some(page), Some(known), _) => known.of(page),
            (_, _, Some((known, Some(page)))) => known.of(page),
            _ => None,
        };
        let times = times.map_or(0, |statistics| 8 * u64::from(statistics.count));
        let columns =
            self.columns.iter().map(|page| page.as_ref().map_or(0, |page| page.uncompressed.into()));
        columns.map(|bytes: u64| bytes.max(times)).sum::<u64>().saturating_add(times)
    }
}

/// A piece that is being read.
pub(super) struct PieceReader {
    pub(super) rank: u64,
    chunks: Arc<Chunks>,
    time: Option<PageCursor>,
    /// `None` for a column whose next page cannot be found.
    columns: Vec<Option<PageCursor>>,
    range: TimeRange,
    /// Why columns are left out.
    pub(super) failed: Vec<Failure>,
}

/// A field of which something cannot be read, and why.
pub(super) type Failure = (usize, Error);

/// What goes wrong with one of several columns is put down in `failed`, and the others are read.
fn alone<T>(result: Poll<T>, field: usize, fields: &[Field], failed: &mut Vec<Failure>) -> Poll<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Stop::Error(error)) if fields.len() > 1 => {
            failed.push((field, error));
            Ok(None)
        }
        Err(stop) => Err(stop),
    }
}

impl PieceReader {
    /// Reads the chunk headers of a piece.
    pub(super) fn open<S: Source + ?Sized>(
        file: &TsFile,
        source: &S,
        piece: &Piece,
        fields: &Arc<[Field]>,
        range: TimeRange,
    ) -> Poll<Self> {
        let time = match &piece.time {
            Some(meta) => Some(Known::read(file, source, "", meta)?),
            None => None,
        };
        let role = if time.is_some() { Role::Value } else { Role::Plain };
        let (mut columns, mut failed) = (Vec::with_capacity(piece.columns.len()), Vec::new());
        for (field, meta) in &piece.columns {
            let known = Known::column(file, source, &fields[*field].name, meta, role);
            columns.extend(alone(known, *field, fields, &mut failed)?.map(|known| (*field, known)));
        }
        if let Some(known) = time.as_ref().filter(|known| known.chunk.role != Role::Time) {
            let kind = ErrorKind::Invalid("the time column has a chunk of values");
            return Err(Error::new("chunk", kind).at(known.chunk.offset).into());
        }
        Ok(Self {
            rank: piece.rank(),
            time: time.as_ref().map(|known| known.chunk.pages()),
            columns: columns.iter().map(|(_, known)| Some(known.chunk.pages())).collect(),
            chunks: Arc::new(Chunks { time, columns, fields: fields.clone() }),
            range,
            failed,
        })
    }

    /// Name of the column, where it is not aligned.
    pub(super) fn name(&self) -> Option<Box<str>> {
        let (_, known) = self.chunks.columns.first().filter(|_| self.time.is_none())?;
        Some(known.chunk.name.clone())
    }

    /// Headers of the next pages that have rows in the range.
    fn next<S: Source + ?Sized>(&mut self, file: &TsFile, source: &S) -> Poll<Option<Segment>> {
        loop {
            // On copies, so that nothing has moved when bytes are missing.
            let mut time = self.time.clone();
            let mut columns = self.columns.clone();
            let limits = file.limits();
            let time_page = match &mut time {
                Some(cursor) => match cursor.next(source, limits)? {
                    Some(page) => Some(page),
                    None => return Ok(None),
                },
                None => None,
            };
            let (mut pages, mut failed) = (Vec::with_capacity(columns.len()), Vec::new());
            for (slot, (field, _)) in columns.iter_mut().zip(&self.chunks.columns) {
                let next = slot.as_mut().map_or(Ok(None), |cursor| cursor.next(source, limits));
                let page = alone(next, *field, &self.chunks.fields, &mut failed)?;
                if page.is_none() {
                    *slot = None;
                }
                pages.push(page.flatten());
            }
            (self.time, self.columns) = (time, columns);
            self.failed.append(&mut failed);
            let statistics = match (&time_page, &self.chunks.time) {
                (Some(page), Some(known)) => known.of(page),
                _ => match (pages.first(), self.chunks.columns.first()) {
                    (Some(Some(page)), Some((_, known))) => known.of(page),
                    _ => return Ok(None),
                },
            };
            if statistics.is_some_and(|found| found.outside(self.range.start, self.range.end)) {
                continue;
            }
            let chunks = self.chunks.clone();
            return Ok(Some(Segment { chunks, time: time_page, columns: pages }));
        }
    }

    /// Puts the next pages into `work`, or says that there are none.
    pub(super) fn take<S: Source + ?Sized>(
        &mut self,
        file: &TsFile,
        source: &S,
        work: &mut Work,
    ) -> Poll<bool> {
        work.segment = self.next(file, source)?;
        work.range = self.range;
        Ok(work.segment.is_some())
    }
}

/// Pages to be decoded, and then their rows.
///
/// Different ones can be decoded at once.
#[derive(Debug)]
pub struct Work {
    decoder: PageDecoder,
    segment: Option<Segment>,
    range: TimeRange,
    result: Poll<()>,
    /// Why columns of these pages are left out.
    pub(super) failed: Vec<Failure>,
    /// A column for each column of the piece.
    pub(super) block: Batch,
    /// Rows in the time range that have not been given yet.
    pub(super) rows: Range<usize>,
}

impl Work {
    pub(super) fn new(decoder: PageDecoder) -> Self {
        Self {
            decoder,
            segment: None,
            range: TimeRange::ALL,
            result: Ok(()),
            failed: Vec::new(),
            block: Batch::default(),
            rows: 0..0,
        }
    }

    /// The fields of the columns of the block.
    pub(super) fn field(&self, column: usize) -> usize {
        self.segment.as_ref().and_then(|segment| segment.chunks.columns.get(column)).map_or(0, |c| c.0)
    }

    /// Whether there are pages that have not been decoded or passed over.
    pub(super) fn is_waiting(&self) -> bool {
        self.segment.is_some()
    }

    /// Forgets the pages.
    pub(super) fn done(&mut self) {
        self.segment = None;
    }

    /// Statistics of the page of the first column.
    pub(super) fn statistics(&self) -> Option<&Statistics> {
        let segment = self.segment.as_ref()?;
        let page = segment.columns.first()?.as_ref()?;
        segment.chunks.columns.first()?.1.of(page)
    }

    /// Whether the first column has no value here.
    pub(super) fn is_empty_column(&self) -> bool {
        let page = self.segment.as_ref().and_then(|segment| segment.columns.first());
        page.and_then(Option::as_ref).is_none_or(|page| page.uncompressed == 0)
    }

    /// Payloads that decoding needs.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.segment.iter().flat_map(Segment::ranges)
    }

    /// Bytes of the pages as they are stored: a measure of what decoding takes.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.segment.as_ref().map_or(0, Segment::stored_bytes)
    }

    /// Bytes that the rows will take, by the headers of the pages.
    pub(super) fn expected(&self) -> u64 {
        self.segment.as_ref().map_or(0, Segment::expected)
    }

    /// The part of some bytes for these pages which good data would not take.
    pub(super) fn surplus(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.stored_bytes().saturating_mul(EXPANSION))
    }

    /// Decodes the pages. How it went is kept until the rows are asked for.
    pub fn run<S: Source + ?Sized>(&mut self, source: &S) {
        self.result = match self.segment.take() {
            Some(segment) => {
                let result = self.decode(source, &segment);
                self.segment = Some(segment);
                result
            }
            None => Ok(()),
        };
    }

    fn decode<S: Source + ?Sized>(&mut self, source: &S, segment: &Segment) -> Poll<()> {
        self.failed.clear();
        shape(&mut self.block, &segment.chunks)?;
        match (&segment.time, &segment.chunks.time) {
            (Some(page), Some(known)) => self.decode_aligned(source, segment, page, known)?,
            _ => self.decode_plain(source, segment)?,
        }
        let block = &mut self.block;
        if !block.times.is_sorted_by(|a, b| a < b) {
            super::merge::sort(block).map_err(|kind| Error::new("times of a page", kind))?;
        }
        self.rows = self.range.cut(&block.times);
        Ok(())
    }

    /// A time page, and the value page of each column; one that cannot be read is a column without values here.
    fn decode_aligned<S: Source + ?Sized>(
        &mut self,
        source: &S,
        segment: &Segment,
        page: &Page,
        known: &Known,
    ) -> Poll<()> {
        let Self { decoder, block, failed, .. } = self;
        let chunks = &*segment.chunks;
        decoder.times(source, &known.chunk, page, known.of(page), &mut block.times)?;
        let rows = block.times.len();
        // Pages without values cost the file nothing, but a row for each time here.
        let bytes = (rows as u64).saturating_mul(8 * (1 + chunks.columns.len() as u64));
        let most =
            memory(chunks.columns.len()).saturating_add(segment.stored_bytes().saturating_mul(EXPANSION));
        check("bytes of a range of rows", bytes, most)
            .map_err(|kind| Error::new("page", kind).at(page.offset))?;
        let columns = chunks.columns.iter().zip(&segment.columns).zip(&mut block.columns);
        for (((field, known), page), column) in columns {
            let decoded = match page {
                Some(page) => {
                    let values = decoder.values(source, &known.chunk, page, known.of(page), rows, column);
                    alone(values, *field, &chunks.fields, failed)?
                }
                None => None,
            };
            if decoded.is_none() {
                column.clear();
                column.push_nulls(rows).map_err(|kind| Error::new("page", kind))?;
            }
        }
        Ok(())
    }

    /// The page of a chunk that is not aligned; one that cannot be read has no rows.
    fn decode_plain<S: Source + ?Sized>(&mut self, source: &S, segment: &Segment) -> Poll<()> {
        let Self { decoder, block, failed, .. } = self;
        let chunks = &*segment.chunks;
        let (Some((field, known)), Some(Some(page)), Some(column)) =
            (chunks.columns.first(), segment.columns.first(), block.columns.first_mut())
        else {
            return Ok(());
        };
        let rows = decoder.rows(source, &known.chunk, page, known.of(page), &mut block.times, column);
        if alone(rows, *field, &chunks.fields, failed)?.is_none() {
            block.times.clear();
            column.clear();
        }
        Ok(())
    }

    /// How decoding went; taken once.
    pub(super) fn outcome(&mut self) -> Poll<()> {
        core::mem::replace(&mut self.result, Ok(()))
    }

    /// Offset of the first page, for errors.
    pub(super) fn offset(&self) -> u64 {
        self.segment.iter().flat_map(Segment::pages).map(|page| page.offset).next().unwrap_or(0)
    }

    /// Bytes of memory that it holds, used or not.
    pub(super) fn held(&self) -> u64 {
        (self.block.held() + self.decoder.held()) as u64
    }
}

/// Gives `block` columns of the types of the chunks; those that fit already keep their memory.
fn shape(block: &mut Batch, chunks: &Chunks) -> Result<(), Stop> {
    let dtypes = chunks.columns.iter().map(|(field, _)| chunks.fields[*field].dtype);
    let fits = block.columns.len() == chunks.columns.len()
        && block.columns.iter().zip(dtypes.clone()).all(|(column, dtype)| column.values.is_of(dtype));
    if fits {
        return Ok(());
    }
    block.columns.clear();
    for dtype in dtypes {
        let column = Column::new(dtype)
            .ok_or_else(|| Error::new("column", ErrorKind::Unsupported("type of its values")))?;
        block.columns.push(column);
    }
    Ok(())
}
