//! Keys of the JSON text that the model no longer shows.

use std::fmt;

use core_codec::codec::zstd;
use core_codec::izs::Dialect;
use core_codec::izs::model::{Object, Value, parse_json, repeated_keys};

use super::{Verifier, token};
use crate::error::Error;

/// Two names for the same member of a stream descriptor.
const SAME_KEYS: [[&str; 2]; 5] = [
    ["end", "end_idx"],
    ["i_offset", "root"],
    ["i_size", "root_len"],
    ["block", "block_size"],
    ["element", "element_type"],
];

/// Objects and arrays inside of one another that the reference reads.
const MOST_LEVELS: usize = 127;

/// Where a value stands in the text, as a JSON pointer.
#[derive(Clone, Copy)]
struct Place<'p> {
    above: Option<&'p Place<'p>>,
    key: &'p str,
}

impl<'p> Place<'p> {
    fn below(&'p self, key: &'p str) -> Self {
        Self { above: Some(self), key }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(above) = self.above {
            above.fmt(f)?;
        }
        write!(f, "/{}", token(self.key))
    }
}

impl Verifier<'_> {
    /// Whether each object of the schema has each key but once, and all keys are those of one dialect.
    pub(super) fn keys(&mut self) -> Result<(), Error> {
        let (file, limits) = (self.file, &self.file.limits);
        let stored = file.input.run(|source| Ok(source.bytes(file.izs.schema_bytes())?.to_vec()))?;
        let text = zstd::decode_bounded(&stored, limits.metadata_bytes)
            .map_err(|kind| core_codec::Error::new("schema", kind))?;
        for key in repeated_keys(&text, limits)? {
            let message =
                format!("the schema repeats key {key:?} in an object: readers may take either value");
            self.warning("", message);
        }
        let text = parse_json(&text, limits)?;
        let levels = levels(&text);
        if levels > MOST_LEVELS {
            let message = format!(
                "the schema has {levels} levels of objects and arrays: crate iguazu reads {MOST_LEVELS}"
            );
            self.warning("", message);
        }
        if let Value::Object(top) = text
            && let Some(Value::Object(root)) = top.get("entity")
        {
            self.node_keys(root, Place { above: None, key: "entity" });
        }
        Ok(())
    }

    /// The keys of a node and of all below it. The recursion is as deep as the text, which its parser has bounded.
    fn node_keys(&mut self, node: &Object, place: Place) {
        self.later_names(node, place);
        for (key, value) in node.iter() {
            let Value::Object(members) = value else { continue };
            let below = place.below(key);
            match key {
                "data" => self.descriptor_keys(members, below),
                "summaries" => {
                    members.iter().for_each(|(key, summary)| self.level_keys(summary, below.below(key)));
                }
                "children" | "variants" | "values" => {
                    for (name, node) in members.iter() {
                        if let Value::Object(node) = node {
                            self.node_keys(node, below.below(name));
                        }
                    }
                }
                "child" | "inner" => self.node_keys(members, below),
                _ => {}
            }
        }
    }

    /// Newer texts have other names for what is below an array or a tuple, which the released crate does not know.
    fn later_names(&mut self, node: &Object, place: Place) {
        let is_type = |names: &[&str]| {
            node.get("type").and_then(Value::as_str).is_some_and(|name| names.contains(&name))
        };
        if self.dialect != Some(Dialect::V001) || !is_type(&["tuple", "fixed_array", "variable_array"]) {
            return;
        }
        if node.get("inner").is_some() && node.get("child").is_none() {
            self.warning(place, "expected \"child\", found \"inner\": crate iguazu does not read the file");
        }
        if is_type(&["tuple"]) && !matches!(node.get("fields"), Some(Value::Object(_))) {
            let message = "expected an object \"fields\": crate iguazu does not read the file without";
            self.warning(place, message);
        }
    }

    fn level_keys(&mut self, summary: &Value, place: Place) {
        let Some(Value::Array(levels)) = summary.as_object().and_then(|summary| summary.get("levels")) else {
            return;
        };
        let place = place.below("levels");
        for (number, level) in levels.iter().enumerate() {
            if let Value::Object(level) = level {
                self.descriptor_keys(level, place.below(&number.to_string()));
            }
        }
    }

    /// Whether a stream descriptor has one name for each thing, since readers refuse a second; and, with the names of
    /// the specification, all that it lists.
    fn descriptor_keys(&mut self, descriptor: &Object, place: Place) {
        let has = |key: &str| descriptor.get(key).is_some();
        for [a, b] in SAME_KEYS.into_iter().filter(|[a, b]| has(a) && has(b)) {
            self.warning(
                place,
                format!("a stream descriptor has both {a:?} and {b:?}: the reference refuses it"),
            );
        }
        let is_spec = ["end", "i_offset", "i_size"].iter().all(|key| has(key)) && !has("end_idx");
        if is_spec && !has("i_compress") {
            self.warning(place, "\"i_compress\" is missing, which the specification lists; read as \"none\"");
        }
    }
}

/// How many objects and arrays lie inside of one another. The recursion is as deep as that, which the parser has bounded.
fn levels(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(levels).max().unwrap_or(0),
        Value::Object(members) => 1 + members.iter().map(|(_, value)| levels(value)).max().unwrap_or(0),
        _ => 0,
    }
}
