//! TS_2DIFF: blocks of `int32 n`, `int32 width`, the smallest difference, the first value, and n differences
//! packed in `width` bits each, less the smallest, padded to a byte.

use alloc::vec::Vec;

use super::bits::{packed_bytes, unpack};
use super::{Word, blocks, check_room, part, split};
use crate::error::ErrorKind;
use crate::tsfile::wire::int32;

struct Block<'a> {
    differences: u64,
    width: u32,
    min: u64,
    first: u64,
    rest: &'a [u8],
}

fn header<T: Word>(input: &[u8]) -> Result<Block<'_>, ErrorKind> {
    let (rest, differences) = part(int32, input)?;
    let (rest, width) = part(int32, rest)?;
    let (numbers, rest) = split(rest, u64::from(T::BITS / 4))?;
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    let (min, first) = numbers.split_at(numbers.len() / 2);
    let differences = u64::try_from(differences)
        .map_err(|_| ErrorKind::Invalid("negative number of differences in a block"))?;
    let width = u32::try_from(width).ok().filter(|&width| width <= T::BITS).ok_or(ErrorKind::OutOfRange {
        what: "bit width",
        min: 0,
        max: T::BITS.into(),
        found: u64::from(width as u32),
    })?;
    Ok(Block { differences, width, min: number(min), first: number(first), rest })
}

/// Appends one block, with which there are at most `all` values.
fn block<'a, T: Word>(input: &'a [u8], all: usize, out: &mut Vec<T>) -> Result<&'a [u8], ErrorKind> {
    let Block { differences, width, min, first, rest } = header::<T>(input)?;
    let values = check_room(out.len(), differences + 1, all)?;
    let (packed, rest) = split(rest, packed_bytes(values - 1, width))?;
    let start = out.len();
    out.resize(start + values, T::from_word(first));
    let mut value = first;
    let mut slots = out[start + 1..].iter_mut();
    unpack(packed, width, values - 1, |difference| {
        value = value.wrapping_add(min.wrapping_add(difference));
        if let Some(slot) = slots.next() {
            *slot = T::from_word(value);
        }
    });
    Ok(rest)
}

/// Appends `count` values.
///
/// # Errors
/// What is wrong with the stream; [`ErrorKind::OutOfRange`] for a block of more values than are left.
pub fn decode<'a, T: Word>(input: &'a [u8], count: usize, out: &mut Vec<T>) -> Result<&'a [u8], ErrorKind> {
    blocks(input, count, out, block)
}

/// Appends all values of the stream, at most `most`.
///
/// # Errors
/// As [`decode`].
pub fn decode_all<T: Word>(mut input: &[u8], most: usize, out: &mut Vec<T>) -> Result<(), ErrorKind> {
    let all = out.len().saturating_add(most);
    while !input.is_empty() {
        input = block(input, all, out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn stream(differences: i32, width: i32, min: i64, first: i64, packed: &[u8]) -> Vec<u8> {
        [
            &differences.to_be_bytes()[..],
            &width.to_be_bytes(),
            &min.to_be_bytes(),
            &first.to_be_bytes(),
            packed,
        ]
        .concat()
    }

    #[test]
    fn differences_add_up_and_wrap() {
        let mut out: Vec<i64> = vec![];
        // Differences -1, 2, 0: less the smallest 0, 3, 1 in two bits.
        let bytes = stream(3, 2, -1, 10, &[0b0011_0100]);
        assert!(decode(&bytes, 4, &mut out).unwrap().is_empty());
        assert_eq!(out, [10, 9, 11, 11]);
        out.clear();
        decode(&stream(1, 0, 1, i64::MAX, &[]), 2, &mut out).unwrap();
        assert_eq!(out, [i64::MAX, i64::MIN]);
    }

    #[test]
    fn each_block_ends_at_its_own_byte() {
        let mut bytes = stream(3, 2, -1, 10, &[0b0011_0100]);
        bytes.extend(stream(0, 0, 0, 7, &[]));
        bytes.push(0xaa);
        let mut out: Vec<i64> = vec![];
        assert_eq!(decode(&bytes, 5, &mut out).unwrap(), [0xaa]);
        assert_eq!(out, [10, 9, 11, 11, 7]);
    }

    #[test]
    fn blocks_of_more_than_128_are_read() {
        let mut out: Vec<i64> = vec![];
        decode(&stream(999, 0, 5, 0, &[]), 1000, &mut out).unwrap();
        assert_eq!(out[999], 4995);
    }

    #[test]
    fn hostile_headers_are_errors_at_once() {
        let mut out: Vec<i64> = vec![];
        let huge = stream(i32::MAX, 0, 0, 0, &[]);
        assert!(matches!(decode(&huge, 40, &mut out), Err(ErrorKind::OutOfRange { max: 40, .. })));
        assert!(matches!(decode_all(&huge, 40, &mut out), Err(ErrorKind::OutOfRange { max: 40, .. })));
        assert!(decode(&stream(-1, 0, 0, 0, &[]), 40, &mut out).is_err());
        assert!(decode(&stream(1, 65, 0, 0, &[0; 9]), 40, &mut out).is_err());
        assert!(decode(&stream(9, 8, 0, 0, &[0; 8]), 10, &mut out).is_err());
        assert!(decode(&[0; 17], 10, &mut out).is_err());
        assert_eq!(out.capacity(), 0);
    }
}
