//! The primitives of the specification's "Binary Representation": big-endian integers, variable-length integers,
//! strings and byte arrays.
//!
//! A parser never allocates and never looks past its input, which is the enclosing record. Writing is beside
//! reading, always in the shortest form.
//!
//! ```
//! use core_codec::tsfile::wire::{put_uvarint, uvarint};
//!
//! let mut bytes = Vec::new();
//! put_uvarint(&mut bytes, 300);
//! assert_eq!(bytes, [0xac, 0x02]);
//! assert_eq!(uvarint(&bytes).unwrap().1, 300);
//! ```

use alloc::vec::Vec;
use core::str;

use nom::number::complete as number;

use crate::error::ErrorKind;
use crate::wire::{Parsed, WireError, take};

/// `byte`: an 8-bit raw value.
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn byte(input: &[u8]) -> Parsed<'_, u8> {
    number::u8(input)
}

/// `bool`: 0x00 or 0x01.
///
/// # Errors
/// [`ErrorKind::Truncated`], [`ErrorKind::OutOfRange`] for any other byte.
pub fn boolean(input: &[u8]) -> Parsed<'_, bool> {
    let (rest, value) = number::u8(input)?;
    match value {
        0 => Ok((rest, false)),
        1 => Ok((rest, true)),
        _ => Err(WireError::at(
            input,
            ErrorKind::OutOfRange { what: "bool", min: 0, max: 1, found: value.into() },
        )),
    }
}

/// `int32`: big-endian, signed.
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn int32(input: &[u8]) -> Parsed<'_, i32> {
    let (rest, bytes) = take(input, 4)?;
    Ok((rest, number::be_i32(bytes)?.1))
}

/// `int64`: big-endian, signed.
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn int64(input: &[u8]) -> Parsed<'_, i64> {
    let (rest, bytes) = take(input, 8)?;
    Ok((rest, number::be_i64(bytes)?.1))
}

/// `float32`: big-endian IEEE 754 binary32.
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn float32(input: &[u8]) -> Parsed<'_, f32> {
    let (rest, bytes) = take(input, 4)?;
    Ok((rest, number::be_f32(bytes)?.1))
}

/// `float64`: big-endian IEEE 754 binary64.
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn float64(input: &[u8]) -> Parsed<'_, f64> {
    let (rest, bytes) = take(input, 8)?;
    Ok((rest, number::be_f64(bytes)?.1))
}

/// `UVarInt`: unsigned LEB128 of at most 32 bits in at most five bytes. Longer than the shortest form is read.
///
/// # Errors
/// [`ErrorKind::Truncated`]; [`ErrorKind::Invalid`] when the fifth byte does not end it or the value passes 32
/// bits.
pub fn uvarint(input: &[u8]) -> Parsed<'_, u32> {
    let mut value = 0u32;
    for (i, &byte) in input.iter().take(5).enumerate() {
        let group = u32::from(byte & 0x7f);
        if i == 4 && byte > 0x0f {
            let reason = if byte & 0x80 != 0 {
                "UVarInt does not end in five bytes"
            } else {
                "UVarInt passes 32 bits"
            };
            return Err(WireError::at(input, ErrorKind::Invalid(reason)));
        }
        value |= group << (7 * i);
        if byte & 0x80 == 0 {
            return Ok((&input[i + 1..], value));
        }
    }
    let available = input.len() as u64;
    Err(WireError::at(input, ErrorKind::Truncated { needed: available + 1, available }))
}

/// `VarInt`: a ZigZag-mapped signed integer as a [`uvarint`].
///
/// # Errors
/// As [`uvarint`].
pub fn varint(input: &[u8]) -> Parsed<'_, i32> {
    let (rest, value) = uvarint(input)?;
    Ok((rest, unzigzag32(value)))
}

/// An unsigned LEB128 of at most 64 bits in at most ten bytes, as ZIGZAG streams use it for INT64.
///
/// # Errors
/// As [`uvarint`].
pub fn uvarint64(input: &[u8]) -> Parsed<'_, u64> {
    let mut value = 0u64;
    for (i, &byte) in input.iter().take(10).enumerate() {
        if i == 9 && byte > 1 {
            return Err(WireError::at(input, ErrorKind::Invalid("variable-length integer passes 64 bits")));
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Ok((&input[i + 1..], value));
        }
    }
    let available = input.len() as u64;
    Err(WireError::at(input, ErrorKind::Truncated { needed: available + 1, available }))
}

/// `VarString`: `VarInt` length (-1 is null) and UTF-8 bytes.
///
/// # Errors
/// [`ErrorKind::Truncated`], [`ErrorKind::Invalid`] for another negative length or bytes that are not UTF-8.
pub fn var_string(input: &[u8]) -> Parsed<'_, Option<&str>> {
    let (rest, bytes) = var_binary(input)?;
    utf8(input, rest, bytes)
}

/// `String32`: `int32` length (-1 is null) and UTF-8 bytes.
///
/// # Errors
/// As [`var_string`].
pub fn string32(input: &[u8]) -> Parsed<'_, Option<&str>> {
    let (rest, length) = int32(input)?;
    let (rest, bytes) = nullable(input, rest, length)?;
    utf8(input, rest, bytes)
}

/// `Binary32`: `int32` length, never negative, and raw bytes.
///
/// # Errors
/// [`ErrorKind::Truncated`], [`ErrorKind::Invalid`] for a negative length.
pub fn binary32(input: &[u8]) -> Parsed<'_, &[u8]> {
    let (rest, length) = int32(input)?;
    match u64::try_from(length) {
        Ok(length) => take(rest, length),
        Err(_) => Err(WireError::at(input, ErrorKind::Invalid("negative length of a Binary32"))),
    }
}

/// `VarBinary`: `VarInt` length (-1 is null) and raw bytes.
///
/// # Errors
/// [`ErrorKind::Truncated`], [`ErrorKind::Invalid`] for another negative length.
pub fn var_binary(input: &[u8]) -> Parsed<'_, Option<&[u8]>> {
    let (rest, length) = varint(input)?;
    nullable(input, rest, length)
}

fn nullable<'a>(start: &'a [u8], rest: &'a [u8], length: i32) -> Parsed<'a, Option<&'a [u8]>> {
    match u64::try_from(length) {
        Ok(length) => take(rest, length).map(|(rest, bytes)| (rest, Some(bytes))),
        Err(_) if length == -1 => Ok((rest, None)),
        Err(_) => Err(WireError::at(start, ErrorKind::Invalid("negative length that is not null (-1)"))),
    }
}

fn utf8<'a>(start: &'a [u8], rest: &'a [u8], bytes: Option<&'a [u8]>) -> Parsed<'a, Option<&'a str>> {
    match bytes.map(str::from_utf8).transpose() {
        Ok(text) => Ok((rest, text)),
        Err(_) => Err(WireError::at(start, ErrorKind::Invalid("string is not UTF-8"))),
    }
}

/// Undoes ZigZag: 0, 1, 2, 3 are 0, -1, 1, -2.
#[must_use]
pub const fn unzigzag32(value: u32) -> i32 {
    ((value >> 1) ^ (value & 1).wrapping_neg()) as i32
}

/// Undoes ZigZag of 64 bits.
#[must_use]
pub const fn unzigzag64(value: u64) -> i64 {
    ((value >> 1) ^ (value & 1).wrapping_neg()) as i64
}

/// `zigzag(n) = (n << 1) XOR (n >> 31)`.
#[must_use]
pub const fn zigzag32(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)) as u32
}

/// Appends a `UVarInt` in its shortest form.
pub fn put_uvarint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a `VarInt`.
pub fn put_varint(out: &mut Vec<u8>, value: i32) {
    put_uvarint(out, zigzag32(value));
}

/// Appends a `VarBinary`; `None` is null. Returns `None`, and appends nothing, when the length passes `int32`.
#[must_use]
pub fn put_var_binary(out: &mut Vec<u8>, bytes: Option<&[u8]>) -> Option<()> {
    let length = bytes.map_or(Ok(-1), |bytes| i32::try_from(bytes.len())).ok()?;
    put_varint(out, length);
    out.extend_from_slice(bytes.unwrap_or_default());
    Some(())
}

/// Appends a `VarString`; `None` is null. Returns `None`, and appends nothing, when the length passes `int32`.
#[must_use]
pub fn put_var_string(out: &mut Vec<u8>, text: Option<&str>) -> Option<()> {
    put_var_binary(out, text.map(str::as_bytes))
}

/// Appends a `String32`; `None` is null. Returns `None`, and appends nothing, when the length passes `int32`.
#[must_use]
pub fn put_string32(out: &mut Vec<u8>, text: Option<&str>) -> Option<()> {
    let length = text.map_or(Ok(-1), |text| i32::try_from(text.len())).ok()?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(text.unwrap_or_default().as_bytes());
    Some(())
}

/// Appends a `Binary32`. Returns `None`, and appends nothing, when the length passes `int32`.
#[must_use]
pub fn put_binary32(out: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
    out.extend_from_slice(&i32::try_from(bytes.len()).ok()?.to_be_bytes());
    out.extend_from_slice(bytes);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{parse, parse_all};
    use alloc::vec;
    use proptest::prelude::*;
    use std::format;

    fn kind<T: core::fmt::Debug>(parsed: Parsed<'_, T>) -> ErrorKind {
        match parsed.unwrap_err() {
            nom::Err::Failure(error) | nom::Err::Error(error) => error.kind,
            nom::Err::Incomplete(_) => unreachable!(),
        }
    }

    #[test]
    fn fixed_widths_are_big_endian() {
        assert_eq!(byte(&[7, 1]).unwrap(), (&[1u8][..], 7));
        assert!(!boolean(&[0]).unwrap().1);
        assert!(boolean(&[1]).unwrap().1);
        assert_eq!(int32(&[0xff, 0xff, 0xff, 0xfe]).unwrap().1, -2);
        assert_eq!(int64(&[0, 0, 0, 0, 0, 0, 1, 0]).unwrap().1, 256);
        assert_eq!(float32(&[0x3f, 0x80, 0, 0]).unwrap().1, 1.0);
        assert_eq!(float64(&[0xc0, 0, 0, 0, 0, 0, 0, 0]).unwrap().1, -2.0);
    }

    #[test]
    fn fixed_widths_need_all_their_bytes() {
        for width in 0..8 {
            let bytes = vec![0u8; width];
            let truncated = ErrorKind::Truncated { needed: 8, available: width as u64 };
            assert_eq!(kind(int64(&bytes)), truncated);
            assert_eq!(kind(float64(&bytes)), truncated);
        }
        for width in 0..4 {
            let bytes = vec![0u8; width];
            let truncated = ErrorKind::Truncated { needed: 4, available: width as u64 };
            assert_eq!(kind(int32(&bytes)), truncated);
            assert_eq!(kind(float32(&bytes)), truncated);
        }
        assert!(matches!(kind(byte(&[])), ErrorKind::Truncated { .. }));
        assert!(matches!(kind(boolean(&[])), ErrorKind::Truncated { .. }));
    }

    #[test]
    fn bool_is_zero_or_one() {
        assert_eq!(kind(boolean(&[2])), ErrorKind::OutOfRange { what: "bool", min: 0, max: 1, found: 2 });
    }

    #[test]
    fn uvarint_example_of_the_specification() {
        assert_eq!(uvarint(&[0xac, 0x02]).unwrap(), (&[][..], 300));
        assert_eq!(uvarint(&[0xff, 0xff, 0xff, 0xff, 0x0f]).unwrap().1, u32::MAX);
    }

    #[test]
    fn uvarint_is_written_in_its_shortest_form() {
        for (value, bytes) in
            [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (1 << 21, 4), (1 << 28, 5)]
        {
            let mut out = vec![];
            put_uvarint(&mut out, value);
            assert_eq!(out.len(), bytes, "{value}");
        }
    }

    #[test]
    fn uvarint_must_end_within_five_bytes_and_32_bits() {
        let unterminated = ErrorKind::Invalid("UVarInt does not end in five bytes");
        assert_eq!(kind(uvarint(&[0x80; 5])), unterminated);
        assert_eq!(kind(uvarint(&[0xff; 12])), unterminated);
        let overflow = ErrorKind::Invalid("UVarInt passes 32 bits");
        assert_eq!(kind(uvarint(&[0xff, 0xff, 0xff, 0xff, 0x10])), overflow);
        assert_eq!(kind(uvarint(&[0x80; 3])), ErrorKind::Truncated { needed: 4, available: 3 });
        assert_eq!(kind(uvarint(&[])), ErrorKind::Truncated { needed: 1, available: 0 });
    }

    #[test]
    fn uvarint_longer_than_needed_is_read() {
        assert_eq!(uvarint(&[0x80, 0x00]).unwrap(), (&[][..], 0));
    }

    #[test]
    fn varint_table_of_the_specification() {
        for (value, wire) in [(0, 0), (-1, 1), (1, 2), (-2, 3)] {
            let mut out = vec![];
            put_varint(&mut out, value);
            assert_eq!(out, [wire]);
            assert_eq!(varint(&out).unwrap().1, value);
        }
    }

    #[test]
    fn string_lengths_count_bytes() {
        let wire = [0x06, 0xe6, 0xb8, 0xa9];
        assert_eq!(var_string(&wire).unwrap(), (&[][..], Some("温")));
        let mut out = vec![];
        put_var_string(&mut out, Some("温")).unwrap();
        assert_eq!(out, wire);
    }

    #[test]
    fn null_differs_from_empty() {
        assert_eq!(var_string(&[1]).unwrap().1, None);
        assert_eq!(var_string(&[0]).unwrap().1, Some(""));
        assert_eq!(var_binary(&[1]).unwrap().1, None);
        assert_eq!(var_binary(&[0]).unwrap().1, Some(&[][..]));
        assert_eq!(string32(&[0xff; 4]).unwrap().1, None);
        assert_eq!(string32(&[0; 4]).unwrap().1, Some(""));
        assert_eq!(binary32(&[0; 4]).unwrap().1, b"");
    }

    #[test]
    fn other_negative_lengths_are_errors() {
        let negative = ErrorKind::Invalid("negative length that is not null (-1)");
        assert_eq!(kind(var_string(&[3])), negative);
        assert_eq!(kind(var_binary(&[3])), negative);
        assert_eq!(kind(string32(&[0xff, 0xff, 0xff, 0xfe])), negative);
        assert_eq!(kind(binary32(&[0xff; 4])), ErrorKind::Invalid("negative length of a Binary32"));
    }

    #[test]
    fn lengths_stay_inside_the_record() {
        let truncated = ErrorKind::Truncated { needed: i32::MAX as u64, available: 1 };
        assert_eq!(kind(var_binary(&[0xfe, 0xff, 0xff, 0xff, 0x0f, 0])), truncated);
        assert_eq!(kind(var_string(&[0xfe, 0xff, 0xff, 0xff, 0x0f, 0])), truncated);
        assert_eq!(kind(binary32(&[0x7f, 0xff, 0xff, 0xff, 0])), truncated);
        assert_eq!(kind(string32(&[0x7f, 0xff, 0xff, 0xff, 0])), truncated);
    }

    #[test]
    fn strings_are_utf8_and_binaries_are_not() {
        let text = ErrorKind::Invalid("string is not UTF-8");
        assert_eq!(kind(var_string(&[2, 0xff])), text);
        assert_eq!(kind(string32(&[0, 0, 0, 1, 0xff])), text);
        assert_eq!(var_binary(&[2, 0xff]).unwrap().1, Some(&[0xff][..]));
        assert_eq!(binary32(&[0, 0, 0, 1, 0xff]).unwrap().1, [0xff]);
    }

    #[test]
    fn bytes_left_over_are_an_error_with_their_offset() {
        let error = parse_all("record", 100, &[0xac, 0x02, 9], uvarint).unwrap_err();
        assert_eq!((error.offset(), error.kind()), (Some(102), &ErrorKind::Invalid("bytes left over")));
    }

    #[test]
    fn errors_name_the_absolute_offset() {
        let error = parse("record", 1000, &[0, 0x80, 0x80], |input| {
            let (input, _) = byte(input)?;
            uvarint(input)
        })
        .unwrap_err();
        assert_eq!(format!("{error}"), "record at byte 1001: needs 3 bytes, only 2 are there");
    }

    proptest! {
        #[test]
        fn integers_round_trip(unsigned: u32, signed: i32) {
            let mut out = vec![];
            put_uvarint(&mut out, unsigned);
            put_varint(&mut out, signed);
            let (rest, first) = uvarint(&out).unwrap();
            prop_assert_eq!(first, unsigned);
            prop_assert_eq!(varint(rest).unwrap(), (&[][..], signed));
        }

        #[test]
        fn strings_round_trip(text: Option<std::string::String>, raw: Vec<u8>) {
            let mut out = vec![];
            put_var_string(&mut out, text.as_deref()).unwrap();
            put_string32(&mut out, text.as_deref()).unwrap();
            put_binary32(&mut out, &raw).unwrap();
            put_var_binary(&mut out, Some(&raw)).unwrap();
            let (rest, a) = var_string(&out).unwrap();
            let (rest, b) = string32(rest).unwrap();
            let (rest, c) = binary32(rest).unwrap();
            prop_assert_eq!((a, b, c), (text.as_deref(), text.as_deref(), &raw[..]));
            prop_assert_eq!(var_binary(rest).unwrap(), (&[][..], Some(&raw[..])));
        }
    }
}
