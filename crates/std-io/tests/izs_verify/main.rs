//! `verify` on `.izs` files: a test for each rule of the specification.
//!
//! | section | rule | test |
//! |---|---|---|
//! | header | the eight bytes | `bytes_at_the_ends` |
//! | footer | magic, reserved bytes, schema inside the file | such a file does not open: `izs_bad` of the command |
//! | schema | Zstandard, JSON, `entity` | the same |
//! | schema | each key once; the keys of one dialect | `keys_of_the_schema` |
//! | schema | `data` is there, with an `element`, `compress` and `i_compress` that are known, and integers | `descriptors` |
//! | schema | `block` is a power of two from 4096 on | `descriptors` |
//! | schema | types are known, and fields inside their element | `fields` |
//! | block index | a whole number of entries, as many as blocks; inside the file | `indexes` |
//! | block index | behind all blocks of its stream | `bytes_at_the_ends` |
//! | blocks | inside the file, neither in the header nor in the schema | `indexes` |
//! | blocks | as many elements as they should have, the last too; `none` and `zstd` decode | `blocks` |
//! | data model | streams of a record are of one length; arrays of whole elements; ends; tags of unions and `tagged` | `lengths` |
//! | data model | times in order, text in UTF-8 | `contents` |
//! | data model | attributes that are made use of have a use | `attributes` |
//! | summaries | levels, their lengths and groups | `summaries` |
//! | the reference | what it cannot read: null, negative integers, numbers beyond a double, two keys for one thing | `attributes`, `keys_of_the_schema` |

mod izs_support;

use std::fs;
use std::path::Path;

use core_codec::Limits;
use std_io::{Finding, Input, IzsFile, Severity};

use izs_support::{every_file, made, testdata};

fn findings(file: &IzsFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    file.verify(true, &mut |finding| findings.push(finding)).unwrap();
    findings
}

/// Messages about a made file: `E` or `W`, item, message.
fn found(schema: &str, streams: &[(&str, &[u64])]) -> Vec<String> {
    let shown = |Finding { severity, item, message }: Finding| {
        let severity = if severity == Severity::Error { 'E' } else { 'W' };
        format!("{severity} {item} {message}")
    };
    findings(&made(schema, streams)).into_iter().map(shown).collect()
}

/// The only message.
fn only(schema: &str, streams: &[(&str, &[u64])]) -> String {
    let found = found(schema, streams);
    assert_eq!(found.len(), 1, "{found:?}");
    found.concat()
}

fn bits(attributes: &str) -> String {
    format!(r#"{{"entity":{{"type":"bits","bits":8{attributes},"data":@0}}}}"#)
}

/// Reads bytes as a file.
fn of_bytes(bytes: &[u8]) -> IzsFile {
    IzsFile::from_input(Input::fetching(bytes.to_vec()), Limits::default()).unwrap()
}

/// The bytes of `hand_none_exact`: two blocks of 4096 bytes, then the index.
fn two_blocks() -> Vec<u8> {
    fs::read(testdata().join("hand_none_exact.izs")).unwrap()
}

fn has(findings: &[Finding], severity: Severity, message: &str) -> bool {
    findings.iter().any(|finding| finding.severity == severity && finding.message.contains(message))
}

#[test]
fn verify_finds_nothing_wrong_in_good_files() {
    for path in every_file() {
        let mut wrong = Vec::new();
        IzsFile::open(&path).unwrap().verify(true, &mut |finding| wrong.push(finding)).unwrap();
        wrong.retain(|finding| finding.severity == Severity::Error);
        assert_eq!(wrong, [], "{}", path.display());
    }
}

/// As the sweep over all files of the corpus does, where there is one.
#[test]
fn verify_finds_nothing_wrong_in_the_corpus() {
    let Some(corpus) = std::env::var_os("TRIPOINT_CORPUS") else {
        println!("did not run: TRIPOINT_CORPUS is not set");
        return;
    };
    for folder in ["izs", "izs/v001"] {
        for entry in fs::read_dir(Path::new(&corpus).join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "izs") {
                let mut report = |finding: Finding| {
                    assert_eq!(finding.severity, Severity::Warning, "{}: {finding:?}", path.display());
                };
                IzsFile::open(&path).unwrap().verify(true, &mut report).unwrap();
            }
        }
    }
}

#[test]
fn bytes_at_the_ends() {
    let mut bytes = two_blocks();
    assert_eq!(findings(&of_bytes(&bytes)), []);
    bytes[0] = 7;
    assert!(findings(&of_bytes(&bytes))[0].message.starts_with("the header is [07,"));
    // The second block ends inside the index.
    bytes[8208..8216].copy_from_slice(&4108u64.to_le_bytes());
    assert!(has(&findings(&of_bytes(&bytes)), Severity::Error, "ends after the index starts"));
}

#[test]
fn indexes() {
    let place = |offset: u64| {
        let mut bytes = two_blocks();
        bytes[8200..8208].copy_from_slice(&offset.to_le_bytes());
        findings(&of_bytes(&bytes))
    };
    assert!(has(&place(4), Severity::Warning, "block 0 overlaps the header"));
    assert!(has(&place(1 << 40), Severity::Error, "block of /entity/data, number 0 at byte 1099511627776"));
    let size = |size: &str| {
        let text = r#"{"entity":{"type":"bits","bits":8,"data":{"element":"u8","end":1,"block":4096,"compress":"none","i_offset":9,"i_size":SIZE}}}"#;
        found(&text.replace("SIZE", size), &[("u8", &[1])])
    };
    assert_eq!(size("12"), [] as [&str; 0]);
    assert_eq!(size("13")[0], "W /entity/data an index of 13 bytes is not whole entries");
    assert!(size("13")[1].starts_with("W /entity/data the index 9..22 overlaps the schema"));
    assert!(size("36")[0].starts_with("E /entity/data block index"), "{:?}", size("36"));
    assert!(size("12000")[0].starts_with("E /entity/data block index"), "{:?}", size("12000"));
}

#[test]
fn blocks() {
    let bad = |name: &str| findings(&IzsFile::open(testdata().join("bad").join(name)).unwrap());
    assert!(has(&bad("09_middle_block_short.izs"), Severity::Error, "expected 4096, found 1000"));
    assert!(has(&bad("09c_none_block_too_long.izs"), Severity::Error, "expected 4096, found 10000"));
    assert!(has(&bad("09d_corrupt_zstd.izs"), Severity::Error, "zstd:"));
    assert!(has(&bad("08_block_too_small.izs"), Severity::Error, "expected 5, found 3"));
}

#[test]
fn keys_of_the_schema() {
    let twice = only(r#"{"entity":{"type":"bits","bits":8,"x":1,"x":2,"data":@0}}"#, &[("u8", &[1])]);
    assert!(twice.starts_with("W  the schema repeats key \"x\""), "{twice}");
    let both = r#"{"entity":{"type":"bits","bits":8,"data":{"element":"u8","end":1,"end_idx":1,"block":4096,"compress":"none",
        "i_offset":9,"i_size":12}}}"#;
    let both = only(both, &[("u8", &[1])]);
    assert!(both.starts_with("W  a stream descriptor has both \"end\" and \"end_idx\""), "{both}");
    let mixed = r#"{"entity":{"type":"group","children":{"a":{"type":"bits","bits":8,"data":@0},"b":{"type":"bits","bits":8,
        "data":{"element":"u8","end_idx":0,"block":4096,"compress":"none","root":0,"root_len":0}}}}}"#;
    assert_eq!(only(mixed, &[("u8", &[1])]), "W  streams use the key names of different dialects");
    let union = r#"{"entity":{"type":"union","variants":{},"data":@0}}"#;
    assert_eq!(only(union, &[("u8", &[])]), "W /entity the specification's dialect has no \"union\"");
}

#[test]
fn descriptors() {
    let good = r#"{"element":"u8","end":1,"block":4096,"compress":"none","i_offset":9,"i_size":12,"i_compress":"none"}"#;
    let with = |old: &str, new: &str| {
        let data = good.replace(old, new);
        found(&bits("").replace("@0", &data), &[("u8", &[1])])
    };
    assert_eq!(with("", ""), [] as [&str; 0]);
    for (old, new, says) in [
        ("\"u8\"", "\"u128\"", "unknown element \"u128\""),
        ("\"end\":1", "\"end\":-1", "expected an integer from 0 to 2^64-1, found -1"),
        ("\"end\":1", "\"end\":1e400", "found 1e400"),
        ("\"none\",\"i_o", "\"lz\",\"i_o", "unsupported compression: \"lz\""),
        ("\"i_compress\":\"none\"", "\"i_compress\":\"pcodec\"", "pcodec"),
        ("4096", "0", "`block`: expected at least 1"),
        ("4096", "4095", "W /entity/data blocks of 4095 elements: should be a power of 2 from 4096 on"),
        ("4096", "2048", "W /entity/data blocks of 2048 elements: should be a power of 2 from 4096 on"),
        ("\"end\"", "\"z\":0,\"end\"", "W /entity/data unknown member \"z\" of the stream descriptor"),
    ] {
        let found = with(old, new);
        assert!(
            found.iter().any(|finding| finding.contains(says) || finding.starts_with(says)),
            "{new}: {found:?}"
        );
    }
    let missing = only(r#"{"entity":{"type":"bits","bits":8}}"#, &[]);
    assert!(missing.starts_with("E /entity/data") && missing.contains("`data` is missing"), "{missing}");
}

#[test]
fn fields() {
    let wide = r#"{"entity":{"type":"int","bits":9,"data":@0}}"#;
    assert_eq!(only(wide, &[("u8", &[1])]), "E /entity the field ends at bit 9 of an element of 8 bits");
    let unknown = r#"{"entity":{"type":"hologram","data":@0}}"#;
    assert_eq!(only(unknown, &[("u8", &[1])]), "W /entity not understood: unknown `type`");
    let malformed = r#"{"entity":{"type":"bits","data":@0}}"#;
    assert!(only(malformed, &[("u8", &[1])]).starts_with("E /entity not understood: `bits` is missing"));
    let text = r#"{"entity":{"type":"character","data":@0}}"#;
    assert!(
        found(text, &[("u16", &[65])])[0].starts_with("E /entity characters are elements of u8, not u16")
    );
    let names = r#"{"entity":{"type":"enum","bits":1,"values":["a","b","c"],"data":@0}}"#;
    assert_eq!(only(names, &[("u8", &[1])]), "W /entity 3 names for a value of 1 bits");
    let tuple = r#"{"entity":{"type":"tuple","names":["a","a"],"child":{"type":"bits","bits":8,"data":@0}}}"#;
    assert_eq!(only(tuple, &[("u8", &[1, 2])]), "E /entity two fields are called \"a\"");
}

#[test]
fn lengths() {
    let record = r#"{"entity":{"type":"group","core:role":"record","children":{
        "a":{"type":"int","bits":8,"data":@0},"b":{"type":"int","bits":8,"data":@1}}}}"#;
    let found_record = only(record, &[("u8", &[1, 2]), ("u8", &[1])]);
    assert_eq!(found_record, "E /entity children of a record have 2 and 1 elements");

    let fixed =
        r#"{"entity":{"type":"fixed_array","elements":2,"child":{"type":"bits","bits":8,"data":@0}}}"#;
    assert_eq!(only(fixed, &[("u8", &[1, 2, 3])]), "E /entity the child has 3 elements, not a multiple of 2");

    let array = r#"{"entity":{"type":"variable_array","data":@0,"child":{"type":"character","data":@1}}}"#;
    assert_eq!(found(array, &[("u64", &[1, 2]), ("u8", &[65, 66])]), [] as [&str; 0]);
    let back = only(array, &[("u64", &[2, 1]), ("u8", &[65, 66])]);
    assert_eq!(back, "E /entity element 1 ends at 1, before the one before it, at 2");
    let long = only(array, &[("u64", &[1, 5]), ("u8", &[65, 66])]);
    assert_eq!(long, "E /entity the last element ends at 5, the child has 2 elements");

    // Keys of dialect V, which has unions.
    let union = r#"{"entity":{"type":"union","data":@0,"variants":{"a":{"type":"int","bits":8,"data":@1},
        "b":{"type":"int","bits":8,"data":@2}}}}"#;
    let union = |tags: &[u64], a: &[u64], b: &[u64]| {
        let mut found = found(union, &[("u8", tags), ("u8", a), ("u8", b)]);
        found.retain(|finding| !finding.contains("dialect"));
        found
    };
    assert_eq!(union(&[0, 1, 0], &[5, 6], &[7]), [] as [&str; 0]);
    assert_eq!(union(&[0, 2, 3], &[5], &[]), ["E /entity element 1 has tag 2, there are 2 variants"]);
    assert_eq!(union(&[0, 1, 0], &[5, 6], &[]), ["E /entity variant \"b\" has 0 elements, 1 tags name it"]);
    assert_eq!(union(&[0], &[5, 6], &[]), ["E /entity variant \"a\" has 2 elements, 1 tags name it"]);

    let tagged = r#"{"entity":{"type":"tagged","tag_bits":2,"values":{"a":{"type":"bits","bits":2},"b":{"type":"null"}},"data":@0}}"#;
    let tagged = found(tagged, &[("u8", &[0b1100, 1, 0b111])]);
    assert_eq!(tagged[1..], ["E /entity element 2 has tag 3, there are 2 variants"], "{tagged:?}");
}

#[test]
fn contents() {
    let times = r#"{"entity":{"type":"timestamp","data":@0}}"#;
    assert_eq!(found(times, &[("u64", &[1, 1, 5])]), [] as [&str; 0]);
    let back = only(times, &[("u64", &[1, 5, 4, 3])]);
    assert_eq!(back, "W /entity element 2 is at 4, before the one before it, at 5");
    let text = r#"{"entity":{"type":"character","data":@0}}"#;
    assert_eq!(found(text, &[("u8", &[65, 0xc3, 0xa9])]), [] as [&str; 0]);
    assert_eq!(only(text, &[("u8", &[65, 0xff, 66])]), "W /entity/data not UTF-8 at element 1");
    assert_eq!(only(text, &[("u8", &[65, 66, 0xc3])]), "W /entity/data not UTF-8 at element 2");
}

#[test]
fn attributes() {
    for (attribute, says) in [
        (r#","x":[null]"#, "W /entity crate iguazu reads no file with null, as in \"x\""),
        (r#","x":{"y":-5}"#, "W /entity crate iguazu reads no file with a negative integer"),
        (r#","x":1e400"#, "W /entity crate iguazu reads no file with a number beyond the range of a double"),
        (r#","time:rate":0"#, "W /entity \"time:rate\": expected a rate in hertz, found 0"),
        (
            r#","time:epoch":"now""#,
            "W /entity \"time:epoch\": expected a date and time of RFC 3339, found \"now\"",
        ),
        (
            r#","number:scale":"2""#,
            "E /entity entity of /entity: expected a number within the range of a double",
        ),
    ] {
        let found = only(&bits(attribute), &[("u8", &[1])]);
        assert!(found.starts_with(says), "{attribute}: {found}");
    }
    let fine = r#","x":-5.0,"y":1.50,"z":18446744073709551616,"time:rate":1e3,"time:epoch":"2024-01-01T00:00:00Z","number:offset":-5.0"#;
    assert_eq!(found(&bits(fine), &[("u8", &[1])]), [] as [&str; 0]);
    let field =
        r#"{"entity":{"type":"group","time:field":"b","children":{"a":{"type":"bits","bits":8,"data":@0}}}}"#;
    let found = only(field, &[("u8", &[1])]);
    assert_eq!(found, "W /entity \"time:field\": expected the name of a child, found \"b\"");
}

#[test]
fn summaries() {
    let summary = |kind: &str, key: &str, base: &str| {
        format!(r#"{{"entity":{{{kind},"data":@0,"summaries":{{"{key}":{{{base}"levels":[@1]}}}}}}}}"#)
    };
    let base = r#""base_level":2,"#;
    let signed = r#""type":"signed","bits":8"#;
    let data = ("u8", &[1, 0xff, 3, 4, 5, 6, 7, 8, 9][..]);
    let range = summary(signed, "range", base);
    assert_eq!(found(&range, &[data, ("u8", &[0xff, 4, 5, 8])]), [] as [&str; 0]);
    let level = "/entity/summaries/range/levels/0";
    let differs = only(&range, &[data, ("u8", &[1, 0xff, 5, 8])]);
    assert_eq!(differs, format!("E {level} group 0 differs from its elements"));
    let missing = only(&range, &[data, ("u8", &[0xff, 4])]);
    assert_eq!(
        missing,
        format!("W {level} 2 values for 2 groups: the last is missing, as crate iguazu leaves it")
    );
    let torn = only(&range, &[data, ("u8", &[0xff, 4, 5])]);
    assert_eq!(torn, format!("E {level} 3 values for 2 groups"));
    let wide = only(&range, &[data, ("u16", &[0xff, 4, 5, 8])]);
    assert_eq!(wide, format!("E {level} elements of u16 over a stream of u8"));
    let unknown = only(&summary(signed, "mean", base), &[data, ("u8", &[1])]);
    assert_eq!(unknown, "W /entity/summaries/mean/levels/0 summary \"mean\" is not known, nor checked");
    let baseless = only(&summary(signed, "range", ""), &[data, ("u8", &[0xff, 4, 5, 8])]);
    assert_eq!(baseless, format!("E {level} `base_level` is missing or not valid"));
    let float = summary(r#""type":"float32""#, "range", base);
    let [nan, one] = [f32::NAN, 1.0].map(|value| u64::from(value.to_bits()));
    assert_eq!(found(&float, &[("u32", &[nan, one, nan, nan]), ("u32", &[one, one])]), [] as [&str; 0]);
}
