//! One row for each array and each metadata key.

use core_codec::stards::{Array, Compression, DataType, Entry, Layer};
use serde_json::Value;

use super::Document;
use super::names::{Kind, Place};
use crate::output::{Row, row};

/// All items in file order: the arrays, those that layers inherit, then the metadata of each layer.
pub(super) fn all(document: &Document) -> impl Iterator<Item = Row> {
    // Goes through all metadata, of which no more than one layer's is to be in memory.
    let names = document.ambiguous();
    let metadata = document.file.dataset().layers().iter().flat_map(|layer| {
        entries(document, layer).map(|entry| {
            let name = names.name(&metadata_place(layer, &entry));
            let mut line = row([("name", name.into()), ("kind", Kind::Metadata.name().into())]);
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

/// The arrays in file order, then those that layers inherit. An array that a later one of the same key hides is none.
pub(super) fn arrays(document: &Document) -> impl Iterator<Item = Row> {
    document.arrays().map(|(layer, array)| {
        let place = Place { kind: Kind::Array, layer: layer.name(), key: array.info().key() };
        let name = document.ambiguous().name(&place);
        let mut line = row([("name", name.into()), ("kind", Kind::Array.name().into())]);
        line.extend(described(array.info()));
        line
    })
}

/// Calls `each` for every item, in the same order.
pub(super) fn places(document: &Document, each: &mut dyn FnMut(Place<'_>)) {
    for (layer, array) in document.arrays() {
        each(Place { kind: Kind::Array, layer: layer.name(), key: array.info().key() });
    }
    for layer in document.file.dataset().layers() {
        entries(document, layer).for_each(|entry| each(metadata_place(layer, &entry)));
    }
}

fn metadata_place<'a>(layer: &'a Layer, entry: &'a Entry) -> Place<'a> {
    Place { kind: Kind::Metadata, layer: layer.name(), key: &entry.key }
}

/// What the index says about an array.
pub(super) fn described(array: &Array) -> Row {
    let code = |name: Option<&str>, code: u8| match name {
        Some(name) => Value::from(name),
        None => format!("unknown ({code})").into(),
    };
    let entry = array.entry();
    let mut line = row([
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
pub(super) fn entries<'a>(document: &'a Document, layer: &'a Layer) -> Box<dyn Iterator<Item = Entry> + 'a> {
    let file = &document.file;
    let read = match document.inherit {
        true => file.inherited_metadata(layer.name()),
        false => file.metadata(layer.name()),
    };
    let why = match read {
        Ok(entries) => return Box::new(entries.into_iter()),
        Err(std_io::Error::Format(error)) => error,
        Err(error) => {
            core_codec::Error::new("metadata block", core_codec::ErrorKind::Invalid("cannot be had"))
                .detail(error.to_string())
        }
    };
    let keys = file.dataset().metadata_keys(layer);
    Box::new(keys.map(move |key| Entry { key: key.into(), value: Err(why.clone()) }))
}

pub(super) fn shape(shape: &[u64]) -> Value {
    shape.iter().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_codec::stards::{BASE_LAYER, Draft};
    use std_io::{Input, StardsWriter};

    /// What goes through all metadata is done before a value is in memory, which can be as large as the file.
    #[test]
    fn names_are_made_before_metadata_is_held() {
        let mut draft = Draft::new();
        draft.set_metadata(BASE_LAYER, "a", 7u8).unwrap();
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        StardsWriter::new(&draft).save(&path).unwrap();
        let document = Document::open(Input::open(&path, std_io::Access::Map).unwrap(), false).unwrap();
        let rows = all(&document);
        assert!(document.ambiguous.get().is_some());
        assert_eq!(rows.count(), 1);
    }
}
