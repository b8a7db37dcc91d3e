//! Elements of any entity as values: numbers, names, text, and what is made of them.

use std::ops::Range;

use core_codec::error::ErrorKind;
use core_codec::izs::model::{EntityId, Field, FieldValue, Kind, Link, Value, distinct_names};

use super::{IzsFile, numbers};
use crate::error::Error;

/// Bytes that the values of one read may take, names included.
const MOST_BYTES: u64 = 32 << 20;

/// Bytes that a value takes.
const VALUE: u64 = size_of::<Value>() as u64;

/// Bytes that a member of an object takes besides its value: the name's place and its allocation.
const MEMBER: u64 = 32;

impl IzsFile {
    /// How many elements an entity has.
    ///
    /// | kind | elements |
    /// |---|---|
    /// | a field, `bit_struct`, `tagged`, `union`, `variable_array` | those of its stream |
    /// | `tuple`, `fixed_array` | those of its child, divided by its own size |
    /// | `record`, `group` | those of its children, where all have as many |
    ///
    /// # Errors
    /// When a stream is not there or not readable, or the children of a group differ in length.
    pub fn rows(&self, entity: EntityId) -> Result<u64, Error> {
        let node = &self.schema()[entity];
        match node.kind() {
            Kind::Group | Kind::Record => {
                let mut lengths = node.children().iter().map(|&child| self.rows(child));
                let first = lengths.next().unwrap_or(Ok(0))?;
                lengths.try_for_each(|length| match length? {
                    length if length == first => Ok(()),
                    found => {
                        let what = "elements of a child";
                        Err(self.entity_error(entity, ErrorKind::Mismatch { what, expected: first, found }))
                    }
                })?;
                Ok(first)
            }
            Kind::Tuple { .. } | Kind::FixedArray { .. } => {
                let (child, size) = self.inner(entity)?;
                Ok(self.rows(child)? / size)
            }
            _ => {
                let (stream, _) = self.fields(entity)?;
                Ok(self.stream(stream)?.len())
            }
        }
    }

    /// Reads elements of an entity as values. A bit is 0 or 1, an `enum` value its name where it has one, a float
    /// that JSON cannot hold stays what it is.
    ///
    /// | kind | value |
    /// |---|---|
    /// | `bit_struct`, `record`, `group`, `tuple` | an object of its fields; of two with one name the second is `name#2` |
    /// | `fixed_array`, `variable_array` | an array |
    /// | `variable_array` of `character` | a string; bytes that are not UTF-8 become U+FFFD |
    /// | `tagged` | an object with the name of the tag, where the tag has one |
    /// | `union` | the number of the variant |
    ///
    /// # Errors
    /// When the range passes the end, holds too much at once (32 MiB, estimated), or a block is damaged.
    pub fn values(&self, entity: EntityId, elements: Range<u64>) -> Result<Vec<Value>, Error> {
        self.values_within(entity, elements, &mut { MOST_BYTES })
    }

    /// `left` is what all values may still take.
    fn values_within(
        &self,
        entity: EntityId,
        elements: Range<u64>,
        left: &mut u64,
    ) -> Result<Vec<Value>, Error> {
        let node = &self.schema()[entity];
        match node.kind() {
            Kind::Group | Kind::Record => self.record_values(entity, elements, left),
            Kind::Tuple { fields } => {
                let names = distinct_names(fields.iter().map(|(name, _)| &**name));
                let chunks = self.inner_chunks(entity, elements, left)?;
                let object = |values: Vec<Value>| names.iter().cloned().zip(values).collect();
                Ok(chunks.into_iter().map(|values| Value::Object(object(values))).collect())
            }
            Kind::FixedArray { .. } => {
                Ok(self.inner_chunks(entity, elements, left)?.into_iter().map(Value::Array).collect())
            }
            Kind::VariableArray => self.variable_values(entity, elements, left),
            _ => self.field_values(entity, elements, left),
        }
    }

    fn record_values(
        &self,
        entity: EntityId,
        elements: Range<u64>,
        left: &mut u64,
    ) -> Result<Vec<Value>, Error> {
        let count = self.charge_values(entity, &elements, left)?;
        let mut columns = Vec::new();
        for &child in self.schema()[entity].children() {
            let name = self.schema()[child].name().unwrap_or_default();
            columns.push((name, self.values_within(child, elements.clone(), left)?.into_iter()));
        }
        let mut row = || {
            let cells = columns.iter_mut().map(|(name, values)| ((*name).into(), values.next()));
            cells.map(|(name, value)| (name, value.unwrap_or_default())).collect()
        };
        Ok((0..count).map(|_| Value::Object(row())).collect())
    }

    /// The child's elements in groups of the entity's size.
    fn inner_chunks(
        &self,
        entity: EntityId,
        elements: Range<u64>,
        left: &mut u64,
    ) -> Result<Vec<Vec<Value>>, Error> {
        let (child, size) = self.inner(entity)?;
        let count = self.charge_values(entity, &elements, left)?;
        let inner = elements.start.saturating_mul(size)..elements.end.saturating_mul(size);
        let mut values = self.values_within(child, inner, left)?.into_iter();
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        Ok((0..count).map(|_| values.by_ref().take(size).collect()).collect())
    }

    fn variable_values(
        &self,
        entity: EntityId,
        elements: Range<u64>,
        left: &mut u64,
    ) -> Result<Vec<Value>, Error> {
        let child = self.inner_entity(entity)?;
        self.charge_values(entity, &elements, left)?;
        let ends = self.ends(entity, &elements)?;
        let start = ends.first().copied().unwrap_or(0);
        let inner = start..ends.last().copied().unwrap_or(start);
        if *self.schema()[child].kind() == Kind::Character {
            // A byte that is not UTF-8 becomes three.
            self.charge(entity, inner.end - inner.start, 4, left)?;
            let (stream, _) = self.fields(child)?;
            let bytes = self.stream(stream)?.read::<u8>(inner)?;
            let places = ends.windows(2).map(|pair| (pair[0] - start) as usize..(pair[1] - start) as usize);
            let text = |place| String::from_utf8_lossy(&bytes[place]).into();
            return Ok(places.map(|place| Value::String(text(place))).collect());
        }
        let mut values = self.values_within(child, inner, left)?.into_iter();
        let lengths = ends.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        Ok(lengths.map(|length| Value::Array(values.by_ref().take(length).collect())).collect())
    }

    /// Where the element before the range ends in the child, then where each of the range does; checked never to
    /// go back, so that every pair is a range inside the child.
    fn ends(&self, entity: EntityId, elements: &Range<u64>) -> Result<Vec<u64>, Error> {
        let (id, _) = self.fields(entity)?;
        let stream = self.stream(id)?;
        let before = elements.start.saturating_sub(1);
        let mut ends = Vec::new();
        stream.for_each_part(before..elements.end.max(before), |_, bytes| {
            ends.extend(numbers(stream.descriptor().element, bytes));
            Ok::<_, Error>(())
        })?;
        if elements.start == 0 {
            ends.insert(0, 0);
        }
        for pair in ends.windows(2) {
            if pair[1] < pair[0] {
                let what = "end of an element";
                let kind = ErrorKind::OutOfRange { what, min: pair[0], max: u64::MAX, found: pair[1] };
                return Err(self.entity_error(entity, kind));
            }
        }
        Ok(ends)
    }

    fn field_values(
        &self,
        entity: EntityId,
        elements: Range<u64>,
        left: &mut u64,
    ) -> Result<Vec<Value>, Error> {
        let (id, fields) = self.fields(entity)?;
        let stream = self.stream(id)?;
        let count = self.charge_values(entity, &elements, left)?;
        let names = self.schema().field_names(&fields);
        let mut values = Vec::with_capacity(count);
        stream.for_each_part(elements, |_, bytes| {
            let numbers = numbers(stream.descriptor().element, bytes);
            values.extend(numbers.map(|number| self.field_value(entity, &fields, &names, number)));
            Ok::<_, Error>(())
        })?;
        Ok(values)
    }

    fn field_value(&self, entity: EntityId, fields: &[Field], names: &[Box<str>], element: u64) -> Value {
        match (self.schema()[entity].kind(), fields) {
            (Kind::BitStruct, _) => {
                let values = fields.iter().map(|field| plain(field.value(element)));
                Value::Object(names.iter().cloned().zip(values).collect())
            }
            (Kind::Tagged { tag_bits }, [field]) => self.tagged_value(entity, *tag_bits, field.bits(element)),
            (_, [field]) => plain(field.value(element)),
            _ => Value::Null,
        }
    }

    /// The tag is the place of its field among the children.
    fn tagged_value(&self, entity: EntityId, tag_bits: u8, bits: u64) -> Value {
        let tag = bits & 1u64.checked_shl(tag_bits.into()).map_or(u64::MAX, |bit| bit - 1);
        let children = self.schema()[entity].children();
        let Some(&child) = usize::try_from(tag).ok().and_then(|tag| children.get(tag)) else {
            return Value::Unsigned(bits);
        };
        let field = Field {
            entity: child,
            position: tag_bits.into(),
            width: self.schema().width(child),
            kind: self.schema()[child].kind(),
        };
        let name = self.schema()[child].name().unwrap_or_default();
        Value::Object([(name.into(), plain(field.value(bits)))].into_iter().collect())
    }

    /// The only child of an array or tuple, and how many of its elements make one.
    fn inner(&self, entity: EntityId) -> Result<(EntityId, u64), Error> {
        let size = match self.schema()[entity].kind() {
            Kind::Tuple { fields } => fields.len() as u64,
            Kind::FixedArray { elements } => (*elements).into(),
            _ => 1,
        };
        if size == 0 {
            return Err(self.entity_error(entity, ErrorKind::Invalid("has no elements")));
        }
        Ok((self.inner_entity(entity)?, size))
    }

    fn inner_entity(&self, entity: EntityId) -> Result<EntityId, Error> {
        let mut children = self.schema()[entity].children().iter();
        let inner = children.find(|&&child| matches!(self.schema()[child].link(), Link::Inner(_)));
        inner.copied().ok_or_else(|| self.entity_error(entity, ErrorKind::NotFound("child")))
    }

    fn charge_values(&self, entity: EntityId, elements: &Range<u64>, left: &mut u64) -> Result<usize, Error> {
        let count = elements.end.saturating_sub(elements.start);
        self.charge(entity, count, self.value_bytes(entity), left)
    }

    /// Takes what elements cost, of so many bytes each, from what is left; their number.
    fn charge(&self, entity: EntityId, elements: u64, each: u64, left: &mut u64) -> Result<usize, Error> {
        let cost = elements.saturating_mul(each);
        let Some(rest) = left.checked_sub(cost) else {
            let found = (MOST_BYTES - *left).saturating_add(cost);
            let kind = ErrorKind::Limit { what: "bytes of values at once", limit: MOST_BYTES, found };
            return Err(self.entity_error(entity, kind));
        };
        *left = rest;
        Ok(usize::try_from(elements).unwrap_or(usize::MAX))
    }

    /// Bytes that an element takes at most, without those that are read for it from the entities below.
    fn value_bytes(&self, entity: EntityId) -> u64 {
        let node = &self.schema()[entity];
        let name = |child: EntityId| self.schema()[child].name().map_or(0, str::len) as u64;
        let children = node.children().iter().copied();
        let more = match node.kind() {
            Kind::Group | Kind::Record => children.map(|child| MEMBER + name(child)).sum(),
            Kind::Tuple { fields } => fields.iter().map(|(name, _)| MEMBER + name.len() as u64).sum(),
            // The fields of a `bit_struct` in another follow one another in the same object.
            Kind::BitStruct => children
                .map(|child| MEMBER + name(child) + self.value_bytes(child))
                .fold(0, u64::saturating_add),
            Kind::Tagged { .. } => {
                children.map(|child| MEMBER + name(child) + self.value_bytes(child)).max().unwrap_or(0)
            }
            Kind::Enum { values, .. } => values.iter().map(|name| name.len()).max().unwrap_or(0) as u64,
            _ => 0,
        };
        VALUE.saturating_add(more)
    }

    fn entity_error(&self, entity: EntityId, kind: ErrorKind) -> Error {
        let pointer = self.schema().entity_pointer(entity).to_string();
        core_codec::Error::new("entity", kind).item(pointer).into()
    }
}

/// A field's value as JSON has it.
fn plain(value: FieldValue) -> Value {
    match value {
        FieldValue::Null => Value::Null,
        FieldValue::Bit(bit) => Value::Unsigned(bit.into()),
        FieldValue::Unsigned(value) => Value::Unsigned(value),
        FieldValue::Signed(value) => u64::try_from(value).map_or(Value::Negative(value), Value::Unsigned),
        // The shortest digits of the single, not those of the double that equals it.
        FieldValue::Single(value) => Value::Float(value.to_string().parse().unwrap_or(value.into())),
        FieldValue::Double(value) => Value::Float(value),
        FieldValue::Name(name) => Value::String(name.into()),
    }
}
