//! A whole trace in a few columns, at a bounded cost.

use std::ops::Range;

use core_codec::izs::model::{EntityId, Field, FieldValue, Kind, StreamId, Summary};
use core_codec::izs::{Dialect, Element};

use super::{IzsFile, IzsStream, numbers};
use crate::error::Error;

/// Elements that stand for a column, where there are too many to read.
const SAMPLE: u64 = 4096;

/// What finding and starting to decode a block costs, in decoded bytes.
const BLOCK: u64 = 64;

/// What a column of a field takes, in bytes.
const COLUMN: u64 = size_of::<Option<Extent>>() as u64;

/// Bytes of data that are not worth looking for a summary.
const SMALL: u64 = 256 << 10;

/// The lowest and the highest value in a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
}

impl Extent {
    /// What both cover.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// One field in columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The field.
    pub entity: EntityId,
    /// Its extent in each column; none where nothing is known.
    pub columns: Vec<Option<Extent>>,
}

/// Where an overview comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// From all elements.
    Data,
    /// From a level of a summary, in which one group stands for this many elements.
    Summary(u64),
    /// From some elements of each column: extremes can be missed.
    Samples,
    /// From nothing, since a single sample is over the budget.
    Nothing,
}

/// The traces of an entity over a range of elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// One for each field.
    pub traces: Vec<Trace>,
    /// The first element of each column, and the end of the last. A column that comes from a summary starts at a
    /// group of it, at most a quarter of a column early; of the elements between its bounds, and of no others,
    /// its extent is exact.
    pub bounds: Vec<u64>,
    /// Where they come from.
    pub basis: Basis,
    /// What of the budget it took.
    pub cost: u64,
}

impl IzsFile {
    /// Shows `elements` of an entity in `width` columns, a `tagged` field as its tag. Uses the coarsest summary level that is fine enough,
    /// else all elements where that is within the budget, else samples of as many columns as are.
    ///
    /// The budget is in decoded bytes; an element counts once more for each further field of more than one bit. Blocks are
    /// decoded as a whole, so that it has to be a few of them: a few MiB where blocks are as large as those of our writers.
    /// Without columns, and with a budget that is too small even for a sample, there is nothing to see; see
    /// [`Overview::basis`].
    ///
    /// ```
    /// # use core_codec::izs::Element;
    /// # use core_codec::izs::model::{Kind, SchemaBuilder};
    /// # use std_io::{IzsFile, IzsWriter, WriteOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("capture.izs");
    /// # let mut schema = SchemaBuilder::new(Kind::Group);
    /// # let adc = schema.add(schema.root(), "adc", Kind::Int { bits: 12 })?;
    /// # schema.attribute(adc, "time:rate", 1000)?;
    /// # schema.attribute(adc, "number:scale", 0.5)?;
    /// # let stream = schema.stream(adc, Element::U16)?;
    /// # let mut writer = IzsWriter::create(&path, schema.finish()?, &WriteOptions::default().summaries(true))?;
    /// # writer.push(stream, &(0..5000).collect::<Vec<u16>>())?;
    /// # writer.finish()?.commit()?;
    /// let file = IzsFile::open(&path)?;
    /// let adc = file.schema().find("adc").expect("the file has one");
    /// let overview = file.overview(adc, 0..file.rows(adc)?, 100, 4 << 20)?;
    /// assert_eq!(overview.traces[0].columns.len(), 100);
    /// assert_eq!(file.values(adc, 7..8)?, [7_u64.into()]);
    /// assert_eq!(file.quantities(adc, 7..8)?, [3.5]);
    /// assert_eq!(file.times(adc, 7..8)?[0].to_string(), "0.007");
    /// # Ok::<(), std_io::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the entity has no readable stream, the range passes its end, or a block is damaged.
    pub fn overview(
        &self,
        entity: EntityId,
        elements: Range<u64>,
        width: usize,
        budget: u64,
    ) -> Result<Overview, Error> {
        let (id, mut fields) = self.fields(entity)?;
        fields.iter_mut().for_each(narrow_to_tag);
        let stream = self.stream(id)?;
        stream.reader().blocks_of(&elements)?;
        let wide = fields.iter().filter(|field| field.width != 1).count() as u64;
        let own_cost = (fields.len() as u64).saturating_mul(width as u64).saturating_mul(COLUMN);
        let Some(affordable) = budget.checked_sub(own_cost) else {
            return Ok(Columns::new(&[], elements, width).finish(Basis::Nothing, 0));
        };
        let mut columns = Columns::new(&fields, elements.clone(), width);
        if width == 0 || elements.is_empty() {
            return Ok(columns.finish(Basis::Data, own_cost));
        }
        let data_cost = cost(&stream, &elements, wide);
        if data_cost > affordable.min(SMALL)
            && let Some((level, shift)) = self.level(id, &fields, elements.end - elements.start, width)
        {
            let parts = Parts::new(&level, shift, &elements);
            let parts_cost = parts.cost(&stream, &level, wide);
            if !parts.pairs.is_empty() && parts_cost <= affordable {
                columns.grain = shift;
                fold_level(&stream, &level, parts, shift, &mut columns)?;
                return Ok(columns.finish(Basis::Summary(1 << shift), own_cost + parts_cost));
            }
        }
        let element = stream.descriptor().element;
        if data_cost <= affordable {
            stream.for_each_part(elements, |range, bytes| {
                columns.fold(range.start, element, bytes);
                Ok::<_, Error>(())
            })?;
            return Ok(columns.finish(Basis::Data, own_cost + data_cost));
        }
        let spent = sample(&stream, &mut columns, wide, affordable)?;
        let basis = if spent == 0 { Basis::Nothing } else { Basis::Samples };
        Ok(columns.finish(basis, own_cost + spent))
    }

    /// One element of each of `width` columns of `elements`, with its index: that of a stream of timestamps tells
    /// where a time is. Where a `skip` summary is fine enough, the elements that it holds are taken, so that few
    /// blocks are decoded; they lie at most a column from its start. Without one, the columns' first elements
    /// are read.
    ///
    /// # Errors
    /// When the stream is not readable, the range passes its end, or a block is damaged.
    pub fn picks(&self, id: StreamId, elements: Range<u64>, width: usize) -> Result<Vec<(u64, u64)>, Error> {
        let stream = self.stream(id)?;
        stream.reader().blocks_of(&elements)?;
        let columns = Columns::new(&[], elements.clone(), width);
        let firsts = (0..width as u64).map(|column| columns.first_of(column)).filter(|&at| at < elements.end);
        let mut firsts: Vec<u64> = firsts.collect();
        firsts.dedup();
        let element = stream.descriptor().element;
        let read = |stream: &IzsStream, at: u64| -> Result<u64, Error> {
            Ok(numbers(element, &stream.read_bytes(at..at + 1)?).next().unwrap_or(0))
        };
        let entity = &self.schema()[self.schema()[id].entity()];
        let skip = entity.summaries().iter().find(|summary| &*summary.key == "skip");
        let last = stream.descriptor().dialect == Dialect::V001;
        let spacing = (elements.end - elements.start) / (width as u64).max(1);
        let level = skip.and_then(|summary| {
            let base = u32::from(summary.base_level?);
            let place = spacing
                .checked_ilog2()?
                .checked_sub(base)?
                .min((summary.levels.len() as u32).checked_sub(1)?);
            let level = self.stream(*summary.levels.get(place as usize)?).ok()?;
            (level.descriptor().element == element).then_some((level, base + place))
        });
        let Some((level, shift)) = level else {
            return firsts.into_iter().map(|at| Ok((at, read(&stream, at)?))).collect();
        };
        let pick = |at: u64| {
            // The first group whose element is not before the column.
            let group = if last { at >> shift } else { at.div_ceil(1 << shift) };
            let index = if last { (group << shift) + ((1 << shift) - 1) } else { group << shift };
            match group < level.len() && index < elements.end {
                true => Ok((index, read(&level, group)?)),
                false => Ok((at, read(&stream, at)?)),
            }
        };
        firsts.into_iter().map(pick).collect()
    }

    /// The coarsest level that still has four groups for each column.
    fn level(
        &self,
        id: StreamId,
        fields: &[Field],
        elements: u64,
        width: usize,
    ) -> Option<(IzsStream<'_>, u32)> {
        let entity = &self.schema()[self.schema()[id].entity()];
        let element = self.stream(id).ok()?.descriptor().element;
        let summary = entity.summaries().iter().find(|summary| serves(summary, fields, element))?;
        let base = u32::from(summary.base_level?);
        let fits = |shift: u32| shift < 61 && (4u64 << shift).saturating_mul(width as u64) <= elements;
        let (place, shift) =
            (0..).zip(base..).take(summary.levels.len()).take_while(|(_, shift)| fits(*shift)).last()?;
        let level = self.stream(*summary.levels.get::<usize>(place)?).ok()?;
        // Pairs must not be torn between blocks.
        let usable = level.descriptor().element == element && level.descriptor().block.is_multiple_of(2);
        usable.then_some((level, shift))
    }
}

/// Of a `tagged` field the tag is shown: what its other bits mean differs from element to element.
fn narrow_to_tag(field: &mut Field) {
    if let Kind::Tagged { tag_bits } = field.kind {
        field.width = (*tag_bits).into();
    }
}

/// Folds the first elements of as many columns as can be afforded; what that cost.
fn sample(data: &IzsStream, columns: &mut Columns, wide: u64, affordable: u64) -> Result<u64, Error> {
    let width = columns.width as u64;
    let block = data.descriptor().block;
    let part_of = |columns: &Columns, column: u64| {
        let first = columns.first_of(column);
        let block_end = (first / block + 1).saturating_mul(block);
        let next = columns.first_of(column + 1).max(first.saturating_add(1));
        first..next.min(block_end).min(first.saturating_add(SAMPLE)).min(columns.elements.end)
    };
    let most = cost(data, &part_of(columns, 0), wide).max(1);
    let count = (affordable / most).min(width);
    let mut spent = 0;
    for sample in 0..count {
        let part = part_of(columns, sample * width / count);
        let cost = cost(data, &part, wide);
        if cost > affordable - spent {
            break;
        }
        spent += cost;
        data.for_each_part(part, |range, bytes| {
            columns.fold(range.start, data.descriptor().element, bytes);
            Ok::<_, Error>(())
        })?;
    }
    Ok(spent)
}

/// What elements are read from when a level stands for most of them.
struct Parts {
    /// Values of the level.
    pairs: Range<u64>,
    /// Elements before the first whole group, and after the last.
    edges: [Range<u64>; 2],
}

impl Parts {
    /// The groups of a level that stand for none but `elements`, as far as the level goes.
    fn new(level: &IzsStream, shift: u32, elements: &Range<u64>) -> Self {
        let covered = level.len() / 2;
        let end = (elements.end >> shift).min(covered);
        let groups = elements.start.div_ceil(1 << shift).min(end)..end;
        Self {
            pairs: groups.start * 2..groups.end * 2,
            edges: [elements.start..groups.start << shift, groups.end << shift..elements.end],
        }
    }

    fn cost(&self, data: &IzsStream, level: &IzsStream, wide: u64) -> u64 {
        let level = cost(level, &self.pairs, wide);
        self.edges.iter().fold(level, |all, edge| all.saturating_add(cost(data, edge, wide)))
    }
}

/// Folds the elements before the first whole group of a level, its groups, and the elements after the last.
fn fold_level(
    data: &IzsStream,
    level: &IzsStream,
    parts: Parts,
    shift: u32,
    columns: &mut Columns,
) -> Result<(), Error> {
    let element = data.descriptor().element;
    level.for_each_part(parts.pairs, |range, bytes| {
        columns.fold_pairs(range.start, shift, element, bytes);
        Ok::<_, Error>(())
    })?;
    for edge in parts.edges.into_iter().filter(|edge| !edge.is_empty()) {
        data.for_each_part(edge, |range, bytes| {
            columns.fold(range.start, element, bytes);
            Ok::<_, Error>(())
        })?;
    }
    Ok(())
}

/// What reading `elements` costs, and folding them into so many fields of more than one bit.
fn cost(stream: &IzsStream, elements: &Range<u64>, wide: u64) -> u64 {
    if elements.is_empty() {
        return 0;
    }
    let descriptor = stream.descriptor();
    let blocks = elements.end.div_ceil(descriptor.block) - elements.start / descriptor.block;
    let width = u64::from(descriptor.element.size());
    let block = descriptor.block.min(descriptor.end).saturating_mul(width).saturating_add(BLOCK);
    let folded = (elements.end - elements.start).saturating_mul(width).saturating_mul(wide.saturating_sub(1));
    block.saturating_mul(blocks).saturating_add(folded)
}

/// Whether a summary has what every field needs. `bit_and_or` is exact for single bits, `range` for numbers that
/// start at bit 0; it compares signed ones at the width of the element.
fn serves(summary: &Summary, fields: &[Field], element: Element) -> bool {
    let bits = u32::from(element.size()) * 8;
    let number = |field: &Field| match field.kind {
        Kind::Int { .. } | Kind::Float32 | Kind::Float64 => true,
        Kind::Signed { .. } => field.width == bits,
        _ => false,
    };
    match &*summary.key {
        "bit_and_or" => fields.iter().all(|field| field.width == 1),
        "range" => fields.iter().all(|field| field.position == 0 && number(field)),
        _ => false,
    }
}

/// A field's value on a number line.
pub(super) fn height(field: &Field, element: u64) -> Option<f64> {
    let value = match field.value(element) {
        FieldValue::Null => return None,
        FieldValue::Bit(bit) => f64::from(u8::from(bit)),
        FieldValue::Unsigned(value) => value as f64,
        FieldValue::Signed(value) => value as f64,
        FieldValue::Single(value) => value.into(),
        FieldValue::Double(value) => value,
        FieldValue::Name(_) => field.bits(element) as f64,
    };
    (!value.is_nan()).then_some(value)
}

/// Folds elements that are widened to 64 bits.
fn fold_numbers<T>(element: Element, bytes: &[u8], start: T, fold: impl Fn(T, u64) -> T) -> T {
    match element {
        Element::U8 => bytes.iter().fold(start, |all, &byte| fold(all, byte.into())),
        Element::U16 => {
            bytes.as_chunks().0.iter().fold(start, |all, &value| fold(all, u16::from_le_bytes(value).into()))
        }
        Element::U32 => {
            bytes.as_chunks().0.iter().fold(start, |all, &value| fold(all, u32::from_le_bytes(value).into()))
        }
        Element::U64 => {
            bytes.as_chunks().0.iter().fold(start, |all, &value| fold(all, u64::from_le_bytes(value)))
        }
    }
}

/// The lowest and the highest value of a field in some elements; none where none has one.
fn extent(field: &Field, element: Element, bytes: &[u8]) -> Option<Extent> {
    if matches!(field.kind, Kind::Float32 | Kind::Float64) {
        let nothing = (f64::INFINITY, f64::NEG_INFINITY);
        let (min, max) = fold_numbers(element, bytes, nothing, |(min, max), value| {
            let value = height(field, value).unwrap_or(f64::NAN);
            // Either is the other one where one is not a number.
            (value.min(min), value.max(max))
        });
        return (min <= max).then_some(Extent { min, max });
    }
    // Integers compare as such, signed ones with their sign turned over, and become floats at the end.
    let signed = matches!(field.kind, Kind::Signed { .. });
    let sign = if signed { 1u64.checked_shl(field.width.wrapping_sub(1)).unwrap_or(0) } else { 0 };
    let (min, max) = fold_numbers(element, bytes, (u64::MAX, u64::MIN), |(min, max), value| {
        let key = field.bits(value) ^ sign;
        (key.min(min), key.max(max))
    });
    let value = |key: u64| height(field, (key ^ sign).checked_shl(field.position).unwrap_or(0));
    if bytes.is_empty() { None } else { Some(Extent { min: value(min)?, max: value(max)? }) }
}

/// Columns being filled.
struct Columns<'a> {
    fields: &'a [Field<'a>],
    elements: Range<u64>,
    width: usize,
    /// Columns but the first start at a multiple of 2^`grain`.
    grain: u32,
    /// AND and OR of the elements of each column, which settle every single bit.
    bits: Vec<Option<(u64, u64)>>,
    /// For each field of more than one bit, its columns.
    extents: Vec<Vec<Option<Extent>>>,
}

impl<'a> Columns<'a> {
    fn new(fields: &'a [Field<'a>], elements: Range<u64>, width: usize) -> Self {
        let columns = |field: &Field| if field.width == 1 { 0 } else { width };
        Self {
            fields,
            elements,
            width,
            grain: 0,
            bits: vec![None; width],
            extents: fields.iter().map(|field| vec![None; columns(field)]).collect(),
        }
    }

    fn len(&self) -> u64 {
        self.elements.end - self.elements.start
    }

    /// First element of a column, or the end.
    fn first_of(&self, column: u64) -> u64 {
        if column >= self.width as u64 {
            return self.elements.end;
        }
        let offset = (u128::from(self.len()) * u128::from(column)).div_ceil(self.width as u128);
        let first = self.elements.start.saturating_add(offset as u64).min(self.elements.end);
        (first >> self.grain << self.grain).max(self.elements.start)
    }

    fn column_of(&self, element: u64) -> usize {
        let offset = u128::from(element.saturating_sub(self.elements.start));
        let column = offset * self.width as u128 / u128::from(self.len().max(1));
        let mut column = (column as usize).min(self.width - 1);
        // The next one may have been moved to before the element.
        while self.grain > 0 && self.first_of(column as u64 + 1) <= element && column + 1 < self.width {
            column += 1;
        }
        column
    }

    /// Folds elements from `first` on, column by column.
    fn fold(&mut self, first: u64, element: Element, bytes: &[u8]) {
        let mut rest = bytes;
        let mut first = first;
        while !rest.is_empty() {
            let column = self.column_of(first);
            // Columns narrower than an element are passed over.
            let count = self.first_of(column as u64 + 1).saturating_sub(first).max(1) as usize;
            let (now, later) = rest.split_at((count * usize::from(element.size())).min(rest.len()));
            (rest, first) = (later, first + count as u64);
            self.fold_column(column, element, now);
        }
    }

    fn fold_column(&mut self, column: usize, element: Element, bytes: &[u8]) {
        let bits = self.bits[column].unwrap_or((u64::MAX, 0));
        self.bits[column] =
            Some(fold_numbers(element, bytes, bits, |(and, or), value| (and & value, or | value)));
        for (field, extents) in self.fields.iter().zip(&mut self.extents) {
            let (Some(extent), Some(new)) = (extents.get_mut(column), extent(field, element, bytes)) else {
                continue;
            };
            *extent = Some(extent.map_or(new, |extent| extent.union(new)));
        }
    }

    /// Folds the groups of a level, two values each, from value `first` (even) on.
    fn fold_pairs(&mut self, first: u64, shift: u32, element: Element, bytes: &[u8]) {
        let mut values = numbers(element, bytes);
        let mut group = first / 2;
        while let (Some(low), Some(high)) = (values.next(), values.next()) {
            let column = self.column_of(group << shift);
            let (and, or) = self.bits[column].unwrap_or((u64::MAX, 0));
            self.bits[column] = Some((and & low, or | high));
            for (field, extents) in self.fields.iter().zip(&mut self.extents) {
                if let (Some(extent), Some(min), Some(max)) =
                    (extents.get_mut(column), height(field, low), height(field, high))
                {
                    let pair = Extent { min, max };
                    *extent = Some(extent.map_or(pair, |extent| extent.union(pair)));
                }
            }
            group += 1;
        }
    }

    fn finish(self, basis: Basis, cost: u64) -> Overview {
        let bounds = (0..=self.width as u64).map(|column| self.first_of(column)).collect();
        let traces = self.fields.iter().zip(self.extents).map(|(field, extents)| {
            let bit = |(and, or)| Extent { min: field.bits(and) as f64, max: field.bits(or) as f64 };
            let columns = match field.width {
                1 => self.bits.iter().map(|bits| bits.map(bit)).collect(),
                _ => extents,
            };
            Trace { entity: field.entity, columns }
        });
        Overview { traces: traces.collect(), bounds, basis, cost }
    }
}
