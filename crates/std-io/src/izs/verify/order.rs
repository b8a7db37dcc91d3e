//! Times of events and of what else comes in order.

use std::collections::HashMap;

use core_codec::izs::model::{EntityId, Field, FieldValue, Kind, Link};

use super::Verifier;
use super::times::TimeOf;
use super::watch::{Part, Watch};

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
        time_fields: &HashMap<EntityId, TimeOf>,
    ) -> Option<Self> {
        let schema = verifier.schema;
        let is_pair =
            |&id: &EntityId| matches!(schema[id].kind(), Kind::Tuple { fields } if fields.len() == 2);
        let pair = schema[id].parent().filter(is_pair);
        let entity = pair.unwrap_or(id);
        let above = schema[entity].parent().and_then(|above| time_fields.get(&above));
        let is_named = above.is_some_and(|above| above.time == entity);
        match schema[id].kind() {
            Kind::Timestamp => {}
            Kind::Int { .. } | Kind::Signed { .. } if is_named => {}
            _ => return None,
        }
        // A record is gone through by one of its times; and each element of an array may start anew.
        let by_another = above.is_some_and(|above| above.is_record) && !is_named;
        let mut holders = std::iter::successors(Some(entity), |&id| schema[id].parent());
        let in_array = holders.any(|id| matches!(schema[id].link(), Link::Inner(_)));
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
