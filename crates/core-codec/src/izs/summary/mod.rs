//! Summaries: coarser versions of a stream, built in one pass while the stream is written.
//!
//! A summary is a pyramid of levels. A *group* of level 0 stands for 4 elements (8 for `skip`), a group of the
//! next level for two groups of the one below. What a group holds is the summary's [`Rule`]: AND and OR, lowest
//! and highest, or one element of all that it stands for. A level has only whole groups, and it exists when the
//! one below has [`MIN_GROUPS`] (the stream's elements, below level 0).
//!
//! A [`Pyramid`] is a few numbers a level, without a heap: elements go in, groups come out.
//!
//! ```
//! use core_codec::izs::Element;
//! use core_codec::izs::summary::{Order, Pyramid, Rule};
//!
//! let mut pyramid = Pyramid::<4>::new(Rule::Range(Order::Unsigned), Element::U8);
//! let mut levels = vec![Vec::new(); 4];
//! pyramid.push(&[3, 9, 7, 5, 40, 10, 30, 20], &mut |level, groups| {
//!     levels[level as usize].extend_from_slice(groups);
//! });
//! assert_eq!(levels[0], [3, 9, 10, 40]);
//! assert_eq!(levels[1], [3, 40]);
//! ```

mod operation;
mod pyramid;

pub use pyramid::Pyramid;

use super::raw::{Dialect, Element};

/// Groups (or elements, below level 0) from which on the next level exists.
pub const MIN_GROUPS: u64 = 1024;

/// Most levels that a stream of 64-bit length can have.
pub const MAX_LEVELS: usize = 53;

/// How the elements of `range` compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Order {
    /// As unsigned integers of the width of the element.
    Unsigned,
    /// As two's complement integers of the width of the element.
    Signed,
    /// As IEEE 754 numbers; NaN is passed over while there is another value.
    Float,
}

/// What a group of a summary holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Rule {
    /// `bit_and_or`: AND, then OR of the elements.
    BitAndOr,
    /// `range`: the lowest, then the highest element.
    Range(Order),
    /// `skip` of dialect S: the first element.
    SkipFirst,
    /// `skip` of dialect V: the last element.
    SkipLast,
}

impl Rule {
    /// The key in `summaries`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::BitAndOr => "bit_and_or",
            Self::Range(_) => "range",
            Self::SkipFirst | Self::SkipLast => "skip",
        }
    }

    /// `skip` as `dialect` means it.
    #[must_use]
    pub const fn skip(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Spec => Self::SkipFirst,
            Dialect::V001 => Self::SkipLast,
        }
    }

    /// `base_level`: log2 of the elements that a group of level 0 stands for.
    #[must_use]
    pub const fn base_level(self) -> u8 {
        match self {
            Self::BitAndOr | Self::Range(_) => 2,
            Self::SkipFirst | Self::SkipLast => 3,
        }
    }

    /// Elements that a group takes in the stream of its level.
    #[must_use]
    pub const fn group_len(self) -> u8 {
        match self {
            Self::BitAndOr | Self::Range(_) => 2,
            Self::SkipFirst | Self::SkipLast => 1,
        }
    }

    /// log2 of the elements that a group of `level` stands for.
    #[must_use]
    pub const fn shift(self, level: u32) -> u32 {
        level.saturating_add(self.base_level() as u32)
    }

    /// Groups of `level` over a stream of `elements` elements: whole ones only.
    #[must_use]
    pub const fn groups(self, elements: u64, level: u32) -> u64 {
        match elements.checked_shr(self.shift(level)) {
            Some(groups) => groups,
            None => 0,
        }
    }

    /// How many levels there are over a stream of `elements` elements.
    #[must_use]
    pub const fn levels(self, elements: u64) -> u32 {
        if elements < MIN_GROUPS {
            return 0;
        }
        let mut levels = 1;
        while self.groups(elements, levels - 1) >= MIN_GROUPS {
            levels += 1;
        }
        levels
    }

    /// Whether a summary by this rule of elements of this width can be built.
    #[must_use]
    pub const fn fits(self, element: Element) -> bool {
        match self {
            Self::Range(Order::Float) => matches!(element, Element::U32 | Element::U64),
            _ => true,
        }
    }
}

#[cfg(feature = "alloc")]
impl Rule {
    /// The summary that belongs to a field in elements of the given width: `bit_and_or` for `bits` and `bit_struct`; `range` for
    /// `int`, floats, and `signed` as wide as the element; `skip` for `timestamp`; none for others.
    #[must_use]
    pub fn of(kind: &super::model::Kind, element: Element, dialect: Dialect) -> Option<Self> {
        use super::model::Kind;

        let rule = match kind {
            Kind::Bits { .. } | Kind::BitStruct => Self::BitAndOr,
            Kind::Int { .. } => Self::Range(Order::Unsigned),
            Kind::Signed { bits } if *bits == element.size() * 8 => Self::Range(Order::Signed),
            Kind::Float32 if element == Element::U32 => Self::Range(Order::Float),
            Kind::Float64 if element == Element::U64 => Self::Range(Order::Float),
            Kind::Timestamp => Self::skip(dialect),
            _ => return None,
        };
        Some(rule)
    }

    /// The rule of the summary that goes by `key` over such a field: [`of`](Self::of), when the keys agree.
    #[must_use]
    pub fn named(key: &str, kind: &super::model::Kind, element: Element, dialect: Dialect) -> Option<Self> {
        Self::of(kind, element, dialect).filter(|rule| rule.key() == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_join() {
        let (left, right) = ([0b0110; 2], [0b0011; 2]);
        assert_eq!(Rule::BitAndOr.join(Element::U8, left, right), [0b0010, 0b0111]);
        assert_eq!(Rule::Range(Order::Unsigned).join(Element::U8, left, right), [3, 6]);
        assert_eq!(Rule::Range(Order::Signed).join(Element::U8, [0xff; 2], [1; 2]), [0xff, 1]);
        assert_eq!(Rule::SkipFirst.join(Element::U8, left, right)[0], left[0]);
        assert_eq!(Rule::SkipLast.join(Element::U8, left, right)[0], right[0]);
        assert!(
            Rule::SkipFirst.same(Element::U8, [1, 2], [1, 3])
                && !Rule::BitAndOr.same(Element::U8, [1, 2], [1, 3])
        );

        let range = Rule::Range(Order::Float);
        let single = |value: f32| [u64::from(value.to_bits()); 2];
        let join = |left, right| range.join(Element::U32, left, right);
        let group = join(join(single(f32::NAN), single(2.0)), join(single(-1.0), single(f32::NAN)));
        assert_eq!(group.map(|bits| f32::from_bits(bits as u32)), [-1.0, 2.0]);
        assert!(range.same(Element::U32, join(single(f32::NAN), single(f32::NAN)), single(-f32::NAN)));
        assert!(range.same(Element::U32, single(0.0), single(-0.0)));
    }

    #[test]
    fn levels_exist_from_1024_groups_on() {
        let rule = Rule::BitAndOr;
        for (elements, levels) in [(0, 0), (1023, 0), (1024, 1), (4095, 1), (4096, 2), (8191, 2), (8192, 3)] {
            assert_eq!(rule.levels(elements), levels, "{elements}");
        }
        assert_eq!(Rule::SkipFirst.levels(8191), 1);
        assert_eq!(Rule::SkipFirst.levels(8192), 2);
        assert_eq!(rule.groups(65_540, 0), 16_385);
        assert_eq!(rule.levels(u64::MAX) as usize, MAX_LEVELS);
        assert_eq!(rule.groups(u64::MAX, 62), 0);
    }
}
