//! RLBE: blocks of a 32-bit count and segments. A segment is a length L (6 or 7 bits), how many differences have
//! it (in Fibonacci code, smallest term first, ended by `11`), and these differences in L bits each. A block ends
//! at a byte border.

use alloc::vec::Vec;

use super::bits::BitReader;
use super::{Flavour, Word, check_room};
use crate::error::ErrorKind;

/// Appends `count` values.
///
/// # Errors
/// What is wrong with the stream.
pub fn decode<'a, T: Word>(
    input: &'a [u8],
    count: usize,
    flavour: Flavour,
    out: &mut Vec<T>,
) -> Result<&'a [u8], ErrorKind> {
    let all = out.len() + count;
    let mut bits = BitReader::new(input);
    while out.len() < all {
        let values = check_room(out.len(), bits.bits(32)?, all)?;
        if values == 0 {
            return Err(ErrorKind::Invalid("empty block"));
        }
        block(&mut bits, out.len() + values, flavour, out)?;
        bits.align();
    }
    Ok(bits.rest())
}

fn block<T: Word>(
    bits: &mut BitReader<'_>,
    end: usize,
    flavour: Flavour,
    out: &mut Vec<T>,
) -> Result<(), ErrorKind> {
    let length_bits = T::BITS.trailing_zeros() + 1;
    let mut value = T::default();
    while out.len() < end {
        let length = bits.bits(length_bits)? as u32;
        if length > T::BITS {
            let (max, found) = (T::BITS.into(), length.into());
            return Err(ErrorKind::OutOfRange { what: "bit length", min: 0, max, found });
        }
        let times = check_room(out.len(), fibonacci(bits)?, end)?;
        for _ in 0..times {
            let mut difference = bits.bits(length)?;
            if length == T::BITS {
                // The writers clear the bit that makes a difference this long.
                difference |= 1 << (T::BITS - 1);
            }
            value = match flavour {
                Flavour::Java => value.add(T::from_word(difference)),
                Flavour::Cpp => T::from_word(value.word().wrapping_add(difference)),
            };
            out.push(value);
        }
    }
    Ok(())
}

/// A number in Fibonacci code: never zero.
fn fibonacci(bits: &mut BitReader<'_>) -> Result<u64, ErrorKind> {
    let (mut term, mut next) = (1u64, 2u64);
    let mut value = 0u64;
    let mut last = false;
    // The 46th term passes 32 bits, and so does any count.
    for _ in 0..46 {
        let bit = bits.bit()?;
        if bit && last {
            return Ok(value);
        }
        if bit {
            value += term;
        }
        last = bit;
        (term, next) = (next, term + next);
    }
    Err(ErrorKind::Invalid("Fibonacci code passes 32 bits"))
}

#[cfg(test)]
#[allow(clippy::unusual_byte_groupings, reason = "grouped as the fields of the stream")]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn fibonacci_codes() {
        for (code, value) in [(0b11_000000u8, 1), (0b011_00000, 2), (0b0011_0000, 3), (0b1011_0000, 4)] {
            assert_eq!(fibonacci(&mut BitReader::new(&[code])), Ok(value));
        }
        assert!(fibonacci(&mut BitReader::new(&[0; 8])).is_err());
        assert!(fibonacci(&mut BitReader::new(&[0b1010_1010])).is_err());
    }

    #[test]
    fn segments_of_one_length() {
        // Two values; length 3 (6 bits), twice (011), differences 5 and 7; padding.
        let stream = [0, 0, 0, 2, 0b000011_01, 0b1_101_111_0];
        let mut out: Vec<i32> = vec![];
        assert!(decode(&stream, 2, Flavour::Cpp, &mut out).unwrap().is_empty());
        assert_eq!(out, [5, 12]);
    }

    #[test]
    fn full_width_differences_are_negative() {
        // One value of length 32, the top bit cleared: i32::MIN + 5.
        let mut stream = vec![0, 0, 0, 1, 0b100000_11];
        stream.extend(5i32.to_be_bytes());
        let mut out: Vec<i32> = vec![];
        decode(&stream, 1, Flavour::Cpp, &mut out).unwrap();
        assert_eq!(out, [i32::MIN + 5]);
    }

    #[test]
    fn malformed_blocks_are_errors() {
        let mut out: Vec<i32> = vec![];
        assert!(decode(&[0, 0, 0, 0], 1, Flavour::Cpp, &mut out).is_err());
        assert!(decode(&[0, 0, 0, 9, 0], 1, Flavour::Cpp, &mut out).is_err());
        assert!(decode(&[0, 0, 0, 1, 0xff, 0xff], 1, Flavour::Cpp, &mut out).is_err());
        // Length 0, 3 times, where one value is left.
        assert!(decode(&[0, 0, 0, 1, 0b000000_00, 0b11_000000], 1, Flavour::Cpp, &mut out).is_err());
    }
}
