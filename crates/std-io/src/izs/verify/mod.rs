//! Every rule of the specification, checked.

use std::ops::Range;

use core_codec::Severity;
use core_codec::codec::zstd;
use core_codec::izs::model::{
    Descriptor, EntityId, Field, Kind, Link, Rate, Role, StreamId, Summary, Value, parse_json, repeated_keys,
};
use core_codec::izs::raw::{HEADER, INDEX_ENTRY_LEN};
use core_codec::izs::summary::{Order, Rule};
use core_codec::izs::{Dialect, Element};

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
        let first = self.dialect();
        let mut dialects = self.schema().streams().filter_map(|id| Some(self.descriptor(id)?.dialect));
        if dialects.any(|dialect| Some(dialect) != first) {
            warning(report, String::new(), "streams use the key names of different dialects".into());
        }
        Ok(())
    }

    /// Whether each object of the schema has each key but once, and each stream descriptor those of one dialect.
    fn verify_keys(&self, report: Report) -> Result<(), Error> {
        let stored = self.input.run(|source| Ok(source.bytes(self.izs.schema_bytes())?.to_vec()))?;
        let text = zstd::decode_bounded(&stored, self.limits.metadata_bytes)
            .map_err(|kind| core_codec::Error::new("schema", kind))?;
        for key in repeated_keys(&text, &self.limits)? {
            let message =
                format!("the schema repeats key {key:?} in an object: readers may take either value");
            warning(report, String::new(), message);
        }
        verify_descriptor_keys(&parse_json(&text, &self.limits)?, report);
        Ok(())
    }

    /// That of the first stream.
    fn dialect(&self) -> Option<Dialect> {
        self.schema().streams().find_map(|id| Some(self.descriptor(id)?.dialect))
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
        if self.dialect() == Some(Dialect::Spec)
            && matches!(entity.kind(), Kind::Record | Kind::Union | Kind::Tagged { .. })
        {
            let message = format!("the specification's dialect has no {:?}", entity.kind().name());
            warning(report, pointer(), message);
        }
        self.verify_attributes(id, report);
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
        if let Err(message) = self.verify_order(id, budget) {
            warning(report, pointer(), message);
        }
        if let Err(message) = self.verify_lengths(id, budget) {
            error(report, pointer(), message);
        }
    }

    /// Whether attributes that have a meaning can be made use of.
    fn verify_attributes(&self, id: EntityId, report: Report) {
        let schema = self.schema();
        let entity = &schema[id];
        let pointer = || schema.entity_pointer(id).to_string();
        if let Err(found) = schema.scale(id) {
            error(report, pointer(), found.to_string());
        }
        for (name, value) in entity.attributes().iter() {
            let valid = match name {
                "time:rate" | "sample_rate" => value.as_f64().and_then(Rate::from_hertz).is_some(),
                "time:epoch" => value.as_str().is_some() && schema.epoch(id).is_some(),
                "time:field" if !entity.children().is_empty() => value.as_str().is_some_and(|name| {
                    entity.children().iter().any(|&child| schema[child].name() == Some(name))
                }),
                _ => true,
            };
            if !valid {
                let expected = match name {
                    "time:field" => "the name of a child",
                    "time:epoch" => "a date and time of RFC 3339",
                    _ => "a rate in hertz",
                };
                warning(report, pointer(), format!("{name:?}: expected {expected}, found {}", brief(value)));
            }
        }
    }

    /// Whether the lengths of the streams of an entity fit one another. Streams that cannot be read are told of
    /// elsewhere.
    fn verify_lengths(&self, id: EntityId, budget: &mut Budget) -> Result<(), String> {
        let schema = self.schema();
        let entity = &schema[id];
        let child = entity.children().first().copied();
        let is_record = schema.is_record(id);
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
            Kind::Union => self.verify_union(id, budget),
            Kind::Tagged { tag_bits } if entity.data().is_some() => self.verify_tags(id, *tag_bits, budget),
            _ => Ok(()),
        }
    }

    /// Whether the end positions of a `variable_array` never go back, and end where the child does.
    fn verify_ends(&self, id: EntityId, length: u64, budget: &mut Budget) -> Result<(), String> {
        let mut last = 0;
        let mut wrong = None;
        let read = self.scan(id, budget, |index, end| {
            if end < last && wrong.is_none() {
                wrong = Some(format!("element {index} ends at {end}, before the one before it, at {last}"));
            }
            last = end;
        });
        match wrong {
            _ if !read => Ok(()),
            Some(wrong) => Err(wrong),
            None if last != length => {
                Err(format!("the last element ends at {last}, the child has {length} elements"))
            }
            None => Ok(()),
        }
    }

    /// Whether each tag of a union names a variant, and each variant has as many elements as tags name it.
    fn verify_union(&self, id: EntityId, budget: &mut Budget) -> Result<(), String> {
        let variants = self.schema()[id].children();
        let mut counts = vec![0_u64; variants.len()];
        let mut wrong = None;
        let read = self.scan(id, budget, |index, tag| {
            match usize::try_from(tag).ok().and_then(|tag| counts.get_mut(tag)) {
                Some(count) => *count += 1,
                None => wrong = wrong.or(Some((index, tag))),
            }
        });
        if !read {
            return Ok(());
        }
        if let Some((index, tag)) = wrong {
            return Err(format!("element {index} has tag {tag}, there are {} variants", variants.len()));
        }
        let name = |id: EntityId| self.schema()[id].name().unwrap_or_default();
        let mut lengths =
            variants.iter().zip(counts).filter_map(|(&id, tags)| Some((id, tags, self.rows(id).ok()?)));
        match lengths.find(|(_, tags, length)| tags != length) {
            Some((id, tags, length)) => {
                Err(format!("variant {:?} has {length} elements, {tags} tags name it", name(id)))
            }
            None => Ok(()),
        }
    }

    /// Whether the tag of each element of a `tagged` stream names a variant.
    fn verify_tags(&self, id: EntityId, tag_bits: u8, budget: &mut Budget) -> Result<(), String> {
        let Ok((_, fields)) = self.fields(id) else { return Ok(()) };
        let Some(field) = fields.first() else { return Ok(()) };
        let tag = Field { width: tag_bits.into(), ..field.clone() };
        let variants = self.schema()[id].children().len();
        let mut wrong = None;
        let read = self.scan(id, budget, |index, element| {
            let tag = tag.bits(element);
            if tag >= variants as u64 {
                wrong = wrong.or(Some((index, tag)));
            }
        });
        match wrong.filter(|_| read) {
            Some((index, tag)) => {
                Err(format!("element {index} has tag {tag}, there are {variants} variants"))
            }
            None => Ok(()),
        }
    }

    /// Whether the times of a stream never go back: what looks for one halves the stream again and again.
    fn verify_order(&self, id: EntityId, budget: &mut Budget) -> Result<(), String> {
        let entity = &self.schema()[id];
        // Ends of events may pass the start of the next.
        if *entity.kind() != Kind::Timestamp || matches!(entity.link(), Link::Inner(_)) {
            return Ok(());
        }
        let (mut last, mut wrong) = (0, None);
        let read = self.scan(id, budget, |index, time| {
            if time < last {
                wrong = wrong.or(Some((index, time, last)));
            }
            last = time;
        });
        match wrong.filter(|_| read) {
            Some((index, time, last)) => {
                Err(format!("element {index} is at {time}, before the one before it, at {last}"))
            }
            None => Ok(()),
        }
    }

    /// Calls `each` with the number and the value of every element of an entity's stream; whether all could be read.
    /// Why not is told of with the stream.
    fn scan(&self, id: EntityId, budget: &mut Budget, mut each: impl FnMut(u64, u64)) -> bool {
        let Some(Ok(stream)) = self.schema()[id].data().map(|data| self.stream(data)) else { return false };
        let element = stream.descriptor().element;
        let read = budget.charge(&stream).and_then(|()| {
            stream.for_each_part(0..stream.len(), |range, bytes| {
                range.zip(numbers(element, bytes)).for_each(|(index, value)| each(index, value));
                Ok(())
            })
        });
        read.is_ok()
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
        let mut text =
            (*self.schema()[self.schema()[id].entity()].kind() == Kind::Character).then(Utf8::default);
        let read = stream.for_each_part(0..stream.len(), |range, bytes| {
            if let Some(text) = &mut text {
                text.check(range.start, bytes);
            }
            Ok::<_, Error>(())
        });
        if let Err(found) = read.and_then(|()| stream.check_empty_block()) {
            return error(report, pointer(), found.to_string());
        }
        if let Some(place) = text.and_then(Utf8::finish) {
            warning(report, pointer(), format!("not UTF-8 at element {place}"));
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
                if start < HEADER.len() as u64 && start < end {
                    warning(report, pointer(), format!("block {} overlaps the header", block.number));
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
        let Some(rule) = rule_of(&summary.key, schema[id].kind(), descriptor.dialect) else {
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
            let found = level_stream.len() / u64::from(rule.group_len());
            let element = level_stream.descriptor().element;
            if element != descriptor.element {
                let (of, is) = (descriptor.element.name(), element.name());
                return error(report, pointer(number), format!("elements of {is} over a stream of {of}"));
            }
            let torn = level_stream.len() % u64::from(rule.group_len()) != 0;
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
            match first_difference(rule, &source, values_below, size, &level_stream) {
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
            below = (level, found, 2, u64::from(rule.group_len()));
        }
    }
}

/// The rule of a summary in a file, where it may stand at other fields than those that writers give it.
fn rule_of(key: &str, kind: &Kind, dialect: Dialect) -> Option<Rule> {
    match (key, kind) {
        ("bit_and_or", _) => Some(Rule::BitAndOr),
        ("range", Kind::Float32 | Kind::Float64) => Some(Rule::Range(Order::Float)),
        ("range", Kind::Int { .. }) => Some(Rule::Range(Order::Unsigned)),
        ("range", Kind::Signed { .. }) => Some(Rule::Range(Order::Signed)),
        ("skip", _) => Some(Rule::skip(dialect)),
        _ => None,
    }
}

/// The first group of a level that is not what the groups (or elements) of `source` make it. Both are read once, a
/// block at a time, however many of the one make a group of the other.
fn first_difference(
    rule: Rule,
    source: &IzsStream,
    values_below: u64,
    size: u64,
    level: &IzsStream,
) -> Result<Option<u64>, Error> {
    let element = source.descriptor().element;
    let groups = (level.len() / u64::from(rule.group_len())).min(source.len() / values_below / size);
    let (mut below, mut stored) = (Values::new(source), Values::new(level));
    for number in 0..groups {
        let mut group = below.group(values_below)?;
        for _ in 1..size {
            group = rule.join(element, group, below.group(values_below)?);
        }
        if !rule.same(element, group, stored.group(u64::from(rule.group_len()))?) {
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
    fn group(&mut self, values: u64) -> Result<[u64; 2], Error> {
        let first = self.value()?;
        Ok([first, if values == 1 { first } else { self.value()? }])
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

/// Looks for the first byte that is not UTF-8, part by part.
#[derive(Default)]
struct Utf8 {
    /// Where a character has begun that goes on in the next part.
    begun: Option<u64>,
    pending: Vec<u8>,
    wrong: Option<u64>,
}

impl Utf8 {
    fn check(&mut self, first: u64, bytes: &[u8]) {
        let start = self.begun.take().unwrap_or(first);
        // At most three bytes are there from before.
        let joined = [std::mem::take(&mut self.pending), bytes.to_vec()].concat();
        let Err(error) = str::from_utf8(&joined) else { return };
        let place = start + error.valid_up_to() as u64;
        if error.error_len().is_some() {
            self.wrong = self.wrong.or(Some(place));
        } else {
            (self.begun, self.pending) = (Some(place), joined[error.valid_up_to()..].to_vec());
        }
    }

    fn finish(self) -> Option<u64> {
        self.wrong.or(self.begun)
    }
}

/// Whether each stream descriptor has the keys of one dialect: readers refuse a second name for the same thing.
fn verify_descriptor_keys(value: &Value, report: Report) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| verify_descriptor_keys(value, report)),
        Value::Object(members) => {
            let is_descriptor = members.get("compress").is_some();
            for [a, b] in SAME_KEYS.into_iter().filter(|_| is_descriptor) {
                if members.get(a).is_some() && members.get(b).is_some() {
                    let message =
                        format!("a stream descriptor has both {a:?} and {b:?}: the reference refuses it");
                    warning(report, String::new(), message);
                }
            }
            members.iter().for_each(|(_, value)| verify_descriptor_keys(value, report));
        }
        _ => {}
    }
}

/// Two names for the same member of a stream descriptor.
const SAME_KEYS: [[&str; 2]; 5] = [
    ["end", "end_idx"],
    ["i_offset", "root"],
    ["i_size", "root_len"],
    ["block", "block_size"],
    ["element", "element_type"],
];

/// A value in few characters.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 40 { text } else { value.type_name().into() }
}

/// What crate `iguazu` fails on in the value of an attribute.
fn unreadable_by_reference(value: &Value) -> Option<&'static str> {
    match value {
        Value::Null => Some("null"),
        Value::Number(_) if value.as_f64().is_none() => Some("a number beyond the range of a double"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_may_lie_in_two_parts() {
        let check = |parts: &[&[u8]]| {
            let (mut text, mut at) = (Utf8::default(), 0);
            for part in parts {
                text.check(at, part);
                at += part.len() as u64;
            }
            text.finish()
        };
        let smile = "a😀".as_bytes();
        for place in 0..=smile.len() {
            assert_eq!(check(&[&smile[..place], &smile[place..]]), None);
        }
        assert_eq!(check(&[&smile[..2], &smile[2..3], &smile[3..]]), None);
        assert_eq!(check(&[&smile[..3], b"a"]), Some(1));
        assert_eq!(check(&[b"ab", &smile[..3]]), Some(3));
        assert_eq!(check(&[b"\xff", b"\xff"]), Some(0));
    }
}
