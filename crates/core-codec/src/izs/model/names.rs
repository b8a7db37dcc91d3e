//! Names of attributes that differ between the dialects.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Entity, EntityId, Kind, Object, Schema, Value};
use crate::izs::raw::Dialect;

/// The same attribute in dialect S and in dialect V.
const RENAMED: [(&str, &str); 5] = [
    ("core:text", "text"),
    ("time:field", "time"),
    ("display:color", "display:accent_color"),
    ("display:layout", "display:default"),
    ("display:timeline:row", "display:timeline_row"),
];

/// The attributes of an entity by the names of `dialect`.
pub(super) fn attributes_of(schema: &Schema, id: EntityId, dialect: Dialect) -> Vec<(Box<str>, Value)> {
    let entity = &schema[id];
    let attributes = entity.attributes.iter();
    if schema.names == dialect {
        return attributes.map(|(key, value)| (key.into(), value.clone())).collect();
    }
    let mut named: Vec<(Box<str>, Value)> = match dialect {
        Dialect::Spec => attributes.flat_map(|(key, value)| to_spec(&entity.kind, key, value)).collect(),
        Dialect::V001 => attributes.flat_map(|(key, value)| to_v001(&entity.kind, key, value)).collect(),
    };
    if dialect == Dialect::V001 {
        join_range(&mut named);
    }
    drop_repeated(&mut named);
    named
}

/// Kind and attributes of an entity with the names of dialect S, by those of dialect V.
pub(super) fn in_v001(schema: &Schema, id: EntityId) -> (Kind, Object) {
    let entity = &schema[id];
    let is_record = entity.attributes.get("core:role").and_then(Value::as_str) == Some("record");
    let kind = if entity.kind == Kind::Group && is_record { Kind::Record } else { entity.kind.clone() };
    let attributes = entity.attributes.iter().flat_map(|(key, value)| to_v001(&entity.kind, key, value));
    let mut named = attributes.collect();
    join_range(&mut named);
    drop_repeated(&mut named);
    (kind, named.into_iter().collect())
}

/// Sets an attribute, named as in dialect S, of an entity with the names of dialect V.
pub(super) fn set_in_v001(entity: &mut Entity, key: &str, value: Value) {
    for (key, value) in to_v001(&entity.kind, key, &value) {
        entity.attributes.set(&key, value);
    }
    let mut named = core::mem::take(&mut entity.attributes).into_iter().collect();
    join_range(&mut named);
    entity.attributes = named.into_iter().collect();
}

fn to_spec(kind: &Kind, key: &str, value: &Value) -> Vec<(Box<str>, Value)> {
    if key == "number:range"
        && let Value::Object(range) = value
        && range.len() == 2
        && let (Some(min), Some(max)) = (range.get("min"), range.get("max"))
    {
        return [("number:min".into(), min.clone()), ("number:max".into(), max.clone())].into();
    }
    let key = match RENAMED.iter().find(|(_, v001)| *v001 == key) {
        Some((spec, _)) => spec,
        None if key == "sample_rate" && !matches!(kind, Kind::Timestamp) => "time:rate",
        None => key,
    };
    [(key.into(), value.clone())].into()
}

fn to_v001(kind: &Kind, key: &str, value: &Value) -> Vec<(Box<str>, Value)> {
    if key == "core:role" && value.as_str() == Some("record") && *kind == Kind::Group {
        return Vec::new();
    }
    let key = match RENAMED.iter().find(|(spec, _)| *spec == key) {
        Some((_, v001)) => v001,
        // The rate of a timestamp's ticks has the same name in both.
        None if key == "time:rate" && !matches!(kind, Kind::Timestamp) => "sample_rate",
        None => key,
    };
    [(key.into(), value.clone())].into()
}

/// Puts `number:range` in the place of the first of `number:min` and `number:max`, where both are there.
fn join_range(named: &mut Vec<(Box<str>, Value)>) {
    let place = |named: &[(Box<str>, Value)], key: &str| named.iter().position(|(name, _)| &**name == key);
    let (Some(min), Some(max)) = (place(named, "number:min"), place(named, "number:max")) else { return };
    let members = [("min".into(), named[min].1.clone()), ("max".into(), named[max].1.clone())];
    let range = Value::Object(members.into_iter().collect::<Object>());
    named[min.min(max)] = ("number:range".into(), range);
    named.remove(min.max(max));
}

/// Of an attribute that came under both of its names the first stays.
fn drop_repeated(named: &mut Vec<(Box<str>, Value)>) {
    let mut seen: Vec<Box<str>> = Vec::new();
    named.retain(|(name, _)| {
        let known = RENAMED.iter().any(|(spec, v001)| *spec == &**name || *v001 == &**name)
            || matches!(&**name, "sample_rate" | "time:rate" | "number:range" | "number:min" | "number:max");
        if !known {
            return true;
        }
        let first = !seen.contains(name);
        if first {
            seen.push(name.clone());
        }
        first
    });
}
