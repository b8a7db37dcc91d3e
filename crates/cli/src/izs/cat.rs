//! The values of one stream.

use std::io::Write;

use anyhow::Context as _;
use core_codec::izs::Element;
use core_codec::izs::model::{EntityId, Field, FieldValue, Role, Schema, StreamId, Target};
use std_io::IzsFile;

use crate::args::{CatFormat, Span};
use crate::output;

/// What `cat` prints: a stream, and how to name and read the parts of its elements.
struct Columns<'a> {
    stream: StreamId,
    /// Empty: the plain elements.
    fields: Vec<Field<'a>>,
}

pub(super) fn print(
    file: &IzsFile,
    item: Option<&str>,
    span: &Span,
    format: CatFormat,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let schema = file.schema();
    let columns = resolve(schema, item)?;
    let stream = file.stream(columns.stream)?;
    let range = span.within(stream.len())?;
    let names: Vec<String> = columns.fields.iter().map(|field| name(schema, field.entity)).collect();
    if format == CatFormat::Csv {
        let header: Vec<_> = names.iter().map(|name| output::csv_field(name)).collect();
        writeln!(out, "index,{}", if header.is_empty() { "value".into() } else { header.join(",") })?;
    }
    let element = stream.descriptor().element;
    stream.for_each_part(range, |elements, bytes| -> anyhow::Result<()> {
        if format == CatFormat::Raw {
            return Ok(out.write_all(bytes)?);
        }
        for (index, value) in elements.zip(numbers(element, bytes)) {
            match format {
                CatFormat::Ndjson => ndjson(out, index, value, &names, &columns.fields)?,
                _ => csv(out, index, value, &columns.fields)?,
            }
        }
        Ok(())
    })
}

/// Finds the item; without one, the only entity with data.
fn resolve<'a>(schema: &'a Schema, item: Option<&str>) -> anyhow::Result<Columns<'a>> {
    let target = match item {
        Some(item) => schema.find_item(item).with_context(|| format!("no such item: {item}"))?,
        None => {
            let mut data = schema.streams().filter(|&id| schema[id].role() == Role::Data);
            match (data.next(), data.next()) {
                (Some(only), None) => Target::Entity(schema[only].entity()),
                (None, _) => anyhow::bail!("the file has no stream"),
                _ => anyhow::bail!("the file has several streams: name one (`tripoint ls` lists them)"),
            }
        }
    };
    match target {
        Target::Stream(stream) => Ok(Columns { stream, fields: Vec::new() }),
        Target::Entity(entity) => {
            let fields = schema.fields(entity);
            let (stream, fields) = fields
                .with_context(|| format!("{} has no stream of its own", schema.entity_pointer(entity)))?;
            Ok(Columns { stream, fields })
        }
    }
}

fn name(schema: &Schema, entity: EntityId) -> String {
    schema[entity].name().unwrap_or("value").to_owned()
}

/// The elements as numbers.
pub(super) fn numbers(element: Element, bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(element.size().into()).map(|element| {
        let mut wide = [0; 8];
        wide[..element.len()].copy_from_slice(element);
        u64::from_le_bytes(wide)
    })
}

fn csv(out: &mut dyn Write, index: u64, element: u64, fields: &[Field]) -> anyhow::Result<()> {
    write!(out, "{index}")?;
    if fields.is_empty() {
        write!(out, ",{element}")?;
    }
    for field in fields {
        match field.value(element) {
            FieldValue::Null => write!(out, ",")?,
            FieldValue::Bit(bit) => write!(out, ",{}", u8::from(bit))?,
            FieldValue::Unsigned(value) => write!(out, ",{value}")?,
            FieldValue::Signed(value) => write!(out, ",{value}")?,
            FieldValue::Single(value) => write!(out, ",{value}")?,
            FieldValue::Double(value) => write!(out, ",{value}")?,
            FieldValue::Name(name) => write!(out, ",{}", output::csv_field(name))?,
        }
    }
    Ok(writeln!(out)?)
}

fn ndjson(
    out: &mut dyn Write,
    index: u64,
    element: u64,
    names: &[String],
    fields: &[Field],
) -> anyhow::Result<()> {
    let mut line = output::row([("index", index.into())]);
    if fields.is_empty() {
        line.insert("value".into(), element.into());
    }
    for (name, field) in names.iter().zip(fields) {
        line.insert(name.clone(), json(field.value(element)));
    }
    output::json_line(out, &line)
}

/// Floats that JSON cannot hold (NaN, infinities) become null.
fn json(value: FieldValue) -> serde_json::Value {
    match value {
        FieldValue::Null => serde_json::Value::Null,
        FieldValue::Bit(bit) => u8::from(bit).into(),
        FieldValue::Unsigned(value) => value.into(),
        FieldValue::Signed(value) => value.into(),
        // The shortest digits of the single, not those of the double that equals it.
        FieldValue::Single(value) => value.to_string().parse::<f64>().ok().into(),
        FieldValue::Double(value) => value.into(),
        FieldValue::Name(name) => name.into(),
    }
}
