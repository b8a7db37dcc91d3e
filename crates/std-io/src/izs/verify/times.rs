//! Attributes that tell times: whether something has its times by them, and which child does.

use std::collections::HashMap;

use core_codec::izs::model::{EntityId, Kind};

use super::Verifier;

const RATES: [&str; 2] = ["time:rate", "sample_rate"];
const EPOCH: [&str; 1] = ["time:epoch"];

impl Verifier<'_> {
    /// Whether attributes that tell times tell those of something, and contradict nothing.
    pub(super) fn times(&mut self, id: EntityId) {
        self.rates(id);
        self.time_field(id);
        self.two_timestamps(id);
    }

    fn rates(&mut self, id: EntityId) {
        let (pointer, schema) = (self.schema.entity_pointer(id), self.schema);
        let is_timestamp = *schema[id].kind() == Kind::Timestamp;
        match RATES.map(|name| self.has(id, &[name])) {
            [true, true] => {
                self.warning(pointer, "both \"time:rate\" and \"sample_rate\": readers may take either");
            }
            [false, true] if is_timestamp => {
                let message = "\"sample_rate\" of a timestamp, whose ticks are by \"time:rate\"";
                self.warning(pointer, message);
            }
            _ => {}
        }
        if self.has_valid(id, &RATES) && !self.serves(id, &RATES, true) {
            self.warning(pointer, "its rate is of no use: nothing here is a sample or a time by it");
        }
        // Parents come before their children.
        let is_rated =
            self.has(id, &RATES) || schema[id].parent().is_some_and(|parent| self.rated.contains(&parent));
        if is_rated {
            self.rated.insert(id);
        }
        if self.has_valid(id, &EPOCH) && !self.serves(id, &EPOCH, is_rated) {
            self.warning(pointer, "\"time:epoch\" is of no use: nothing here has times by a \"time:rate\"");
        }
    }

    fn has(&self, id: EntityId, names: &[&str]) -> bool {
        names.iter().any(|name| self.schema[id].attributes().get(name).is_some())
    }

    fn has_valid(&self, id: EntityId, names: &[&str]) -> bool {
        let attributes = self.schema[id].attributes();
        let is_valid =
            |name: &&str| attributes.get(name).is_some_and(|value| self.expected(id, name, value).is_none());
        names.iter().any(is_valid)
    }

    /// Whether something at or below an entity has its times by an attribute of it, and not by one of its own.
    fn serves(&self, id: EntityId, names: &[&str], has_rate: bool) -> bool {
        let schema = self.schema;
        let has_rate = has_rate || self.has(id, &RATES);
        if !matches!(schema[id].kind(), Kind::Group | Kind::Record) {
            return has_rate;
        }
        // The elements of a record with times are no samples.
        let time = schema.time_field(id).ok().flatten().filter(|_| schema.is_record(id));
        let counts = |child| {
            time.is_none_or(|time| time.entity == child || schema.is_timestamp(child))
                && !self.has(child, names)
        };
        let mut children = schema[id].children().iter().copied().filter(|&child| counts(child));
        children.any(|child| self.serves(child, names, has_rate))
    }

    /// Whether the child that tells the times of events is there, and is a time.
    fn time_field(&mut self, id: EntityId) {
        let pointer = self.schema.entity_pointer(id);
        if let Err(found) = self.schema.time_field(id) {
            self.warning(pointer, found.to_string());
        } else if self.has(id, &["time:field"])
            && !matches!(self.schema[id].kind(), Kind::Group | Kind::Record | Kind::Opaque(_))
        {
            let found = self.schema[id].kind().name();
            self.warning(pointer, format!("\"time:field\" of type {found:?}, which has no named children"));
        }
    }

    /// Of two timestamps the first tells the times of a record, unless it says otherwise.
    fn two_timestamps(&mut self, id: EntityId) {
        if !self.schema.is_record(id) || self.has(id, &["time:field", "time"]) {
            return;
        }
        let children = self.schema[id].children().iter();
        let mut times = children.filter(|&&child| self.schema.is_timestamp(child));
        if let (Some(&first), Some(&second)) = (times.next(), times.next()) {
            let [first, second] = [first, second].map(|id| self.schema[id].name().unwrap_or_default());
            let message = format!(
                "children {first:?} and {second:?} are both times: expected \"time:field\" to name one"
            );
            self.warning(self.schema.entity_pointer(id), message);
        }
    }

    /// The children that tell times, by their records and groups.
    pub(super) fn time_fields(&self) -> HashMap<EntityId, TimeOf> {
        let time = |id| {
            let time = self.schema.time_field(id).ok()??.entity;
            Some((id, TimeOf { time, is_record: self.schema.is_record(id) }))
        };
        self.schema.entities().filter_map(time).collect()
    }
}

/// What tells the times of a record or group.
#[derive(Clone, Copy)]
pub(super) struct TimeOf {
    pub(super) time: EntityId,
    pub(super) is_record: bool,
}
