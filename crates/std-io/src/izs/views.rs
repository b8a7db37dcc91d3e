//! Elements as what they mean: levels, physical quantities, events.

use std::ops::Range;

use core_codec::error::ErrorKind;
use core_codec::izs::model::{EntityId, Kind, Link, Moment, Object, Value};

use super::{IzsFile, numbers};
use crate::error::Error;

/// Something that happened, with what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When it began, in ticks of the entity's rate.
    pub start: u64,
    /// When it ended; none where the record has a single time.
    pub end: Option<u64>,
    /// The other fields, by name.
    pub fields: Object,
}

impl IzsFile {
    /// The levels of a single bit.
    ///
    /// # Errors
    /// When the entity is not a field of one bit, the range passes the end, or a block is damaged.
    pub fn bits(&self, entity: EntityId, elements: Range<u64>) -> Result<Vec<bool>, Error> {
        let (id, fields) = self.fields(entity)?;
        let [field] = &fields[..] else { return Err(self.no_view(entity, "not a single field")) };
        if field.width != 1 {
            return Err(self.no_view(entity, "not a single bit"));
        }
        let stream = self.stream(id)?;
        let mut levels = Vec::new();
        stream.for_each_part(elements, |_, bytes| {
            levels
                .extend(numbers(stream.descriptor().element, bytes).map(|element| field.bits(element) != 0));
            Ok::<_, Error>(())
        })?;
        Ok(levels)
    }

    /// The numbers of a field as the quantity that they stand for: value * `number:scale` + `number:offset`.
    ///
    /// # Errors
    /// When the entity is not a number, its scale is not one that a double holds, the range passes the end, or a block
    /// is damaged.
    pub fn quantities(&self, entity: EntityId, elements: Range<u64>) -> Result<Vec<f64>, Error> {
        let (id, fields) = self.fields(entity)?;
        let [field] = &fields[..] else { return Err(self.no_view(entity, "not a single field")) };
        let scale = self.schema().scale(entity)?;
        let stream = self.stream(id)?;
        let mut quantities = Vec::new();
        stream.for_each_part(elements, |_, bytes| {
            for element in numbers(stream.descriptor().element, bytes) {
                let number = super::overview::height(field, element).unwrap_or(f64::NAN);
                quantities.push(scale.quantity(number));
            }
            Ok::<_, Error>(())
        })?;
        Ok(quantities)
    }

    /// The events of a record: its elements, by the time that `time:field` names, or its only child that is a
    /// `timestamp` or a `tuple` of a start and an end.
    ///
    /// # Errors
    /// When the entity has no such child, the range passes the end, or a block is damaged.
    pub fn events(&self, record: EntityId, elements: Range<u64>) -> Result<Vec<Event>, Error> {
        let time = self.time_field(record)?;
        let times = self.values(time, elements.clone())?;
        let rows = self.values(record, elements)?;
        let time_name = self.schema()[time].name().unwrap_or_default();
        let events = times.iter().zip(rows).map(|(time, row)| {
            let (start, end) = match time {
                Value::Object(pair) => {
                    let mut ends = pair.iter().map(|(_, value)| value.as_u64());
                    (ends.next().flatten(), ends.next().flatten())
                }
                time => (time.as_u64(), None),
            };
            let Value::Object(mut fields) = row else { return None };
            fields.take(time_name);
            Some(Event { start: start?, end, fields })
        });
        let events: Option<Vec<_>> = events.collect();
        events.ok_or_else(|| self.no_view(record, "no events: a time is not an integer"))
    }

    /// When each element was: by `time:rate` and its index, or, of a `timestamp` and a record of [events](Self::events)
    /// with one, by its ticks; as dates where there is a `time:epoch`. Of events with two times it is the first.
    ///
    /// # Errors
    /// When the entity has no `time:rate`, the range passes the end, or a block is damaged.
    pub fn times(&self, entity: EntityId, elements: Range<u64>) -> Result<Vec<Moment>, Error> {
        let field = self.time_field(entity).ok();
        let of = field.unwrap_or(entity);
        let clock = self
            .schema()
            .clock(of)
            .ok_or_else(|| self.no_view(of, "no times: it has no valid `time:rate`"))?;
        if field.is_none() && !self.is_time(of) {
            return Ok(elements.map(|index| clock.at(index)).collect());
        }
        let ticks = self.values(of, elements)?.into_iter().map(|time| match time {
            Value::Object(pair) => pair.iter().next().and_then(|(_, start)| start.as_u64()),
            time => time.as_u64(),
        });
        let moments = ticks.map(|tick| Some(clock.at(tick?))).collect::<Option<_>>();
        moments.ok_or_else(|| self.no_view(of, "no times: a time is not an integer"))
    }

    /// The child of a record of [events](Self::events) that tells when they were.
    ///
    /// # Errors
    /// When there is none.
    pub fn time_field(&self, record: EntityId) -> Result<EntityId, Error> {
        let node = &self.schema()[record];
        let named = ["time:field", "time"].iter().find_map(|name| node.attributes().get(name)?.as_str());
        let mut children = node.children().iter().copied();
        let found = match named {
            Some(name) => children.find(|&child| self.schema()[child].name() == Some(name)),
            None => children.find(|&child| self.is_time(child)),
        };
        found.ok_or_else(|| self.no_view(record, "no events: no child is a time"))
    }

    fn is_time(&self, entity: EntityId) -> bool {
        let node = &self.schema()[entity];
        match node.kind() {
            Kind::Timestamp => true,
            Kind::Tuple { fields } if fields.len() == 2 => node.children().iter().any(|&child| {
                let child = &self.schema()[child];
                matches!(child.link(), Link::Inner(_)) && *child.kind() == Kind::Timestamp
            }),
            _ => false,
        }
    }

    fn no_view(&self, entity: EntityId, reason: &'static str) -> Error {
        let pointer = self.schema().entity_pointer(entity).to_string();
        core_codec::Error::new("entity", ErrorKind::Invalid(reason)).item(pointer).into()
    }
}
