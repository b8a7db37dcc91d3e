//! The command line on `.izs` files: output, exit codes, pipes.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use sha2::{Digest, Sha256};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/izs").join(name)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Exit code, stdout, stderr.
fn run(arguments: &[&str], name: &str) -> (i32, Vec<u8>, String) {
    let (command, rest) = arguments.split_first().unwrap();
    let mut tripoint = Command::new(env!("CARGO_BIN_EXE_tripoint"));
    let output = tripoint.arg(command).arg(file(name)).args(rest).output().unwrap();
    (output.status.code().unwrap(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

/// Stdout of what must succeed without a word on stderr.
fn text(arguments: &[&str], name: &str) -> String {
    let (code, stdout, stderr) = run(arguments, name);
    assert_eq!((code, &*stderr), (0, ""), "{arguments:?} {name}");
    String::from_utf8(stdout).unwrap()
}

#[test]
fn cat_prints_fields_in_columns() {
    let logic = ["cat", "logic", "--range", "5..7"];
    assert_eq!(text(&logic, "group_capture_multi.izs"), "index,sda,scl\n5,1,0\n6,1,0\n");
    let scl = ["cat", "logic/scl", "--range", "6..7", "--format", "ndjson"];
    assert_eq!(text(&scl, "group_capture_multi.izs"), "{\"index\":6,\"scl\":0}\n");
    let pointer = ["cat", "/entity/children/logic/data", "--range", "6..7"];
    assert_eq!(text(&pointer, "group_capture_multi.izs"), "index,value\n6,1\n");
    assert_eq!(text(&["cat", "--range", "3..5"], "enum3_u8.izs"), "index,value\n3,data\n4,data\n");
    assert_eq!(run(&["cat", "--range", "3..5", "--format", "raw"], "enum3_u8.izs").1, [2, 2]);
    assert_eq!(text(&["cat", "--range", "7777.."], "enum3_u8.izs"), "index,value\n");
}

#[test]
fn cat_prints_text_arrays_and_records() {
    let words = text(&["cat", "--range", "0..3"], "string_variable_array.izs");
    assert_eq!(words, "index,value\n0,hello\n1,\n2,naïve café\n");
    let records = text(&["cat", "child", "--range", "3..4"], "variable_array_of_record.izs");
    assert_eq!(records, "index,addr,val\n3,103,-3000\n");
    let nested = text(&["cat", "--range", "1..2", "--format", "ndjson"], "fixed_array_4x3.izs");
    assert_eq!(nested, "{\"index\":1,\"value\":[[12,13,14],[15,16,17],[18,19,20],[21,22,23]]}\n");
    let complex = text(&["cat", "--range", "1..2"], "tuple_complex_f32.izs");
    assert_eq!(complex, "index,re,im\n1,0.99875027,0.04997917\n");
}

#[test]
fn raw_bytes_of_a_stream_are_those_that_digest_hashes() {
    let (code, bytes, _) = run(&["cat", "--format", "raw"], "bitstruct_overlap_gap.izs");
    assert_eq!((code, bytes.len()), (0, 300 * 8));
    let line: Value = serde_json::from_str(&text(&["digest"], "bitstruct_overlap_gap.izs")).unwrap();
    assert_eq!(line["sha256"], sha256(&bytes));
}

/// Not an exit code of 0, and not a word about the file that is read.
#[cfg(target_os = "linux")]
#[test]
fn errors_of_stdout_are_not_those_of_the_file() {
    let said = |name: &str, stdout: Stdio| {
        let mut tripoint = Command::new(env!("CARGO_BIN_EXE_tripoint"));
        let output =
            tripoint.arg("cat").arg(file(name)).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let closed = || Stdio::from(std::io::pipe().unwrap().1);
    let (code, text) = said("enum3_u8.izs", full());
    assert_eq!((code, &*text), (1, "tripoint: stdout: No space left on device (os error 28)\n"));
    assert_eq!(said("enum3_u8.izs", closed()), (0, String::new()));
    // What has gone wrong before says so, though nothing can be written any more.
    for stdout in [full(), closed()] {
        let (code, text) = said("bad/09_middle_block_short.izs", stdout);
        assert_eq!(code, 1, "{text}");
        assert!(text.contains("expected 4096, found 1000"), "{text}");
    }
}

#[test]
fn info_shows_every_trace() {
    let info = text(&["info"], "group_capture_multi.izs");
    assert!(
        info.starts_with(".izs (keys of the specification), 10,656 bytes, 5 streams and 8 summary levels\n")
    );
    assert!(info.contains("bit_struct, 120,000 × u8, 24 MHz, 5 ms, zstd 43.5x"), "{info}");
    let ramp = info.lines().find(|line| line.contains("20 … 32.375")).expect("the ramp of temp");
    for block in "▁▂▃▄▅▆▇█".chars() {
        assert_eq!(ramp.matches(block).count(), 8, "{ramp}");
    }
    for bit in ["sda", "scl"] {
        let line = info.lines().find(|line| line.trim_start().starts_with(bit)).unwrap();
        assert_eq!(line.matches('▒').count(), 64, "{line}");
    }
    let words = text(&["info"], "string_variable_array.izs");
    assert!(words.contains("\"hello\" \"\" \"naïve café\" "), "{words}");
    let info: Value = serde_json::from_str(&text(&["info", "--json"], "group_capture_multi.izs")).unwrap();
    assert_eq!(info["format"], "izs");
    assert_eq!(info["schema"]["children"][0]["name"], "logic");
    assert_eq!(info["streams"].as_array().unwrap().len(), 13);
}

#[test]
fn ls_has_a_line_for_each_stream() {
    let table = text(&["ls"], "variable_array_of_record.izs");
    assert_eq!(table.lines().count(), 4);
    let names = text(&["ls", "--json"], "variable_array_of_record.izs");
    let names = names.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), [".", "child/addr", "child/val"]);
}

#[test]
fn what_cannot_be_read_is_said_and_is_1() {
    for command in [&["info"][..], &["info", "--json"], &["ls"], &["ls", "--json"]] {
        let (code, stdout, _) = run(command, "bad/06_index_offset_past_eof.izs");
        let stdout = String::from_utf8(stdout).unwrap();
        assert_eq!(code, 1, "{command:?}: {stdout}");
        assert!(stdout.contains("needs 36 bytes, only 0 are there"), "{command:?}: {stdout}");
    }
}

#[test]
fn cat_takes_every_name_that_ls_prints() {
    for entry in file("").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let Some(name) =
            path.file_name().and_then(|name| name.to_str()).filter(|name| name.ends_with(".izs"))
        else {
            continue;
        };
        for line in text(&["ls", "--json"], name).lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            for key in ["name", "stream"] {
                let (code, _, stderr) = run(&["cat", row[key].as_str().unwrap(), "--range", "0..0"], name);
                assert_eq!((code, &*stderr), (0, ""), "{name}: {row}");
            }
        }
    }
}

#[test]
fn names_cannot_steer_the_terminal() {
    let info = text(&["info"], "unicode_names.izs");
    assert!(info.contains("\\u{202e}rtl") && !info.contains('\u{202e}') && !info.contains('\u{1}'), "{info}");
}

#[test]
fn wrong_usage_is_2_and_failure_is_1() {
    let table: [(&[&str], i32, &str); 10] = [
        (&["cat", "--range", "9..5"], 2, "it ends at 5"),
        (&["cat", "--format", "tiff"], 2, "invalid value 'tiff'"),
        (&["frobnicate"], 2, "unrecognized subcommand"),
        (&["cat", "--slice", "0:2"], 2, "--slice is for StarDS arrays"),
        (&["cat", "--format", "npy"], 2, "npy are for StarDS arrays"),
        (&["cat", "--time", "0..2"], 2, "are for TsFiles"),
        (&["cat", "--tag", "a = b"], 2, "are for TsFiles"),
        (&["cat", "nope"], 1, "no such item: nope"),
        (&["cat", "--range", "0..99999"], 1, "range 0..99999 is not inside 0..7777"),
        (&["cat", "/entity/data/x"], 1, "no such item"),
    ];
    for (arguments, code, says) in table {
        let (found, stdout, stderr) = run(arguments, "enum3_u8.izs");
        assert_eq!((found, &*stdout), (code, &b""[..]), "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
    }
    let (code, _, stderr) = run(&["info"], "no such file.izs");
    assert_eq!(code, 1);
    assert!(stderr.starts_with("tripoint: ") && stderr.contains("no such file.izs: "), "{stderr}");
    assert!(run(&["info"], "").2.contains("is a directory"));
}

#[test]
fn urls_that_are_not_read_say_why() {
    for (url, says) in [
        ("ftp://host/file.izs", "ftp://host/file.izs: ftp URLs are not read, only those of http and https"),
        (
            "HTTP://host:99999/",
            "HTTP://host:99999/: the port of the URL: expected a number up to 65535, found 99999",
        ),
        // Nobody listens there.
        ("http://me:geheim@127.0.0.1:1/file.izs", "http://me:***@127.0.0.1:1/file.izs: "),
    ] {
        let mut tripoint = Command::new(env!("CARGO_BIN_EXE_tripoint"));
        let output = tripoint.args(["info", url]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with(&format!("tripoint: {says}")) && !said.contains("geheim"), "{said}");
    }
}

#[test]
fn verify_warns_and_fails() {
    let (code, stdout, _) = run(&["verify"], "hand_block_1000.izs");
    let stdout = String::from_utf8(stdout).unwrap();
    assert_eq!(code, 0);
    assert!(stdout.starts_with("warning: /entity/data: blocks of 1000 elements"), "{stdout}");
    let (code, stdout, _) = run(&["verify", "--json"], "bad/09d_corrupt_zstd.izs");
    let finding: Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!((code, &finding["severity"]), (1, &"error".into()));
}

/// As a crash leaves it while something is added to a file.
#[test]
fn what_follows_the_last_footer_is_passed_over_on_request() {
    let whole = std::fs::read(file("enum3_u8.izs")).unwrap();
    let len = whole.len();
    let grown = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    std::fs::write(&grown, [&whole[..], b"some of a block"].concat()).unwrap();
    let path = grown.to_str().unwrap();
    let (code, _, stderr) = run(&["digest"], path);
    assert!(code == 1 && stderr.contains("--scan reads what an earlier footer describes"), "{stderr}");
    for command in ["info", "ls", "digest", "cat", "verify"] {
        let (code, stdout, stderr) = run(&[command, "--scan"], path);
        let says = format!("left out: bytes {len}..{} of the file", len + 15);
        assert!(code == 3 && stderr.contains(&says), "{command}: {code} {stderr}");
        assert!(command == "info" || stdout == run(&[command], "enum3_u8.izs").1, "{command}");
    }
    assert_eq!(text(&["digest", "--scan"], "enum3_u8.izs"), text(&["digest"], "enum3_u8.izs"));
    let (code, _, stderr) = run(&["info", "--scan"], "bad/01_truncated_footer.izs");
    assert!(code == 1 && stderr.contains("has no complete footer"), "{stderr}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tripoint"))
        .arg("cat")
        .arg(file("logic8_u8_summ.izs"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 5];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"index");
    // Its end of the pipe is closed by now.
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
}
