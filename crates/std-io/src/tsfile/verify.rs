//! Holds statistics, bloom filter and index of a file against its data.

use std::collections::BTreeMap;

use core_codec::Severity;
use core_codec::tsfile::query::{Batch, Piece, Plan, TimeRange};
use core_codec::tsfile::scan::{Entry, Scanner};
use core_codec::tsfile::{
    DataType, DeviceEntry, Encoding, Series, Statistics, Summary, Value, ValueStatistics,
};

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

/// The series that the chunk at an offset belongs to.
type Owners = BTreeMap<u64, String>;

/// What the values of a page or chunk are in truth.
#[derive(Default)]
struct Truth {
    count: u64,
    start: Option<i64>,
    end: Option<i64>,
    numbers: Option<Numbers>,
    texts: Option<Texts>,
}

/// Of strings.
struct Texts {
    first: Vec<u8>,
    last: Vec<u8>,
    min: Vec<u8>,
    max: Vec<u8>,
}

impl Texts {
    fn new(text: &[u8]) -> Self {
        Self { first: text.into(), last: text.into(), min: text.into(), max: text.into() }
    }

    fn add(&mut self, text: &[u8]) {
        set(&mut self.last, text);
        if *text < *self.min {
            set(&mut self.min, text);
        }
        if *text > *self.max {
            set(&mut self.max, text);
        }
    }

    /// What of the statistics is not so: its name, what is stored and what there is.
    fn differences<'a>(
        &'a self,
        statistics: &'a ValueStatistics,
    ) -> impl Iterator<Item = (&'static str, &'a [u8], &'a [u8])> {
        let pairs: Vec<(&'static str, &[u8], &[u8])> = match statistics {
            ValueStatistics::Text { first, last } => {
                vec![("first value", first, &self.first), ("last value", last, &self.last)]
            }
            ValueStatistics::String { first, last, min, max } => vec![
                ("first value", first, &self.first),
                ("last value", last, &self.last),
                ("smallest value", min, &self.min),
                ("largest value", max, &self.max),
            ],
            _ => Vec::new(),
        };
        pairs.into_iter().filter(|(_, stored, found)| stored != found)
    }
}

/// Replaces `to`, whose memory is used again.
fn set(to: &mut Vec<u8>, text: &[u8]) {
    to.clear();
    to.extend_from_slice(text);
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

#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Number {
    Whole(i64),
    Real(f64),
}

impl Number {
    fn of(value: Value<'_>) -> Option<Self> {
        Some(match value {
            Value::Boolean(value) => Self::Whole(value.into()),
            Value::Int32(value) => Self::Whole(value.into()),
            Value::Int64(value) => Self::Whole(value),
            Value::Float(value) => Self::Real(value.into()),
            Value::Double(value) => Self::Real(value),
            _ => return None,
        })
    }

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
    fn add(&mut self, time: i64, value: Value<'_>) {
        self.count += 1;
        self.start.get_or_insert(time);
        self.end = Some(time);
        if let Value::Binary(text) = value {
            match &mut self.texts {
                Some(texts) => texts.add(text),
                None => self.texts = Some(Texts::new(text)),
            }
        }
        let Some(number) = Number::of(value) else { return };
        let real = number.real();
        let whole = if let Number::Whole(value) = number { value } else { 0 };
        let Some(all) = &mut self.numbers else {
            self.numbers = Some(Numbers {
                first: number,
                last: number,
                min: number,
                max: number,
                sum: real,
                scale: real.abs(),
                whole,
                nan: real.is_nan(),
            });
            return;
        };
        all.last = number;
        all.min = if number < all.min { number } else { all.min };
        all.max = if number > all.max { number } else { all.max };
        all.sum += real;
        all.scale += real.abs();
        all.whole = all.whole.wrapping_add(whole);
        all.nan |= real.is_nan();
    }

    fn merge(&mut self, batch: &Batch) {
        let Some(column) = batch.columns.first() else { return };
        for (row, &time) in batch.times.iter().enumerate() {
            if let Some(value) = column.get(row) {
                self.add(time, value);
            }
        }
    }

    /// What of `statistics` is not so. `rounded` values are stored otherwise than they were counted.
    fn differences(&self, statistics: &Statistics, rounded: bool) -> Vec<String> {
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
        let mut indexed = Owners::new();
        for device in self.devices(None) {
            match device {
                Ok(device) => self.verify_device(&device, &mut indexed, &mut emit)?,
                Err(error) => emit(wrong("index", error.to_string()))?,
            }
        }
        let mut scanned = Owners::new();
        if let Err(error) = self.scan_chunks(&mut scanned) {
            emit(wrong("data section", error.to_string()))?;
        }
        for (offset, owner) in &indexed {
            match scanned.get(offset) {
                Some(found) if found == owner => {}
                Some(found) => {
                    let message =
                        format!("gives the chunk at byte {offset}, which is of {found}, to {owner}");
                    emit(wrong("index", message))?;
                }
                None => {
                    let message =
                        format!("names a chunk at byte {offset} that the data section does not have");
                    emit(wrong("index", message))?;
                }
            }
        }
        for offset in scanned.keys().filter(|offset| !indexed.contains_key(offset)) {
            emit(odd("index", format!("does not name the chunk at byte {offset}")))?;
        }
        Ok(())
    }

    fn scan_chunks(&self, owners: &mut Owners) -> Result<(), Error> {
        let limits = self.reader.limits();
        let mut scanner = self.input.run(|source| Scanner::new(source, limits))?;
        let mut device = String::new();
        while let Some(entry) = self.input.run(|source| scanner.next(source))? {
            match entry {
                Entry::Group(id) => device = id.to_string(),
                Entry::Chunk(chunk) => {
                    owners.insert(chunk.offset, format!("{device}.{}", chunk.name));
                }
                _ => {}
            }
        }
        let (expected, found) = (self.metadata().meta_offset, scanner.position());
        if expected != found {
            let kind = core_codec::ErrorKind::Mismatch { what: "end of the data", expected, found };
            return Err(core_codec::Error::new("data section", kind).at(found).into());
        }
        Ok(())
    }

    fn verify_device<E>(
        &self,
        device: &DeviceEntry,
        indexed: &mut Owners,
        emit: &mut impl FnMut(Finding) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.device(&device.id) {
            Ok(Some(found)) if found.node == device.node => {}
            Ok(_) => emit(wrong(&device.id.to_string(), "is not found by its name".into()))?,
            Err(error) => emit(wrong(&device.id.to_string(), error.to_string()))?,
        }
        let mut all = Vec::new();
        for series in self.series(device) {
            match series {
                Ok(series) => all.push(series),
                Err(error) => return emit(wrong(&device.id.to_string(), error.to_string())),
            }
        }
        let time = all.iter().find(|series| series.is_time()).cloned();
        for series in &all {
            let item = format!("{}.{}", device.id, series.name);
            indexed.extend(series.chunks.iter().map(|chunk| (chunk.offset, item.clone())));
            match self.input.run(|source| self.reader.may_hold(source, &device.id, &series.name)) {
                Ok(true) => {}
                Ok(false) => emit(wrong(&item, "is not in the bloom filter".into()))?,
                Err(error) => emit(wrong(&item, error.to_string()))?,
            }
            if !series.is_time() {
                let (found, error) = self.verify_series(time.as_ref(), series);
                for message in found {
                    emit(wrong(&item, message))?;
                }
                if let Some(error) = error {
                    emit(wrong(&item, error.to_string()))?;
                }
            }
        }
        Ok(())
    }

    /// What is not so, and why the rest could not be looked at.
    fn verify_series(&self, time: Option<&Series>, series: &Series) -> (Vec<String>, Option<Error>) {
        let mut found = Vec::new();
        let mut total = Truth::default();
        let plan = Plan::of_series(time.cloned(), vec![series.clone()], TimeRange::ALL);
        for piece in &plan.pieces {
            if let Err(error) = self.verify_piece(&plan, piece, series, &mut total, &mut found) {
                return (found, Some(error));
            }
        }
        if u64::from(series.statistics.count) != total.count {
            let (stored, count) = (series.statistics.count, total.count);
            found.push(format!("count of the series: the statistics say {stored}, the data {count}"));
        }
        (found, None)
    }

    fn verify_piece(
        &self,
        plan: &Plan,
        piece: &Piece,
        series: &Series,
        total: &mut Truth,
        found: &mut Vec<String>,
    ) -> Result<(), Error> {
        let Some((_, meta)) = piece.columns.first() else { return Ok(()) };
        let chunk = self.input.run(|source| self.reader.chunk(source, &series.name, meta))?;
        if chunk.dtype != series.dtype {
            found.push(format!("chunk at byte {} has type {}", chunk.offset, chunk.dtype));
            return Ok(());
        }
        let rounded = matches!(chunk.encoding, Encoding::Rle | Encoding::Ts2Diff | Encoding::Sprintz)
            && matches!(chunk.dtype, DataType::Float | DataType::Double);
        let mut pages = chunk.pages();
        let single = Plan { pieces: vec![piece.clone()], ..plan.clone() };
        let mut rows = self.read(single).serial();
        let (mut batch, mut whole) = (Batch::default(), Truth::default());
        while rows.next(&mut batch)? {
            let page = self.input.run(|source| pages.next(source, self.reader.limits()))?;
            let mut of_page = Truth::default();
            of_page.merge(&batch);
            whole.merge(&batch);
            total.merge(&batch);
            if let Some(statistics) = page.as_ref().and_then(|page| page.statistics.as_ref()) {
                let at = page.as_ref().map_or(0, |page| page.offset);
                let differences = of_page.differences(statistics, rounded);
                found.extend(differences.into_iter().map(|text| format!("page at byte {at}: {text}")));
            }
        }
        if let Some(statistics) = &meta.statistics {
            let differences = whole.differences(statistics, rounded);
            let at = chunk.offset;
            found.extend(differences.into_iter().map(|text| format!("chunk at byte {at}: {text}")));
        }
        Ok(())
    }
}

fn wrong(item: &str, message: String) -> Finding {
    Finding { severity: Severity::Error, item: item.into(), message }
}

fn odd(item: &str, message: String) -> Finding {
    Finding { severity: Severity::Warning, item: item.into(), message }
}
