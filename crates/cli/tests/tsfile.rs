//! The command on TsFiles.

#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

fn tripoint(args: &[&str], file: &Path) -> Output {
    let (command, rest) = args.split_first().unwrap();
    Command::new(env!("CARGO_BIN_EXE_tripoint")).arg(command).arg(file).args(rest).output().unwrap()
}

fn stdout(args: &[&str], file: &str) -> String {
    let output = tripoint(args, &testdata(&format!("tsfile/{file}.tsfile")));
    assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn files() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(testdata("tsfile")).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.extension().is_some_and(|extension| extension == "tsfile"));
    all.sort();
    all
}

const KEY: [&str; 2] = ["--key", "abcdefghijklmnop"];

#[test]
fn digests_are_what_they_should_be() {
    let sorted = |text: &str| {
        let mut lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.sort_by_key(|line| (line["device"].to_string(), line["measurement"].to_string()));
        lines
    };
    for path in files() {
        let output = tripoint(&["digest", KEY[0], KEY[1]], &path);
        assert!(output.status.success(), "{}", path.display());
        let expected = fs::read_to_string(path.with_extension("ndjson")).unwrap();
        let found = String::from_utf8(output.stdout).unwrap();
        assert_eq!(sorted(&found), sorted(&expected), "{}", path.display());
    }
}

#[test]
fn all_files_verify_and_describe_themselves() {
    for path in files() {
        for args in
            [&["verify", KEY[0], KEY[1]][..], &["info"], &["info", "--json"], &["ls"], &["ls", "--json"]]
        {
            let output = tripoint(args, &path);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{} {args:?}: {text}", path.display());
        }
    }
}

#[test]
fn an_encrypted_file_says_so() {
    let path = testdata("tsfile/java4_encrypted_aes128.tsfile");
    let output = tripoint(&["digest"], &path);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("encrypted with AES128 at level 2"), "{text}");
    let output = tripoint(&["digest", "--key", "0123456789abcdef"], &path);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not that of the file"));
}

#[test]
fn rows_as_csv() {
    let text =
        stdout(&["cat", "--tag", "region = north", "--tag", "dev = d0", "--columns", "v"], "table_basic");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time,region,dev,v"));
    assert!(lines.clone().count() > 0 && lines.all(|line| line.split(',').nth(1) == Some("north")), "{text}");
    let all = stdout(&["cat", "root.sg.d1.s1"], "tree_single_point");
    assert_eq!(all.lines().count(), 2);
    let time = all.lines().nth(1).unwrap().split(',').next().unwrap();
    let range = format!("..{time}");
    assert_eq!(stdout(&["cat", "--time", &range], "tree_single_point").lines().count(), 1);
    let range = format!("{time}..");
    assert_eq!(stdout(&["cat", "--time", &range], "tree_single_point").lines().count(), 2);
}

#[test]
fn rows_as_json_and_bytes() {
    for path in files() {
        let name = path.file_stem().unwrap().to_str().unwrap();
        for line in stdout(&["cat", "--format", "ndjson", KEY[0], KEY[1]], name).lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(row["time"].is_i64(), "{name}: {line}");
        }
    }
    let output =
        tripoint(&["cat", "root.sg.d1.s1", "--format", "raw"], &testdata("tsfile/tree_single_point.tsfile"));
    assert!(output.status.success() && !output.stdout.is_empty());
}

#[test]
fn null_tags_can_be_asked_for() {
    let all = stdout(&["cat"], "table_null_tags");
    assert_eq!(all.lines().count(), 7);
    let header = all.lines().next().unwrap();
    let tag = header.split(',').nth(2).unwrap();
    let null = stdout(&["cat", "--tag", &format!("{tag} is null")], "table_null_tags");
    let some = stdout(&["cat", "--tag", &format!("{tag} is not null")], "table_null_tags");
    assert_eq!(null.lines().count() + some.lines().count(), all.lines().count() + 1);
}

#[test]
fn trees_show_devices_above_their_series() {
    let text = stdout(&["ls"], "tree_device_depths");
    assert!(text.starts_with("root\n  a\n"), "{text}");
}

#[test]
fn wrong_questions_are_errors() {
    for (args, code) in [
        (&["cat", "--device", "root.no"][..], 1),
        (&["cat", "root.no.s"], 1),
        (&["cat", "--columns", "no"], 1),
        (&["cat", "--slice", "0:1"], 2),
        (&["cat", "--range", "0..1"], 2),
        (&["cat", "--tag", "x = y"], 2),
        (&["cat", "--format", "npy"], 2),
        (&["cat", "--format", "raw"], 2),
    ] {
        let output = tripoint(args, &testdata("tsfile/tree_multichunk.tsfile"));
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn hostile_files_are_errors() {
    let mut folders = vec![testdata("tsfile-bad")];
    match env::var_os("TRIPOINT_CORPUS") {
        Some(corpus) => folders.push(Path::new(&corpus).join("tsfile-bad")),
        None => println!("wider corpus not run: TRIPOINT_CORPUS is not set"),
    }
    for entry in folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()) {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "tsfile") {
            continue;
        }
        for command in ["digest", "verify", "cat"] {
            let output = tripoint(&[command], &path);
            assert_eq!(output.status.code(), Some(1), "{command} {}", path.display());
        }
    }
}
