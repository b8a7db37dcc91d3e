//! Types of entities, what belongs to each, and fields in their element.

use core_codec::izs::model::{EntityId, Field, Kind};
use core_codec::izs::schema::RESERVED;
use core_codec::izs::{Dialect, Element};

use super::{Verifier, brief};

impl Verifier<'_> {
    /// Whether an entity has what its type needs, and nothing that belongs to others.
    pub(super) fn node(&mut self, id: EntityId) {
        if let Kind::Opaque(opaque) = self.schema[id].kind() {
            let (unknown, message) =
                (opaque.has_unknown_type(), format!("not understood: {}", opaque.reason));
            let pointer = self.schema.entity_pointer(id);
            return if unknown { self.warning(pointer, message) } else { self.error(pointer, message) };
        }
        self.dialect_of_type(id);
        self.in_element(id);
        self.members(id);
        self.element(id);
        self.names(id);
        self.size(id);
        self.fields_in_element(id);
        self.overlap(id);
    }

    fn dialect_of_type(&mut self, id: EntityId) {
        let (pointer, entity) = (self.schema.entity_pointer(id), &self.schema[id]);
        let is_v001 = matches!(entity.kind(), Kind::Record | Kind::Union | Kind::Tagged { .. });
        if is_v001 && self.dialect == Some(Dialect::Spec) {
            let message = format!("the specification's dialect has no {:?}", entity.kind().name());
            self.warning(pointer, message);
        }
        if entity.pos().is_some() && self.dialect == Some(Dialect::V001) {
            let message = "\"pos\" in dialect V, whose reader puts fields one after the other";
            self.warning(pointer, message);
        }
    }

    /// Whether what shares the elements of another is bits of them.
    fn in_element(&mut self, id: EntityId) {
        let (schema, entity) = (self.schema, &self.schema[id]);
        let Some(parent) = entity.parent() else { return };
        if !entity.kind().is_field() && matches!(schema[parent].kind(), Kind::BitStruct | Kind::Tagged { .. })
        {
            let [found, of] = [id, parent].map(|id| schema[id].kind().name());
            self.error(schema.entity_pointer(id), format!("expected a field in a {of}, found a {found}"));
        }
    }

    /// Members with a meaning of their own that this type gives none: readers drop what is in them.
    fn members(&mut self, id: EntityId) {
        let (pointer, entity) = (self.schema.entity_pointer(id), &self.schema[id]);
        for (key, value) in entity.attributes().iter().filter(|(key, _)| RESERVED.contains(key)) {
            match key {
                // The main branch of the reference gives an `enum` those.
                "variants" if matches!(entity.kind(), Kind::Enum { .. }) => {}
                "pos" => {
                    let message = format!("\"pos\" does not belong to type {:?}", entity.kind().name());
                    self.warning(pointer, message);
                }
                "summaries" if self.may_have_summaries(id) => {
                    let found = brief(value);
                    let message = format!("\"summaries\": expected objects with \"levels\", found {found}");
                    self.error(pointer, message);
                }
                _ => self.misplaced(id, key),
            }
        }
        if entity.data().is_some() && !self.schema.may_have_stream(id) {
            self.misplaced(id, "data");
        }
        if !entity.summaries().is_empty() && !self.may_have_summaries(id) {
            self.misplaced(id, "summaries");
        }
    }

    pub(super) fn may_have_summaries(&self, id: EntityId) -> bool {
        self.schema[id].kind().is_field() && self.schema.may_have_stream(id)
    }

    fn misplaced(&mut self, id: EntityId, key: &str) {
        let entity = &self.schema[id];
        let in_element = entity.kind().is_field() && !self.schema.may_have_stream(id);
        let message = match entity.parent() {
            Some(parent) if in_element && matches!(key, "data" | "summaries") => {
                format!("{key:?} of a field in the elements of {}", self.schema.entity_pointer(parent))
            }
            _ => format!("{key:?} does not belong to type {:?}", entity.kind().name()),
        };
        self.error(self.schema.entity_pointer(id), message);
    }

    /// Whether the elements of a stream are as wide as its type.
    fn element(&mut self, id: EntityId) {
        let (pointer, entity) = (self.schema.entity_pointer(id), &self.schema[id]);
        let Some(descriptor) = entity.data().and_then(|data| self.descriptor(data)) else { return };
        let element = descriptor.element.name();
        match (entity.kind(), descriptor.element) {
            (Kind::Character, Element::U16 | Element::U32 | Element::U64) => {
                self.error(pointer, format!("characters are elements of u8, not {element}"));
            }
            // Narrower ones do not hold it. In a `bit_struct` it may be anywhere.
            (Kind::Float32, Element::U64) => {
                self.warning(pointer, format!("a float32 has elements of u32, not {element}, elsewhere"));
            }
            _ => {}
        }
    }

    /// Names that do not tell things apart.
    fn names(&mut self, id: EntityId) {
        let pointer = self.schema.entity_pointer(id);
        match self.schema[id].kind() {
            Kind::Tuple { fields } => {
                if let Some(name) = repeated(fields.iter().map(|(name, _)| &**name)) {
                    self.error(pointer, format!("two fields are called {name:?}"));
                }
            }
            Kind::Enum { bits, values } => {
                if values.len() as u64 > 1u64.checked_shl((*bits).into()).unwrap_or(u64::MAX) {
                    self.warning(pointer, format!("{} names for a value of {bits} bits", values.len()));
                }
                if let Some(name) = repeated(values.iter().map(|name| &**name)) {
                    self.warning(pointer, format!("two values are called {name:?}"));
                }
            }
            Kind::Tagged { tag_bits } => {
                let variants = self.schema[id].children().len();
                if variants as u64 > 1u64.checked_shl((*tag_bits).into()).unwrap_or(u64::MAX) {
                    self.warning(pointer, format!("{variants} variants for a tag of {tag_bits} bits"));
                }
            }
            _ => {}
        }
    }

    /// Whether there is something of everything.
    fn size(&mut self, id: EntityId) {
        let pointer = self.schema.entity_pointer(id);
        match self.schema[id].kind() {
            Kind::FixedArray { elements: 0 } => self.error(pointer, "an array of 0 elements of its child"),
            Kind::Tuple { fields } if fields.is_empty() => self.error(pointer, "a tuple of 0 fields"),
            Kind::Bits { bits: 0 }
            | Kind::Int { bits: 0 }
            | Kind::Signed { bits: 0 }
            | Kind::Enum { bits: 0, .. } => self.warning(pointer, "a field of 0 bits holds nothing"),
            _ => {}
        }
    }

    /// Whether the fields of an entity with a stream lie inside its elements.
    ///
    /// Bits outside of all fields may be set: who samples a whole port has them, and declares what is wired.
    fn fields_in_element(&mut self, id: EntityId) {
        let Some(stream) = self.schema[id].data() else { return };
        let Some((_, fields)) = self.schema.fields(id) else { return };
        let bits = self.element_bits(stream);
        for field in fields {
            let end = field.position.saturating_add(field.width);
            if end > bits {
                let pointer = self.schema.entity_pointer(field.entity);
                self.error(pointer, format!("the field ends at bit {end} of an element of {bits} bits"));
            }
        }
    }

    /// Whether fields of a `bit_struct` share bits: allowed with `pos`, but more often a slip. What the variants of a
    /// `tagged` share is its point, and they need not be of one width.
    fn overlap(&mut self, id: EntityId) {
        let is_struct = |id: EntityId| *self.schema[id].kind() == Kind::BitStruct;
        // One inside another is told of with that.
        if !is_struct(id) || self.schema[id].parent().is_some_and(is_struct) {
            return;
        }
        let Some((_, fields)) = self.schema.fields(id) else { return };
        let place =
            |field: &Field| (field.position, field.position.saturating_add(field.width), field.entity);
        let mut fields: Vec<_> = fields.iter().map(place).filter(|(start, end, _)| start < end).collect();
        fields.sort_unstable();
        // None ends after `furthest` of those before.
        let mut furthest: Option<(u32, EntityId)> = None;
        for (start, end, field) in fields {
            if let Some((reach, other)) = furthest.filter(|(reach, _)| start < *reach) {
                let [other, field] = [other, field].map(|id| self.schema[id].name().unwrap_or_default());
                let bits = match reach.min(end) - 1 {
                    last if last == start => format!("bit {start}"),
                    last => format!("bits {start} to {last}"),
                };
                let message = format!("fields {other:?} and {field:?} share {bits}");
                return self.warning(self.schema.entity_pointer(id), message);
            }
            furthest = furthest.max(Some((end, field)));
        }
    }
}

/// A name that comes twice.
fn repeated<'n>(names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}
