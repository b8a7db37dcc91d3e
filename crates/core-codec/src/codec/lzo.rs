//! Raw LZO1X blocks.

use crate::codec::lz77::Output;
use crate::error::ErrorKind;

const fn malformed(reason: &'static str) -> ErrorKind {
    ErrorKind::Codec { codec: "lzo", reason }
}

/// Decodes the block `stored` into all of `out`.
///
/// # Errors
/// [`ErrorKind::Codec`] for a malformed block, [`ErrorKind::Mismatch`] when it holds fewer bytes than `out` has.
pub fn decode(stored: &[u8], out: &mut [u8]) -> Result<(), ErrorKind> {
    let mut decoder = Decoder { input: stored, out: Output::new(out) };
    decoder.run()?;
    if !decoder.input.is_empty() {
        return Err(malformed("bytes after the end marker"));
    }
    decoder.out.finish()
}

/// What the last instruction copied decides what instructions below 16 mean.
#[derive(Clone, Copy, PartialEq)]
enum After {
    /// No literal: a run of literals follows.
    Match,
    /// One to three literals of a match.
    FewLiterals,
    /// A run of four and more.
    Literals,
}

struct Decoder<'a, 'o> {
    input: &'a [u8],
    out: Output<'o>,
}

impl Decoder<'_, '_> {
    fn byte(&mut self) -> Result<usize, ErrorKind> {
        let (&byte, rest) = self.input.split_first().ok_or(malformed("ends without its marker"))?;
        self.input = rest;
        Ok(byte.into())
    }

    /// A length whose bits in the instruction are zero: 255 for each zero byte, and the first other byte.
    fn long(&mut self, base: usize) -> Result<usize, ErrorKind> {
        let mut length = base;
        loop {
            match self.byte()? {
                0 => length = length.checked_add(255).ok_or(malformed("length passes the address space"))?,
                last => return length.checked_add(last).ok_or(malformed("length passes the address space")),
            }
        }
    }

    fn literals(&mut self, count: usize) -> Result<(), ErrorKind> {
        let taken = self.input.split_at_checked(count);
        let (bytes, rest) = taken.ok_or(malformed("cut in its literals"))?;
        self.input = rest;
        self.out.literals(bytes).map_err(malformed)
    }

    fn copy(&mut self, distance: usize, length: usize) -> Result<(), ErrorKind> {
        self.out.copy(distance, length).map_err(malformed)
    }

    /// Two bytes: 14 bits of a distance, and two of the number of literals that follow.
    fn distance(&mut self) -> Result<(usize, usize), ErrorKind> {
        let low = self.byte()?;
        let both = self.byte()? << 8 | low;
        Ok((both >> 2, both & 3))
    }

    fn run(&mut self) -> Result<(), ErrorKind> {
        let mut after = After::Match;
        if let Some(&first) = self.input.first()
            && first > 17
        {
            self.byte()?;
            let count = usize::from(first) - 17;
            self.literals(count)?;
            after = if count < 4 { After::FewLiterals } else { After::Literals };
        }
        loop {
            let code = self.byte()?;
            let literals = match code {
                0..16 if after == After::Match => {
                    let count = if code == 0 { self.long(18)? } else { code + 3 };
                    self.literals(count)?;
                    after = After::Literals;
                    continue;
                }
                0..16 => {
                    let high = self.byte()? << 2 | code >> 2;
                    match after {
                        After::Literals => self.copy(high + 2049, 3)?,
                        _ => self.copy(high + 1, 2)?,
                    }
                    code & 3
                }
                16..32 => {
                    let length = if code & 7 == 0 { self.long(9)? } else { (code & 7) + 2 };
                    let (low, literals) = self.distance()?;
                    let distance = (code & 8) << 11 | low;
                    if distance == 0 {
                        return if length == 3 { Ok(()) } else { Err(malformed("malformed end marker")) };
                    }
                    self.copy(distance + 16_384, length)?;
                    literals
                }
                32..64 => {
                    let length = if code & 31 == 0 { self.long(33)? } else { (code & 31) + 2 };
                    let (distance, literals) = self.distance()?;
                    self.copy(distance + 1, length)?;
                    literals
                }
                _ => {
                    let distance = (self.byte()? << 3 | code >> 2 & 7) + 1;
                    self.copy(distance, (code >> 5) + 1)?;
                    code & 3
                }
            };
            self.literals(literals)?;
            after = if literals == 0 { After::Match } else { After::FewLiterals };
        }
    }
}

#[cfg(test)]
#[allow(clippy::unusual_byte_groupings, reason = "grouped as the fields of the stream")]
mod tests {
    use super::*;

    #[test]
    fn literals_and_a_match() {
        let mut out = [0; 8];
        // Four literals (17 + 4), a match of 4 at distance 4 (code 64 and up), the end marker.
        let stored = [21, b'a', b'b', b'c', b'd', 0b011_011_00, 0, 17, 0, 0];
        decode(&stored, &mut out).unwrap();
        assert_eq!(&out, b"abcdabcd");
    }

    #[test]
    fn malformed_blocks_are_errors() {
        let mut out = [0; 4];
        for stored in [
            &[][..],
            &[21, b'a'],
            &[0, 0, 0, 0],
            &[21, b'a', b'b', b'c', b'd', 0b011_111_00, 9, 17, 0, 0],
            &[21, b'a', b'b', b'c', b'd', 17, 0, 0, 0],
            &[22, b'a', b'b', b'c', b'd', b'e', 17, 0, 0],
        ] {
            assert!(decode(stored, &mut out).is_err(), "{stored:?}");
        }
    }
}
