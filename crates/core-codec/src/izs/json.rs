//! The schema's JSON, a window at a time.
//!
//! The text is never held: to emit bytes `at..at + buf.len()` the tree is walked from its root and all that
//! lies before the window is counted and dropped. That takes time quadratic in the length of the text, which
//! is short and written once, and no memory at all.

use super::raw::Dialect;
use super::schema::{Attribute, Entity, Kind, Levels, Schema, StreamDef};
use super::summary::Rule;

/// Where a stream's index lies, and how long the stream is: what only the end of a recording knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) index_offset: u64,
    pub(super) index_size: u64,
    pub(super) end: u64,
}

/// Finds the place of a stream by its number.
pub(super) type Place<'p> = &'p dyn Fn(u8) -> Placed;

/// Length in bytes of the JSON.
pub(super) fn length(schema: &Schema<'_>, place: Place<'_>) -> u32 {
    emit(schema, place, usize::MAX, &mut []).seen
}

/// Fills `buf` with the JSON from byte `at` on, and returns how much of it was filled.
pub(super) fn window(schema: &Schema<'_>, place: Place<'_>, at: u32, buf: &mut [u8]) -> usize {
    emit(schema, place, at as usize, buf).len
}

// Nothing here is generic, and little is inlined: a recording runs it once, and flash is short.
#[inline(never)]
fn emit<'b>(schema: &Schema<'_>, place: Place<'_>, skip: usize, buf: &'b mut [u8]) -> Window<'b> {
    let window = Window { skip, seen: 0, len: 0, buf };
    let mut emitter = Emitter { window, dialect: schema.dialect, place };
    emitter.put("{\"entity\":");
    emitter.entity(&schema.root);
    emitter.put("}");
    emitter.window
}

struct Window<'b> {
    skip: usize,
    seen: u32,
    len: usize,
    buf: &'b mut [u8],
}

impl Window<'_> {
    #[inline(never)]
    fn put(&mut self, text: &[u8]) {
        self.seen = self.seen.saturating_add(text.len() as u32);
        let Some(text) = text.get(self.skip..) else {
            self.skip -= text.len();
            return;
        };
        self.skip = 0;
        let free = self.buf.get_mut(self.len..).unwrap_or_default();
        for (to, from) in free.iter_mut().zip(text) {
            *to = *from;
            self.len += 1;
        }
    }
}

struct Emitter<'p, 'b> {
    window: Window<'b>,
    dialect: Dialect,
    place: Place<'p>,
}

impl Emitter<'_, '_> {
    fn put(&mut self, text: &str) {
        self.window.put(text.as_bytes());
    }

    fn entity(&mut self, entity: &Entity<'_>) {
        self.put("{\"type\":\"");
        self.put(entity.kind.name());
        self.put("\"");
        if entity.pos != 0 && self.dialect == Dialect::Spec {
            self.key("pos");
            self.integer(u64::from(entity.pos));
        }
        self.kind(&entity.kind);
        for (name, value) in entity.attributes {
            self.key(name);
            self.attribute(value);
        }
        if let Some(stream) = &entity.data {
            self.key("data");
            self.descriptor(stream);
            if let (Some(levels), Some(rule)) = (entity.summary, entity.rule(self.dialect)) {
                self.summary(stream, levels, rule);
            }
        }
        self.put("}");
    }

    #[inline(never)]
    fn kind(&mut self, kind: &Kind<'_>) {
        match *kind {
            Kind::Group { children } | Kind::BitStruct { children } => {
                self.key("children");
                self.object(children, Self::entity);
            }
            Kind::Tuple { fields, child } => {
                self.key("fields");
                self.put("{");
                self.list(fields, |emitter, field| {
                    emitter.string(field);
                    emitter.put(":{}");
                });
                self.put("}");
                self.key("child");
                self.entity(child);
            }
            Kind::FixedArray { elements, child } => {
                self.key("elements");
                self.integer(u64::from(elements));
                self.key("child");
                self.entity(child);
            }
            Kind::VariableArray { child } => {
                self.key("child");
                self.entity(child);
            }
            Kind::Bits { bits } | Kind::Int { bits } | Kind::Signed { bits } => {
                self.key("bits");
                self.integer(u64::from(bits));
            }
            Kind::Enum { bits, values } => {
                self.key("bits");
                self.integer(u64::from(bits));
                self.key("values");
                self.put("[");
                self.list(values, |emitter, value| emitter.string(value));
                self.put("]");
            }
            Kind::Character | Kind::Timestamp | Kind::Float32 | Kind::Float64 => {}
        }
    }

    #[inline(never)]
    fn attribute(&mut self, value: &Attribute<'_>) {
        match *value {
            Attribute::Bool(true) => self.put("true"),
            Attribute::Bool(false) => self.put("false"),
            Attribute::Integer(value) => self.integer(value),
            Attribute::Decimal { mantissa, exponent } => self.decimal(mantissa, exponent),
            Attribute::Text(text) => self.string(text),
            Attribute::Array(values) => {
                self.put("[");
                self.list(values, Self::attribute);
                self.put("]");
            }
            Attribute::Object(values) => self.object(values, Self::attribute),
        }
    }

    /// A stream descriptor (specification, "Schema").
    #[inline(never)]
    fn descriptor(&mut self, stream: &StreamDef) {
        let Placed { index_offset, index_size, end } = (self.place)(stream.id);
        self.put("{\"element\":\"");
        self.put(stream.element.name());
        self.put("\",\"block\":");
        self.integer(u64::from(stream.block));
        self.put(",\"compress\":\"");
        self.put(stream.compression.name());
        let [offset, size, last] = match self.dialect {
            Dialect::Spec => ["\",\"i_offset\":", ",\"i_size\":", ",\"i_compress\":\"none\",\"end\":"],
            Dialect::V001 => ["\",\"root\":", ",\"root_len\":", ",\"end_idx\":"],
        };
        for (key, value) in [(offset, index_offset), (size, index_size), (last, end)] {
            self.put(key);
            self.integer(value);
        }
        self.put("}");
    }

    /// The summary of a stream, if it has levels.
    #[inline(never)]
    fn summary(&mut self, of: &StreamDef, levels: Levels, rule: Rule) {
        for level in 0..levels.count {
            let stream = levels.def(level, of, rule);
            if (self.place)(stream.id).end == 0 {
                if level > 0 {
                    self.put("]}}");
                }
                return;
            }
            if level == 0 {
                self.key("summaries");
                self.put("{");
                self.string(rule.key());
                self.put(":{\"base_level\":");
                self.integer(u64::from(rule.base_level()));
                self.put(",\"levels\":[");
            } else {
                self.put(",");
            }
            self.descriptor(&stream);
        }
        self.put("]}}");
    }

    #[inline(never)]
    fn key(&mut self, name: &str) {
        self.put(",");
        self.string(name);
        self.put(":");
    }

    fn object<V>(&mut self, named: &[(&str, V)], emit: fn(&mut Self, &V)) {
        self.put("{");
        self.list(named, |emitter, (name, value)| {
            emitter.string(name);
            emitter.put(":");
            emit(emitter, value);
        });
        self.put("}");
    }

    fn list<V>(&mut self, values: &[V], emit: impl Fn(&mut Self, &V)) {
        for (number, value) in values.iter().enumerate() {
            if number != 0 {
                self.put(",");
            }
            emit(self, value);
        }
    }

    #[inline(never)]
    fn string(&mut self, text: &str) {
        self.put("\"");
        let mut rest = text.as_bytes();
        loop {
            let length = rest.iter().position(|&byte| needs_escape(byte)).unwrap_or(rest.len());
            let (plain, from) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            self.window.put(plain);
            let Some((&byte, after)) = from.split_first() else { break };
            let hex = |digit: u8| if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
            self.window.put(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 15)]);
            rest = after;
        }
        self.put("\"");
    }

    fn decimal(&mut self, mantissa: i64, exponent: i8) {
        self.signed(mantissa);
        if exponent == 0 {
            self.put(".0");
        } else {
            self.put("e");
            self.signed(i64::from(exponent));
        }
    }

    fn signed(&mut self, value: i64) {
        if value < 0 {
            self.put("-");
        }
        self.integer(value.unsigned_abs());
    }

    #[inline(never)]
    fn integer(&mut self, value: u64) {
        let mut digits = [0; 20];
        let mut limbs = [value, value >> 16, value >> 32, value >> 48].map(|limb| limb as u16);
        let mut used = 0;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + divide_by_ten(&mut limbs);
            used += 1;
            if limbs == [0; 4] {
                break;
            }
        }
        self.window.put(digits.get(digits.len() - used..).unwrap_or_default());
    }
}

/// Divides a number in limbs of 16 bits, lowest first, and returns the remainder. The division of a `u64` would
/// take a kilobyte of flash on a 32-bit target.
#[inline(never)]
fn divide_by_ten(limbs: &mut [u16; 4]) -> u8 {
    let mut rest = 0;
    for limb in limbs.iter_mut().rev() {
        let value = rest << 16 | u32::from(*limb);
        *limb = (value / 10) as u16;
        rest = value % 10;
    }
    rest as u8
}

/// Quote, backslash and control characters cannot stand in a JSON string.
fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

impl Kind<'_> {
    const fn name(&self) -> &'static str {
        match self {
            Self::Group { .. } => "group",
            Self::BitStruct { .. } => "bit_struct",
            Self::Tuple { .. } => "tuple",
            Self::FixedArray { .. } => "fixed_array",
            Self::VariableArray { .. } => "variable_array",
            Self::Bits { .. } => "bits",
            Self::Int { .. } => "int",
            Self::Signed { .. } => "signed",
            Self::Enum { .. } => "enum",
            Self::Character => "character",
            Self::Timestamp => "timestamp",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        }
    }
}
