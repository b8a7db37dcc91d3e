//! Raw Snappy blocks.

use crate::codec::lz77::Output;
use crate::error::ErrorKind;

const fn malformed(reason: &'static str) -> ErrorKind {
    ErrorKind::Codec { codec: "snappy", reason }
}

/// Decodes the block `stored` into all of `out`.
///
/// # Errors
/// [`ErrorKind::Codec`] for a malformed block, [`ErrorKind::Mismatch`] when it holds more or fewer bytes than
/// `out` has.
pub fn decode(stored: &[u8], out: &mut [u8]) -> Result<(), ErrorKind> {
    let expected = out.len() as u64;
    let (mut input, length) = preamble(stored)?;
    if length != expected {
        return Err(ErrorKind::Mismatch { what: "decoded bytes", expected, found: length });
    }
    let mut out = Output::new(out);
    while let [tag, rest @ ..] = input {
        input = match tag & 3 {
            0 => literal(*tag, rest, &mut out)?,
            kind => copy(kind, *tag, rest, &mut out)?,
        };
    }
    out.finish()
}

/// The decoded length, a LEB128 number of 32 bits.
fn preamble(stored: &[u8]) -> Result<(&[u8], u64), ErrorKind> {
    let mut length = 0u64;
    for (i, &byte) in stored.iter().take(5).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Ok((&stored[i + 1..], length));
        }
    }
    Err(malformed("length does not end"))
}

/// A little-endian number of `count` bytes.
fn number(input: &[u8], count: usize) -> Result<(usize, &[u8]), ErrorKind> {
    let (bytes, rest) = input.split_at_checked(count).ok_or(malformed("cut in a tag"))?;
    Ok((bytes.iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte)), rest))
}

fn literal<'a>(tag: u8, input: &'a [u8], out: &mut Output<'_>) -> Result<&'a [u8], ErrorKind> {
    let short = usize::from(tag >> 2);
    let (length, rest) = if short < 60 { (short, input) } else { number(input, short - 59)? };
    let literal = length.checked_add(1).and_then(|length| rest.split_at_checked(length));
    let (bytes, rest) = literal.ok_or(malformed("cut in a literal"))?;
    out.literals(bytes).map_err(malformed)?;
    Ok(rest)
}

fn copy<'a>(kind: u8, tag: u8, input: &'a [u8], out: &mut Output<'_>) -> Result<&'a [u8], ErrorKind> {
    let high = usize::from(tag >> 2);
    let (length, distance, rest) = match kind {
        1 => {
            let (low, rest) = number(input, 1)?;
            ((high & 7) + 4, (high >> 3) << 8 | low, rest)
        }
        2 => number(input, 2).map(|(distance, rest)| (high + 1, distance, rest))?,
        _ => number(input, 4).map(|(distance, rest)| (high + 1, distance, rest))?,
    };
    out.copy(distance, length).map_err(malformed)?;
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_copies() {
        let mut out = [0; 16];
        // "abcd", then four bytes from four back, then 8 from one back.
        decode(&[16, 3 << 2, b'a', b'b', b'c', b'd', 1, 4, 7 << 2 | 2, 1, 0], &mut out).unwrap();
        assert_eq!(&out, b"abcdabcddddddddd");
    }

    #[test]
    fn malformed_blocks_are_errors() {
        let mut out = [0; 4];
        for stored in [
            &[][..],
            &[0xff; 6],
            &[4, 3 << 2, b'a'],
            &[4, 1, 1],
            &[4, 60 << 2],
            &[1, 1 << 2, b'a', b'b'],
            &[4, 3 << 2, b'a', b'b', b'c', b'd', 1, 9],
        ] {
            assert!(decode(stored, &mut out).is_err(), "{stored:?}");
        }
    }
}
