//! One row for each array and each metadata key.

use core_codec::stards::{Array, BASE_LAYER, Compression, DataType, Entry, Layer};
use serde_json::Value;

use super::Document;
use crate::output::{Row, row};

/// All items in file order: the arrays, those that layers inherit, then the metadata of each layer.
pub(super) fn all(document: &Document) -> impl Iterator<Item = Row> {
    let metadata = document.file.dataset().layers().iter().flat_map(|layer| {
        entries(document, layer).into_iter().map(|entry| {
            let mut line =
                row([("name", name(layer.name(), &entry.key).into()), ("kind", "metadata".into())]);
            match entry.value {
                Ok(value) => line.extend(row([
                    ("dtype", value.dtype().name().into()),
                    ("shape", shape(value.shape())),
                    ("raw", value.bytes().len().into()),
                ])),
                Err(error) => line.extend(row([("error", error.to_string().into())])),
            }
            line
        })
    });
    arrays(document).chain(metadata)
}

/// The arrays in file order, then those that layers inherit.
pub(super) fn arrays(document: &Document) -> impl Iterator<Item = Row> {
    let inherited = document.inherited().map(|(layer, inherited)| {
        let mut line = array(inherited.info());
        line.insert("name".into(), name(layer, inherited.info().key()).into());
        line
    });
    document.file.dataset().arrays().iter().map(array).chain(inherited)
}

/// What the index says about an array.
pub(super) fn array(array: &Array) -> Row {
    let code = |name: Option<&str>, code: u8| match name {
        Some(name) => Value::from(name),
        None => format!("unknown ({code})").into(),
    };
    let entry = array.entry();
    let mut line = row([
        ("name", array.name().into()),
        ("kind", "array".into()),
        ("dtype", code(array.dtype().map(DataType::name), entry.dtype)),
        ("shape", shape(array.shape())),
        ("codec", code(array.compression().map(Compression::name), entry.compression)),
        ("raw", entry.blocks.iter().fold(0u64, |sum, block| sum.saturating_add(block.decoded)).into()),
        ("stored", array.stored_len().into()),
        ("blocks", entry.blocks.len().into()),
    ]);
    if let Err(error) = array.content() {
        line.insert("error".into(), error.to_string().into());
    }
    line
}

/// The metadata of a layer. When its block cannot be read, each key that the registry lists has the reason.
pub(super) fn entries(document: &Document, layer: &Layer) -> Vec<Entry> {
    let file = &document.file;
    let read = match document.inherit {
        true => file.inherited_metadata(layer.name()),
        false => file.metadata(layer.name()),
    };
    let why = match read {
        Ok(entries) => return entries,
        Err(std_io::Error::Format(error)) => error,
        Err(error) => {
            core_codec::Error::new("metadata block", core_codec::ErrorKind::Invalid("cannot be had"))
                .detail(error.to_string())
        }
    };
    let keys = file.dataset().metadata_keys(layer);
    keys.map(|key| Entry { key: key.into(), value: Err(why.clone()) }).collect()
}

/// `key`, or `layer:key` in a named layer.
pub(super) fn name(layer: &str, key: &str) -> String {
    if layer == BASE_LAYER { key.to_owned() } else { format!("{layer}:{key}") }
}

pub(super) fn shape(shape: &[u64]) -> Value {
    shape.iter().copied().collect()
}
