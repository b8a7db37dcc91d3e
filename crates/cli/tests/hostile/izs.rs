//! What small files can cost that name the same bytes, or the same text, again and again.

use crate::support::{File, data, said, zeros};

const BIT_AND_OR: &str = r#""bit_and_or":{"base_level":"#;

/// A schema of one stream of bytes with one level.
fn with_level(elements: &str, base: u32, level: &str) -> String {
    format!(
        r#"{{"entity":{{"type":"bits","bits":8,"data":{elements},"summaries":{{{BIT_AND_OR}{base},"levels":[{level}]}}}}}}}}"#
    )
}

/// Groups of 4 Mi elements fold block by block.
#[test]
fn verify_holds_a_block_and_not_a_group() {
    let mut file = File::new();
    let elements = file.blocks(&zeros(1 << 20), 8);
    let level = file.blocks(&[0; 4], 1);
    let (elements, level) =
        (data("u8", 8 << 20, 1 << 20, "zstd", elements), data("u8", 4, 4096, "none", level));
    let schema = with_level(&elements, 22, &level);
    let (text, code) = said(file.run(&schema, &["verify", "--summaries"]));
    assert_eq!(code, Some(0), "{text}");
}

/// A length that is not there is refused before anything is allocated for it.
#[test]
fn verify_believes_no_length() {
    let mut file = File::new();
    let elements = file.blocks(&[0], 1);
    let level = file.blocks(&[0, 0], 1);
    let (elements, level) =
        (data("u8", 1 << 32, 1 << 33, "zstd", elements), data("u8", 2, 4096, "none", level));
    let schema = with_level(&elements, 31, &level);
    let (text, code) = said(file.run(&schema, &["verify", "--summaries"]));
    assert_eq!(code, Some(1), "{text}");
}

/// Groups, and the pairs of a level, may lie in two blocks.
#[test]
fn verify_finds_the_group_that_differs() {
    let mut file = File::new();
    let elements = file.parts(&[&[1, 2, 3], &[4, 5, 6], &[7, 8]]);
    let [good, bad] = [[0, 7, 0, 15], [0, 7, 0, 14]].map(|[a, b, c, d]| file.parts(&[&[a, b, c], &[d]]));
    let elements = data("u8", 8, 3, "none", elements);
    for (level, bytes, expected) in [(good, "good", 0), (bad, "bad", 1)] {
        let level = data("u8", 4, 3, "none", level);
        let schema = with_level(&elements, 2, &level);
        let (text, code) = said(file.clone().run(&schema, &["verify", "--summaries"]));
        assert_eq!(code, Some(expected), "{bytes}: {text}");
        assert_eq!(text.contains("group 1 differs"), expected == 1, "{bytes}: {text}");
    }
}

/// What is decoded is bounded by the length of the file for all streams together.
#[test]
fn streams_share_what_may_be_decoded() {
    let mut file = File::new();
    let data = data("u8", 8 << 20, 1 << 20, "zstd", file.blocks(&zeros(1 << 20), 8));
    let children: Vec<_> =
        (0..4).map(|i| format!(r#""{i}":{{"type":"bits","bits":8,"data":{data}}}"#)).collect();
    let schema = format!(r#"{{"entity":{{"type":"group","children":{{{}}}}}}}"#, children.join(","));
    for command in ["digest", "verify"] {
        let (text, code) = said(file.clone().run(&schema, &[command]));
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("decoded bytes of all streams for the length of the file"), "{text}");
    }
}

/// A block that many streams share is not decoded for each of them.
#[test]
fn info_has_one_budget_for_all_sketches() {
    let mut file = File::new();
    let elements = data("u8", 80 << 20, 4 << 20, "none", file.blocks(&vec![0; 4 << 20], 20));
    let children: Vec<_> =
        (0..200).map(|i| format!(r#""{i}":{{"type":"int","bits":8,"data":{elements}}}"#)).collect();
    let schema = format!(r#"{{"entity":{{"type":"group","children":{{{}}}}}}}"#, children.join(","));
    let (text, code) = said(file.run(&schema, &["info"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.matches("(not sketched)").count() > 150, "{text}");

    // A level that stands for nothing, and fields that each want all elements.
    let mut file = File::new();
    let elements = data("u8", 64 << 20, 4 << 20, "none", file.blocks(&vec![0; 4 << 20], 16));
    let empty = data("u8", 0, 4096, "none", (0, 0));
    let fields: Vec<_> = (0..20).map(|i| format!(r#""{i}":{{"type":"int","bits":2}}"#)).collect();
    let schema = format!(
        r#"{{"entity":{{"type":"group","children":{{"a":{{"type":"bit_struct","data":{elements},"children":{{{}}},
        "summaries":{{{BIT_AND_OR}2,"levels":[{empty}]}}}}}},"b":{{"type":"int","bits":8,"data":{elements}}}}}}}}}"#,
        fields.join(",")
    );
    let (text, code) = said(file.run(&schema, &["info"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("(sketched from samples)"), "{text}");
}

/// Rows are read in batches that fit their names, and what they cost is not the square of their width.
#[test]
fn cat_reads_rows_by_their_size() {
    let mut file = File::new();
    let elements = data("u8", 4096, 4096, "none", file.blocks(&[0; 4096], 1));
    let long = "N".repeat(1 << 16);
    let schema = format!(
        r#"{{"entity":{{"type":"record","children":{{"{long}":{{"type":"bits","bits":8,"data":{elements}}}}}}}}}"#
    );
    let (text, code) = said(file.clone().run(&schema, &["cat"]));
    assert_eq!((code, text.lines().count()), (Some(0), 4097));
    let children: Vec<_> =
        (0..2000).map(|i| format!(r#""{i}":{{"type":"bits","bits":8,"data":{elements}}}"#)).collect();
    let schema = format!(r#"{{"entity":{{"type":"record","children":{{{}}}}}}}"#, children.join(","));
    let (text, code) = said(file.run(&schema, &["cat", "--range", "0..10"]));
    assert_eq!((code, text.lines().count()), (Some(0), 11));
    assert_eq!(text.lines().last().unwrap().matches(",0").count(), 2000);
}

/// What a list repeats for each stream is bounded, and so is what lines it up.
#[test]
fn ls_prints_a_few_times_the_schema() {
    let (long, empty) = ("K".repeat(1 << 18), data("u8", 0, 4096, "none", (0, 0)));
    let zeros = vec!["0"; 10_000].join(",");
    let schema = format!(
        r#"{{"entity":{{"type":"bits","bits":8,"data":{empty},"summaries":{{"{long}":{{"base_level":2,"levels":[{zeros}]}}}}}}}}"#
    );
    for command in ["ls", "digest", "verify"] {
        let (text, code) = said(File::new().run(&schema, &[command]));
        assert_eq!(code, Some(1));
        assert!(text.contains("bytes of all names"), "{}", &text[..text.len().min(200)]);
    }
    let children: Vec<_> =
        (0..1000).map(|i| format!(r#""{i}":{{"type":"bits","bits":8,"data":{empty}}}"#)).collect();
    let schema = format!(
        r#"{{"entity":{{"type":"group","children":{{{},"{long}":{{"type":"null","data":{empty}}}}}}}}}"#,
        children.join(",")
    );
    let (text, code) = said(File::new().run(&schema, &["ls"]));
    assert_eq!(code, Some(0));
    assert!(text.contains(&long) && text.len() < 4 << 18, "{}", text.len());
}

/// Whatever a stream is called, `cat` takes the name that `ls` prints; and a field called `index` hides nothing.
#[test]
fn odd_names_are_names() {
    let mut file = File::new();
    let elements = data("u8", 2, 4096, "none", file.blocks(&[6, 7], 1));
    let names = [".", "", "a/b", "a", "~", "index", "/entity"];
    let child = |name: &&str| format!(r#""{name}":{{"type":"int","bits":8,"data":{elements}}}"#);
    let children: Vec<_> = names.iter().map(child).collect();
    let schema = format!(r#"{{"entity":{{"type":"group","children":{{{}}}}}}}"#, children.join(","));
    let (text, code) = said(file.clone().run(&schema, &["ls", "--json"]));
    assert_eq!((code, text.lines().count()), (Some(0), names.len()), "{text}");
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let item = row["name"].as_str().unwrap();
        let (text, code) = said(file.clone().run(&schema, &["cat", "--format", "ndjson", "FILE", item]));
        assert_eq!((code, text.lines().count()), (Some(0), 2), "{item}: {text}");
        let expected = if item == "index" { r#"{"_index":1,"index":7}"# } else { r#"{"index":1,"# };
        assert!(text.lines().last().unwrap().starts_with(expected), "{item}: {text}");
    }
}

/// Two values of one key: readers differ in which they take.
#[test]
fn verify_warns_of_repeated_keys() {
    let mut file = File::new();
    let elements = data("u8", 1, 4096, "none", file.blocks(&[1], 1));
    let schema = format!(r#"{{"entity":{{"type":"int","bits":4,"bits":8,"data":{elements}}}}}"#);
    let (text, code) = said(file.run(&schema, &["verify"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(r#"warning: the schema repeats key "bits""#), "{text}");
    assert!(text.ends_with("all of it can be read (0 errors, 1 warning)\n"), "{text}");
}
