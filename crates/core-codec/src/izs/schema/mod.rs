//! A schema declared in constants: a tree of entities in flash, without a heap.
//!
//! ```
//! use core_codec::izs::{Attribute, Entity, Schema, Stream};
//!
//! const LOGIC: Stream<u8> = Stream::new(0).block(1 << 20);
//! const ADC: Stream<u16> = Stream::new(1).uncompressed().staged(4096);
//!
//! static SCHEMA: Schema = Schema::new(Entity::group(&[
//!     (
//!         "logic",
//!         Entity::bit_struct(&[("sda", Entity::bits(1)), ("scl", Entity::bits(1).at(1))])
//!             .attributes(&[("time:rate", Attribute::real(1_000_000))])
//!             .data(LOGIC.def()),
//!     ),
//!     ("supply", Entity::int(12).attributes(&[("number:scale", Attribute::decimal(806, -6))]).data(ADC.def())),
//! ]));
//! ```
//!
//! A mistake, such as a field that reaches past the end of its element, stops the build.

mod check;
#[cfg(feature = "defmt")]
mod format;

pub use check::{RESERVED, SchemaError};

use core::marker::PhantomData;

use super::raw::{Compression, Dialect, Element, Sample};
use super::summary::{Order, Rule};

/// Fewest elements in a block (specification, "Schema").
pub const MIN_BLOCK: u32 = 4096;

/// Most bytes in a block that is written: what readers take with their default limits.
pub const MAX_BLOCK_BYTES: u64 = 1 << 26;

/// Most bytes of a staging buffer.
pub const MAX_STAGE_BYTES: u64 = 1 << 31;

/// Deepest nesting of a declared schema.
pub const MAX_DEPTH: u8 = 16;

/// A stream of a recording, with the settings of its descriptor.
///
/// The identity is its number: 0, 1, 2 ... with no gap inside one schema. It is declared once, and given both to
/// the schema ([`def`](Self::def)) and to each push, so that the element type of what is pushed is checked
/// by the compiler.
#[derive(Debug)]
pub struct Stream<T> {
    def: StreamDef,
    element: PhantomData<fn() -> T>,
}

#[cfg(feature = "defmt")]
impl<T> defmt::Format for Stream<T> {
    fn format(&self, f: defmt::Formatter<'_>) {
        self.def.format(f);
    }
}

impl<T> Clone for Stream<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Stream<T> {}

impl<T: Sample> Stream<T> {
    /// Stream number `id`, `compress: zstd`, 4096 elements a block, not staged.
    #[must_use]
    pub const fn new(id: u8) -> Self {
        let def = StreamDef {
            id,
            element: T::ELEMENT,
            block: MIN_BLOCK,
            compression: Compression::Zstd,
            staged: 0,
        };
        Self { def, element: PhantomData }
    }

    /// Sets the elements of a block: a power of two, [`MIN_BLOCK`] or more.
    ///
    /// It costs no RAM, since a block streams out while it fills. Long blocks keep the index short; short
    /// blocks let others in sooner.
    #[must_use]
    pub const fn block(mut self, elements: u32) -> Self {
        self.def.block = elements;
        self
    }

    /// Sets `compress: none`.
    #[must_use]
    pub const fn uncompressed(mut self) -> Self {
        self.def.compression = Compression::None;
        self
    }

    /// Gives the stream a staging buffer of so many elements, a block or more, in the recording's memory.
    ///
    /// Its blocks are written whole, between the blocks of other streams. Of several streams, all but one need
    /// this, since only one block can be open in a file that is written in one pass.
    #[must_use]
    pub const fn staged(mut self, elements: u32) -> Self {
        self.def.staged = elements;
        self
    }

    /// What the schema needs to know of it.
    #[must_use]
    pub const fn def(self) -> StreamDef {
        self.def
    }
}

/// The settings of a [`Stream`], without its element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct StreamDef {
    pub(super) id: u8,
    pub(super) element: Element,
    pub(super) block: u32,
    pub(super) compression: Compression,
    pub(super) staged: u32,
}

impl StreamDef {
    pub(super) const fn block_bytes(&self) -> u64 {
        self.block as u64 * self.element.size() as u64
    }

    pub(super) const fn staged_bytes(&self) -> u64 {
        self.staged as u64 * self.element.size() as u64
    }
}

/// The streams of the levels of a summary, numbered from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Levels {
    pub(super) first: u8,
    pub(super) count: u8,
}

impl Levels {
    /// The stream of a level, over the stream `of`.
    #[inline(never)]
    pub(super) const fn def(self, level: u8, of: &StreamDef, rule: Rule) -> StreamDef {
        // What comes in while a block of the stream is open, behind less than a block of the level.
        let groups = match of.block.checked_shr(rule.shift(level as u32)) {
            Some(groups @ 1..) => groups,
            _ => 1,
        };
        StreamDef {
            id: self.first.wrapping_add(level),
            element: of.element,
            block: MIN_BLOCK,
            compression: of.compression,
            staged: MIN_BLOCK.saturating_add(groups.saturating_mul(rule.group_len() as u32)),
        }
    }
}

/// The value of an attribute.
///
/// There is no null, and no negative integer: the reference reader refuses a file that holds one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attribute<'a> {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(u64),
    /// `mantissa` times ten to the `exponent`.
    Decimal {
        /// The digits.
        mantissa: i64,
        /// The power of ten.
        exponent: i8,
    },
    /// Text.
    Text(&'a str),
    /// A list.
    Array(&'a [Attribute<'a>]),
    /// Named values.
    Object(&'a [(&'a str, Attribute<'a>)]),
}

impl Attribute<'_> {
    /// A whole number in the form of a real one (`8000000.0`), as rates are written.
    #[must_use]
    pub const fn real(value: i64) -> Self {
        Self::Decimal { mantissa: value, exponent: 0 }
    }

    /// `mantissa` times ten to the `exponent`.
    #[must_use]
    pub const fn decimal(mantissa: i64, exponent: i8) -> Self {
        Self::Decimal { mantissa, exponent }
    }
}

/// What an [`Entity`] is (its `type`).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub(super) enum Kind<'a> {
    Group { children: &'a [(&'a str, Entity<'a>)] },
    BitStruct { children: &'a [(&'a str, Entity<'a>)] },
    Tuple { fields: &'a [&'a str], child: &'a Entity<'a> },
    FixedArray { elements: u32, child: &'a Entity<'a> },
    VariableArray { child: &'a Entity<'a> },
    Bits { bits: u8 },
    Int { bits: u8 },
    Signed { bits: u8 },
    Enum { bits: u8, values: &'a [&'a str] },
    Character,
    Timestamp,
    Float32,
    Float64,
}

/// A node of the schema.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entity<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) pos: u8,
    pub(super) attributes: &'a [(&'a str, Attribute<'a>)],
    pub(super) data: Option<StreamDef>,
    pub(super) summary: Option<Levels>,
}

impl<'a> Entity<'a> {
    const fn new(kind: Kind<'a>) -> Self {
        Self { kind, pos: 0, attributes: &[], data: None, summary: None }
    }

    /// A collection of named entities, each with data of its own.
    #[must_use]
    pub const fn group(children: &'a [(&'a str, Entity<'a>)]) -> Self {
        Self::new(Kind::Group { children })
    }

    /// Named fields packed into the bits of one stream's elements; place them with [`at`](Self::at).
    #[must_use]
    pub const fn bit_struct(children: &'a [(&'a str, Entity<'a>)]) -> Self {
        Self::new(Kind::BitStruct { children })
    }

    /// Named values that alternate in the stream of `child`.
    #[must_use]
    pub const fn tuple(fields: &'a [&'a str], child: &'a Entity<'a>) -> Self {
        Self::new(Kind::Tuple { fields, child })
    }

    /// Arrays of `elements` values each in the stream of `child`.
    #[must_use]
    pub const fn fixed_array(elements: u32, child: &'a Entity<'a>) -> Self {
        Self::new(Kind::FixedArray { elements, child })
    }

    /// Arrays of any length: its own stream holds the end position of each in the stream of `child`.
    #[must_use]
    pub const fn variable_array(child: &'a Entity<'a>) -> Self {
        Self::new(Kind::VariableArray { child })
    }

    /// Logic levels.
    #[must_use]
    pub const fn bits(bits: u8) -> Self {
        Self::new(Kind::Bits { bits })
    }

    /// An unsigned integer.
    #[must_use]
    pub const fn int(bits: u8) -> Self {
        Self::new(Kind::Int { bits })
    }

    /// A signed integer in two's complement.
    #[must_use]
    pub const fn signed(bits: u8) -> Self {
        Self::new(Kind::Signed { bits })
    }

    /// A named value; `values[i]` is the name of the number `i`.
    #[must_use]
    pub const fn enumeration(bits: u8, values: &'a [&'a str]) -> Self {
        Self::new(Kind::Enum { bits, values })
    }

    /// A character of text (UTF-8 bytes in a `u8` stream).
    #[must_use]
    pub const fn character() -> Self {
        Self::new(Kind::Character)
    }

    /// A time in ticks of `time:rate`, in a `u64` stream.
    #[must_use]
    pub const fn timestamp() -> Self {
        Self::new(Kind::Timestamp)
    }

    /// IEEE 754 binary32, as its bits in a `u32` stream.
    #[must_use]
    pub const fn float32() -> Self {
        Self::new(Kind::Float32)
    }

    /// IEEE 754 binary64, as its bits in a `u64` stream.
    #[must_use]
    pub const fn float64() -> Self {
        Self::new(Kind::Float64)
    }

    /// Places a field of a [`bit_struct`](Self::bit_struct) at bit `pos` (0 is the least significant).
    #[must_use]
    pub const fn at(mut self, pos: u8) -> Self {
        self.pos = pos;
        self
    }

    /// Sets the attributes, such as `time:rate` or `display:color`.
    #[must_use]
    pub const fn attributes(mut self, attributes: &'a [(&'a str, Attribute<'a>)]) -> Self {
        self.attributes = attributes;
        self
    }

    /// Sets the stream that holds its data.
    #[must_use]
    pub const fn data(mut self, stream: StreamDef) -> Self {
        self.data = Some(stream);
        self
    }

    /// Adds a summary of its stream, of `levels` levels, whose streams have the numbers from `first` on.
    ///
    /// It is built by [`push_summarised`](super::Recorder::push_summarised); of its levels, the file has those that
    /// its length comes to ([`Rule::levels`]), and none if elements came in by another way. Each takes a staging
    /// buffer of 4096 elements, and of what comes in while a block of its stream is open: with blocks of 4096
    /// elements, half as many for the first level, and half of that for each next one.
    #[must_use]
    pub const fn summary(mut self, first: u8, levels: u8) -> Self {
        self.summary = Some(Levels { first, count: levels });
        self
    }

    /// What a summary of its stream holds.
    pub(super) const fn rule(&self, dialect: Dialect) -> Option<Rule> {
        let Some(stream) = self.data else { return None };
        match (self.kind, stream.element) {
            (Kind::Bits { .. } | Kind::BitStruct { .. }, _) => Some(Rule::BitAndOr),
            (Kind::Int { .. }, _) => Some(Rule::Range(Order::Unsigned)),
            (Kind::Signed { bits }, element) if bits == element.size() * 8 => {
                Some(Rule::Range(Order::Signed))
            }
            (Kind::Float32, Element::U32) | (Kind::Float64, Element::U64) => Some(Rule::Range(Order::Float)),
            (Kind::Timestamp, _) => Some(Rule::skip(dialect)),
            _ => None,
        }
    }

    fn walk(&self, visit: &mut dyn FnMut(&Entity<'_>)) {
        visit(self);
        match self.kind {
            Kind::Group { children } => children.iter().for_each(|(_, child)| child.walk(visit)),
            Kind::Tuple { child, .. } | Kind::FixedArray { child, .. } | Kind::VariableArray { child } => {
                child.walk(visit);
            }
            // The fields of a bit_struct share its stream; the rest has no child.
            _ => {}
        }
    }
}

/// The schema of a recording: a tree that has been checked.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Schema<'a> {
    pub(super) root: Entity<'a>,
    pub(super) dialect: Dialect,
}

impl<'a> Schema<'a> {
    /// A schema in the dialect of the specification, for a constant: a mistake stops the build.
    ///
    /// ```compile_fail
    /// use core_codec::izs::{Entity, Schema, Stream};
    ///
    /// static SCHEMA: Schema = Schema::new(Entity::int(12).data(Stream::<u8>::new(0).def()));
    /// # fn main() { let _ = SCHEMA; }
    /// ```
    ///
    /// # Panics
    /// Where [`try_new`](Self::try_new) finds a mistake.
    #[must_use]
    pub const fn new(root: Entity<'a>) -> Self {
        match Self::try_new(root, Dialect::Spec) {
            Ok(schema) => schema,
            Err(_) => panic!("a mistake in the schema: Schema::try_new says which"),
        }
    }

    /// A schema with the stream descriptors of `dialect`. Attributes are written as they are declared.
    ///
    /// # Errors
    /// The first mistake found.
    pub const fn try_new(root: Entity<'a>, dialect: Dialect) -> Result<Self, SchemaError> {
        if let Err(error) = root.check(MAX_DEPTH) {
            return Err(error);
        }
        if let (Dialect::V001, Err(error)) = (dialect, check::fields_in_order(&root)) {
            return Err(error);
        }
        Ok(Self { root, dialect })
    }

    /// Calls `visit` for each stream, those of summaries last.
    pub(super) fn streams(&self, visit: &mut dyn FnMut(&StreamDef)) {
        self.root.walk(&mut |entity| entity.data.iter().for_each(&mut *visit));
        self.summaries(&mut |of, levels, rule| {
            (0..levels.count).for_each(|level| visit(&levels.def(level, of, rule)));
        });
    }

    /// Calls `visit` for each summary: the stream, the levels, and what they hold.
    pub(super) fn summaries(&self, visit: &mut dyn FnMut(&StreamDef, Levels, Rule)) {
        self.root.walk(&mut |entity| {
            if let (Some(of), Some(levels), Some(rule)) =
                (&entity.data, entity.summary, entity.rule(self.dialect))
            {
                visit(of, levels, rule);
            }
        });
    }
}
