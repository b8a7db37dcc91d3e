//! Every file that the reference implementation wrote reads as its sidecar says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use core_codec::Limits;
use core_codec::source::complete;
use core_codec::stards::{Dataset, Tensor};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// (layer, kind, key) and (dtype, shape, sha256).
type Digests = BTreeMap<(String, &'static str, String), (String, Vec<u64>, String)>;

fn digest(tensor: &Tensor) -> (String, Vec<u64>, String) {
    let hash: String = Sha256::digest(tensor.bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    (tensor.dtype().to_string(), tensor.shape().to_vec(), hash)
}

fn found(file: &[u8]) -> Digests {
    let dataset = complete(Dataset::open(file, &Limits::default())).unwrap();
    let mut digests = Digests::new();
    for array in dataset.arrays() {
        let layer = dataset.layers()[array.layer()].name();
        let tensor = complete(array.read(file)).unwrap();
        digests.insert((layer.into(), "arrays", array.key().into()), digest(&tensor));
    }
    for layer in dataset.layers() {
        for entry in complete(dataset.metadata(file, layer.name())).unwrap() {
            let digest = digest(&entry.value.unwrap());
            digests.insert((layer.name().into(), "metadata", entry.key.to_string()), digest);
        }
    }
    digests
}

fn expected(sidecar: &Value) -> Digests {
    let mut digests = Digests::new();
    for (layer, content) in sidecar["layers"].as_object().unwrap() {
        for kind in ["arrays", "metadata"] {
            for (key, item) in content[kind].as_object().unwrap() {
                let text = |field: &str| item[field].as_str().unwrap().to_owned();
                let shape = item["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
                digests
                    .insert((layer.clone(), kind, key.clone()), (text("dtype"), shape, text("raw_sha256")));
            }
        }
    }
    digests
}

fn check_folder(folder: &Path) -> usize {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "stards"));
    for path in &files {
        let sidecar = fs::read(path.with_extension("json")).unwrap();
        let sidecar: Value = serde_json::from_slice(&sidecar).unwrap();
        assert_eq!(found(&fs::read(path).unwrap()), expected(&sidecar), "{}", path.display());
    }
    files.len()
}

#[test]
fn files_of_the_reference_read_as_their_sidecars_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/stards");
    assert!(check_folder(&folder) >= 30);
}

#[test]
fn the_wider_corpus_reads_as_its_sidecars_say() {
    match std::env::var_os("TRIPOINT_CORPUS") {
        Some(corpus) => assert!(check_folder(&Path::new(&corpus).join("stards")) > 0),
        None => eprintln!("not run: TRIPOINT_CORPUS is unset"),
    }
}
