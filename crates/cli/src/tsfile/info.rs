//! What a file holds, on a page.

use std::collections::BTreeMap;
use std::io::Write;

use core_codec::tsfile::TableSchema;
use serde_json::Value as Json;
use std_io::tsfile::TsFile;

use super::items::{Described, Look, describe};
use crate::document::Outcome;
use crate::human;
use crate::output::{self, Row, Widths, row};

/// Columns that are alike in all devices.
#[derive(Default)]
struct Group {
    devices: u64,
    values: u64,
    chunks: u64,
    /// Stored bytes of all chunks, where they were looked at.
    stored: Option<u64>,
    range: Option<(i64, i64)>,
    /// Why one of them cannot be read.
    error: Option<std_io::Error>,
}

struct Summary {
    devices: u64,
    groups: BTreeMap<[String; 4], Group>,
    /// Which device has columns that cannot be read, and why.
    error: Option<String>,
}

fn summarize(file: &TsFile) -> anyhow::Result<Summary> {
    let metadata = file.metadata();
    let mut summary = Summary { devices: 0, groups: BTreeMap::new(), error: None };
    for device in file.devices(None) {
        let device = match device {
            Ok(device) => device,
            Err(error) => {
                summary.error.get_or_insert_with(|| error.to_string());
                continue;
            }
        };
        summary.devices += 1;
        let (all, broken) = describe(file, &device, Look::All);
        for Described { series, chunk, stored, error } in all {
            let codec = |name: Option<&str>| name.unwrap_or("?").to_owned();
            let key = [
                series.name.to_string(),
                series.dtype.name().to_owned(),
                codec(chunk.as_ref().map(|chunk| chunk.encoding.name())),
                codec(chunk.as_ref().map(|chunk| chunk.compression.name())),
            ];
            let group = summary.groups.entry(key).or_default();
            let statistics = &series.statistics;
            group.devices += 1;
            group.values += u64::from(statistics.count);
            group.chunks += series.chunks.len() as u64;
            group.stored = stored.map(|stored| group.stored.unwrap_or(0) + stored);
            group.error = group.error.take().or(error);
            if statistics.count > 0 {
                let (start, end) = group.range.unwrap_or((i64::MAX, i64::MIN));
                group.range = Some((start.min(statistics.start), end.max(statistics.end)));
            }
        }
        if let Some(error) = broken.first() {
            summary.error.get_or_insert_with(|| format!("{}: {error}", metadata.device_name(&device.id)));
        }
    }
    Ok(summary)
}

fn columns(summary: &Summary) -> impl Iterator<Item = Row> {
    summary.groups.iter().map(|([name, dtype, encoding, compression], group)| {
        let mut line = row([
            ("measurement", name.as_str().into()),
            ("dtype", dtype.as_str().into()),
            ("encoding", encoding.as_str().into()),
            ("compression", compression.as_str().into()),
            ("devices", group.devices.into()),
            ("count", group.values.into()),
            ("start", group.range.map(|range| range.0).into()),
            ("end", group.range.map(|range| range.1).into()),
            ("chunks", group.chunks.into()),
            ("stored", group.stored.into()),
        ]);
        if let Some(error) = &group.error {
            line.insert("error".into(), error.to_string().into());
        }
        line
    })
}

fn table(table: &TableSchema) -> Json {
    let columns = table.columns.iter().map(|column| {
        Json::Object(row([
            ("name", (&*column.name).into()),
            ("dtype", column.dtype.name().into()),
            ("category", column.category.name().into()),
            ("encoding", column.encoding.name().into()),
            ("compression", column.compression.name().into()),
        ]))
    });
    Json::Object(row([("name", (&*table.name).into()), ("columns", columns.collect())]))
}

fn head(file: &TsFile, summary: &Summary) -> Row {
    let metadata = file.metadata();
    let encryption = metadata.encryption().map(|encryption| encryption.to_string());
    let bloom = metadata.bloom.as_ref();
    row([
        ("format", "tsfile".into()),
        ("version", metadata.version.number().into()),
        ("model", if metadata.is_table_model() { "table" } else { "tree" }.into()),
        ("size", file.input().len().into()),
        ("data_bytes", metadata.meta_offset.into()),
        ("devices", summary.devices.into()),
        ("encryption", encryption.into()),
        ("bloom_bits", bloom.map(core_codec::tsfile::BloomFilter::bits).into()),
    ])
}

pub(super) fn json(file: &TsFile) -> anyhow::Result<(Row, Outcome)> {
    let summary = summarize(file)?;
    let mut all = head(file, &summary);
    let metadata = file.metadata();
    let properties = metadata.properties.iter().map(|(name, value)| {
        let text = value.as_deref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        (name.clone(), Json::from(text))
    });
    all.insert("properties".into(), Json::Object(properties.collect()));
    all.insert("tables".into(), metadata.tables.iter().map(table).collect());
    let columns: Vec<Row> = columns(&summary).collect();
    if let Some(error) = &summary.error {
        all.insert("error".into(), error.as_str().into());
    }
    let outcome = columns.iter().fold(Outcome::Done.and(&all), Outcome::and);
    all.insert("columns".into(), columns.into_iter().map(Json::Object).collect());
    Ok((all, outcome))
}

pub(super) fn print(file: &TsFile, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let summary = summarize(file)?;
    let metadata = file.metadata();
    let model = if metadata.is_table_model() { "table" } else { "tree" };
    let (version, len) = (metadata.version.number(), file.input().len());
    let (bytes, behind) = (human::counted(len, "byte"), human::count(len - metadata.meta_offset));
    let what = if file.reader().scanned().is_some() { "not read" } else { "index and footer" };
    writeln!(out, "TsFile version {version}, {model} model, {bytes} ({behind} of them {what})")?;
    let devices = human::counted(summary.devices, "device");
    writeln!(out, "{devices}; `tripoint ls` lists what is in the file")?;
    let mut outcome = Outcome::Done;
    if let Some(error) = &summary.error {
        outcome = Outcome::Failed;
        writeln!(out, "{}", output::printable(error))?;
    }
    if let Some(encryption) = metadata.encryption() {
        let how = encryption.to_string();
        writeln!(
            out,
            "encrypted with {}; --key takes the 16 bytes of the master key",
            output::printable(&how)
        )?;
    }
    for table in &metadata.tables {
        let columns: Vec<String> = table
            .columns
            .iter()
            .map(|column| format!("{} {} {}", output::printable(&column.name), column.dtype, column.category))
            .collect();
        writeln!(out, "table {}: {}", output::printable(&table.name), columns.join(", "))?;
    }
    for (name, value) in &metadata.properties {
        let text = value.as_deref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let text = text.as_deref().unwrap_or("(null)");
        writeln!(out, "property {} = {}", output::printable(name), output::printable(text))?;
    }
    if summary.groups.is_empty() {
        return Ok(outcome);
    }
    writeln!(out)?;
    let shown = || {
        columns(&summary).map(|mut row| {
            row.retain(|name, value| name != "stored" || !value.is_null());
            row
        })
    };
    let mut widths = Widths::default();
    shown().for_each(|row| widths.measure(&row));
    widths.print_names(out)?;
    shown().try_for_each(|row| widths.print(out, &row))?;
    if !file.input().is_map() {
        writeln!(out, "\nstored bytes are not counted of a distant file: each chunk would take a request")?;
    }
    Ok(columns(&summary).fold(outcome, |outcome, row| outcome.and(&row)))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use core_codec::Limits;
    use std_io::{FileRanges, Input};

    use super::*;

    #[test]
    fn what_is_not_counted_of_a_distant_file_is_said() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tsfile/tree_multichunk.tsfile");
        let shown = |file: &TsFile| {
            let mut out = Vec::new();
            print(file, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let near = shown(&TsFile::open(&path).unwrap());
        assert!(near.contains("  stored\n") && !near.contains("not counted"), "{near}");
        let distant = Input::fetching(FileRanges::new(File::open(&path).unwrap()).unwrap());
        let distant = shown(&TsFile::from_input(distant, &Limits::default()).unwrap());
        assert!(
            !distant.contains("  stored\n") && distant.contains("stored bytes are not counted"),
            "{distant}"
        );
        assert!(distant.contains("chunks\n"), "{distant}");
    }
}
