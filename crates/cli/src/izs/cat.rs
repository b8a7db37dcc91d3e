//! The values of one item.

use std::io::Write;
use std::ops::Range;

use anyhow::Context as _;
use core_codec::ErrorKind;
use core_codec::izs::model::{
    EntityId, Field, FieldValue, Kind, Moment, Role, Schema, StreamId, Target, Value, distinct_names,
};
use std_io::{Error, Event, IzsFile, numbers};

use super::items;
use crate::args::{CatFormat, Meaning, Span};
use crate::document::{CatRequest, WrongUsage, expect_usage};
use crate::output::{self, Row};

/// Rows of nested values that are read at once, at first.
const ROWS: u64 = 1 << 16;

/// Bytes of decoded blocks that are kept for the columns of a record together.
const KEPT: usize = 64 << 20;

pub(super) fn print(file: &IzsFile, request: &CatRequest, out: &mut dyn Write) -> anyhow::Result<()> {
    let schema = file.schema();
    let CatRequest { range, format, meaning, .. } = *request;
    let in_rows = *meaning != Meaning::default();
    expect_usage(!in_rows || format != CatFormat::Raw, "raw bytes have no --scaled, --times or --events")?;
    match resolve(schema, request.item)? {
        Target::Stream(stream) => {
            expect_usage(!in_rows, "--scaled, --times and --events are for entities, not for bare streams")?;
            elements(file, stream, &[], range, format, out)
        }
        Target::Entity(entity) if format != CatFormat::Raw && (in_rows || is_nested(schema, entity)) => {
            rows(&Table::new(file, entity, *meaning)?, range, format, out)
        }
        Target::Entity(entity) => {
            let (stream, fields) = schema.fields(entity).with_context(|| {
                format!("{} has no stream of its own: name one below it", schema.entity_pointer(entity))
            })?;
            elements(file, stream, &fields, range, format, out)
        }
    }
}

/// Finds the item; without one, what is at the root, or the only stream below it.
fn resolve(schema: &Schema, item: Option<&str>) -> anyhow::Result<Target> {
    if let Some(item) = item {
        return items::find(schema, item).with_context(|| format!("no such item: {item}"));
    }
    let root = &schema[schema.root()];
    let role = root.attributes().get("core:role").and_then(Value::as_str);
    if *root.kind() != Kind::Group || role == Some("record") {
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

/// Whether an element is more than the plain fields of one number.
fn is_nested(schema: &Schema, entity: EntityId) -> bool {
    match schema[entity].kind() {
        Kind::BitStruct => {
            let fields = schema.fields(entity).map(|(_, fields)| fields).unwrap_or_default();
            fields.iter().any(|field| matches!(field.kind, Kind::Tagged { .. }))
        }
        Kind::Group
        | Kind::Record
        | Kind::Union
        | Kind::Tuple { .. }
        | Kind::FixedArray { .. }
        | Kind::VariableArray
        | Kind::Tagged { .. } => true,
        _ => false,
    }
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
    let index_name = output::free_name("index", &names);
    if format == CatFormat::Csv {
        csv_header(out, &index_name, &names)?;
    }
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

fn csv_header(out: &mut dyn Write, index: &str, names: &[String]) -> anyhow::Result<()> {
    let header: Vec<_> = names.iter().map(|name| output::csv_field(name)).collect();
    let values = if header.is_empty() { "value".into() } else { header.join(",") };
    Ok(writeln!(out, "{index},{values}")?)
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

/// What is printed in rows.
struct Table<'a> {
    file: &'a IzsFile,
    entity: EntityId,
    meaning: Meaning,
    /// A value has a column for each member.
    is_wide: bool,
    /// Names of all columns but the index.
    columns: Vec<String>,
    index: String,
}

impl<'a> Table<'a> {
    fn new(file: &'a IzsFile, entity: EntityId, meaning: Meaning) -> anyhow::Result<Self> {
        let mut columns =
            if meaning.events { event_columns(file, entity)? } else { members(file.schema(), entity) };
        let is_wide = !columns.is_empty();
        if !is_wide {
            let name = file.schema()[entity].name().filter(|_| file.schema()[entity].kind().is_field());
            columns.push(name.unwrap_or("value").to_owned());
        }
        if meaning.times {
            columns.insert(0, output::free_name("time", &columns));
        }
        let index = output::free_name("index", &columns);
        Ok(Self { file, entity, meaning, is_wide, columns, index })
    }

    fn times(&self, part: Range<u64>) -> Result<Vec<Moment>, Error> {
        if self.meaning.times { self.file.times(self.entity, part) } else { Ok(Vec::new()) }
    }

    fn values(&self, part: Range<u64>) -> Result<Vec<Value>, Error> {
        if self.meaning.events {
            return Ok(self.file.events(self.entity, part)?.into_iter().map(event).collect());
        }
        if self.meaning.scaled {
            self.file.scaled_values(self.entity, part)
        } else {
            self.file.values(self.entity, part)
        }
    }

    fn print(
        &self,
        rows: Range<u64>,
        times: &[Moment],
        values: &[Value],
        format: CatFormat,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let mut times = times.iter();
        for (index, value) in rows.zip(values) {
            let time = times.next().map(Moment::to_string);
            let cells: Vec<&Value> = match value {
                Value::Object(members) if self.is_wide => members.iter().map(|(_, value)| value).collect(),
                Value::Array(columns) if self.meaning.events => columns.iter().collect(),
                value => vec![value],
            };
            if format == CatFormat::Ndjson {
                let mut line = output::row([(&*self.index, index.into())]);
                let cells = cells.into_iter().map(super::json);
                let values = time.map(serde_json::Value::from).into_iter().chain(cells);
                line.extend(self.columns.iter().cloned().zip(values));
                output::json_line(out, &line)?;
                continue;
            }
            write!(out, "{index}")?;
            if let Some(time) = time {
                write!(out, ",{time}")?;
            }
            for value in cells {
                write!(out, ",{}", csv_value(value))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// An event as the values of its columns.
fn event(event: Event) -> Value {
    let times = [Some(event.start), event.end].into_iter().flatten().map(Value::from);
    Value::Array(times.chain(event.fields.into_iter().map(|(_, value)| value)).collect())
}

/// Prints nested values: records and tuples in columns, anything deeper as JSON in its column.
fn rows(table: &Table, span: &Span, format: CatFormat, out: &mut dyn Write) -> anyhow::Result<()> {
    let range = span.within(table.file.rows(table.entity)?)?;
    check_expansion(table.file, table.entity)?;
    table.file.reserve_block_cache(KEPT);
    let mut next = range.start;
    let mut most = ROWS;
    // What cannot be had of any row, not even of none, is an error before the header.
    let mut is_started = false;
    while next < range.end || !is_started {
        let part = next..range.end.min(next.saturating_add(most));
        let times = table.times(part.clone());
        match times.and_then(|times| Ok((times, table.values(part.clone())?))) {
            Ok((times, values)) => {
                if !std::mem::replace(&mut is_started, true) && format == CatFormat::Csv {
                    csv_header(out, &table.index, &table.columns)?;
                }
                next = part.end;
                table.print(part, &times, &values, format, out)?;
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

/// Sees that all columns together decode no more than a file of this length can hold.
fn check_expansion(file: &IzsFile, entity: EntityId) -> Result<(), Error> {
    let mut budget = file.budget();
    // What is wrong with a stream is said when it is read.
    file.streams_below(entity).filter_map(|id| file.stream(id).ok()).try_for_each(|of| budget.charge(&of))
}

/// Names of the columns of a value that has several.
fn members(schema: &Schema, entity: EntityId) -> Vec<String> {
    let names = match schema[entity].kind() {
        Kind::Group | Kind::Record => {
            let children = schema[entity].children().iter();
            return children.map(|&child| schema[child].name().unwrap_or_default().to_owned()).collect();
        }
        Kind::Tuple { fields } => distinct_names(fields.iter().map(|(name, _)| &**name)),
        Kind::BitStruct => {
            schema.fields(entity).map(|(_, fields)| schema.field_names(&fields)).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    names.into_iter().map(String::from).collect()
}

/// `start`, `end` where events have one, and the names of the other fields.
fn event_columns(file: &IzsFile, record: EntityId) -> anyhow::Result<Vec<String>> {
    let schema = file.schema();
    let time = file.time_field(record)?;
    let others = schema[record].children().iter().filter(|&&child| child != time.entity);
    let mut names: Vec<_> =
        others.map(|&child| schema[child].name().unwrap_or_default().to_owned()).collect();
    let mut times = vec![output::free_name("start", &names)];
    if time.is_span {
        times.push(output::free_name("end", &names));
    }
    times.append(&mut names);
    Ok(times)
}

fn csv_value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => output::csv_field(text),
        Value::Float(number) => output::float_text(number),
        other => output::csv_field(&super::json(other).to_string()),
    }
}
