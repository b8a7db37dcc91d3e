//! Header, indexes, blocks, and the keys of the schema.

use core_codec::izs::Dialect;
use std_io::{IzsFile, Severity};

use crate::izs_support::{made_bytes, testdata};
use crate::{
    NOTHING, bits, entity, findings, found, found_in_v001, group, has, of_bytes, only, shown, two_blocks,
};

#[test]
fn bytes_at_the_ends() {
    let mut bytes = two_blocks();
    assert_eq!(findings(&of_bytes(&bytes)), []);
    bytes[0] = 7;
    let found = findings(&of_bytes(&bytes));
    assert!(found.len() == 1 && found[0].message.starts_with("the header is [07,"), "{found:?}");
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
    assert!(has(&place(4), Severity::Warning, "block 0 at 4..4100 overlaps the header at 0..8"));
    assert!(has(&place(1 << 40), Severity::Error, "block of /entity/data, number 0 at byte 1099511627776"));
    let data = r#"{"element":"u8","end":END,"block":4096,"compress":"none","i_offset":AT,"i_size":SIZE,"i_compress":"none"}"#;
    let index = |end: &str, at: &str, size: &str| {
        let data = data.replace("END", end).replace("AT", at).replace("SIZE", size);
        found(&bits("").replace("@0", &data), &[("u8", &[1])])
    };
    assert_eq!(index("1", "9", "12"), NOTHING);
    let torn = index("1", "9", "13");
    assert_eq!(torn[0], "W /entity/data an index of 13 bytes is not whole entries");
    assert!(torn[1].starts_with("W /entity/data the index at 9..22 overlaps the schema at 21.."), "{torn:?}");
    for size in ["36", "12000"] {
        let found = index("1", "9", size);
        assert!(found.len() == 1 && found[0].starts_with("E /entity/data block index"), "{found:?}");
    }
    // Without elements there may be an empty block, or none.
    assert_eq!(index("0", "9", "0"), NOTHING);
    assert_eq!(index("0", "0", "0"), NOTHING);
    assert_eq!(found(&bits(""), &[("u8", &[])]), NOTHING);
    let beyond = index("0", "9999", "0");
    assert!(
        beyond.len() == 1 && beyond[0].starts_with("W /entity/data an empty index at 9999, in a file of ")
    );
}

#[test]
fn places() {
    // Two streams of two blocks each: at 8, 4104, 8224 and 12320; their indexes at 8200 and 12321.
    let (low, high) = (vec![0; 8192], vec![0; 4097]);
    let schema =
        group("", r#""a":{"type":"bits","bits":8,"data":@0},"b":{"type":"bits","bits":8,"data":@1}"#);
    let good = made_bytes(Dialect::Spec, &schema, &[("u8", &low), ("u8", &high)]);
    let with = |entry: usize, offset: u64| {
        let mut bytes = good.clone();
        bytes[entry..entry + 8].copy_from_slice(&offset.to_le_bytes());
        shown(&of_bytes(&bytes))
    };
    let (a, b) = (8200, 8224 + 4097);
    assert_eq!(with(a, 8), NOTHING);
    // Whole blocks may be shared, and stand in any order.
    assert_eq!(with(a, 4104), NOTHING);
    assert_eq!(with(b, 8), NOTHING);
    let mut turned = good.clone();
    turned[a..a + 8].copy_from_slice(&4104u64.to_le_bytes());
    turned[a + 8..a + 16].copy_from_slice(&8u64.to_le_bytes());
    assert_eq!(shown(&of_bytes(&turned)), NOTHING);
    let data = "/entity/children/a/data";
    let own = with(a, 9);
    assert_eq!(own, [format!("W {data} block 1 at 4104..8200 overlaps block 0 at 9..4105")]);
    let other = with(b, 9);
    assert_eq!(
        other,
        [format!("W /entity/children/b/data block 0 at 9..4105 overlaps block 0 of {data} at 8..4104")]
    );
    let index = with(b, 4106);
    assert_eq!(index.len(), 1, "{index:?}");
    let index = with(b, 8220);
    assert_eq!(
        index,
        [format!(
            "W /entity/children/b/data block 0 at 8220..12316 overlaps the index of {data} at 8200..8224"
        )]
    );
    let inside_schema = findings(&of_bytes(&{
        let mut bytes = two_blocks();
        let len = bytes.len() as u64;
        bytes[8200..8208].copy_from_slice(&(len - 4096).to_le_bytes());
        bytes
    }));
    assert!(has(&inside_schema, Severity::Error, "ends after the index starts"), "{inside_schema:?}");
}

#[test]
fn blocks() {
    let bad = |name: &str| findings(&IzsFile::open(testdata().join("bad").join(name)).unwrap());
    for (name, says) in [
        ("09_middle_block_short.izs", "expected 4096, found 1000"),
        ("09c_none_block_too_long.izs", "expected 4096, found 10000"),
        ("09d_corrupt_zstd.izs", "zstd:"),
        ("08_block_too_small.izs", "expected 5, found 3"),
    ] {
        let found = bad(name);
        assert!(found.len() == 1 && has(&found, Severity::Error, says), "{name}: {found:?}");
    }
    // The block behind the last has to be empty.
    let data = r#"{"element":"u8","end":4096,"block":4096,"compress":"none","i_offset":4105,"i_size":24,"i_compress":"none"}"#;
    let last = found(&bits("").replace("@0", data), &[("u8", &[0; 4097])]);
    assert_eq!(last.len(), 1, "{last:?}");
    assert!(last[0].contains("number 1 at byte 4104: stored bytes: expected 0, found 1"), "{last:?}");
}

#[test]
fn keys_of_the_schema() {
    let twice = only(&bits(r#","x":1,"x":2"#), &[("u8", &[1])]);
    assert!(twice.starts_with("W  the schema repeats key \"x\""), "{twice}");
    let nested = |arrays: usize| format!(r#","x":{}{}"#, "[".repeat(arrays), "]".repeat(arrays));
    assert_eq!(found(&bits(&nested(125)), &[("u8", &[1])]), NOTHING);
    let deep = only(&bits(&nested(126)), &[("u8", &[1])]);
    assert_eq!(deep, "W  the schema has 128 levels of objects and arrays: crate iguazu reads 127");
    let good = r#"{"element":"u8","end":1,"block":4096,"compress":"none","i_offset":9,"i_size":12,"i_compress":"none"}"#;
    let with = |old: &str, new: &str| {
        let data = good.replace(old, new);
        assert!(old.is_empty() || data != good);
        found(&bits("").replace("@0", &data), &[("u8", &[1])])
    };
    assert_eq!(with("", ""), NOTHING);
    for (a, b) in [("end", "end_idx"), ("i_offset", "root"), ("i_size", "root_len"), ("block", "block_size")]
    {
        let value = if a == "end" {
            1
        } else if a == "block" {
            4096
        } else if a == "i_offset" {
            9
        } else {
            12
        };
        let both = with(&format!("\"{a}\":{value}"), &format!("\"{a}\":{value},\"{b}\":{value}"));
        let says =
            format!("W /entity/data a stream descriptor has both {a:?} and {b:?}: the reference refuses it");
        assert_eq!(both, [says]);
    }
    let both = with("\"element\":\"u8\"", "\"element\":\"u8\",\"element_type\":\"u8\"");
    assert!(both.len() == 1 && both[0].contains("both \"element\" and \"element_type\""), "{both:?}");
    let missing = with(",\"i_compress\":\"none\"", "");
    assert_eq!(
        missing,
        ["W /entity/data \"i_compress\" is missing, which the specification lists; read as \"none\""]
    );
    // Wherever a descriptor stands, and nowhere else.
    let levels = bits(
        r#","x":{"data":{"end":1,"i_offset":1,"i_size":1}},"summaries":{"bit_and_or":{"base_level":2,"levels":[@0]}}"#,
    );
    let data = good.replacen(",\"i_compress\":\"none\"", "", 1);
    let levels = levels.replace("[@0]", &format!("[{data}]"));
    let levels = found(&levels, &[("u8", &[1; 4096])]);
    assert!(levels[0].starts_with("W /entity/summaries/bit_and_or/levels/0 \"i_compress\""), "{levels:?}");
    let names = group("", &format!(r#""a/b~":{{"type":"bits","bits":8,"data":{data}}}"#));
    let names = only(&names, &[("u8", &[1])]);
    assert!(names.starts_with("W /entity/children/a~1b~0/data \"i_compress\""), "{names}");

    let mixed = r#"{"entity":{"type":"group","children":{"a":{"type":"bits","bits":8,"data":@0},"b":{"type":"bits","bits":8,
        "data":{"element":"u8","end_idx":0,"block":4096,"compress":"none","root":0,"root_len":0}}}}}"#;
    assert_eq!(only(mixed, &[("u8", &[1])]), "W  streams use the key names of different dialects");

    let pair: (&str, &[u64]) = ("u8", &[1, 2]);
    let tuple = r#""type":"tuple","fields":{"a":{},"b":{}},"child":{"type":"bits","bits":8,"data":@0}"#;
    assert_eq!(found_in_v001(&entity(tuple), &[pair]), NOTHING);
    let inner = tuple.replace("child", "inner");
    assert_eq!(found(&entity(&inner), &[pair]), NOTHING);
    assert_eq!(
        found_in_v001(&entity(&inner), &[pair]),
        ["W /entity expected \"child\", found \"inner\": crate iguazu does not read the file"]
    );
    for fields in [r#""fields":["a","b"]"#, r#""names":["a","b"]"#, r#""names":{"a":{},"b":{}}"#] {
        let listed = entity(&tuple.replace(r#""fields":{"a":{},"b":{}}"#, fields));
        assert_eq!(found(&listed, &[pair]), NOTHING);
        assert_eq!(
            found_in_v001(&listed, &[pair]),
            ["W /entity expected an object \"fields\": crate iguazu does not read the file without"]
        );
    }
}

#[test]
fn descriptors() {
    let good = r#"{"element":"u8","end":1,"block":4096,"compress":"none","i_offset":9,"i_size":12,"i_compress":"none"}"#;
    let with = |old: &str, new: &str| {
        let data = good.replace(old, new);
        found(&bits("").replace("@0", &data), &[("u8", &[1])])
    };
    assert_eq!(with("", ""), NOTHING);
    for (old, new, says) in [
        ("\"u8\"", "\"u128\"", "unknown element \"u128\""),
        ("\"end\":1", "\"end\":-1", "expected an integer from 0 to 2^64-1, found -1"),
        ("\"end\":1", "\"end\":1e400", "found 1e400"),
        ("\"none\",\"i_o", "\"lz\",\"i_o", "unsupported compression: \"lz\""),
        ("\"i_compress\":\"none\"", "\"i_compress\":\"pcodec\"", "unsupported index compression: \"pcodec\""),
        ("\"i_compress\":\"none\"", "\"i_compress\":\"zstd\"", "unsupported index compression: \"zstd\""),
        ("4096", "0", "`block`: expected at least 1"),
        ("4096", "4095", "W /entity/data blocks of 4095 elements: should be a power of 2 from 4096 on"),
        ("4096", "2048", "W /entity/data blocks of 2048 elements: should be a power of 2 from 4096 on"),
        ("4096", "134217728", "W /entity/data blocks of 134217728 bytes: readers make room for a whole one"),
        ("\"end\"", "\"z\":0,\"end\"", "W /entity/data unknown member \"z\" of the stream descriptor"),
    ] {
        let found = with(old, new);
        assert!(found.len() == 1 && found[0].contains(says), "{new}: {found:?}");
    }
    assert_eq!(with("4096", "67108864"), NOTHING);
    let missing = only(r#"{"entity":{"type":"bits","bits":8}}"#, &[]);
    assert!(missing.starts_with("E /entity/data") && missing.contains("`data` is missing"), "{missing}");
}

/// What follows from a mistake is not one of its own.
#[test]
fn one_mistake_is_told_once() {
    let end = r#"{"element":"u8","end":18446744073709551615,"block":BLOCK,"compress":"none","i_offset":9,"i_size":12,"i_compress":"none"}"#;
    let end = |block: &str| end.replace("BLOCK", block);
    let record = |data: &str| {
        let record = r#","core:role":"record""#;
        group(
            record,
            &format!(
                r#""a":{{"type":"bits","bits":8,"data":{data}}},"b":{{"type":"bits","bits":8,"data":@0}}"#
            ),
        )
    };
    let a = "E /entity/children/a/data";
    let entries = only(&record(&end("4096")), &[("u8", &[1])]);
    assert_eq!(
        entries,
        format!(
            "{a} block index of /entity/children/a/data at byte 9: entries (of `end` / `block`): expected 4503599627370496, found 1"
        )
    );
    // One block of all that there can be.
    let whole = found(&record(&end("18446744073709551615")), &[("u8", &[1])]);
    let errors: Vec<_> = whole.iter().filter(|found| found.starts_with('E')).collect();
    assert_eq!(errors.len(), 1, "{whole:?}");
    assert!(errors[0].contains("18446744073709551615 is over the limit of"), "{whole:?}");
    let array = entity(r#""type":"variable_array","data":@0,"child":{"type":"character","data":END}"#);
    let array = found(&array.replace("END", &end("18446744073709551615")), &[("u64", &[1])]);
    assert_eq!(array.iter().filter(|found| found.starts_with('E')).count(), 1, "{array:?}");
    let level = r#","summaries":{"bit_and_or":{"base_level":2,"levels":[@0]}}"#;
    let level = found(
        &bits(level).replacen("\"data\":@0", &format!("\"data\":{}", end("4096")), 1),
        &[("u8", &[1; 2])],
    );
    assert_eq!(level.len(), 1, "{level:?}");

    // The variants lie in the elements, whatever is wrong with the tag.
    let tagged = entity(
        r#""type":"tagged","tag_bits":65,"values":{"a":{"type":"bits","bits":2},"b":{"type":"null"}},"data":@0"#,
    );
    assert_eq!(
        only(&tagged, &[("u8", &[1])]),
        "E /entity not understood: `tag_bits`: expected 0 to 64, found 65"
    );
    let wide = entity(r#""type":"tagged","tag_bits":9,"values":{"a":{"type":"null"}},"data":@0"#);
    let wide = found_in_v001(&wide, &[("u8", &[1])]);
    assert_eq!(wide, ["E /entity the field ends at bit 9 of an element of 8 bits"]);
    let text = entity(r#""type":"variable_array","data":@0,"child":{"type":"character","data":@1}"#);
    let back = only(&text, &[("u64", &[2, 1]), ("u8", &[0xc3, 0xa9])]);
    assert_eq!(back, "E /entity element 1 ends at 1, before the one before it, at 2");
    let null = only(&bits(r#","time:rate":null"#), &[("u8", &[1])]);
    assert_eq!(null, "W /entity crate iguazu reads no file with null, as in \"time:rate\"");
    let epoch = only(&bits(r#","time:epoch":"now""#), &[("u8", &[1])]);
    assert_eq!(epoch, "W /entity \"time:epoch\": expected a date and time of RFC 3339, found \"now\"");
    let rate = only(&group(r#","time:rate":-1.0"#, ""), &[]);
    assert_eq!(rate, "W /entity \"time:rate\": expected a rate in hertz, found -1.0");
}
