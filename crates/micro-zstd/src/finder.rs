//! Finds earlier copies of what comes next.

use crate::bits::highest_bit;
use crate::coding::sealed::Coding;
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
    /// The same behind [`ALONE`] literals: among noise, longer matches do not come.
    pub(crate) shortest_alone: usize,
    /// Every how many-th position is looked at there.
    pub(crate) stride: usize,
    /// What a match must gain more than one that starts a byte earlier, in quarters of a byte.
    pub(crate) delay: u32,
    /// After so many bytes without a match, only every second position is looked at, and so on.
    pub(crate) patience: usize,
}

/// The shortest match of a repeated offset.
const REPEAT_MIN: usize = 4;
/// A match of this length is taken without a look at the next byte.
const ENOUGH: usize = 64;
/// So many literals without a match are noise.
const ALONE: usize = 16;

impl<const HASH: usize> Finder<HASH> {
    pub(crate) const NEW: Self = Self { table: [0; HASH], base: 0 };
    pub(crate) const LOG: u32 = {
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
    #[inline(never)]
    pub(crate) fn find<K: Coding>(&mut self, data: &[u8], from: usize, repeats: Repeats) -> Option<Match> {
        let mut at = from;
        let mut repeated = repeats.likely(0);
        let mut distance = self.candidate(K::SEARCH.shortest, data, at, repeated)?;
        let mut best = measure::<K>(data, from, at, distance, repeated);
        while best.1 == 0 {
            repeated = repeats.likely(1);
            (at, distance) = self.scan::<K>(data, from, at + 1, repeated)?;
            best = measure::<K>(data, from, at, distance, repeated);
        }
        while best.1 < ENOUGH {
            let at_best = gain(best.1, distance, repeated);
            repeated = repeats.likely(1);
            at += 1;
            let Some(next) = self.candidate(K::SEARCH.shortest, data, at, repeated) else { break };
            let found = measure::<K>(data, from, at, next, repeated);
            if gain(found.1, next, repeated) <= at_best + K::SEARCH.delay {
                break;
            }
            (best, distance) = (found, next);
        }
        Some(Match { at: best.0, length: best.1, offset: distance as u16 })
    }

    /// The first position from `at` on that may start a match, and its distance to an earlier copy of four bytes.
    // A function of its own, so that its loops stay in registers.
    #[inline(never)]
    fn scan<K: Coding>(
        &mut self,
        data: &[u8],
        from: usize,
        mut at: usize,
        repeated: usize,
    ) -> Option<(usize, usize)> {
        while at < from + ALONE {
            let distance = self.candidate(K::SEARCH.shortest, data, at, repeated)?;
            if distance > 0 {
                return Some((at, distance));
            }
            at += 1;
        }
        at = at.next_multiple_of(K::SEARCH.stride);
        loop {
            let distance = self.candidate(K::SEARCH.shortest_alone, data, at, repeated)?;
            if distance > 0 {
                return Some((at, distance));
            }
            at += K::SEARCH.stride * (1 + (at - from) / K::SEARCH.patience);
        }
    }

    /// How far before `at` the same four bytes stand, found by the repeated distance or a hash of `length` bytes; 0
    /// if they are not found. `None` at the end of the data.
    #[inline(always)]
    fn candidate(&mut self, length: usize, data: &[u8], at: usize, repeated: usize) -> Option<usize> {
        let here = data.get(at..)?.first_chunk()?;
        let word = word(here)?;
        let distance = self.enter(at, hash(length, here)?);
        if repeated <= at && earlier_word(data, at - repeated) == Some(word) {
            return Some(repeated);
        }
        // A distance of 0, the position itself, is out of range as well.
        let is_copy = distance.wrapping_sub(1) < at && earlier_word(data, at - distance) == Some(word);
        Some(if is_copy { distance } else { 0 })
    }

    /// Enters positions in a match, for later ones.
    #[inline(always)]
    pub(crate) fn enter_match<K: Coding>(&mut self, data: &[u8], found: &Match) {
        for at in [found.at + 2, found.at + found.length - 2] {
            if let Some(here) = data.get(at..).and_then(|rest| rest.first_chunk())
                && let Some(hash) = hash(K::SEARCH.shortest, here)
            {
                self.enter(at, hash);
            }
        }
    }
}

/// Where a match at `at` starts, behind `from`, and its length, given a distance at which four bytes are equal, or 0;
/// no length if it is too short.
#[inline(never)]
fn measure<K: Coding>(
    data: &[u8],
    from: usize,
    at: usize,
    distance: usize,
    repeated: usize,
) -> (usize, usize) {
    if distance == 0 {
        return (at, 0);
    }
    let length = common_length(data, at, at - distance);
    if distance == repeated {
        return (at, length);
    }
    let shortest = if at < from + ALONE { K::SEARCH.shortest } else { K::SEARCH.shortest_alone };
    if length < shortest {
        return (at, 0);
    }
    let before = |at| data.get(..at).unwrap_or_default();
    let back = common_suffix(before(at).get(from..).unwrap_or_default(), before(at - distance));
    (at - back, length + back)
}

/// What a match gains, in quarters of a byte.
#[inline(always)]
fn gain(length: usize, distance: usize, repeated: usize) -> u32 {
    let cost = if distance == repeated { 0 } else { highest_bit(distance as u32) };
    (4 * length as u32).saturating_sub(cost)
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
    if length == 4 {
        return Some(first);
    }
    let last = word(bytes.get(length - 4..)?)?;
    Some((first.rotate_left(15) ^ last).wrapping_mul(0x85EB_CA77))
}
