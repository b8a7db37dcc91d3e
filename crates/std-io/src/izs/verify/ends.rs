//! Elements that say which elements of other streams are theirs.

use core_codec::izs::model::EntityId;

use super::Verifier;
use super::watch::{Part, Watch};

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

pub(super) fn unknown_tag(index: u64, tag: u64, variants: u64) -> String {
    format!("element {index} has tag {tag}, there are {variants} variants")
}
