//! How the levels of summaries come about: each group of a level from the groups, or elements, below it.

use core_codec::izs::model::Kind;
use core_codec::izs::{Dialect, Element};

/// What a group of a level is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduce {
    /// `bit_and_or`: [AND, OR].
    AndOr,
    /// `range` of `int`, compared as unsigned numbers as wide as the element: [min, max].
    Unsigned,
    /// `range` of `signed`, compared as two's complement numbers as wide as the element: [min, max].
    Signed(Element),
    /// `range` of float32 without NaN: [min, max].
    Single,
    /// `range` of float64 without NaN: [min, max].
    Double,
    /// `skip` by the specification.
    First,
    /// `skip` of crate `iguazu` 0.0.1.
    Last,
}

impl Reduce {
    /// How the summary `key` of a field of this kind is made; none for what is not known.
    pub(super) fn of(key: &str, kind: &Kind, element: Element, dialect: Dialect) -> Option<Self> {
        match (key, kind) {
            ("bit_and_or", _) => Some(Self::AndOr),
            ("range", Kind::Float32) => Some(Self::Single),
            ("range", Kind::Float64) => Some(Self::Double),
            ("range", Kind::Int { .. }) => Some(Self::Unsigned),
            ("range", Kind::Signed { .. }) => Some(Self::Signed(element)),
            ("skip", _) if dialect == Dialect::V001 => Some(Self::Last),
            ("skip", _) => Some(Self::First),
            _ => None,
        }
    }

    /// Values of one group.
    pub(super) fn values(self) -> u64 {
        if matches!(self, Self::First | Self::Last) { 1 } else { 2 }
    }

    /// The group of `left`, then `right`. A single element stands for both values of its group.
    pub(super) fn join(self, left: (u64, u64), right: (u64, u64)) -> (u64, u64) {
        // NaN gives way to any other value.
        let pick = |value: fn(u64) -> f64, better: fn(f64, f64) -> bool, left, right| {
            let (a, b) = (value(left), value(right));
            if better(b, a) || (a.is_nan() && !b.is_nan()) { right } else { left }
        };
        let extent =
            |value| (pick(value, |b, a| b < a, left.0, right.0), pick(value, |b, a| b > a, left.1, right.1));
        match self {
            Self::AndOr => (left.0 & right.0, left.1 | right.1),
            Self::Unsigned => (left.0.min(right.0), left.1.max(right.1)),
            Self::Signed(element) => {
                // Shifted to the top, they compare as they should, and shift back to the same bits.
                let shift = 64 - 8 * u32::from(element.size());
                let top = |bits: u64| (bits << shift) as i64;
                let low = top(left.0).min(top(right.0));
                let high = top(left.1).max(top(right.1));
                ((low as u64) >> shift, (high as u64) >> shift)
            }
            Self::Single => extent(|bits| f32::from_bits(bits as u32).into()),
            Self::Double => extent(f64::from_bits),
            Self::First => left,
            Self::Last => right,
        }
    }

    /// Whether two groups are the same: equal numbers, or none at all.
    pub(super) fn same(self, element: Element, a: (u64, u64), b: (u64, u64)) -> bool {
        let float = |bits| match element {
            Element::U32 => f32::from_bits(bits as u32).into(),
            _ => f64::from_bits(bits),
        };
        let number = |a: u64, b: u64| match self {
            Self::Single | Self::Double => {
                let (a, b): (f64, f64) = (float(a), float(b));
                a == b || (a.is_nan() && b.is_nan())
            }
            _ => a == b,
        };
        number(a.0, b.0) && (self.values() == 1 || number(a.1, b.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups() {
        let (left, right) = ((0b0110, 0b0110), (0b0011, 0b0011));
        assert_eq!(Reduce::AndOr.join(left, right), (0b0010, 0b0111));
        assert_eq!(Reduce::Unsigned.join(left, right), (3, 6));
        assert_eq!(Reduce::Signed(Element::U8).join((0xff, 0xff), (1, 1)), (0xff, 1));
        assert_eq!(Reduce::First.join(left, right), left);
        assert_eq!(Reduce::Last.join(left, right), right);
        let single = |value: f32| (u64::from(value.to_bits()), u64::from(value.to_bits()));
        let join = |left, right| Reduce::Single.join(left, right);
        let (min, max) = join(join(single(f32::NAN), single(2.0)), join(single(-1.0), single(f32::NAN)));
        assert_eq!((f32::from_bits(min as u32), f32::from_bits(max as u32)), (-1.0, 2.0));
        let none = join(single(f32::NAN), single(f32::NAN));
        assert!(Reduce::Single.same(Element::U32, none, single(f32::NAN)));
    }
}
