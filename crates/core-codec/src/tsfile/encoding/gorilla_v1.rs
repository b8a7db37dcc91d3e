//! GORILLA_V1: the first value little-endian, then `0` (the same), `10` and the bits between the leading and
//! trailing zeros of the *previous value*, or `11`, leading zeros, number of bits, and the bits.

use alloc::vec::Vec;

use super::Word;
use super::bits::BitReader;
use crate::error::ErrorKind;

/// Appends `count` values.
///
/// # Errors
/// What is wrong with the stream.
pub fn decode<'a, T: Word>(input: &'a [u8], count: usize, out: &mut Vec<T>) -> Result<&'a [u8], ErrorKind> {
    if count == 0 {
        return Ok(input);
    }
    let mut bits = BitReader::new(input);
    let mut value = bits.bits(T::BITS)?.swap_bytes() >> (64 - T::BITS);
    out.reserve(count.min(input.len().saturating_mul(8)));
    out.push(T::from_word(value));
    for _ in 1..count {
        value ^= difference::<T>(&mut bits, value)?;
        out.push(T::from_word(value));
    }
    Ok(bits.rest())
}

fn difference<T: Word>(bits: &mut BitReader<'_>, previous: u64) -> Result<u64, ErrorKind> {
    if !bits.bit()? {
        return Ok(0);
    }
    if !bits.bit()? {
        if previous == 0 {
            return Ok(0);
        }
        let trailing = previous.trailing_zeros();
        let leading = previous.leading_zeros() - (64 - T::BITS);
        return Ok(bits.bits(T::BITS - leading - trailing)? << trailing);
    }
    let size = T::BITS.trailing_zeros();
    let leading = bits.bits(size)? as u32;
    let significant = bits.bits(size + 1)? as u32;
    if leading + significant > T::BITS {
        return Err(ErrorKind::Invalid("window passes the width of the value"));
    }
    if significant == 0 {
        return Ok(0);
    }
    Ok(bits.bits(significant)? << (T::BITS - leading - significant))
}

#[cfg(test)]
#[allow(clippy::unusual_byte_groupings, reason = "grouped as the fields of the stream")]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn the_first_value_is_little_endian() {
        let mut out: Vec<i32> = vec![];
        // 6, the same, `10` with the two bits between the zeros of 6: 6 ^ 2 = 4.
        decode(&[6, 0, 0, 0, 0b0_10_01_000], 3, &mut out).unwrap();
        assert_eq!(out, [6, 6, 4]);
        let mut out: Vec<i64> = vec![];
        decode(&[1, 2, 0, 0, 0, 0, 0, 0], 1, &mut out).unwrap();
        assert_eq!(out, [0x0201]);
    }

    #[test]
    fn a_new_window_has_a_length_of_its_own() {
        let mut out: Vec<i32> = vec![];
        // 0, then `11`, 30 leading (5 bits), 2 bits (6 bits), 0b11.
        decode(&[0, 0, 0, 0, 0b11_11110_0, 0b00010_11_0], 2, &mut out).unwrap();
        assert_eq!(out, [0, 3]);
    }
}
