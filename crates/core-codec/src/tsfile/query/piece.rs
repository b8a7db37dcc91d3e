//! Reads one piece page by page.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use super::plan::Piece;
use super::{Batch, Field, MEMORY, TimeRange};
use crate::error::{Error, ErrorKind};
use crate::limits::check;
use crate::source::{Poll, Source, Stop};
use crate::tsfile::chunk::{Chunk, Page, PageCursor, Role};
use crate::tsfile::column::Column;
use crate::tsfile::file::TsFile;
use crate::tsfile::page::PageDecoder;
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

/// A piece that is being read.
pub(super) struct PieceReader {
    pub(super) rank: u64,
    chunks: Arc<Chunks>,
    time: Option<PageCursor>,
    columns: Vec<PageCursor>,
    range: TimeRange,
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
        let mut columns = Vec::with_capacity(piece.columns.len());
        for (field, meta) in &piece.columns {
            let known = Known::read(file, source, &fields[*field].name, meta)?;
            let expected = if time.is_some() { Role::Value } else { Role::Plain };
            if known.chunk.role != expected {
                let kind =
                    ErrorKind::Invalid("chunk of an aligned column among others, or the other way round");
                return Err(Error::new("chunk", kind)
                    .at(meta.offset)
                    .item(fields[*field].name.clone())
                    .into());
            }
            columns.push((*field, known));
        }
        if let Some(known) = time.as_ref().filter(|known| known.chunk.role != Role::Time) {
            let kind = ErrorKind::Invalid("the time column has a chunk of values");
            return Err(Error::new("chunk", kind).at(known.chunk.offset).into());
        }
        Ok(Self {
            rank: piece.rank(),
            time: time.as_ref().map(|known| known.chunk.pages()),
            columns: columns.iter().map(|(_, known)| known.chunk.pages()).collect(),
            chunks: Arc::new(Chunks { time, columns, fields: fields.clone() }),
            range,
        })
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
            let mut pages = Vec::with_capacity(columns.len());
            for cursor in &mut columns {
                pages.push(cursor.next(source, limits)?);
            }
            (self.time, self.columns) = (time, columns);
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
        let pages = self.segment.iter().flat_map(|segment| {
            segment.time.iter().chain(segment.columns.iter().flatten()).map(|page| page.payload.clone())
        });
        pages.filter(|range| !range.is_empty())
    }

    /// Bytes of the pages as they are stored: a measure of what decoding takes.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.ranges().map(|range| range.end - range.start).sum()
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
        let Self { decoder, block, .. } = self;
        shape(block, &segment.chunks)?;
        let chunks = &*segment.chunks;
        match (&segment.time, &chunks.time) {
            (Some(page), Some(known)) => {
                decoder.times(source, &known.chunk, page, known.of(page), &mut block.times)?;
                let rows = block.times.len();
                // Pages without values cost the file nothing, but a row for each time here.
                let bytes = (rows as u64).saturating_mul(8 * (1 + chunks.columns.len() as u64));
                check("bytes of a range of rows", bytes, MEMORY)
                    .map_err(|kind| Error::new("page", kind).at(page.offset))?;
                let columns = chunks.columns.iter().zip(&segment.columns).zip(&mut block.columns);
                for (((_, known), page), column) in columns {
                    match page {
                        Some(page) => {
                            decoder.values(source, &known.chunk, page, known.of(page), rows, column)?;
                        }
                        None => {
                            column.clear();
                            column.push_nulls(rows).map_err(|kind| Error::new("page", kind))?;
                        }
                    }
                }
            }
            _ => {
                let (Some((_, known)), Some(Some(page)), Some(column)) =
                    (chunks.columns.first(), segment.columns.first(), block.columns.first_mut())
                else {
                    return Ok(());
                };
                decoder.rows(source, &known.chunk, page, known.of(page), &mut block.times, column)?;
            }
        }
        if !block.times.is_sorted_by(|a, b| a < b) {
            super::merge::sort(block).map_err(|kind| Error::new("times of a page", kind))?;
        }
        self.rows = self.range.cut(&block.times);
        Ok(())
    }

    /// How decoding went; taken once.
    pub(super) fn outcome(&mut self) -> Poll<()> {
        core::mem::replace(&mut self.result, Ok(()))
    }

    /// Offset of the first page, for errors.
    pub(super) fn offset(&self) -> u64 {
        let pages = self.segment.iter().flat_map(|s| s.time.iter().chain(s.columns.iter().flatten()));
        pages.map(|page| page.offset).next().unwrap_or(0)
    }

    /// Bytes that the rows take.
    pub(super) fn bytes(&self) -> usize {
        let columns: usize = self.block.columns.iter().map(|column| column.values.bytes()).sum();
        columns + 8 * self.block.times.len()
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
