//! REGULAR: blocks of a boolean, with it `int32` length and a bitmap (least significant bit first) of the values
//! that are there, then `int32 n`, the constant difference and the first value.

use alloc::vec::Vec;

use super::{Word, blocks, check_room, part, split};
use crate::error::ErrorKind;
use crate::tsfile::wire::{boolean, int32};

/// Appends `count` values.
///
/// # Errors
/// What is wrong with the stream.
pub fn decode<'a, T: Word>(input: &'a [u8], count: usize, out: &mut Vec<T>) -> Result<&'a [u8], ErrorKind> {
    blocks(input, count, out, block)
}

fn block<'a, T: Word>(input: &'a [u8], all: usize, out: &mut Vec<T>) -> Result<&'a [u8], ErrorKind> {
    let (rest, missing) = part(boolean, input)?;
    let (bitmap, rest) = if missing {
        let (rest, length) = part(int32, rest)?;
        let length = u64::try_from(length).map_err(|_| ErrorKind::Invalid("negative length of a bitmap"))?;
        let (bitmap, rest) = split(rest, length)?;
        (Some(bitmap), rest)
    } else {
        (None, rest)
    };
    let (rest, slots) = part(int32, rest)?;
    let slots = u64::try_from(slots)
        .ok()
        .filter(|&slots| slots > 0)
        .ok_or(ErrorKind::Invalid("block without values"))?;
    let (numbers, rest) = split(rest, u64::from(T::BITS / 4))?;
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    let (step, first) = numbers.split_at(numbers.len() / 2);
    let (step, first) = (number(step), number(first));
    let value = |slot: u64| T::from_word(first.wrapping_add(step.wrapping_mul(slot)));
    match bitmap {
        None => {
            check_room(out.len(), slots, all)?;
            out.extend((0..slots).map(value));
        }
        Some(bitmap) => sparse(bitmap, slots, all, value, out)?,
    }
    Ok(rest)
}

fn sparse<T: Word>(
    bitmap: &[u8],
    slots: u64,
    all: usize,
    value: impl Fn(u64) -> T,
    out: &mut Vec<T>,
) -> Result<(), ErrorKind> {
    let present: u64 = bitmap.iter().map(|byte| u64::from(byte.count_ones())).sum();
    check_room(out.len(), present, all)?;
    if present == 0 || slots.div_ceil(8) < bitmap.len() as u64 && present > slots {
        return Err(ErrorKind::Invalid("bitmap does not fit its block"));
    }
    let bits = bitmap.iter().enumerate().flat_map(|(i, &byte)| {
        (0..8u64).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| i as u64 * 8 + bit)
    });
    out.extend(bits.map(value));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn numbers(slots: i32, step: i32, first: i32) -> Vec<u8> {
        [slots, step, first].iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    #[test]
    fn constant_steps() {
        let mut out: Vec<i32> = vec![];
        let stream = [&[0u8][..], &numbers(4, 10, -10)].concat();
        assert!(decode(&stream, 4, &mut out).unwrap().is_empty());
        assert_eq!(out, [-10, 0, 10, 20]);
    }

    #[test]
    fn steps_that_are_missing() {
        let mut out: Vec<i32> = vec![];
        let stream = [&[1u8, 0, 0, 0, 1, 0b1101][..], &numbers(4, 10, 0)].concat();
        decode(&stream, 3, &mut out).unwrap();
        assert_eq!(out, [0, 20, 30]);
    }

    #[test]
    fn malformed_blocks_are_errors() {
        let mut out: Vec<i32> = vec![];
        for stream in [
            [&[0u8][..], &numbers(5, 1, 0)].concat(),
            [&[0u8][..], &numbers(-1, 1, 0)].concat(),
            [&[0u8][..], &numbers(0, 1, 0)].concat(),
            [&[1u8, 0, 0, 0, 1, 0][..], &numbers(4, 1, 0)].concat(),
            [&[1u8, 0x7f, 0, 0, 1, 0][..], &numbers(4, 1, 0)].concat(),
            vec![2],
        ] {
            assert!(decode(&stream, 4, &mut out).is_err(), "{stream:?}");
        }
    }
}
