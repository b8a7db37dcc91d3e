//! PLAIN: booleans as bytes, INT32 and DATE as ZigZag `VarInt`s, other numbers big-endian, byte strings behind a
//! `VarInt` length.

use alloc::vec::Vec;

use super::{Word, part, split};
use crate::error::ErrorKind;
use crate::limits::room;
use crate::tsfile::column::Binaries;
use crate::tsfile::wire::{unzigzag32, uvarint, varint};

/// Booleans.
///
/// # Errors
/// [`ErrorKind::Truncated`], [`ErrorKind::OutOfRange`] for a byte other than 0 and 1.
pub fn boolean<'a>(input: &'a [u8], count: usize, out: &mut Vec<bool>) -> Result<&'a [u8], ErrorKind> {
    let (bytes, rest) = split(input, count as u64)?;
    if let Some(&other) = bytes.iter().find(|&&byte| byte > 1) {
        return Err(ErrorKind::OutOfRange { what: "boolean", min: 0, max: 1, found: other.into() });
    }
    out.extend(bytes.iter().map(|&byte| byte == 1));
    Ok(rest)
}

/// Big-endian numbers of fixed width.
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn fixed<'a, T: Word>(input: &'a [u8], count: usize, out: &mut Vec<T>) -> Result<&'a [u8], ErrorKind> {
    let width = u64::from(T::BITS / 8);
    let (bytes, rest) = split(input, (count as u64).saturating_mul(width))?;
    if T::BITS == 64 {
        out.extend(bytes.as_chunks().0.iter().map(|&word| T::from_word(u64::from_be_bytes(word))));
    } else {
        out.extend(bytes.as_chunks().0.iter().map(|&word| T::from_word(u32::from_be_bytes(word).into())));
    }
    Ok(rest)
}

/// `VarInt`s.
///
/// # Errors
/// As [`uvarint`].
pub fn varints<'a>(mut input: &'a [u8], count: usize, out: &mut Vec<i32>) -> Result<&'a [u8], ErrorKind> {
    // Each takes a byte at least.
    room(out, count.min(input.len()))?;
    for _ in 0..count {
        let value;
        (input, value) = match *input {
            [byte, ref rest @ ..] if byte < 0x80 => (rest, byte.into()),
            _ => part(uvarint, input)?,
        };
        out.push(unzigzag32(value));
    }
    Ok(input)
}

/// Byte strings.
///
/// # Errors
/// As [`varint`]; a negative length is [`ErrorKind::Invalid`], since a null has no place here.
pub fn binary<'a>(mut input: &'a [u8], count: usize, out: &mut Binaries) -> Result<&'a [u8], ErrorKind> {
    out.reserve(count.min(input.len()), input.len().saturating_sub(count))?;
    for _ in 0..count {
        let bytes;
        (bytes, input) = one(input)?;
        out.push(bytes)?;
    }
    Ok(input)
}

/// Decodes as [`binary`], in place of what is in `out`, the strings that `bytes` has from `start` to its end: they are
/// moved together where they stand, since a second copy of large ones would take as much memory again.
///
/// # Errors
/// As [`binary`], and for bytes left over.
pub(crate) fn binary_within(
    mut bytes: Vec<u8>,
    mut start: usize,
    count: usize,
    out: &mut Binaries,
) -> Result<(), ErrorKind> {
    out.clear();
    out.reserve(count.min(bytes.len()), 0)?;
    let mut end = 0;
    for _ in 0..count {
        let (text, rest) = one(&bytes[start..])?;
        let (length, behind) = (text.len(), bytes.len() - rest.len());
        bytes.copy_within(behind - length..behind, end);
        end += length;
        out.push_end(end)?;
        start = behind;
    }
    if start < bytes.len() {
        return Err(ErrorKind::Invalid("bytes left over after the last value"));
    }
    bytes.truncate(end);
    out.take_over(bytes);
    Ok(())
}

/// One byte string.
#[inline]
pub(super) fn one(input: &[u8]) -> Result<(&[u8], &[u8]), ErrorKind> {
    // Lengths below 64 are one even byte.
    if let [length, rest @ ..] = input
        && length & 0x81 == 0
        && let Some(found) = rest.split_at_checked(usize::from(length >> 1))
    {
        return Ok(found);
    }
    let (rest, length) = part(varint, input)?;
    let length = u64::try_from(length).map_err(|_| ErrorKind::Invalid("negative length of a string"))?;
    split(rest, length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn int32_is_zigzag_and_int64_is_fixed() {
        let mut ints = vec![];
        assert!(varints(&[0x03, 0xac, 0x02], 2, &mut ints).unwrap().is_empty());
        assert_eq!(ints, [-2, 150]);
        let mut longs: Vec<i64> = vec![];
        assert_eq!(fixed(&[0, 0, 0, 0, 0, 0, 1, 0, 9], 1, &mut longs).unwrap(), [9]);
        assert_eq!(longs, [256]);
        let mut floats: Vec<f32> = vec![];
        fixed(&[0x3f, 0x80, 0, 0], 1, &mut floats).unwrap();
        assert_eq!(floats, [1.0]);
    }

    #[test]
    fn strings_have_lengths_and_no_nulls() {
        let mut out = Binaries::default();
        binary(&[4, b'a', b'b', 0], 2, &mut out).unwrap();
        assert_eq!(out.iter().collect::<Vec<_>>(), [&b"ab"[..], b""]);
        assert!(matches!(binary(&[1], 1, &mut out), Err(ErrorKind::Invalid(_))));
        let mut within = Binaries::default();
        binary_within(vec![9, 9, 4, b'a', b'b', 0, 2, b'c'], 2, 3, &mut within).unwrap();
        assert_eq!(within.iter().collect::<Vec<_>>(), [&b"ab"[..], b"", b"c"]);
        assert!(binary_within(vec![4, b'a', b'b', 0], 0, 1, &mut within).is_err());
        assert!(binary_within(vec![4, b'a'], 0, 1, &mut within).is_err());
        let cut = ErrorKind::Truncated { needed: 2, available: 1 };
        assert_eq!(binary(&[4, b'a'], 1, &mut out), Err(cut));
    }

    #[test]
    fn booleans_are_zero_or_one() {
        let mut out = vec![];
        boolean(&[0, 1], 2, &mut out).unwrap();
        assert_eq!(out, [false, true]);
        assert!(boolean(&[2], 1, &mut out).is_err());
        assert!(boolean(&[], 1, &mut out).is_err());
    }
}
