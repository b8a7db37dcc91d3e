//! The page prefix of floats under TS_2DIFF and RLE: they are stored as integers, scaled by a power of ten.
//!
//! `UVarInt` tag. Below 2147483646 it is `maxPointNumber`, the power, and all values are scaled. 2147483647:
//! `UVarInt` count, a bitmap of `count / 8 + 1` bytes, least significant bit first, of the values that are
//! scaled (the others are whole numbers), and `maxPointNumber`. 2147483646: two bitmaps, and the second says
//! which of the others are raw IEEE bits.

use alloc::vec::Vec;

use super::{Integer, Word, part, split};
use crate::error::ErrorKind;
use crate::tsfile::wire::uvarint;

const ONE_BITMAP: u32 = 2_147_483_647;
const TWO_BITMAPS: u32 = 2_147_483_646;

/// FLOAT and DOUBLE, which are stored as INT32 and INT64.
pub trait Float: Word {
    /// The integer that stands in the stream.
    type Stored: Integer;

    /// `value / scale`, in 64 bits.
    fn scaled(value: Self::Stored, scale: f64) -> Self;
    /// The whole number.
    fn whole(value: Self::Stored) -> Self;
}

impl Float for f32 {
    type Stored = i32;

    fn scaled(value: i32, scale: f64) -> Self {
        (f64::from(value) / scale) as Self
    }

    fn whole(value: i32) -> Self {
        value as Self
    }
}

impl Float for f64 {
    type Stored = i64;

    fn scaled(value: i64, scale: f64) -> Self {
        value as Self / scale
    }

    fn whole(value: i64) -> Self {
        value as Self
    }
}

/// Which values are stored how.
struct Prefix<'a> {
    /// Bit set: scaled. `None`: all are.
    scaled: Option<&'a [u8]>,
    /// Bit set: IEEE bits.
    raw: Option<&'a [u8]>,
    scale: f64,
}

fn bit(bitmap: &[u8], index: usize) -> bool {
    bitmap.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

/// Ten to the power; past the range of a double, infinity.
fn power_of_ten(exponent: u32) -> f64 {
    const EXACT: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    match EXACT.get(exponent as usize) {
        Some(&power) => power,
        None => (22..exponent.min(309)).fold(1e22, |power, _| power * 10.0),
    }
}

fn prefix(input: &[u8], count: usize) -> Result<(&[u8], Prefix<'_>), ErrorKind> {
    let (rest, tag) = part(uvarint, input)?;
    if tag < TWO_BITMAPS {
        return Ok((rest, Prefix { scaled: None, raw: None, scale: power_of_ten(tag) }));
    }
    if tag > ONE_BITMAP {
        let (min, max) = (0, ONE_BITMAP.into());
        return Err(ErrorKind::OutOfRange { what: "tag of scaled floats", min, max, found: tag.into() });
    }
    let (rest, flags) = part(uvarint, rest)?;
    if flags as usize != count {
        let (expected, found) = (count as u64, flags.into());
        return Err(ErrorKind::Mismatch { what: "values in the bitmap of scaled floats", expected, found });
    }
    let bytes = u64::from(flags / 8) + 1;
    let (scaled, rest) = split(rest, bytes)?;
    let (raw, rest) = if tag == TWO_BITMAPS {
        let (raw, rest) = split(rest, bytes)?;
        (Some(raw), rest)
    } else {
        (None, rest)
    };
    let (rest, power) = part(uvarint, rest)?;
    Ok((rest, Prefix { scaled: Some(scaled), raw, scale: power_of_ten(power) }))
}

/// Appends `count` values, whose integers `integers` decodes.
///
/// # Errors
/// What is wrong with the prefix or the stream.
pub fn decode<'a, T: Float>(
    input: &'a [u8],
    count: usize,
    integers: impl FnOnce(&'a [u8], usize, &mut Vec<T::Stored>) -> Result<&'a [u8], ErrorKind>,
    out: &mut Vec<T>,
) -> Result<&'a [u8], ErrorKind> {
    let (rest, prefix) = prefix(input, count)?;
    let mut stored = Vec::new();
    let rest = integers(rest, count, &mut stored)?;
    let scale = prefix.scale;
    match prefix.scaled {
        None => out.extend(stored.into_iter().map(|value| T::scaled(value, scale))),
        Some(scaled) => out.extend(stored.into_iter().enumerate().map(|(i, value)| {
            if bit(scaled, i) {
                T::scaled(value, scale)
            } else if prefix.raw.is_some_and(|raw| bit(raw, i)) {
                T::from_word(value.word())
            } else {
                T::whole(value)
            }
        })),
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::super::ts2diff;
    use super::*;
    use crate::tsfile::wire::put_uvarint;
    use alloc::vec;

    fn block(first: i32) -> Vec<u8> {
        [0i32, 0, 0, first].iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    #[test]
    fn all_scaled_by_one_power() {
        let mut bytes = vec![2];
        bytes.extend(block(275));
        let mut out: Vec<f32> = vec![];
        decode(&bytes, 1, ts2diff::decode, &mut out).unwrap();
        assert_eq!(out, [2.75]);
    }

    #[test]
    fn bitmaps_tell_scaled_whole_and_raw() {
        let mut bytes = vec![];
        put_uvarint(&mut bytes, TWO_BITMAPS);
        bytes.extend([3, 0b001, 0b100, 2]);
        for value in [150, 7, f32::NAN.to_bits() as i32] {
            bytes.extend(block(value));
        }
        let mut out: Vec<f32> = vec![];
        assert!(decode(&bytes, 3, ts2diff::decode, &mut out).unwrap().is_empty());
        assert_eq!(out[..2], [1.5, 7.0]);
        assert_eq!(out[2].to_bits(), f32::NAN.to_bits());

        let mut bytes = vec![];
        put_uvarint(&mut bytes, ONE_BITMAP);
        bytes.extend([2, 0b10, 1]);
        for value in [7, 15] {
            bytes.extend(block(value));
        }
        let mut out: Vec<f32> = vec![];
        decode(&bytes, 2, ts2diff::decode, &mut out).unwrap();
        assert_eq!(out, [7.0, 1.5]);
    }

    #[test]
    fn bitmaps_of_another_size_are_errors() {
        let mut bytes = vec![];
        put_uvarint(&mut bytes, ONE_BITMAP);
        put_uvarint(&mut bytes, u32::MAX);
        let mut out: Vec<f32> = vec![];
        let found = decode(&bytes, 2, ts2diff::decode, &mut out);
        assert!(matches!(found, Err(ErrorKind::Mismatch { expected: 2, .. })));
    }

    #[test]
    fn a_stream_without_its_prefix_ends() {
        // The first byte of a block header, 0, is read as a power; what follows is no block.
        let mut out: Vec<f64> = vec![];
        let bytes = [&0i32.to_be_bytes()[..], &[0; 4], &[0; 8], &5i64.to_be_bytes()].concat();
        assert!(decode(&bytes, 500, ts2diff::decode, &mut out).is_err());
    }

    #[test]
    fn powers_are_exact_where_a_double_can() {
        assert_eq!(power_of_ten(2), 100.0);
        assert_eq!(power_of_ten(22), 1e22);
        assert!(power_of_ten(400).is_infinite());
    }
}
