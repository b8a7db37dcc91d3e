//! Building a schema in a program.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::names::{in_v001, set_in_v001};
use super::time::{Rate, parse_rfc3339};
use super::{
    Descriptor, Entity, EntityId, Kind, Link, Method, Object, Role, Schema, Stream, StreamId, Value,
};
use crate::error::{Error, ErrorKind};
use crate::izs::raw::{Compression, Dialect, Element};
use crate::izs::schema::{MAX_BLOCK_BYTES, RESERVED};

/// Elements of a block where nothing else is asked for.
pub const DEFAULT_BLOCK: u64 = 1 << 18;

/// Fewest elements in a block ("Schema" in the specification).
pub const MIN_BLOCK: u64 = crate::izs::schema::MIN_BLOCK as u64;

/// Deepest nesting of entities, so that the JSON stays within the 128 levels that the reference reads.
const MAX_DEPTH: usize = 60;

/// Builds a [`Schema`] from the root down. A mistake is an error of the call that makes it, or of
/// [`finish`](Self::finish) where more calls might have mended it.
///
/// ```
/// use core_codec::izs::Element;
/// use core_codec::izs::model::{Kind, SchemaBuilder};
///
/// let mut schema = SchemaBuilder::new(Kind::Group);
/// let root = schema.root();
/// let logic = schema.add(root, "logic", Kind::BitStruct)?;
/// schema.add(logic, "sda", Kind::Bits { bits: 1 })?;
/// schema.add(logic, "scl", Kind::Bits { bits: 1 })?;
/// schema.attribute(logic, "time:rate", 8e6)?;
/// let logic = schema.stream(logic, Element::U8)?;
/// let adc = schema.add(root, "adc", Kind::Int { bits: 12 })?;
/// let adc = schema.stream(adc, Element::U16)?;
/// let schema = schema.finish()?;
/// assert_eq!(schema.stream_pointer(adc).to_string(), "/entity/children/adc/data");
/// # Ok::<(), core_codec::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SchemaBuilder {
    schema: Schema,
    /// Entities and streams of the file that is extended.
    old: (usize, usize),
}

impl SchemaBuilder {
    /// A schema whose root is `kind`.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        let root = entity(kind, None, Link::Root);
        let mut schema = Schema {
            entities: [root].into(),
            streams: [].into(),
            other: Object::default(),
            names: Dialect::Spec,
        };
        schema.lay_out();
        Self { schema, old: (0, 0) }
    }

    /// Adds to the schema of a file. Its entities and streams keep their ids; those that are new get names by
    /// the dialect of the file.
    ///
    /// ```
    /// use core_codec::izs::Element;
    /// use core_codec::izs::model::{Kind, Schema, SchemaBuilder};
    ///
    /// let old = Schema::parse(br#"{"entity": {"type": "group", "children": {}}}"#, &Default::default())?;
    /// let mut schema = SchemaBuilder::extend(old);
    /// let adc = schema.add(schema.root(), "adc", Kind::Int { bits: 12 })?;
    /// let adc = schema.stream(adc, Element::U16)?;
    /// assert_eq!(schema.finish()?.stream_pointer(adc).to_string(), "/entity/children/adc/data");
    /// # Ok::<(), core_codec::Error>(())
    /// ```
    #[must_use]
    pub fn extend(schema: Schema) -> Self {
        let old = (schema.entities.len(), schema.streams.len());
        Self { schema, old }
    }

    /// The schema up to now.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The root.
    #[must_use]
    pub fn root(&self) -> EntityId {
        self.schema.root()
    }

    /// Adds a named entity below a group, record, union, tagged field or `bit_struct`. In a `bit_struct` it
    /// follows the field before it; [`at`](Self::at) places it elsewhere.
    ///
    /// # Errors
    /// When the parent takes no named entities, or has one of that name.
    pub fn add(&mut self, parent: EntityId, name: &str, kind: Kind) -> Result<EntityId, Error> {
        let Some(container) = self.schema[parent].kind().container() else {
            return Err(self.refuse(parent, "takes no named entities"));
        };
        let siblings = self.schema[parent].children().iter();
        if siblings.clone().any(|&sibling| self.schema[sibling].name() == Some(name)) {
            return Err(self.refuse(parent, "has an entity of that name already").detail(name));
        }
        let mut ends =
            siblings.map(|&field| self.schema.bit_position(field).saturating_add(self.schema.width(field)));
        let packed = (self.schema[parent].kind == Kind::BitStruct).then(|| ends.next_back().unwrap_or(0));
        // The fields of a file in dialect V have no `pos`, and go on without.
        let without_pos = self.schema.packs_fields(&self.schema[parent]);
        let id = self.push(parent, kind, Link::Member { container, name: name.into() })?;
        // 64 bits and more are refused when the width of the element is known.
        self.entity(id).pos = packed.filter(|_| !without_pos).map(|end| end.min(64) as u8);
        self.lay_out_above(id);
        Ok(id)
    }

    /// Adds the one entity below a tuple or an array.
    ///
    /// # Errors
    /// When the parent takes none, or has one already.
    pub fn inner(&mut self, parent: EntityId, kind: Kind) -> Result<EntityId, Error> {
        if !self.schema[parent].kind().has_inner() {
            return Err(self.refuse(parent, "takes no inner entity"));
        }
        if !self.schema[parent].children().is_empty() {
            return Err(self.refuse(parent, "has an inner entity already"));
        }
        let id = self.push(parent, kind, Link::Inner("child"))?;
        self.lay_out_above(id);
        Ok(id)
    }

    /// Places a field at bit `pos` of its element (0 is the least significant).
    ///
    /// # Errors
    /// When it is no field, or `pos` is not in any element.
    pub fn at(&mut self, field: EntityId, pos: u8) -> Result<(), Error> {
        if !self.schema[field].kind().is_field() || pos > 63 {
            return Err(self.refuse(field, "has no place in the bits of an element there"));
        }
        self.entity(field).pos = Some(pos);
        self.lay_out_above(field);
        Ok(())
    }

    /// Sets an attribute, by its name in the specification; a file in dialect V gets it by its name there.
    /// Attributes keep the order in which they are set.
    ///
    /// # Errors
    /// When `key` means something else in a schema, is the role of an entity that a file in dialect V has, or `value` is or
    /// holds null or a number that is not finite: the reference cannot open a file with one. When `key` is one that readers
    /// compute with (`time:rate`, `time:epoch`, `number:scale`, `number:offset`), and `value` is of no use for that.
    pub fn attribute(&mut self, entity: EntityId, key: &str, value: impl Into<Value>) -> Result<(), Error> {
        if RESERVED.contains(&key) {
            return Err(self.refuse(entity, "cannot have an attribute of that name").detail(key));
        }
        let value = value.into();
        check_attribute(&value)
            .and_then(|()| check_meaning(key, &value))
            .map_err(|reason| self.refuse(entity, reason).detail(key))?;
        let is_old = (entity.0 as usize) < self.old.0;
        // Those of a new entity are renamed when all are there.
        if is_old && self.schema.names == Dialect::V001 {
            if key == "core:role" {
                // There a role is the type of the entity, which is written already.
                return Err(self.refuse(entity, "cannot change its role in a file in dialect V"));
            }
            set_in_v001(self.entity(entity), key, value);
        } else {
            self.entity(entity).attributes.set(key, value);
        }
        Ok(())
    }

    /// Gives the entity a stream: [`DEFAULT_BLOCK`] elements a block, `zstd`.
    ///
    /// # Errors
    /// When it has one, or is of a kind that has none.
    pub fn stream(&mut self, entity: EntityId, element: Element) -> Result<StreamId, Error> {
        self.stream_with(entity, element, DEFAULT_BLOCK, Compression::Zstd)
    }

    /// Gives the entity a stream with `block` elements a block: a power of two from [`MIN_BLOCK`] to
    /// [`MAX_BLOCK_BYTES`].
    ///
    /// # Errors
    /// As [`stream`](Self::stream), and for a block of another length.
    pub fn stream_with(
        &mut self,
        entity: EntityId,
        element: Element,
        block: u64,
        compression: Compression,
    ) -> Result<StreamId, Error> {
        let max = MAX_BLOCK_BYTES / u64::from(element.size());
        if !block.is_power_of_two() || !(MIN_BLOCK..=max).contains(&block) {
            let kind =
                ErrorKind::OutOfRange { what: "`block`, a power of two", min: MIN_BLOCK, max, found: block };
            return Err(Error::new("stream descriptor", kind).item(self.path(entity)));
        }
        if self.schema[entity].data.is_some() {
            return Err(self.refuse(entity, "has a stream already"));
        }
        if !self.schema.may_have_stream(entity) {
            return Err(self.refuse(entity, "is of a kind, or in a place, that has no stream of its own"));
        }
        let id = StreamId(self.schema.streams.len() as u32);
        let descriptor = Descriptor::empty(element, block, Method::Known(compression));
        self.schema.streams.push(Stream { entity, role: Role::Data, descriptor: Ok(descriptor) });
        self.entity(entity).data = Some(id);
        Ok(id)
    }

    /// The schema.
    ///
    /// # Errors
    /// When a field has no stream or reaches past the end of its element, an array has no inner entity, or the
    /// tree is too deep for the reference.
    pub fn finish(mut self) -> Result<Schema, Error> {
        self.schema.entities().skip(self.old.0).try_for_each(|id| self.check(id))?;
        self.schema.lay_out();
        if self.schema.names == Dialect::V001 {
            self.schema.entities().try_for_each(|id| self.pack_fields(id))?;
            for id in self.schema.entities().skip(self.old.0) {
                let (kind, attributes) = in_v001(&self.schema, id);
                let entity = self.entity(id);
                (entity.kind, entity.attributes) = (kind, attributes);
            }
            self.schema.lay_out();
        }
        Ok(self.schema)
    }

    /// Takes `pos` from the new fields right below an entity: dialect V has none, and puts the fields of a
    /// `bit_struct` one after the other.
    fn pack_fields(&mut self, id: EntityId) -> Result<(), Error> {
        let is_struct = self.schema[id].kind == Kind::BitStruct;
        let mut packed = 0_u32;
        for &field in &self.schema[id].children.clone() {
            let width = self.schema.width(field);
            if field.0 as usize >= self.old.0
                && let Some(found) = self.entity(field).pos.take().filter(|_| is_struct)
                && u32::from(found) != packed
            {
                return Err(gap_in_v001(packed, found.into()).item(self.path(field)));
            }
            packed = packed.saturating_add(width);
        }
        Ok(())
    }

    fn check(&self, id: EntityId) -> Result<(), Error> {
        let entity = &self.schema[id];
        // The root came without a call that could refuse it.
        if let Some(reason) = reason_against(&entity.kind) {
            return Err(self.refuse(id, reason));
        }
        if self.schema.may_have_stream(id) && entity.data.is_none() {
            return Err(self.refuse(id, "needs a stream"));
        }
        if entity.kind.has_inner() && entity.children.is_empty() {
            return Err(self.refuse(id, "needs an inner entity"));
        }
        if entity.kind.is_field() {
            self.check_place(id)?;
        }
        Ok(())
    }

    /// Checks that a field lies inside its element.
    fn check_place(&self, id: EntityId) -> Result<(), Error> {
        let width = self.schema.width(id);
        let empty = matches!(self.schema[id].kind, Kind::Null | Kind::BitStruct | Kind::Tagged { .. });
        if width == 0 && !empty {
            return Err(self.refuse(id, "has no bit"));
        }
        let mut end = width;
        let mut owner = id;
        loop {
            let in_parent = self.schema[owner].parent().filter(|_| self.schema[owner].data.is_none());
            end = end.saturating_add(match in_parent {
                Some(_) => self.schema.bit_position(owner),
                None => self.schema[owner].pos.unwrap_or(0).into(),
            });
            let Some(parent) = in_parent else { break };
            owner = parent;
        }
        let descriptor = self.schema[owner].data.and_then(|data| self.schema[data].descriptor().ok());
        let bits = descriptor.map_or(0, |descriptor| u32::from(descriptor.element.size()) * 8);
        if end <= bits {
            return Ok(());
        }
        let kind = ErrorKind::OutOfRange {
            what: "bits of a field in its element",
            min: 0,
            max: bits.into(),
            found: end.into(),
        };
        Err(Error::new("entity", kind).item(self.path(id)))
    }

    fn push(&mut self, parent: EntityId, kind: Kind, link: Link) -> Result<EntityId, Error> {
        if let Some(reason) = reason_against(&kind) {
            return Err(self.refuse(parent, reason));
        }
        let above = core::iter::successors(Some(parent), |&id| self.schema[id].parent());
        if above.count() >= MAX_DEPTH {
            let limit = MAX_DEPTH as u64;
            let kind = ErrorKind::Limit { what: "nested entities", limit, found: limit + 1 };
            return Err(Error::new("entity", kind).item(self.path(parent)));
        }
        let id = EntityId(self.schema.entities.len() as u32);
        self.schema.entities.push(entity(kind, Some(parent), link));
        let mut children = core::mem::take(&mut self.entity(parent).children).into_vec();
        children.push(id);
        self.entity(parent).children = children.into();
        Ok(id)
    }

    /// Brings the places of a field that changed, and of those that hold it, up to date.
    fn lay_out_above(&mut self, id: EntityId) {
        let mut at = Some(id);
        while let Some(id) = at {
            self.schema.lay_out_below(id);
            at = self.schema[id].parent().filter(|_| self.schema[id].kind().is_field());
        }
    }

    fn entity(&mut self, id: EntityId) -> &mut Entity {
        &mut self.schema.entities[id.0 as usize]
    }

    fn path(&self, id: EntityId) -> String {
        format!("{}", self.schema.entity_pointer(id))
    }

    fn refuse(&self, id: EntityId, reason: &'static str) -> Error {
        Error::new("entity", ErrorKind::Invalid(reason)).item(self.path(id))
    }
}

pub(super) fn entity(kind: Kind, parent: Option<EntityId>, link: Link) -> Entity {
    Entity {
        kind,
        pos: None,
        place: Default::default(),
        attributes: Object::default(),
        parent,
        link,
        children: Box::default(),
        data: None,
        summaries: Box::default(),
    }
}

/// What is wrong with a kind in a new file, whatever is around it.
fn reason_against(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Opaque(_) => Some("cannot hold a node of an unknown type in a new file"),
        Kind::FixedArray { elements: 0 } => Some("cannot hold an array of nothing"),
        Kind::Tuple { fields } if fields.is_empty() => Some("cannot hold a tuple of nothing"),
        Kind::Tuple { fields } if repeats_a_name(fields) => Some("cannot hold a tuple with a name twice"),
        Kind::Enum { bits, values }
            if values.len() as u64 > 1u64.checked_shl((*bits).into()).unwrap_or(u64::MAX) =>
        {
            Some("cannot hold an enum with more names than its bits tell apart")
        }
        _ => None,
    }
}

/// Whether an object with these names as keys would lose one.
pub(super) fn repeats_a_name(fields: &[(Box<str>, Object)]) -> bool {
    let mut names: Vec<&str> = fields.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

/// A field that is not where dialect V puts it.
pub(super) fn gap_in_v001(expected: u32, found: u32) -> Error {
    let what = "first bit of a field; dialect V, which has no `pos`, puts fields one after the other";
    Error::new("entity", ErrorKind::Mismatch { what, expected: expected.into(), found: found.into() })
}

/// Whether the reference can read the value of an attribute.
pub(super) fn check_attribute(value: &Value) -> Result<(), &'static str> {
    match value {
        Value::Null => Err("cannot have a null attribute: the reference cannot open such a file"),
        Value::Float(number) if !number.is_finite() => Err("cannot have an attribute that is not finite"),
        Value::Number(_) if value.as_f64().is_none() => {
            Err("cannot have a number beyond the range of a double: the reference cannot open such a file")
        }
        Value::Array(values) => values.iter().try_for_each(check_attribute),
        Value::Object(members) => members.iter().try_for_each(|(_, value)| check_attribute(value)),
        _ => Ok(()),
    }
}

/// Whether readers can compute with the value.
fn check_meaning(key: &str, value: &Value) -> Result<(), &'static str> {
    let number = value.as_f64();
    let (fits, reason) = match key {
        "time:rate" => (number.and_then(Rate::from_hertz).is_some(), "needs a rate in hertz"),
        "time:epoch" => {
            (value.as_str().and_then(parse_rfc3339).is_some(), "needs a date and time of RFC 3339")
        }
        "number:scale" | "number:offset" => (number.is_some(), "needs a number"),
        _ => return Ok(()),
    };
    if fits { Ok(()) } else { Err(reason) }
}

impl Schema {
    /// Whether the kind of the entity has a stream, and no entity above holds its bits.
    #[must_use]
    pub fn may_have_stream(&self, id: EntityId) -> bool {
        let entity = &self[id];
        let in_element = entity
            .parent()
            .is_some_and(|parent| matches!(self[parent].kind, Kind::BitStruct | Kind::Tagged { .. }));
        (entity.kind.is_field() || matches!(entity.kind, Kind::VariableArray | Kind::Union)) && !in_element
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error<T>(result: Result<T, Error>) -> String {
        match result {
            Ok(_) => "no error".into(),
            Err(error) => format!("{error}"),
        }
    }

    #[test]
    fn mistakes_are_refused_where_they_are_made() {
        let mut schema = SchemaBuilder::new(Kind::Group);
        let root = schema.root();
        let field = schema.add(root, "a", Kind::Int { bits: 12 }).unwrap();
        assert!(error(schema.add(root, "a", Kind::Group)).contains("that name already: a"));
        assert!(error(schema.add(field, "b", Kind::Null)).contains("/entity/children/a: takes no named"));
        assert!(error(schema.inner(root, Kind::Null)).contains("takes no inner"));
        assert!(error(schema.stream(root, Element::U8)).contains("no stream of its own"));
        assert!(error(schema.attribute(field, "bits", 5_u64)).contains("that name: bits"));
        assert!(error(schema.attribute(field, "x", Value::Null)).contains("null"));
        assert!(error(schema.attribute(field, "x", f64::NAN)).contains("not finite"));
        assert!(error(schema.attribute(field, "x", Value::Array([Value::Null].into()))).contains("null"));
        for (key, value) in [
            ("time:rate", Value::from("fast")),
            ("time:rate", 0.into()),
            ("time:epoch", "yesterday".into()),
            ("number:scale", "x".into()),
            ("number:offset", true.into()),
        ] {
            assert!(error(schema.attribute(field, key, value)).contains("needs a"), "{key}");
        }
        schema.attribute(field, "time:rate", 48_000).unwrap();
        schema.attribute(field, "number:offset", -5).unwrap();
        assert!(error(schema.stream_with(field, Element::U16, 5000, Compression::None)).contains("4096"));
        assert!(error(schema.stream_with(field, Element::U16, 1 << 40, Compression::None)).contains("found"));
        assert!(error(schema.clone().finish()).contains("needs a stream"));
        schema.stream(field, Element::U8).unwrap();
        assert!(error(schema.stream(field, Element::U8)).contains("a stream already"));
        assert!(error(schema.finish()).contains("expected 0 to 8, found 12"));
    }

    #[test]
    fn fields_follow_one_another_unless_placed() {
        let mut schema = SchemaBuilder::new(Kind::BitStruct);
        let root = schema.root();
        let names = ["a", "b", "c"];
        let ids = names.map(|name| schema.add(root, name, Kind::Bits { bits: 5 }).unwrap());
        schema.at(ids[2], 9).unwrap();
        schema.stream(root, Element::U16).unwrap();
        let schema = schema.finish().unwrap();
        assert_eq!(ids.map(|id| schema.bit_position(id)), [0, 5, 9]);
    }

    #[test]
    fn kinds_that_say_nothing_or_one_thing_twice_are_refused() {
        let mut schema = SchemaBuilder::new(Kind::Group);
        let root = schema.root();
        let fields = |names: &[&str]| Kind::Tuple {
            fields: names.iter().map(|&name| (name.into(), Object::default())).collect(),
        };
        let names = ["a", "b", "c"].map(Into::into).into();
        for (kind, reason) in [
            (fields(&["x", "y", "x"]), "a name twice"),
            (fields(&[]), "a tuple of nothing"),
            (Kind::FixedArray { elements: 0 }, "an array of nothing"),
            (Kind::Enum { bits: 1, values: names }, "more names than its bits"),
        ] {
            assert!(error(schema.add(root, "x", kind)).contains(reason), "{reason}");
        }
        schema.add(root, "x", fields(&["x", "y"])).unwrap();
        assert!(error(SchemaBuilder::new(fields(&["x", "x"])).finish()).contains("a name twice"));
    }

    /// A file in dialect V with a `bit_struct` of two fields, without `pos`.
    fn old_v001() -> SchemaBuilder {
        let data = r#""data":{"element":"u8","block_size":4096,"compress":"none","root":8,"root_len":0,"end_idx":0}"#;
        let text = format!(
            r#"{{"entity":{{"type":"bit_struct","children":{{"a":{{"type":"bits","bits":2}},
            "b":{{"type":"bits","bits":3}}}},{data}}}}}"#
        );
        SchemaBuilder::extend(Schema::parse(text.as_bytes(), &Default::default()).unwrap())
    }

    #[test]
    fn fields_that_are_added_in_dialect_v_move_no_other() {
        let mut schema = old_v001();
        let root = schema.root();
        let c = schema.add(root, "c", Kind::Bits { bits: 1 }).unwrap();
        let d = schema.add(root, "d", Kind::Bits { bits: 1 }).unwrap();
        schema.at(d, 6).unwrap();
        schema.attribute(root, "display:color", "red").unwrap();
        assert!(error(schema.attribute(root, "core:role", "record")).contains("cannot change its role"));
        let schema = schema.finish().unwrap();
        let positions: Vec<_> = schema[root].children().iter().map(|&id| schema.bit_position(id)).collect();
        assert_eq!((positions, schema.bit_position(c)), ([0, 2, 5, 6].into(), 5));
        let text = schema.emit(Dialect::V001, super::super::Strictness::Append).unwrap();
        assert!(!text.contains("pos"), "{text}");
        assert!(
            text.contains(r#""display:accent_color":"red""#) && !text.contains("display:color"),
            "{text}"
        );

        let mut schema = old_v001();
        let c = schema.add(root, "c", Kind::Bits { bits: 1 }).unwrap();
        schema.at(c, 6).unwrap();
        let message = error(schema.finish());
        assert!(
            message.contains("/entity/children/c") && message.contains("expected 5, found 6"),
            "{message}"
        );
    }

    #[test]
    fn depth_is_bounded() {
        let mut schema = SchemaBuilder::new(Kind::Group);
        let mut at = schema.root();
        let deepest = loop {
            match schema.add(at, "x", Kind::Group) {
                Ok(next) => at = next,
                Err(error) => break error,
            }
        };
        assert!(matches!(deepest.kind(), ErrorKind::Limit { limit: 60, .. }));
    }
}
