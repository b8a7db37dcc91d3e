//! Holds statistics, bloom filter and index of a file against its data.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;

use core_codec::tsfile::chunk::{Chunk, Page, PageCursor, Role};
use core_codec::tsfile::page::PageDecoder;
use core_codec::tsfile::query::{Batch, Piece, Plan, TimeRange};
use core_codec::tsfile::scan::{Entry, Scanner};
use core_codec::tsfile::{
    Bitmap, ChunkMetadata, Column, DataType, DeviceEntry, DeviceId, Encoding, Series, Statistics, Summary,
    Value, ValueStatistics, Values,
};
use core_codec::{ErrorKind, Severity};

use super::TsFile;
use crate::error::Error;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The series, or the part of the file.
    pub item: String,
    /// What it is.
    pub message: String,
}

/// A chunk that the index names: its offset, and a [hash](owner) of the series that it is of. Files have millions of
/// them, and names of any length.
type Indexed = (u64, u64);

fn owner(device: &DeviceId, measurement: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (device, measurement).hash(&mut hasher);
    hasher.finish()
}

/// The pages of a chunk, one after another.
struct Pages<'a> {
    chunk: Chunk,
    cursor: PageCursor,
    /// Of the chunk, by the index.
    statistics: Option<&'a Statistics>,
}

impl<'a> Pages<'a> {
    fn open(file: &TsFile, name: &str, meta: &'a ChunkMetadata, role: Role) -> Result<Self, Error> {
        let chunk = file.input.run(|source| file.reader.chunk(source, name, meta))?;
        if chunk.role != role {
            let kind = ErrorKind::Invalid("chunk of another role than its column has");
            return Err(core_codec::Error::new("chunk", kind).at(meta.offset).item(name).into());
        }
        Ok(Self { cursor: chunk.pages(), chunk, statistics: meta.statistics.as_ref() })
    }

    fn next(&mut self, file: &TsFile) -> Result<Option<Page>, Error> {
        file.input.run(|source| self.cursor.next(source, file.reader.limits()))
    }

    /// What there is to decode a page by: its own statistics or, where it is the only one, the chunk's.
    fn statistics<'s>(&'s self, page: &'s Page) -> Option<&'s Statistics> {
        if self.chunk.several_pages { page.statistics.as_ref() } else { self.statistics }
    }
}

/// The rows of a chunk, page by page: also of pages that have none, which a query passes over.
struct Decoded<'a> {
    /// Of aligned measurements.
    times: Option<Pages<'a>>,
    values: Pages<'a>,
    decoder: PageDecoder,
    /// The last time that was decoded.
    last: Option<i64>,
    rows: Batch,
}

impl<'a> Decoded<'a> {
    fn open(
        file: &TsFile,
        piece: &'a Piece,
        meta: &'a ChunkMetadata,
        series: &Series,
    ) -> Result<Self, Error> {
        let times = piece.time.as_ref().map(|meta| Pages::open(file, "", meta, Role::Time)).transpose()?;
        let role = if times.is_some() { Role::Value } else { Role::Plain };
        let values = Pages::open(file, &series.name, meta, role)?;
        let column = Column::new(series.dtype).ok_or_else(|| {
            let kind = ErrorKind::Unsupported("type of its values");
            core_codec::Error::new("column", kind).item(series.name.clone()).detail(series.dtype.name())
        })?;
        let rows = Batch { times: Vec::new(), columns: vec![column] };
        Ok(Self { times, values, decoder: file.reader.decoder(), last: None, rows })
    }

    /// Decodes the next page of values, and gives that of its times, too, where it is aligned; `None` at the end of the
    /// chunk. Aligned values without times are passed over.
    fn next(&mut self, file: &TsFile) -> Result<Option<(Page, Option<Page>)>, Error> {
        let Self { times: aligned, values, decoder, rows: Batch { times, columns }, .. } = self;
        let (Some(page), Some(column)) = (values.next(file)?, columns.first_mut()) else { return Ok(None) };
        let Some(aligned) = aligned else {
            let statistics = values.statistics(&page);
            file.input.run(|source| decoder.rows(source, &values.chunk, &page, statistics, times, column))?;
            return Ok(Some((page, None)));
        };
        let Some(time) = aligned.next(file)? else { return Ok(None) };
        let statistics = aligned.statistics(&time);
        file.input.run(|source| decoder.times(source, &aligned.chunk, &time, statistics, times))?;
        let (statistics, rows) = (values.statistics(&page), times.len());
        file.input.run(|source| decoder.values(source, &values.chunk, &page, statistics, rows, column))?;
        Ok(Some((page, Some(time))))
    }

    /// Whether the times of the page go on from those of the pages before.
    fn is_in_order(&mut self) -> bool {
        let times = &self.rows.times;
        let goes_on = times.first().is_none_or(|&first| self.last.is_none_or(|last| last < first));
        self.last = times.last().copied().or(self.last);
        goes_on && times.is_sorted_by(|a, b| a < b)
    }
}

/// What the values of a page or chunk are in truth.
#[derive(Default)]
struct Truth {
    count: u64,
    start: Option<i64>,
    end: Option<i64>,
    numbers: Option<Numbers>,
    texts: Option<Texts>,
}

/// Of strings, which may be large: what is several of them is held once.
struct Texts {
    first: Rc<[u8]>,
    last: Rc<[u8]>,
    min: Rc<[u8]>,
    max: Rc<[u8]>,
}

impl Texts {
    /// Those of a column; `None` where it has none, or is of a type whose statistics do not tell them.
    fn of(column: &Column, dtype: DataType) -> Option<Self> {
        if !matches!(dtype, DataType::Text | DataType::String) {
            return None;
        }
        let text = |row: usize| match column.get(row) {
            Some(Value::Binary(text)) => Some(text),
            _ => None,
        };
        let mut all = (0..column.validity.len()).filter_map(text);
        let first = all.next()?;
        let (mut last, mut min, mut max) = (first, first, first);
        for text in all {
            (last, min, max) = (text, min.min(text), max.max(text));
        }
        let mut held: Vec<Rc<[u8]>> = Vec::new();
        let mut hold = |text: &[u8]| {
            let known = held.iter().find(|known| ***known == *text).cloned();
            known.unwrap_or_else(|| {
                held.push(text.into());
                held[held.len() - 1].clone()
            })
        };
        Some(Self { first: hold(first), last: hold(last), min: hold(min), max: hold(max) })
    }

    /// Adds those of later rows.
    fn add(&mut self, later: Self) {
        self.last = later.last;
        if later.min < self.min {
            self.min = later.min;
        }
        if later.max > self.max {
            self.max = later.max;
        }
    }

    /// What of the statistics is not so: its name, what is stored and what there is.
    fn differences<'a>(
        &'a self,
        statistics: &'a ValueStatistics,
    ) -> impl Iterator<Item = (&'static str, &'a [u8], &'a [u8])> {
        let pairs: Vec<(&'static str, &[u8], &[u8])> = match statistics {
            ValueStatistics::Text { first, last } => {
                vec![("first value", first, &*self.first), ("last value", last, &self.last)]
            }
            ValueStatistics::String { first, last, min, max } => vec![
                ("first value", first, &*self.first),
                ("last value", last, &self.last),
                ("smallest value", min, &self.min),
                ("largest value", max, &self.max),
            ],
            _ => Vec::new(),
        };
        pairs.into_iter().filter(|(_, stored, found)| stored != found)
    }
}

/// Of numbers, as doubles and as wide integers.
#[derive(Clone, Copy)]
struct Numbers {
    first: Number,
    last: Number,
    min: Number,
    max: Number,
    sum: f64,
    /// Of the absolute values: what the rounding of the sum is measured by.
    scale: f64,
    whole: i64,
    nan: bool,
}

impl Numbers {
    /// Those of a column; `None` where it has none.
    fn of(column: &Column) -> Option<Self> {
        fn all<T: Copy>(values: &[T], present: &Bitmap, number: impl Fn(T) -> Number) -> Option<Numbers> {
            let rows = values.iter().enumerate().filter(|(row, _)| present.get(*row));
            let mut numbers = rows.map(|(_, &value)| Numbers::one(number(value)));
            let mut all = numbers.next()?;
            numbers.for_each(|number| all.add(number));
            Some(all)
        }
        let present = &column.validity;
        match &column.values {
            Values::Boolean(values) => all(values, present, |value| Number::Whole(value.into())),
            Values::Int32(values) => all(values, present, |value| Number::Whole(value.into())),
            Values::Int64(values) => all(values, present, Number::Whole),
            Values::Float(values) => all(values, present, |value| Number::Real(value.into())),
            Values::Double(values) => all(values, present, Number::Real),
            _ => None,
        }
    }

    fn one(number: Number) -> Self {
        let (real, whole) = match number {
            Number::Whole(value) => (value as f64, value),
            Number::Real(value) => (value, 0),
        };
        Self {
            first: number,
            last: number,
            min: number,
            max: number,
            sum: real,
            scale: real.abs(),
            whole,
            nan: real.is_nan(),
        }
    }

    /// Adds those of later rows.
    fn add(&mut self, later: Self) {
        self.last = later.last;
        if later.min < self.min {
            self.min = later.min;
        }
        if later.max > self.max {
            self.max = later.max;
        }
        self.sum += later.sum;
        self.scale += later.scale;
        self.whole = self.whole.wrapping_add(later.whole);
        self.nan |= later.nan;
    }
}

#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Number {
    Whole(i64),
    Real(f64),
}

impl Number {
    fn real(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Real(value) => value,
        }
    }

    fn same(self, other: Self) -> bool {
        self == other || (self.real().is_nan() && other.real().is_nan())
    }
}

impl Truth {
    /// Of the values of a page.
    fn of(rows: &Batch, dtype: DataType) -> Self {
        let Some(column) = rows.columns.first() else { return Self::default() };
        let present = |row: &usize| column.validity.get(*row);
        let all = 0..rows.rows();
        Self {
            count: column.validity.count() as u64,
            start: all.clone().find(present).map(|row| rows.times[row]),
            end: all.rev().find(present).map(|row| rows.times[row]),
            numbers: Numbers::of(column),
            texts: Texts::of(column, dtype),
        }
    }

    /// Adds times alone, as a column of them has them.
    fn add_times(&mut self, times: &[i64]) {
        self.count += times.len() as u64;
        self.start = self.start.or(times.first().copied());
        self.end = times.last().copied().or(self.end);
    }

    /// Adds how many values of another there are, and from when to when, wherever that lies.
    fn add_span(&mut self, other: &Self) {
        self.count += other.count;
        self.start = self.start.into_iter().chain(other.start).min();
        self.end = self.end.max(other.end);
    }

    /// Adds what is true of the next page of a chunk.
    fn add(&mut self, later: Self) {
        self.count += later.count;
        self.start = self.start.or(later.start);
        self.end = later.end.or(self.end);
        match (&mut self.numbers, later.numbers) {
            (Some(all), Some(later)) => all.add(later),
            (all, later) => *all = all.or(later),
        }
        match (&mut self.texts, later.texts) {
            (Some(all), Some(later)) => all.add(later),
            (all, later) => *all = all.take().or(later),
        }
    }

    /// What of `statistics` is not so of how many values there are, and from when to when.
    fn span_differences(&self, statistics: &Statistics) -> Vec<String> {
        let mut all = Vec::new();
        let mut differ = |what: &str, stored: &dyn std::fmt::Display, found: &dyn std::fmt::Display| {
            all.push(format!("{what}: the statistics say {stored}, the data {found}"));
        };
        if u64::from(statistics.count) != self.count {
            differ("count", &statistics.count, &self.count);
        }
        let (Some(start), Some(end)) = (self.start, self.end) else { return all };
        if statistics.start != start {
            differ("first time", &statistics.start, &start);
        }
        if statistics.end != end {
            differ("last time", &statistics.end, &end);
        }
        all
    }

    /// What of `statistics` is not so. `rounded` values are stored otherwise than they were counted.
    fn differences(&self, statistics: &Statistics, rounded: bool) -> Vec<String> {
        let mut all = self.span_differences(statistics);
        if self.count == 0 {
            return all;
        }
        let mut differ = |what: &str, stored: &dyn std::fmt::Display, found: &dyn std::fmt::Display| {
            all.push(format!("{what}: the statistics say {stored}, the data {found}"));
        };
        for (what, stored, found) in self.texts.iter().flat_map(|texts| texts.differences(&statistics.values))
        {
            differ(what, &shown(stored), &shown(found));
        }
        let Some(numbers) = self.numbers.filter(|_| !rounded) else { return all };
        let mut check = |what: &str, stored: Number, found: Number| {
            if !stored.same(found) {
                differ(what, &stored.real(), &found.real());
            }
        };
        let Some(stored) = stored(&statistics.values) else { return all };
        check("first value", stored.first, numbers.first);
        check("last value", stored.last, numbers.last);
        if let (Some((min, max)), false) = (stored.bounds, numbers.nan) {
            check("smallest value", min, numbers.min);
            check("largest value", max, numbers.max);
        }
        match stored.sum {
            Number::Whole(sum) => check("sum", Number::Whole(sum), Number::Whole(numbers.whole)),
            Number::Real(sum) => {
                let near = (sum - numbers.sum).abs() <= 1e-9 * numbers.scale;
                if !near && sum.is_finite() && numbers.sum.is_finite() {
                    differ("sum", &sum, &numbers.sum);
                }
            }
        }
        all
    }
}

/// The start of a text, for a message.
fn shown(text: &[u8]) -> String {
    const MOST: usize = 40;
    let dots = if text.len() > MOST { "..." } else { "" };
    format!("{:?}{dots}", String::from_utf8_lossy(&text[..text.len().min(MOST)]))
}

struct Stored {
    first: Number,
    last: Number,
    bounds: Option<(Number, Number)>,
    sum: Number,
}

fn stored(values: &ValueStatistics) -> Option<Stored> {
    fn of<T: Copy, S: Copy>(
        summary: &Summary<T, S>,
        number: impl Fn(T) -> Number,
        sum: impl Fn(S) -> Number,
    ) -> Stored {
        Stored {
            first: number(summary.first),
            last: number(summary.last),
            bounds: Some((number(summary.min), number(summary.max))),
            sum: sum(summary.sum),
        }
    }
    Some(match values {
        ValueStatistics::Boolean { first, last, sum } => Stored {
            first: Number::Whole((*first).into()),
            last: Number::Whole((*last).into()),
            bounds: None,
            sum: Number::Whole(*sum),
        },
        ValueStatistics::Int32(summary) => of(summary, |v| Number::Whole(v.into()), Number::Whole),
        ValueStatistics::Int64(summary) => of(summary, Number::Whole, Number::Real),
        ValueStatistics::Float(summary) => of(summary, |v| Number::Real(v.into()), Number::Real),
        ValueStatistics::Double(summary) => of(summary, Number::Real, Number::Real),
        _ => return None,
    })
}

impl TsFile {
    /// Reads all of the file, and says what is wrong or odd.
    ///
    /// Checked are the index (every chunk of the data section is in it, and the other way round), the bloom
    /// filter, the statistics of series, chunks and pages, and that every value can be decoded.
    ///
    /// # Errors
    /// Those of `emit`.
    pub fn verify<E>(&self, mut emit: impl FnMut(Finding) -> Result<(), E>) -> Result<(), E> {
        let mut indexed = Vec::new();
        for device in self.devices(None) {
            match device {
                Ok(device) => self.verify_device(&device, &mut indexed, &mut emit)?,
                Err(error) => emit(wrong("index", error.to_string()))?,
            }
        }
        indexed.sort_unstable();
        self.verify_places(&indexed, &mut emit)
    }

    /// Holds the chunks that the index names, by their offsets, against those of the data section.
    fn verify_places<E>(
        &self,
        mut indexed: &[Indexed],
        emit: &mut impl FnMut(Finding) -> Result<(), E>,
    ) -> Result<(), E> {
        let missing = |offset| {
            wrong("index", format!("names a chunk at byte {offset} that the data section does not have"))
        };
        let unreadable = |error: Error| wrong("data section", error.to_string());
        let mut scanner = match self.input.run(|source| Scanner::new(source, self.reader.limits())) {
            Ok(scanner) => scanner,
            Err(error) => return emit(unreadable(error)),
        };
        let mut device = DeviceId::new(Vec::new());
        loop {
            let chunk = match self.input.run(|source| scanner.next(source)) {
                Ok(Some(Entry::Chunk(chunk))) => chunk,
                Ok(Some(Entry::Group(id))) => {
                    device = id;
                    continue;
                }
                Ok(Some(_)) => continue,
                Ok(None) => break,
                // Nobody knows which chunks stand behind.
                Err(error) => return emit(unreadable(error)),
            };
            let at = chunk.offset;
            let here = |offset: u64| move |entry: &Indexed| entry.0 < offset;
            let (before, rest) = indexed.split_at(indexed.partition_point(here(at)));
            let (named, rest) = rest.split_at(rest.partition_point(here(at + 1)));
            indexed = rest;
            before.iter().try_for_each(|&(offset, _)| emit(missing(offset)))?;
            if named.is_empty() {
                emit(odd("index", format!("does not name the chunk at byte {at}")))?;
            }
            let found = owner(&device, &chunk.name);
            for _ in named.iter().filter(|(_, owner)| *owner != found) {
                let series = self.metadata().series_name(&device, &chunk.name);
                let message =
                    format!("gives the chunk at byte {at}, which is of {series}, to another series");
                emit(wrong("index", message))?;
            }
        }
        indexed.iter().try_for_each(|&(offset, _)| emit(missing(offset)))?;
        let (expected, found) = (self.metadata().meta_offset, scanner.position());
        if expected != found {
            let kind = ErrorKind::Mismatch { what: "end of the data", expected, found };
            emit(unreadable(core_codec::Error::new("data section", kind).at(found).into()))?;
        }
        Ok(())
    }

    fn verify_device<E>(
        &self,
        device: &DeviceEntry,
        indexed: &mut Vec<Indexed>,
        emit: &mut impl FnMut(Finding) -> Result<(), E>,
    ) -> Result<(), E> {
        let of_device = |message| wrong(&self.metadata().device_name(&device.id), message);
        match self.device(&device.id) {
            Ok(Some(found)) if found.node == device.node => {}
            Ok(_) => emit(of_device("is not found by its name".into()))?,
            Err(error) => emit(of_device(error.to_string()))?,
        }
        let time = match self.input.run(|source| self.reader.series(source, device, "")) {
            Ok(time) => time,
            Err(error) => return emit(of_device(error.to_string())),
        };
        let mut before: Option<Series> = None;
        for series in self.series(device) {
            let series = match series {
                Ok(series) => series,
                Err(error) => {
                    emit(of_device(error.to_string()))?;
                    continue;
                }
            };
            let owner = owner(&device.id, &series.name);
            indexed.extend(series.chunks.iter().map(|chunk| (chunk.offset, owner)));
            let of_series = |message| wrong(&self.metadata().series_name(&device.id, &series.name), message);
            match self.input.run(|source| self.reader.may_hold(source, &device.id, &series.name)) {
                Ok(true) => {}
                Ok(false) => emit(of_series("is not in the bloom filter".into()))?,
                Err(error) => emit(of_series(error.to_string()))?,
            }
            if before.as_ref().is_some_and(|before| before.name == series.name) {
                emit(of_series("is in the device more than once".into()))?;
            }
            if !series.is_time() {
                // The times of all columns are the same: they are told about with the first.
                let with_times = before.as_ref().is_none_or(Series::is_time);
                let (found, error) = self.verify_series(time.as_ref(), &series, with_times);
                found.into_iter().try_for_each(|message| emit(of_series(message)))?;
                error.map_or(Ok(()), |error| emit(of_series(error.to_string())))?;
            }
            before = Some(series);
        }
        Ok(())
    }

    /// What is not so, and why the rest could not be looked at.
    fn verify_series(
        &self,
        time: Option<&Series>,
        series: &Series,
        with_times: bool,
    ) -> (Vec<String>, Option<Error>) {
        let (mut found, mut values, mut times) = (Vec::new(), Truth::default(), Truth::default());
        let plan = Plan::of_series(time.cloned(), vec![series.clone()], TimeRange::ALL);
        for piece in &plan.pieces {
            match self.verify_piece(piece, series, with_times, &mut found) {
                Ok((of_values, of_times)) => {
                    values.add_span(&of_values);
                    times.add_span(&of_times);
                }
                Err(error) => return (found, Some(error)),
            }
        }
        let mut differ = |what: &str, statistics: &Statistics, truth: &Truth| {
            let differences = truth.span_differences(statistics);
            found.extend(differences.into_iter().map(|text| format!("{what}: {text}")));
        };
        differ("series", &series.statistics, &values);
        if let Some(time) = time.filter(|_| with_times) {
            differ("time column", &time.statistics, &times);
        }
        (found, None)
    }

    /// What the values and the times of a chunk are in truth.
    fn verify_piece(
        &self,
        piece: &Piece,
        series: &Series,
        with_times: bool,
        found: &mut Vec<String>,
    ) -> Result<(Truth, Truth), Error> {
        let (mut whole, mut times) = (Truth::default(), Truth::default());
        let Some((_, meta)) = piece.columns.first() else { return Ok((whole, times)) };
        let mut pages = Decoded::open(self, piece, meta, series)?;
        let Chunk { offset, dtype, encoding, .. } = pages.values.chunk;
        if dtype != series.dtype {
            found.push(format!("chunk at byte {offset} has type {dtype}"));
            return Ok((whole, times));
        }
        let rounded = matches!(encoding, Encoding::Rle | Encoding::Ts2Diff | Encoding::Sprintz)
            && matches!(dtype, DataType::Float | DataType::Double);
        let mut differ = |what: &str, at: u64, differences: Vec<String>| {
            found.extend(differences.into_iter().map(|text| format!("{what} at byte {at}: {text}")));
        };
        while let Some((page, time)) = pages.next(self)? {
            let at = page.offset;
            if !pages.is_in_order() {
                differ("page", at, vec!["its times are not in order".into()]);
            }
            let (of_page, mut of_times) = (Truth::of(&pages.rows, dtype), Truth::default());
            of_times.add_times(&pages.rows.times);
            times.add_times(&pages.rows.times);
            if let Some(stored) = &page.statistics {
                differ("page", at, of_page.differences(stored, rounded));
            }
            whole.add(of_page);
            if let Some((time, stored)) =
                time.as_ref().filter(|_| with_times).and_then(|time| Some((time, time.statistics.as_ref()?)))
            {
                differ("page of times", time.offset, of_times.span_differences(stored));
            }
        }
        if let Some(statistics) = &meta.statistics {
            differ("chunk", offset, whole.differences(statistics, rounded));
        }
        if let Some(time) = piece.time.as_ref().filter(|_| with_times)
            && let Some(statistics) = &time.statistics
        {
            differ("chunk of times", time.offset, times.span_differences(statistics));
        }
        Ok((whole, times))
    }
}

fn wrong(item: &str, message: String) -> Finding {
    Finding { severity: Severity::Error, item: item.into(), message }
}

fn odd(item: &str, message: String) -> Finding {
    Finding { severity: Severity::Warning, item: item.into(), message }
}
