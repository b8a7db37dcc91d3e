//! CHIMP: XOR with one of the last 64 (32-bit) or 128 (64-bit) values.

use alloc::vec::Vec;

use super::Word;
use super::bits::BitReader;
use crate::error::ErrorKind;

/// What the three bits of a leading zero count stand for.
const LEADING: [u32; 8] = [0, 8, 12, 16, 18, 20, 22, 24];

/// Appends `count` values.
///
/// # Errors
/// What is wrong with the stream.
pub fn decode<'a, T: Word>(input: &'a [u8], count: usize, out: &mut Vec<T>) -> Result<&'a [u8], ErrorKind> {
    if count == 0 {
        return Ok(input);
    }
    // 64 values have an index of 6 bits, 128 one of 7.
    let size = T::BITS * 2;
    let index_bits = size.trailing_zeros();
    let significant_bits = T::BITS.trailing_zeros();
    let mut ring = [0u64; 128];
    let mut bits = BitReader::new(input);
    let mut value = bits.bits(T::BITS)?;
    let mut leading = 0;
    ring[0] = value;
    out.reserve(count.min(input.len().saturating_mul(8)));
    out.push(T::from_word(value));
    for i in 1..count {
        match bits.take(2) {
            0 => value = ring[bits.take(index_bits) as usize],
            1 => {
                let base = ring[bits.take(index_bits) as usize];
                leading = LEADING[bits.take(3) as usize];
                let significant = match bits.take(significant_bits) as u32 {
                    0 => T::BITS,
                    some => some,
                };
                if leading + significant > T::BITS {
                    return Err(ErrorKind::Invalid("window passes the width of the value"));
                }
                value = base ^ bits.take(significant) << (T::BITS - leading - significant);
            }
            2 => value ^= bits.take(T::BITS - leading),
            _ => {
                leading = LEADING[bits.take(3) as usize];
                value ^= bits.take(T::BITS - leading);
            }
        }
        bits.check()?;
        ring[i % size as usize] = value;
        out.push(T::from_word(value));
    }
    Ok(bits.rest())
}

#[cfg(test)]
#[allow(clippy::unusual_byte_groupings, reason = "grouped as the fields of the stream")]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn ring_values_and_differences() {
        let mut out: Vec<i32> = vec![];
        // 5; `11` lead 24 (7), eight bits 3: 5 ^ 3 = 6; `00` index 0: 5; `10` lead 24, eight bits 1: 4.
        let stream = [0, 0, 0, 5, 0b11_111_000, 0b00011_00_0, 0b00000_10_0, 0b0000001_0];
        decode(&stream, 4, &mut out).unwrap();
        assert_eq!(out, [5, 6, 5, 4]);
    }

    #[test]
    fn malformed_streams_are_errors() {
        let mut out: Vec<i32> = vec![];
        // `01`, index 0, lead 24, 31 bits.
        let stream = [0, 0, 0, 0, 0b01_000000, 0b111_11111, 0, 0, 0, 0, 0];
        assert!(matches!(decode(&stream, 2, &mut out), Err(ErrorKind::Invalid(_))));
        assert!(decode(&stream, 1_000, &mut out).is_err());
    }
}
