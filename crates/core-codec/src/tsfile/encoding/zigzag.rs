//! ZIGZAG: `UVarInt` bytes, `UVarInt` count, then ZigZag-mapped LEB128 numbers.

use alloc::vec::Vec;

use super::{Word, blocks, check_room, part, split};
use crate::error::ErrorKind;
use crate::tsfile::wire::{unzigzag64, uvarint, uvarint64};

/// Appends `count` values.
///
/// # Errors
/// What is wrong with the stream.
pub fn decode<'a, T: Word>(input: &'a [u8], count: usize, out: &mut Vec<T>) -> Result<&'a [u8], ErrorKind> {
    blocks(input, count, out, block)
}

fn block<'a, T: Word>(input: &'a [u8], all: usize, out: &mut Vec<T>) -> Result<&'a [u8], ErrorKind> {
    let (rest, bytes) = part(uvarint, input)?;
    let (rest, values) = part(uvarint, rest)?;
    let values = check_room(out.len(), values.into(), all)?;
    let (mut block, rest) = split(rest, bytes.into())?;
    if values == 0 {
        return Err(ErrorKind::Invalid("empty block"));
    }
    out.reserve(values.min(block.len()));
    for _ in 0..values {
        let value;
        (block, value) = match *block {
            [byte, ref rest @ ..] if byte < 0x80 => (rest, byte.into()),
            _ => part(uvarint64, block)?,
        };
        if T::BITS == 32 && value > u32::MAX.into() {
            return Err(ErrorKind::Invalid("variable-length integer passes 32 bits"));
        }
        out.push(T::from_word(unzigzag64(value) as u64));
    }
    if !block.is_empty() {
        return Err(ErrorKind::Invalid("bytes left over in a block"));
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn blocks_say_their_bytes_and_values() {
        let mut out: Vec<i64> = vec![];
        assert!(decode(&[3, 2, 3, 0xac, 2], 2, &mut out).unwrap().is_empty());
        assert_eq!(out, [-2, 150]);
    }

    #[test]
    fn malformed_blocks_are_errors() {
        let mut out: Vec<i32> = vec![];
        for stream in [&[2u8, 1, 3, 3][..], &[1, 2, 3], &[1, 9, 3], &[9, 1, 3], &[0, 0], &[]] {
            assert!(decode(stream, 2, &mut out).is_err(), "{stream:?}");
        }
        assert!(decode(&[5, 1, 0xff, 0xff, 0xff, 0xff, 0x1f], 1, &mut out).is_err());
    }
}
