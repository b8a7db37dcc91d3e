//! From JSON to the tree of entities.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::builder::entity;
use super::descriptor::brief;
use super::kind::inner_key;
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
/// [`Limits::metadata_bytes`], nor are the names that come with each stream, so that whoever lists them prints but a
/// few times as much.
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
    /// In the elements of an entity above it, so that it has no stream of its own; or maybe so, below a node that is
    /// not understood.
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
        self.entities.push(entity(Kind::Null, parent, link));
        let mut members = match node {
            Value::Object(members) => members,
            raw => {
                let reason = format!("expected an object, found {}", brief(&raw)).into();
                self.entity_mut(id).kind = Kind::Opaque(Box::new(Opaque { type_name: None, reason, raw }));
                return Ok(id);
            }
        };
        let kind = Kind::take(&mut members);
        self.check_name(kind.name())?;
        self.count_streams(place.pointer_len, &kind, &members)?;
        let pos = take_pos(&kind, &mut members);
        let data = self.add_data(id, &kind, place.in_element, &mut members);
        self.entity_mut(id).data = data;
        if let Some(summaries) = members.take("summaries") {
            self.add_summaries(id, summaries, &mut members);
        }
        self.add_children(id, &kind, &mut members, place.pointer_len)?;
        let entity = self.entity_mut(id);
        (entity.kind, entity.pos, entity.attributes) = (kind, pos, members);
        Ok(id)
    }

    fn check_name(&self, name: &str) -> Result<(), Error> {
        limits::check("bytes of a name", name.len() as u64, self.limits.name_bytes)
            .map(drop)
            .map_err(|kind| Error::new("schema", kind))
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
        limits::check("bytes of all names", self.stream_bytes, self.limits.metadata_bytes)
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
        let stays = match members.get("data") {
            Some(Value::Object(_)) | None => false,
            // What is null where no stream belongs is kept as it is.
            Some(Value::Null) => !wanted,
            Some(_) => matches!(kind, Kind::Opaque(_)),
        };
        if stays {
            return None;
        }
        match members.take("data") {
            None | Some(Value::Null) => {
                let missing = Fault { reason: "`data` is missing".into(), raw: Value::Null };
                wanted.then(|| self.push_stream(id, Role::Data, Err(Box::new(missing))))
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
        let mut others = Vec::new();
        for (key, value) in summaries {
            match value {
                Value::Object(summary) if matches!(summary.get("levels"), Some(Value::Array(_))) => {
                    known.push(self.add_summary(id, known.len() as u32, key, summary));
                }
                other => others.push((key, other)),
            }
        }
        self.entity_mut(id).summaries = known.into();
        if !others.is_empty() {
            members.set("summaries", Value::Object(others.into_iter().collect()));
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

    /// Adds what hangs below the node.
    fn add_children(
        &mut self,
        id: EntityId,
        kind: &Kind,
        members: &mut Object,
        pointer_len: u64,
    ) -> Result<(), Error> {
        let mut children = Vec::new();
        let in_element = matches!(kind, Kind::BitStruct | Kind::Tagged { .. } | Kind::Opaque(_));
        let place = Place { in_element, pointer_len };
        for container in CONTAINERS {
            if !holds_named(kind, members, container) {
                continue;
            }
            let Some(Value::Object(named)) = members.take(container) else { continue };
            for (name, node) in named {
                let link = Link::Member { container, name };
                children.push(self.add_entity(Some(id), link, node, place)?);
            }
        }
        let key = inner_key(members);
        let holds_inner = kind.has_inner() || matches!(kind, Kind::Opaque(_));
        if holds_inner
            && members.get(key).is_some_and(|node| node.as_object().is_some())
            && let Some(node) = members.take(key)
        {
            children.push(self.add_entity(Some(id), Link::Inner(key), node, place)?);
        }
        self.entity_mut(id).children = children.into();
        Ok(())
    }
}

/// Whether named entities hang below a node of this kind under `key`. Below one that is not understood they do
/// when all that is there looks like one.
fn holds_named(kind: &Kind, members: &Object, key: &str) -> bool {
    let objects = || members.get(key).and_then(Value::as_object).is_some_and(holds_objects);
    kind.container() == Some(key) || (matches!(kind, Kind::Opaque(_)) && objects())
}

fn holds_objects(members: &Object) -> bool {
    !members.is_empty() && members.iter().all(|(_, value)| value.as_object().is_some())
}

/// `pos` belongs to fields; elsewhere it is an attribute like any other.
fn take_pos(kind: &Kind, members: &mut Object) -> Option<u8> {
    if !kind.is_field() {
        return None;
    }
    // Of a field it was seen to be one of the bits of an element.
    members.take("pos").and_then(|pos| pos.as_u64()).map(|pos| pos as u8)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::izs::schema::MAX_BLOCK_BYTES;

    #[test]
    fn members_of_summaries_take_no_longer_than_their_text() {
        let members: Vec<_> = (0..200_000).map(|number| format!("\"{number}\":0")).collect();
        let text = format!(
            r#"{{"entity":{{"type":"group","children":{{}},"summaries":{{{}}}}}}}"#,
            members.join(",")
        );
        let schema = Schema::parse(text.as_bytes(), &Limits::default()).unwrap();
        let kept = schema[schema.root()].attributes().get("summaries").and_then(Value::as_object);
        assert_eq!(kept.map(Object::len), Some(200_000));
    }

    /// What is below a node that is not understood may lie in its elements.
    #[test]
    fn below_what_is_not_understood_no_stream_is_missed() {
        let tagged = |bits: u32| {
            let text = format!(
                r#"{{"entity":{{"type":"tagged","tag_bits":{bits},"values":{{"a":{{"type":"bits","bits":2}}}},
                "data":{{}}}}}}"#
            );
            Schema::parse(text.as_bytes(), &Limits::default()).unwrap()
        };
        for (bits, is_understood) in [(1, true), (65, false)] {
            let schema = tagged(bits);
            let is_opaque = matches!(schema[schema.root()].kind(), Kind::Opaque(_));
            assert_eq!((is_opaque, schema.streams().len()), (!is_understood, 1), "{bits}");
        }
    }

    #[test]
    fn readers_take_what_writers_write() {
        assert_eq!(MAX_BLOCK_BYTES, Limits::default().block_bytes);
    }
}
