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

/// The reason of a node whose type is none that is known.
const UNKNOWN_TYPE: &str = "unknown `type`";

impl Opaque {
    /// Whether its type is none that is known, as of a later version. Otherwise it is malformed.
    #[must_use]
    pub fn has_unknown_type(&self) -> bool {
        self.reason == UNKNOWN_TYPE
    }
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

    /// Takes `type` and the members that belong to it out of `members`. A node that lacks what its type needs is
    /// opaque, and loses nothing but its `type`.
    pub(super) fn take(members: &mut Object) -> Self {
        let type_name = match members.get("type") {
            Some(Value::String(name)) => name.clone(),
            Some(other) => {
                return Self::opaque(None, format!("`type`: expected a string, found {}", brief(other)));
            }
            None => return Self::opaque(None, "`type` is missing"),
        };
        members.take("type");
        let well_formed =
            Self::of(&type_name, members).and_then(|kind| kind.check_shape(members).map(|()| kind));
        match well_formed {
            Ok(kind) => {
                kind.own_members(members).into_iter().flatten().for_each(|key| drop(members.take(key)));
                kind
            }
            Err(reason) => Self::opaque(Some(type_name), reason),
        }
    }

    /// The keys of the members that say which kind it is.
    fn own_members(&self, members: &Object) -> [Option<&'static str>; 2] {
        match self {
            Self::Bits { .. } | Self::Int { .. } | Self::Signed { .. } => [Some("bits"), None],
            Self::Enum { .. } => [Some("bits"), Some("values")],
            Self::Tagged { .. } => [Some("tag_bits"), None],
            Self::FixedArray { .. } => [Some("elements"), None],
            Self::Tuple { .. } => [Some(fields_key(members)), None],
            _ => [None; 2],
        }
    }

    /// Whether what must be below the node is there, and a field has a place in an element.
    fn check_shape(&self, members: &Object) -> Result<(), String> {
        let below = if self.has_inner() { Some(inner_key(members)) } else { self.container() };
        match below.map(|key| (key, members.get(key))) {
            None | Some((_, Some(Value::Object(_)))) => {}
            Some((key, None)) => return Err(format!("`{key}` is missing")),
            Some((key, Some(other))) => {
                return Err(format!("`{key}`: expected an object, found {}", brief(other)));
            }
        }
        match members.get("pos") {
            Some(pos) if self.is_field() && pos.as_u64().is_none_or(|pos| pos > 63) => {
                Err(format!("`pos`: expected 0 to 63, found {}", brief(pos)))
            }
            _ => Ok(()),
        }
    }

    /// The key under which named entities hang below it.
    pub(super) fn container(&self) -> Option<&'static str> {
        match self {
            Self::Group | Self::Record | Self::BitStruct => Some("children"),
            Self::Union => Some("variants"),
            Self::Tagged { .. } => Some("values"),
            _ => None,
        }
    }

    /// Whether one entity without a name hangs below it.
    pub(super) fn has_inner(&self) -> bool {
        matches!(self, Self::Tuple { .. } | Self::FixedArray { .. } | Self::VariableArray)
    }

    pub(super) fn opaque(type_name: Option<Box<str>>, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Opaque(Box::new(Opaque { type_name, reason: reason.into(), raw: Value::Null }))
    }

    fn of(type_name: &str, members: &Object) -> Result<Self, String> {
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
            "bits" => Self::Bits { bits: width(members, "bits")? },
            "int" => Self::Int { bits: width(members, "bits")? },
            "signed" => Self::Signed { bits: width(members, "bits")? },
            "tagged" => Self::Tagged { tag_bits: width(members, "tag_bits")? },
            "fixed_array" => Self::FixedArray { elements: elements(members)? },
            "tuple" => Self::Tuple { fields: fields(members)? },
            "enum" => Self::Enum { values: enum_values(members)?, bits: width(members, "bits")? },
            _ => return Err(UNKNOWN_TYPE.into()),
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

/// The key of the entity without a name: newer texts have another.
pub(super) fn inner_key(members: &Object) -> &'static str {
    if members.get("child").is_none() && members.get("inner").is_some() { "inner" } else { "child" }
}

/// The key of the fields of a tuple: newer texts have another.
fn fields_key(members: &Object) -> &'static str {
    if members.get("fields").is_none() && members.get("names").is_some() { "names" } else { "fields" }
}

fn width(members: &Object, name: &str) -> Result<u8, String> {
    match members.get(name) {
        Some(Value::Unsigned(bits)) if *bits <= 64 => Ok(*bits as u8),
        Some(other) => Err(format!("`{name}`: expected 0 to 64, found {}", brief(other))),
        None => Err(format!("`{name}` is missing")),
    }
}

fn elements(members: &Object) -> Result<u32, String> {
    let value = members.get("elements").ok_or("`elements` is missing")?;
    let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
    count.ok_or_else(|| format!("`elements`: expected 0 to 2^32-1, found {}", brief(value)))
}

/// An object from name to attributes, or a plain array of names.
fn fields(members: &Object) -> Result<TupleFields, String> {
    let fields: Option<Vec<(Box<str>, Object)>> = match members.get(fields_key(members)) {
        Some(Value::Object(fields)) => {
            let field = |(name, value): (&str, &Value)| Some((name.into(), value.as_object()?.clone()));
            fields.iter().map(field).collect()
        }
        Some(Value::Array(names)) => {
            names.iter().map(|name| Some((name.as_str()?.into(), Object::default()))).collect()
        }
        _ => None,
    };
    let fields = fields.ok_or("`fields`: expected an object of objects, or an array of names")?;
    Ok(fields.into_boxed_slice())
}

fn enum_values(members: &Object) -> Result<Box<[Box<str>]>, String> {
    let Some(Value::Array(values)) = members.get("values") else {
        return Err("`values`: expected an array of names".into());
    };
    let names: Option<Vec<Box<str>>> = values.iter().map(|value| value.as_str().map(Into::into)).collect();
    names.map(Vec::into_boxed_slice).ok_or_else(|| "`values`: expected an array of names".into())
}
