//! The rules that a declared schema keeps, checked when its constant is evaluated.

use core::fmt;

use super::super::raw::Dialect;
use super::{Attribute, Entity, Kind, MAX_BLOCK_BYTES, MAX_DEPTH, MAX_STAGE_BYTES, MIN_BLOCK, StreamDef};

impl StreamDef {
    pub(super) const fn check(&self) -> Result<(), SchemaError> {
        if !self.block.is_power_of_two() || self.block < MIN_BLOCK || self.block_bytes() > MAX_BLOCK_BYTES {
            return Err(SchemaError::BlockSize { stream: self.id });
        }
        let stage_fits = self.staged >= self.block && self.staged_bytes() <= MAX_STAGE_BYTES;
        if self.staged != 0 && !stage_fits {
            return Err(SchemaError::StageSize { stream: self.id });
        }
        Ok(())
    }
}

impl Entity<'_> {
    /// Bits that a field needs in an element, `None` for what is no field.
    const fn field_bits(&self) -> Option<u8> {
        match self.kind {
            Kind::Bits { bits } | Kind::Int { bits } | Kind::Signed { bits } | Kind::Enum { bits, .. } => {
                Some(bits)
            }
            Kind::Character => Some(8),
            Kind::Float32 => Some(32),
            Kind::Timestamp | Kind::Float64 => Some(64),
            Kind::Group { .. }
            | Kind::BitStruct { .. }
            | Kind::Tuple { .. }
            | Kind::FixedArray { .. }
            | Kind::VariableArray { .. } => None,
        }
    }

    pub(super) const fn check(&self, depth: u8) -> Result<(), SchemaError> {
        if depth == 0 {
            return Err(SchemaError::TooDeep);
        }
        if let Err(error) = check_attributes(self.attributes) {
            return Err(error);
        }
        if let Some(stream) = self.data
            && let Err(error) = stream.check()
        {
            return Err(error);
        }
        if let Some(levels) = self.summary
            && (levels.count == 0
                || levels.first.checked_add(levels.count).is_none()
                || self.rule(Dialect::Spec).is_none())
        {
            return Err(SchemaError::NoSummary);
        }
        if self.pos != 0 && self.field_bits().is_none() {
            return Err(SchemaError::NotAField);
        }
        match self.kind {
            Kind::Group { children } => {
                if self.data.is_some() {
                    return Err(SchemaError::UnexpectedData);
                }
                check_children(children, depth - 1)
            }
            Kind::BitStruct { children } => match self.data {
                Some(stream) => check_packed(children, stream.element.size() * 8),
                None => Err(SchemaError::MissingData),
            },
            Kind::Tuple { fields, child } => {
                if self.data.is_some() {
                    return Err(SchemaError::UnexpectedData);
                }
                if let Err(error) = check_fields(fields) {
                    return Err(error);
                }
                child.check(depth - 1)
            }
            Kind::FixedArray { elements, child } => {
                if self.data.is_some() {
                    return Err(SchemaError::UnexpectedData);
                }
                if elements == 0 {
                    return Err(SchemaError::NoElements);
                }
                child.check(depth - 1)
            }
            Kind::VariableArray { child } => {
                if self.data.is_none() {
                    return Err(SchemaError::MissingData);
                }
                child.check(depth - 1)
            }
            _ => match self.data {
                Some(stream) => self.check_field(stream.element.size() * 8),
                None => Err(SchemaError::MissingData),
            },
        }
    }

    /// Checks that the field lies inside an element of `width` bits.
    const fn check_field(&self, width: u8) -> Result<(), SchemaError> {
        if let Kind::Enum { bits, values } = self.kind
            && bits < 32
            && values.len() > 1 << bits
        {
            return Err(SchemaError::TooManyValues);
        }
        match self.field_bits() {
            Some(bits) if bits >= 1 && bits <= 64 && self.pos <= 64 && self.pos + bits <= width => Ok(()),
            Some(_) => Err(SchemaError::FieldOutsideElement),
            None => Err(SchemaError::NotAField),
        }
    }
}

const fn check_children(children: &[(&str, Entity<'_>)], depth: u8) -> Result<(), SchemaError> {
    let mut i = 0;
    while i < children.len() {
        if let Err(error) = children[i].1.check(depth) {
            return Err(error);
        }
        i += 1;
    }
    check_unique(children)
}

const fn check_packed(children: &[(&str, Entity<'_>)], width: u8) -> Result<(), SchemaError> {
    let mut i = 0;
    while i < children.len() {
        let child = &children[i].1;
        if child.data.is_some() || child.summary.is_some() {
            return Err(SchemaError::UnexpectedData);
        }
        if let Err(error) = check_attributes(child.attributes) {
            return Err(error);
        }
        if let Err(error) = child.check_field(width) {
            return Err(error);
        }
        i += 1;
    }
    check_unique(children)
}

/// Keys with a meaning of their own, here or to later readers, which therefore cannot name an attribute.
pub const RESERVED: [&str; 14] = [
    "type",
    "pos",
    "bits",
    "values",
    "tag_bits",
    "children",
    "variants",
    "elements",
    "fields",
    "names",
    "child",
    "inner",
    "data",
    "summaries",
];

const fn check_attributes(attributes: &[(&str, Attribute<'_>)]) -> Result<(), SchemaError> {
    let mut i = 0;
    while i < attributes.len() {
        let mut k = 0;
        while k < RESERVED.len() {
            if equal(attributes[i].0, RESERVED[k]) {
                return Err(SchemaError::ReservedAttribute);
            }
            k += 1;
        }
        i += 1;
    }
    check_named_values(attributes, MAX_DEPTH)
}

const fn check_named_values(values: &[(&str, Attribute<'_>)], depth: u8) -> Result<(), SchemaError> {
    let mut i = 0;
    while i < values.len() {
        if let Err(error) = check_value(&values[i].1, depth) {
            return Err(error);
        }
        i += 1;
    }
    check_unique(values)
}

const fn check_value(value: &Attribute<'_>, depth: u8) -> Result<(), SchemaError> {
    if depth == 0 {
        return Err(SchemaError::TooDeep);
    }
    match *value {
        Attribute::Object(values) => check_named_values(values, depth - 1),
        Attribute::Array(values) => {
            let mut i = 0;
            while i < values.len() {
                if let Err(error) = check_value(&values[i], depth - 1) {
                    return Err(error);
                }
                i += 1;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The names of a tuple: at least one, each once.
const fn check_fields(names: &[&str]) -> Result<(), SchemaError> {
    if names.is_empty() {
        return Err(SchemaError::NoElements);
    }
    let mut i = 0;
    while i < names.len() {
        let mut k = 0;
        while k < i {
            if equal(names[i], names[k]) {
                return Err(SchemaError::DuplicateName);
            }
            k += 1;
        }
        i += 1;
    }
    Ok(())
}

const fn check_unique<V>(named: &[(&str, V)]) -> Result<(), SchemaError> {
    let mut i = 0;
    while i < named.len() {
        let mut k = 0;
        while k < i {
            if equal(named[i].0, named[k].0) {
                return Err(SchemaError::DuplicateName);
            }
            k += 1;
        }
        i += 1;
    }
    Ok(())
}

/// `==` on strings is not const.
const fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// In dialect V a field of a `bit_struct` has no `pos`: each starts where the one before it ends.
pub(super) const fn fields_in_order(entity: &Entity<'_>) -> Result<(), SchemaError> {
    match entity.kind {
        Kind::Group { children } => {
            let mut i = 0;
            while i < children.len() {
                if let Err(error) = fields_in_order(&children[i].1) {
                    return Err(error);
                }
                i += 1;
            }
            Ok(())
        }
        Kind::BitStruct { children } => {
            let (mut i, mut next) = (0, 0);
            while i < children.len() {
                let child = &children[i].1;
                if child.pos != next {
                    return Err(SchemaError::NotInDialect);
                }
                if let Some(bits) = child.field_bits() {
                    next = child.pos.saturating_add(bits);
                }
                i += 1;
            }
            Ok(())
        }
        Kind::Tuple { child, .. } | Kind::FixedArray { child, .. } | Kind::VariableArray { child } => {
            fields_in_order(child)
        }
        _ if entity.pos != 0 => Err(SchemaError::NotInDialect),
        _ => Ok(()),
    }
}

/// A mistake in a declared schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SchemaError {
    /// More than [`MAX_DEPTH`] levels.
    TooDeep,
    /// A block that is no power of two, under [`MIN_BLOCK`] elements or over [`MAX_BLOCK_BYTES`].
    BlockSize {
        /// The stream.
        stream: u8,
    },
    /// A staging buffer that holds less than a block, or more than [`MAX_STAGE_BYTES`].
    StageSize {
        /// The stream.
        stream: u8,
    },
    /// A field or `bit_struct` without a stream.
    MissingData,
    /// A stream where none belongs: on a group, a tuple, a fixed array, or a field inside a `bit_struct`.
    UnexpectedData,
    /// A summary without levels, with numbers past 255, or of what has none: characters, enums, signed numbers that are
    /// narrower than their element, arrays.
    NoSummary,
    /// A field of no bit, or one that reaches past the end of its element.
    FieldOutsideElement,
    /// A collection inside a `bit_struct`, or one that is placed [`at`](Entity::at) a bit.
    NotAField,
    /// A tuple or a fixed array of nothing.
    NoElements,
    /// An enum with more names than its bits can tell apart.
    TooManyValues,
    /// An attribute with the name of a key that has a meaning of its own.
    ReservedAttribute,
    /// Two children, attributes or fields of one name.
    DuplicateName,
    /// Something that dialect V cannot say: a field that does not start where the one before it ends.
    NotInDialect,
    /// The stream numbers are not 0, 1, 2 ... up to the number of streams of the memory, each once.
    StreamNumbers,
    /// The staging buffers need more bytes than the memory's `STAGE`.
    StageTooSmall {
        /// Bytes that they need.
        needed: u32,
    },
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep => write!(f, "more than {MAX_DEPTH} levels"),
            Self::BlockSize { stream } => write!(
                f,
                "block of stream {stream}: expected a power of two from {MIN_BLOCK} elements to {MAX_BLOCK_BYTES} bytes"
            ),
            Self::StageSize { stream } => write!(
                f,
                "staging buffer of stream {stream}: expected a block or more, and {MAX_STAGE_BYTES} bytes or less"
            ),
            Self::MissingData => f.write_str("an entity without its stream"),
            Self::UnexpectedData => f.write_str("a stream on an entity that has none of its own"),
            Self::NoSummary => f.write_str("a summary without levels, or of what cannot have one"),
            Self::FieldOutsideElement => f.write_str("a field reaches past the end of its element"),
            Self::NotAField => f.write_str("a collection where only a field can be"),
            Self::NoElements => f.write_str("a tuple or a fixed array of nothing"),
            Self::TooManyValues => f.write_str("an enum with more names than its bits can tell apart"),
            Self::ReservedAttribute => f.write_str("an attribute with a reserved name"),
            Self::DuplicateName => f.write_str("two children, attributes or fields of one name"),
            Self::NotInDialect => {
                f.write_str("dialect V needs the fields of a bit_struct in order, without gaps")
            }
            Self::StreamNumbers => f.write_str("the streams are not numbered 0, 1, 2 ... each once"),
            Self::StageTooSmall { needed } => write!(f, "the staging buffers need {needed} bytes"),
        }
    }
}

impl core::error::Error for SchemaError {}
