//! Finds earlier copies of what comes next.

use crate::bits::highest_bit;
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

/// What matches are taken.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// The shortest match of a new offset, 4 to 8 bytes; repeated ones have 4 bytes or more.
    pub(crate) shortest: usize,
    /// What a match must gain more than one that starts a byte earlier, in quarters of a byte.
    pub(crate) delay: u32,
}

/// The shortest match of a repeated offset.
const REPEAT_MIN: usize = 4;
/// A match of this length is taken without a look at the next byte.
const ENOUGH: usize = 64;

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

    /// The first match that starts at `from` or later, where the last one ended, unless one that starts a byte
    /// later is much better.
    // A function of its own, so that its loop stays in registers.
    #[inline(never)]
    pub(crate) fn find(
        &mut self,
        search: Search,
        data: &[u8],
        from: usize,
        repeats: Repeats,
    ) -> Option<Match> {
        let mut at = from;
        let mut repeated = repeats.likely(0);
        let mut best: Option<(Match, u32)> = None;
        while let Some(here) = data.get(at..).and_then(|rest| rest.first_chunk()) {
            let found = self.find_at(search, data, at, here, repeated, from);
            match (best, found) {
                (None, None) => at += 1 + (at - from) / 32,
                (_, Some((found, _))) if found.length >= ENOUGH => return Some(found),
                (None, Some(_)) => {
                    best = found;
                    at += 1;
                }
                (Some((_, gain)), Some((_, better))) if better > gain + search.delay => {
                    best = found;
                    at += 1;
                }
                (Some((best, _)), _) => return Some(best),
            }
            repeated = repeats.likely(1);
        }
        best.map(|(found, _)| found)
    }

    /// The match at `at`, where the bytes `here` stand, and what it gains, in quarters of a byte.
    #[inline(always)]
    fn find_at(
        &mut self,
        search: Search,
        data: &[u8],
        at: usize,
        here: &[u8; 8],
        repeated: usize,
        from: usize,
    ) -> Option<(Match, u32)> {
        let word = word(here)?;
        let distance = self.enter(at, hash(search.shortest, here)?);
        if repeated <= at && earlier_word(data, at - repeated) == Some(word) {
            let length = common_length(data, at, at - repeated);
            return Some((Match { at, length, offset: repeated as u16 }, 4 * length as u32));
        }
        // A distance of 0, the position itself, is out of range as well.
        if distance.wrapping_sub(1) < at && earlier_word(data, at - distance) == Some(word) {
            let length = common_length(data, at, at - distance);
            if length >= search.shortest {
                let back = common_suffix(data.get(from..at)?, data.get(..at - distance)?);
                let found = Match { at: at - back, length: length + back, offset: distance as u16 };
                return Some((found, (4 * found.length as u32).saturating_sub(highest_bit(distance as u32))));
            }
        }
        None
    }

    /// Enters positions in a match, for later ones.
    #[inline(always)]
    pub(crate) fn enter_match(&mut self, search: Search, data: &[u8], found: &Match) {
        for at in [found.at + 2, found.at + found.length - 2] {
            if let Some(here) = data.get(at..).and_then(|rest| rest.first_chunk())
                && let Some(hash) = hash(search.shortest, here)
            {
                self.enter(at, hash);
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

/// A hash of the first `length` bytes, with its best bits at the top.
#[inline(always)]
fn hash(length: usize, bytes: &[u8; 8]) -> Option<u32> {
    let first = word(bytes)?.wrapping_mul(0x9E37_79B1);
    let last = word(bytes.get(length - 4..)?)?;
    Some((first.rotate_left(15) ^ last).wrapping_mul(0x85EB_CA77))
}
