//! Elements as JSON values.

use core_codec::stards::{DataType, Tensor};
use serde_json::Value;

use crate::output;

/// Each element in row-major order. Strings that are not UTF-8 get replacement characters.
pub(super) fn elements(tensor: &Tensor) -> Box<dyn Iterator<Item = Value> + '_> {
    let bytes = tensor.bytes();
    macro_rules! numbers {
        ($type:ty, $json:expr) => {
            Box::new(bytes.as_chunks().0.iter().map(|element| $json(<$type>::from_le_bytes(*element))))
        };
        ($type:ty) => {
            numbers!($type, Value::from)
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
        DataType::Float32 => numbers!(f32, output::single_json),
        DataType::Float64 => numbers!(f64, output::double_json),
        DataType::String => {
            Box::new(tensor.iter_strings().map(|text| String::from_utf8_lossy(text).into_owned().into()))
        }
    }
}

/// Each element as text.
pub(super) fn texts(tensor: &Tensor) -> Box<dyn Iterator<Item = String> + '_> {
    let bytes = tensor.bytes();
    match tensor.dtype() {
        DataType::Float32 => Box::new(
            bytes.as_chunks().0.iter().map(|element| output::float_text(f32::from_le_bytes(*element))),
        ),
        DataType::Float64 => Box::new(
            bytes.as_chunks().0.iter().map(|element| output::float_text(f64::from_le_bytes(*element))),
        ),
        DataType::String => {
            Box::new(tensor.iter_strings().map(|text| String::from_utf8_lossy(text).into_owned()))
        }
        _ => Box::new(elements(tensor).map(|value| value.to_string())),
    }
}

/// The elements in arrays nested as the dimensions are.
pub(super) fn nested(tensor: &Tensor) -> Value {
    fn level(shape: &[u64], elements: &mut dyn Iterator<Item = Value>) -> Value {
        match shape {
            [] => elements.next().unwrap_or_default(),
            [size, inner @ ..] => (0..*size).map(|_| level(inner, elements)).collect(),
        }
    }
    // The sizes before a 0 promise as many empty arrays as is their product, and nothing in the file stands for them.
    let shape = tensor.shape();
    let before_zero = shape.iter().take_while(|&&size| size > 0);
    let promised = before_zero.fold(1u64, |product, &size| product.saturating_mul(size));
    let empty = tensor.elements() == 0 && promised > 1 << 10;
    if empty || shape.len() > 255 {
        return Value::Array(Vec::new());
    }
    level(shape, &mut elements(tensor))
}
