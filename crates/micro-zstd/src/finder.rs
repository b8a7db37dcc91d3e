//! Finds earlier copies of what comes next.

use crate::run::common_prefix;
use crate::sequences::Repeats;

/// An earlier copy of `length` bytes at `at`, `offset` bytes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) at: usize,
    pub(crate) length: usize,
    pub(crate) offset: u16,
}

/// A table of where strings were last seen, by a hash of their first bytes.
#[derive(Clone, Debug)]
pub(crate) struct Finder<const HASH: usize> {
    /// Positions, counted from a point that moves with the window. Each is only a guess: the bytes are compared.
    table: [u16; HASH],
    /// The position of the window's first byte.
    base: u16,
}

/// Bytes of a repeated match at the least.
const REPEAT_MIN: usize = 4;

impl<const HASH: usize> Finder<HASH> {
    pub(crate) const NEW: Self = Self { table: [0; HASH], base: 0 };
    const LOG: u32 = {
        assert!(
            HASH.is_power_of_two() && HASH >= 16 && HASH <= 1 << 15,
            "a hash table has 2^4 to 2^15 entries"
        );
        HASH.ilog2()
    };

    /// Forgets everything, so that a frame does not depend on those before.
    pub(crate) fn clear(&mut self) {
        *self = Self::NEW;
    }

    /// Counts on, after the window lost `by` bytes at its front.
    pub(crate) fn slide(&mut self, by: usize) {
        self.base = self.base.wrapping_add(by as u16);
    }

    /// Enters the position `at` and returns how far before it the string was last that has the same hash.
    #[inline(always)]
    fn enter(&mut self, at: usize, hash: u32) -> usize {
        let position = self.base.wrapping_add(at as u16);
        let slot = &mut self.table[(hash >> (32 - Self::LOG)) as usize & (HASH - 1)];
        usize::from(position.wrapping_sub(core::mem::replace(slot, position)))
    }

    /// The first match that starts at `from` or later, where the last one ended.
    ///
    /// Matches of the latest offset have 4 bytes or more, others `min`, which is 4 to 8.
    // A function of its own, so that its loop stays in registers.
    #[inline(never)]
    pub(crate) fn find(&mut self, min: usize, data: &[u8], from: usize, repeats: Repeats) -> Option<Match> {
        let mut at = from;
        let mut repeated = repeats.likely(0);
        loop {
            let here = data.get(at..)?.first_chunk::<8>()?;
            let word = word(here)?;
            let distance = self.enter(at, hash(min, word, self::word(here.get(min - 4..)?)?));
            if repeated <= at && earlier_word(data, at - repeated) == Some(word) {
                let length = common_length(data, at, at - repeated);
                return Some(Match { at, length, offset: repeated as u16 });
            }
            // A distance of 0, the position itself, is out of range as well.
            if distance.wrapping_sub(1) < at && earlier_word(data, at - distance) == Some(word) {
                let length = common_length(data, at, at - distance);
                if length >= min {
                    let back = common_suffix(data.get(from..at)?, data.get(..at - distance)?);
                    return Some(Match { at: at - back, length: length + back, offset: distance as u16 });
                }
            }
            repeated = repeats.likely(1);
            at += 1 + (at - from) / 32;
        }
    }

    /// Enters positions in a match, for later ones.
    #[inline(always)]
    pub(crate) fn enter_match(&mut self, min: usize, data: &[u8], found: &Match) {
        for at in [found.at + 2, found.at + found.length - 2] {
            if let Some(here) = data.get(at..)
                && let Some(word) = word(here)
                && let Some(more) = here.get(min - 4..).and_then(self::word)
            {
                self.enter(at, hash(min, word, more));
            }
        }
    }
}

#[inline(always)]
fn earlier_word(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..).and_then(word)
}

/// The length of the match of `at` with `earlier`, of which the first four bytes are known.
fn common_length(data: &[u8], at: usize, earlier: usize) -> usize {
    let known = REPEAT_MIN;
    let rest = |at: usize| data.get(at + known..).unwrap_or_default();
    known + common_prefix(rest(at), rest(earlier))
}

/// How many bytes `a` and `b` have in common at the back.
fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count()
}

#[inline(always)]
fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|word| u32::from_le_bytes(*word))
}

/// A hash of `min` bytes, given the first four and the last four of them, with its best bits at the top.
#[inline(always)]
fn hash(min: usize, word: u32, more: u32) -> u32 {
    let first = word.wrapping_mul(0x9E37_79B1);
    if min == 4 { first } else { (first.rotate_left(15) ^ more).wrapping_mul(0x85EB_CA77) }
}
