//! The schema of an `.izs` file as checked types: the Iguazu data model ("Schema" in the specification).
//!
//! A [`Schema`] is a tree of [`Entity`] nodes and the list of the [`Stream`]s that they own. Reading is
//! tolerant: a node that is not understood becomes [`Kind::Opaque`] and a stream descriptor that is not keeps
//! its [`Fault`], while everything around them stays readable. Attributes, unknown keys included, keep their
//! order and their exact values.
//!
//! ```
//! use core_codec::izs::model::{Kind, Schema};
//!
//! let text = br#"{"entity": {"type": "group", "children": {"adc": {
//!     "type": "int", "bits": 12, "number:offset": -5, "data": {"element": "u16", "end": 10, "block": 4096,
//!     "compress": "none", "i_offset": 28, "i_size": 12, "i_compress": "none"}}}}}"#;
//! let schema = Schema::parse(text, &core_codec::Limits::default())?;
//! let adc = schema.find("adc").unwrap();
//! assert_eq!(*schema[adc].kind(), Kind::Int { bits: 12 });
//! let stream = schema[adc].data().unwrap();
//! assert_eq!(schema.stream_pointer(stream).to_string(), "/entity/children/adc/data");
//! assert_eq!(schema[stream].descriptor().unwrap().end, 10);
//! # Ok::<(), core_codec::Error>(())
//! ```

mod build;
mod builder;
mod descriptor;
#[cfg(any(feature = "zstd", feature = "zstd-c"))]
mod edit;
mod emit;
mod field;
mod json;
mod kind;
mod names;
mod path;
mod scale;
mod time;

pub use super::schema::MAX_BLOCK_BYTES;
pub use builder::{DEFAULT_BLOCK, MIN_BLOCK, SchemaBuilder};
pub use descriptor::{Descriptor, Method};
pub use emit::Strictness;
pub use field::{Field, FieldValue, distinct_names};
pub use json::{Object, Value, parse as parse_json, repeated_keys};
pub use kind::{Kind, Opaque, TupleFields};
pub use path::{EntityPath, EntityPointer, StreamPointer, Target};
pub use scale::Scale;
pub use time::{Clock, Moment, Rate, TimeField};

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Index;

use crate::error::Error;
use crate::izs::raw::Dialect;
use crate::limits::Limits;

/// Names an entity of one [`Schema`]; see [`StreamId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(u32);

/// Names a stream of one [`Schema`]. Of another, such as that of a file which was written by this one, it may name any:
/// [find](Schema::find_item) it there anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u32);

/// The metadata of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    entities: Vec<Entity>,
    streams: Vec<Stream>,
    other: Object,
    /// Whose names the attributes have.
    names: Dialect,
}

/// How an entity hangs on its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// It is the root.
    Root,
    /// A named member of `children`, `variants` or `values`.
    Member {
        /// The key that holds the members.
        container: &'static str,
        /// The name.
        name: Box<str>,
    },
    /// The only one, under the key `child` (or `inner`, in newer texts).
    Inner(&'static str),
}

/// The bits of a field, kept up to date with the tree: computed each time they are asked for, they would cost
/// the product of all widths of the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    /// First bit in what holds it.
    position: u32,
    /// How many.
    width: u32,
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    kind: Kind,
    pos: Option<u8>,
    place: Place,
    attributes: Object,
    parent: Option<EntityId>,
    link: Link,
    children: Box<[EntityId]>,
    data: Option<StreamId>,
    summaries: Box<[Summary]>,
}

impl Entity {
    /// What it is.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Its first bit in the element, where the schema says so; see [`Schema::bit_position`].
    #[must_use]
    pub fn pos(&self) -> Option<u8> {
        self.pos
    }

    /// Every other member of the node, in order.
    #[must_use]
    pub fn attributes(&self) -> &Object {
        &self.attributes
    }

    /// The entity that holds it.
    #[must_use]
    pub fn parent(&self) -> Option<EntityId> {
        self.parent
    }

    /// How it hangs on its parent.
    #[must_use]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Its name in the parent.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.link {
            Link::Member { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The entities below it, in order.
    #[must_use]
    pub fn children(&self) -> &[EntityId] {
        &self.children
    }

    /// Its stream.
    #[must_use]
    pub fn data(&self) -> Option<StreamId> {
        self.data
    }

    /// The summaries of its stream.
    #[must_use]
    pub fn summaries(&self) -> &[Summary] {
        &self.summaries
    }
}

/// A pyramid of coarser versions of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// What it summarises: `bit_and_or`, `range`, `skip`, or a name of later versions.
    pub key: Box<str>,
    /// log2 of the elements that one group of the first level stands for.
    pub base_level: Option<u8>,
    /// The streams of the levels, finest first.
    pub levels: Box<[StreamId]>,
    /// Members that are not understood.
    pub other: Object,
}

/// What a stream is to its entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its `data`.
    Data,
    /// A level of one of its summaries.
    Level {
        /// Index into [`Entity::summaries`].
        summary: u32,
        /// Index into [`Summary::levels`].
        level: u32,
    },
}

/// A stream as the schema describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    entity: EntityId,
    role: Role,
    descriptor: Result<Descriptor, Box<Fault>>,
}

/// A stream descriptor that is not understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Why.
    pub reason: Cow<'static, str>,
    /// The descriptor as it stands in the schema.
    pub raw: Value,
}

impl Stream {
    /// The entity that owns it.
    #[must_use]
    pub fn entity(&self) -> EntityId {
        self.entity
    }

    /// What it is to its entity.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Its descriptor.
    ///
    /// # Errors
    /// The [`Fault`] when it is not one.
    pub fn descriptor(&self) -> Result<&Descriptor, &Fault> {
        self.descriptor.as_ref().map_err(|fault| &**fault)
    }
}

impl Schema {
    /// Parses the decompressed schema.
    ///
    /// # Errors
    /// When it is not JSON, has no `entity`, or passes a bound of `limits`; see [`parse_json`].
    pub fn parse(text: &[u8], limits: &Limits) -> Result<Self, Error> {
        build::schema(parse_json(text, limits)?, limits)
    }

    /// The root of the tree.
    #[must_use]
    pub fn root(&self) -> EntityId {
        EntityId(0)
    }

    /// Every entity, parents before their children, in the order of the text.
    pub fn entities(&self) -> impl DoubleEndedIterator<Item = EntityId> + ExactSizeIterator + use<> {
        (0..self.entities.len() as u32).map(EntityId)
    }

    /// Every stream: those of an entity (its data, then its summary levels) before those of its children.
    pub fn streams(&self) -> impl ExactSizeIterator<Item = StreamId> + use<> {
        (0..self.streams.len() as u32).map(StreamId)
    }

    /// Members of the top-level object beside `entity`, in order.
    #[must_use]
    pub fn other(&self) -> &Object {
        &self.other
    }

    /// The first bit of a field in its element: its `pos`; without one, the sum of the widths before it in a
    /// `bit_struct` of dialect V, which has no `pos`, and 0 elsewhere.
    #[must_use]
    pub fn bit_position(&self, field: EntityId) -> u32 {
        self[field].place.position
    }

    /// Width of a field in bits.
    #[must_use]
    pub fn width(&self, field: EntityId) -> u32 {
        self[field].place.width
    }

    /// Computes the places of all fields, those below an entity before its own.
    fn lay_out(&mut self) {
        for id in self.entities().rev() {
            self.lay_out_below(id);
        }
    }

    /// Computes the positions of what is right below an entity, and its own width, from the widths below.
    fn lay_out_below(&mut self, id: EntityId) {
        let entity = &self[id];
        let packs = entity.kind == Kind::BitStruct && self.packs_fields(entity);
        let tag_bits = if let Kind::Tagged { tag_bits } = entity.kind { u32::from(tag_bits) } else { 0 };
        let (mut packed, mut end, mut widest) = (0_u32, 0, 0);
        let children = core::mem::take(&mut self.entities[id.0 as usize].children);
        for &EntityId(child) in &children {
            let child = &mut self.entities[child as usize];
            let width = child.place.width;
            child.place.position = child.pos.map_or(if packs { packed } else { tag_bits }, u32::from);
            packed = packed.saturating_add(width);
            end = end.max(child.place.position.saturating_add(width));
            widest = widest.max(width);
        }
        let entity = &mut self.entities[id.0 as usize];
        entity.children = children;
        entity.place.width = match entity.kind {
            Kind::Tagged { .. } => tag_bits.saturating_add(widest),
            Kind::BitStruct => end,
            ref kind => kind.width().unwrap_or(0).into(),
        };
        if entity.parent.is_none() {
            entity.place.position = entity.pos.unwrap_or(0).into();
        }
    }

    /// Whether the fields of a `bit_struct` follow one another without `pos`.
    fn packs_fields(&self, bit_struct: &Entity) -> bool {
        let mut owner = bit_struct;
        let data = loop {
            match (owner.data, owner.parent) {
                (Some(data), _) => break data,
                (None, Some(parent)) => owner = &self[parent],
                (None, None) => return false,
            }
        };
        let v001 = self[data].descriptor().is_ok_and(|descriptor| descriptor.dialect == Dialect::V001);
        v001 && bit_struct.children.iter().all(|&id| self[id].pos.is_none())
    }
}

impl Schema {
    /// Whether there is such an entity: an id may be of another schema.
    #[must_use]
    pub fn contains(&self, id: EntityId) -> bool {
        (id.0 as usize) < self.entities.len()
    }

    /// The stream, if there is one: an id may be of another schema.
    #[must_use]
    pub fn get_stream(&self, id: StreamId) -> Option<&Stream> {
        self.streams.get(id.0 as usize)
    }
}

impl Index<EntityId> for Schema {
    type Output = Entity;

    /// # Panics
    /// When the id is of another schema, which has more entities.
    fn index(&self, id: EntityId) -> &Entity {
        &self.entities[id.0 as usize]
    }
}

impl Index<StreamId> for Schema {
    type Output = Stream;

    /// # Panics
    /// When the id is of another schema, which has more streams.
    fn index(&self, id: StreamId) -> &Stream {
        &self.streams[id.0 as usize]
    }
}
