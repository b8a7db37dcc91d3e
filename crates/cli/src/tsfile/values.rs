//! Values as text, JSON and bytes.

use std::io::{self, Write};

use core_codec::tsfile::{DataType, Value};
use serde_json::Value as Json;

use crate::output::{double_json, float_text, hex, put_csv_field, single_json};

/// Writes the little-endian bytes that `digest` hashes.
pub(super) fn put_raw(out: &mut (impl Write + ?Sized), value: Value<'_>) -> io::Result<()> {
    match value {
        Value::Boolean(value) => out.write_all(&[value.into()]),
        Value::Int32(value) => out.write_all(&value.to_le_bytes()),
        Value::Int64(value) => out.write_all(&value.to_le_bytes()),
        Value::Float(value) => out.write_all(&value.to_le_bytes()),
        Value::Double(value) => out.write_all(&value.to_le_bytes()),
        Value::Binary(value) => {
            // A batch has less than 4 GiB of strings.
            out.write_all(&(value.len() as u32).to_le_bytes())?;
            out.write_all(value)
        }
        _ => Ok(()),
    }
}

/// A day as the decimal number yyyymmdd.
fn date(number: i32) -> Option<String> {
    let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
    let valid = (0..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    valid.then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// What is text of a string; the others are shown in hexadecimal digits.
fn text(dtype: DataType, bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok().filter(|_| dtype != DataType::Blob)
}

/// Writes bytes in hexadecimal digits, without a copy of all of them.
fn put_hex(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(b"0x")?;
    bytes.chunks(1 << 12).try_for_each(|part| out.write_all(hex(part).as_bytes()))
}

/// Writes a field of a CSV line: nothing for null, quotes around an empty text.
pub(super) fn put_csv(out: &mut dyn Write, dtype: DataType, value: Option<Value<'_>>) -> io::Result<()> {
    match value {
        None => Ok(()),
        Some(Value::Binary([])) => out.write_all(b"\"\""),
        Some(Value::Binary(bytes)) => match text(dtype, bytes) {
            Some(text) => put_csv_field(out, text),
            None => put_hex(out, bytes),
        },
        Some(Value::Boolean(value)) => write!(out, "{value}"),
        Some(Value::Int32(value)) if dtype == DataType::Date => match date(value) {
            Some(date) => out.write_all(date.as_bytes()),
            None => write!(out, "{value}"),
        },
        Some(Value::Int32(value)) => write!(out, "{value}"),
        Some(Value::Int64(value)) => write!(out, "{value}"),
        Some(Value::Float(value)) => out.write_all(float_text(value).as_bytes()),
        Some(Value::Double(value)) => out.write_all(float_text(value).as_bytes()),
        Some(_) => Ok(()),
    }
}

/// Writes a JSON value.
pub(super) fn put_json(out: &mut dyn Write, dtype: DataType, value: Option<Value<'_>>) -> io::Result<()> {
    let json = match value {
        Some(Value::Binary(bytes)) => match text(dtype, bytes) {
            Some(text) => return Ok(serde_json::to_writer(out, text)?),
            None => {
                out.write_all(b"\"")?;
                put_hex(out, bytes)?;
                return out.write_all(b"\"");
            }
        },
        Some(Value::Boolean(value)) => value.into(),
        Some(Value::Int32(value)) if dtype == DataType::Date => date(value).map_or(value.into(), Json::from),
        Some(Value::Int32(value)) => value.into(),
        Some(Value::Int64(value)) => value.into(),
        Some(Value::Float(value)) => single_json(value),
        Some(Value::Double(value)) => double_json(value),
        None | Some(_) => Json::Null,
    };
    Ok(serde_json::to_writer(out, &json)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(put: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        put(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn csv(dtype: DataType, value: Option<Value<'_>>) -> String {
        written(|out| put_csv(out, dtype, value))
    }

    fn json(dtype: DataType, value: Option<Value<'_>>) -> String {
        written(|out| put_json(out, dtype, value))
    }

    #[test]
    fn null_empty_and_text_differ() {
        assert_eq!(csv(DataType::String, None), "");
        assert_eq!(csv(DataType::String, Some(Value::Binary(b""))), "\"\"");
        assert_eq!(csv(DataType::String, Some(Value::Binary(b"a,\"b\""))), "\"a,\"\"b\"\"\"");
        assert_eq!(csv(DataType::Blob, Some(Value::Binary(b"a\0"))), "0x6100");
        assert_eq!(csv(DataType::Date, Some(Value::Int32(20_240_131))), "2024-01-31");
        assert_eq!(csv(DataType::Date, Some(Value::Int32(7))), "7");
        assert_eq!(csv(DataType::Double, Some(Value::Double(-1e300))), "-1e300");
        assert_eq!(csv(DataType::Float, Some(Value::Float(0.5))), "0.5");
        assert_eq!(json(DataType::Float, Some(Value::Float(0.1))), "0.1");
        assert_eq!(json(DataType::Double, Some(Value::Double(f64::NAN))), "\"NaN\"");
        assert_eq!(json(DataType::Text, Some(Value::Binary(b"a\"\n"))), r#""a\"\n""#);
        assert_eq!(json(DataType::Text, Some(Value::Binary(b"\xff"))), "\"0xff\"");
        assert_eq!(json(DataType::Text, None), "null");
    }
}
