//! SPRINTZ: blocks of a header byte h. With its top bit: the last h & 127 values, as RLE (integers) or GORILLA
//! (floats). Else the first value and eight residuals of h bits against the FIRE predictor, which starts anew in
//! each block. Floats are predicted by their bits.

use alloc::vec::Vec;

use super::bits::unpack;
use super::{Flavour, Integer, Word, check_room, gorilla, part, rle, split};
use crate::error::ErrorKind;
use crate::tsfile::wire::{byte, uvarint};

/// Values in a block after the first.
const RESIDUALS: usize = 8;

/// FIRE: predicts the next difference as a learned share of the last one.
struct Fire {
    /// Width of the values; fixes learning rate and precision.
    bits: u32,
    flavour: Flavour,
    accumulator: i32,
    difference: i64,
}

impl Fire {
    fn new(bits: u32, flavour: Flavour) -> Self {
        Self { bits, flavour, accumulator: 0, difference: 0 }
    }

    fn predict(&self, previous: i64) -> i64 {
        if self.bits == 32 {
            let product = (self.accumulator >> 2).wrapping_mul(self.difference as i32) >> 8;
            return (previous as i32).wrapping_add(product).into();
        }
        let share = i64::from(self.accumulator >> 3);
        let product = match self.flavour {
            Flavour::Java => share.wrapping_mul(self.difference) >> 16,
            Flavour::Cpp => ((i128::from(share) * i128::from(self.difference)) >> 16) as i64,
        };
        previous.wrapping_add(product)
    }

    fn train(&mut self, previous: i64, value: i64, error: i64) {
        let down = if error > 0 { self.difference.wrapping_neg() } else { self.difference };
        self.accumulator = self.accumulator.wrapping_sub(down as i32);
        self.difference = self.narrow(value.wrapping_sub(previous));
    }

    /// Wraps to the width of the values.
    fn narrow(&self, value: i64) -> i64 {
        if self.bits == 32 { (value as i32).into() } else { value }
    }
}

/// Even v is -v / 2, odd v is (v + 1) / 2, in the signed arithmetic of the width of the values: residuals of floats
/// that change their sign pass it, and come out as the official readers give them.
fn residual(bits: u64, width: u32) -> i64 {
    let signed = |bits: u64| if width == 32 { i64::from(bits as i32) } else { bits as i64 };
    if bits & 1 == 0 { (signed(bits) >> 1).wrapping_neg() } else { signed(bits.wrapping_add(1)) >> 1 }
}

fn block<'a, T: Word>(
    input: &'a [u8],
    width: u32,
    first: u64,
    flavour: Flavour,
    out: &mut Vec<T>,
) -> Result<&'a [u8], ErrorKind> {
    let (packed, rest) = split(input, width.into())?;
    let mut fire = Fire::new(T::BITS, flavour);
    let mut previous = fire.narrow(first as i64);
    out.push(T::from_word(first));
    unpack(packed, width, RESIDUALS, |bits| {
        let error = fire.narrow(residual(bits, T::BITS));
        let value = fire.narrow(fire.predict(previous).wrapping_add(error));
        fire.train(previous, value, error);
        out.push(T::from_word(value as u64));
        previous = value;
    });
    Ok(rest)
}

fn decode<'a, T: Word>(
    mut input: &'a [u8],
    count: usize,
    flavour: Flavour,
    first: impl Fn(&'a [u8]) -> Result<(&'a [u8], u64), ErrorKind>,
    tail: impl Fn(&'a [u8], usize, &mut Vec<T>) -> Result<&'a [u8], ErrorKind>,
    out: &mut Vec<T>,
) -> Result<&'a [u8], ErrorKind> {
    let all = out.len() + count;
    while out.len() < all {
        let (rest, header) = part(byte, input)?;
        if header & 0x80 != 0 {
            let values = check_room(out.len(), (header & 0x7f).into(), all)?;
            if values == 0 {
                return Err(ErrorKind::Invalid("empty block"));
            }
            input = tail(rest, values, out)?;
            continue;
        }
        if u32::from(header) > T::BITS {
            let (max, found) = (T::BITS.into(), header.into());
            return Err(ErrorKind::OutOfRange { what: "bit width", min: 0, max, found });
        }
        check_room(out.len(), 1 + RESIDUALS as u64, all)?;
        let (rest, first) = first(rest)?;
        input = block(rest, header.into(), first, flavour, out)?;
    }
    Ok(input)
}

fn fixed<T: Word>(input: &[u8]) -> Result<(&[u8], u64), ErrorKind> {
    let (bytes, rest) = split(input, u64::from(T::BITS / 8))?;
    Ok((rest, bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte))))
}

/// Appends `count` integers. The first value of a block of INT32 is a `UVarInt` of its bits.
///
/// # Errors
/// What is wrong with the stream.
pub fn integers<'a, T: Integer>(
    input: &'a [u8],
    count: usize,
    flavour: Flavour,
    out: &mut Vec<T>,
) -> Result<&'a [u8], ErrorKind> {
    let first = |input| match T::BITS {
        32 => part(uvarint, input).map(|(rest, value)| (rest, value.into())),
        _ => fixed::<T>(input),
    };
    decode(input, count, flavour, first, rle::decode, out)
}

/// Appends `count` floats.
///
/// # Errors
/// What is wrong with the stream.
pub fn floats<'a, T: Word>(
    input: &'a [u8],
    count: usize,
    flavour: Flavour,
    out: &mut Vec<T>,
) -> Result<&'a [u8], ErrorKind> {
    decode(input, count, flavour, fixed::<T>, gorilla::decode, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn residuals_alternate_in_sign() {
        assert_eq!([0, 1, 2, 3, 4].map(|bits| residual(bits, 32)), [0, 1, -1, 2, -2]);
    }

    #[test]
    fn a_block_has_nine_values() {
        let mut out: Vec<i32> = vec![];
        // Width 1, first 10, residuals of 1 only first.
        assert!(integers(&[1, 10, 0b1000_0000], 9, Flavour::Cpp, &mut out).unwrap().is_empty());
        assert_eq!(out[..3], [10, 11, 11]);
        assert_eq!(out.len(), 9);
        // Three values as a run.
        out.clear();
        integers(&[0x83, 3, 8, 6, 5], 3, Flavour::Cpp, &mut out).unwrap();
        assert_eq!(out, [5; 3]);
    }

    #[test]
    fn malformed_blocks_are_errors() {
        let mut out: Vec<i32> = vec![];
        for stream in [&[1u8, 10][..], &[33, 10], &[0x80], &[0x84, 3, 8, 8, 5], &[]] {
            assert!(integers(stream, 3, Flavour::Cpp, &mut out).is_err(), "{stream:?}");
        }
        // Nine values where three are left.
        assert!(integers(&[1, 10, 0], 3, Flavour::Cpp, &mut out).is_err());
    }
}
