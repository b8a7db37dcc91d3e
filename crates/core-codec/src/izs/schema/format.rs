//! `defmt::Format` of the types that contain themselves: a derived one asks for itself, and does not build.

use defmt::{Format, Formatter, write};

use super::{Attribute, Entity, Kind};

impl Format for Attribute<'_> {
    fn format(&self, f: Formatter<'_>) {
        match *self {
            Self::Bool(value) => write!(f, "{}", value),
            Self::Integer(value) => write!(f, "{}", value),
            Self::Decimal { mantissa, exponent } => write!(f, "{}e{}", mantissa, exponent),
            Self::Text(text) => write!(f, "{}", text),
            Self::Array(values) => write!(f, "{}", values),
            Self::Object(values) => write!(f, "{}", values),
        }
    }
}

impl Format for Kind<'_> {
    fn format(&self, f: Formatter<'_>) {
        match *self {
            Self::Group { children } => write!(f, "Group {}", children),
            Self::BitStruct { children } => write!(f, "BitStruct {}", children),
            Self::Tuple { fields, child } => write!(f, "Tuple {} of {}", fields, child),
            Self::FixedArray { elements, child } => write!(f, "FixedArray {} of {}", elements, child),
            Self::VariableArray { child } => write!(f, "VariableArray of {}", child),
            Self::Bits { bits } => write!(f, "Bits {}", bits),
            Self::Int { bits } => write!(f, "Int {}", bits),
            Self::Signed { bits } => write!(f, "Signed {}", bits),
            Self::Enum { bits, values } => write!(f, "Enum {} {}", bits, values),
            Self::Character => write!(f, "Character"),
            Self::Timestamp => write!(f, "Timestamp"),
            Self::Float32 => write!(f, "Float32"),
            Self::Float64 => write!(f, "Float64"),
        }
    }
}

impl Format for Entity<'_> {
    fn format(&self, f: Formatter<'_>) {
        let Self { kind, pos, attributes, data, summary } = self;
        write!(
            f,
            "Entity {{ kind: {}, pos: {}, attributes: {}, data: {}, summary: {} }}",
            kind, pos, attributes, data, summary
        );
    }
}
