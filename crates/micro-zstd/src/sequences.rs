//! The sequences of a zstd block: literals to copy, then a match (RFC 8878, section 3.1.1.3.2).

use crate::bits::{BitWriter, highest_bit};
use crate::fse::{Table, Transform};

/// The shortest match that the format has.
pub(crate) const MIN_MATCH: usize = 3;

/// Offsets that the decoder remembers, latest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeats([u16; 3]);

impl Repeats {
    /// What a frame starts with.
    pub(crate) const START: Self = Self([1, 4, 8]);
    pub(crate) const NEW: Self = Self([0; 3]);

    /// The offset that costs least before a match that `literals` bytes precede: after none, the latest one has
    /// just ended its match.
    #[inline(always)]
    pub(crate) fn likely(self, literals: usize) -> usize {
        usize::from(if literals > 0 { self.0[0] } else { self.0[1] })
    }

    /// The Offset_Value of a match, which becomes the latest.
    #[inline(always)]
    fn code(&mut self, offset: u16, literals: usize) -> u32 {
        let [first, second, third] = self.0;
        let skipped = u32::from(literals == 0);
        if offset == first && skipped == 0 {
            return 1;
        }
        if offset == second {
            self.0 = [second, first, third];
            return 2 - skipped;
        }
        self.0 = [offset, first, second];
        if offset == third {
            3 - skipped
        } else if skipped == 1 && u32::from(offset) + 1 == u32::from(first) {
            3
        } else {
            u32::from(offset) + 3
        }
    }
}

/// A sequence as the codes see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sequence {
    pub(crate) literals: u32,
    /// Match length less [`MIN_MATCH`].
    pub(crate) match_rest: u32,
    /// Offset_Value: 1 to 3 for a repeated offset, else the offset + 3.
    pub(crate) offset: u32,
}

impl Sequence {
    pub(crate) fn match_length(&self) -> usize {
        self.match_rest as usize + MIN_MATCH
    }
}

/// Bytes that a stored sequence takes at the most.
pub(crate) const STORED_MAX: usize = 8;
/// The number of literals that says that the lengths stand in a word of their own.
const LONG: u32 = 0xFF;

/// Sequences, stored from the end of a buffer down: first comes last, as the bit stream wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequences {
    pub(crate) count: usize,
    /// Where the sequence stands that was stored last.
    pub(crate) at: usize,
}

impl Sequences {
    /// Stores a sequence; there must be [`STORED_MAX`] bytes before `at`.
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        buffer: &mut [u8],
        literals: usize,
        length: usize,
        offset: u16,
        repeats: &mut Repeats,
    ) {
        let offset = repeats.code(offset, literals);
        let rest = length - MIN_MATCH;
        let mut store = |word: u32| {
            self.at = self.at.wrapping_sub(4);
            if let Some(slot) = buffer.get_mut(self.at..).and_then(|slot| slot.first_chunk_mut()) {
                *slot = word.to_le_bytes();
            }
        };
        let (literals, rest) = (literals as u32, rest as u32);
        if literals < LONG && rest <= 0xFF {
            store(offset << 16 | rest << 8 | literals);
        } else {
            store(literals << 16 | rest);
            store(offset << 16 | LONG);
        }
        self.count += 1;
    }

    /// Takes back the sequence that was stored last.
    #[inline(always)]
    pub(crate) fn pop(&mut self, buffer: &[u8]) -> Option<Sequence> {
        self.count = self.count.checked_sub(1)?;
        let mut take = || {
            let word = buffer.get(self.at..).and_then(|slot| slot.first_chunk());
            self.at += 4;
            u32::from_le_bytes(*word.unwrap_or(&[0; 4]))
        };
        let word = take();
        let (offset, match_rest, literals) = (word >> 16, word >> 8 & 0xFF, word & 0xFF);
        if literals < LONG {
            return Some(Sequence { literals, match_rest, offset });
        }
        let lengths = take();
        Some(Sequence { literals: lengths >> 16, match_rest: lengths & 0xFFFF, offset })
    }
}

/// The codes of a sequence, each with the number of the bits that follow it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes {
    pub(crate) literals: u8,
    pub(crate) match_length: u8,
    pub(crate) offset: u8,
}

impl Codes {
    #[inline(always)]
    pub(crate) fn of(sequence: &Sequence) -> Self {
        let code = |value: u32, table: &[u8], beyond: u32| match table.get(value as usize) {
            Some(code) => *code,
            None => (highest_bit(value) + beyond) as u8,
        };
        Self {
            literals: code(sequence.literals, &LITERALS_CODE, 19),
            match_length: code(sequence.match_rest, &MATCH_CODE, 36),
            offset: highest_bit(sequence.offset) as u8,
        }
    }
}

pub(crate) const LITERALS_CODES: usize = 36;
pub(crate) const MATCH_CODES: usize = 53;
/// Offsets are below 2^16 here.
pub(crate) const OFFSET_CODES: usize = 17;

/// Extra bits of each Literals_Length_Code.
static LITERALS_BITS: [u8; LITERALS_CODES] = {
    let mut bits = [0; LITERALS_CODES];
    let mut code = 16;
    while code < LITERALS_CODES {
        bits[code] = [1, 1, 1, 1, 2, 2, 3, 3, 4][if code < 25 { code - 16 } else { 0 }];
        if code >= 25 {
            bits[code] = code as u8 - 19;
        }
        code += 1;
    }
    bits
};

/// Extra bits of each Match_Length_Code.
static MATCH_BITS: [u8; MATCH_CODES] = {
    let mut bits = [0; MATCH_CODES];
    let mut code = 32;
    while code < MATCH_CODES {
        bits[code] = [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5][if code < 43 { code - 32 } else { 0 }];
        if code >= 43 {
            bits[code] = code as u8 - 36;
        }
        code += 1;
    }
    bits
};

/// The code of each value below `N`, where code 0 has the value 0.
const fn codes<const N: usize>(bits: &[u8]) -> [u8; N] {
    let mut codes = [0; N];
    let (mut code, mut value) = (0, 0);
    while value < N {
        let mut left = 1 << bits[code];
        while left > 0 && value < N {
            codes[value] = code as u8;
            value += 1;
            left -= 1;
        }
        code += 1;
    }
    codes
}

static LITERALS_CODE: [u8; 64] = codes(&LITERALS_BITS);
static MATCH_CODE: [u8; 128] = codes(&MATCH_BITS);

/// The tables of the three kinds of codes.
pub(crate) struct Tables<'a> {
    pub(crate) literals: &'a Table,
    pub(crate) match_length: &'a Table,
    pub(crate) offset: &'a Table,
}

/// The tables of the format's default distributions.
pub(crate) static PREDEFINED: Tables<'static> =
    Tables { literals: &LITERALS_TABLE, match_length: &MATCH_TABLE, offset: &OFFSET_TABLE };

static LITERALS_TABLE: Table<[Transform; LITERALS_CODES]> = Table::of(&LITERALS_DEFAULT, 6);
static MATCH_TABLE: Table<[Transform; MATCH_CODES]> = Table::of(&MATCH_DEFAULT, 6);
static OFFSET_TABLE: Table<[Transform; OFFSET_CODES]> = Table::of(&OFFSET_DEFAULT, 5);

const LITERALS_DEFAULT: [i8; LITERALS_CODES] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1,
    -1, -1,
];
const MATCH_DEFAULT: [i8; MATCH_CODES] = {
    let mut distribution = [1; MATCH_CODES];
    (distribution[1], distribution[2]) = (4, 3);
    let mut code = 3;
    while code < 9 {
        distribution[code] = 2;
        code += 1;
    }
    code = 46;
    while code < MATCH_CODES {
        distribution[code] = -1;
        code += 1;
    }
    distribution
};
const OFFSET_DEFAULT: [i8; 29] =
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1];

/// The bit stream of stored sequences. It is written from byte `at` of `buffer` on and may run into those that are
/// taken already, unless they are to be kept; returns where it ends, or `None` where it would run further.
pub(crate) fn encode(
    mut sequences: Sequences,
    tables: &Tables,
    buffer: &mut [u8],
    at: usize,
    keep: bool,
) -> Option<usize> {
    let first = sequences.at;
    let mut writer = BitWriter::new(at);
    let mut states = None;
    while let Some(sequence) = sequences.pop(buffer) {
        let codes = Codes::of(&sequence);
        let written = buffer.get_mut(..if keep { first } else { sequences.at })?;
        let (mut literals, mut match_length, mut offset) = match states {
            None => (
                tables.literals.first(codes.literals),
                tables.match_length.first(codes.match_length),
                tables.offset.first(codes.offset),
            ),
            Some(states) => states,
        };
        if states.is_some() {
            offset.encode(tables.offset, codes.offset, &mut writer);
            match_length.encode(tables.match_length, codes.match_length, &mut writer);
            literals.encode(tables.literals, codes.literals, &mut writer);
            if !writer.flush(written) {
                return None;
            }
        }
        states = Some((literals, match_length, offset));
        extra(&mut writer, sequence.literals, *LITERALS_BITS.get(usize::from(codes.literals))?);
        if !writer.flush(written) {
            return None;
        }
        extra(&mut writer, sequence.match_rest, *MATCH_BITS.get(usize::from(codes.match_length))?);
        if !writer.flush(written) {
            return None;
        }
        extra(&mut writer, sequence.offset, codes.offset);
        if !writer.flush(written) {
            return None;
        }
    }
    let (literals, match_length, offset) = states?;
    match_length.finish(tables.match_length, &mut writer);
    offset.finish(tables.offset, &mut writer);
    literals.finish(tables.literals, &mut writer);
    let written = buffer.get_mut(..if keep { first } else { sequences.at })?;
    if !writer.flush(written) {
        return None;
    }
    writer.finish(written)
}

#[inline(always)]
fn extra(writer: &mut BitWriter, value: u32, bits: u8) {
    writer.add(value & !(u32::MAX << (bits & 31)), u32::from(bits));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_change_where_the_rfc_says() {
        let codes = |literals, length: u32, offset| {
            let codes = Codes::of(&Sequence { literals, match_rest: length - 3, offset });
            (codes.literals, codes.match_length, codes.offset)
        };
        // First and last values of codes with extra bits, sections 3.1.1.3.2.1.1 and 3.1.1.3.2.1.2.
        assert_eq!(codes(15, 34, 1), (15, 31, 0));
        assert_eq!(codes(16, 35, 2), (16, 32, 1));
        assert_eq!(codes(17, 36, 3), (16, 32, 1));
        assert_eq!(codes(18, 37, 4), (17, 33, 2));
        assert_eq!(codes(23, 42, 7), (19, 35, 2));
        assert_eq!(codes(24, 43, 8), (20, 36, 3));
        assert_eq!(codes(31, 50, 9), (21, 37, 3));
        assert_eq!(codes(32, 51, 15), (22, 38, 3));
        assert_eq!(codes(47, 66, 16), (23, 39, 4));
        assert_eq!(codes(48, 67, 17), (24, 40, 4));
        assert_eq!(codes(63, 98, 31), (24, 41, 4));
        assert_eq!(codes(64, 99, 32), (25, 42, 5));
        assert_eq!(codes(127, 130, 33), (25, 42, 5));
        assert_eq!(codes(128, 131, 63), (26, 43, 5));
        assert_eq!(codes(255, 258, 64), (26, 43, 6));
        assert_eq!(codes(256, 259, 65535), (27, 44, 15));
        assert_eq!(codes(65535, 65538, 65536), (34, 51, 16));
    }

    #[test]
    fn sequences_come_back_in_reverse() {
        let mut buffer = [0; 64];
        let mut sequences = Sequences { count: 0, at: buffer.len() };
        let mut repeats = Repeats::START;
        let all = [(0, 3, 9), (254, 258, 1000), (255, 258, 2), (254, 259, 3), (4000, 4003, 4000)];
        for (literals, length, offset) in all {
            sequences.push(&mut buffer, literals, length, offset, &mut repeats);
        }
        for (literals, length, offset) in all.into_iter().rev() {
            let (literals, match_rest) = (literals as u32, length as u32 - 3);
            let expected = Sequence { literals, match_rest, offset: u32::from(offset) + 3 };
            assert_eq!(sequences.pop(&buffer), Some(expected));
        }
        assert_eq!(sequences.pop(&buffer), None);
    }

    #[test]
    fn repeated_offsets_have_short_codes() {
        let mut repeats = Repeats::START;
        assert_eq!(repeats.code(1, 1), 1);
        assert_eq!(repeats.code(4, 1), 2);
        assert_eq!(repeats, Repeats([4, 1, 8]));
        assert_eq!(repeats.code(8, 1), 3);
        assert_eq!(repeats, Repeats([8, 4, 1]));
        assert_eq!(repeats.code(4, 0), 1);
        assert_eq!(repeats.code(1, 0), 2);
        assert_eq!(repeats, Repeats([1, 4, 8]));
        assert_eq!(repeats.code(9, 5), 12);
        assert_eq!(repeats.code(8, 0), 3);
        assert_eq!(repeats, Repeats([8, 9, 1]));
        assert_eq!(repeats.code(8, 0), 11);
        assert_eq!(repeats, Repeats([8, 8, 9]));
    }
}
