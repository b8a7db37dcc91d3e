//! What the elements of a stream say: ends, tags, named values, times.

use std::collections::HashMap;

use core_codec::izs::Element;
use core_codec::izs::model::{EntityId, Field, FieldValue, Kind, Link};

use super::Verifier;
use crate::izs::numbers;

/// Some elements of a stream.
pub(super) struct Part<'p> {
    /// Number of the first.
    pub(super) first: u64,
    pub(super) element: Element,
    pub(super) bytes: &'p [u8],
}

impl Part<'_> {
    /// The elements with their numbers.
    fn elements(&self) -> impl Iterator<Item = (u64, u64)> {
        (self.first..).zip(numbers(self.element, self.bytes))
    }
}

/// Watches the elements of a stream, part by part, for one rule.
pub(super) trait Watch {
    fn look(&mut self, part: &Part);

    /// Says what it saw, when all elements are through.
    fn tell(&self, verifier: &mut Verifier);
}

/// The end positions of a `variable_array` never go back, and end where the child does.
pub(super) struct Ends {
    entity: EntityId,
    last: u64,
    /// Element, end, and the end before it.
    back: Option<(u64, u64, u64)>,
}

impl Ends {
    pub(super) fn new(entity: EntityId) -> Self {
        Self { entity, last: 0, back: None }
    }
}

impl Watch for Ends {
    fn look(&mut self, part: &Part) {
        for (index, end) in part.elements() {
            if end < self.last {
                self.back.get_or_insert((index, end, self.last));
            }
            self.last = end;
        }
    }

    fn tell(&self, verifier: &mut Verifier) {
        let pointer = verifier.schema.entity_pointer(self.entity);
        let child = verifier.schema[self.entity].children().first();
        let length = child.and_then(|&child| verifier.length(child));
        if let Some((index, end, last)) = self.back {
            let message = format!("element {index} ends at {end}, before the one before it, at {last}");
            verifier.error(pointer, message);
        } else if let Some(length) = length.filter(|length| *length != self.last) {
            let message = format!("the last element ends at {}, the child has {length} elements", self.last);
            verifier.error(pointer, message);
        }
    }
}

/// Each tag of a `union` names a variant, and each variant has as many elements as tags name it.
pub(super) struct Tags {
    entity: EntityId,
    counts: Vec<u64>,
    /// Element and tag.
    unknown: Option<(u64, u64)>,
}

impl Tags {
    pub(super) fn new(entity: EntityId, variants: usize) -> Self {
        Self { entity, counts: vec![0; variants], unknown: None }
    }
}

impl Watch for Tags {
    fn look(&mut self, part: &Part) {
        for (index, tag) in part.elements() {
            match usize::try_from(tag).ok().and_then(|tag| self.counts.get_mut(tag)) {
                Some(count) => *count += 1,
                None => drop(self.unknown.get_or_insert((index, tag))),
            }
        }
    }

    fn tell(&self, verifier: &mut Verifier) {
        let pointer = verifier.schema.entity_pointer(self.entity);
        if let Some((index, tag)) = self.unknown {
            return verifier.error(pointer, unknown_tag(index, tag, self.counts.len() as u64));
        }
        for (&variant, tags) in verifier.schema[self.entity].children().iter().zip(&self.counts) {
            if let Some(length) = verifier.length(variant).filter(|length| length != tags) {
                let name = verifier.schema[variant].name().unwrap_or_default();
                let message = format!("variant {name:?} has {length} elements, {tags} tags name it");
                return verifier.error(pointer, message);
            }
        }
    }
}

fn unknown_tag(index: u64, tag: u64, variants: u64) -> String {
    format!("element {index} has tag {tag}, there are {variants} variants")
}

/// Fields of which only some values mean something.
#[derive(Default)]
pub(super) struct Choices<'a>(Vec<Choice<'a>>);

/// An `enum`, or the tag of a `tagged`.
struct Choice<'a> {
    field: Field<'a>,
    /// Values that mean something, from 0.
    known: u64,
    /// The choices in each variant of a `tagged`.
    below: Vec<Choices<'a>>,
    /// Element and value.
    unknown: Option<(u64, u64)>,
}

impl<'a> Choices<'a> {
    /// Those in the elements of an entity.
    pub(super) fn of(verifier: &Verifier<'a>, id: EntityId) -> Self {
        let mut choices = Self::default();
        choices.add(verifier, id);
        choices
    }

    fn add(&mut self, verifier: &Verifier<'a>, id: EntityId) {
        let schema = verifier.schema;
        let children = schema[id].children().iter();
        let (known, below, tag_bits) = match schema[id].kind() {
            Kind::BitStruct => return children.for_each(|&child| self.add(verifier, child)),
            Kind::Enum { bits, values } => (values.len() as u64, Vec::new(), *bits),
            Kind::Tagged { tag_bits } => {
                let below = children.map(|&child| Self::of(verifier, child));
                (below.len() as u64, below.collect(), *tag_bits)
            }
            _ => return,
        };
        let Some((stream, fields)) = schema.fields(id) else { return };
        let Some(field) = fields.into_iter().next() else { return };
        // Of one that is not inside its element it is told already.
        if field.position.saturating_add(field.width) <= verifier.element_bits(stream) {
            let field = Field { width: tag_bits.into(), ..field };
            self.0.push(Choice { field, known, below, unknown: None });
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|choice| 1 + choice.below.iter().map(Self::count).sum::<u64>()).sum()
    }

    fn look_at(&mut self, index: u64, element: u64) {
        for choice in &mut self.0 {
            let value = choice.field.bits(element);
            if value >= choice.known {
                choice.unknown.get_or_insert((index, value));
            } else if let Some(below) = usize::try_from(value).ok().and_then(|tag| choice.below.get_mut(tag))
            {
                below.look_at(index, element);
            }
        }
    }
}

impl Watch for Choices<'_> {
    fn look(&mut self, part: &Part) {
        part.elements().for_each(|(index, element)| self.look_at(index, element));
    }

    fn tell(&self, verifier: &mut Verifier) {
        for Choice { field, known, below, unknown } in &self.0 {
            let pointer = verifier.schema.entity_pointer(field.entity);
            match (unknown, field.kind) {
                (Some((index, value)), Kind::Enum { .. }) => {
                    let message = format!("element {index} has value {value}, there are {known} names");
                    verifier.warning(pointer, message);
                }
                (Some((index, tag)), _) => verifier.error(pointer, unknown_tag(*index, *tag, *known)),
                (None, _) => {}
            }
            below.iter().for_each(|below| below.tell(verifier));
        }
    }
}

/// The times of a stream never go back, since what looks for one halves the stream again and again; no event ends
/// before it starts.
pub(super) struct Times<'a> {
    entity: EntityId,
    field: Field<'a>,
    /// Whether each other number is the end of the event that the one before starts.
    is_span: bool,
    is_ordered: bool,
    last_start: i128,
    /// Element, time, and the time before it.
    back: Option<(u64, i128, i128)>,
    /// Element, end, and start.
    reversed: Option<(u64, i128, i128)>,
    /// Element and time.
    negative: Option<(u64, i128)>,
}

impl<'a> Times<'a> {
    /// The times that the stream of an entity holds, if it holds any; `time_fields` tell them by their records and groups.
    pub(super) fn of(
        verifier: &Verifier<'a>,
        id: EntityId,
        time_fields: &HashMap<EntityId, EntityId>,
    ) -> Option<Self> {
        let schema = verifier.schema;
        let is_pair =
            |&id: &EntityId| matches!(schema[id].kind(), Kind::Tuple { fields } if fields.len() == 2);
        let pair = schema[id].parent().filter(is_pair);
        let entity = pair.unwrap_or(id);
        let record = schema[entity].parent();
        let named = record.and_then(|record| time_fields.get(&record));
        match schema[id].kind() {
            Kind::Timestamp => {}
            Kind::Int { .. } | Kind::Signed { .. } if named == Some(&entity) => {}
            _ => return None,
        }
        // A record is gone through by one of its times; and each element of an array may start anew.
        let by_another = named.is_some_and(|&time| time != entity)
            && record.is_some_and(|record| schema.is_record(record));
        let mut above = std::iter::successors(Some(entity), |&id| schema[id].parent());
        let in_array = above.any(|id| matches!(schema[id].link(), Link::Inner(_)));
        let (_, fields) = schema.fields(id)?;
        Some(Self {
            entity,
            field: fields.into_iter().next()?,
            is_span: pair.is_some(),
            is_ordered: !by_another && !in_array,
            last_start: i128::MIN,
            back: None,
            reversed: None,
            negative: None,
        })
    }

    fn time(&self, element: u64) -> i128 {
        match self.field.value(element) {
            FieldValue::Signed(time) => time.into(),
            _ => self.field.bits(element).into(),
        }
    }
}

impl Watch for Times<'_> {
    fn look(&mut self, part: &Part) {
        for (index, element) in part.elements() {
            let time = self.time(element);
            let (event, is_end) = if self.is_span { (index / 2, index % 2 == 1) } else { (index, false) };
            if time < 0 {
                self.negative.get_or_insert((event, time));
            }
            if is_end {
                if time < self.last_start {
                    self.reversed.get_or_insert((event, time, self.last_start));
                }
                continue;
            }
            if time < self.last_start && self.is_ordered {
                self.back.get_or_insert((event, time, self.last_start));
            }
            self.last_start = time;
        }
    }

    fn tell(&self, verifier: &mut Verifier) {
        let pointer = verifier.schema.entity_pointer(self.entity);
        let starts = if self.is_span { "starts" } else { "is" };
        if let Some((event, time, before)) = self.back {
            let message =
                format!("element {event} {starts} at {time}, before the one before it, at {before}");
            verifier.warning(pointer, message);
        }
        if let Some((event, end, start)) = self.reversed {
            let message = format!("element {event} ends at {end}, before it starts, at {start}");
            verifier.error(pointer, message);
        }
        if let Some((event, time)) = self.negative {
            let message = format!("element {event} has time {time}: expected no negative one");
            verifier.warning(pointer, message);
        }
    }
}
