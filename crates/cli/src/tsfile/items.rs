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
    /// Stored bytes of all chunks, where they were looked at.
    pub(super) stored: Option<u64>,
    /// Why a chunk cannot be read.
    pub(super) error: Option<std_io::Error>,
}

/// How many chunks of a series are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// The first, which tells encoding and compression.
    First,
    /// All, where that takes no request each.
    All,
}

/// The measurements of a device, and why some cannot be read.
pub(super) fn describe(
    file: &TsFile,
    device: &DeviceEntry,
    look: Look,
) -> (Vec<Described>, Vec<std_io::Error>) {
    let (mut all, mut broken) = (Vec::new(), Vec::new());
    for series in file.series(device) {
        match series {
            Ok(series) if series.is_time() => {}
            Ok(series) => all.push(described(file, series, look)),
            Err(error) => broken.push(error),
        }
    }
    (all, broken)
}

fn described(file: &TsFile, series: Series, look: Look) -> Described {
    let all = look == Look::All && file.input().is_map();
    let most = if all { series.chunks.len() } else { 1 };
    let (mut first, mut stored, mut wrong) = (None, 0, None);
    for meta in series.chunks.iter().take(most) {
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
    Described { series, chunk: first, stored: all.then_some(stored), error: wrong }
}

/// The parts of the name of a device.
pub(super) fn segments(device: &DeviceId) -> serde_json::Value {
    device.segments().iter().map(|segment| segment.as_deref()).collect()
}

pub(super) fn emit(file: &TsFile, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
    for device in file.devices(None) {
        let device = match device {
            Ok(device) => device,
            Err(error) => {
                emit(row([("error", error.to_string().into())]))?;
                continue;
            }
        };
        let (all, broken) = describe(file, &device, Look::All);
        for Described { series, chunk, stored, error } in all {
            let statistics = &series.statistics;
            let some = |time: i64| if statistics.count == 0 { None } else { Some(time) };
            let mut line = row([
                ("name", file.metadata().series_name(&device.id, &series.name).into()),
                ("device", segments(&device.id)),
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
        for error in broken {
            emit(row([
                ("name", file.metadata().device_name(&device.id).into()),
                ("device", segments(&device.id)),
                ("error", error.to_string().into()),
            ]))?;
        }
    }
    Ok(())
}

/// Prints devices by the parts of their names, and their series below them.
pub(super) fn tree(file: &TsFile, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Done;
    let mut open: Vec<String> = Vec::new();
    for device in file.devices(None) {
        let device = match device {
            Ok(device) => device,
            Err(error) => {
                outcome = Outcome::Failed;
                writeln!(out, "{}", output::printable(&error.to_string()))?;
                continue;
            }
        };
        let parts = parts(file, &device.id);
        let same = open.iter().zip(&parts).take_while(|(a, b)| a == b).count();
        for (depth, part) in parts.iter().enumerate().skip(same) {
            writeln!(out, "{}{}", "  ".repeat(depth), output::printable(part))?;
        }
        let indent = "  ".repeat(parts.len());
        let (all, broken) = describe(file, &device, Look::All);
        for Described { series, chunk, error, .. } in all {
            let codecs = chunk.map_or_else(String::new, |c| format!(" {} {}", c.encoding, c.compression));
            let name = output::printable(&series.name);
            write!(out, "{indent}{name}: {}{codecs}, {}", series.dtype, values(&series))?;
            if let Some(error) = error {
                outcome = Outcome::Failed;
                write!(out, "; {}", output::printable(&error.to_string()))?;
            }
            writeln!(out)?;
        }
        for error in broken {
            outcome = Outcome::Failed;
            writeln!(out, "{indent}{}", output::printable(&error.to_string()))?;
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

/// The name of a device, cut where it can be: at the dots of a path, or between the segments, all tags among them.
fn parts(file: &TsFile, device: &DeviceId) -> Vec<String> {
    let name = file.metadata().device_name(device);
    if !file.metadata().is_table_model() {
        return if name.starts_with('/') { vec![name] } else { name.split('.').map(str::to_owned).collect() };
    }
    let tags = file.metadata().table(device.table()).map_or(0, |table| table.tags().count());
    let mut parts: Vec<String> = device
        .quoted()
        .map(|part| if part.is_empty() { "\"\"".to_owned() } else { part.into_owned() })
        .collect();
    parts.resize(parts.len().max(1 + tags), "null".to_owned());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_codec::Limits;
    use std::ops::Range;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std_io::{Fetch, FileRanges, Input};

    struct Counting(FileRanges, Arc<AtomicUsize>);

    impl Fetch for Counting {
        fn len(&self) -> u64 {
            self.0.len()
        }

        fn fetch(&self, range: Range<u64>) -> std::io::Result<Vec<u8>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.fetch(range)
        }
    }

    #[test]
    fn a_distant_file_is_not_asked_for_each_chunk() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tsfile/tree_multichunk.tsfile");
        let ranges = FileRanges::new(std::fs::File::open(&path).unwrap()).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let distant = Input::fetching(Counting(ranges, count.clone())).with_cache(0);
        let distant = TsFile::from_input(distant, &Limits::default()).unwrap();
        let near = TsFile::open(&path).unwrap();
        let device = near.devices(None).next().unwrap().unwrap();
        let (all, error) = describe(&near, &device, Look::All);
        assert!(error.is_empty() && all.iter().all(|one| one.stored > Some(0)));
        let series = all.len();
        assert!(all.iter().map(|one| one.series.chunks.len()).sum::<usize>() > 2 * series);
        count.store(0, Ordering::Relaxed);
        distant.series(&device).for_each(drop);
        let index = count.swap(0, Ordering::Relaxed);
        let (all, error) = describe(&distant, &device, Look::All);
        assert!(error.is_empty() && all.iter().all(|one| one.chunk.is_some() && one.stored.is_none()));
        assert_eq!(count.load(Ordering::Relaxed), index + series);
    }
}
