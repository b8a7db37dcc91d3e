//! Huffman codes of literals (RFC 8878, section 4.2).

use crate::bits::{BitWriter, Room};
use crate::distribution::{Distribution, log2};
use crate::fse::{self, State, Table, Transform};

/// The longest code that the format has.
const LONGEST: u16 = 11;
const SYMBOLS: usize = 256;
/// Weights are 0 to 11.
const WEIGHTS: usize = LONGEST as usize + 1;

/// The code of each byte.
#[derive(Clone, Debug)]
pub(crate) struct Codes {
    /// The code, shifted by four, and its length: 0 for a byte without.
    codes: [u16; SYMBOLS],
}

/// How often each byte occurs; fewer than 2^16 in all.
pub(crate) type Counts = [u16; SYMBOLS];

impl Codes {
    pub(crate) const NEW: Self = Self { codes: [0; SYMBOLS] };

    /// Bits that literals of these counts take; `None` if one has no code.
    pub(crate) fn cost(&self, counts: &Counts) -> Option<u32> {
        let mut bits = 0;
        for (code, &count) in self.codes.iter().zip(counts) {
            let length = u32::from(code & 15);
            if count > 0 && length == 0 {
                return None;
            }
            bits += u32::from(count) * length;
        }
        Some(bits)
    }

    /// Builds the codes for literals of these counts, of which there are two different ones or more. False if it
    /// cannot be done. Overwrites the counts.
    #[inline(never)]
    pub(crate) fn build(&mut self, counts: &mut Counts) -> bool {
        let mut order = [0_u8; SYMBOLS];
        let present = sort(counts, &mut order, &mut self.codes);
        let Some(order) = order.get(..present).filter(|_| present > 1) else { return false };
        // The counts in that order, for which the codes lend their room.
        for (code, symbol) in self.codes.iter_mut().zip(order) {
            *code = counts[usize::from(*symbol)];
        }
        *counts = self.codes;
        code_lengths(counts, present);
        let lengths = counts;
        if !limit(lengths, present) {
            return false;
        }
        self.codes = [0; SYMBOLS];
        for (symbol, length) in order.iter().zip(lengths.iter()) {
            self.codes[usize::from(*symbol)] = *length;
        }
        // The longest codes come first, then those of a bit less; equal ones in the order of the bytes.
        let mut ranks = [0_u16; 16];
        for length in lengths.iter().take(present) {
            ranks[usize::from(*length & 15)] += 1;
        }
        let mut next = 0;
        for rank in ranks.iter_mut().skip(1).rev() {
            let first = next;
            next = (next + *rank) >> 1;
            *rank = first;
        }
        for code in self.codes.iter_mut().filter(|code| **code > 0) {
            let rank = &mut ranks[usize::from(*code & 15)];
            *code |= *rank << 4;
            *rank = rank.wrapping_add(1);
        }
        true
    }

    /// Writes the description of the codes from byte `at` on, and returns where it ends; `None` if there is none.
    #[inline(never)]
    pub(crate) fn describe(&self, out: &mut [u8], at: usize) -> Option<usize> {
        let longest = self.codes.iter().map(|code| code & 15).max()?;
        let weight = |code: &u16| if code & 15 > 0 { (longest + 1 - (code & 15)) as u8 } else { 0 };
        // The weight of the last byte follows from the others.
        let last = self.codes.iter().rposition(|code| code & 15 > 0)?;
        let codes = self.codes.get(..last)?;
        let packed = self.describe_packed(codes, weight, out, at);
        let direct = at + 1 + codes.len().div_ceil(2);
        if codes.len() <= 128 && packed.is_none_or(|end| end > direct) {
            *out.get_mut(at)? = 127 + codes.len() as u8;
            for (slot, pair) in out.get_mut(at + 1..direct)?.iter_mut().zip(codes.chunks(2)) {
                let [first, second] = [pair.first(), pair.get(1)].map(|code| code.map_or(0, weight));
                *slot = first << 4 | second;
            }
            return Some(direct);
        }
        packed
    }

    /// The description by finite state entropy, of two states that take turns.
    fn describe_packed(
        &self,
        codes: &[u16],
        weight: impl Fn(&u16) -> u8,
        out: &mut [u8],
        at: usize,
    ) -> Option<usize> {
        let mut counts = [0_u16; WEIGHTS];
        for code in codes {
            *counts.get_mut(usize::from(weight(code)))? += 1;
        }
        let distribution = Distribution::fit(&counts, 6)?;
        let stream = distribution.describe(out, at + 1)?;
        let mut table = Table::<[Transform; WEIGHTS]>::NEW;
        let table: &mut Table = &mut table;
        fse::build(table, &distribution.of, distribution.accuracy);
        let mut states: [Option<State>; 2] = [None; 2];
        let mut writer = BitWriter::new(stream);
        for (index, code) in codes.iter().enumerate().rev() {
            let weight = weight(code);
            let state = &mut states[index & 1];
            match state {
                None => *state = Some(table.first(weight)),
                Some(state) => state.encode(table, weight, &mut writer),
            }
            if !writer.flush(out) {
                return None;
            }
        }
        let [Some(first), Some(second)] = states else { return None };
        second.finish(table, &mut writer);
        first.finish(table, &mut writer);
        let end = writer.finish(out)?;
        let size = end - at - 1;
        *out.get_mut(at)? = size as u8;
        (size < 128).then_some(end)
    }

    /// Adds the codes of `literals`, last one first; `None` if `out` is full.
    // A function of its own, so that all of the loop stays in registers.
    #[inline(never)]
    #[must_use]
    pub(crate) fn encode(&self, literals: &[u8], mut writer: BitWriter, out: &mut [u8]) -> Option<BitWriter> {
        if !writer.flush(out) {
            return None;
        }
        let (rest, groups) = literals.as_rchunks::<8>();
        for [a, b, c, d, e, f, g, h] in groups.iter().rev() {
            let room = writer.room(out)?;
            let offset = self.encode_pair([*h, *g], &mut writer, room, 0);
            let offset = self.encode_pair([*f, *e], &mut writer, room, offset);
            let offset = self.encode_pair([*d, *c], &mut writer, room, offset);
            let offset = self.encode_pair([*b, *a], &mut writer, room, offset);
            writer.skip(offset);
        }
        for literal in rest.iter().rev() {
            self.add(*literal, &mut writer);
            if !writer.flush(out) {
                return None;
            }
        }
        Some(writer)
    }

    #[inline(always)]
    fn encode_pair(&self, pair: [u8; 2], writer: &mut BitWriter, room: &mut Room, offset: usize) -> usize {
        self.add(pair[0], writer);
        self.add(pair[1], writer);
        writer.flush_within(room, offset)
    }

    #[inline(always)]
    fn add(&self, literal: u8, writer: &mut BitWriter) {
        let code = u32::from(self.codes[usize::from(literal)]);
        writer.add(code >> 4, code & 15);
    }
}

/// Bits that literals of these counts take in the best of codes, about, and how many different ones there are.
pub(crate) fn ideal_cost(counts: &Counts, total: u32) -> (u32, u32) {
    let (mut cost, mut different) = (0, 0);
    let whole = log2(total);
    for &count in counts.iter().filter(|count| **count > 0) {
        cost += u32::from(count) * (whole - log2(u32::from(count)));
        different += 1;
    }
    (cost >> 8, different)
}

/// Fills `order` with the bytes that occur, rarest first; returns how many there are. Overwrites `scratch`.
fn sort(counts: &Counts, order: &mut [u8; SYMBOLS], scratch: &mut [u16; SYMBOLS]) -> usize {
    const DIGITS: u32 = 6;
    const BUCKETS: usize = 1 << DIGITS;
    let mut present = 0;
    for (symbol, _) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        order[present & (SYMBOLS - 1)] = symbol as u8;
        present += 1;
    }
    // By the low digit of the counts, then by the high one; what is beyond is just frequent.
    for digit in 0..2 {
        let bucket = |symbol: u16| {
            let count = usize::from(counts[usize::from(symbol) & (SYMBOLS - 1)]).min(BUCKETS * BUCKETS - 1);
            count >> (digit * DIGITS) & (BUCKETS - 1)
        };
        for (to, symbol) in scratch.iter_mut().zip(&*order) {
            *to = u16::from(*symbol);
        }
        let before = scratch.get(..present).unwrap_or_default();
        let mut places = [0_u16; BUCKETS];
        for symbol in before {
            places[bucket(*symbol)] += 1;
        }
        let mut next = 0;
        for place in &mut places {
            let first = next;
            next += *place;
            *place = first;
        }
        for symbol in before {
            let place = &mut places[bucket(*symbol)];
            order[usize::from(*place) & (SYMBOLS - 1)] = *symbol as u8;
            *place += 1;
        }
    }
    present
}

/// Replaces the first `count` entries, counts in ascending order, by the lengths of their codes. Works in place,
/// after Moffat and Katajainen (1995). `count` is at least 2.
fn code_lengths(a: &mut [u16; SYMBOLS], count: usize) {
    const MASK: usize = SYMBOLS - 1;
    // Join the two least of leaves and trees; a tree that is joined holds the index of its parent.
    let (mut root, mut leaf) = (0, 0);
    for next in 0..count - 1 {
        let mut sum = 0;
        for _ in 0..2 {
            if leaf >= count || (root < next && a[root & MASK] < a[leaf & MASK]) {
                sum += a[root & MASK];
                a[root & MASK] = next as u16;
                root += 1;
            } else {
                sum += a[leaf & MASK];
                leaf += 1;
            }
        }
        a[next & MASK] = sum;
    }
    // Depths of the trees, from the root down.
    a[(count - 2) & MASK] = 0;
    for next in (0..count - 2).rev() {
        a[next & MASK] = a[usize::from(a[next & MASK]) & MASK] + 1;
    }
    // Depths of the leaves: what the trees of a depth leave free.
    let (mut free, mut depth) = (1, 0);
    let mut tree = count - 1;
    let mut next = count;
    while free > 0 && next > 0 {
        let mut used = 0;
        while tree > 0 && a[(tree - 1) & MASK] == depth {
            used += 1;
            tree -= 1;
        }
        while free > used && next > 0 {
            next -= 1;
            a[next & MASK] = depth;
            free -= 1;
        }
        free = 2 * used;
        depth += 1;
    }
}

/// Shortens codes that are too long, at the cost of others; the lengths are in descending order. False if that
/// cannot be done.
fn limit(lengths: &mut [u16; SYMBOLS], count: usize) -> bool {
    let Some(lengths) = lengths.get_mut(..count) else { return false };
    if lengths.first().is_none_or(|longest| *longest <= LONGEST) {
        return true;
    }
    // How much of the code space is taken, in units of the longest code.
    let space = 1_i32 << LONGEST;
    let mut taken = 0;
    for length in lengths.iter_mut() {
        *length = (*length).min(LONGEST);
        taken += 1 << (LONGEST - *length);
    }
    while taken > space {
        let Some(length) = lengths.iter_mut().find(|length| **length < LONGEST) else { return false };
        taken -= 1 << (LONGEST - 1 - *length);
        *length += 1;
    }
    for length in lengths.iter_mut().rev() {
        while *length > 1 && taken + (1 << (LONGEST - *length)) <= space {
            taken += 1 << (LONGEST - *length);
            *length -= 1;
        }
    }
    taken == space
}
