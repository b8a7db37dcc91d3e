//! The arithmetic of the rules, for every width of element.

use core::marker::PhantomData;

use bytemuck::Pod;

/// A value of an element's width.
pub(super) trait Lane: Pod + Default + PartialOrd {
    fn widen(self) -> u64;
    fn narrow(bits: u64) -> Self;
    /// Whether it stands for no value.
    fn is_none(self) -> bool {
        false
    }
    fn min(self, other: Self) -> Self {
        if other < self { other } else { self }
    }
    fn max(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

macro_rules! integers {
    ($($t:ty as $unsigned:ty),*) => {$(
        impl Lane for $t {
            fn widen(self) -> u64 {
                u64::from(self as $unsigned)
            }
            fn narrow(bits: u64) -> Self {
                bits as $t
            }
        }
    )*};
}

integers!(u8 as u8, u16 as u16, u32 as u32, u64 as u64, i8 as u8, i16 as u16, i32 as u32, i64 as u64);

/// NaN gives way to any other value. Of equal zeros the first stays, whatever its sign.
macro_rules! floats {
    ($($t:ty as $unsigned:ty),*) => {$(
        impl Lane for $t {
            fn widen(self) -> u64 {
                u64::from(self.to_bits())
            }
            fn narrow(bits: u64) -> Self {
                <$t>::from_bits(bits as $unsigned)
            }
            fn is_none(self) -> bool {
                self.is_nan()
            }
            fn min(self, other: Self) -> Self {
                if other < self || self.is_nan() { other } else { self }
            }
            fn max(self, other: Self) -> Self {
                if other > self || self.is_nan() { other } else { self }
            }
        }
    )*};
}

floats!(f32 as u32, f64 as u64);

/// The value of a group. `skip` uses the first of the two alone.
pub(super) type Group<V> = [V; 2];

/// What a rule does to values of one type.
pub(super) trait Operation {
    type Value: Lane;
    /// log2 of the elements of a group of level 0.
    const BASE: u32;
    /// Values of a group that are stored.
    const STORED: usize;

    /// The group of `left`, then `right`.
    fn join(left: Group<Self::Value>, right: Group<Self::Value>) -> Group<Self::Value>;

    /// The groups of level 0 of so many elements that each is complete.
    fn reduce(elements: &[u8], groups: &mut [Group<Self::Value>]) {
        let size = size_of::<Self::Value>();
        for (group, elements) in groups.iter_mut().zip(elements.chunks_exact(size << Self::BASE)) {
            let mut values = elements.chunks_exact(size).map(|element| [load::<Self::Value>(element); 2]);
            let first = values.next().unwrap_or_default();
            *group = values.fold(first, Self::join);
        }
    }
}

/// AND and OR.
pub(super) struct Bits<V>(PhantomData<V>);

impl Operation for Bits<u8> {
    type Value = u8;
    const BASE: u32 = 2;
    const STORED: usize = 2;

    fn join(left: Group<u8>, right: Group<u8>) -> Group<u8> {
        [left[0] & right[0], left[1] | right[1]]
    }

    /// Eight elements in a word, instead of one by one.
    fn reduce(elements: &[u8], groups: &mut [Group<u8>]) {
        let (words, _) = elements.as_chunks::<8>();
        let (pairs, _) = groups.as_chunks_mut::<2>();
        for (word, pair) in words.iter().zip(pairs) {
            let word = u64::from_le_bytes(*word);
            let and = word & (word >> 8);
            let or = word | (word >> 8);
            let (and, or) = (and & (and >> 16), or | (or >> 16));
            *pair = [[and as u8, or as u8], [(and >> 32) as u8, (or >> 32) as u8]];
        }
    }
}

macro_rules! bits {
    ($($t:ty),*) => {$(
        impl Operation for Bits<$t> {
            type Value = $t;
            const BASE: u32 = 2;
            const STORED: usize = 2;

            fn join(left: Group<$t>, right: Group<$t>) -> Group<$t> {
                [left[0] & right[0], left[1] | right[1]]
            }
        }
    )*};
}

bits!(u16, u32, u64);

/// Lowest and highest.
pub(super) struct Extent<V>(PhantomData<V>);

impl<V: Lane> Operation for Extent<V> {
    type Value = V;
    const BASE: u32 = 2;
    const STORED: usize = 2;

    fn join(left: Group<V>, right: Group<V>) -> Group<V> {
        [left[0].min(right[0]), left[1].max(right[1])]
    }
}

/// The first of all.
pub(super) struct First<V>(PhantomData<V>);

impl<V: Lane> Operation for First<V> {
    type Value = V;
    const BASE: u32 = 3;
    const STORED: usize = 1;

    fn join(left: Group<V>, _: Group<V>) -> Group<V> {
        left
    }
}

/// The last of all.
pub(super) struct Last<V>(PhantomData<V>);

impl<V: Lane> Operation for Last<V> {
    type Value = V;
    const BASE: u32 = 3;
    const STORED: usize = 1;

    fn join(_: Group<V>, right: Group<V>) -> Group<V> {
        right
    }
}

/// The value in `bytes`, which has its size.
pub(super) fn load<V: Lane>(bytes: &[u8]) -> V {
    bytemuck::try_pod_read_unaligned(bytes).unwrap_or_default()
}
