//! One row for each stream.

use core_codec::izs::model::{EntityId, Role, Schema, StreamId, Target};
use std_io::IzsFile;

use crate::output::{Row, row};

/// What the root is called.
pub(super) const ROOT: &str = ".";

/// The name of an entity, as `cat` takes it: its path, or its JSON pointer where the path leads elsewhere.
fn name(schema: &Schema, entity: EntityId) -> String {
    if entity == schema.root() {
        return ROOT.into();
    }
    let path = schema.entity_path(entity).to_string();
    match find(schema, &path) {
        Some(Target::Entity(found)) if found == entity => path,
        _ => schema.entity_pointer(entity).to_string(),
    }
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
