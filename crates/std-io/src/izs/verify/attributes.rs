//! Values of attributes that mean something to readers.

use std::collections::HashSet;

use core_codec::izs::Dialect;
use core_codec::izs::model::{EntityId, Kind, Rate, Value};

use super::{Verifier, brief};

/// Attributes of numbers.
const OF_NUMBERS: [&str; 5] = ["number:scale", "number:offset", "number:min", "number:max", "number:range"];

impl Verifier<'_> {
    /// Whether attributes that have a meaning can be made use of.
    pub(super) fn attributes(&mut self, id: EntityId) {
        let (pointer, entity) = (self.schema.entity_pointer(id), &self.schema[id]);
        for (name, value) in entity.attributes().iter() {
            if let Some(what) = unreadable_by_reference(value) {
                self.warning(pointer, format!("crate iguazu reads no file with {what}, as in {name:?}"));
            } else if let Some(expected) = self.expected(id, name, value) {
                self.warning(pointer, format!("{name:?}: expected {expected}, found {}", brief(value)));
            }
        }
        if let Kind::Tuple { fields } = entity.kind() {
            for (field, attributes) in fields {
                for (name, value) in attributes.iter() {
                    if let Some(what) = unreadable_by_reference(value) {
                        let place = format!("{name:?} of its field {field:?}");
                        let message = format!("crate iguazu reads no file with {what}, as in {place}");
                        self.warning(pointer, message);
                    }
                }
            }
        }
        self.numbers(id);
        self.tuple_scales(id);
        self.template(id);
    }

    /// What the value of an attribute should be, where it is not.
    pub(super) fn expected(&self, id: EntityId, name: &str, value: &Value) -> Option<&'static str> {
        let is_v001 = self.dialect == Some(Dialect::V001);
        let is_one_of = |names: &[&str]| value.as_str().is_some_and(|name| names.contains(&name));
        let (fits, expected) = match name {
            "time:rate" | "sample_rate" => {
                (value.as_f64().and_then(Rate::from_hertz).is_some(), "a rate in hertz")
            }
            "time:epoch" => (self.schema.epoch(id).is_some(), "a date and time of RFC 3339"),
            "time:display" => (is_one_of(&["iso", "relative", "raw"]), "\"iso\", \"relative\" or \"raw\""),
            // Other entities may have other roles.
            "core:role" if matches!(self.schema[id].kind(), Kind::Group | Kind::Record) => {
                (is_one_of(&["record", "capture"]), "\"record\" or \"capture\"")
            }
            "number:min" | "number:max" => (value.as_f64().is_some(), "a number"),
            "number:range" => {
                let has = |key| value.as_object().and_then(|range| range.get(key)?.as_f64()).is_some();
                (has("min") && has("max"), "an object of the numbers \"min\" and \"max\"")
            }
            "core:text"
            | "display:color"
            | "display:timeline:row"
            | "display:accent_color"
            | "display:timeline_row" => (value.as_str().is_some(), "a string"),
            "text" if is_v001 => (value.as_str().is_some(), "a string"),
            "display:layout" | "display:default" => (value.as_object().is_some(), "an object"),
            _ => return None,
        };
        (!fits).then_some(expected)
    }

    /// Whether scales and ranges belong to a number.
    fn numbers(&mut self, id: EntityId) {
        let (pointer, entity) = (self.schema.entity_pointer(id), &self.schema[id]);
        let attributes = entity.attributes();
        let named = OF_NUMBERS.into_iter().find(|name| attributes.get(name).is_some());
        if let Err(found) = self.schema.scale(id) {
            self.error(pointer, found.to_string());
        } else if let Some(name) = named
            && !is_number(entity.kind())
        {
            let message = format!("{name:?} of type {:?}, which is no number", entity.kind().name());
            self.warning(pointer, message);
        }
        let range = attributes.get("number:range").and_then(Value::as_object);
        let bound =
            |own: &str, name| range.and_then(|range| range.get(name)).or(attributes.get(own))?.as_f64();
        if let (Some(min), Some(max)) = (bound("number:min", "min"), bound("number:max", "max"))
            && min > max
        {
            self.warning(pointer, format!("a range of numbers from {min} to {max}"));
        }
    }

    /// Whether the scales that the fields of a `tuple` give its elements are the only ones, and of numbers.
    fn tuple_scales(&mut self, id: EntityId) {
        let pointer = self.schema.entity_pointer(id);
        let scales = match self.schema.tuple_scales(id) {
            Ok(scales) => scales,
            Err(found) => return self.error(pointer, found.to_string()),
        };
        if scales.iter().all(|scale| scale.is_identity()) {
            return;
        }
        let Some(&child) = self.schema[id].children().first() else { return };
        if !is_number(self.schema[child].kind()) {
            let found = self.schema[child].kind().name();
            self.warning(pointer, format!("its fields have scales, but its child is {found:?}, no number"));
        } else if self.schema.scale(child).is_ok_and(|scale| !scale.is_identity()) {
            self.warning(pointer, "both its fields and its child have scales");
        }
    }

    /// Whether the names in braces that the text of an entity is made of are those of its children.
    fn template(&mut self, id: EntityId) {
        let entity = &self.schema[id];
        let name = if self.dialect == Some(Dialect::V001) { "text" } else { "core:text" };
        let Some(text) = entity.attributes().get(name).and_then(Value::as_str) else { return };
        // Any name stands for what is in an array.
        if !matches!(entity.kind(), Kind::Group | Kind::Record) {
            return;
        }
        let children: HashSet<_> = entity.children().iter().map(|&child| self.schema[child].name()).collect();
        if let Some(missing) = names_in(text).find(|name| !children.contains(&Some(*name))) {
            let message = format!("{name:?} has {missing:?} in braces, which is no child");
            self.warning(self.schema.entity_pointer(id), message);
        }
    }
}

/// The names in braces, of which `{{` is none, nor is `{}`, the entity itself.
fn names_in(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        loop {
            let (_, rest) = text.split_once('{')?;
            if let Some(rest) = rest.strip_prefix('{') {
                text = rest;
                continue;
            }
            let (name, rest) = rest.split_once('}')?;
            text = rest;
            if !name.is_empty() {
                return Some(name);
            }
        }
    })
}

/// What is not understood may be one.
fn is_number(kind: &Kind) -> bool {
    matches!(kind, Kind::Int { .. } | Kind::Signed { .. } | Kind::Float32 | Kind::Float64 | Kind::Opaque(_))
}

/// What crate `iguazu` fails on in the value of an attribute.
fn unreadable_by_reference(value: &Value) -> Option<&'static str> {
    match value {
        Value::Null => Some("null"),
        Value::Number(_) if value.as_f64().is_none() => Some("a number beyond the range of a double"),
        Value::Negative(_) => Some("a negative integer (it reads it with a fraction, -5.0)"),
        Value::Array(values) => values.iter().find_map(unreadable_by_reference),
        Value::Object(members) => members.iter().find_map(|(_, value)| unreadable_by_reference(value)),
        _ => None,
    }
}
