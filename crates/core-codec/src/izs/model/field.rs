//! From the bits of an element to the values of its fields.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use super::{EntityId, Kind, Schema, StreamId};

/// Some bits of an element and what they mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Field<'a> {
    /// The entity that describes it.
    pub entity: EntityId,
    /// Its first bit in the element.
    pub position: u32,
    /// How many bits it has.
    pub width: u32,
    /// What they mean.
    pub kind: &'a Kind,
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldValue<'a> {
    /// No value (`null`).
    Null,
    /// A single bit.
    Bit(bool),
    /// An unsigned integer, several bits, a character's byte, or a timestamp.
    Unsigned(u64),
    /// A two's complement integer.
    Signed(i64),
    /// A float32.
    Single(f32),
    /// A float64.
    Double(f64),
    /// The name of an `enum` value.
    Name(&'a str),
}

impl Field<'_> {
    /// The bits of the field; those past the end of the element are 0.
    #[must_use]
    pub fn bits(&self, element: u64) -> u64 {
        let mask = if self.width >= 64 { u64::MAX } else { (1 << self.width) - 1 };
        element.checked_shr(self.position).unwrap_or(0) & mask
    }
}

impl<'a> Field<'a> {
    /// The value of the field. An `enum` value without a name is a number.
    #[must_use]
    pub fn value(&self, element: u64) -> FieldValue<'a> {
        let bits = self.bits(element);
        match self.kind {
            Kind::Null => FieldValue::Null,
            Kind::Bits { bits: 1 } => FieldValue::Bit(bits != 0),
            Kind::Signed { .. } => FieldValue::Signed(sign_extend(bits, self.width)),
            Kind::Float32 => FieldValue::Single(f32::from_bits(bits as u32)),
            Kind::Float64 => FieldValue::Double(f64::from_bits(bits)),
            Kind::Enum { values, .. } => {
                let name = usize::try_from(bits).ok().and_then(|index| values.get(index));
                name.map_or(FieldValue::Unsigned(bits), |name| FieldValue::Name(name))
            }
            _ => FieldValue::Unsigned(bits),
        }
    }
}

fn sign_extend(bits: u64, width: u32) -> i64 {
    match width {
        0 => 0,
        1..64 => ((bits << (64 - width)) as i64) >> (64 - width),
        _ => bits as i64,
    }
}

/// The names as they are, but for those that were there before: these become `name#2`, `name#3`.
#[must_use]
pub fn distinct_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Box<str>> {
    let mut taken: BTreeMap<Box<str>, u32> = BTreeMap::new();
    let mut distinct = Vec::new();
    for name in names {
        let mut count = taken.get(name).copied().unwrap_or(0);
        let mut own: Box<str> = name.into();
        while taken.contains_key(&own) {
            count += 1;
            own = format!("{name}#{}", count + 1).into();
        }
        taken.insert(name.into(), count);
        taken.entry(own.clone()).or_insert(0);
        distinct.push(own);
    }
    distinct
}

impl Schema {
    /// The names of fields that [`fields`](Self::fields) found, [distinct](distinct_names).
    #[must_use]
    pub fn field_names(&self, fields: &[Field<'_>]) -> Vec<Box<str>> {
        distinct_names(fields.iter().map(|field| self[field.entity].name().unwrap_or_default()))
    }

    /// The stream whose elements hold `entity`, and the fields of it that are there: one, or those of a
    /// `bit_struct`. None when no stream does.
    ///
    /// An entity of a kind that is not understood is shown as the plain number that its element is.
    #[must_use]
    pub fn fields(&self, entity: EntityId) -> Option<(StreamId, Vec<Field<'_>>)> {
        let mut owner = entity;
        while self[owner].data().is_none() {
            owner = self[owner].parent().filter(|&parent| self[parent].kind().is_field())?;
        }
        let stream = self[owner].data()?;
        let element =
            self[stream].descriptor().map_or(64, |descriptor| u32::from(descriptor.element.size()) * 8);
        let mut fields = Vec::new();
        self.collect_fields(entity, self.position_below(entity, owner), element, &mut fields);
        Some((stream, fields))
    }

    /// First bit of `entity` in the element of `owner`, which is above it.
    fn position_below(&self, entity: EntityId, owner: EntityId) -> u32 {
        let mut position: u32 = if entity == owner { self.own_position(owner) } else { 0 };
        let mut at = entity;
        while at != owner {
            position = position.saturating_add(self.bit_position(at));
            match self[at].parent() {
                Some(parent) => at = parent,
                None => break,
            }
        }
        position
    }

    /// A field with a stream of its own starts where its `pos` says, rarely anywhere but at 0.
    fn own_position(&self, owner: EntityId) -> u32 {
        self[owner].pos().unwrap_or(0).into()
    }

    fn collect_fields<'a>(
        &'a self,
        entity: EntityId,
        position: u32,
        element: u32,
        fields: &mut Vec<Field<'a>>,
    ) {
        let kind = self[entity].kind();
        match kind {
            Kind::BitStruct => {
                for &child in self[entity].children() {
                    let position = position.saturating_add(self.bit_position(child));
                    self.collect_fields(child, position, element, fields);
                }
            }
            _ => {
                let width = if kind.width().is_some() || matches!(kind, Kind::Tagged { .. }) {
                    self.width(entity)
                } else {
                    element
                };
                fields.push(Field { entity, position, width, kind });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use alloc::format;
    use alloc::string::String;

    fn values(schema: &str, item: &str, element: u64) -> Vec<String> {
        let schema = Schema::parse(schema.as_bytes(), &Limits::default()).unwrap();
        let (_, fields) = schema.fields(schema.find(item).unwrap()).unwrap();
        fields.iter().map(|field| format!("{:?}", field.value(element))).collect()
    }

    const S: &str = r#""data":{"element":"u16","end":0,"block":1,"compress":"none","i_offset":0,"i_size":0}"#;
    const V: &str =
        r#""data":{"element":"u16","end_idx":0,"block":1,"compress":"none","root":0,"root_len":0}"#;

    #[test]
    fn fields_lie_at_pos_or_one_after_the_other() {
        let children = r#""a":{"type":"bits","bits":1},"b":{"type":"signed","bits":4},
            "c":{"type":"enum","bits":2,"values":["x","y"]}"#;
        let packed = format!(r#"{{"entity":{{"type":"bit_struct","children":{{{children}}},{V}}}}}"#);
        assert_eq!(values(&packed, "", 0b011_0001), ["Bit(true)", "Signed(-8)", "Name(\"y\")"]);
        assert_eq!(values(&packed, "c", 0b110_0000), ["Unsigned(3)"]);
        let spec = format!(r#"{{"entity":{{"type":"bit_struct","children":{{{children}}},{S}}}}}"#);
        assert_eq!(values(&spec, "", 0b0001), ["Bit(true)", "Signed(1)", "Name(\"y\")"]);
        let at = format!(
            r#"{{"entity":{{"type":"bit_struct","children":{{"a":{{"type":"int","bits":60,"pos":12}}}},{S}}}}}"#
        );
        assert_eq!(values(&at, "a", 0x1234), ["Unsigned(1)"]);
    }

    /// Places are not computed from those below them again and again.
    #[test]
    fn deep_and_wide_structs_take_no_longer_than_their_text() {
        let mut node = String::from(r#""type":"bits","bits":1"#);
        for _ in 0..55 {
            let children = format!(r#""b":{{"type":"bits","bits":1}},"a":{{{node}}}"#);
            node = format!(r#""type":"bit_struct","children":{{{children}}}"#);
        }
        let deep = format!(r#"{{"entity":{{{node},{V}}}}}"#);
        let schema = Schema::parse(deep.as_bytes(), &Limits::default()).unwrap();
        let (_, fields) = schema.fields(schema.root()).unwrap();
        assert_eq!(
            fields.iter().map(|field| field.position).collect::<Vec<_>>(),
            (0..56).collect::<Vec<_>>()
        );
        assert_eq!(schema.width(schema.root()), 56);

        let children: Vec<_> = (0..20_000).map(|i| format!(r#""{i}":{{"type":"int","bits":64}}"#)).collect();
        let children = children.join(",");
        let wide = format!(r#"{{"entity":{{"type":"bit_struct","children":{{{children}}},{V}}}}}"#);
        let schema = Schema::parse(wide.as_bytes(), &Limits::default()).unwrap();
        let (_, fields) = schema.fields(schema.root()).unwrap();
        assert_eq!(fields[19_999].position, 64 * 19_999);
    }

    #[test]
    fn names_that_repeat_are_numbered() {
        let names = distinct_names(["x", "y", "x", "x#2", "x", ""]);
        assert_eq!(
            names.iter().map(|name| &**name).collect::<Vec<_>>(),
            ["x", "y", "x#2", "x#2#2", "x#3", ""]
        );
        let many = distinct_names(core::iter::repeat_n("x", 50_000));
        assert_eq!(&*many[49_999], "x#50000");
    }

    #[test]
    fn an_unknown_kind_is_its_plain_number() {
        let schema = format!(r#"{{"entity":{{"type":"hologram","bits":3,{S}}}}}"#);
        assert_eq!(values(&schema, "", 0x1234), ["Unsigned(4660)"]);
        let schema = format!(r#"{{"entity":{{"type":"bits","bits":200,{S}}}}}"#);
        assert_eq!(values(&schema, "", 0x1234), ["Unsigned(4660)"]);
    }

    #[test]
    fn sign_extension_at_every_width() {
        assert_eq!(sign_extend(0, 0), 0);
        for width in 1..=64 {
            assert_eq!(sign_extend(u64::MAX >> (64 - width), width), -1);
            assert_eq!(sign_extend(1 << (width - 1), width), i64::MIN >> (64 - width));
        }
    }
}
