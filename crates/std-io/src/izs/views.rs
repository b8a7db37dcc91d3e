//! Elements as what they mean: levels, physical quantities, events.

use std::ops::Range;

use core_codec::error::ErrorKind;
use core_codec::izs::model::{EntityId, Moment, Object, TimeField, Value};

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

    /// The events of a record: its elements, by the time of its
    /// [time field](core_codec::izs::model::Schema::time_field).
    ///
    /// # Errors
    /// When the entity has no such child, a time is negative, the range passes the end, or a block is damaged.
    pub fn events(&self, record: EntityId, elements: Range<u64>) -> Result<Vec<Event>, Error> {
        let time = self.time_field(record)?;
        let place = self.schema()[record].children().iter().position(|&child| child == time.entity);
        let event = |row| {
            let (start, end, fields) = split(row, place?, time.is_span)?;
            Some(Event { start, end, fields })
        };
        let events: Option<Vec<_>> = self.values(record, elements)?.into_iter().map(event).collect();
        events.ok_or_else(|| self.no_view(record, "no events: a time is not an unsigned integer"))
    }

    /// When each element was: by `time:rate` and its index, or, of a `timestamp` and a record of [events](Self::events)
    /// with one, by its ticks; as dates where there is a `time:epoch`. Of events with two times it is the first.
    ///
    /// # Errors
    /// When the entity has no valid [clock](core_codec::izs::model::Schema::clock), the range passes the end, or a
    /// block is damaged.
    pub fn times(&self, entity: EntityId, elements: Range<u64>) -> Result<Vec<Moment>, Error> {
        self.check_known(entity)?;
        let schema = self.schema();
        let of = match schema.time_field(entity)? {
            Some(time) => time.entity,
            None if schema.is_timestamp(entity) => entity,
            None => {
                let clock = schema.clock(entity)?;
                return Ok(elements.map(|index| clock.at(index)).collect());
            }
        };
        let clock = schema.ticks(of)?;
        let ticks = self
            .values_within(of, elements, &mut self.reading(entity, false))?
            .into_iter()
            .map(|time| Some(times_of(&time)?.0));
        let moments = ticks.map(|tick| Some(clock.at(tick?))).collect::<Option<_>>();
        moments.ok_or_else(|| self.no_view(of, "no times: a time is not an unsigned integer"))
    }

    /// The child of a record of [events](Self::events) that tells when they were.
    ///
    /// # Errors
    /// When there is none.
    pub fn time_field(&self, record: EntityId) -> Result<TimeField, Error> {
        self.check_known(record)?;
        let found = self.schema().time_field(record)?;
        found.ok_or_else(|| self.no_view(record, "no events: no child is a time"))
    }

    fn no_view(&self, entity: EntityId, reason: &'static str) -> Error {
        let pointer = self.schema().entity_pointer(entity).to_string();
        core_codec::Error::new("entity", ErrorKind::Invalid(reason)).item(pointer).into()
    }
}

/// A row as start, end and what else is in it; none unless the field at `place` is a time of that shape.
fn split(row: Value, place: usize, is_span: bool) -> Option<(u64, Option<u64>, Object)> {
    let Value::Object(row) = row else { return None };
    let (start, end) = times_of(row.iter().nth(place)?.1)?;
    let others = row.into_iter().enumerate().filter(|(at, _)| *at != place).map(|(_, field)| field);
    (end.is_some() == is_span).then(|| (start, end, others.collect()))
}

/// The one or two numbers of a time.
fn times_of(time: &Value) -> Option<(u64, Option<u64>)> {
    let Value::Object(pair) = time else { return Some((time.as_u64()?, None)) };
    let mut ends = pair.iter().map(|(_, value)| value.as_u64());
    Some((ends.next()??, Some(ends.next()??)))
}
