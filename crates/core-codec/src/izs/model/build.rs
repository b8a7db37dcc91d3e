//! From JSON to the tree of entities.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::descriptor::brief;
use super::{
    Descriptor, Entity, EntityId, Fault, Kind, Link, Object, Role, Schema, Stream, StreamId, Summary, Value,
};
use crate::error::{Error, ErrorKind};

/// Keys of named entities below an entity.
const CONTAINERS: [&str; 3] = ["children", "variants", "values"];

pub(super) fn schema(top: Value) -> Result<Schema, Error> {
    let Value::Object(mut other) = top else {
        return Err(Error::new("schema", ErrorKind::Invalid("expected a JSON object")));
    };
    let Some(root) = other.take("entity") else {
        return Err(Error::new("schema", ErrorKind::NotFound("member `entity`")));
    };
    let mut schema = Schema { entities: Vec::new(), streams: Vec::new(), other };
    schema.add_entity(None, Link::Root, root);
    schema.entities.shrink_to_fit();
    Ok(schema)
}

impl Schema {
    /// Adds the node and all below it. The depth of the recursion is that of the JSON text, which is bounded.
    fn add_entity(&mut self, parent: Option<EntityId>, link: Link, node: Value) -> EntityId {
        let id = EntityId(self.entities.len() as u32);
        self.entities.push(Entity {
            kind: Kind::Null,
            pos: None,
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
                let mut kind = Kind::opaque(None, format!("expected an object, found {}", brief(&raw)));
                if let Kind::Opaque(opaque) = &mut kind {
                    opaque.raw = raw;
                }
                self.entity_mut(id).kind = kind;
                return id;
            }
        };
        let mut kind = Kind::take(&mut members);
        let pos = take_pos(&kind, &mut members);
        let data = members.take("data").and_then(|data| self.add_data(id, &mut kind, data, &mut members));
        self.entity_mut(id).data = data;
        if let Some(summaries) = members.take("summaries") {
            self.add_summaries(id, summaries, &mut members);
        }
        self.add_children(id, &mut kind, &mut members);
        let entity = self.entity_mut(id);
        (entity.kind, entity.pos, entity.attributes) = (kind, pos, members);
        id
    }

    fn entity_mut(&mut self, id: EntityId) -> &mut Entity {
        &mut self.entities[id.0 as usize]
    }

    fn add_stream(&mut self, entity: EntityId, role: Role, value: Value) -> StreamId {
        let id = StreamId(self.streams.len() as u32);
        let fault = |reason: String, raw| Err(Box::new(Fault { reason: reason.into(), raw }));
        let descriptor = match value {
            Value::Object(members) => match Descriptor::parse(members.clone()) {
                Ok(descriptor) => Ok(descriptor),
                Err(reason) => fault(reason, Value::Object(members)),
            },
            raw => fault(format!("expected an object, found {}", brief(&raw)), raw),
        };
        self.streams.push(Stream { entity, role, descriptor });
        id
    }

    /// `data` of an entity that is not understood is a stream only if it looks like one.
    fn add_data(
        &mut self,
        id: EntityId,
        kind: &mut Kind,
        data: Value,
        members: &mut Object,
    ) -> Option<StreamId> {
        if matches!(kind, Kind::Opaque(_)) && data.as_object().is_none() {
            members.set("data", data);
            return None;
        }
        if data == Value::Null {
            return None;
        }
        Some(self.add_stream(id, Role::Data, data))
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
    fn add_children(&mut self, id: EntityId, kind: &mut Kind, members: &mut Object) {
        let mut children = Vec::new();
        let may_hold_inner = may_hold(kind, "child");
        for (container, may_hold) in CONTAINERS.map(|container| (container, may_hold(kind, container))) {
            if !may_hold {
                continue;
            }
            match members.take(container) {
                Some(Value::Object(named)) if !matches!(kind, Kind::Opaque(_)) || holds_objects(&named) => {
                    for (name, node) in named {
                        children.push(self.add_entity(Some(id), Link::Member { container, name }, node));
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
                    children.push(self.add_entity(Some(id), Link::Inner(key), node));
                }
                Some(other) => {
                    make_opaque(kind, format!("`{key}`: expected an object, found {}", brief(&other)));
                    members.set(key, other);
                }
                None => make_opaque(kind, "`child` is missing".into()),
            }
        }
        self.entity_mut(id).children = children.into();
    }
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

/// `pos` belongs to fields; elsewhere it is an attribute like any other.
fn take_pos(kind: &Kind, members: &mut Object) -> Option<u8> {
    let pos = members.get("pos").and_then(Value::as_u64).filter(|pos| kind.is_field() && *pos < 64)?;
    members.take("pos");
    Some(pos as u8)
}
