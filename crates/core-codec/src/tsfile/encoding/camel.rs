//! CAMEL, for DOUBLE: integer part and decimal fraction apart from each other.
//!
//! Blocks of a `VarInt` number of bits. First 64 raw bits. Then for each a sign bit and a type bit. Type 1: the
//! difference of the integer parts, four bits with the number of decimals less one, a flag and with it as many
//! bits as decimals, and a number m. Type 0: GORILLA of the absolute value against the bits of the previous value.

use alloc::vec::Vec;

use super::bits::BitReader;
use super::gorilla::Window;
use super::{part, split};
use crate::error::ErrorKind;
use crate::tsfile::wire::{unzigzag64, varint};

const POWERS: [f64; 17] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16];
const MANTISSA_BITS: u32 = 52;

struct State {
    value: f64,
    integer: i64,
    window: Window,
}

/// Appends `count` values.
///
/// # Errors
/// What is wrong with the stream.
pub fn decode<'a>(mut input: &'a [u8], count: usize, out: &mut Vec<f64>) -> Result<&'a [u8], ErrorKind> {
    let all = out.len() + count;
    while out.len() < all {
        let (rest, length) = part(varint, input)?;
        let length = u64::try_from(length)
            .ok()
            .filter(|&length| length > 0)
            .ok_or(ErrorKind::Invalid("block without bits"))?;
        let (block, rest) = split(rest, length.div_ceil(8))?;
        let mut bits = BitReader::new(block);
        let value = f64::from_bits(bits.bits(64)?);
        let mut state = State { value, integer: value as i64, window: Window::NONE };
        out.push(value);
        while out.len() < all && (bits.position() as u64) < length {
            state.value = state.next(&mut bits)?;
            out.push(state.value);
        }
        input = rest;
    }
    Ok(input)
}

impl State {
    fn next(&mut self, bits: &mut BitReader<'_>) -> Result<f64, ErrorKind> {
        let sign = if bits.bit()? { -1.0 } else { 1.0 };
        if !bits.bit()? {
            let absolute = self.value.to_bits() ^ self.window.read::<f64>(bits)?;
            return Ok(sign * f64::from_bits(absolute));
        }
        self.integer = self.integer.wrapping_add(grouped(bits)?);
        let (fraction, scale) = fraction(bits)?;
        let scaled = (self.integer as f64 * scale + fraction) / scale;
        Ok(sign * if self.integer < 0 { -scaled } else { scaled })
    }
}

/// The fraction times the power of ten that makes it whole, and that power.
fn fraction(bits: &mut BitReader<'_>) -> Result<(f64, f64), ErrorKind> {
    let decimals = bits.bits(4)? as u32 + 1;
    let xor = match bits.bit()? {
        true => Some(bits.bits(decimals)? << (MANTISSA_BITS - decimals)),
        false => None,
    };
    let scale = POWERS[decimals as usize];
    let share = grouped(bits)? as f64 / scale;
    let fraction = match xor {
        Some(xor) => f64::from_bits((share + 1.0).to_bits() ^ xor) - 1.0,
        None => share,
    };
    Ok((round(fraction * scale), scale))
}

/// `floor(x + 0.5)` in 64 bits.
fn round(value: f64) -> f64 {
    let shifted = value + 0.5;
    let whole = shifted as i64;
    (if whole as f64 > shifted { whole.saturating_sub(1) } else { whole }) as f64
}

/// A ZigZag-mapped number in groups of seven bits, least significant first, each followed by a bit that says
/// whether another comes.
fn grouped(bits: &mut BitReader<'_>) -> Result<i64, ErrorKind> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let group = bits.bits(8)?;
        value |= (group >> 1) << shift;
        if group & 1 == 0 {
            return Ok(unzigzag64(value));
        }
    }
    Err(ErrorKind::Invalid("number passes 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_decimal_after_a_raw_value() {
        // 1.5; then positive, type 1, integer part +1 (group 2, no more), two decimals, no xor, m = 25 (50).
        let fields: [(u64, u32); 7] = [(0, 1), (1, 1), (2 << 1, 8), (1, 4), (0, 1), (50 << 1, 8), (0, 1)];
        let packed = fields.iter().fold(0u64, |all, &(value, width)| all << width | value);
        let mut stream = vec![];
        crate::tsfile::wire::put_varint(&mut stream, 64 + 23);
        stream.extend(1.5f64.to_bits().to_be_bytes());
        stream.extend(&packed.to_be_bytes()[5..]);
        let mut out = vec![];
        assert!(decode(&stream, 2, &mut out).unwrap().is_empty());
        assert_eq!(out, [1.5, 2.25]);
    }

    #[test]
    fn rounding_is_floor_of_half_more() {
        assert_eq!([2.5, -2.5, -0.2, 0.4].map(round), [3.0, -2.0, 0.0, 0.0]);
        assert_eq!([-1e300, 1e300].map(round), [i64::MIN as f64, i64::MAX as f64]);
    }

    #[test]
    fn malformed_blocks_are_errors() {
        let mut out = vec![];
        for stream in [&[0u8][..], &[1], &[0x80, 0x01, 0, 0], &[0xff, 0xff, 0xff, 0xff, 0xff]] {
            assert!(decode(stream, 2, &mut out).is_err(), "{stream:?}");
        }
    }
}
