//! Which chunks hold what a query asks for.

use alloc::vec::Vec;

use super::{Field, TimeRange};
use crate::error::{Error, ErrorKind};
use crate::source::{Poll, Source, Stop};
use crate::tsfile::column::Values;
use crate::tsfile::encoding::is_supported;
use crate::tsfile::file::TsFile;
use crate::tsfile::index::DeviceEntry;
use crate::tsfile::series::{ChunkMetadata, Series};
use crate::tsfile::statistics::Statistics;

/// A chunk, or a time chunk with the value chunks that belong to it.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The time chunk of aligned measurements.
    pub time: Option<ChunkMetadata>,
    /// Chunks by the index of their field; of a piece without time chunk there is one.
    pub columns: Vec<(usize, ChunkMetadata)>,
    /// By the statistics; all times where there are none.
    pub range: TimeRange,
}

impl Piece {
    fn new(time: Option<ChunkMetadata>, columns: Vec<(usize, ChunkMetadata)>) -> Option<Self> {
        let first = time.as_ref().or(columns.first().map(|(_, chunk)| chunk))?;
        let range = match &first.statistics {
            Some(Statistics { start, end, .. }) => TimeRange { start: *start, end: *end },
            None => TimeRange::ALL,
        };
        Some(Self { time, columns, range })
    }

    /// Of two pieces with the same time the one that stands later in the file wins.
    #[must_use]
    pub fn rank(&self) -> u64 {
        self.time.as_ref().or(self.columns.first().map(|(_, chunk)| chunk)).map_or(0, |chunk| chunk.offset)
    }

    fn overlaps(&self, range: TimeRange) -> bool {
        let chunk = self.time.as_ref().or(self.columns.first().map(|(_, chunk)| chunk));
        match chunk.and_then(|chunk| chunk.statistics.as_ref()) {
            Some(statistics) => !statistics.outside(range.start, range.end),
            None => true,
        }
    }
}

/// What a query reads.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The columns that it gives.
    pub fields: Vec<Field>,
    /// The chunks, by their first time.
    pub pieces: Vec<Piece>,
    /// The times that it gives.
    pub range: Option<TimeRange>,
    /// Whether rows may come late, out of order: those of a chunk that starts earlier than its statistics say. They are an
    /// error otherwise.
    pub any_order: bool,
    /// Why columns are left out: type or encoding of one that was not named cannot be read, or what the index says
    /// of one among several.
    pub left_out: Vec<Error>,
}

impl Plan {
    /// The rows of `device` in `range`. `columns` are measurements in the order of the fields; `None` is all that
    /// can be read; the others are [`left_out`](Self::left_out). Names that the device does not have are passed
    /// over. The bloom filter is not asked: what the index says of the device is read anyway, and holds also where the
    /// filter denies it.
    ///
    /// # Errors
    /// What is wrong with the index, or with what it says of the only column; [`ErrorKind::Unsupported`] for a column that is named and has no values that
    /// can be read.
    pub fn new<S: Source + ?Sized>(
        file: &TsFile,
        source: &S,
        device: &DeviceEntry,
        columns: Option<&[&str]>,
        range: TimeRange,
    ) -> Poll<Self> {
        let mut left_out = Vec::new();
        let (time, series) = match columns {
            None => {
                let (all, damage) = file.readable_series(source, device)?;
                left_out = damage;
                let (time, mut series) = split_time(all);
                series.dedup_by(|second, first| {
                    let twice = second.name == first.name;
                    if twice {
                        let kind = ErrorKind::Invalid("the device has more than one of this name");
                        left_out.push(Error::new("series", kind).item(second.name.clone()));
                    }
                    twice
                });
                if time.is_none() && !left_out.is_empty() {
                    // It may be what cannot be read, and then nothing can.
                    file.series(source, device, "")?;
                }
                (time, series)
            }
            Some(names) => {
                let time = file.series(source, device, "")?;
                let mut series = Vec::new();
                for &name in names.iter().filter(|name| !name.is_empty()) {
                    match file.series(source, device, name) {
                        Err(Stop::Error(error)) if names.len() > 1 => left_out.push(error),
                        found => series.extend(found?),
                    }
                }
                (time, series)
            }
        };
        let mut plan_series = Vec::with_capacity(series.len());
        for series in series {
            match unreadable(file, source, &series, columns.is_none())? {
                None => plan_series.push(series),
                Some(error) if columns.is_some() => return Err(error.into()),
                Some(error) => left_out.push(error),
            }
        }
        Ok(Self { left_out, ..Self::of_series(time, plan_series, range) })
    }

    /// The rows of these series, which are aligned if there is a time column.
    #[must_use]
    pub fn of_series(time: Option<Series>, series: Vec<Series>, range: TimeRange) -> Self {
        let fields =
            series.iter().map(|series| Field { name: series.name.clone(), dtype: series.dtype }).collect();
        let pieces = match time {
            Some(time) => aligned(time, series),
            None => series.into_iter().enumerate().flat_map(|(field, series)| plain(field, series)).collect(),
        };
        let mut pieces: Vec<Piece> = pieces.into_iter().filter(|piece| piece.overlaps(range)).collect();
        pieces.sort_by_key(|piece| (piece.range.start, piece.rank()));
        Self { fields, pieces, range: Some(range), any_order: false, left_out: Vec::new() }
    }
}

/// Why a column cannot be read, by its type and, if `look` says so, by the encoding of its first chunk.
fn unreadable<S: Source + ?Sized>(
    file: &TsFile,
    source: &S,
    series: &Series,
    look: bool,
) -> Poll<Option<Error>> {
    let error = |kind, detail: &str| Error::new("column", kind).item(series.name.clone()).detail(detail);
    if Values::new(series.dtype).is_none() {
        return Ok(Some(error(ErrorKind::Unsupported("type of its values"), series.dtype.name())));
    }
    let Some(first) = series.chunks.first().filter(|_| look) else { return Ok(None) };
    let chunk = match file.chunk(source, &series.name, first) {
        // Whoever reads it is told, and the other chunks are read.
        Err(Stop::Error(_)) => return Ok(None),
        found => found?,
    };
    if is_supported(chunk.encoding, chunk.dtype) {
        return Ok(None);
    }
    Ok(Some(error(ErrorKind::Unsupported("encoding of its values"), chunk.encoding.name())))
}

fn split_time(mut series: Vec<Series>) -> (Option<Series>, Vec<Series>) {
    let time = series.iter().position(Series::is_time).map(|index| series.remove(index));
    (time, series)
}

fn plain(field: usize, series: Series) -> impl Iterator<Item = Piece> {
    series.chunks.into_iter().filter_map(move |chunk| Piece::new(None, alloc::vec![(field, chunk)]))
}

/// The time chunk of each value chunk: the last one that stands before it. Where that gives one two of them, since
/// all times stand before all values, the one of the same number.
fn homes(times: &[ChunkMetadata], chunks: &[ChunkMetadata]) -> Vec<Option<usize>> {
    let before =
        |chunk: &ChunkMetadata| times.partition_point(|time| time.offset < chunk.offset).checked_sub(1);
    let homes: Vec<Option<usize>> = chunks.iter().map(before).collect();
    let distinct = homes.is_sorted_by(|a, b| a < b);
    let after_their_own =
        homes.iter().enumerate().all(|(number, home)| home.is_some_and(|home| home >= number));
    if !distinct && chunks.len() == times.len() && after_their_own {
        return (0..chunks.len()).map(Some).collect();
    }
    homes
}

/// Pieces of a time chunk and its value chunks. A column may have none in one, which means no values; of two the
/// later one wins.
fn aligned(time: Series, series: Vec<Series>) -> Vec<Piece> {
    let mut times = time.chunks;
    times.sort_by_key(|chunk| chunk.offset);
    let mut columns: Vec<Vec<(usize, ChunkMetadata)>> = alloc::vec![Vec::new(); times.len()];
    for (field, series) in series.into_iter().enumerate() {
        let mut chunks = series.chunks;
        chunks.sort_by_key(|chunk| chunk.offset);
        for (home, chunk) in homes(&times, &chunks).into_iter().zip(chunks) {
            let Some(piece) = home.and_then(|home| columns.get_mut(home)) else { continue };
            match piece.last_mut() {
                Some((last, earlier)) if *last == field => *earlier = chunk,
                _ => piece.push((field, chunk)),
            }
        }
    }
    times.into_iter().zip(columns).filter_map(|(time, columns)| Piece::new(Some(time), columns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(offsets: &[u64]) -> Vec<ChunkMetadata> {
        offsets.iter().map(|&offset| ChunkMetadata { offset, statistics: None }).collect()
    }

    #[test]
    fn value_chunks_find_their_times() {
        let homes = |times: &[u64], values: &[u64]| homes(&chunks(times), &chunks(values));
        assert_eq!(homes(&[10, 20], &[11, 21]), [Some(0), Some(1)]);
        assert_eq!(homes(&[10, 20], &[21]), [Some(1)]);
        assert_eq!(homes(&[10, 20], &[30, 40]), [Some(0), Some(1)]);
        assert_eq!(homes(&[10, 20], &[11, 12]), [Some(0), Some(0)]);
        assert_eq!(homes(&[10, 20], &[5]), [None]);
    }
}
