//! The command on TsFiles.

#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use sha2::{Digest, Sha256};

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

fn tripoint(args: &[&str], file: &Path) -> Output {
    let (command, rest) = args.split_first().unwrap();
    Command::new(env!("CARGO_BIN_EXE_tripoint")).arg(command).arg(file).args(rest).output().unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
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
    for path in files() {
        let output = tripoint(&["digest", KEY[0], KEY[1]], &path);
        assert!(output.status.success(), "{}", path.display());
        let expected = fs::read(path.with_extension("ndjson")).unwrap();
        assert_eq!(lines(&output.stdout), lines(&expected), "{}", path.display());
    }
}

fn lines(bytes: &[u8]) -> Vec<serde_json::Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.sort_by_key(|line| (line["device"].to_string(), line["measurement"].to_string()));
    lines
}

/// The first bytes of a file, in a file of their own.
fn cut(path: &Path, bytes: usize) -> tempfile::TempPath {
    let cut = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    fs::write(&cut, &fs::read(path).unwrap()[..bytes]).unwrap();
    cut
}

#[test]
fn files_without_their_footer_are_read_by_their_data() {
    for path in files() {
        let info = lines(&tripoint(&["info", "--json"], &path).stdout).remove(0);
        let data = info["data_bytes"].as_u64().unwrap() as usize;
        // An encrypted file says so in its footer, all others would be decrypted.
        let key = if info["encryption"].is_null() { &[][..] } else { &KEY };
        let cut = cut(&path, data);
        let output = tripoint(&["digest"], &cut);
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("cut off or never finished") && text.contains("--scan"), "{text}");

        let output = tripoint(&[&["digest", "--scan"], key].concat(), &cut);
        let expected = lines(&fs::read(path.with_extension("ndjson")).unwrap());
        let found = lines(&output.stdout);
        assert_eq!(found.len(), expected.len(), "{}", path.display());
        for (found, expected) in found.iter().zip(&expected) {
            // Which of two writers it was stood in the statistics of the index.
            let untold = found["error"].as_str().is_some_and(|error| error.contains("without statistics"))
                && (found["encoding"] == "RLBE" || found["encoding"] == "SPRINTZ");
            assert!(found == expected || untold, "{}: {found}", path.display());
        }
        let failed = found.iter().any(|line| line["error"].is_string());
        assert_eq!(output.status.code(), Some(failed.into()), "{}", path.display());
    }
}

#[test]
fn what_a_scan_leaves_out_is_told() {
    let path = testdata("tsfile/tree_multichunk.tsfile");
    for bytes in [9, 100, 500, 1000, 1500] {
        let cut = cut(&path, bytes);
        for args in
            [&["info", "--scan"][..], &["info", "--scan", "--json"], &["ls", "--scan"], &["cat", "--scan"]]
        {
            let output = tripoint(args, &cut);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(3), "{args:?} {bytes}: {text}");
            assert!(text.contains("left out: bytes ") && text.contains(&format!("..{bytes} ")), "{text}");
        }
    }
    // The first rows of the whole file are those of its first chunk group.
    let whole = tripoint(&["cat", "--columns", "s1"], &path).stdout;
    let part = tripoint(&["cat", "--columns", "s1", "--scan"], &cut(&path, 1000)).stdout;
    assert!(part.len() > 100 && whole.starts_with(&part));
    let output = tripoint(&["ls", "--scan"], &testdata("stards/bitmap_base_bit_cleared.stards"));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn what_is_there_of_a_cut_file_is_verified() {
    let path = testdata("tsfile/tree_multichunk.tsfile");
    let info = lines(&tripoint(&["info", "--json"], &path).stdout).remove(0);
    let data = info["data_bytes"].as_u64().unwrap() as usize;
    let whole = cut(&path, data);
    assert_eq!(tripoint(&["verify"], &whole).status.code(), Some(1));
    let output = tripoint(&["verify", "--scan"], &whole);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    let output = tripoint(&["verify", "--scan"], &cut(&path, data - 1));
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("error: data section: ") && text.lines().count() == 1, "{text}");
    // The smallest value in the statistics of a page.
    let path = testdata("tsfile/tree_multipage.tsfile");
    let bytes = fs::read(&path).unwrap();
    let file = std_io::tsfile::TsFile::open(&path).unwrap();
    let device = file.devices(None).next().unwrap().unwrap();
    let series = file.find(&device.id, "s1").unwrap().unwrap();
    let chunk = file.input().run(|source| file.reader().chunk(source, "s1", &series.chunks[0])).unwrap();
    let page =
        file.input().run(|source| chunk.pages().next(source, file.reader().limits())).unwrap().unwrap();
    let cut = cut(&path, file.metadata().meta_offset as usize);
    let mut bad = bytes[..file.metadata().meta_offset as usize].to_vec();
    bad[page.payload.start as usize - 9] ^= 1;
    assert_eq!(tripoint(&["verify", "--scan"], &cut).status.code(), Some(0));
    fs::write(&cut, bad).unwrap();
    let output = tripoint(&["verify", "--scan"], &cut);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("error: root.") && text.contains("page at byte"), "{text}");
}

#[test]
fn a_column_that_cannot_be_read_is_left_out_alone() {
    let path = testdata("tsfile/tree_multichunk.tsfile");
    let file = std_io::tsfile::TsFile::open(&path).unwrap();
    let device = file.devices(None).next().unwrap().unwrap();
    let series = file.find(&device.id, "s1").unwrap().unwrap();
    let chunk = file.input().run(|source| file.reader().chunk(source, "s1", &series.chunks[0])).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    // The payload of its only page.
    bytes[chunk.data.start as usize + 3..chunk.data.end as usize].fill(0xff);
    let damaged = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    fs::write(&damaged, bytes).unwrap();

    let output = tripoint(&["cat", "--device", "root.sg.d1"], &damaged);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("left out: ") && text.contains("of s1"), "{text}");
    // The text column is as it was.
    let column = |csv: &[u8]| -> Vec<String> {
        let text = std::str::from_utf8(csv).unwrap();
        text.lines().map(|line| line.rsplit(',').next().unwrap().to_owned()).collect()
    };
    assert_eq!(column(&output.stdout), column(&tripoint(&["cat", "--device", "root.sg.d1"], &path).stdout));
    let output = tripoint(&["cat"], &damaged);
    assert_eq!(output.status.code(), Some(1));
    // Alone it is an error.
    let output = tripoint(&["cat", "root.sg.d1.s1"], &damaged);
    assert_eq!(output.status.code(), Some(1));
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
    assert!(text.contains("needs its master key of 16 bytes"), "{text}");
    // Nothing of it can be read, which is more than something left out.
    for args in [&["cat"][..], &["cat", "root.j.d1.s"], &["verify"]] {
        let output = tripoint(args, &path);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(said.contains("unsupported encrypted data without a key"), "{said}");
    }
    let info = stdout(&["info"], "java4_encrypted_aes128");
    assert!(info.contains("encrypted with AES128 at level 2; --key takes the 16 bytes"), "{info}");
    let output = tripoint(&["digest", "--key", "0123456789abcdef"], &path);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not that of the file"));
    let by_variable = Command::new(env!("CARGO_BIN_EXE_tripoint"))
        .args(["digest", path.to_str().unwrap()])
        .env("TRIPOINT_KEY", KEY[1])
        .output()
        .unwrap();
    assert_eq!(by_variable.stdout, tripoint(&["digest", KEY[0], KEY[1]], &path).stdout);
    assert!(by_variable.status.success());
    for (args, path) in [
        (&["digest", "--key", "short"][..], path),
        (&["digest", KEY[0], KEY[1]], testdata("izs/enum3_u8.izs")),
    ] {
        assert_eq!(tripoint(args, &path).status.code(), Some(2), "{args:?}");
    }
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
    let file = testdata("tsfile/tree_single_point.tsfile");
    let raw = tripoint(&["cat", "root.sg.d1.s1", "--format", "raw"], &file).stdout;
    let digest = lines(&tripoint(&["digest"], &file).stdout).remove(0);
    assert_eq!(digest["values_sha256"], sha256(&raw));
}

/// A file with some of its bytes replaced.
fn patched(file: &str, patch: impl FnOnce(&mut Vec<u8>)) -> tempfile::TempPath {
    let mut bytes = fs::read(testdata(&format!("tsfile/{file}.tsfile"))).unwrap();
    patch(&mut bytes);
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    fs::write(&path, bytes).unwrap();
    path
}

/// Replaces a name everywhere in a file.
fn renamed(file: &str, from: &[u8], to: &[u8]) -> tempfile::TempPath {
    patched(file, |bytes| {
        let places: Vec<_> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
        places.into_iter().for_each(|at| bytes[at..at + to.len()].copy_from_slice(to));
    })
}

#[test]
fn a_damaged_device_hides_no_other() {
    // The list of chunks of the times of the second device, without which neither of its columns can be read.
    let file = patched("table_basic", |bytes| bytes[576] ^= 0x7f);
    let whole = testdata("tsfile/table_basic.tsfile");
    for (args, more, errors) in [
        (&["digest"][..], 1, 3),
        (&["ls", "--json"], 1, 1),
        (&["ls"], 1, 1),
        (&["info"], 1, 1),
        (&["info", "--json"], 0, 1),
    ] {
        let output = tripoint(args, &file);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = tripoint(args, &whole).stdout.split(|&byte| byte == b'\n').count() - 1;
        assert_eq!(text.lines().count(), lines + more, "{args:?}: {text}");
        assert_eq!(text.matches("chunk metadata at").count(), errors, "{args:?}: {text}");
    }
    let output = tripoint(&["cat"], &file);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("left out: t1/north/d1: chunk metadata at byte 605"), "{text}");
    let others: Vec<String> = stdout(&["cat"], "table_basic")
        .lines()
        .filter(|line| !line.contains(",north,d1,"))
        .map(str::to_owned)
        .collect();
    let found = String::from_utf8(output.stdout).unwrap();
    assert!(others.len() > 8);
    assert_eq!(found.lines().collect::<Vec<_>>(), others);
}

#[test]
fn a_damaged_series_hides_no_other() {
    let path = testdata("tsfile/tree_multichunk.tsfile");
    let info = lines(&tripoint(&["info", "--json"], &path).stdout).remove(0);
    let index = info["data_bytes"].as_u64().unwrap() as usize;
    // The type in the record of root.sg.d1.s1, behind its name; and an offset in its list of chunks.
    for (behind, flip) in [(3, 0x70), (64, 0x7f)] {
        let file = patched("tree_multichunk", |bytes| {
            let at = bytes[index..].windows(3).position(|window| window == b"\x04s1").unwrap();
            bytes[index + at + behind] ^= flip;
        });
        for format in ["csv", "ndjson", "raw"] {
            let args = ["cat", "root.sg.d1.s2", "--format", format];
            let (output, expected) = (tripoint(&args, &file), tripoint(&args, &path));
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(0), "{text}");
            assert_eq!(output.stdout, expected.stdout);
        }
        assert_eq!(tripoint(&["cat", "root.sg.d1.s1"], &file).status.code(), Some(1));
        let output = tripoint(&["cat", "--device", "root.sg.d1"], &file);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("left out: ") && !text.contains("Error"), "{text}");
        assert_eq!(output.stdout, tripoint(&["cat", "root.sg.d1.s2"], &path).stdout);
    }
}

#[test]
fn a_filter_that_lies_hides_no_item() {
    let file = patched("tree_single_point", |bytes| bytes[0xd4] ^= 2);
    let output = tripoint(&["verify"], &file);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "error: root.sg.d1.s1: is not in the bloom filter\n");
    for args in [&["cat", "root.sg.d1.s1"][..], &["cat", "--columns", "s1"]] {
        let output = tripoint(args, &file);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), stdout(args, "tree_single_point"));
    }
}

#[test]
fn rows_that_come_late_are_printed_and_told() {
    let file = testdata("tsfile/bad/start_too_late.tsfile");
    let output = tripoint(&["cat", "--device", "root.sg.d"], &file);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stderr).unwrap();
    let told = "tripoint: late rows of b at byte 84: earlier than the statistics of the chunk say\n";
    assert_eq!(text, told);
    let text = String::from_utf8(output.stdout).unwrap();
    let values = |column: usize| text.lines().filter(|line| line.split(',').nth(column) == Some("0")).count();
    assert_eq!((values(1), values(2)), (20, 3));
    let output = tripoint(&["cat", "root.sg.d.b"], &file);
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"time,b\n5,0\n6,0\n7,0\n"[..]));
}

#[test]
fn tags_are_columns_too() {
    for (args, start) in [
        (&["cat"][..], "time,region,dev,v,name\n0,north,d0,0,"),
        (&["cat", "--columns", "v"], "time,region,dev,v\n0,north,d0,0\n"),
        (&["cat", "--columns", "v,dev"], "time,v,dev\n0,0,d0\n"),
        (&["cat", "--columns", "region"], "time,region\n0,north\n"),
        (&["cat", "--device", "t1/north/d0", "--columns", "v"], "time,v\n0,0\n"),
        (&["cat", "--device", "t1/north/d0", "--columns", "dev,v"], "time,dev,v\n0,d0,0\n"),
    ] {
        let text = stdout(args, "table_basic");
        assert!(text.starts_with(start), "{args:?}: {text}");
    }
    let tags = stdout(&["cat", "--columns", "dev"], "table_basic");
    assert_eq!(tags.lines().count(), stdout(&["cat"], "table_basic").lines().count());
    let row = stdout(&["cat", "--columns", "dev,dev", "--format", "ndjson"], "table_basic");
    assert!(row.starts_with("{\"time\":0,\"dev\":\"d0\"}\n"), "{row}");
}

#[test]
fn a_column_may_have_a_comma_in_its_name() {
    let file = renamed("tree_comp_all", b"c_gzip", b"c,gzip");
    let start = |args: &[&str]| {
        let output = tripoint(&[&["cat"], args].concat(), &file);
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code(), text.lines().next().unwrap().to_owned())
    };
    let found = |header: &str| (Some(0), header.to_owned());
    assert_eq!(start(&["--columns", "\"c,gzip\",c_lz4"]), found("time,device,\"c,gzip\",c_lz4"));
    let twice = start(&["--columns", "c_lz4", "--columns", "\"c,gzip\""]);
    assert_eq!(twice, found("time,device,c_lz4,\"c,gzip\""));
    assert_eq!(start(&["--columns", "c,gzip"]).0, Some(1));
    let (code, text) = start(&["--columns", "\"c,gzip"]);
    assert!(code == Some(2) && text.contains("a quote that does not end"), "{text}");
}

#[test]
fn devices_of_any_name_are_told_apart() {
    // A tag that is the text of null, and one that holds what stands between tags.
    let file = patched("table_basic", |bytes| {
        for (from, to) in [(b"\x0asouth", b"\x08null\x00"), (b"\x0anorth", b"\x0ano/th")] {
            let places: Vec<_> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
            if to[0] == from[0] {
                places.into_iter().for_each(|at| bytes[at..at + to.len()].copy_from_slice(to));
            }
        }
    });
    let names: Vec<String> = lines(&tripoint(&["ls", "--json"], &file).stdout)
        .iter()
        .map(|line| line["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.contains(&"t1/\"no/th\"/d0 v".to_owned()), "{names:?}");
    for name in &names {
        let output = tripoint(&["cat", name], &file);
        assert!(output.status.code() == Some(0) || output.stderr.ends_with(b"\n"), "{name}");
        let device = name.rsplit_once(' ').unwrap().0;
        let text = String::from_utf8(tripoint(&["cat", "--device", device], &file).stderr).unwrap();
        assert!(!text.contains("no such device"), "{text}");
    }
    let null = lines(&tripoint(&["ls", "--json"], &testdata("tsfile/table_null_tags.tsfile")).stdout);
    assert!(null.iter().any(|line| line["name"].as_str().unwrap().contains("/null")), "{null:?}");
    let output = tripoint(&["cat", "--device", "t1/\"a"], &file);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_column_called_time_or_device_hides_nothing() {
    let device = renamed("tree_comp_all", b"c_gzip", b"device");
    let time = renamed("table_basic", b"name", b"time");
    for (file, row, header) in [
        (&device, r#"{"time":1700000000000,"_device":"root.sg.d1","device":1000,"#, "time,_device,device,"),
        (&time, r#"{"_time":0,"region":"north","dev":"d0","v":0,"time":""}"#, "_time,region,dev,v,time"),
    ] {
        let rows = tripoint(&["cat", "--format", "ndjson"], file).stdout;
        assert!(rows.starts_with(row.as_bytes()), "{}", String::from_utf8_lossy(&rows));
        let csv = tripoint(&["cat"], file).stdout;
        assert!(csv.starts_with(header.as_bytes()), "{}", String::from_utf8_lossy(&csv));
    }
}

#[test]
fn tables_and_tags_hold_for_an_item_too() {
    let file = testdata("tsfile/table_basic.tsfile");
    for (args, code, text) in [
        (&["cat", "--table", "nosuch"][..], 1, "no such table: nosuch"),
        (&["cat", "t1/north/d0 v", "--table", "nosuch"], 1, "no such table: nosuch"),
        (&["cat", "t1/north/d0 v", "--table", "t1"], 0, "time,v\n0,0\n"),
        (
            &["cat", "--device", "t1/north/d0", "--tag", "region = north", "--columns", "v"],
            0,
            "time,v\n0,0\n",
        ),
        (&["cat", "t1/north/d0 v", "--tag", "region = south"], 0, "time,v\n"),
        (&["cat", "t1/north/d0 v", "--tag", "region = south", "--format", "raw"], 0, ""),
    ] {
        let output = tripoint(args, &file);
        let found = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {found}");
        assert!(
            found.contains(text) && found.lines().count() <= text.lines().count() + 2,
            "{args:?}: {found}"
        );
    }
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
fn what_is_not_there_is_said_once() {
    for (file, args, says) in [
        ("tree_multichunk", &["cat", "v"][..], "no such item: v (`tripoint ls` lists them)"),
        (
            "tree_multichunk",
            &["cat", "root.sg.d1.v"],
            "no such item: root.sg.d1.v (`tripoint ls` lists them)",
        ),
        ("table_basic", &["cat", "t1/no/d0 v"], "no such item: t1/no/d0 v (`tripoint ls` lists them)"),
        ("table_basic", &["cat", "--device", "t1/no"], "no such device: t1/no (`tripoint ls` lists them)"),
    ] {
        let path = testdata(&format!("tsfile/{file}.tsfile"));
        let output = tripoint(args, &path);
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, format!("tripoint: {}: {says}\n", path.display()));
    }
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
        (&["cat", "--table", "x"], 2),
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
