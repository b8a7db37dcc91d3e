//! Values as text, JSON and bytes.

use core_codec::tsfile::{DataType, Value};
use serde_json::Value as Json;

use crate::output::{csv_field, double_json, float_text, hex, single_json};

/// Appends the little-endian bytes that `digest` hashes.
pub(super) fn put_raw(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Boolean(value) => out.push(value.into()),
        Value::Int32(value) => out.extend(value.to_le_bytes()),
        Value::Int64(value) => out.extend(value.to_le_bytes()),
        Value::Float(value) => out.extend(value.to_le_bytes()),
        Value::Double(value) => out.extend(value.to_le_bytes()),
        Value::Binary(value) => {
            // A batch has less than 4 GiB of strings.
            out.extend((value.len() as u32).to_le_bytes());
            out.extend(value);
        }
        _ => {}
    }
}

/// A day as the decimal number yyyymmdd.
fn date(number: i32) -> Option<String> {
    let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
    let valid = (0..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    valid.then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// Text where it is text, else hexadecimal digits.
fn text(dtype: DataType, bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) if dtype != DataType::Blob => text.to_owned(),
        _ => format!("0x{}", hex(bytes)),
    }
}

/// A field of a CSV line: nothing for null, quotes around an empty text.
pub(super) fn csv(dtype: DataType, value: Option<Value<'_>>) -> String {
    match value {
        None => String::new(),
        Some(Value::Binary([])) => "\"\"".into(),
        Some(Value::Binary(bytes)) => csv_field(&text(dtype, bytes)),
        Some(Value::Boolean(value)) => value.to_string(),
        Some(Value::Int32(value)) if dtype == DataType::Date => date(value).unwrap_or(value.to_string()),
        Some(Value::Int32(value)) => value.to_string(),
        Some(Value::Int64(value)) => value.to_string(),
        Some(Value::Float(value)) => float_text(value),
        Some(Value::Double(value)) => float_text(value),
        Some(_) => String::new(),
    }
}

/// A JSON value.
pub(super) fn json(dtype: DataType, value: Option<Value<'_>>) -> Json {
    match value {
        None => Json::Null,
        Some(Value::Boolean(value)) => value.into(),
        Some(Value::Int32(value)) if dtype == DataType::Date => date(value).map_or(value.into(), Json::from),
        Some(Value::Int32(value)) => value.into(),
        Some(Value::Int64(value)) => value.into(),
        Some(Value::Float(value)) => single_json(value),
        Some(Value::Double(value)) => double_json(value),
        Some(Value::Binary(bytes)) => text(dtype, bytes).into(),
        Some(_) => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_empty_and_text_differ() {
        assert_eq!(csv(DataType::String, None), "");
        assert_eq!(csv(DataType::String, Some(Value::Binary(b""))), "\"\"");
        assert_eq!(csv(DataType::String, Some(Value::Binary(b"a,b"))), "\"a,b\"");
        assert_eq!(csv(DataType::Blob, Some(Value::Binary(b"a\0"))), "0x6100");
        assert_eq!(csv(DataType::Date, Some(Value::Int32(20_240_131))), "2024-01-31");
        assert_eq!(csv(DataType::Date, Some(Value::Int32(7))), "7");
        assert_eq!(csv(DataType::Double, Some(Value::Double(-1e300))), "-1e300");
        assert_eq!(csv(DataType::Float, Some(Value::Float(0.5))), "0.5");
        assert_eq!(json(DataType::Float, Some(Value::Float(0.1))), Json::from(0.1));
        assert_eq!(json(DataType::Double, Some(Value::Double(f64::NAN))), Json::from("NaN"));
    }
}
