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
    let (long, empty) = ("K".repeat(1 << 16), data("u8", 0, 4096, "none", (0, 0)));
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
    assert!(text.contains(&long) && text.len() < 5 << 16, "{}", text.len());
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

/// Names that repeat are numbered, so that none hides another.
#[test]
fn fields_of_one_name_are_all_printed() {
    let mut file = File::new();
    let elements = data("u8", 2, 4096, "none", file.blocks(&[13, 2], 1));
    let x = |pos| format!(r#""children":{{"x":{{"type":"bits","bits":2,"pos":{pos}}}}}"#);
    let nested = format!(
        r#"{{"type":"bit_struct","data":{elements},"children":{{"a":{{"type":"bit_struct",{}}},
        "b":{{"type":"bit_struct",{}}}}}}}"#,
        x(0),
        x(2)
    );
    let schema = format!(r#"{{"entity":{nested}}}"#);
    let (text, _) = said(file.clone().run(&schema, &["cat", "--format", "ndjson"]));
    assert_eq!(text, "{\"index\":0,\"x\":1,\"x#2\":3}\n{\"index\":1,\"x\":2,\"x#2\":0}\n");
    let schema = format!(r#"{{"entity":{{"type":"record","children":{{"r":{nested}}}}}}}"#);
    let (text, _) = said(file.clone().run(&schema, &["cat", "--format", "ndjson"]));
    assert!(text.starts_with("{\"index\":0,\"r\":{\"x\":1,\"x#2\":3}}\n"), "{text}");
    let schema = format!(
        r#"{{"entity":{{"type":"tuple","fields":["a","a"],"child":{{"type":"int","bits":8,"data":{elements}}}}}}}"#
    );
    let (text, _) = said(file.clone().run(&schema, &["cat"]));
    assert_eq!(text, "index,a,a#2\n0,13,2\n");
    let (text, code) = said(file.run(&schema, &["verify"]));
    assert!(code == Some(1) && text.contains("two fields are called \"a\""), "{text}");
}

/// One row of a record decodes no more than a file of that length can hold.
#[test]
fn columns_that_share_a_block_are_no_way_around_the_budget() {
    let mut file = File::new();
    let elements = data("u8", 64 << 20, 64 << 20, "zstd", file.blocks(&zeros(64 << 20), 1));
    let columns: Vec<_> =
        (0..2000).map(|i| format!(r#""{i}":{{"type":"bits","bits":8,"data":{elements}}}"#)).collect();
    let schema = format!(r#"{{"entity":{{"type":"record","children":{{{}}}}}}}"#, columns.join(","));
    let (text, code) = said(file.run(&schema, &["cat", "--range", "0..1"]));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("decoded bytes of all streams for the length of the file"), "{text}");
}

/// A row of millions of values is refused before it is made.
#[test]
fn a_row_is_no_larger_than_what_is_held_at_once() {
    let mut file = File::new();
    let count = 3 << 20;
    let elements = data("u8", count, 4 << 20, "zstd", file.blocks(&zeros(count as usize), 1));
    let schema = format!(
        r#"{{"entity":{{"type":"fixed_array","elements":{count},"child":{{"type":"int","bits":8,"data":{elements}}}}}}}"#
    );
    for format in ["csv", "ndjson"] {
        let (text, code) = said(file.clone().run(&schema, &["cat", "--format", format]));
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("bytes of values at once"), "{text}");
    }
}

/// Long strings and many rows end in a limit or are printed; they are never held many times over.
#[test]
fn long_strings_and_many_levels_are_bounded() {
    let empty = data("u8", 0, 4096, "none", (0, 0));
    let long = "\u{7f}".repeat(2 << 20);
    let element = format!(r#"{{"entity":{{"type":"bits","bits":8,"data":{}}}}}"#, empty.replace("u8", &long));
    let named = format!(r#"{{"entity":{{"type":"{long}"}}}}"#);
    let levels = vec!["0"; 60_000].join(",");
    let name = "n".repeat(200);
    let many = format!(
        r#"{{"entity":{{"type":"group","children":{{"{name}":{{"type":"bits","bits":8,"data":{empty},
        "summaries":{{"range":{{"base_level":2,"levels":[{levels}]}}}}}}}}}}}}"#
    );
    let commands = [&["info"][..], &["info", "--json"], &["ls"], &["digest"], &["verify"]];
    let start = |text: &str| text.chars().take(300).collect::<String>();
    for (schema, says) in
        [(&element, "expected a short string, found a long string"), (&named, "bytes of a name")]
    {
        for command in commands {
            let (text, code) = said(File::new().run(schema, command));
            assert!(code == Some(1) && text.contains(says), "{command:?}: {}", start(&text));
        }
    }
    for command in commands {
        let (text, code) = said(File::new().run(&many, command));
        // The overview for people only counts the levels, none of which is a stream.
        assert_eq!(code, Some(i32::from(command != ["info"])), "{command:?}: {}", start(&text));
        // Of findings, so many are told that they take a few MiB.
        let is_bounded = text.contains(" more warnings are not shown");
        assert!(
            text.contains("60,000 summary levels")
                || text.matches("levels/").count() >= if is_bounded { 5_000 } else { 60_000 },
            "{command:?}: {}",
            start(&text)
        );
    }
}

/// What the specification says of text, summaries and types.
#[test]
fn verify_knows_the_rules_of_text_summaries_and_types() {
    let mut file = File::new();
    let wide = data("u32", 1, 4096, "none", file.blocks(&[1, 0, 0, 0], 1));
    let elements = data("u8", 8, 4096, "none", file.blocks(&[0; 8], 1));
    let odd = data("u8", 3, 4096, "none", file.blocks(&[0; 3], 1));
    let pair = data("u16", 4, 4096, "none", file.blocks(&[0; 8], 1));
    let summed = |level: &str| {
        format!(
            r#"{{"type":"int","bits":8,"data":{elements},"summaries":{{"range":{{"base_level":2,"levels":[{level}]}}}}}}"#
        )
    };
    for (entity, says) in [
        (format!(r#"{{"type":"character","data":{wide}}}"#), "characters are elements of u8, not u32"),
        (summed(&odd), "3 values for 2 groups"),
        (summed(&pair), "elements of u16 over a stream of u8"),
        (r#"{"type":"enum","bits":3}"#.into(), "`values`: expected an array of names"),
        (r#"{"x":1}"#.into(), "`type` is missing"),
    ] {
        let schema = format!(r#"{{"entity":{entity}}}"#);
        let (text, code) = said(file.clone().run(&schema, &["verify", "--summaries"]));
        assert!(code == Some(1) && text.contains(says), "{text}");
    }
    let (text, code) = said(file.run(r#"{"entity":{"type":"hologram"}}"#, &["verify"]));
    assert!(code == Some(0) && text.contains("warning"), "{text}");
}

/// Neither the file nor the blocks of all columns fit the address space.
#[test]
fn a_large_record_is_read_in_little_memory() {
    let mut file = File::behind(1 << 30);
    let columns = (0..16).map(|number| {
        let data = data("u64", 8 << 20, 8 << 20, "zstd", file.blocks(&zeros(64 << 20), 1));
        format!(r#""f{number}":{{"type":"int","bits":64,"data":{data}}}"#)
    });
    let columns: Vec<_> = columns.collect();
    let schema = format!(r#"{{"entity":{{"type":"record","children":{{{}}}}}}}"#, columns.join(","));
    for start in [0, 4 << 20] {
        let range = format!("{start}..{}", start + 2);
        let (text, code) = said(file.clone().run(&schema, &["cat", "FILE", "--range", &range]));
        let row = |index| format!("{index}{}\n", ",0".repeat(16));
        assert_eq!(text.split_once('\n').unwrap().1, [row(start), row(start + 1)].concat());
        assert_eq!(code, Some(0));
    }
}
