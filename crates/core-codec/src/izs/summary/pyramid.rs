//! The state of a summary that is being built.

use super::operation::{Bits, Extent, First, Group, Lane as _, Last, Operation, load};
use super::{MAX_LEVELS, Order, Rule};
use crate::izs::raw::Element;

/// Elements of a tile that are fewer are worked through one by one. Two groups of level 0 at least.
const SHORTEST_TILE: usize = 16;

/// Calls `$body` with the operation of `$rule` on elements of `$element`.
macro_rules! with_operation {
    ($rule:expr, $element:expr, $operation:ident => $body:expr) => {{
        macro_rules! of {
            ($t:ty) => {{
                type $operation = $t;
                $body
            }};
        }
        match ($rule, $element) {
            (Rule::BitAndOr, Element::U8) => of!(Bits<u8>),
            (Rule::BitAndOr, Element::U16) => of!(Bits<u16>),
            (Rule::BitAndOr, Element::U32) => of!(Bits<u32>),
            (Rule::BitAndOr, Element::U64) => of!(Bits<u64>),
            (Rule::Range(Order::Signed), Element::U8) => of!(Extent<i8>),
            (Rule::Range(Order::Signed), Element::U16) => of!(Extent<i16>),
            (Rule::Range(Order::Signed), Element::U32) => of!(Extent<i32>),
            (Rule::Range(Order::Signed), Element::U64) => of!(Extent<i64>),
            (Rule::Range(Order::Float), Element::U32) => of!(Extent<f32>),
            (Rule::Range(Order::Float), Element::U64) => of!(Extent<f64>),
            (Rule::Range(_), Element::U8) => of!(Extent<u8>),
            (Rule::Range(_), Element::U16) => of!(Extent<u16>),
            (Rule::Range(_), Element::U32) => of!(Extent<u32>),
            (Rule::Range(_), Element::U64) => of!(Extent<u64>),
            (Rule::SkipFirst, Element::U8) => of!(First<u8>),
            (Rule::SkipFirst, Element::U16) => of!(First<u16>),
            (Rule::SkipFirst, Element::U32) => of!(First<u32>),
            (Rule::SkipFirst, Element::U64) => of!(First<u64>),
            (Rule::SkipLast, Element::U8) => of!(Last<u8>),
            (Rule::SkipLast, Element::U16) => of!(Last<u16>),
            (Rule::SkipLast, Element::U32) => of!(Last<u32>),
            (Rule::SkipLast, Element::U64) => of!(Last<u64>),
        }
    }};
}

/// Builds the levels of a summary: 16 bytes a level.
///
/// Levels past `LEVELS` are not built. Elements are worked through in tiles, up to `GROUPS` groups of four at once, a
/// power of two and 4 at least: while the pyramid is fed, it has five times that many elements on the stack.
#[derive(Clone, Debug)]
pub struct Pyramid<const LEVELS: usize = MAX_LEVELS, const GROUPS: usize = 256> {
    rule: Rule,
    element: Element,
    /// Elements seen.
    count: u64,
    /// The group of level 0 that is not complete, where `count` says that there is one.
    open: [u64; 2],
    /// The last group of each level, where it waits for the one that it forms a group of the next level with.
    waiting: [[u64; 2]; LEVELS],
}

impl<const LEVELS: usize, const GROUPS: usize> Pyramid<LEVELS, GROUPS> {
    /// Most elements of a tile. Their number is always a power of two, and divides that of the elements before.
    const TILE: usize = {
        assert!(GROUPS.is_power_of_two() && GROUPS * 4 >= SHORTEST_TILE);
        GROUPS * 4
    };

    /// Nothing seen yet. A rule that does not [fit](Rule::fits) the element compares as unsigned.
    #[must_use]
    pub const fn new(rule: Rule, element: Element) -> Self {
        Self { rule, element, count: 0, open: [0; 2], waiting: [[0; 2]; LEVELS] }
    }

    /// What its groups hold.
    #[must_use]
    pub const fn rule(&self) -> Rule {
        self.rule
    }

    /// Elements seen.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Takes whole little-endian elements; `put` gets the level and the little-endian bytes of the groups that
    /// are complete, those of one level in order. Nothing depends on how the elements are split into calls, but
    /// for how the groups are split into calls of `put`.
    pub fn push(&mut self, elements: &[u8], put: &mut impl FnMut(u32, &[u8])) {
        with_operation!(self.rule, self.element, O => self.push_as::<O>(elements, put));
    }

    /// As [`push`](Self::push), of a pyramid of this rule and element: where they are constants, a program has no code
    /// for others.
    #[inline(always)]
    pub(in crate::izs) fn push_known(
        &mut self,
        rule: Rule,
        element: Element,
        elements: &[u8],
        put: &mut impl FnMut(u32, &[u8]),
    ) {
        with_operation!(rule, element, O => self.push_as::<O>(elements, put));
    }

    /// Continues from groups of `level` that are already stored: takes the groups of that level, from the first
    /// on, as [`push`](Self::push) takes elements, and puts those of the levels above.
    pub fn push_groups(&mut self, level: u32, groups: &[u8], put: &mut impl FnMut(u32, &[u8])) {
        with_operation!(self.rule, self.element, O => self.push_groups_as::<O>(level, groups, put));
    }

    /// Sets the last stored group of `level`, as if it had been built here.
    pub fn resume(&mut self, level: u32, group: &[u8]) {
        let size = usize::from(self.element.size());
        let mut values = [0; 2];
        for (value, bytes) in values.iter_mut().zip(group.chunks_exact(size)) {
            let mut wide = [0; 8];
            for (to, from) in wide.iter_mut().zip(bytes) {
                *to = *from;
            }
            *value = u64::from_le_bytes(wide);
        }
        if let Some(waiting) = self.waiting.get_mut(level as usize) {
            *waiting = values;
        }
    }

    /// Says that `count` elements have been seen, as many as a multiple of a group of level 0.
    pub fn resume_at(&mut self, count: u64) {
        self.count = count;
    }

    fn push_as<O: Operation>(&mut self, elements: &[u8], put: &mut impl FnMut(u32, &[u8])) {
        let size = size_of::<O::Value>();
        let mut rest = elements;
        while rest.len() >= size {
            let tile = self.tile(rest.len() / size);
            let len = if tile == 0 { SHORTEST_TILE - self.count as usize % SHORTEST_TILE } else { tile };
            let (now, later) = rest.split_at_checked(len.saturating_mul(size)).unwrap_or((rest, &[]));
            if tile == 0 {
                self.push_singly::<O>(now, put);
            } else {
                self.push_tile::<O>(now, put);
            }
            rest = later;
        }
    }

    /// Elements of the largest tile that starts here, of at most `count`; 0 if the shortest does not.
    fn tile(&self, count: usize) -> usize {
        let aligned = self.count | Self::TILE as u64;
        let tile = 1 << core::cmp::min(aligned.trailing_zeros(), count.checked_ilog2().unwrap_or(0));
        if tile < SHORTEST_TILE { 0 } else { tile }
    }

    fn push_singly<O: Operation>(&mut self, elements: &[u8], put: &mut impl FnMut(u32, &[u8])) {
        let mask = (1_u64 << O::BASE) - 1;
        for element in elements.chunks_exact(size_of::<O::Value>()) {
            let single = [load::<O::Value>(element); 2];
            let open = match self.count & mask {
                0 => single,
                _ => O::join(narrow::<O>(self.open), single),
            };
            self.open = widen::<O>(open);
            self.count = self.count.wrapping_add(1);
            if self.count & mask == 0 {
                self.carry::<O>(0, open, put);
            }
        }
    }

    // A function of its own, so that its stack is that of one operation.
    #[inline(never)]
    fn push_tile<O: Operation>(&mut self, tile: &[u8], put: &mut impl FnMut(u32, &[u8])) {
        let mut groups = [[O::Value::default(); 2]; GROUPS];
        let mut above = [[O::Value::default(); 2]; GROUPS];
        let elements = tile.len() / size_of::<O::Value>();
        O::reduce(tile, &mut groups);
        self.count = self.count.wrapping_add(elements as u64);
        let mut len = elements >> O::BASE;
        let mut level = 0;
        while len > 1 {
            self.put_all::<O>(level, groups.get(..len).unwrap_or_default(), put);
            len /= 2;
            level += 1;
            // Not in place, so that the loop works on several groups at once.
            for (group, [left, right]) in above.iter_mut().take(len).zip(groups.as_chunks::<2>().0) {
                *group = O::join(*left, *right);
            }
            for (to, from) in groups.iter_mut().zip(&above).take(len) {
                *to = *from;
            }
        }
        self.carry::<O>(level, groups.first().copied().unwrap_or_default(), put);
    }

    fn push_groups_as<O: Operation>(&mut self, level: u32, groups: &[u8], put: &mut impl FnMut(u32, &[u8])) {
        let size = size_of::<O::Value>();
        let mut seen = 0_u64;
        for group in groups.chunks_exact(size * O::STORED) {
            let mut values = group.chunks_exact(size).map(load::<O::Value>);
            let first = values.next().unwrap_or_default();
            let group = [first, values.next().unwrap_or(first)];
            seen = seen.wrapping_add(1);
            // As `carry`, without the level that is there already.
            if seen & 1 == 1 {
                self.wait(level, widen::<O>(group));
            } else {
                let left = self.waiting.get(level as usize).copied().unwrap_or_default();
                self.carry_from::<O>(level + 1, O::join(narrow::<O>(left), group), seen / 2, put);
            }
        }
    }

    /// Puts a group that completes at the current count, and those that it completes above.
    fn carry<O: Operation>(&mut self, level: u32, group: Group<O::Value>, put: &mut impl FnMut(u32, &[u8])) {
        let complete = self.count >> (O::BASE + level);
        self.carry_from::<O>(level, group, complete, put);
    }

    /// As [`carry`](Self::carry), for group number `complete`, counted from 1.
    fn carry_from<O: Operation>(
        &mut self,
        mut level: u32,
        mut group: Group<O::Value>,
        mut complete: u64,
        put: &mut impl FnMut(u32, &[u8]),
    ) {
        while (level as usize) < LEVELS {
            self.put_all::<O>(level, &[group], put);
            if complete & 1 == 1 {
                self.wait(level, widen::<O>(group));
                return;
            }
            let left = self.waiting.get(level as usize).copied().unwrap_or_default();
            group = O::join(narrow::<O>(left), group);
            complete /= 2;
            level += 1;
        }
    }

    fn wait(&mut self, level: u32, group: [u64; 2]) {
        if let Some(waiting) = self.waiting.get_mut(level as usize) {
            *waiting = group;
        }
    }

    fn put_all<O: Operation>(
        &self,
        level: u32,
        groups: &[Group<O::Value>],
        put: &mut impl FnMut(u32, &[u8]),
    ) {
        if level as usize >= LEVELS {
            return;
        }
        if O::STORED == 2 {
            put(level, bytemuck::cast_slice(groups));
            return;
        }
        let mut firsts = [O::Value::default(); GROUPS];
        let count = groups.len().min(GROUPS);
        for (first, group) in firsts.iter_mut().zip(groups) {
            *first = group[0];
        }
        put(level, bytemuck::cast_slice(firsts.get(..count).unwrap_or_default()));
    }
}

impl Rule {
    /// The group that a group of elements of this width and the one after it make. A single element is a group as both
    /// of its values; `skip` uses the first of the two alone.
    #[must_use]
    pub fn join(self, element: Element, left: [u64; 2], right: [u64; 2]) -> [u64; 2] {
        with_operation!(self, element, O => widen::<O>(O::join(narrow::<O>(left), narrow::<O>(right))))
    }

    /// Whether two groups are the same: equal numbers, or none at all (NaN).
    #[must_use]
    pub fn same(self, element: Element, left: [u64; 2], right: [u64; 2]) -> bool {
        with_operation!(self, element, O => same::<O>(narrow::<O>(left), narrow::<O>(right)))
    }
}

fn same<O: Operation>(left: Group<O::Value>, right: Group<O::Value>) -> bool {
    let equal = |(a, b): (O::Value, O::Value)| a == b || (a.is_none() && b.is_none());
    left.into_iter().zip(right).take(O::STORED).all(equal)
}

fn widen<O: Operation>(group: Group<O::Value>) -> [u64; 2] {
    group.map(O::Value::widen)
}

fn narrow<O: Operation>(group: [u64; 2]) -> Group<O::Value> {
    group.map(O::Value::narrow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    const RULES: [Rule; 6] = [
        Rule::BitAndOr,
        Rule::Range(Order::Unsigned),
        Rule::Range(Order::Signed),
        Rule::Range(Order::Float),
        Rule::SkipFirst,
        Rule::SkipLast,
    ];

    fn build(rule: Rule, element: Element, parts: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut levels = vec![Vec::new(); MAX_LEVELS];
        let mut pyramid = Pyramid::<MAX_LEVELS>::new(rule, element);
        for part in parts {
            pyramid.push(part, &mut |level, groups| levels[level as usize].extend_from_slice(groups));
        }
        levels
    }

    /// From the definition, group by group, in wide arithmetic.
    fn expected(rule: Rule, element: Element, bytes: &[u8], level: u32) -> Vec<u8> {
        let size = usize::from(element.size());
        let value = |bytes: &[u8]| {
            let mut wide = [0; 8];
            wide[..size].copy_from_slice(bytes);
            u64::from_le_bytes(wide)
        };
        let values: Vec<u64> = bytes.chunks_exact(size).map(value).collect();
        let key = |value: u64| -> i128 {
            let shift = 64 - 8 * size as u32;
            match rule {
                Rule::Range(Order::Signed) => i128::from((value << shift) as i64 >> shift),
                _ => i128::from(value),
            }
        };
        let mut out = Vec::new();
        for group in values.chunks_exact(1 << rule.shift(level)) {
            let pair = match rule {
                Rule::BitAndOr => {
                    vec![group.iter().fold(u64::MAX, |a, b| a & b), group.iter().fold(0, |a, b| a | b)]
                }
                Rule::Range(Order::Float) => {
                    let float = |v: &u64| {
                        if size == 4 { f64::from(f32::from_bits(*v as u32)) } else { f64::from_bits(*v) }
                    };
                    let known = || group.iter().filter(|v| !float(v).is_nan());
                    let order = |a: &&u64, b: &&u64| float(a).partial_cmp(&float(b)).unwrap();
                    match known().min_by(order) {
                        // `max_by` takes the last of equals.
                        Some(min) => vec![*min, *known().rev().max_by(order).unwrap()],
                        None => vec![*group.last().unwrap(); 2],
                    }
                }
                Rule::Range(_) => vec![
                    *group.iter().min_by_key(|v| key(**v)).unwrap(),
                    *group.iter().max_by_key(|v| key(**v)).unwrap(),
                ],
                Rule::SkipFirst => vec![group[0]],
                Rule::SkipLast => vec![group[group.len() - 1]],
            };
            out.extend(pair.iter().flat_map(|value| value.to_le_bytes()[..size].to_vec()));
        }
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn groups_are_what_the_rule_says(
            bytes in prop::collection::vec(any::<u8>(), 0..40_000),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
            rule in prop::sample::select(&RULES[..]),
            element in prop::sample::select(&Element::ALL[..]),
        ) {
            prop_assume!(rule.fits(element));
            let size = usize::from(element.size());
            let bytes = &bytes[..bytes.len() / size * size];
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() / size + 1) * size).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let parts: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            for (level, groups) in build(rule, element, &parts).iter().enumerate() {
                if rule.shift(level as u32) < 20 {
                    prop_assert_eq!(groups, &expected(rule, element, bytes, level as u32), "level {}", level);
                }
            }
        }

        #[test]
        fn a_resumed_pyramid_goes_on_as_if_it_had_never_stopped(
            before in 1024_usize..20_000,
            after in 0_usize..9_000,
            rule in prop::sample::select(&RULES[..]),
        ) {
            let element = Element::U64;
            let bytes: Vec<u8> = (0..(before + after) as u64)
                .flat_map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 3).to_le_bytes())
                .collect();
            let (old, new) = bytes.split_at(before * 8);
            let whole = build(rule, element, &[&bytes]);
            let mut levels = build(rule, element, &[old]);
            let mut pyramid = Pyramid::<MAX_LEVELS>::new(rule, element);
            let existing = rule.levels(before as u64) as usize;
            let group = 8 * usize::from(rule.group_len());
            for (level, stored) in levels.iter().enumerate().take(existing) {
                pyramid.resume(level as u32, &stored[stored.len() - group..]);
            }
            let top = levels[existing - 1].clone();
            levels[existing..].iter_mut().for_each(Vec::clear);
            let mut put = |level: u32, groups: &[u8]| levels[level as usize].extend_from_slice(groups);
            pyramid.push_groups(existing as u32 - 1, &top, &mut put);
            let whole_groups = before >> rule.base_level() << rule.base_level();
            pyramid.resume_at(whole_groups as u64);
            pyramid.push(&old[whole_groups * 8..], &mut put);
            pyramid.push(new, &mut put);
            prop_assert_eq!(levels, whole);
        }
    }
}
