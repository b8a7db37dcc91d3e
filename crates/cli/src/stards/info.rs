//! The overview.

use std::collections::BTreeMap;
use std::io::Write;

use core_codec::stards::{Compression, Layer, Tensor};
use serde_json::Value;

use super::{Document, items, values};
use crate::document::Outcome;
use crate::human;
use crate::output::{Row, Widths, plain, printable, row};

/// Elements of a metadata value that the overview shows.
const SHOWN: usize = 8;

/// Prints one JSON object, member after member: a file can name a long key in each of many layers.
pub(super) fn json(document: &Document, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let dataset = document.file.dataset();
    let head = row([
        ("format", "stards".into()),
        ("version", core_codec::stards::raw::VERSION.into()),
        ("size", document.file.input().len().into()),
        ("header", dataset.header().header_size.into()),
    ]);
    let mut outcome = Outcome::Done;
    open(out, &head, "layers", "[")?;
    let mut separator = "";
    for layer in dataset.layers() {
        write!(out, "{separator}")?;
        outcome = layer_json(document, layer, out, outcome)?;
        separator = ",";
    }
    write!(out, "],\"arrays\":[")?;
    separator = "";
    for line in items::arrays(document) {
        outcome = outcome.and(&line);
        write!(out, "{separator}{}", Value::Object(line))?;
        separator = ",";
    }
    writeln!(out, "]}}")?;
    Ok(outcome)
}

fn layer_json(
    document: &Document,
    layer: &Layer,
    out: &mut dyn Write,
    mut outcome: Outcome,
) -> anyhow::Result<Outcome> {
    let codec = match layer.has_metadata() {
        true => Compression::from_code(layer.compression_code()).map(Compression::name),
        false => None,
    };
    let head = row([
        ("name", layer.name().into()),
        ("metadata_codec", codec.into()),
        ("metadata_stored", layer.stored_len().into()),
    ]);
    open(out, &head, "metadata", "{")?;
    let mut separator = "";
    for entry in items::entries(document, layer) {
        write!(out, "{separator}")?;
        values::write_json_text(out, &entry.key)?;
        write!(out, ":")?;
        match &entry.value {
            Ok(value) => {
                let head =
                    row([("dtype", value.dtype().name().into()), ("shape", items::shape(value.shape()))]);
                open(out, &head, "value", "")?;
                values::write_nested(out, value)?;
                write!(out, "}}")?;
            }
            Err(error) => {
                let value = row([("error", error.to_string().into())]);
                outcome = outcome.and(&value);
                write!(out, "{}", Value::Object(value))?;
            }
        }
        separator = ",";
    }
    write!(out, "}}}}")?;
    Ok(outcome)
}

/// Starts an object that has the members of `head`, and a last one that starts with `bracket`.
fn open(out: &mut dyn Write, head: &Row, last: &str, bracket: &str) -> anyhow::Result<()> {
    let head = Value::Object(head.clone()).to_string();
    let members = head.strip_suffix('}').unwrap_or(&head);
    Ok(write!(out, "{members},\"{last}\":{bracket}")?)
}

pub(super) fn print(document: &Document, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let dataset = document.file.dataset();
    let mut outcome = Outcome::Done;
    let size = human::counted(document.file.input().len(), "byte");
    writeln!(out, "StarDS version {}, {size}", core_codec::stards::raw::VERSION)?;
    let mut counts = BTreeMap::new();
    // By address: names can be long and alike.
    document.arrays().for_each(|(layer, _)| *counts.entry(std::ptr::from_ref(layer)).or_default() += 1);
    for layer in dataset.layers() {
        let entries: Vec<_> = items::entries(document, layer).collect();
        writeln!(
            out,
            "layer {}: {}, {}",
            printable(layer.name()),
            human::counted(counts.get(&std::ptr::from_ref(layer)).copied().unwrap_or(0), "array"),
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
    for row in items::arrays(document) {
        outcome = outcome.and(&row);
        widths.measure(&row);
    }
    widths.print_names(out)?;
    items::arrays(document).try_for_each(|row| widths.print(out, &row))?;
    Ok(outcome)
}

/// The first elements of a value.
fn short(value: &Tensor) -> String {
    let shown =
        values::elements(value).take(SHOWN).map(|element| element.shown()).collect::<Vec<_>>().join(" ");
    let more = if value.elements() > SHOWN as u64 { " ..." } else { "" };
    match value.shape() {
        [] => format!("{shown} ({})", value.dtype()),
        shape => format!("{shown}{more} ({} of {})", value.dtype(), plain(&items::shape(shape))),
    }
}
