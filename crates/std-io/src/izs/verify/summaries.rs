//! Summaries: their levels, and the groups in these.

use std::fmt::{self, Display};

use core_codec::izs::model::{EntityId, Role, Schema, StreamId, Summary};
use core_codec::izs::summary::{MIN_GROUPS, Rule};

use super::values::Values;
use super::{Verifier, brief, token};
use crate::error::Error;
use crate::izs::{Budget, IzsStream};

/// Groups of the last level that are too many. A recorder may leave out coarse levels; but the reference waits for one
/// where a column of its display stands for 16 groups of the last, and a display has a thousand of them.
const TOO_FINE: u64 = 16 * MIN_GROUPS;

/// Where a summary stands: a JSON pointer that is made only where it is told.
struct SummaryPointer<'a> {
    schema: &'a Schema,
    entity: EntityId,
    key: &'a str,
}

impl Display for SummaryPointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}/summaries/{}", self.schema.entity_pointer(self.entity), token(self.key))
    }
}

/// Where the groups of a level come from.
#[derive(Clone, Copy)]
struct Below {
    stream: StreamId,
    /// Groups, or elements.
    groups: u64,
    /// Elements of the stream that make one.
    values: u64,
    /// How many make a group of the level.
    size: u64,
}

impl Verifier<'_> {
    /// Whether the levels of each summary are those of its rule; with `groups`, reads them, too.
    pub(super) fn summaries(&mut self, groups: bool) {
        // A level is read to be compared, and once more as what is below the next.
        let mut budget = groups.then(|| self.file.budget().times(2));
        for id in self.schema.entities() {
            // Of others it is told that they have none.
            if !self.may_have_summaries(id) {
                continue;
            }
            for summary in self.schema[id].summaries() {
                self.summary(id, summary, budget.as_mut());
            }
        }
    }

    fn summary(&mut self, id: EntityId, summary: &Summary, budget: Option<&mut Budget>) {
        let schema = self.schema;
        let pointer = &SummaryPointer { schema, entity: id, key: &summary.key };
        for (name, _) in summary.other.iter().filter(|(name, _)| *name != "base_level") {
            self.warning(pointer, format!("unknown member {name:?} of a summary"));
        }
        let Some(data) = schema[id].data().filter(|&data| schema[data].role() == Role::Data) else { return };
        // Of a stream whose length is not that it is told already.
        let (Some(length), Some(descriptor)) = (self.length(id), self.descriptor(data)) else { return };
        let (kind, element) = (schema[id].kind(), descriptor.element);
        let Some(rule) = Rule::named(&summary.key, kind, element, descriptor.dialect) else {
            let message = format!(
                "no {:?} of type {:?} in elements of {} is known: it is not checked",
                summary.key,
                kind.name(),
                element.name()
            );
            return self.warning(pointer, message);
        };
        let Some(base) = self.base_level(pointer, summary, rule) else { return };
        let below = Below { stream: data, groups: length, values: 1, size: 1 << base };
        self.levels(pointer, summary, rule, below, budget);
    }

    /// log2 of the elements of a group of level 0, where each level can have one.
    fn base_level(&mut self, pointer: &SummaryPointer, summary: &Summary, rule: Rule) -> Option<u8> {
        let (expected, levels) = (rule.base_level(), summary.levels.len());
        let message = match summary.base_level {
            Some(base) if usize::from(base) + levels > 64 && base < 64 => {
                format!("{levels} levels from level {base} on: expected {} at most", 64 - base)
            }
            Some(base) if base < 64 => {
                if base != expected {
                    let message =
                        format!("\"base_level\": writers have {expected}, found {base}: it is not continued");
                    self.warning(pointer, message);
                }
                return Some(base);
            }
            Some(base) => format!("\"base_level\": expected {expected}, found {base}"),
            None => {
                let found = summary.other.get("base_level").map_or_else(|| "none".into(), brief);
                format!("\"base_level\": expected {expected}, found {found}")
            }
        };
        self.error(pointer, message);
        None
    }

    fn levels(
        &mut self,
        pointer: &SummaryPointer,
        summary: &Summary,
        rule: Rule,
        mut below: Below,
        mut budget: Option<&mut Budget>,
    ) {
        let mut too_many = None;
        for (number, &level) in summary.levels.iter().enumerate() {
            if below.groups < MIN_GROUPS {
                too_many = too_many.or(Some((number, below.groups)));
            }
            // Of one that cannot be read it is told already.
            let (Ok(source), Ok(stream)) = (self.file.stream(below.stream), self.file.stream(level)) else {
                return;
            };
            let Some(groups) = self.level(rule, below, &source, &stream) else { return };
            if let Some(budget) = budget.as_deref_mut()
                && !self.groups(rule, below, source, stream, budget)
            {
                return;
            }
            below = Below { stream: level, groups, values: rule.group_len().into(), size: 2 };
        }
        let message = if let Some((number, groups)) = too_many {
            let of = if number == 0 { "elements" } else { "groups" };
            format!(
                "level {number} stands over {groups} {of}, expected {MIN_GROUPS} or more: writers do not continue it"
            )
        } else if summary.levels.is_empty() {
            "no level: viewers that look for one fail".into()
        } else if below.groups >= TOO_FINE {
            format!("no level above the {} groups of the last: viewers show nothing from afar", below.groups)
        } else {
            return;
        };
        self.warning(pointer, message);
    }

    /// Whether a level is as long and as wide as it has to be; its groups, where it can stand for something.
    fn level(&mut self, rule: Rule, below: Below, source: &IzsStream, stream: &IzsStream) -> Option<u64> {
        let pointer = self.schema.stream_pointer(stream.reader.id());
        let [of, is] = [source, stream].map(|stream| stream.descriptor().element);
        if is != of {
            self.error(pointer, format!("elements of {} over a stream of {}", is.name(), of.name()));
            return None;
        }
        let expected = below.groups / below.size;
        let group_len = u64::from(rule.group_len());
        let found = stream.len() / group_len;
        let is_torn = !stream.len().is_multiple_of(group_len);
        if found == expected && !is_torn {
            return Some(found);
        }
        let message = format!("{} values for {expected} groups", stream.len());
        // Readers go on without it, from the data.
        if is_torn || found.checked_add(1) != Some(expected) {
            self.error(pointer, message);
            return None;
        }
        self.warning(pointer, format!("{message}: the last is missing, as crate iguazu leaves it"));
        Some(found)
    }

    /// Whether the groups of a level are what those below make them.
    fn groups(
        &mut self,
        rule: Rule,
        below: Below,
        source: IzsStream,
        stream: IzsStream,
        budget: &mut Budget,
    ) -> bool {
        let id = stream.reader.id();
        let charged = budget.charge(&source).and_then(|()| budget.charge(&stream));
        match charged.and_then(|()| first_difference(rule, below, source, stream)) {
            Ok(None) => true,
            Ok(Some(group)) => {
                let message = format!("group {group} differs from its elements");
                self.error(self.schema.stream_pointer(id), message);
                false
            }
            // Told of with the stream.
            Err(_) => false,
        }
    }
}

/// The first group of a level that is not what the groups (or elements) of `source` make it. Both are read once, a
/// block at a time, however many of the one make a group of the other.
fn first_difference(
    rule: Rule,
    below: Below,
    source: IzsStream,
    level: IzsStream,
) -> Result<Option<u64>, Error> {
    let element = source.descriptor().element;
    let group_len = u64::from(rule.group_len());
    let groups = (level.len() / group_len).min(below.groups / below.size);
    let (mut source, mut stored) = (Values::new(source), Values::new(level));
    for number in 0..groups {
        let mut group = source.group(below.values)?;
        for _ in 1..below.size {
            group = rule.join(element, group, source.group(below.values)?);
        }
        if !rule.same(element, group, stored.group(group_len)?) {
            return Ok(Some(number));
        }
    }
    Ok(None)
}
