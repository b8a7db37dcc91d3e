//! Elements as text and as JSON.

use std::borrow::Cow;
use std::io::{self, Write};

use core_codec::stards::{DataType, Tensor};
use serde_json::Value;

use crate::output;

/// One element. Strings are borrowed: one can be as large as all the rest.
pub(super) enum Element<'a> {
    Integer(Value),
    Single(f32),
    Double(f64),
    Text(Cow<'a, str>),
}

impl Element<'_> {
    pub(super) fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Integer(json) => write!(out, "{json}"),
            Self::Single(value) => write!(out, "{}", output::single_json(*value)),
            Self::Double(value) => write!(out, "{}", output::double_json(*value)),
            Self::Text(text) => write_json_text(out, text),
        }
    }

    /// As a field of a line of CSV.
    pub(super) fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Integer(json) => write!(out, "{json}"),
            Self::Single(value) => write!(out, "{}", output::float_text(value)),
            Self::Double(value) => write!(out, "{}", output::float_text(value)),
            Self::Text(text) => output::put_csv_field(out, text),
        }
    }

    /// Its start, as an overview shows it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Integer(json) => output::plain(json),
            Self::Single(value) => output::plain(&output::single_json(*value)),
            Self::Double(value) => output::plain(&output::double_json(*value)),
            Self::Text(text) => output::cut(text),
        }
    }
}

pub(super) fn write_json_text(out: &mut dyn Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

/// Whether all strings are UTF-8, if there are any.
pub(super) fn is_utf8(tensor: &Tensor) -> bool {
    tensor.dtype() != DataType::String || tensor.iter_strings().all(|text| str::from_utf8(text).is_ok())
}

/// Each element in row-major order. Strings that are not UTF-8 get replacement characters.
pub(super) fn elements(tensor: &Tensor) -> Box<dyn Iterator<Item = Element<'_>> + '_> {
    let bytes = tensor.bytes();
    macro_rules! numbers {
        ($type:ty, $element:expr) => {
            Box::new(bytes.as_chunks().0.iter().map(|element| $element(<$type>::from_le_bytes(*element))))
        };
        ($type:ty) => {
            numbers!($type, |value| Element::Integer(Value::from(value)))
        };
    }
    match tensor.dtype() {
        DataType::Int8 => numbers!(i8),
        DataType::Int16 => numbers!(i16),
        DataType::Int32 => numbers!(i32),
        DataType::Int64 => numbers!(i64),
        DataType::Uint8 => numbers!(u8),
        DataType::Uint16 => numbers!(u16),
        DataType::Uint32 => numbers!(u32),
        DataType::Uint64 => numbers!(u64),
        DataType::Float32 => numbers!(f32, Element::Single),
        DataType::Float64 => numbers!(f64, Element::Double),
        DataType::String => {
            Box::new(tensor.iter_strings().map(|text| Element::Text(String::from_utf8_lossy(text))))
        }
    }
}

/// Writes the elements in arrays nested as the dimensions are.
pub(super) fn write_nested(out: &mut dyn Write, tensor: &Tensor) -> io::Result<()> {
    fn level<'a>(
        out: &mut dyn Write,
        shape: &[u64],
        elements: &mut dyn Iterator<Item = Element<'a>>,
    ) -> io::Result<()> {
        let [size, inner @ ..] = shape else {
            return elements.next().map_or(Ok(()), |element| element.write_json(out));
        };
        write!(out, "[")?;
        for index in 0..*size {
            if index > 0 {
                write!(out, ",")?;
            }
            level(out, inner, elements)?;
        }
        write!(out, "]")
    }
    // The sizes before a 0 promise as many empty arrays as is their product, and nothing in the file stands for them.
    let shape = tensor.shape();
    let before_zero = shape.iter().take_while(|&&size| size > 0);
    let promised = before_zero.fold(1u64, |product, &size| product.saturating_mul(size));
    let empty = tensor.elements() == 0 && promised > 1 << 10;
    if empty || shape.len() > 255 {
        return write!(out, "[]");
    }
    level(out, shape, &mut elements(tensor))
}
