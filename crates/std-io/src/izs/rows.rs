//! Elements of any entity as values: numbers, names, text, and what is made of them.

use std::ops::Range;
use std::sync::PoisonError;

use core_codec::error::ErrorKind;
use core_codec::izs::model::{
    EntityId, Field, FieldValue, Kind, Link, Role, Scale, StreamId, Value, distinct_names,
};

use super::{IzsFile, IzsStream, numbers, overview};
use crate::error::Error;

/// Bytes that the values of one read may take, names included.
const MOST_BYTES: u64 = 32 << 20;

/// Bytes that a value takes.
const VALUE: u64 = size_of::<Value>() as u64;

/// Bytes that a member of an object takes besides its value: the name's place and its allocation.
const MEMBER: u64 = 32;

/// How elements are read as values.
pub(super) struct Reading {
    /// What all values may still take.
    left: u64,
    /// Numbers become quantities.
    scaled: bool,
    /// What may be kept of the decoded blocks of each stream.
    share: usize,
}

/// What makes a value of the bits of an element.
enum Cell<'a> {
    Field(Field<'a>, Option<Scale>),
    Struct(Vec<(Box<str>, Self)>),
    Tagged {
        tag: Field<'a>,
        /// Tag and variant.
        whole: Field<'a>,
        variants: Vec<(&'a str, Self)>,
    },
}

impl Cell<'_> {
    fn value(&self, element: u64) -> Value {
        match self {
            Self::Field(field, None) => plain(field.value(element)),
            Self::Field(field, Some(scale)) => match overview::height(field, element) {
                Some(number) => Value::Float(scale.quantity(number)),
                None => plain(field.value(element)),
            },
            Self::Struct(parts) => {
                Value::Object(parts.iter().map(|(name, part)| (name.clone(), part.value(element))).collect())
            }
            // The tag is the place of its field among the variants.
            Self::Tagged { tag, whole, variants } => {
                let variant = usize::try_from(tag.bits(element)).ok().and_then(|tag| variants.get(tag));
                variant.map_or_else(
                    || Value::Unsigned(whole.bits(element)),
                    |(name, part)| one_member(name, part.value(element)),
                )
            }
        }
    }
}

/// Whether a scale makes a quantity of it; what is not understood is shown as a plain number.
fn is_number(kind: &Kind) -> bool {
    kind.width().is_some_and(|width| width > 0) || matches!(kind, Kind::Opaque(_))
}

fn one_member(name: &str, value: Value) -> Value {
    Value::Object([(name.into(), value)].into_iter().collect())
}

/// Counts the tags that name a variant.
fn count_tags(counts: &mut [u64], tags: impl Iterator<Item = u64>) {
    for tag in tags {
        if let Some(count) = usize::try_from(tag).ok().and_then(|tag| counts.get_mut(tag)) {
            *count += 1;
        }
    }
}

/// The next value of the variant with this tag.
fn variant_value(columns: &mut [(&str, impl Iterator<Item = Value>)], tag: u64) -> Value {
    match usize::try_from(tag).ok().and_then(|tag| columns.get_mut(tag)) {
        Some((name, values)) => one_member(name, values.next().unwrap_or_default()),
        None => Value::Unsigned(tag),
    }
}

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
        self.check_known(entity)?;
        let node = &self.schema()[entity];
        match node.kind() {
            Kind::Group | Kind::Record => {
                let Some((&first, others)) = node.children().split_first() else { return Ok(0) };
                let rows = self.rows(first)?;
                for &other in others {
                    let found = self.rows(other)?;
                    if found != rows {
                        let name = |child: EntityId| self.schema()[child].name().unwrap_or_default();
                        let counts = format!("{rows} of {:?}, {found} of {:?}", name(first), name(other));
                        let kind = ErrorKind::Invalid("its children differ in length");
                        let pointer = self.schema().entity_pointer(entity).to_string();
                        let error = core_codec::Error::new("entity", kind).item(pointer);
                        return Err(error.detail(counts).into());
                    }
                }
                Ok(rows)
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
    /// | `tagged`, `union` | an object of one member: the variant that the tag names; where there is none, the number itself |
    ///
    /// Element `i` of a `union` is the one of its variant that comes after as many as elements before `i` have the same
    /// tag; to find it, all tags before are read.
    ///
    /// Who reads all rows does so part by part, in order: that decodes each block once, in the memory of the values and of
    /// what is [kept](Self::with_block_cache) of the blocks of all streams together, however many and large they are.
    /// (Only where a stream's share of that is smaller than the window of its decoder, a block is decoded as often as
    /// its share goes into it.)
    ///
    /// # Errors
    /// When the range passes the end, holds too much at once (32 MiB, estimated), or a block is damaged.
    pub fn values(&self, entity: EntityId, elements: Range<u64>) -> Result<Vec<Value>, Error> {
        self.check_known(entity)?;
        self.values_within(entity, elements, &mut self.reading(entity, false))
    }

    /// Reads elements as [`values`](Self::values) does, but numbers of entities (and fields of a `tuple`) with
    /// `number:scale` or `number:offset` as the [quantities](core_codec::izs::model::Schema::scale) that they stand for.
    ///
    /// # Errors
    /// As [`values`](Self::values), and when a scale is not a number that a double holds, or is that of an entity which
    /// is not a number, such as a `bit_struct`.
    pub fn scaled_values(&self, entity: EntityId, elements: Range<u64>) -> Result<Vec<Value>, Error> {
        self.check_known(entity)?;
        self.check_scales(entity)?;
        self.values_within(entity, elements, &mut self.reading(entity, true))
    }

    /// How an entity is read: all the streams below it side by side.
    pub(super) fn reading(&self, entity: EntityId, scaled: bool) -> Reading {
        let streams = self.streams_below(entity).count().max(1);
        Reading { left: MOST_BYTES, scaled, share: self.cache.budget() / streams }
    }

    /// The streams that hold the elements of an entity and of the entities below it.
    pub fn streams_below(&self, entity: EntityId) -> impl Iterator<Item = StreamId> {
        let schema = self.schema();
        schema.streams().filter(move |&id| {
            let mut above = std::iter::successors(Some(schema[id].entity()), |&id| schema[id].parent());
            schema[id].role() == Role::Data && above.any(|above| above == entity)
        })
    }

    /// Sees that no scale would be left out: those of entities that are no numbers say nothing of how they are meant.
    fn check_scales(&self, entity: EntityId) -> Result<(), Error> {
        let schema = self.schema();
        let mut below = vec![entity];
        while let Some(id) = below.pop() {
            if !is_number(schema[id].kind()) && !schema.scale(id)?.is_identity() {
                return Err(self.entity_error(
                    id,
                    ErrorKind::Invalid("has `number:scale` or `number:offset`, but is not a number"),
                ));
            }
            below.extend(schema[id].children());
        }
        Ok(())
    }

    /// What makes the values of a tuple whose fields have scales; nothing where they have none.
    fn tuple_cells(&self, tuple: EntityId, child: EntityId) -> Result<Vec<Cell<'_>>, Error> {
        let schema = self.schema();
        let scales = schema.tuple_scales(tuple)?;
        if scales.iter().all(|scale| scale.is_identity()) {
            return Ok(Vec::new());
        }
        let error = |reason| self.entity_error(tuple, ErrorKind::Invalid(reason));
        if !is_number(schema[child].kind()) {
            return Err(error("its fields have scales, but are not numbers"));
        }
        if !schema.scale(child)?.is_identity() {
            return Err(error("both its fields and its child have scales"));
        }
        let (_, fields) = self.fields(child)?;
        let [field] = &fields[..] else { return Err(error("not a single field")) };
        let cell =
            |scale: Scale| Cell::Field(field.clone(), Some(scale).filter(|scale| !scale.is_identity()));
        Ok(scales.into_iter().map(cell).collect())
    }

    pub(super) fn values_within(
        &self,
        entity: EntityId,
        elements: Range<u64>,
        reading: &mut Reading,
    ) -> Result<Vec<Value>, Error> {
        let node = &self.schema()[entity];
        match node.kind() {
            Kind::Group | Kind::Record => self.record_values(entity, elements, reading),
            Kind::Tuple { fields } => {
                let names = distinct_names(fields.iter().map(|(name, _)| &**name));
                let chunks = self.inner_chunks(entity, elements, reading)?;
                let object = |values: Vec<Value>| names.iter().cloned().zip(values).collect();
                Ok(chunks.into_iter().map(|values| Value::Object(object(values))).collect())
            }
            Kind::FixedArray { .. } => {
                Ok(self.inner_chunks(entity, elements, reading)?.into_iter().map(Value::Array).collect())
            }
            Kind::VariableArray => self.variable_values(entity, elements, reading),
            Kind::Union => self.union_values(entity, elements, reading),
            _ => self.field_values(entity, elements, &[self.cell(entity, reading.scaled)?], reading),
        }
    }

    fn record_values(
        &self,
        entity: EntityId,
        elements: Range<u64>,
        reading: &mut Reading,
    ) -> Result<Vec<Value>, Error> {
        let count = self.charge_values(entity, &elements, reading)?;
        let mut columns = Vec::new();
        for &child in self.schema()[entity].children() {
            let name = self.schema()[child].name().unwrap_or_default();
            columns.push((name, self.values_within(child, elements.clone(), reading)?.into_iter()));
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
        reading: &mut Reading,
    ) -> Result<Vec<Vec<Value>>, Error> {
        let (child, size) = self.inner(entity)?;
        let count = self.charge_values(entity, &elements, reading)?;
        let inner = elements.start.saturating_mul(size)..elements.end.saturating_mul(size);
        let cells = if reading.scaled { self.tuple_cells(entity, child)? } else { Vec::new() };
        let values = if cells.is_empty() {
            self.values_within(child, inner, reading)?
        } else {
            self.field_values(child, inner, &cells, reading)?
        };
        let mut values = values.into_iter();
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        Ok((0..count).map(|_| values.by_ref().take(size).collect()).collect())
    }

    fn variable_values(
        &self,
        entity: EntityId,
        elements: Range<u64>,
        reading: &mut Reading,
    ) -> Result<Vec<Value>, Error> {
        let child = self.inner_entity(entity)?;
        self.charge_values(entity, &elements, reading)?;
        let ends = self.ends(entity, &elements, reading.share)?;
        let start = ends.first().copied().unwrap_or(0);
        let inner = start..ends.last().copied().unwrap_or(start);
        if *self.schema()[child].kind() == Kind::Character {
            // A byte that is not UTF-8 becomes three.
            self.charge(entity, inner.end - inner.start, 4, reading)?;
            let (stream, _) = self.fields(child)?;
            let bytes = self.stream_within(stream, reading.share)?.read::<u8>(inner)?;
            let places = ends.windows(2).map(|pair| (pair[0] - start) as usize..(pair[1] - start) as usize);
            let text = |place| String::from_utf8_lossy(&bytes[place]).into();
            return Ok(places.map(|place| Value::String(text(place))).collect());
        }
        let mut values = self.values_within(child, inner, reading)?.into_iter();
        let lengths = ends.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        Ok(lengths.map(|length| Value::Array(values.by_ref().take(length).collect())).collect())
    }

    /// Where the element before the range ends in the child, then where each of the range does; checked never to
    /// go back, so that every pair is a range inside the child.
    fn ends(&self, entity: EntityId, elements: &Range<u64>, share: usize) -> Result<Vec<u64>, Error> {
        let (id, _) = self.fields(entity)?;
        let stream = self.stream_within(id, share)?;
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

    /// Elements of a single stream; each by the next of `cells`, over and over.
    fn field_values(
        &self,
        entity: EntityId,
        elements: Range<u64>,
        cells: &[Cell<'_>],
        reading: &mut Reading,
    ) -> Result<Vec<Value>, Error> {
        let (id, _) = self.fields(entity)?;
        let stream = self.stream_within(id, reading.share)?;
        let count = self.charge_values(entity, &elements, reading)?;
        let mut cells = cells.iter().cycle();
        let mut values = Vec::with_capacity(count);
        stream.for_each_part(elements, |_, bytes| {
            let numbers = numbers(stream.descriptor().element, bytes);
            values.extend(numbers.zip(&mut cells).map(|(number, cell)| cell.value(number)));
            Ok::<_, Error>(())
        })?;
        Ok(values)
    }

    /// What makes the value of an entity of the bits of an element.
    fn cell(&self, entity: EntityId, scaled: bool) -> Result<Cell<'_>, Error> {
        let schema = self.schema();
        let (_, fields) = self.fields(entity)?;
        let part = |field: Field| self.cell(field.entity, scaled);
        match (schema[entity].kind(), &fields[..]) {
            (Kind::BitStruct, _) => {
                let names = schema.field_names(&fields);
                let parts = fields.into_iter().map(part).collect::<Result<Vec<_>, _>>()?;
                Ok(Cell::Struct(names.into_iter().zip(parts).collect()))
            }
            (Kind::Tagged { tag_bits }, [field]) => {
                let tag = Field { width: (*tag_bits).into(), ..field.clone() };
                let width = if self.shares_element(entity) { field.width } else { u64::BITS };
                let variant = |&child: &EntityId| {
                    Ok((schema[child].name().unwrap_or_default(), self.cell(child, scaled)?))
                };
                let variants = schema[entity].children().iter().map(variant);
                Ok(Cell::Tagged {
                    tag,
                    whole: Field { width, ..field.clone() },
                    variants: variants.collect::<Result<_, Error>>()?,
                })
            }
            (_, [field]) => {
                let scale = if scaled { schema.scale(entity)? } else { Scale { factor: 1.0, offset: 0.0 } };
                Ok(Cell::Field(field.clone(), Some(scale).filter(|scale| !scale.is_identity())))
            }
            _ => Err(self.entity_error(entity, ErrorKind::NotFound("field"))),
        }
    }

    /// Whether other fields may follow it in its element.
    fn shares_element(&self, entity: EntityId) -> bool {
        let schema = self.schema();
        let above = std::iter::successors(Some(entity), |&id| {
            schema[id].parent().filter(|_| schema[id].data().is_none())
        });
        above.into_iter().any(|id| *schema[id].kind() == Kind::BitStruct)
    }

    /// Each element of a union from its variant.
    fn union_values(
        &self,
        entity: EntityId,
        elements: Range<u64>,
        reading: &mut Reading,
    ) -> Result<Vec<Value>, Error> {
        let variants = self.schema()[entity].children();
        let count = self.charge_values(entity, &elements, reading)?;
        let (id, _) = self.fields(entity)?;
        let stream = self.stream_within(id, reading.share)?;
        let before = self.tally(entity, elements.start, &stream)?;
        let mut after = before.clone();
        let mut tags = Vec::with_capacity(count);
        stream.for_each_part(elements.clone(), |_, bytes| {
            let start = tags.len();
            tags.extend(numbers(stream.descriptor().element, bytes));
            count_tags(&mut after, tags[start..].iter().copied());
            Ok::<_, Error>(())
        })?;
        let mut columns = Vec::with_capacity(variants.len());
        for (&variant, (&start, &end)) in variants.iter().zip(before.iter().zip(&after)) {
            let name = self.schema()[variant].name().unwrap_or_default();
            let values =
                if start < end { self.values_within(variant, start..end, reading)? } else { Vec::new() };
            columns.push((name, values.into_iter()));
        }
        let marks = [(elements.start, before), (elements.end, after)];
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner).insert(entity, marks);
        Ok(tags.into_iter().map(|tag| variant_value(&mut columns, tag)).collect())
    }

    /// How many elements of a union before `at` have each tag. Goes on from where the last read ended or, for one who
    /// reads the same again, began: who reads part by part counts each element once.
    fn tally(&self, union: EntityId, at: u64, stream: &IzsStream) -> Result<Vec<u64>, Error> {
        let tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = tallies.get(&union).into_iter().flatten();
        let last = marks.filter(|(place, _)| *place <= at).max_by_key(|(place, _)| *place).cloned();
        drop(tallies);
        let (from, mut counts) = last.unwrap_or_else(|| (0, vec![0; self.schema()[union].children().len()]));
        stream.for_each_part(from..at, |_, bytes| {
            count_tags(&mut counts, numbers(stream.descriptor().element, bytes));
            Ok::<_, Error>(())
        })?;
        Ok(counts)
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

    fn charge_values(
        &self,
        entity: EntityId,
        elements: &Range<u64>,
        reading: &mut Reading,
    ) -> Result<usize, Error> {
        let count = elements.end.saturating_sub(elements.start);
        self.charge(entity, count, self.value_bytes(entity), reading)
    }

    /// Takes what elements cost, of so many bytes each, from what is left; their number.
    fn charge(
        &self,
        entity: EntityId,
        elements: u64,
        each: u64,
        reading: &mut Reading,
    ) -> Result<usize, Error> {
        let cost = elements.saturating_mul(each);
        let Some(rest) = reading.left.checked_sub(cost) else {
            let found = (MOST_BYTES - reading.left).saturating_add(cost);
            let kind = ErrorKind::Limit { what: "bytes of values at once", limit: MOST_BYTES, found };
            return Err(self.entity_error(entity, kind));
        };
        reading.left = rest;
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
            Kind::Union => children.map(|child| MEMBER + name(child)).max().unwrap_or(0),
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
