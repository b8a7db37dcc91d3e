//! Rows of devices.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;

use anyhow::bail;
use core_codec::ErrorKind;
use core_codec::tsfile::query::LATE;
use core_codec::tsfile::{Column, DataType, DeviceId, TableSchema, Value, Values};
use std_io::tsfile::{Batch, Field, Plan, ScanBatch, TsFile};

use super::select::{Selection, selection};
use super::values;
use crate::args::{CatFormat, Span};
use crate::document::{CatRequest, Outcome, expect_usage};
use crate::output;

pub(super) fn print(file: &TsFile, request: &CatRequest, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let slice = request.slice.is_some();
    expect_usage(!slice, "--slice is for StarDS arrays; --time A..B takes a part of this item")?;
    let range = *request.range != Span::default();
    expect_usage(!range, "--range is not for TsFiles; --time A..B takes a part")?;
    let selection = selection(file, request)?;
    if request.format == CatFormat::Raw {
        return raw(file, &selection, out);
    }
    let mut printer = Printer::new(file, &selection, request.format)?;
    printer.head(out)?;
    each(file, &selection, |device, fields, batch| printer.rows(out, device, fields, batch))
}

/// Tells what is left out, or comes late: damage is a failure, what nothing here can read and what is there is not.
fn outcome<'a>(left_out: impl IntoIterator<Item = &'a core_codec::Error>) -> Outcome {
    let mut outcome = Outcome::Done;
    for reason in left_out {
        let late = reason.structure() == LATE;
        output::complain(&format!("{}{reason}", if late { "" } else { "left out: " }));
        if !late && !matches!(reason.kind(), ErrorKind::Unsupported(_)) {
            outcome = Outcome::Failed;
        } else if outcome == Outcome::Done {
            outcome = Outcome::LeftOut;
        }
    }
    outcome
}

/// Calls `print` with all batches. Of several devices, one that cannot be read hides no other.
fn each(
    file: &TsFile,
    selection: &Selection,
    mut print: impl FnMut(&DeviceId, &[Field], &Batch) -> anyhow::Result<()>,
) -> anyhow::Result<Outcome> {
    let columns = selection.fields();
    if let Some(device) = &selection.device {
        if !selection.filter.accepts(&device.id) {
            return Ok(Outcome::Done);
        }
        let plan = file.plan(device, columns.as_deref(), selection.range)?;
        let mut rows = file.read(Plan { any_order: true, ..plan });
        let fields = rows.fields().to_vec();
        let mut batch = Batch::default();
        while rows.next(&mut batch)? {
            print(&device.id, &fields, &batch)?;
        }
        return Ok(outcome(rows.left_out()));
    }
    let table = selection.table.as_ref().map(|table| &*table.name);
    let filter = selection.filter.clone();
    let scan = file.scan(table, columns.as_deref(), selection.range, move |id| filter.accepts(id));
    let mut scan = scan.any_order();
    let (mut batch, mut failed) = (ScanBatch::default(), false);
    loop {
        match scan.read(&mut batch) {
            Ok(true) => print(&batch.device, &batch.fields, &batch.batch)?,
            Ok(false) => break,
            Err(error) => {
                failed = true;
                let device = scan.failed().map(|id| file.metadata().device_name(id) + ": ");
                output::complain(&format!("left out: {}{error}", device.unwrap_or_default()));
            }
        }
    }
    let outcome = outcome(scan.left_out());
    Ok(if failed { Outcome::Failed } else { outcome })
}

/// The bytes that `digest` hashes, of one series.
fn raw(file: &TsFile, selection: &Selection, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let one_series = selection.device.is_some() && selection.fields().is_some_and(|names| names.len() == 1);
    expect_usage(one_series, "raw is for one series: name an item")?;
    each(file, selection, |_, _, batch| {
        for column in &batch.columns {
            let mut values = (0..batch.rows()).filter_map(|row| column.get(row));
            values.try_for_each(|value| values::put_raw(out, value))?;
        }
        Ok(())
    })
}

/// A column that is printed.
struct Shown {
    name: String,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// The name of the device.
    Device,
    /// A tag of the table, by its number.
    Tag(usize),
    /// Values of this type.
    Field(DataType),
}

struct Printer<'a> {
    file: &'a TsFile,
    format: CatFormat,
    /// What the column of times is called.
    time: String,
    columns: Vec<Shown>,
    /// Of the last batch, and where each column is among them.
    fields: Vec<Field>,
    places: Vec<Option<usize>>,
}

impl<'a> Printer<'a> {
    fn new(file: &'a TsFile, selection: &Selection, format: CatFormat) -> anyhow::Result<Self> {
        let rows = matches!(format, CatFormat::Csv | CatFormat::Ndjson);
        expect_usage(rows, "TsFiles are printed as csv, ndjson or raw")?;
        let mut columns = columns(file, selection)?;
        if format == CatFormat::Ndjson {
            let mut names = BTreeSet::new();
            columns.retain(|column| names.insert(column.name.clone()));
        }
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let time = output::free_name("time", &names);
        let places = vec![None; columns.len()];
        Ok(Self { file, format, time, columns, fields: Vec::new(), places })
    }

    /// Finds the columns among the fields of a batch. Those of one device are the same in all batches.
    fn find(&mut self, fields: &[Field]) {
        if self.fields == fields {
            return;
        }
        let numbered = fields.iter().enumerate().rev();
        let places: HashMap<&str, usize> = numbered.map(|(place, field)| (&*field.name, place)).collect();
        let place = |column: &Shown| places.get(&*column.name).copied();
        self.places = self.columns.iter().map(place).collect();
        self.fields = fields.to_vec();
    }

    fn head(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if self.format != CatFormat::Csv {
            return Ok(());
        }
        write!(out, "{}", self.time)?;
        for column in &self.columns {
            out.write_all(b",")?;
            output::put_csv_field(out, &column.name)?;
        }
        Ok(writeln!(out)?)
    }

    fn rows(
        &mut self,
        out: &mut dyn Write,
        device: &DeviceId,
        fields: &[Field],
        batch: &Batch,
    ) -> anyhow::Result<()> {
        self.find(fields);
        let path = self.file.metadata().device_name(device);
        let source = |(column, place): (&Shown, &Option<usize>)| match column.what {
            What::Device => Source::Constant(Some(&path)),
            What::Tag(number) => Source::Constant(device.tag(number)),
            What::Field(dtype) => Source::Values(dtype, place.and_then(|place| batch.columns.get(place))),
        };
        let sources: Vec<Source<'_>> = self.columns.iter().zip(&self.places).map(source).collect();
        for (row, time) in batch.times.iter().enumerate() {
            let cells = self.columns.iter().zip(&sources).map(|(column, source)| (column, source.cell(row)));
            if self.format == CatFormat::Ndjson {
                out.write_all(b"{")?;
                serde_json::to_writer(&mut *out, &self.time)?;
                write!(out, ":{time}")?;
                for (column, (dtype, value)) in cells {
                    out.write_all(b",")?;
                    serde_json::to_writer(&mut *out, &column.name)?;
                    out.write_all(b":")?;
                    values::put_json(out, dtype, value)?;
                }
                out.write_all(b"}\n")?;
            } else {
                write!(out, "{time}")?;
                for (_, (dtype, value)) in cells {
                    out.write_all(b",")?;
                    values::put_csv(out, dtype, value)?;
                }
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    }
}

/// Where the cells of a column come from.
enum Source<'a> {
    /// The same text in all rows.
    Constant(Option<&'a str>),
    /// The values of a batch, if it has such a column.
    Values(DataType, Option<&'a Column>),
}

impl Source<'_> {
    fn cell(&self, row: usize) -> (DataType, Option<Value<'_>>) {
        match self {
            Self::Constant(text) => (DataType::String, text.map(|text| Value::Binary(text.as_bytes()))),
            Self::Values(dtype, column) => (*dtype, column.and_then(|column| column.get(row))),
        }
    }
}

/// What is printed: the columns that are named, or all. Unless tags are among them, or one device was asked for,
/// what tells the devices apart comes first: in a table file all tags, else the path.
fn columns(file: &TsFile, selection: &Selection) -> anyhow::Result<Vec<Shown>> {
    let (fields, damage) = present(file, selection);
    let shown = |name: &str, what| Shown { name: name.to_owned(), what };
    let (named, has_tag) = match &selection.columns {
        None => {
            let all = fields.iter().map(|field| shown(&field.name, What::Field(field.dtype)));
            (all.collect::<Vec<_>>(), false)
        }
        Some(names) => {
            let fields: HashMap<&str, DataType> =
                fields.iter().rev().map(|field| (&*field.name, field.dtype)).collect();
            let mut all = Vec::with_capacity(names.len());
            for name in names {
                let tag = selection.tag(name).map(What::Tag);
                let field = fields.get(&**name).copied().map(What::Field);
                match tag.or(field) {
                    Some(what) => all.push(shown(name, what)),
                    // It may be what cannot be read.
                    None => match damage {
                        Some(error) => return Err(error.into()),
                        None => bail!("no such column: {name}"),
                    },
                }
            }
            let has_tag = names.iter().any(|name| selection.tag(name).is_some());
            (all, has_tag)
        }
    };
    let mut all = match (&selection.device, &selection.table) {
        _ if has_tag => Vec::new(),
        (Some(_), _) => Vec::new(),
        (None, Some(table)) => {
            table.tags().enumerate().map(|(number, tag)| shown(&tag.name, What::Tag(number))).collect()
        }
        (None, None) => {
            let names: Vec<String> = named.iter().map(|column| column.name.clone()).collect();
            vec![shown(&output::free_name("device", &names), What::Device)]
        }
    };
    all.extend(named);
    Ok(all)
}

/// The fields that the devices have, in the order in which they appear, and what of the index cannot be read, which
/// whoever reads the devices is told.
fn present(file: &TsFile, selection: &Selection) -> (Vec<Field>, Option<std_io::Error>) {
    if let (Some(table), None) = (&selection.table, &selection.device) {
        return (of_table(table), None);
    }
    let (mut all, mut names, mut damage) = (Vec::new(), BTreeSet::new(), None);
    let devices: Box<dyn Iterator<Item = _>> = match &selection.device {
        Some(device) => Box::new(std::iter::once(Ok(device.clone()))),
        None => Box::new(file.devices(None)),
    };
    let series = devices.flat_map(|device| -> Box<dyn Iterator<Item = _>> {
        match device {
            Ok(device) => Box::new(file.series(&device)),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    });
    for series in series {
        match series {
            Ok(series) => {
                let readable = Values::new(series.dtype).is_some();
                if !series.is_time() && readable && names.insert(series.name.clone()) {
                    all.push(Field { name: series.name, dtype: series.dtype });
                }
            }
            Err(error) => damage = damage.or(Some(error)),
        }
    }
    (all, damage)
}

fn of_table(table: &TableSchema) -> Vec<Field> {
    table.fields().map(|column| Field { name: column.name.clone(), dtype: column.dtype }).collect()
}
