//! What comes of every damaged and hostile `.izs` file, within little time and 64 MiB.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// SHA-256 of the 10,000 elements that the undamaged file holds.
const GOOD: &str = "353490716dfa177922c31cca0d148e1a26dae8f9721396ab9a04b8a118aa1087";

/// File, exit code of `digest`, what its output says (stdout and stderr), exit codes of `info`, which decodes blocks
/// for its sketches, and of `ls`, which does not.
type Row = (&'static str, i32, &'static str, [i32; 2]);

const TABLE: &[Row] = &[
    ("00_good", 0, GOOD, [0, 0]),
    ("01_truncated_footer", 1, "footer at byte", [1, 1]),
    // The header only identifies a file; a file whose footer is right opens.
    ("02b_bad_header_magic", 0, GOOD, [0, 0]),
    ("02c_reserved_nonzero", 1, "reserved bytes 4..8 of the footer: expected 0, found 1", [1, 1]),
    ("03_schema_len_gt_file", 1, "schema length: expected 0 to", [1, 1]),
    ("05_invalid_json", 1, "schema at byte 8: malformed JSON: key must be a string at line 1", [1, 1]),
    ("05b_schema_not_zstd", 1, "schema at byte 8: zstd:", [1, 1]),
    ("06_index_offset_past_eof", 1, "block index of /entity/data at byte 1048576: needs 36 bytes", [1, 1]),
    ("06b_index_offset_u64max", 1, "at byte 18446744073709551615: needs 36 bytes", [1, 1]),
    ("06c_block_offset_past_eof", 1, "block of /entity/data, number 0 at byte 1073741824: needs", [1, 0]),
    ("08_block_too_small", 1, "expected 5, found 3", [1, 1]),
    ("08b_block_too_large", 1, "expected 2, found 3", [1, 1]),
    ("09_middle_block_short", 1, "number 1 at byte 27: decoded bytes: expected 4096, found 1000", [1, 0]),
    ("09c_none_block_too_long", 1, "number 0 at byte 8: stored bytes: expected 4096, found 10000", [1, 0]),
    ("09d_corrupt_zstd", 1, "block of /entity/data, number 0 at byte 8: zstd:", [1, 0]),
    ("10_end_huge", 1, "expected 2251799813685248, found 3", [1, 1]),
    ("10b_end_negative", 1, "expected an integer from 0 to 2^64-1, found -1", [1, 1]),
    ("12_unknown_element", 1, "unknown element \\\"u128\\\"", [1, 1]),
    ("12b_unknown_compress", 1, "unsupported compression: \\\"lz4\\\"", [1, 0]),
    // The kind of entity is not known, its stream is as good as any.
    ("12d_unknown_entity_type", 0, GOOD, [0, 0]),
    ("12e_missing_data", 1, "`data` is missing", [1, 1]),
    ("13_index_amplification", 1, "34359738368 is over the limit of 16", [0, 0]),
    // Valid by the specification, though the reference refuses the file.
    ("14_attr_null", 0, GOOD, [0, 0]),
    ("14b_attr_negative_int", 0, GOOD, [0, 0]),
    ("14c_bits_200", 0, GOOD, [0, 0]),
    ("16_empty_file", 1, "the file is empty", [1, 1]),
    ("16b_footer_only", 1, "schema at byte 0", [1, 1]),
];

/// Only in `v001`: the first stream reads, those of the variants are where no reader can find them.
const UNION: Row =
    ("17_union_written_by_reference", 1, "block of /entity/variants/a/data, number 0 at byte", [1, 0]);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/izs/bad")
}

/// What the files would cost a reader that believes them takes days.
const MOST: Duration = Duration::from_secs(20);

/// Runs the command in 80 MiB of address space, its own code and libraries included, and in little time.
fn run(arguments: &[&str], file: &Path) -> Output {
    let started = Instant::now();
    let mut command = if cfg!(target_os = "linux") {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -v 81920 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_tripoint")]);
        shell
    } else {
        Command::new(env!("CARGO_BIN_EXE_tripoint"))
    };
    let output = command.args(arguments).arg(file).output().unwrap();
    let elapsed = started.elapsed();
    assert!(elapsed < MOST, "{arguments:?} {}: {elapsed:?}", file.display());
    output
}

fn check(folder: &Path, &(name, digest, says, [info, list]): &Row) {
    let file = folder.join(name).with_extension("izs");
    let output = run(&["digest"], &file);
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    assert_eq!(output.status.code(), Some(digest), "digest {}: {said}", file.display());
    assert!(said.contains(says), "digest {}: {said}", file.display());
    let codes =
        [(&["info"][..], info), (&["info", "--json"], list), (&["ls"], list), (&["ls", "--json"], list)];
    for (arguments, expected) in codes {
        let output = run(arguments, &file);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(expected), "{arguments:?} {}: {said}", file.display());
        assert_eq!(said.is_empty(), expected == 0, "{arguments:?} {}: {said}", file.display());
    }
}

#[test]
fn every_bad_file_ends_as_it_should() {
    for row in TABLE {
        check(&folder(), row);
        check(&folder().join("v001"), row);
    }
    check(&folder().join("v001"), &UNION);
}

#[test]
fn the_table_names_every_file() {
    let files = |folder: PathBuf| {
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.is_file()).count()
    };
    assert_eq!(files(folder()), TABLE.len());
    assert_eq!(files(folder().join("v001")), TABLE.len() + 1);
}

#[test]
fn a_small_read_of_an_amplified_stream_works() {
    let file = folder().join("13_index_amplification.izs");
    let output = run(&["cat", "--range", "4000000000..4000000002"], &file);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "index,value\n4000000000,0\n4000000001,0\n");
    let output = run(&["cat"], &file);
    assert_eq!(output.status.code(), Some(1));
}

/// A file of nothing but this schema.
fn file_of(schema: &str) -> tempfile::TempPath {
    let mut frame = vec![0; zstd_safe::compress_bound(schema.len())];
    let len = zstd_safe::compress(&mut frame[..], schema.as_bytes(), 3).unwrap();
    let mut bytes = vec![0x00, 0x21, 0x4a, 0xd9, 0xff, 0x90, 0xba, 0xed];
    bytes.extend(&frame[..len]);
    bytes.extend((len as u32).to_le_bytes());
    bytes.extend([0, 0, 0, 0, 0x01, 0x21, 0x4a, 0xd9, 0x01, 0x90, 0xba, 0xed]);
    let path = tempfile::Builder::new().suffix(".izs").tempfile().unwrap().into_temp_path();
    std::fs::write(&path, bytes).unwrap();
    path
}

/// `count` nodes as the children of one group.
fn group_of(count: u32, node: &str) -> String {
    let children: Vec<_> = (0..count).map(|number| format!("\"{number:x}\":{node}")).collect();
    format!("{{\"type\":\"group\",\"children\":{{{}}}}}", children.join(","))
}

/// `node` below `depth` groups.
fn below_groups(depth: usize, name: &str, node: &str) -> String {
    let open = format!("{{\"type\":\"group\",\"children\":{{\"{name}\":");
    [&*open.repeat(depth), node, &"}}".repeat(depth)].concat()
}

#[test]
fn schemas_that_swell_stop_at_a_limit() {
    let numbers = "0,".repeat(8_000_000);
    let big = format!("{{\"type\":\"group\",\"children\":{{}},\"x\":[{}0]}}", "1,".repeat(200_000));
    let table = [
        (format!("[{numbers}0]"), 1, "JSON values: 262145 is over the limit of 262144"),
        (group_of(65_535, "{}"), 0, ""),
        (group_of(65_536, "{}"), 1, "entities: 65537 is over the limit of 65536"),
        (group_of(40_000, "{\"type\":\"null\"}"), 1, "not all of it can be read"),
        ("[".repeat(1_000_000), 1, "nested levels: 129 is over the limit of 128"),
        (below_groups(60, "a", &big), 0, ""),
        (below_groups(1, &"n".repeat(65_537), "{}"), 1, "bytes of a name: 65537 is over the limit of 65536"),
        (below_groups(60, &"n".repeat(60_000), "{}"), 1, "bytes of all names"),
        (below_groups(1, &"n".repeat(60_000), &group_of(60_000, "{}")), 1, "bytes of all names"),
        (format!("\"{}\"", "a".repeat(16 << 20)), 1, "decoded bytes: 16777217 is over the limit of 16777216"),
    ];
    for (entity, code, says) in table {
        let file = file_of(&format!("{{\"entity\":{entity}}}"));
        for command in ["info", "ls"] {
            let output = run(&[command], &file);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(code), "{command}: {said}");
            assert!(said.contains(says), "{command}: {said}");
        }
    }
}
