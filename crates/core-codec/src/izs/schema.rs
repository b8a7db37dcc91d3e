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
//!
//! ```
//!
//! A mistake, such as a field that reaches past the end of its element, stops the build.

use core::fmt;
use core::marker::PhantomData;

use super::raw::{Compression, Dialect, Element, Sample};

/// Fewest elements in a block (specification, "Schema").
pub const MIN_BLOCK: u32 = 4096;

/// Most bytes in a block of the one-pass writer, so that a stored size always fits the 32 bits of the index.
pub const MAX_BLOCK_BYTES: u64 = 1 << 30;

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

    const fn check(&self) -> Result<(), SchemaError> {
        if !self.block.is_power_of_two() || self.block < MIN_BLOCK || self.block_bytes() > MAX_BLOCK_BYTES {
            return Err(SchemaError::BlockSize { stream: self.id });
        }
        if self.staged != 0 && self.staged < self.block {
            return Err(SchemaError::StageShorterThanBlock { stream: self.id });
        }
        Ok(())
    }
}

/// The value of an attribute.
///
/// There is no null, and no negative integer: the reference reader refuses a file that holds one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Entity<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) pos: u8,
    pub(super) attributes: &'a [(&'a str, Attribute<'a>)],
    pub(super) data: Option<StreamDef>,
}

impl<'a> Entity<'a> {
    const fn new(kind: Kind<'a>) -> Self {
        Self { kind, pos: 0, attributes: &[], data: None }
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

    /// A time in ticks of `time:rate`.
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

    fn streams(&self, visit: &mut dyn FnMut(&StreamDef)) {
        if let Some(stream) = &self.data {
            visit(stream);
        }
        match self.kind {
            Kind::Group { children } => children.iter().for_each(|(_, child)| child.streams(visit)),
            Kind::Tuple { child, .. } | Kind::FixedArray { child, .. } | Kind::VariableArray { child } => {
                child.streams(visit);
            }
            // The fields of a bit_struct share its stream; the rest has no child.
            _ => {}
        }
    }

    /// Bits that a field needs in an element, `None` for what is no field.
    const fn field_bits(&self) -> Option<u8> {
        match self.kind {
            Kind::Bits { bits } | Kind::Int { bits } | Kind::Signed { bits } | Kind::Enum { bits, .. } => {
                Some(bits)
            }
            Kind::Character | Kind::Timestamp => Some(8),
            Kind::Float32 => Some(32),
            Kind::Float64 => Some(64),
            Kind::Group { .. }
            | Kind::BitStruct { .. }
            | Kind::Tuple { .. }
            | Kind::FixedArray { .. }
            | Kind::VariableArray { .. } => None,
        }
    }

    const fn check(&self, depth: u8) -> Result<(), SchemaError> {
        if depth == 0 {
            return Err(SchemaError::TooDeep);
        }
        if let Err(error) = check_attributes(self.attributes) {
            return Err(error);
        }
        if let Some(stream) = self.data
            && let Err(error) = stream.check()
        {
            return Err(error);
        }
        match self.kind {
            Kind::Group { children } => {
                if self.data.is_some() {
                    return Err(SchemaError::UnexpectedData);
                }
                check_children(children, depth - 1)
            }
            Kind::BitStruct { children } => match self.data {
                Some(stream) => check_packed(children, stream.element.size() * 8),
                None => Err(SchemaError::MissingData),
            },
            Kind::Tuple { child, .. } | Kind::FixedArray { child, .. } => {
                if self.data.is_some() {
                    return Err(SchemaError::UnexpectedData);
                }
                child.check(depth - 1)
            }
            Kind::VariableArray { child } => {
                if self.data.is_none() {
                    return Err(SchemaError::MissingData);
                }
                child.check(depth - 1)
            }
            _ => match self.data {
                Some(stream) => self.check_field(stream.element.size() * 8),
                None => Err(SchemaError::MissingData),
            },
        }
    }

    /// Checks that the field lies inside an element of `width` bits.
    const fn check_field(&self, width: u8) -> Result<(), SchemaError> {
        match self.field_bits() {
            Some(bits) if bits >= 1 && bits <= 64 && self.pos <= 64 && self.pos + bits <= width => Ok(()),
            Some(_) => Err(SchemaError::FieldOutsideElement),
            None => Err(SchemaError::NotAField),
        }
    }
}

const fn check_children(children: &[(&str, Entity<'_>)], depth: u8) -> Result<(), SchemaError> {
    let mut i = 0;
    while i < children.len() {
        if let Err(error) = children[i].1.check(depth) {
            return Err(error);
        }
        i += 1;
    }
    check_unique(children)
}

const fn check_packed(children: &[(&str, Entity<'_>)], width: u8) -> Result<(), SchemaError> {
    let mut i = 0;
    while i < children.len() {
        let child = &children[i].1;
        if child.data.is_some() {
            return Err(SchemaError::UnexpectedData);
        }
        if let Err(error) = check_attributes(child.attributes) {
            return Err(error);
        }
        if let Err(error) = child.check_field(width) {
            return Err(error);
        }
        i += 1;
    }
    check_unique(children)
}

/// Keys with a meaning of their own, which therefore cannot name an attribute.
const RESERVED: [&str; 12] = [
    "type",
    "pos",
    "bits",
    "values",
    "tag_bits",
    "children",
    "variants",
    "elements",
    "fields",
    "child",
    "data",
    "summaries",
];

const fn check_attributes(attributes: &[(&str, Attribute<'_>)]) -> Result<(), SchemaError> {
    let mut i = 0;
    while i < attributes.len() {
        let mut k = 0;
        while k < RESERVED.len() {
            if equal(attributes[i].0, RESERVED[k]) {
                return Err(SchemaError::ReservedAttribute);
            }
            k += 1;
        }
        i += 1;
    }
    check_unique(attributes)
}

const fn check_unique<V>(named: &[(&str, V)]) -> Result<(), SchemaError> {
    let mut i = 0;
    while i < named.len() {
        let mut k = 0;
        while k < i {
            if equal(named[i].0, named[k].0) {
                return Err(SchemaError::DuplicateName);
            }
            k += 1;
        }
        i += 1;
    }
    Ok(())
}

/// `==` on strings is not const.
const fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
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
        if let (Dialect::V001, Err(error)) = (dialect, check_in_order(&root)) {
            return Err(error);
        }
        Ok(Self { root, dialect })
    }

    /// Calls `visit` for each stream, in the order of the tree.
    pub(super) fn streams(&self, visit: &mut dyn FnMut(&StreamDef)) {
        self.root.streams(visit);
    }
}

/// In dialect V a field of a `bit_struct` has no `pos`: each starts where the one before it ends.
const fn check_in_order(entity: &Entity<'_>) -> Result<(), SchemaError> {
    match entity.kind {
        Kind::Group { children } => {
            let mut i = 0;
            while i < children.len() {
                if let Err(error) = check_in_order(&children[i].1) {
                    return Err(error);
                }
                i += 1;
            }
            Ok(())
        }
        Kind::BitStruct { children } => {
            let (mut i, mut next) = (0, 0);
            while i < children.len() {
                let child = &children[i].1;
                if child.pos != next {
                    return Err(SchemaError::NotInDialect);
                }
                if let Some(bits) = child.field_bits() {
                    next = child.pos.saturating_add(bits);
                }
                i += 1;
            }
            Ok(())
        }
        Kind::Tuple { child, .. } | Kind::FixedArray { child, .. } | Kind::VariableArray { child } => {
            check_in_order(child)
        }
        _ if entity.pos != 0 => Err(SchemaError::NotInDialect),
        _ => Ok(()),
    }
}

/// A mistake in a declared schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SchemaError {
    /// More than [`MAX_DEPTH`] levels.
    TooDeep,
    /// A block that is no power of two, under [`MIN_BLOCK`] elements or over [`MAX_BLOCK_BYTES`].
    BlockSize {
        /// The stream.
        stream: u8,
    },
    /// A staging buffer that holds less than a block.
    StageShorterThanBlock {
        /// The stream.
        stream: u8,
    },
    /// A field or `bit_struct` without a stream.
    MissingData,
    /// A stream where none belongs: on a group, a tuple, a fixed array, or a field inside a `bit_struct`.
    UnexpectedData,
    /// A field of no bit, or one that reaches past the end of its element.
    FieldOutsideElement,
    /// A collection inside a `bit_struct`.
    NotAField,
    /// An attribute with the name of a key that has a meaning of its own.
    ReservedAttribute,
    /// Two children or two attributes of one name.
    DuplicateName,
    /// Something that dialect V cannot say: a field that does not start where the one before it ends.
    NotInDialect,
    /// The stream numbers are not 0, 1, 2 ... up to the number of streams of the memory, each once.
    StreamNumbers,
    /// The staging buffers need more bytes than the memory's `STAGE`.
    StageTooSmall {
        /// Bytes that they need.
        needed: u32,
    },
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep => write!(f, "more than {MAX_DEPTH} levels"),
            Self::BlockSize { stream } => write!(
                f,
                "block of stream {stream}: expected a power of two from {MIN_BLOCK} elements to {MAX_BLOCK_BYTES} bytes"
            ),
            Self::StageShorterThanBlock { stream } => {
                write!(f, "the staging buffer of stream {stream} holds less than a block")
            }
            Self::MissingData => f.write_str("an entity without its stream"),
            Self::UnexpectedData => f.write_str("a stream on an entity that has none of its own"),
            Self::FieldOutsideElement => f.write_str("a field reaches past the end of its element"),
            Self::NotAField => f.write_str("a collection inside a bit_struct"),
            Self::ReservedAttribute => f.write_str("an attribute with a reserved name"),
            Self::DuplicateName => f.write_str("two children or attributes of one name"),
            Self::NotInDialect => {
                f.write_str("dialect V needs the fields of a bit_struct in order, without gaps")
            }
            Self::StreamNumbers => f.write_str("the streams are not numbered 0, 1, 2 ... each once"),
            Self::StageTooSmall { needed } => write!(f, "the staging buffers need {needed} bytes"),
        }
    }
}

impl core::error::Error for SchemaError {}
