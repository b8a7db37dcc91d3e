//! RLE: blocks of `UVarInt` length, `u8` width and runs, until `count` values are there.
//!
//! A run starts with a `UVarInt` h. Odd h: a byte with the number of values of the last group, then h / 2
//! bit-packed groups of 8 values. Even h: one value, h / 2 times, in as many bytes as the width needs,
//! little-endian for INT32 and big-endian for INT64.

use alloc::vec::Vec;

use super::bits::{packed_bytes, unpack};
use super::{Integer, blocks, check_room, part, split};
use crate::error::ErrorKind;
use crate::tsfile::wire::{byte, uvarint};

/// Appends `count` values.
///
/// # Errors
/// What is wrong with the stream.
pub fn decode<'a, T: Integer>(
    input: &'a [u8],
    count: usize,
    out: &mut Vec<T>,
) -> Result<&'a [u8], ErrorKind> {
    blocks(input, count, out, block)
}

fn block<'a, T: Integer>(input: &'a [u8], all: usize, out: &mut Vec<T>) -> Result<&'a [u8], ErrorKind> {
    let (rest, length) = part(uvarint, input)?;
    let (block, rest) = split(rest, length.into())?;
    let (mut runs, width) = part(byte, block)?;
    if u32::from(width) > T::BITS {
        let (max, found) = (T::BITS.into(), width.into());
        return Err(ErrorKind::OutOfRange { what: "bit width", min: 0, max, found });
    }
    while !runs.is_empty() {
        runs = run(runs, width.into(), all, out)?;
    }
    Ok(rest)
}

fn run<'a, T: Integer>(
    input: &'a [u8],
    width: u32,
    all: usize,
    out: &mut Vec<T>,
) -> Result<&'a [u8], ErrorKind> {
    let (rest, header) = part(uvarint, input)?;
    let half = u64::from(header >> 1);
    if half == 0 {
        return Err(ErrorKind::Invalid("empty run"));
    }
    if header & 1 == 0 {
        let times = check_room(out.len(), half, all)?;
        let (value, rest) = split(rest, width.div_ceil(8).into())?;
        out.resize(out.len() + times, T::from_run(value));
        return Ok(rest);
    }
    let (rest, last) = part(byte, rest)?;
    if !(1..=8).contains(&last) {
        let found = last.into();
        return Err(ErrorKind::OutOfRange { what: "values of the last group", min: 1, max: 8, found });
    }
    let values = check_room(out.len(), (half - 1) * 8 + u64::from(last), all)?;
    let (packed, rest) = split(rest, half * u64::from(width))?;
    debug_assert!(packed_bytes(values, width) <= packed.len() as u64);
    out.reserve(values);
    unpack(packed, width, values, |value| out.push(T::from_word(value)));
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn ints(input: &[u8], count: usize) -> Result<Vec<i32>, ErrorKind> {
        let mut out = vec![];
        decode(input, count, &mut out).map(|_| out)
    }

    #[test]
    fn runs_repeat_little_endian_in_32_bits_and_big_endian_in_64() {
        // Length 4: width 16, 3 times, two bytes.
        let stream = [4, 16, 6, 0x01, 0x02];
        assert_eq!(ints(&stream, 3).unwrap(), [0x0201; 3]);
        let mut longs: Vec<i64> = vec![];
        decode(&stream, 3, &mut longs).unwrap();
        assert_eq!(longs, [0x0102; 3]);
    }

    #[test]
    fn headers_of_64_groups_and_more_are_varints() {
        // 100 groups of width 1: the header 201 takes two bytes.
        let mut stream = vec![];
        crate::tsfile::wire::put_uvarint(&mut stream, 1 + 2 + 1 + 100);
        stream.push(1);
        crate::tsfile::wire::put_uvarint(&mut stream, 201);
        stream.push(5);
        stream.extend([0xff; 100]);
        assert_eq!(ints(&stream, 797).unwrap(), [1; 797]);
        // 100 repeats: the header is 200.
        assert_eq!(ints(&[4, 8, 0xc8, 0x01, 7], 100).unwrap(), [7; 100]);
    }

    #[test]
    fn malformed_runs_are_errors() {
        // More values than there should be, by either kind of run.
        assert!(matches!(ints(&[3, 8, 8, 7], 3), Err(ErrorKind::OutOfRange { found: 4, .. })));
        assert!(matches!(ints(&[4, 1, 3, 8, 0xff], 7), Err(ErrorKind::OutOfRange { found: 8, .. })));
        // Too wide, empty, cut, ninth value of a group.
        assert!(matches!(ints(&[3, 33, 2, 0], 1), Err(ErrorKind::OutOfRange { found: 33, .. })));
        assert!(matches!(ints(&[2, 8, 0], 1), Err(ErrorKind::Invalid("empty run"))));
        assert!(matches!(ints(&[3, 16, 2, 0], 1), Err(ErrorKind::Truncated { .. })));
        assert!(matches!(ints(&[4, 1, 3, 9, 0xff], 9), Err(ErrorKind::OutOfRange { found: 9, .. })));
        // A block without runs does not go on for ever.
        assert!(ints(&[1, 8, 1, 8], 1).is_err());
        assert!(ints(&[0, 0, 0, 0], 1).is_err());
    }
}
