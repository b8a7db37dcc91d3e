//! The overview: the tree of entities, with a sketch of each trace.

use std::collections::HashMap;
use std::io::Write;

use core_codec::izs::Dialect;
use core_codec::izs::model::{Clock, Descriptor, EntityId, Kind, Object, Role, Schema, StreamId, Value};
use serde_json::Value as Json;
use std_io::{Basis, IzsFile, Trace};

use crate::document::Outcome;
use crate::human;
use crate::izs::items;
use crate::output::{self, Row, cut, printable, row};
use crate::sparkline;

/// Columns of a sketch.
const WIDTH: u64 = 64;

/// What all sketches together may cost, in decoded bytes; see [`IzsFile::overview`]. A file that decodes to
/// [`SMALL`] is sketched from all its elements.
const BUDGET: u64 = 72 << 20;

/// Decoded bytes of a file of which all can be read.
const SMALL: u64 = 64 << 20;

/// Texts of an array of characters that are shown.
const TEXTS: u64 = 4;

/// What a sketch may cost when an equal part is not even this: enough for a few samples.
const LEAST: u64 = 2 << 20;

/// What an index entry costs that is added up to find the stored size of a stream.
const ENTRY: u64 = 16;

/// One row after the other: there may be more streams than are well held at once.
pub(super) fn json(file: &IzsFile, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let schema = file.schema();
    let head = row([
        ("format", "izs".into()),
        ("dialect", dialect(schema).into()),
        ("size", file.input().len().into()),
    ]);
    open_object(&head, out)?;
    write!(out, ",\"schema\":")?;
    entity_json(schema, schema.root(), out)?;
    write!(out, ",\"streams\":[")?;
    let mut outcome = Outcome::Done;
    for (number, id) in schema.streams().enumerate() {
        let stream = items::stream(file, id);
        outcome = outcome.and(&stream);
        write!(out, "{}{}", if number > 0 { "," } else { "" }, Json::Object(stream))?;
    }
    writeln!(out, "]}}")?;
    Ok(outcome)
}

/// Writes an object without its end, for what comes.
fn open_object(row: &Row, out: &mut dyn Write) -> anyhow::Result<()> {
    let text = serde_json::to_string(row)?;
    Ok(out.write_all(text.strip_suffix('}').unwrap_or(&text).as_bytes())?)
}

/// An entity with its attributes and what is below it. Numbers of attributes are written as they stand in the file,
/// which no row could hold.
fn entity_json(schema: &Schema, id: EntityId, out: &mut dyn Write) -> anyhow::Result<()> {
    let entity = &schema[id];
    let mut line = row([("kind", entity.kind().to_string().into())]);
    if let Some(name) = entity.name() {
        line.shift_insert(0, "name".into(), name.into());
    }
    if let Kind::Opaque(opaque) = entity.kind() {
        line.insert("error".into(), (*opaque.reason).into());
    }
    open_object(&line, out)?;
    if !entity.attributes().is_empty() {
        write!(out, ",\"attributes\":{}", entity.attributes())?;
    }
    if let Some(data) = entity.data() {
        write!(out, ",\"stream\":{}", Json::from(schema.stream_pointer(data).to_string()))?;
    }
    if !entity.children().is_empty() {
        write!(out, ",\"children\":[")?;
        for (number, &child) in entity.children().iter().enumerate() {
            write!(out, "{}", if number > 0 { "," } else { "" })?;
            entity_json(schema, child, out)?;
        }
        write!(out, "]")?;
    }
    Ok(write!(out, "}}")?)
}

pub(super) fn print(file: &IzsFile, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let schema = file.schema();
    let levels = schema.streams().filter(|&id| schema[id].role() != Role::Data).count();
    let traces = schema.streams().len() - levels;
    let streams = human::counted(traces as u64, "stream");
    write!(out, ".izs ({}), {}, {streams}", dialect(schema), human::counted(file.input().len(), "byte"))?;
    if levels > 0 {
        write!(out, " and {}", human::counted(levels as u64, "summary level"))?;
    }
    writeln!(out, "\n")?;
    let fits = decoded_bytes(schema) <= SMALL;
    let names = name_width(schema);
    let mut printer = Printer {
        file,
        out,
        left: BUDGET,
        traces,
        fits,
        names,
        clocks: HashMap::new(),
        outcome: Outcome::Done,
    };
    printer.entity(schema.root(), 0)?;
    Ok(printer.outcome)
}

fn dialect(schema: &Schema) -> &'static str {
    let mut descriptors = schema.streams().filter_map(|id| schema[id].descriptor().ok());
    match descriptors.next().map(|descriptor| descriptor.dialect) {
        Some(Dialect::V001) => "keys of iguazu 0.0.1",
        _ => "keys of the specification",
    }
}

/// Bytes of the elements of all entities, decoded.
fn decoded_bytes(schema: &Schema) -> u64 {
    let data = schema.streams().filter(|&id| schema[id].role() == Role::Data);
    let descriptors = data.filter_map(|id| schema[id].descriptor().ok());
    descriptors.map(bytes).fold(0, u64::saturating_add)
}

fn bytes(descriptor: &Descriptor) -> u64 {
    descriptor.end.saturating_mul(descriptor.element.size().into())
}

/// Columns that names need, so that sketches line up.
fn name_width(schema: &Schema) -> usize {
    let depth = |id: EntityId| std::iter::successors(Some(id), |&id| schema[id].parent()).count() - 1;
    let width = |id: EntityId| 2 * depth(id) + output::width(&name(schema, id));
    schema.entities().map(width).max().unwrap_or(0).clamp(5, 24)
}

/// What an entity is called here.
fn name(schema: &Schema, id: EntityId) -> String {
    match schema[id].name() {
        Some("") => "\"\"".into(),
        Some(name) => printable(name),
        None => if id == schema.root() { items::ROOT } else { "-" }.into(),
    }
}

struct Printer<'a> {
    file: &'a IzsFile,
    out: &'a mut dyn Write,
    /// What is left of the budget.
    left: u64,
    /// Streams that are still to be sketched.
    traces: usize,
    /// The file is so small that nobody has to share.
    fits: bool,
    names: usize,
    /// Those that the children of an entity have from it, timestamps and others.
    clocks: HashMap<(EntityId, bool), Option<Clock>>,
    outcome: Outcome,
}

impl Printer<'_> {
    fn entity(&mut self, id: EntityId, depth: usize) -> anyhow::Result<()> {
        let entity = &self.file.schema()[id];
        let indent = "  ".repeat(depth);
        let name = name(self.file.schema(), id);
        let mut facts = vec![printable(&entity.kind().to_string())];
        if let Kind::Opaque(opaque) = entity.kind() {
            facts.push(format!("not understood: {}", printable(&opaque.reason)));
        }
        if let Some(data) = entity.data() {
            facts.extend(self.stream_facts(id, data));
        }
        self.line(&format!("{indent}{name}"), &facts.join(", "))?;
        let attributes = attributes(entity.attributes());
        if !attributes.is_empty() {
            writeln!(self.out, "{indent}  {attributes}")?;
        }
        if let Some(data) = entity.data() {
            self.sketch(id, data, depth + 1)?;
        }
        // Fields of a stream have been sketched, but for those that a tag selects.
        if *entity.kind() != Kind::BitStruct || entity.data().is_none() {
            self.children(id, depth + 1)?;
        }
        Ok(())
    }

    fn children(&mut self, id: EntityId, depth: usize) -> anyhow::Result<()> {
        self.file.schema()[id].children().iter().try_for_each(|&child| self.entity(child, depth))
    }

    /// A name, padded so that what follows lines up.
    fn line(&mut self, name: &str, text: &str) -> anyhow::Result<()> {
        let padding = " ".repeat(self.names.saturating_sub(output::width(name)));
        Ok(writeln!(self.out, "{name}{padding}  {text}")?)
    }

    fn stream_facts(&mut self, entity: EntityId, id: StreamId) -> Vec<String> {
        let descriptor = match self.file.schema()[id].descriptor() {
            Ok(descriptor) => descriptor,
            Err(fault) => {
                self.outcome = Outcome::Failed;
                return vec![format!("stream not understood: {}", printable(&fault.reason))];
            }
        };
        let mut facts = vec![format!("{} × {}", human::count(descriptor.end), descriptor.element.name())];
        if let Some(clock) = self.clock(entity) {
            let rate = clock.rate.hertz();
            facts.push(human::si(rate, "Hz"));
            if *self.file.schema()[entity].kind() != Kind::Timestamp {
                facts.push(human::si((descriptor.end / clock.per_tick) as f64 / rate, "s"));
            }
        }
        let compress = printable(&descriptor.compress.to_string());
        match self.stored_bytes(id) {
            Ok(Some(stored)) if stored > 0 && descriptor.end > 0 => {
                let decoded = descriptor.end as f64 * f64::from(descriptor.element.size());
                facts.push(format!("{compress} {}x", human::short(round(decoded / stored as f64))));
            }
            Ok(_) => facts.push(compress),
            Err(error) => {
                self.outcome = Outcome::Failed;
                facts.push(printable(&error.to_string()));
            }
        }
        facts
    }

    fn clock(&mut self, id: EntityId) -> Option<Clock> {
        let schema = self.file.schema();
        let entity = &schema[id];
        let find = || schema.clock(id).ok();
        let has = |name: &&str| entity.attributes().get(name).is_some();
        match entity.parent().filter(|_| !["time:rate", "sample_rate", "time:epoch"].iter().any(has)) {
            Some(parent) => {
                let key = (parent, *entity.kind() == Kind::Timestamp);
                *self.clocks.entry(key).or_insert_with(find)
            }
            None => find(),
        }
    }

    /// Stored bytes of all blocks; none when there are too many to add up.
    fn stored_bytes(&mut self, id: StreamId) -> Result<Option<u64>, std_io::Error> {
        let stream = self.file.stream(id)?;
        let entries = stream.descriptor().index_entries();
        let cost = entries.saturating_mul(ENTRY);
        // Most of the budget is for the sketches.
        if cost > self.left / 4 {
            return Ok(None);
        }
        self.left -= cost;
        let blocks = self.file.input().run(|source| stream.reader().blocks(source, 0..entries))?;
        Ok(Some(blocks.iter().map(|block| block.bytes.end - block.bytes.start).sum()))
    }

    /// What the next sketch may cost: an equal part of what is left, or all where that is enough for all.
    fn share(&mut self) -> u64 {
        let traces = self.traces.max(1) as u64;
        self.traces = self.traces.saturating_sub(1);
        if self.fits { self.left } else { (self.left / traces).max(LEAST.min(self.left)) }
    }

    /// The first texts of an array of characters; other arrays have only ends of their own.
    fn texts(&mut self, id: EntityId, end: u64, depth: usize) -> anyhow::Result<()> {
        let schema = self.file.schema();
        let text = schema[id].children().first().filter(|&&child| *schema[child].kind() == Kind::Character);
        // What is decoded for it: a block of the ends, and one of the characters.
        let blocks = [Some(id), text.copied()].into_iter().flatten().filter_map(|id| schema[id].data());
        let descriptors = blocks.filter_map(|data| schema[data].descriptor().ok());
        let cost = descriptors.map(|of| of.block.min(of.end).saturating_mul(of.element.size().into()));
        let Some(left) = self.left.checked_sub(cost.fold(0, u64::saturating_add)) else { return Ok(()) };
        if text.is_none() {
            return Ok(());
        }
        self.left = left;
        let indent = "  ".repeat(depth);
        match self.file.values(id, 0..end.min(TEXTS)) {
            Ok(values) => {
                let texts: Vec<String> = values.iter().filter_map(Value::as_str).map(quoted).collect();
                let more = if end > TEXTS { " …" } else { "" };
                self.line(&indent, &format!("{}{more}", texts.join(" ")))
            }
            Err(error) => {
                self.outcome = Outcome::Failed;
                Ok(writeln!(self.out, "{indent}{}", printable(&error.to_string()))?)
            }
        }
    }

    /// One line for each field. What cannot be read is said, and does not stop the rest.
    fn sketch(&mut self, id: EntityId, data: StreamId, depth: usize) -> anyhow::Result<()> {
        let schema = self.file.schema();
        let indent = "  ".repeat(depth);
        let share = self.share();
        let Ok(descriptor) = schema[data].descriptor() else { return Ok(()) };
        match schema[id].kind() {
            Kind::Null => return Ok(()),
            _ if descriptor.end == 0 => return Ok(()),
            Kind::VariableArray => return self.texts(id, descriptor.end, depth),
            // It is shown as the texts that it holds.
            Kind::Character if schema[id].parent().is_some() => return Ok(()),
            _ => {}
        }
        let width = descriptor.end.min(WIDTH) as usize;
        let overview = match self.file.overview(id, 0..descriptor.end, width, share) {
            Ok(overview) => overview,
            Err(error) if self.file.stream(data).is_ok() => {
                self.left = self.left.saturating_sub(share.min(bytes(descriptor)));
                self.outcome = Outcome::Failed;
                return Ok(writeln!(self.out, "{indent}{}", printable(&error.to_string()))?);
            }
            // Said with the facts of the stream.
            Err(_) => return Ok(()),
        };
        self.left = self.left.saturating_sub(overview.cost);
        if overview.basis == Basis::Nothing {
            return Ok(writeln!(self.out, "{indent}(not sketched)")?);
        }
        for trace in &overview.traces {
            let name = if trace.entity == id { None } else { schema[trace.entity].name() };
            let name = format!("{indent}{}", printable(name.unwrap_or("")));
            self.line(&name, &line(schema, trace))?;
            if let Err(error) = schema.scale(trace.entity) {
                self.outcome = Outcome::Failed;
                writeln!(self.out, "{indent}  {}", printable(&error.to_string()))?;
            }
            if trace.entity != id && matches!(schema[trace.entity].kind(), Kind::Tagged { .. }) {
                self.children(trace.entity, depth + 1)?;
            }
        }
        if overview.basis == Basis::Samples {
            writeln!(self.out, "{indent}(sketched from samples)")?;
        }
        Ok(())
    }
}

fn line(schema: &Schema, trace: &Trace) -> String {
    let entity = &schema[trace.entity];
    if schema.width(trace.entity) == 1 {
        return sparkline::bit(&trace.columns);
    }
    let sketch = sparkline::analog(&trace.columns);
    let Some(all) = sparkline::overall(&trace.columns) else { return sketch };
    let scale = schema.scale(trace.entity);
    let named = |name: Option<&str>, value| name.map_or_else(|| human::short(value), printable);
    let label = |value: f64| match entity.kind() {
        Kind::Enum { values, .. } => named(values.get(value as usize).map(|name| &**name), value),
        Kind::Tagged { .. } => {
            named(entity.children().get(value as usize).and_then(|&child| schema[child].name()), value)
        }
        _ => human::short(scale.as_ref().map_or(value, |scale| scale.quantity(value))),
    };
    format!("{sketch}  {} … {}", label(all.min), label(all.max))
}

/// A ratio in the digits that tell something: two places below 10, one above.
fn round(ratio: f64) -> f64 {
    let places = if ratio < 10.0 { 100.0 } else { 10.0 };
    (ratio * places).round() / places
}

/// The attributes on one line, long ones cut.
fn attributes(attributes: &Object) -> String {
    let shown = attributes.iter().filter(|(name, _)| *name != "time:rate").take(8).map(|(name, value)| {
        let text = match value {
            Value::String(text) => quoted(text),
            other => cut(&other.to_string()),
        };
        format!("{}={text}", printable(name))
    });
    shown.collect::<Vec<_>>().join("  ")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", cut(text))
}
