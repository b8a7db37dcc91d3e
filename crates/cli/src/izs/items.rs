//! One row for each stream.

use core_codec::izs::model::{EntityId, Link, Role, Schema, StreamId, Target};
use std_io::IzsFile;

use crate::output::{Row, row};

/// What the root is called.
pub(super) const ROOT: &str = ".";

/// The name of an entity, as `cat` takes it: its path, or its JSON pointer where the path could lead elsewhere.
fn name(schema: &Schema, entity: EntityId) -> String {
    let is_plain = match schema[entity].link() {
        Link::Root if schema.find(ROOT).is_none() => return ROOT.into(),
        Link::Root => false,
        _ => std::iter::successors(Some(entity), |&id| schema[id].parent()).all(|id| is_plain(schema, id)),
    };
    if is_plain { schema.entity_path(entity).to_string() } else { schema.entity_pointer(entity).to_string() }
}

/// Whether the name of an entity is one step of a path, and no other beside it has it.
fn is_plain(schema: &Schema, id: EntityId) -> bool {
    let entity = &schema[id];
    let (Link::Member { container, name }, Some(parent)) = (entity.link(), entity.parent()) else {
        return true;
    };
    let other = |&sibling: &EntityId| matches!(schema[sibling].link(), Link::Member { container: other, .. } if other != container);
    let siblings = schema[parent].children();
    // Members of one container have different names, and stand together.
    let alone = !siblings.first().is_some_and(other) && !siblings.last().is_some_and(other);
    alone && !name.is_empty() && !name.contains('/')
}

/// What an item is that [`name`] or `digest` printed.
pub(super) fn find(schema: &Schema, item: &str) -> Option<Target> {
    let root = || (item == ROOT).then(|| Target::Entity(schema.root()));
    schema.find_item(item).or_else(root)
}

/// What the schema says about a stream.
pub(super) fn stream(file: &IzsFile, id: StreamId) -> Row {
    let schema = file.schema();
    let entity = schema[id].entity();
    let mut line =
        row([("name", name(schema, entity).into()), ("kind", schema[entity].kind().to_string().into())]);
    if let Role::Level { summary, level } = schema[id].role() {
        let key = &schema[entity].summaries()[summary as usize].key;
        line.insert("summary".into(), format!("{key} {level}").into());
    }
    match schema[id].descriptor() {
        Ok(descriptor) => line.extend(row([
            ("element", descriptor.element.name().into()),
            ("end", descriptor.end.into()),
            ("block", descriptor.block.into()),
            ("blocks", descriptor.blocks().into()),
            ("compress", descriptor.compress.to_string().into()),
        ])),
        Err(fault) => {
            line.insert("error".into(), (*fault.reason).into());
        }
    }
    if let Err(error) = file.stream(id)
        && schema[id].descriptor().is_ok()
    {
        line.insert("error".into(), error.to_string().into());
    }
    line.insert("stream".into(), schema.stream_pointer(id).to_string().into());
    line
}
