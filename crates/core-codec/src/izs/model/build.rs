//! From JSON to the tree of entities.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::descriptor::brief;
use super::{
    Descriptor, Entity, EntityId, Fault, Kind, Link, Object, Opaque, Role, Schema, Stream, StreamId, Summary,
    Value,
};
use crate::error::{Error, ErrorKind};
use crate::izs::raw::Dialect;
use crate::limits::{self, Limits};

/// Keys of named entities below an entity.
const CONTAINERS: [&str; 3] = ["children", "variants", "values"];

/// Builds the tree. An entity takes several JSON values, so there may be a quarter as many as
/// [`Limits::entries`]; and the JSON pointers of all entities together are no longer than
/// [`Limits::metadata_bytes`], and the names that come with each stream no longer than four times that, so that
/// whoever lists them prints but a few times as much.
pub(super) fn schema(top: Value, limits: &Limits) -> Result<Schema, Error> {
    let Value::Object(mut other) = top else {
        return Err(Error::new("schema", ErrorKind::Invalid("expected a JSON object")));
    };
    let Some(root) = other.take("entity") else {
        return Err(Error::new("schema", ErrorKind::NotFound("member `entity`")));
    };
    let mut builder =
        Builder { entities: Vec::new(), streams: Vec::new(), limits, pointer_bytes: 0, stream_bytes: 0 };
    builder.add_entity(None, Link::Root, root, Place { in_element: false, pointer_len: 0 })?;
    let Builder { mut entities, mut streams, .. } = builder;
    entities.shrink_to_fit();
    streams.shrink_to_fit();
    let is_v001 =
        |stream: &Stream| stream.descriptor().is_ok_and(|descriptor| descriptor.dialect == Dialect::V001);
    let names = if streams.iter().any(is_v001) { Dialect::V001 } else { Dialect::Spec };
    let mut schema = Schema { entities, streams, other, names };
    schema.lay_out();
    Ok(schema)
}

struct Builder<'a> {
    entities: Vec<Entity>,
    streams: Vec<Stream>,
    limits: &'a Limits,
    /// Length of the JSON pointers of all entities.
    pointer_bytes: u64,
    /// Length of what a list of all streams repeats for each: its pointer and the name of the entity's type.
    stream_bytes: u64,
}

/// Where an entity stands.
#[derive(Clone, Copy)]
struct Place {
    /// In the elements of an entity above it, so that it has no stream of its own.
    in_element: bool,
    /// Length of the parent's JSON pointer.
    pointer_len: u64,
}

impl Builder<'_> {
    /// Adds the node and all below it. The depth of the recursion is that of the JSON text, which is bounded.
    fn add_entity(
        &mut self,
        parent: Option<EntityId>,
        link: Link,
        node: Value,
        mut place: Place,
    ) -> Result<EntityId, Error> {
        let id = EntityId(self.entities.len() as u32);
        place.pointer_len += pointer_step(&link);
        self.count_entity(place.pointer_len)?;
        self.entities.push(Entity {
            kind: Kind::Null,
            pos: None,
            place: Default::default(),
            attributes: Object::default(),
            parent,
            link,
            children: Box::default(),
            data: None,
            summaries: Box::default(),
        });
        let mut members = match node {
            Value::Object(members) => members,
            raw => {
                let reason = format!("expected an object, found {}", brief(&raw)).into();
                self.entity_mut(id).kind = Kind::Opaque(Box::new(Opaque { type_name: None, reason, raw }));
                return Ok(id);
            }
        };
        let mut kind = Kind::take(&mut members);
        self.count_streams(place.pointer_len, &kind, &members)?;
        let pos = take_pos(&mut kind, &mut members);
        let data = self.add_data(id, &kind, place.in_element, &mut members);
        self.entity_mut(id).data = data;
        if let Some(summaries) = members.take("summaries") {
            self.add_summaries(id, summaries, &mut members);
        }
        self.add_children(id, &mut kind, &mut members, place.pointer_len)?;
        let entity = self.entity_mut(id);
        (entity.kind, entity.pos, entity.attributes) = (kind, pos, members);
        Ok(id)
    }

    fn count_entity(&mut self, pointer_len: u64) -> Result<(), Error> {
        self.pointer_bytes = self.pointer_bytes.saturating_add(pointer_len);
        let entities = self.entities.len() as u64 + 1;
        limits::check("entities", entities, self.limits.entries / 4)
            .and(limits::check("bytes of all names", self.pointer_bytes, self.limits.metadata_bytes))
            .map_err(|kind| Error::new("schema", kind))?;
        Ok(())
    }

    /// Counts the streams of an entity before they are built.
    fn count_streams(&mut self, pointer_len: u64, kind: &Kind, members: &Object) -> Result<(), Error> {
        let own = pointer_len + kind.name().len() as u64;
        let summaries = members.get("summaries").and_then(Value::as_object);
        let levels = summaries.into_iter().flat_map(Object::iter).map(|(key, summary)| {
            let levels = match summary.as_object().and_then(|summary| summary.get("levels")) {
                Some(Value::Array(levels)) => levels.len() as u64,
                _ => 0,
            };
            levels.saturating_mul(own + key.len() as u64)
        });
        self.stream_bytes = levels.fold(self.stream_bytes.saturating_add(own), u64::saturating_add);
        limits::check("bytes of all names", self.stream_bytes, self.limits.metadata_bytes.saturating_mul(4))
            .map_err(|kind| Error::new("schema", kind))?;
        Ok(())
    }

    fn entity_mut(&mut self, id: EntityId) -> &mut Entity {
        &mut self.entities[id.0 as usize]
    }

    fn add_stream(&mut self, entity: EntityId, role: Role, value: Value) -> StreamId {
        let fault = |reason: String, raw| Err(Box::new(Fault { reason: reason.into(), raw }));
        let descriptor = match value {
            Value::Object(members) => match Descriptor::parse(members.clone()) {
                Ok(descriptor) => Ok(descriptor),
                Err(reason) => fault(reason, Value::Object(members)),
            },
            raw => fault(format!("expected an object, found {}", brief(&raw)), raw),
        };
        self.push_stream(entity, role, descriptor)
    }

    fn push_stream(
        &mut self,
        entity: EntityId,
        role: Role,
        descriptor: Result<Descriptor, Box<Fault>>,
    ) -> StreamId {
        let id = StreamId(self.streams.len() as u32);
        self.streams.push(Stream { entity, role, descriptor });
        id
    }

    /// A stream that must be there and is not is one that is not understood: it can be named in messages.
    /// `data` of an entity that is not understood is a stream only if it looks like one.
    fn add_data(
        &mut self,
        id: EntityId,
        kind: &Kind,
        in_element: bool,
        members: &mut Object,
    ) -> Option<StreamId> {
        let wanted = (kind.is_field() || matches!(kind, Kind::VariableArray | Kind::Union)) && !in_element;
        match members.take("data") {
            None | Some(Value::Null) => {
                let missing = Fault { reason: "`data` is missing".into(), raw: Value::Null };
                wanted.then(|| self.push_stream(id, Role::Data, Err(Box::new(missing))))
            }
            Some(data) if matches!(kind, Kind::Opaque(_)) && data.as_object().is_none() => {
                members.set("data", data);
                None
            }
            Some(data) => Some(self.add_stream(id, Role::Data, data)),
        }
    }

    fn add_summaries(&mut self, id: EntityId, summaries: Value, members: &mut Object) {
        let Value::Object(summaries) = summaries else {
            members.set("summaries", summaries);
            return;
        };
        let mut known = Vec::new();
        let mut others = Object::default();
        for (key, value) in summaries {
            match value {
                Value::Object(summary) if matches!(summary.get("levels"), Some(Value::Array(_))) => {
                    known.push(self.add_summary(id, known.len() as u32, key, summary));
                }
                other => others.set(&key, other),
            }
        }
        self.entity_mut(id).summaries = known.into();
        if !others.is_empty() {
            members.set("summaries", Value::Object(others));
        }
    }

    fn add_summary(&mut self, id: EntityId, summary: u32, key: Box<str>, mut other: Object) -> Summary {
        let base_level =
            other.get("base_level").and_then(Value::as_u64).and_then(|level| u8::try_from(level).ok());
        if base_level.is_some() {
            other.take("base_level");
        }
        let levels = match other.take("levels") {
            Some(Value::Array(levels)) => levels,
            _ => Vec::new(),
        };
        let levels = levels
            .into_iter()
            .enumerate()
            .map(|(level, value)| self.add_stream(id, Role::Level { summary, level: level as u32 }, value));
        Summary { key, base_level, levels: levels.collect(), other }
    }

    /// Adds what hangs below the node; a known kind that lacks what it must have below becomes opaque.
    fn add_children(
        &mut self,
        id: EntityId,
        kind: &mut Kind,
        members: &mut Object,
        pointer_len: u64,
    ) -> Result<(), Error> {
        let mut children = Vec::new();
        let place = Place { in_element: matches!(kind, Kind::BitStruct | Kind::Tagged { .. }), pointer_len };
        let may_hold_inner = may_hold(kind, "child");
        for (container, may_hold) in CONTAINERS.map(|container| (container, may_hold(kind, container))) {
            if !may_hold {
                continue;
            }
            match members.take(container) {
                Some(Value::Object(named)) if !matches!(kind, Kind::Opaque(_)) || holds_objects(&named) => {
                    for (name, node) in named {
                        let link = Link::Member { container, name };
                        children.push(self.add_entity(Some(id), link, node, place)?);
                    }
                }
                Some(other) => {
                    make_opaque(kind, format!("`{container}`: expected an object, found {}", brief(&other)));
                    members.set(container, other);
                }
                None => make_opaque(kind, format!("`{container}` is missing")),
            }
        }
        if may_hold_inner {
            let key = if members.get("child").is_some() { "child" } else { "inner" };
            match members.take(key) {
                Some(node @ Value::Object(_)) => {
                    children.push(self.add_entity(Some(id), Link::Inner(key), node, place)?);
                }
                Some(other) => {
                    make_opaque(kind, format!("`{key}`: expected an object, found {}", brief(&other)));
                    members.set(key, other);
                }
                None => make_opaque(kind, "`child` is missing".into()),
            }
        }
        self.entity_mut(id).children = children.into();
        Ok(())
    }
}

/// What a link adds to a JSON pointer, escapes aside.
fn pointer_step(link: &Link) -> u64 {
    let bytes = match link {
        Link::Root => "/entity".len(),
        Link::Inner(key) => 1 + key.len(),
        Link::Member { container, name } => 2 + container.len() + name.len(),
    };
    bytes as u64
}

/// Whether entities hang below `kind` under `key`.
fn may_hold(kind: &Kind, key: &str) -> bool {
    match kind {
        Kind::Group | Kind::Record | Kind::BitStruct => key == "children",
        Kind::Union => key == "variants",
        Kind::Tagged { .. } => key == "values",
        Kind::Tuple { .. } | Kind::FixedArray { .. } | Kind::VariableArray => key == "child",
        Kind::Opaque(_) => true,
        _ => false,
    }
}

fn holds_objects(members: &Object) -> bool {
    members.iter().all(|(_, value)| value.as_object().is_some())
}

fn make_opaque(kind: &mut Kind, reason: String) {
    if !matches!(kind, Kind::Opaque(_)) {
        *kind = Kind::opaque(Some(kind.name().into()), reason);
    }
}

/// `pos` belongs to fields; elsewhere it is an attribute like any other. A field that is nowhere is not understood.
fn take_pos(kind: &mut Kind, members: &mut Object) -> Option<u8> {
    let pos = members.get("pos").filter(|_| kind.is_field())?;
    let Some(bit) = pos.as_u64().filter(|pos| *pos < 64) else {
        make_opaque(kind, format!("`pos`: expected 0 to 63, found {}", brief(pos)));
        return None;
    };
    members.take("pos");
    Some(bit as u8)
}
