//! What an entity is: its `type` with the fields that belong to it.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::descriptor::brief;
use super::json::{Object, Value};

/// Names of the elements of a tuple, with their attributes.
pub type TupleFields = Box<[(Box<str>, Object)]>;

/// Type of an entity or field.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Entities that only share a name.
    Group,
    /// Entities of equal length whose elements belong together: dialect V's own type, otherwise a group with
    /// `core:role`.
    Record,
    /// One of several entities for each element (dialect V).
    Union,
    /// A fixed number of named elements of the child for each element.
    Tuple {
        /// Names with their attributes.
        fields: TupleFields,
    },
    /// A fixed number of elements of the child for each element.
    FixedArray {
        /// That number.
        elements: u32,
    },
    /// Its stream holds the end position of each element in the child.
    VariableArray,
    /// Fields that share the bits of one element.
    BitStruct,
    /// No bits.
    Null,
    /// Independent bits.
    Bits {
        /// How many.
        bits: u8,
    },
    /// An unsigned integer.
    Int {
        /// Width in bits.
        bits: u8,
    },
    /// A two's complement integer.
    Signed {
        /// Width in bits.
        bits: u8,
    },
    /// A named value.
    Enum {
        /// Width in bits.
        bits: u8,
        /// Name of each value, from 0.
        values: Box<[Box<str>]>,
    },
    /// A tag in the low bits, and above it the field that the tag selects (dialect V).
    Tagged {
        /// Width of the tag in bits.
        tag_bits: u8,
    },
    /// A byte of UTF-8 text.
    Character,
    /// A 64-bit time in ticks.
    Timestamp,
    /// An IEEE 754 single.
    Float32,
    /// An IEEE 754 double.
    Float64,
    /// A node that this version does not understand, kept as it is.
    Opaque(Box<Opaque>),
}

/// A node that is not understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Opaque {
    /// Its `type`.
    pub type_name: Option<Box<str>>,
    /// Why it is not understood.
    pub reason: Cow<'static, str>,
    /// The node itself, where it is not even an object; null where it is.
    pub raw: Value,
}

impl Kind {
    /// The name in the schema.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Group => "group",
            Self::Record => "record",
            Self::Union => "union",
            Self::Tuple { .. } => "tuple",
            Self::FixedArray { .. } => "fixed_array",
            Self::VariableArray => "variable_array",
            Self::BitStruct => "bit_struct",
            Self::Null => "null",
            Self::Bits { .. } => "bits",
            Self::Int { .. } => "int",
            Self::Signed { .. } => "signed",
            Self::Enum { .. } => "enum",
            Self::Tagged { .. } => "tagged",
            Self::Character => "character",
            Self::Timestamp => "timestamp",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Opaque(opaque) => opaque.type_name.as_deref().unwrap_or("?"),
        }
    }

    /// Width of the field in bits; none for what is not a single field of fixed width.
    #[must_use]
    pub fn width(&self) -> Option<u8> {
        match self {
            Self::Null => Some(0),
            Self::Bits { bits } | Self::Int { bits } | Self::Signed { bits } | Self::Enum { bits, .. } => {
                Some(*bits)
            }
            Self::Character => Some(8),
            Self::Float32 => Some(32),
            Self::Timestamp | Self::Float64 => Some(64),
            _ => None,
        }
    }

    /// Whether it describes the bits of an element, so that it needs a stream of its own or a place in one.
    #[must_use]
    pub fn is_field(&self) -> bool {
        matches!(self, Self::BitStruct | Self::Tagged { .. }) || self.width().is_some()
    }

    /// Takes `type` and the members that belong to it out of `members`.
    pub(super) fn take(members: &mut Object) -> Self {
        let type_name = match members.take("type") {
            Some(Value::String(name)) => name,
            Some(other) => {
                let reason = format!("`type`: expected a string, found {}", brief(&other));
                members.set("type", other);
                return Self::opaque(None, reason);
            }
            None => return Self::opaque(None, "`type` is missing"),
        };
        Self::of(&type_name, members).unwrap_or_else(|reason| Self::opaque(Some(type_name), reason))
    }

    pub(super) fn opaque(type_name: Option<Box<str>>, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Opaque(Box::new(Opaque { type_name, reason: reason.into(), raw: Value::Null }))
    }

    /// The members of a type are taken only when all are well-formed, so that an opaque node stays whole.
    fn of(type_name: &str, members: &mut Object) -> Result<Self, String> {
        let kind = match type_name {
            "group" => Self::Group,
            "record" => Self::Record,
            "union" => Self::Union,
            "variable_array" => Self::VariableArray,
            "bit_struct" => Self::BitStruct,
            "null" => Self::Null,
            "character" => Self::Character,
            "timestamp" => Self::Timestamp,
            "float32" => Self::Float32,
            "float64" => Self::Float64,
            "bits" => Self::Bits { bits: take_width(members, "bits")? },
            "int" => Self::Int { bits: take_width(members, "bits")? },
            "signed" => Self::Signed { bits: take_width(members, "bits")? },
            "tagged" => Self::Tagged { tag_bits: take_width(members, "tag_bits")? },
            "fixed_array" => Self::FixedArray { elements: take_elements(members)? },
            "tuple" => Self::Tuple { fields: take_fields(members)? },
            "enum" => {
                let values = enum_values(members)?;
                let bits = take_width(members, "bits")?;
                members.take("values");
                Self::Enum { bits, values }
            }
            _ => return Err("unknown `type`".into()),
        };
        Ok(kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Bits { bits } | Self::Int { bits } | Self::Signed { bits } | Self::Enum { bits, .. } => {
                write!(f, "({bits})")
            }
            Self::FixedArray { elements } => write!(f, "({elements})"),
            Self::Tuple { fields } => write!(f, "({})", fields.len()),
            _ => Ok(()),
        }
    }
}

fn take_width(members: &mut Object, name: &str) -> Result<u8, String> {
    match members.get(name) {
        Some(Value::Unsigned(bits)) if *bits <= 64 => {
            let bits = *bits as u8;
            members.take(name);
            Ok(bits)
        }
        Some(other) => Err(format!("`{name}`: expected 0 to 64, found {}", brief(other))),
        None => Err(format!("`{name}` is missing")),
    }
}

fn take_elements(members: &mut Object) -> Result<u32, String> {
    match members.get("elements") {
        Some(value) => match value.as_u64().and_then(|count| u32::try_from(count).ok()) {
            Some(count) => {
                members.take("elements");
                Ok(count)
            }
            None => Err(format!("`elements`: expected 0 to 2^32-1, found {}", brief(value))),
        },
        None => Err("`elements` is missing".into()),
    }
}

/// `fields` or, in newer texts, `names`: an object from name to attributes, or a plain array of names.
fn take_fields(members: &mut Object) -> Result<TupleFields, String> {
    let key = if members.get("fields").is_some() { "fields" } else { "names" };
    let well_formed = match members.get(key) {
        Some(Value::Object(fields)) => fields.iter().all(|(_, value)| value.as_object().is_some()),
        Some(Value::Array(names)) => names.iter().all(|name| name.as_str().is_some()),
        _ => false,
    };
    if !well_formed {
        return Err("`fields`: expected an object of objects, or an array of names".into());
    }
    let attributes = |value| match value {
        Value::Object(attributes) => attributes,
        _ => Object::default(),
    };
    let name = |value| match value {
        Value::String(name) => name,
        _ => Box::default(),
    };
    Ok(match members.take(key) {
        Some(Value::Object(fields)) => {
            fields.into_iter().map(|(name, value)| (name, attributes(value))).collect()
        }
        Some(Value::Array(names)) => {
            names.into_iter().map(|value| (name(value), Object::default())).collect()
        }
        _ => Box::default(),
    })
}

fn enum_values(members: &Object) -> Result<Box<[Box<str>]>, String> {
    let Some(Value::Array(values)) = members.get("values") else {
        return Err("`values`: expected an array of names".into());
    };
    let names: Option<Vec<Box<str>>> = values.iter().map(|value| value.as_str().map(Into::into)).collect();
    names.map(Vec::into_boxed_slice).ok_or_else(|| "`values`: expected an array of names".into())
}
