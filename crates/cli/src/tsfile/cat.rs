//! Rows of devices.

use std::io::Write;

use anyhow::ensure;
use core_codec::tsfile::{DataType, DeviceId, TableSchema};
use serde_json::Value as Json;
use std_io::tsfile::{Batch, Field, TsFile};

use super::items::device_name;
use super::select::{Selection, selection};
use super::values;
use crate::args::{CatFormat, Span};
use crate::document::{CatRequest, Outcome, expect_usage};
use crate::output::{self, Row};

pub(super) fn print(file: &TsFile, request: &CatRequest, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let slice = request.slice.is_some();
    expect_usage(!slice, "--slice is for StarDS arrays; --time A..B takes a part of this item")?;
    let range = *request.range != Span::default();
    expect_usage(!range, "--range is not for TsFiles; --time A..B takes a part")?;
    let selection = selection(file, request)?;
    if request.format == CatFormat::Raw {
        return raw(file, &selection, out);
    }
    let printer = Printer::new(file, &selection, request.format)?;
    printer.head(out)?;
    each(file, &selection, |device, fields, batch| printer.rows(out, device, fields, batch))
}

/// Tells what is left out.
fn outcome<T: std::fmt::Display>(left_out: impl Iterator<Item = T>) -> Outcome {
    let mut outcome = Outcome::Done;
    for reason in left_out {
        output::complain(&format!("left out: {reason}"));
        outcome = Outcome::LeftOut;
    }
    outcome
}

/// Calls `print` with all batches.
fn each(
    file: &TsFile,
    selection: &Selection,
    mut print: impl FnMut(&DeviceId, &[Field], &Batch) -> anyhow::Result<()>,
) -> anyhow::Result<Outcome> {
    let columns: Option<Vec<&str>> =
        selection.columns.as_ref().map(|names| names.iter().map(String::as_str).collect());
    if let Some(device) = &selection.device {
        if !selection.filter.accepts(&device.id) {
            return Ok(Outcome::Done);
        }
        let mut rows = file.rows(device, columns.as_deref(), selection.range)?;
        let fields = rows.fields().to_vec();
        let mut batch = Batch::default();
        while rows.next(&mut batch)? {
            print(&device.id, &fields, &batch)?;
        }
        return Ok(outcome(rows.left_out().iter()));
    }
    let table = selection.table.as_ref().map(|table| &*table.name);
    let filter = selection.filter.clone();
    let mut scan = file.scan(table, columns.as_deref(), selection.range, move |id| filter.accepts(id));
    for batch in scan.by_ref() {
        let batch = batch?;
        print(&batch.device, &batch.fields, &batch.batch)?;
    }
    Ok(outcome(scan.left_out()))
}

/// The bytes that `digest` hashes, of one series.
fn raw(file: &TsFile, selection: &Selection, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let one_series =
        selection.device.is_some() && selection.columns.as_ref().is_some_and(|names| names.len() == 1);
    expect_usage(one_series, "raw is for one series: name an item")?;
    let mut bytes = Vec::new();
    each(file, selection, |_, _, batch| {
        bytes.clear();
        for column in &batch.columns {
            (0..batch.rows()).filter_map(|row| column.get(row)).for_each(|v| values::put_raw(&mut bytes, v));
        }
        Ok(out.write_all(&bytes)?)
    })
}

/// What stands before the values of a row.
enum Lead {
    /// One device was asked for.
    Nothing,
    /// The path of the device, in a column of this name.
    Device(String),
    /// The tags of the table, by name.
    Tags(Vec<String>),
}

struct Printer<'a> {
    file: &'a TsFile,
    format: CatFormat,
    /// What the column of times is called.
    time: String,
    lead: Lead,
    /// Names of the columns that are printed.
    columns: Vec<Field>,
}

impl<'a> Printer<'a> {
    fn new(file: &'a TsFile, selection: &Selection, format: CatFormat) -> anyhow::Result<Self> {
        let rows = matches!(format, CatFormat::Csv | CatFormat::Ndjson);
        expect_usage(rows, "TsFiles are printed as csv, ndjson or raw")?;
        let mut columns = present(file, selection)?;
        if let Some(names) = &selection.columns {
            let known = |name: &String| columns.iter().find(|field| *field.name == **name).cloned();
            let found: Vec<Option<Field>> = names.iter().map(known).collect();
            for (name, field) in names.iter().zip(&found) {
                ensure!(field.is_some(), "no such column: {name}");
            }
            columns = found.into_iter().flatten().collect();
        }
        let mut names: Vec<String> = columns.iter().map(|field| field.name.to_string()).collect();
        let lead = match (&selection.device, &selection.table) {
            (Some(_), _) => Lead::Nothing,
            (None, Some(table)) => Lead::Tags(table.tags().map(|tag| tag.name.to_string()).collect()),
            (None, None) => Lead::Device(output::free_name("device", &names)),
        };
        if let Lead::Tags(tags) = &lead {
            names.extend_from_slice(tags);
        }
        let time = output::free_name("time", &names);
        Ok(Self { file, format, time, lead, columns })
    }

    fn head(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if self.format != CatFormat::Csv {
            return Ok(());
        }
        let mut names = vec![self.time.clone()];
        match &self.lead {
            Lead::Nothing => {}
            Lead::Device(name) => names.push(name.clone()),
            Lead::Tags(tags) => names.extend(tags.iter().map(|tag| output::csv_field(tag))),
        }
        names.extend(self.columns.iter().map(|field| output::csv_field(&field.name)));
        Ok(writeln!(out, "{}", names.join(","))?)
    }

    fn rows(
        &self,
        out: &mut dyn Write,
        device: &DeviceId,
        fields: &[Field],
        batch: &Batch,
    ) -> anyhow::Result<()> {
        let place = |column: &Field| fields.iter().position(|field| field.name == column.name);
        let places: Vec<Option<usize>> = self.columns.iter().map(place).collect();
        let value = |row: usize, place: Option<usize>| batch.columns.get(place?)?.get(row);
        let lead = self.leading(device);
        for (row, time) in batch.times.iter().enumerate() {
            let columns = self.columns.iter().zip(&places);
            match self.format {
                CatFormat::Ndjson => {
                    let mut line: Row = output::row([(&*self.time, (*time).into())]);
                    line.extend(lead.iter().map(|(name, text)| (name.clone(), Json::from(text.clone()))));
                    line.extend(columns.map(|(field, &at)| {
                        (field.name.to_string(), values::json(field.dtype, value(row, at)))
                    }));
                    output::json_line(out, &line)?;
                }
                _ => {
                    write!(out, "{time}")?;
                    for (_, text) in &lead {
                        let bytes =
                            text.as_ref().map(|text| core_codec::tsfile::Value::Binary(text.as_bytes()));
                        write!(out, ",{}", values::csv(DataType::String, bytes))?;
                    }
                    for (field, &at) in columns {
                        write!(out, ",{}", values::csv(field.dtype, value(row, at)))?;
                    }
                    writeln!(out)?;
                }
            }
        }
        Ok(())
    }

    fn leading(&self, device: &DeviceId) -> Vec<(String, Option<String>)> {
        match &self.lead {
            Lead::Nothing => Vec::new(),
            Lead::Device(name) => vec![(name.clone(), Some(device_name(self.file, device)))],
            Lead::Tags(tags) => tags
                .iter()
                .enumerate()
                .map(|(at, name)| (name.clone(), device.tag(at).map(str::to_owned)))
                .collect(),
        }
    }
}

/// The columns that the devices have, in the order in which they appear.
fn present(file: &TsFile, selection: &Selection) -> anyhow::Result<Vec<Field>> {
    if let (Some(table), None) = (&selection.table, &selection.device) {
        return Ok(of_table(table));
    }
    let mut all: Vec<Field> = Vec::new();
    let devices: Box<dyn Iterator<Item = _>> = match &selection.device {
        Some(device) => Box::new(std::iter::once(Ok(device.clone()))),
        None => Box::new(file.devices(None)),
    };
    for device in devices {
        for series in file.series(&device?) {
            let series = series?;
            let readable = core_codec::tsfile::Values::new(series.dtype).is_some();
            if !series.is_time() && readable && !all.iter().any(|field| field.name == series.name) {
                all.push(Field { name: series.name, dtype: series.dtype });
            }
        }
    }
    Ok(all)
}

fn of_table(table: &TableSchema) -> Vec<Field> {
    table.fields().map(|column| Field { name: column.name.clone(), dtype: column.dtype }).collect()
}
