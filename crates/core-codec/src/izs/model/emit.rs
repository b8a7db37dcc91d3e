//! From the tree of entities to JSON, in the names of either dialect.

use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

use super::builder::{check_attribute, gap_in_v001, repeats_a_name};
use super::names::attributes_of;
use super::{Descriptor, Entity, EntityId, Kind, Link, Method, Object, Schema, StreamId, Value};
use crate::error::{Error, ErrorKind};
use crate::izs::raw::Dialect;

/// How strict [`Schema::emit`] is about what the reference cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// A new file: what the reference cannot read is refused.
    New,
    /// A file that was read and is written anew: what it holds is kept.
    Keep,
    /// A file that goes on behind its end: even stream descriptors that are not understood are kept, since what
    /// they name stays in its place.
    Append,
}

/// Bytes of a schema that the reference reads.
const MAX_LEN: usize = 16 << 20;

impl Schema {
    /// The schema as JSON.
    ///
    /// Attributes go by the names of `dialect`, in their order. In a new file, and in another dialect, negative integers
    /// become floats (`-5.0`), the only form that the reference reads; any other number is written as its text was. In
    /// dialect V a `bit_struct` has no `pos`, so its fields must follow
    /// one another.
    ///
    /// # Errors
    /// When the dialect has no form for a node, the text passes 16 MiB, a stream descriptor was not understood,
    /// and, in a [new](Strictness::New) file, for null attributes, opaque nodes and unknown compressions.
    pub fn emit(&self, dialect: Dialect, strictness: Strictness) -> Result<String, Error> {
        let mut emitter = Emitter { schema: self, dialect, strictness, text: String::new() };
        emitter.text.push_str("{\"entity\":");
        emitter.entity(self.root(), 0)?;
        for (key, value) in self.other.iter() {
            emitter.member(key, value);
        }
        emitter.text.push('}');
        let found = emitter.text.len();
        if found > MAX_LEN {
            let kind = ErrorKind::Limit { what: "bytes of JSON", limit: MAX_LEN as u64, found: found as u64 };
            return Err(Error::new("schema", kind));
        }
        Ok(emitter.text)
    }
}

struct Emitter<'a> {
    schema: &'a Schema,
    dialect: Dialect,
    strictness: Strictness,
    text: String,
}

impl Emitter<'_> {
    /// The recursion is as deep as the tree, which its parser or builder has bounded. `packed` is the first bit of
    /// the entity where it follows the fields before it.
    fn entity(&mut self, id: EntityId, packed: u32) -> Result<(), Error> {
        let entity = &self.schema[id];
        if let Kind::Opaque(opaque) = &entity.kind {
            if self.strictness == Strictness::New {
                return Err(self.refuse(id, "is of a type that is not understood"));
            }
            if opaque.raw != Value::Null {
                self.value(&opaque.raw);
                return Ok(());
            }
        }
        self.text.push('{');
        let record = self.kind(id, packed)?;
        self.children(id)?;
        for (key, value) in &attributes_of(self.schema, id, self.dialect) {
            if self.strictness == Strictness::New {
                check_attribute(value).map_err(|reason| self.refuse(id, reason).detail(&**key))?;
            }
            self.member(key, value);
        }
        if record {
            self.member("core:role", &"record".into());
        }
        if let Some(data) = entity.data
            && !self.is_missing(data)
        {
            self.key("data");
            self.descriptor(data)?;
        }
        self.summaries(id)?;
        self.text.push('}');
        Ok(())
    }

    /// `type` and what belongs to it. Whether a record became a group, whose role is still to be said.
    fn kind(&mut self, id: EntityId, packed: u32) -> Result<bool, Error> {
        let entity = &self.schema[id];
        let role = entity.attributes.get("core:role");
        let is_record = role.and_then(Value::as_str) == Some("record");
        let (name, record) = match (&entity.kind, self.dialect) {
            (Kind::Record, Dialect::Spec) if role.is_some() && !is_record => {
                return Err(
                    self.refuse(id, "is a record with another `core:role`, which dialect S cannot say")
                );
            }
            (Kind::Record, Dialect::Spec) => ("group", !is_record),
            (Kind::Group, Dialect::V001) if is_record && self.schema.names == Dialect::Spec => {
                ("record", false)
            }
            // A file that was read may have them all the same.
            (Kind::Union | Kind::Tagged { .. }, Dialect::Spec)
                if self.strictness == Strictness::New || self.schema.names != self.dialect =>
            {
                return Err(self.refuse(id, "is of a type that only dialect V has"));
            }
            (kind, _) => (kind.name(), false),
        };
        let untyped = matches!(&entity.kind, Kind::Opaque(opaque) if opaque.type_name.is_none());
        if !untyped {
            self.member("type", &name.into());
        }
        self.position(id, packed)?;
        match &entity.kind {
            Kind::Bits { bits } | Kind::Int { bits } | Kind::Signed { bits } => {
                self.number("bits", (*bits).into());
            }
            Kind::Enum { bits, values } => {
                self.number("bits", (*bits).into());
                let values = values.iter().map(|name| Value::String(name.clone())).collect();
                self.member("values", &Value::Array(values));
            }
            Kind::Tagged { tag_bits } => self.number("tag_bits", (*tag_bits).into()),
            Kind::FixedArray { elements } => self.number("elements", (*elements).into()),
            // Only an array of names can name two alike.
            Kind::Tuple { fields } if repeats_a_name(fields) => {
                let names = fields.iter().map(|(name, _)| Value::String(name.clone())).collect();
                self.member("fields", &Value::Array(names));
            }
            Kind::Tuple { fields } => {
                let fields =
                    fields.iter().map(|(name, attributes)| (name.clone(), Value::Object(attributes.clone())));
                self.member("fields", &Value::Object(fields.collect()));
            }
            _ => {}
        }
        Ok(record)
    }

    /// `pos`, where it is not 0; in dialect V, the check that it goes without saying.
    fn position(&mut self, id: EntityId, packed: u32) -> Result<(), Error> {
        let entity = &self.schema[id];
        if !entity.kind.is_field() {
            return Ok(());
        }
        if self.strictness != Strictness::New && self.schema.names == self.dialect {
            // As it was, which is how it is read.
            if let Some(pos) = entity.pos {
                self.number("pos", pos.into());
            }
            return Ok(());
        }
        let parent = entity.parent().map(|parent| &self.schema[parent]);
        let in_struct = parent.filter(|parent| parent.kind == Kind::BitStruct);
        let in_tag = parent.is_some_and(|parent| matches!(parent.kind, Kind::Tagged { .. }));
        let position = match in_struct {
            Some(_) => self.schema.bit_position(id),
            None => entity.pos.unwrap_or(0).into(),
        };
        if self.dialect == Dialect::Spec {
            if position != 0 && !in_tag {
                self.number("pos", position.into());
            }
            return Ok(());
        }
        let expected = if in_struct.is_some() { packed } else { 0 };
        if position == expected || in_tag {
            return Ok(());
        }
        Err(gap_in_v001(expected, position).item(format!("{}", self.schema.entity_pointer(id))))
    }

    fn children(&mut self, id: EntityId) -> Result<(), Error> {
        let entity = &self.schema[id];
        let mut open = None;
        let mut packed = 0_u32;
        for &child in entity.children() {
            match self.schema[child].link() {
                Link::Member { container, name } => {
                    if open == Some(*container) {
                        self.text.push(',');
                    } else {
                        self.close(open);
                        self.key(container);
                        self.text.push('{');
                        open = Some(*container);
                    }
                    self.string(name);
                    self.text.push(':');
                }
                Link::Inner(key) => {
                    self.close(open.take());
                    let known = !matches!(entity.kind, Kind::Opaque(_));
                    self.key(if known { "child" } else { key });
                }
                Link::Root => continue,
            }
            self.entity(child, packed)?;
            packed = packed.saturating_add(self.schema.width(child));
        }
        self.close(open);
        if let (Some(container), []) = (entity.kind.container(), entity.children()) {
            self.member(container, &Value::Object(Object::default()));
        }
        Ok(())
    }

    fn close(&mut self, open: Option<&str>) {
        if open.is_some() {
            self.text.push('}');
        }
    }

    fn summaries(&mut self, id: EntityId) -> Result<(), Error> {
        let entity: &Entity = &self.schema[id];
        if entity.summaries.is_empty() {
            return Ok(());
        }
        self.key("summaries");
        for (number, summary) in entity.summaries.iter().enumerate() {
            self.text.push(if number == 0 { '{' } else { ',' });
            self.string(&summary.key);
            self.text.push_str(":{");
            if let Some(base_level) = summary.base_level {
                self.number("base_level", base_level.into());
            }
            self.key("levels");
            for (number, &level) in summary.levels.iter().enumerate() {
                self.text.push(if number == 0 { '[' } else { ',' });
                self.descriptor(level)?;
            }
            self.text.push_str(if summary.levels.is_empty() { "[]" } else { "]" });
            for (key, value) in summary.other.iter() {
                self.member(key, value);
            }
            self.text.push('}');
        }
        self.text.push('}');
        Ok(())
    }

    /// Whether the descriptor is not there at all, in a file that was read.
    fn is_missing(&self, id: StreamId) -> bool {
        let missing = |fault: &super::Fault| fault.raw == Value::Null;
        self.strictness != Strictness::New && self.schema[id].descriptor().is_err_and(missing)
    }

    fn descriptor(&mut self, id: StreamId) -> Result<(), Error> {
        if self.strictness == Strictness::Append
            && let Err(fault) = self.schema[id].descriptor()
        {
            self.value(&fault.raw);
            return Ok(());
        }
        let descriptor = self.schema[id].descriptor().map_err(|fault| {
            let pointer = format!("{}", self.schema.stream_pointer(id));
            Error::new(
                "stream descriptor",
                ErrorKind::Invalid("not understood, so its stream cannot be kept"),
            )
            .item(pointer)
            .detail(&*fault.reason)
        })?;
        let known = matches!(descriptor.compress, Method::Known(_));
        if !known && self.strictness == Strictness::New {
            let pointer = format!("{}", self.schema.stream_pointer(id));
            return Err(Error::new("stream descriptor", ErrorKind::Unsupported("compression")).item(pointer));
        }
        self.text.push('{');
        let Descriptor { element, end, block, compress, i_offset, i_size, i_compress, other, .. } =
            descriptor;
        self.member("element", &element.name().into());
        self.number("block", *block);
        self.member("compress", &Value::String(format!("{compress}").into()));
        match self.dialect {
            Dialect::Spec => {
                self.number("i_offset", *i_offset);
                self.number("i_size", *i_size);
                self.member("i_compress", &Value::String(format!("{i_compress}").into()));
                self.number("end", *end);
            }
            Dialect::V001 => {
                self.number("root", *i_offset);
                self.number("root_len", *i_size);
                self.number("end_idx", *end);
            }
        }
        for (key, value) in other.iter() {
            self.member(key, value);
        }
        self.text.push('}');
        Ok(())
    }

    fn refuse(&self, id: EntityId, reason: &'static str) -> Error {
        let pointer = format!("{}", self.schema.entity_pointer(id));
        Error::new("entity", ErrorKind::Invalid(reason)).item(pointer)
    }

    fn changes_numbers(&self) -> bool {
        self.strictness == Strictness::New || self.dialect != self.schema.names
    }

    fn number(&mut self, key: &str, value: u64) {
        self.member(key, &Value::Unsigned(value));
    }

    fn member(&mut self, key: &str, value: &Value) {
        self.key(key);
        self.value(value);
    }

    fn key(&mut self, key: &str) {
        if !self.text.ends_with('{') {
            self.text.push(',');
        }
        self.string(key);
        self.text.push(':');
    }

    fn string(&mut self, text: &str) {
        self.value(&Value::String(text.into()));
    }

    fn value(&mut self, value: &Value) {
        match value {
            // The reference reads a negative integer only so; what was read is kept as it is.
            Value::Negative(number) if self.changes_numbers() => {
                // Writing to a string cannot fail.
                let _ = write!(self.text, "{number}.0");
            }
            Value::Array(values) => {
                self.text.push('[');
                for (number, value) in values.iter().enumerate() {
                    if number != 0 {
                        self.text.push(',');
                    }
                    self.value(value);
                }
                self.text.push(']');
            }
            Value::Object(members) => {
                self.text.push('{');
                for (key, value) in members.iter() {
                    self.member(key, value);
                }
                self.text.push('}');
            }
            plain => {
                let _ = write!(self.text, "{plain}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use alloc::string::ToString;

    const DATA: &str = r#""data":{"element":"u8","block":4096,"compress":"none","i_offset":8,"i_size":0,"i_compress":"none","end":0}"#;

    fn emit(entity: &str, dialect: Dialect, strictness: Strictness) -> Result<String, String> {
        let text = format!(r#"{{"entity":{}}}"#, entity.replace("DATA", DATA));
        let schema = Schema::parse(text.as_bytes(), &Limits::default()).unwrap();
        schema.emit(dialect, strictness).map_err(|error| error.to_string())
    }

    #[test]
    fn a_new_file_holds_only_what_the_reference_reads() {
        for (entity, reason) in [
            (r#"{"type":"bits","bits":1,"x":{"y":[null]},DATA}"#, "null attribute"),
            (r#"{"type":"hologram",DATA}"#, "not understood"),
            (r#"{"type":"group","children":{"a":7}}"#, "/entity/children/a"),
            (r#"{"type":"bits","bits":1}"#, "`data` is missing"),
            (r#"{"type":"bits","bits":1,"data":{"element":"u9"}}"#, "is missing"),
            (r#"{"type":"tagged","tag_bits":1,"values":{},DATA}"#, "only dialect V"),
        ] {
            let error = emit(entity, Dialect::Spec, Strictness::New).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        let unknown =
            r#"{"type":"bits","bits":1,DATA}"#.replace("DATA", &DATA.replace("none\",\"i_o", "lz\",\"i_o"));
        assert!(emit(&unknown, Dialect::Spec, Strictness::New).unwrap_err().contains("compression"));
        assert!(emit(&unknown, Dialect::Spec, Strictness::Keep).unwrap().contains(r#""compress":"lz""#));
    }

    #[test]
    fn negative_integers_get_a_fraction() {
        let entity =
            r#"{"type":"bits","bits":1,"a":-9223372036854775808,"b":[-5,{"c":-1}],"d":5,"e":-2.5,DATA}"#;
        let text = emit(entity, Dialect::Spec, Strictness::New).unwrap();
        assert!(
            text.contains(r#""a":-9223372036854775808.0,"b":[-5.0,{"c":-1.0}],"d":5,"e":-2.5"#),
            "{text}"
        );
    }

    #[test]
    fn numbers_are_written_as_they_were_read() {
        let numbers = r#""a":-5,"b":[1e400,-1e400,18446744073709551616,1.50,-0]"#;
        let entity = format!(r#"{{"type":"bits","bits":1,{numbers},DATA}}"#);
        let emitted = |dialect, strictness| emit(&entity, dialect, strictness);
        for strictness in [Strictness::Keep, Strictness::Append] {
            let text = emitted(Dialect::Spec, strictness).unwrap();
            assert!(text.contains(numbers), "{text}");
        }
        let text = emitted(Dialect::V001, Strictness::Keep).unwrap();
        assert!(text.contains(&numbers.replace("-5", "-5.0")), "{text}");
        let error = emitted(Dialect::Spec, Strictness::New).unwrap_err();
        assert!(error.contains("beyond the range of a double"), "{error}");
    }

    #[test]
    fn dialect_v_has_no_gaps() {
        let with = |pos| {
            format!(
                r#"{{"type":"bit_struct","children":{{"a":{{"type":"bits","bits":2}},
                "b":{{"type":"bits","bits":1,"pos":{pos}}}}},DATA}}"#
            )
        };
        let text = emit(&with(2), Dialect::V001, Strictness::Keep).unwrap();
        assert!(!text.contains("pos") && text.contains(r#""root":8,"root_len":0,"end_idx":0"#), "{text}");
        for pos in [1, 3] {
            let error = emit(&with(pos), Dialect::V001, Strictness::Keep).unwrap_err();
            assert!(error.contains("/entity/children/b") && error.contains("expected 2"), "{error}");
        }
    }

    #[test]
    fn nodes_that_lack_something_lose_nothing_more() {
        for node in [
            r#"{"type":"fixed_array","elements":3}"#,
            r#"{"type":"tuple","fields":{"x":{}},"child":7}"#,
            r#"{"type":"tuple","fields":["x","x"],"child":{"type":"int","bits":8,DATA}}"#,
            r#"{"type":"int","bits":12,"pos":64,DATA}"#,
            r#"{"type":"tagged","tag_bits":2,"values":[]}"#,
            r#"{"type":"hologram","children":{},"data":null}"#,
            r#"{"type":"group","children":{},"data":null}"#,
            r#"{"type":7,"x":1}"#,
        ] {
            let text = emit(node, Dialect::Spec, Strictness::Keep).unwrap();
            assert_eq!(text, format!(r#"{{"entity":{}}}"#, node.replace("DATA", DATA)));
        }
    }

    #[test]
    fn a_record_with_another_role_stays_in_dialect_v() {
        let record = r#"{"type":"record","core:role":"capture","children":{}}"#;
        let error = emit(record, Dialect::Spec, Strictness::Keep);
        // No descriptor tells the dialect, so that it counts as one of dialect S.
        assert!(error.unwrap_err().contains("another `core:role`"));
    }

    #[test]
    fn what_was_read_is_kept_where_it_can_be() {
        let entity = r#"{"type":"group","children":{"a":7,"b":{"type":"bits","bits":1},"c":{"type":"x","child":{"type":"null",DATA}}},"n":null}"#;
        let text = emit(entity, Dialect::Spec, Strictness::Keep).unwrap();
        assert_eq!(text, format!(r#"{{"entity":{}}}"#, entity.replace("DATA", DATA)));
        let fault = r#"{"type":"bits","bits":1,"data":{"element":"u9"}}"#;
        assert!(emit(fault, Dialect::Spec, Strictness::Keep).is_err());
        assert_eq!(
            emit(fault, Dialect::Spec, Strictness::Append).unwrap(),
            format!(r#"{{"entity":{fault}}}"#)
        );
    }
}
