//! The values of one array or metadata value.

use std::io::Write;

use anyhow::{Context as _, bail, ensure};
use core_codec::stards::{Axis, DataType, Selection, Slice, Tensor};
use serde_json::Value;
use std_io::StardsArray;

use super::names::{self, Kind, Place};
use super::{Document, items, npy, values};
use crate::args::{CatFormat, Span};
use crate::document::{CatRequest, Outcome, WrongUsage};
use crate::{human, output};

/// Bytes of elements that are held at a time.
const PART: u64 = 4 << 20;

/// What `cat` prints.
enum Item<'a> {
    Array(StardsArray<'a>),
    Metadata(Tensor),
}

pub(super) fn print(
    document: &Document,
    request: &CatRequest,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let item = find(document, request.item)?;
    let (dtype, shape) = match &item {
        Item::Array(array) => (array.info().content()?.dtype(), array.info().shape().to_vec()),
        Item::Metadata(value) => (value.dtype(), value.shape().to_vec()),
    };
    let slices = slices(request, &shape)?;
    check_dimensions(&slices, &shape)?;
    let selection = Selection::new(&shape, &slices)?;
    let mut printer =
        Printer { out, format: request.format, axes: selection.axes().to_vec(), printed: 0, replaced: false };
    match item {
        Item::Metadata(value) => {
            let value = if slices.is_empty() { value } else { value.slice(&slices)? };
            printer.start(dtype, selection.shape(), Some(&value))?;
            printer.part(&value)?;
        }
        // Strings have no fixed place in the file: each part would walk through all before it again.
        Item::Array(array) if dtype == DataType::String => {
            let value = if slices.is_empty() { array.tensor()? } else { array.slice(&slices)? };
            printer.start(dtype, selection.shape(), Some(&value))?;
            printer.part(&value)?;
        }
        Item::Array(array) => {
            printer.start(dtype, selection.shape(), None)?;
            let size = dtype.size().unwrap_or(1);
            if slices.is_empty() {
                // Each block is decoded once.
                array.for_each_part(|bytes| {
                    let elements = (bytes.len() / size) as u64;
                    printer.part(&Tensor::new(dtype, &[elements], bytes.to_vec())?)
                })?;
            } else {
                parts(&selection, size as u64, PART)
                    .try_for_each(|part| printer.part(&array.slice(&part)?))?;
            }
        }
    }
    printer.end(selection.shape())?;
    if !printer.replaced {
        return Ok(Outcome::Done);
    }
    let item = request.item.unwrap_or("the array");
    output::complain(&format!(
        "{item}: text that is not UTF-8 is printed with replacement characters, --format raw gives its bytes"
    ));
    Ok(Outcome::LeftOut)
}

/// Finds what a name means: the full name of an item, else a plain one, for which arrays come before metadata and the base
/// layer before the others. Without a name, the only array.
fn find<'a>(document: &'a Document, item: Option<&str>) -> anyhow::Result<Item<'a>> {
    let Some(item) = item else {
        let mut arrays = document.visible();
        return match (arrays.next(), arrays.next()) {
            (Some(only), None) => Ok(Item::Array(only)),
            (None, _) => bail!("the file has no array"),
            _ => bail!(WrongUsage("the file has several arrays: name one (`tripoint ls` lists them)".into())),
        };
    };
    if let Some((kind, layer, key)) = names::parse(item)
        && let Some(found) = at(document, &Place { kind, layer: &layer, key })?
    {
        return Ok(found);
    }
    let places = |kind| names::splits(item).map(move |(layer, key)| Place { kind, layer, key });
    let listed: Vec<Place> =
        Kind::ALL.into_iter().flat_map(places).filter(|place| is_listed(document, place)).collect();
    if let [first, _, ..] = &listed[..] {
        let all: Vec<String> = listed.iter().map(Place::to_string).collect();
        output::complain(&format!("{item} names several items, {first} is printed of {}", all.join(", ")));
    }
    // A metadata block may hold keys that the registry does not list. What has the name by chance of how it is stored
    // comes last.
    let unlisted = places(Kind::Metadata);
    for place in listed.into_iter().chain(unlisted).chain(places(Kind::Array)) {
        if let Some(found) = at(document, &place)? {
            return Ok(found);
        }
    }
    bail!("no such item: {item}")
}

/// Whether the header names the item.
fn is_listed(document: &Document, place: &Place<'_>) -> bool {
    let dataset = document.file.dataset();
    let Ok(layer) = dataset.layer(place.layer) else { return false };
    let base = document.inherit.then(|| dataset.base());
    match place.kind {
        // One stored as `__layer_L__:x` is found by that name too, but is the `x` of the layer L.
        Kind::Array => {
            document.array(place.layer, place.key).is_ok_and(|array| array.info().key() == place.key)
        }
        Kind::Metadata => base
            .into_iter()
            .chain([layer])
            .flat_map(|layer| dataset.metadata_keys(layer))
            .any(|key| key == place.key),
    }
}

/// The item at a place, if there is one.
fn at<'a>(document: &'a Document, place: &Place<'_>) -> anyhow::Result<Option<Item<'a>>> {
    if place.kind == Kind::Array {
        return Ok(document.array(place.layer, place.key).ok().map(Item::Array));
    }
    let Ok(layer) = document.file.dataset().layer(place.layer) else { return Ok(None) };
    let found = items::entries(document, layer).find(|entry| &*entry.key == place.key);
    Ok(found.map(|entry| entry.value).transpose()?.map(Item::Metadata))
}

/// `--slice`, or `--range` of the first dimension.
fn slices(request: &CatRequest, shape: &[u64]) -> anyhow::Result<Vec<Slice>> {
    match request.slice {
        Some(_) if *request.range != Span::default() => {
            bail!(WrongUsage("--range and --slice exclude each other".into()))
        }
        Some(slice) => {
            Slice::parse_all(slice).map_err(|error| WrongUsage(format!("--slice: {error}")).into())
        }
        None if *request.range == Span::default() => Ok(Vec::new()),
        None => {
            let size = *shape.first().ok_or_else(|| WrongUsage("a scalar has no range".into()))?;
            let range = request.range.within(size)?;
            let end = |end: u64| i64::try_from(end).context("the range ends too far");
            Ok(vec![Slice::range(Some(end(range.start)?), Some(end(range.end)?), 1)])
        }
    }
}

/// Checks that there are no more slices than dimensions.
fn check_dimensions(slices: &[Slice], shape: &[u64]) -> anyhow::Result<()> {
    let example = vec!["0:1"; shape.len()].join(",");
    let help =
        if shape.is_empty() { String::new() } else { format!(": one each at most, such as {example}") };
    let dimensions = human::counted(shape.len() as u64, "dimension");
    ensure!(slices.len() <= shape.len(), "--slice has {} parts for {dimensions}{help}", slices.len());
    Ok(())
}

/// Slices that together take the selection, in order, each of at most `most` bytes, but for one element that is larger.
fn parts(selection: &Selection, size: u64, most: u64) -> impl Iterator<Item = Vec<Slice>> {
    let axes = selection.axes().to_vec();
    let inner = |from: usize| axes[from..].iter().fold(size, |bytes, axis| bytes.saturating_mul(axis.count));
    // This axis is divided, those before it are gone through one index after the other, those after it are whole.
    let divided =
        (0..axes.len()).find(|&axis| inner(axis + 1) <= most).unwrap_or(axes.len().saturating_sub(1));
    let step =
        axes.get(divided).map_or(1, |axis| (most / inner(divided + 1).max(1)).clamp(1, axis.count.max(1)));
    let runs = axes.get(divided).map_or(1, |axis| axis.count.div_ceil(step));
    let outer = axes.iter().take(divided).fold(1, |product: u64, axis| product.saturating_mul(axis.count));
    let count = if selection.elements() == 0 { 0 } else { outer.saturating_mul(runs) };
    let whole: Vec<Slice> = axes.iter().map(|axis| slice(axis, 0, axis.count)).collect();
    (0..count).map(move |part| {
        let mut slices = whole.clone();
        if let Some(axis) = axes.get(divided) {
            let start = part % runs * step;
            slices[divided] = slice(axis, start, step.min(axis.count - start));
        }
        let mut rest = part / runs;
        for (slice_of_axis, axis) in slices.iter_mut().zip(&axes).take(divided).rev() {
            *slice_of_axis = slice(axis, rest % axis.count, 1);
            rest /= axis.count;
        }
        slices
    })
}

/// `count` indices of an axis, from its `start`-th on.
fn slice(axis: &Axis, start: u64, count: u64) -> Slice {
    let index = |i: u64| i128::from(axis.first) + i128::from(axis.step) * i128::from(i);
    let first = index(start) as i64;
    if !axis.keep {
        return Slice::Index(first);
    }
    // One past the last in its direction; before the first index there is none.
    let stop = index(start + count.saturating_sub(1)) + i128::from(axis.step.signum());
    let stop = if count == 0 { Some(first) } else { (stop >= 0).then_some(stop as i64) };
    Slice::range(Some(first), stop, axis.step)
}

struct Printer<'o> {
    out: &'o mut dyn Write,
    format: CatFormat,
    axes: Vec<Axis>,
    /// Elements so far.
    printed: u64,
    /// Whether some text is not UTF-8 and so is not printed as it is.
    replaced: bool,
}

impl Printer<'_> {
    /// What comes before the elements; `all` of them where they are there already.
    fn start(&mut self, dtype: DataType, shape: &[u64], all: Option<&Tensor>) -> anyhow::Result<()> {
        match (self.format, all) {
            (CatFormat::Csv, _) => {
                let names: String = match self.axes.len() {
                    1 => "index,".into(),
                    count => (0..count).map(|axis| format!("index{axis},")).collect(),
                };
                Ok(writeln!(self.out, "{names}value")?)
            }
            (CatFormat::Npy, Some(strings)) if dtype == DataType::String => {
                npy::strings(self.out, shape, strings)
            }
            (CatFormat::Npy, _) => npy::header(self.out, dtype, shape, 0),
            _ => Ok(()),
        }
    }

    fn part(&mut self, part: &Tensor) -> anyhow::Result<()> {
        self.replaced |= self.format != CatFormat::Raw && !values::is_utf8(part);
        match self.format {
            CatFormat::Raw => self.out.write_all(part.bytes())?,
            CatFormat::Npy if part.dtype() == DataType::String => {}
            CatFormat::Npy => self.out.write_all(part.bytes())?,
            CatFormat::Csv => {
                for element in values::elements(part) {
                    for index in self.next_index() {
                        write!(self.out, "{index},")?;
                    }
                    element.write_csv(self.out)?;
                    writeln!(self.out)?;
                }
            }
            CatFormat::Ndjson => {
                for element in values::elements(part) {
                    let index: Value = match self.next_index()[..] {
                        [index] => index.into(),
                        ref index => index.to_vec().into(),
                    };
                    write!(self.out, "{{\"index\":{index},\"value\":")?;
                    element.write_json(self.out)?;
                    writeln!(self.out, "}}")?;
                }
            }
            CatFormat::Json => {
                for element in values::elements(part) {
                    self.open_and_close()?;
                    element.write_json(self.out)?;
                    self.printed += 1;
                }
            }
        }
        Ok(())
    }

    /// The indices of the next element, in the whole array.
    fn next_index(&mut self) -> Vec<u64> {
        let mut rest = self.printed;
        self.printed += 1;
        let mut index: Vec<u64> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let i = rest % axis.count;
                rest /= axis.count;
                axis.first.wrapping_add_signed(axis.step.wrapping_mul(i as i64))
            })
            .collect();
        index.reverse();
        index
    }

    /// The brackets and the comma of nested JSON arrays before the next element.
    fn open_and_close(&mut self) -> anyhow::Result<()> {
        let mut size = 1;
        let mut starting = 0;
        for axis in self.axes.iter().rev().filter(|axis| axis.keep) {
            size *= axis.count;
            // Nor does any dimension before it start anew.
            if !self.printed.is_multiple_of(size) {
                break;
            }
            starting += 1;
        }
        if self.printed > 0 {
            write!(self.out, "{},", "]".repeat(starting))?;
        }
        Ok(write!(self.out, "{}", "[".repeat(starting))?)
    }

    fn end(&mut self, shape: &[u64]) -> anyhow::Result<()> {
        if self.format != CatFormat::Json {
            return Ok(());
        }
        if self.printed == 0 {
            // Empty: nothing has opened a bracket.
            let empty = Tensor::new(DataType::Uint8, shape, Vec::new())?;
            values::write_nested(self.out, &empty)?;
            return Ok(writeln!(self.out)?);
        }
        Ok(writeln!(self.out, "{}", "]".repeat(shape.len()))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_codec::stards::{BASE_LAYER, Compression, Draft};
    use std_io::{StardsFile, StardsWriter};

    #[test]
    fn parts_join_to_the_selection() {
        let values: Vec<u16> = (0..4 * 5 * 6).collect();
        let mut draft = Draft::new();
        draft.put_slice(BASE_LAYER, "a", &[4, 5, 6], &values, Compression::None).unwrap();
        draft.put_slice(BASE_LAYER, "s", &[], &values[..1], Compression::None).unwrap();
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        StardsWriter::new(&draft).save(&path).unwrap();
        let file = StardsFile::open(&path).unwrap();
        for (key, slices) in [
            ("s", ""),
            ("a", ""),
            ("a", "::-1"),
            ("a", "1:,::-2,::-1"),
            ("a", ":,3"),
            ("a", "2,:,::4"),
            ("a", "0:0"),
        ] {
            let slices = if slices.is_empty() { Vec::new() } else { Slice::parse_all(slices).unwrap() };
            let array = file.array(BASE_LAYER, key).unwrap();
            let selection = Selection::new(array.info().shape(), &slices).unwrap();
            let whole = array.slice(&slices).unwrap().into_bytes();
            for most in 1..=1 + 2 * values.len() as u64 {
                let mut joined = Vec::new();
                for part in parts(&selection, 2, most) {
                    let part = array.slice(&part).unwrap().into_bytes();
                    assert!(part.len() as u64 <= most.max(2), "{slices:?} {most}");
                    joined.extend(part);
                }
                assert_eq!(joined, whole, "{slices:?} {most}");
            }
        }
    }
}
