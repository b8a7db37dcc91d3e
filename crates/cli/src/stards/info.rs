//! The overview.

use std::collections::BTreeMap;
use std::io::Write;

use core_codec::stards::{Compression, Tensor};
use serde_json::Value;

use super::{Document, items, values};
use crate::document::Outcome;
use crate::human;
use crate::output::{Row, Widths, cut, plain, printable, row};

/// Elements of a metadata value that the overview shows.
const SHOWN: usize = 8;

pub(super) fn json(document: &Document) -> (Row, Outcome) {
    let dataset = document.file.dataset();
    let arrays: Vec<Row> = items::arrays(document).collect();
    let mut outcome = arrays.iter().fold(Outcome::Done, Outcome::and);
    let layer = |layer| {
        let metadata = items::entries(document, layer).into_iter().map(|entry| {
            let value = match &entry.value {
                Ok(value) => row([
                    ("dtype", value.dtype().name().into()),
                    ("shape", items::shape(value.shape())),
                    ("value", values::nested(value)),
                ]),
                Err(error) => row([("error", error.to_string().into())]),
            };
            outcome = outcome.and(&value);
            (String::from(entry.key), Value::Object(value))
        });
        let codec = match layer.has_metadata() {
            true => Compression::from_code(layer.compression_code()).map(Compression::name),
            false => None,
        };
        Value::Object(row([
            ("name", layer.name().into()),
            ("metadata_codec", codec.into()),
            ("metadata_stored", layer.stored_len().into()),
            ("metadata", Value::Object(metadata.collect())),
        ]))
    };
    let overview = row([
        ("format", "stards".into()),
        ("version", core_codec::stards::raw::VERSION.into()),
        ("size", document.file.input().len().into()),
        ("header", dataset.header().header_size.into()),
        ("layers", dataset.layers().iter().map(layer).collect()),
        ("arrays", arrays.into_iter().map(Value::Object).collect()),
    ]);
    (overview, outcome)
}

pub(super) fn print(document: &Document, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let dataset = document.file.dataset();
    let rows: Vec<Row> = items::arrays(document).collect();
    let mut outcome = rows.iter().fold(Outcome::Done, Outcome::and);
    let size = human::counted(document.file.input().len(), "byte");
    writeln!(out, "StarDS version {}, {size}", core_codec::stards::raw::VERSION)?;
    let mut counts = BTreeMap::new();
    let own = document.file.arrays().map(|array| array.layer());
    own.chain(document.inherited().map(|(layer, _)| layer))
        .for_each(|layer| *counts.entry(layer).or_default() += 1);
    for layer in dataset.layers() {
        let entries = items::entries(document, layer);
        writeln!(
            out,
            "layer {}: {}, {}",
            printable(layer.name()),
            human::counted(counts.get(layer.name()).copied().unwrap_or(0), "array"),
            human::counted(entries.len() as u64, "metadata key")
        )?;
        for entry in entries {
            match entry.value {
                Ok(value) => writeln!(out, "  {} = {}", printable(&entry.key), short(&value))?,
                Err(error) => {
                    outcome = Outcome::Failed;
                    writeln!(out, "  {}: {}", printable(&entry.key), printable(&error.to_string()))?;
                }
            }
        }
    }
    let mut widths = Widths::default();
    rows.iter().for_each(|row| widths.measure(row));
    widths.print_names(out)?;
    rows.iter().try_for_each(|row| widths.print(out, row))?;
    Ok(outcome)
}

/// The first elements of a value.
fn short(value: &Tensor) -> String {
    let shown = values::elements(value)
        .take(SHOWN)
        .map(|element| cut(&plain(&element)))
        .collect::<Vec<_>>()
        .join(" ");
    let more = if value.elements() > SHOWN as u64 { " ..." } else { "" };
    match value.shape() {
        [] => format!("{shown} ({})", value.dtype()),
        shape => format!("{shown}{more} ({} of {})", value.dtype(), plain(&items::shape(shape))),
    }
}
