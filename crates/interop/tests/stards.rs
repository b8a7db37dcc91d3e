//! `stards_reader.py`, a StarDS reader from the specification alone, reads what we write, byte for byte, and finds every
//! rule kept that a writer is to keep.

use std::path::{Path, PathBuf};
use std::process::Command;

use core_codec::stards::{BASE_LAYER, Compression, DataType, Draft, Storage, Tensor};
use serde_json::{Value, json};

/// Runs the reader; none where there is no Python.
fn python(arguments: &[&Path]) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stards_reader.py");
    let output = match Command::new("python3").arg(script).args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("NOT RUN: python3: {error}");
            return None;
        }
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Else it could not judge ours.
#[test]
fn it_reads_what_the_reference_wrote() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/stards");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "stards")).collect();
    assert!(files.len() >= 30);
    let arguments: Vec<&Path> =
        [Path::new("--sidecars")].into_iter().chain(files.iter().map(|path| &**path)).collect();
    python(&arguments);
}

/// A draft, and what is in it: layer, kind, key, type, shape, data.
#[derive(Default)]
struct Sample {
    draft: Draft<'static>,
    items: Vec<Value>,
}

impl Sample {
    fn add(&mut self, layer: &str, kind: &str, key: &str, value: &Tensor) {
        let hex: String = value.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        self.items.push(json!([layer, kind, key, value.dtype().name(), value.shape(), hex]));
    }

    fn array(&mut self, layer: &str, key: &str, value: Tensor, storage: impl Into<Storage>) {
        self.add(layer, "array", key, &value);
        self.draft.put(layer, key, value, storage).unwrap();
    }

    fn metadata(&mut self, layer: &str, key: &str, value: Tensor) {
        self.add(layer, "metadata", key, &value);
        self.draft.set_metadata(layer, key, value).unwrap();
    }

    /// What the reader says of the file, in any order, is what is in it.
    fn check(mut self) {
        let path = tempfile::Builder::new().suffix(".stards").tempfile().unwrap().into_temp_path();
        std_io::StardsWriter::new(&self.draft).save(&path).unwrap();
        let Some(found) = python(&[Path::new("--rules"), &path]) else { return };
        let mut found: Vec<Value> = found.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        found.sort_by_key(Value::to_string);
        self.items.sort_by_key(Value::to_string);
        assert_eq!(found.len(), self.items.len());
        for (found, expected) in found.iter().zip(&self.items) {
            assert_eq!(found, expected);
        }
    }
}

fn value(dtype: DataType, shape: &[u64]) -> Tensor {
    let count = shape.iter().product::<u64>();
    match dtype.size() {
        None => {
            let texts: Vec<String> = (0..count).map(|i| "é☂x".repeat(i as usize % 5)).collect();
            Tensor::strings(shape, texts.iter().map(String::as_str)).unwrap()
        }
        Some(size) => {
            let bytes =
                (0..count * size as u64).map(|i| (i.wrapping_mul(2_654_435_761) >> (i % 3 + 6)) as u8);
            Tensor::new(dtype, shape, bytes.collect()).unwrap()
        }
    }
}

const CODECS: [Compression; 5] = [
    Compression::None,
    Compression::Gzip,
    Compression::Lz4,
    Compression::GzipShuffle,
    Compression::Lz4Shuffle,
];

/// One block, several that cut elements and strings, none; scalars; three dimensions.
#[test]
fn every_type_codec_and_shape_is_read() {
    let mut sample = Sample::default();
    for dtype in DataType::ALL {
        for compression in CODECS {
            let name = |kind: &str| format!("{kind}_{}_{}", dtype.name(), compression.name());
            for block_size in [None, Some(100), Some(7)] {
                let storage = Storage { block_size, ..compression.into() };
                sample.array(
                    BASE_LAYER,
                    &name(&format!("{block_size:?}")),
                    value(dtype, &[3, 5, 7]),
                    storage,
                );
            }
            sample.array(BASE_LAYER, &name("scalar"), value(dtype, &[]), compression);
            sample.array(BASE_LAYER, &name("empty"), value(dtype, &[4, 0]), compression);
        }
    }
    sample.check();
}

/// Further arrays need further words of the bitmaps; keys of layers fit into them at first, and then no more.
#[test]
fn layers_bitmaps_and_metadata_are_read() {
    for (compression, arrays) in [(Compression::None, 3), (Compression::Gzip, 40), (Compression::Lz4, 150)] {
        let mut sample = Sample::default();
        sample.draft.set_metadata_compression(compression).unwrap();
        // One whose name is the start of another's, one with colons, one without anything.
        let layers = [BASE_LAYER, "raw", "raw__:deep", "é:x", "empty"];
        layers.iter().for_each(|layer| sample.draft.add_layer(layer).unwrap());
        for layer in &layers[..4] {
            for index in 0..arrays {
                sample.array(layer, &format!("k{index}"), value(DataType::Uint16, &[index]), compression);
            }
            for dtype in DataType::ALL {
                for shape in [&[][..], &[0], &[5], &[2, 3]] {
                    let key = format!("{}{}", dtype.name(), shape.len());
                    let key = if shape == [0] { key + "none" } else { key };
                    sample.metadata(layer, &key, value(dtype, shape));
                }
            }
        }
        sample.metadata("é:x", "k0", value(DataType::Float64, &[]));
        sample.check();
    }
    Sample::default().check();
}
