//! The series of a file, as rows and as a tree.

use std::io::Write;

use core_codec::tsfile::chunk::Chunk;
use core_codec::tsfile::{DeviceEntry, DeviceId, Series};
use std_io::tsfile::TsFile;

use crate::document::Outcome;
use crate::human;
use crate::output::{self, Row, row};

/// A series with what the headers of its chunks say.
pub(super) struct Described {
    pub(super) series: Series,
    /// The first chunk, if it can be read.
    pub(super) chunk: Option<Chunk>,
    /// Stored bytes of all chunks.
    pub(super) stored: u64,
    /// Why a chunk cannot be read.
    pub(super) error: Option<std_io::Error>,
}

/// The measurements of a device.
pub(super) fn describe(file: &TsFile, device: &DeviceEntry) -> anyhow::Result<Vec<Described>> {
    let mut all = Vec::new();
    for series in file.series(device) {
        let series = series?;
        if !series.is_time() {
            all.push(described(file, series));
        }
    }
    Ok(all)
}

fn described(file: &TsFile, series: Series) -> Described {
    let (mut first, mut stored, mut wrong) = (None, 0, None);
    for meta in &series.chunks {
        match file.input().run(|source| file.reader().chunk(source, &series.name, meta)) {
            Ok(chunk) => {
                stored += chunk.data.end - chunk.offset;
                first.get_or_insert(chunk);
            }
            Err(error) => {
                wrong.get_or_insert(error);
            }
        }
    }
    Described { series, chunk: first, stored, error: wrong }
}

/// The name of a device: a path in a tree file, segments between slashes in a table file.
pub(super) fn device_name(file: &TsFile, device: &DeviceId) -> String {
    if file.metadata().is_table_model() { device.slashed() } else { device.path() }
}

/// The name of a series, as `cat` takes it.
fn item_name(file: &TsFile, device: &DeviceId, measurement: &str) -> String {
    let separator = if file.metadata().is_table_model() { ' ' } else { '.' };
    format!("{}{separator}{measurement}", device_name(file, device))
}

pub(super) fn emit(file: &TsFile, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
    for device in file.devices(None) {
        let device = device?;
        for Described { series, chunk, stored, error } in describe(file, &device)? {
            let statistics = &series.statistics;
            let some = |time: i64| if statistics.count == 0 { None } else { Some(time) };
            let mut line = row([
                ("item", item_name(file, &device.id, &series.name).into()),
                ("device", device.id.segments().iter().map(|s| s.as_deref()).collect()),
                ("measurement", (&*series.name).into()),
                ("dtype", series.dtype.name().into()),
                ("encoding", chunk.as_ref().map(|chunk| chunk.encoding.name()).into()),
                ("compression", chunk.as_ref().map(|chunk| chunk.compression.name()).into()),
                ("count", statistics.count.into()),
                ("start", some(statistics.start).into()),
                ("end", some(statistics.end).into()),
                ("chunks", series.chunks.len().into()),
                ("stored", stored.into()),
            ]);
            if let Some(error) = error {
                line.insert("error".into(), error.to_string().into());
            }
            emit(line)?;
        }
    }
    Ok(())
}

/// Prints devices by the parts of their names, and their series below them.
pub(super) fn tree(file: &TsFile, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Done;
    let mut open: Vec<String> = Vec::new();
    for device in file.devices(None) {
        let device = device?;
        let parts = parts(file, &device.id);
        let same = open.iter().zip(&parts).take_while(|(a, b)| a == b).count();
        for (depth, part) in parts.iter().enumerate().skip(same) {
            writeln!(out, "{}{}", "  ".repeat(depth), output::printable(part))?;
        }
        let indent = "  ".repeat(parts.len());
        for Described { series, chunk, error, .. } in describe(file, &device)? {
            let codecs = chunk.map_or_else(String::new, |c| format!(" {} {}", c.encoding, c.compression));
            let name = output::printable(&series.name);
            write!(out, "{indent}{name}: {}{codecs}, {}", series.dtype, values(&series))?;
            if let Some(error) = error {
                outcome = Outcome::Failed;
                write!(out, "; {}", output::printable(&error.to_string()))?;
            }
            writeln!(out)?;
        }
        open = parts;
    }
    Ok(outcome)
}

fn values(series: &Series) -> String {
    let statistics = &series.statistics;
    match statistics.count {
        0 => "no values".into(),
        1 => format!("1 value at {}", statistics.start),
        more => {
            let values = human::counted(more.into(), "value");
            format!("{values} from {} to {}", statistics.start, statistics.end)
        }
    }
}

fn parts(file: &TsFile, device: &DeviceId) -> Vec<String> {
    if !file.metadata().is_table_model() {
        return device.path().split('.').map(str::to_owned).collect();
    }
    let tags = file.metadata().table(device.table()).map(|table| table.tags().count()).unwrap_or_default();
    let mut parts = vec![device.table().to_owned()];
    parts.extend((0..tags).map(|tag| match device.tag(tag) {
        None => "(null)".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(text) => text.to_owned(),
    }));
    parts
}
