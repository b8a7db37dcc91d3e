//! The values of one item.

use std::io::Write;
use std::ops::Range;

use anyhow::Context as _;
use core_codec::ErrorKind;
use core_codec::izs::model::{
    EntityId, Field, FieldValue, Kind, Role, Schema, StreamId, Target, Value, distinct_names,
};
use std_io::{Error, IzsFile, numbers};

use super::items;
use crate::args::{CatFormat, Span};
use crate::document::WrongUsage;
use crate::output::{self, Row};

/// Rows of nested values that are read at once, at first.
const ROWS: u64 = 1 << 16;

/// Bytes of decoded blocks that are kept for the columns of a record, of however small a file.
const KEPT: u64 = 64 << 20;

pub(super) fn print(
    file: &IzsFile,
    item: Option<&str>,
    span: &Span,
    format: CatFormat,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let schema = file.schema();
    match resolve(schema, item)? {
        Target::Stream(stream) => elements(file, stream, &[], span, format, out),
        Target::Entity(entity) if format != CatFormat::Raw && is_nested(schema[entity].kind()) => {
            rows(file, entity, span, format, out)
        }
        Target::Entity(entity) => {
            let (stream, fields) = schema.fields(entity).with_context(|| {
                format!("{} has no stream of its own: name one below it", schema.entity_pointer(entity))
            })?;
            elements(file, stream, &fields, span, format, out)
        }
    }
}

/// Finds the item; without one, what is at the root, or the only stream below it.
fn resolve(schema: &Schema, item: Option<&str>) -> anyhow::Result<Target> {
    if let Some(item) = item {
        return items::find(schema, item).with_context(|| format!("no such item: {item}"));
    }
    if !matches!(schema[schema.root()].kind(), Kind::Group) {
        return Ok(Target::Entity(schema.root()));
    }
    let mut data = schema.streams().filter(|&id| schema[id].role() == Role::Data);
    match (data.next(), data.next()) {
        (Some(only), None) => Ok(Target::Entity(schema[only].entity())),
        (None, _) => anyhow::bail!("the file has no stream"),
        _ => anyhow::bail!(WrongUsage(
            "the file has several streams: name one (`tripoint ls` lists them)".into()
        )),
    }
}

/// Whether an element is more than the fields of one number.
fn is_nested(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Group
            | Kind::Record
            | Kind::Tuple { .. }
            | Kind::FixedArray { .. }
            | Kind::VariableArray
            | Kind::Tagged { .. }
    )
}

/// Prints the elements of a stream, in one column for each field; without fields, as they are.
fn elements(
    file: &IzsFile,
    stream: StreamId,
    fields: &[Field],
    span: &Span,
    format: CatFormat,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let stream = file.stream(stream)?;
    let range = span.within(stream.len())?;
    let name = |field: &Field| file.schema()[field.entity].name().unwrap_or("value");
    let names = distinct_names(fields.iter().map(name)).into_iter().map(String::from).collect::<Vec<_>>();
    if format == CatFormat::Csv {
        csv_header(out, &names)?;
    }
    let index_name = output::free_name("index", &names);
    let element = stream.descriptor().element;
    stream.for_each_part(range, |elements, bytes| -> anyhow::Result<()> {
        if format == CatFormat::Raw {
            return Ok(out.write_all(bytes)?);
        }
        for (index, value) in elements.zip(numbers(element, bytes)) {
            match format {
                CatFormat::Ndjson => {
                    let line = output::row([(&*index_name, index.into())]);
                    ndjson(out, line, value, &names, fields)?;
                }
                _ => csv(out, index, value, fields)?,
            }
        }
        Ok(())
    })
}

fn csv_header(out: &mut dyn Write, names: &[String]) -> anyhow::Result<()> {
    let header: Vec<_> = names.iter().map(|name| output::csv_field(name)).collect();
    let values = if header.is_empty() { "value".into() } else { header.join(",") };
    Ok(writeln!(out, "{},{values}", output::free_name("index", names))?)
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
            FieldValue::Single(value) => write!(out, ",{}", output::float_text(value))?,
            FieldValue::Double(value) => write!(out, ",{}", output::float_text(value))?,
            FieldValue::Name(name) => write!(out, ",{}", output::csv_field(name))?,
        }
    }
    Ok(writeln!(out)?)
}

/// Prints `line` with the fields of the element.
fn ndjson(
    out: &mut dyn Write,
    mut line: Row,
    element: u64,
    names: &[String],
    fields: &[Field],
) -> anyhow::Result<()> {
    if fields.is_empty() {
        line.insert("value".into(), element.into());
    }
    for (name, field) in names.iter().zip(fields) {
        line.insert(name.clone(), json(field.value(element)));
    }
    output::json_line(out, &line)
}

fn json(value: FieldValue) -> serde_json::Value {
    match value {
        FieldValue::Null => serde_json::Value::Null,
        FieldValue::Bit(bit) => u8::from(bit).into(),
        FieldValue::Unsigned(value) => value.into(),
        FieldValue::Signed(value) => value.into(),
        FieldValue::Single(value) => output::single_json(value),
        FieldValue::Double(value) => output::double_json(value),
        FieldValue::Name(name) => name.into(),
    }
}

/// Prints nested values: records and tuples in columns, anything deeper as JSON in its column.
fn rows(
    file: &IzsFile,
    entity: EntityId,
    span: &Span,
    format: CatFormat,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let range = span.within(file.rows(entity)?)?;
    prepare(file, entity)?;
    let names = column_names(file.schema(), entity);
    if format == CatFormat::Csv {
        csv_header(out, &names)?;
    }
    let index_name = output::free_name("index", &names);
    let mut next = range.start;
    let mut most = ROWS;
    while next < range.end {
        let part = next..range.end.min(next.saturating_add(most));
        match file.values(entity, part.clone()) {
            Ok(values) => {
                next = part.end;
                print_rows(part, &index_name, &values, !names.is_empty(), format, out)?;
            }
            Err(Error::Format(error)) if most > 1 && matches!(error.kind(), ErrorKind::Limit { .. }) => {
                most /= 8;
                most = most.max(1);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Sees that reading the rows part by part decodes no block again and again: each column has room for its block,
/// and all columns together decode no more than a file of this length can hold.
fn prepare(file: &IzsFile, entity: EntityId) -> Result<(), Error> {
    let schema = file.schema();
    let mut budget = file.budget();
    let mut blocks = 0_u64;
    for id in schema.streams().filter(|&id| schema[id].role() == Role::Data) {
        let mut above = std::iter::successors(Some(schema[id].entity()), |&id| schema[id].parent());
        if !above.any(|above| above == entity) {
            continue;
        }
        // What is wrong with a stream is said when it is read.
        let Ok(stream) = file.stream(id) else { continue };
        budget.charge(&stream)?;
        let of = stream.descriptor();
        blocks = blocks.saturating_add(of.block.min(of.end).saturating_mul(of.element.size().into()));
    }
    let most = KEPT.max(file.input().len().saturating_mul(4).min(1 << 30));
    file.reserve_block_cache(usize::try_from(blocks.min(most)).unwrap_or(usize::MAX));
    Ok(())
}

fn column_names(schema: &Schema, entity: EntityId) -> Vec<String> {
    match schema[entity].kind() {
        Kind::Group | Kind::Record => {
            let children = schema[entity].children().iter();
            children.map(|&child| schema[child].name().unwrap_or_default().to_owned()).collect()
        }
        Kind::Tuple { fields } => {
            let names = distinct_names(fields.iter().map(|(name, _)| &**name));
            names.into_iter().map(String::from).collect()
        }
        _ => Vec::new(),
    }
}

fn print_rows(
    rows: Range<u64>,
    index_name: &str,
    values: &[Value],
    in_columns: bool,
    format: CatFormat,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    for (index, value) in rows.zip(values) {
        if format == CatFormat::Ndjson {
            let mut line = output::row([(index_name, index.into())]);
            match value {
                Value::Object(members) if in_columns => {
                    for (name, value) in members.iter() {
                        line.insert(name.to_owned(), nested_json(value)?);
                    }
                }
                value => {
                    line.insert("value".into(), nested_json(value)?);
                }
            }
            output::json_line(out, &line)?;
            continue;
        }
        write!(out, "{index}")?;
        match value {
            Value::Object(members) if in_columns => {
                for (_, value) in members.iter() {
                    write!(out, ",{}", csv_value(value)?)?;
                }
            }
            value => write!(out, ",{}", csv_value(value)?)?,
        }
        writeln!(out)?;
    }
    Ok(())
}

fn csv_value(value: &Value) -> anyhow::Result<String> {
    Ok(match value {
        Value::Null => String::new(),
        Value::String(text) => output::csv_field(text),
        Value::Float(number) => output::float_text(number),
        other => output::csv_field(&nested_json(other)?.to_string()),
    })
}

/// A value of a row, with its floats as everywhere.
fn nested_json(value: &Value) -> anyhow::Result<serde_json::Value> {
    Ok(match value {
        Value::Float(number) => output::double_json(*number),
        Value::Array(values) => values.iter().map(nested_json).collect::<Result<_, _>>()?,
        Value::Object(members) => {
            let member = |(name, value): (&str, &Value)| Ok((name.to_owned(), nested_json(value)?));
            serde_json::Value::Object(members.iter().map(member).collect::<anyhow::Result<_>>()?)
        }
        plain => serde_json::to_value(plain)?,
    })
}
