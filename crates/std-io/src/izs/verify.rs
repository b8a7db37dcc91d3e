//! Every rule of the specification, checked.

use std::ops::Range;

use core_codec::Severity;
use core_codec::codec::zstd;
use core_codec::izs::Element;
use core_codec::izs::model::{Descriptor, EntityId, Kind, Role, StreamId, Summary, Value, repeated_keys};
use core_codec::izs::raw::{HEADER, INDEX_ENTRY_LEN};

use super::reduce::Reduce;
use super::{Budget, IzsFile, IzsStream, numbers};
use crate::error::Error;

/// The smallest block that the specification recommends, in elements.
const SMALLEST_BLOCK: u64 = 4096;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// JSON pointer of the entity or stream; empty for the file as a whole.
    pub item: String,
    /// What it is.
    pub message: String,
}

/// Where findings go.
type Report<'a> = &'a mut dyn FnMut(Finding);

impl IzsFile {
    /// Checks everything, reading all of the file; with `summaries`, computes them again and compares.
    ///
    /// # Errors
    /// Only when the file cannot be had any more; what is wrong in it is a finding.
    pub fn verify(&self, summaries: bool, report: Report) -> Result<(), Error> {
        self.verify_header(report)?;
        self.verify_keys(report)?;
        let mut ends = self.budget();
        for entity in self.schema().entities() {
            self.verify_entity(entity, report, &mut ends);
        }
        let mut streams = self.budget();
        for id in self.schema().streams() {
            self.verify_stream(id, report, &mut streams);
        }
        if summaries {
            // A level is read to be compared, and once more as what is below the next.
            let mut budget = self.budget().times(2);
            for entity in self.schema().entities() {
                for summary in self.schema()[entity].summaries() {
                    self.verify_summary(entity, summary, report, &mut budget);
                }
            }
        }
        Ok(())
    }

    fn verify_header(&self, report: Report) -> Result<(), Error> {
        let head = self.input.run(|source| Ok(source.bytes(0..source.len().min(8))?.to_vec()))?;
        if head != HEADER {
            warning(
                report,
                String::new(),
                format!("the header is {head:02x?}: other tools may not know the file"),
            );
        }
        let mut dialects = self.schema().streams().filter_map(|id| Some(self.descriptor(id)?.dialect));
        let first = dialects.next();
        if dialects.any(|dialect| Some(dialect) != first) {
            warning(report, String::new(), "streams use the key names of different dialects".into());
        }
        Ok(())
    }

    /// Whether each object of the schema has each key but once.
    fn verify_keys(&self, report: Report) -> Result<(), Error> {
        let stored = self.input.run(|source| Ok(source.bytes(self.izs.schema_bytes())?.to_vec()))?;
        let text = zstd::decode_bounded(&stored, self.limits.metadata_bytes)
            .map_err(|kind| core_codec::Error::new("schema", kind))?;
        for key in repeated_keys(&text, &self.limits)? {
            let message =
                format!("the schema repeats key {key:?} in an object: readers may take either value");
            warning(report, String::new(), message);
        }
        Ok(())
    }

    fn descriptor(&self, id: StreamId) -> Option<&Descriptor> {
        self.schema()[id].descriptor().ok()
    }

    fn verify_entity(&self, id: EntityId, report: Report, budget: &mut Budget) {
        let schema = self.schema();
        let entity = &schema[id];
        let pointer = || schema.entity_pointer(id).to_string();
        if let Kind::Opaque(opaque) = entity.kind() {
            let tell = if opaque.has_unknown_type() { warning } else { error };
            tell(report, pointer(), format!("not understood: {}", opaque.reason));
        }
        let text = entity.data().filter(|_| *entity.kind() == Kind::Character);
        if let Some(descriptor) = text.and_then(|data| self.descriptor(data))
            && descriptor.element != Element::U8
        {
            error(
                report,
                pointer(),
                format!("characters are elements of u8, not {}", descriptor.element.name()),
            );
        }
        if let Kind::Tuple { fields } = entity.kind() {
            let mut names: Vec<&str> = fields.iter().map(|(name, _)| &**name).collect();
            names.sort_unstable();
            if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                error(report, pointer(), format!("two fields are called {:?}", pair[0]));
            }
        }
        for (name, value) in entity.attributes().iter() {
            if let Some(what) = unreadable_by_reference(value) {
                warning(report, pointer(), format!("crate iguazu reads no file with {what}, as in {name:?}"));
            }
        }
        if let Kind::Enum { bits, values } = entity.kind()
            && values.len() as u64 > 1u64.checked_shl((*bits).into()).unwrap_or(u64::MAX)
        {
            warning(report, pointer(), format!("{} names for a value of {bits} bits", values.len()));
        }
        if let Some((stream, fields)) = schema.fields(id).filter(|(stream, _)| entity.data() == Some(*stream))
        {
            let bits =
                self.descriptor(stream).map_or(64, |descriptor| u32::from(descriptor.element.size()) * 8);
            for field in fields.iter().filter(|field| field.position.saturating_add(field.width) > bits) {
                let pointer = schema.entity_pointer(field.entity).to_string();
                let end = field.position.saturating_add(field.width);
                error(report, pointer, format!("the field ends at bit {end} of an element of {bits} bits"));
            }
        }
        if let Err(message) = self.verify_lengths(id, budget) {
            error(report, pointer(), message);
        }
    }

    /// Whether the lengths of the streams of an entity fit one another. Streams that cannot be read are told of
    /// elsewhere.
    fn verify_lengths(&self, id: EntityId, budget: &mut Budget) -> Result<(), String> {
        let schema = self.schema();
        let entity = &schema[id];
        let child = entity.children().first().copied();
        let is_record = entity.kind() == &Kind::Record
            || entity.attributes().get("core:role").and_then(Value::as_str) == Some("record");
        match entity.kind() {
            Kind::Record | Kind::Group if is_record => {
                let mut lengths = entity.children().iter().filter_map(|&child| self.rows(child).ok());
                let first = lengths.next().unwrap_or(0);
                match lengths.find(|&length| length != first) {
                    Some(other) => Err(format!("children of a record have {first} and {other} elements")),
                    None => Ok(()),
                }
            }
            Kind::Tuple { .. } | Kind::FixedArray { .. } => {
                let size = match entity.kind() {
                    Kind::Tuple { fields } => fields.len() as u64,
                    Kind::FixedArray { elements } => (*elements).into(),
                    _ => 1,
                };
                match child.and_then(|child| self.rows(child).ok()) {
                    Some(length) if size == 0 || length % size != 0 => {
                        Err(format!("the child has {length} elements, not a multiple of {size}"))
                    }
                    _ => Ok(()),
                }
            }
            Kind::VariableArray => match child.and_then(|child| self.rows(child).ok()) {
                Some(length) => self.verify_ends(id, length, budget),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Whether the end positions of a `variable_array` never go back, and end where the child does.
    fn verify_ends(&self, id: EntityId, length: u64, budget: &mut Budget) -> Result<(), String> {
        let Some(Ok(stream)) = self.schema()[id].data().map(|data| self.stream(data)) else { return Ok(()) };
        if budget.charge(&stream).is_err() {
            // Told of with the stream.
            return Ok(());
        }
        let mut last = 0;
        let mut wrong = None;
        let element = stream.descriptor().element;
        let read = stream.for_each_part(0..stream.len(), |range, bytes| {
            for (index, end) in range.zip(numbers(element, bytes)) {
                if end < last && wrong.is_none() {
                    wrong =
                        Some(format!("element {index} ends at {end}, before the one before it, at {last}"));
                }
                last = end;
            }
            Ok::<_, Error>(())
        });
        match (read, wrong) {
            // Told of with the stream.
            (Err(_), _) => Ok(()),
            (Ok(()), Some(wrong)) => Err(wrong),
            (Ok(()), None) if last != length => {
                Err(format!("the last element ends at {last}, the child has {length} elements"))
            }
            _ => Ok(()),
        }
    }

    fn verify_stream(&self, id: StreamId, report: Report, budget: &mut Budget) {
        let pointer = || self.schema().stream_pointer(id).to_string();
        let stream = match self.stream(id) {
            Ok(stream) => stream,
            Err(found) => return error(report, pointer(), found.to_string()),
        };
        let descriptor = stream.descriptor();
        if !descriptor.block.is_power_of_two() || descriptor.block < SMALLEST_BLOCK {
            let message =
                format!("blocks of {} elements: should be a power of 2 from 4096 on", descriptor.block);
            warning(report, pointer(), message);
        }
        if !descriptor.i_size.is_multiple_of(INDEX_ENTRY_LEN) {
            warning(
                report,
                pointer(),
                format!("an index of {} bytes is not whole entries", descriptor.i_size),
            );
        }
        for (name, _) in descriptor.other.iter() {
            warning(report, pointer(), format!("unknown member {name:?} of the stream descriptor"));
        }
        if let Err(found) = budget.charge(&stream).and_then(|()| self.verify_places(&stream, report)) {
            return error(report, pointer(), found.to_string());
        }
        let read = stream.for_each_part(0..stream.len(), |_, _| Ok::<_, Error>(()));
        if let Err(found) = read.and_then(|()| stream.check_empty_block()) {
            error(report, pointer(), found.to_string());
        }
    }

    /// The index stands behind all blocks, and nothing overlaps what stands at the end.
    fn verify_places(&self, stream: &IzsStream, report: Report) -> Result<(), Error> {
        let descriptor = stream.descriptor();
        let pointer = || self.schema().stream_pointer(stream.reader.id()).to_string();
        let index = descriptor.i_offset..descriptor.i_offset.saturating_add(descriptor.i_size);
        let schema = self.izs.schema_bytes();
        if index.end > schema.start && !index.is_empty() {
            warning(report, pointer(), format!("the index {index:?} overlaps the schema {schema:?}"));
        }
        let entries = descriptor.index_entries();
        let mut next = 0;
        while next < entries {
            let batch = next..entries.min(next + super::INDEX_BATCH);
            next = batch.end;
            for block in self.input.run(|source| stream.reader.blocks(source, batch.clone()))? {
                let Range { start, end } = block.bytes;
                if end > index.start {
                    let message =
                        format!("block {} at {start}..{end} ends after the index starts", block.number);
                    error(report, pointer(), message);
                    return Ok(());
                }
                if end > schema.start {
                    warning(report, pointer(), format!("block {} overlaps the schema", block.number));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn verify_summary(&self, id: EntityId, summary: &Summary, report: Report, budget: &mut Budget) {
        let schema = self.schema();
        let pointer = |level: usize| {
            let entity = schema.entity_pointer(id);
            format!("{entity}/summaries/{}/levels/{level}", summary.key)
        };
        let Some(data) = schema[id].data().filter(|&data| schema[data].role() == Role::Data) else { return };
        let Some(descriptor) = self.descriptor(data) else { return };
        let Some(reduce) =
            Reduce::of(&summary.key, schema[id].kind(), descriptor.element, descriptor.dialect)
        else {
            return warning(
                report,
                pointer(0),
                format!("summary {:?} is not known, nor checked", summary.key),
            );
        };
        let Some(base) = summary.base_level.filter(|&base| base < 32) else {
            return error(report, pointer(0), "`base_level` is missing or not valid".into());
        };
        let mut below = (data, descriptor.end, 1u64 << base, 1);
        for (number, &level) in summary.levels.iter().enumerate() {
            let (source, groups_below, size, values_below) = below;
            let (Ok(source), Ok(level_stream)) = (self.stream(source), self.stream(level)) else { return };
            let expected = groups_below / size;
            let found = level_stream.len() / reduce.values();
            let element = level_stream.descriptor().element;
            if element != descriptor.element {
                let (of, is) = (descriptor.element.name(), element.name());
                return error(report, pointer(number), format!("elements of {is} over a stream of {of}"));
            }
            let torn = level_stream.len() % reduce.values() != 0;
            if found != expected || torn {
                let message = format!("{} values for {expected} groups", level_stream.len());
                // Readers go on without it, from the data.
                if torn || found.checked_add(1) != Some(expected) {
                    return error(report, pointer(number), message);
                }
                let message = format!("{message}: the last is missing, as crate iguazu leaves it");
                warning(report, pointer(number), message);
            }
            if let Err(found) = budget.charge(&source).and_then(|()| budget.charge(&level_stream)) {
                return error(report, pointer(number), found.to_string());
            }
            match first_difference(reduce, &source, values_below, size, &level_stream) {
                Ok(None) => {}
                Ok(Some(group)) => {
                    return error(
                        report,
                        pointer(number),
                        format!("group {group} differs from its elements"),
                    );
                }
                // Told of with the stream.
                Err(_) => return,
            }
            below = (level, found, 2, reduce.values());
        }
    }
}

/// The first group of a level that is not what the groups (or elements) of `source` make it. Both are read once, a
/// block at a time, however many of the one make a group of the other.
fn first_difference(
    reduce: Reduce,
    source: &IzsStream,
    values_below: u64,
    size: u64,
    level: &IzsStream,
) -> Result<Option<u64>, Error> {
    let element = source.descriptor().element;
    let groups = (level.len() / reduce.values()).min(source.len() / values_below / size);
    let (mut below, mut stored) = (Values::new(source), Values::new(level));
    for number in 0..groups {
        let mut group = below.group(values_below)?;
        for _ in 1..size {
            group = reduce.join(group, below.group(values_below)?);
        }
        if !reduce.same(element, group, stored.group(reduce.values())?) {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// Reads the elements of a stream one after the other, holding one block.
struct Values<'a> {
    stream: &'a IzsStream<'a>,
    block: Vec<u8>,
    /// Bytes of the block that have been read.
    at: usize,
    /// Number of the next block.
    next: u64,
}

impl<'a> Values<'a> {
    fn new(stream: &'a IzsStream<'a>) -> Self {
        Self { stream, block: Vec::new(), at: 0, next: 0 }
    }

    /// The next group of one or two values; a single one stands for both.
    fn group(&mut self, values: u64) -> Result<(u64, u64), Error> {
        let first = self.value()?;
        Ok((first, if values == 1 { first } else { self.value()? }))
    }

    fn value(&mut self) -> Result<u64, Error> {
        if self.at == self.block.len() {
            let Descriptor { block, end, .. } = *self.stream.descriptor();
            let start = self.next.saturating_mul(block).min(end);
            // Past the end this is an empty block, and the values are 0.
            self.block = Vec::new();
            self.block = self.stream.read_bytes(start..start.saturating_add(block).min(end))?;
            (self.next, self.at) = (self.next + 1, 0);
        }
        let size = usize::from(self.stream.descriptor().element.size());
        let bytes = self.block.get(self.at..self.at + size).unwrap_or_default();
        self.at += bytes.len();
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(wide))
    }
}

/// What crate `iguazu` fails on in the value of an attribute.
fn unreadable_by_reference(value: &Value) -> Option<&'static str> {
    match value {
        Value::Null => Some("null"),
        Value::Negative(_) => Some("a negative integer (it reads it with a fraction, -5.0)"),
        Value::Array(values) => values.iter().find_map(unreadable_by_reference),
        Value::Object(members) => members.iter().find_map(|(_, value)| unreadable_by_reference(value)),
        _ => None,
    }
}

fn warning(report: Report, item: String, message: String) {
    report(Finding { severity: Severity::Warning, item, message });
}

fn error(report: Report, item: String, message: String) {
    report(Finding { severity: Severity::Error, item, message });
}
