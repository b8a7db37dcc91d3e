//! Lengths of streams that belong together.

use core_codec::izs::model::{EntityId, Kind};

use super::Verifier;

impl Verifier<'_> {
    /// Whether the children of a record are as long as one another, and that of an array or tuple holds whole elements.
    pub(super) fn lengths(&mut self, id: EntityId) {
        let (pointer, entity) = (self.schema.entity_pointer(id), &self.schema[id]);
        let size = match entity.kind() {
            Kind::Record => return self.record(id),
            Kind::Group if self.schema.is_record(id) || self.has_rows(id) => return self.record(id),
            Kind::Tuple { fields } => fields.len() as u64,
            Kind::FixedArray { elements } => (*elements).into(),
            _ => return,
        };
        if let Some(length) = entity.children().first().and_then(|&child| self.length(child))
            // Of nothing it is told already.
            && size > 0
            && length % size != 0
        {
            self.error(pointer, format!("the child has {length} elements, not a multiple of {size}"));
        }
    }

    /// Whether a group is, with all of its children together, the element of what is above it.
    fn has_rows(&self, group: EntityId) -> bool {
        let mut at = group;
        while let Some(parent) = self.schema[at].parent() {
            match self.schema[parent].kind() {
                Kind::Group if !self.schema.is_record(parent) => at = parent,
                kind => return !matches!(kind, Kind::Opaque(_)),
            }
        }
        false
    }

    fn record(&mut self, id: EntityId) {
        let children = self.schema[id].children().iter();
        let mut lengths = children.filter_map(|&child| Some((child, self.length(child)?)));
        let Some((first, expected)) = lengths.next() else { return };
        if let Some((other, found)) = lengths.find(|(_, length)| *length != expected) {
            let [first, other] = [first, other].map(|id| self.schema[id].name().unwrap_or_default());
            let kind = if self.schema.is_record(id) { "record" } else { "group" };
            let message =
                format!("children of a {kind} differ: {first:?} has {expected} elements, {other:?} {found}");
            self.error(self.schema.entity_pointer(id), message);
        }
    }

    /// How many elements an entity has; none where its streams cannot be read, or not be as long as they say, which is
    /// told of with them.
    pub(super) fn length(&self, id: EntityId) -> Option<u64> {
        let is_possible = self.is_possible(id);
        is_possible.then(|| self.file.rows(id).ok()).flatten()
    }

    fn is_possible(&self, id: EntityId) -> bool {
        match self.schema[id].data() {
            Some(data) => self.file.stream(data).is_ok_and(|stream| {
                let reader = stream.reader();
                reader.check_expansion(stream.len()).is_ok()
            }),
            None => self.schema[id].children().iter().all(|&child| self.is_possible(child)),
        }
    }
}
