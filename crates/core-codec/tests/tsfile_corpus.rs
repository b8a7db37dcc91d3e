//! Every file of `testdata/tsfile`, and of the wider corpus that TRIPOINT_CORPUS names, holds what the file beside
//! it says.

#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use std::{env, fs};

use core_codec::limits::Limits;
use core_codec::source::complete;
use core_codec::tsfile::query::{Batch, Plan, Rows, Serial, TimeRange};
use core_codec::tsfile::{DeviceId, TsFile, Value};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

fn testdata(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(folder)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "tsfile"))
        .collect();
    files.sort();
    files
}

/// A line of the digest for each column of the file.
fn digest(bytes: &[u8], master: Option<&[u8]>) -> Result<Vec<Json>, core_codec::Error> {
    let mut file = complete(TsFile::open(bytes, &Limits::default()))?;
    if let Some(master) = master {
        file.unlock(master)?;
    }
    let mut lines = Vec::new();
    let mut devices = file.devices(None);
    while let Some(device) = complete(devices.next(bytes))? {
        for series in complete(file.all_series(bytes, &device))?.iter().filter(|series| !series.is_time()) {
            let plan = complete(Plan::new(&file, bytes, &device, Some(&[&series.name]), TimeRange::ALL))?;
            let (count, times, values) = hashes(&file, bytes, plan)?;
            let chunk = complete(file.chunk(bytes, &series.name, &series.chunks[0]))?;
            lines.push(json!({
                "format": "tsfile", "device": device.id.segments(), "measurement": series.name,
                "dtype": series.dtype.name(), "encoding": chunk.encoding.name(),
                "compression": chunk.compression.name(), "count": count,
                "times_sha256": times, "values_sha256": values,
            }));
        }
    }
    Ok(lines)
}

fn hashes(file: &TsFile, bytes: &[u8], plan: Plan) -> Result<(u64, String, String), core_codec::Error> {
    let (mut count, mut times, mut values) = (0, Sha256::new(), Sha256::new());
    let mut rows = Rows::new(file, plan);
    let mut batch = Batch::default();
    while complete(rows.next(file, bytes, &Serial, &mut batch))? {
        for (row, time) in batch.times.iter().enumerate() {
            let Some(value) = batch.columns[0].get(row) else { continue };
            count += 1;
            times.update(time.to_le_bytes());
            match value {
                Value::Boolean(value) => values.update([u8::from(value)]),
                Value::Int32(value) => values.update(value.to_le_bytes()),
                Value::Int64(value) => values.update(value.to_le_bytes()),
                Value::Float(value) => values.update(value.to_le_bytes()),
                Value::Double(value) => values.update(value.to_le_bytes()),
                Value::Binary(value) => {
                    values.update((value.len() as u32).to_le_bytes());
                    values.update(value);
                }
                _ => unreachable!(),
            }
        }
    }
    let hex = |hash: Sha256| hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((count, hex(times), hex(values)))
}

/// The master key of an encrypted file of the corpus.
fn master(path: &Path) -> Option<&'static [u8]> {
    path.to_str().unwrap().contains("encrypted").then_some(b"abcdefghijklmnop")
}

fn sorted(mut lines: Vec<Json>) -> Vec<Json> {
    lines.sort_by_key(|line| (line["device"].to_string(), line["measurement"].to_string()));
    lines
}

/// Compares the digest of a file with what it should be; says what differs.
fn differences(path: &Path, expected: Vec<Json>) -> Vec<String> {
    let found = match digest(&fs::read(path).unwrap(), master(path)) {
        Ok(found) => sorted(found),
        Err(error) => return vec![format!("{}: {error}", path.display())],
    };
    let expected = sorted(expected);
    let mut all = Vec::new();
    if found.len() != expected.len() {
        all.push(format!("{}: {} columns, not {}", path.display(), found.len(), expected.len()));
    }
    let pairs = found.iter().zip(&expected).filter(|(found, expected)| found != expected);
    all.extend(pairs.map(|(found, expected)| format!("{}: {found}, not {expected}", path.display())));
    all
}

#[test]
fn testdata_holds_what_it_says() {
    let files = files(&testdata("tsfile"));
    assert!(files.len() >= 30);
    let mut all = Vec::new();
    for path in files {
        let expected = fs::read_to_string(path.with_extension("ndjson")).unwrap();
        let expected = expected.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        all.extend(differences(&path, expected));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// Lines of a sidecar of the corpus.
fn sidecar(path: &Path) -> Vec<Json> {
    let json: Json = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let mut lines = Vec::new();
    for (name, device) in json["devices"].as_object().unwrap() {
        let segments = match device.get("segments") {
            Some(segments) => segments.clone(),
            None => json!(DeviceId::from_path(name).segments()),
        };
        for (measurement, column) in device["columns"].as_object().unwrap() {
            let mut line = json!({"format": "tsfile", "device": segments, "measurement": measurement});
            for key in ["dtype", "encoding", "compression", "count", "times_sha256", "values_sha256"] {
                line[key] = column[key].clone();
            }
            lines.push(line);
        }
    }
    lines
}

#[test]
fn corpus_holds_what_its_sidecars_say() {
    let Some(corpus) = env::var_os("TRIPOINT_CORPUS") else {
        println!("not run: TRIPOINT_CORPUS is not set");
        return;
    };
    let files = files(&Path::new(&corpus).join("tsfile"));
    assert!(!files.is_empty());
    let all: Vec<String> =
        files.iter().flat_map(|path| differences(path, sidecar(&path.with_extension("json")))).collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}
