//! The digests of real `.izs` files equal what is known of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/izs")
}

/// `NAME.izs` beside `NAME.json`.
fn pairs(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let described = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    described.map(|json| (json.with_extension("izs"), json)).collect()
}

fn check(izs: &Path, json: &Path) {
    let output = Command::new(env!("CARGO_BIN_EXE_tripoint")).arg("digest").arg(izs).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}: {stdout}{:?}", izs.display(), output.stderr);
    let lines = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found: BTreeMap<_, _> =
        lines.map(|line| (line["stream"].as_str().unwrap().to_owned(), line)).collect();
    let described: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let expected = described["streams"].as_object().unwrap();
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        expected.keys().collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>(),
        "{}",
        izs.display()
    );
    for (pointer, line) in found {
        for member in ["element", "end", "sha256"] {
            assert_eq!(line[member], expected[&pointer][member], "{} {pointer} {member}", izs.display());
        }
    }
}

#[test]
fn testdata_digests_equal_their_sidecars() {
    let pairs = [pairs(&testdata()), pairs(&testdata().join("v001"))].concat();
    assert!(pairs.len() > 30);
    for (izs, json) in pairs {
        check(&izs, &json);
    }
}

/// A wider sweep over the folder that `TRIPOINT_CORPUS` names.
#[test]
fn corpus_digests_equal_their_sidecars() {
    let Some(corpus) = std::env::var_os("TRIPOINT_CORPUS") else {
        println!("did not run: TRIPOINT_CORPUS is not set");
        return;
    };
    let folder = Path::new(&corpus).join("izs");
    let pairs = [pairs(&folder), pairs(&folder.join("v001"))].concat();
    assert!(!pairs.is_empty(), "{} holds no files", folder.display());
    for (izs, json) in &pairs {
        check(izs, json);
    }
    println!("{} files", pairs.len());
}
