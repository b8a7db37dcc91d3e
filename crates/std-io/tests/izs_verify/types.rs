//! Types, what belongs to each, and fields.

use crate::{NOTHING, bits, entity, found, found_in_v001, group, only};

#[test]
fn types() {
    let unknown = entity(r#""type":"hologram","children":{"a":{"type":"bits","bits":1}},"bits":9,"data":@0"#);
    assert_eq!(only(&unknown, &[("u8", &[1])]), "W /entity not understood: unknown `type`");
    for (members, says) in [
        (r#""type":"bits""#, "`bits` is missing"),
        (r#""type":"bits","bits":65"#, "`bits`: expected 0 to 64, found 65"),
        (r#""type":"bits","bits":8,"pos":64"#, "`pos`: expected 0 to 63, found 64"),
        (r#""type":"enum","bits":1"#, "`values`: expected an array of names"),
        (r#""type":"tagged","values":{}"#, "`tag_bits` is missing"),
        (r#""type":"bit_struct","children":[]"#, "`children`: expected an object, found an array"),
        (r#""type":"variable_array""#, "`child` is missing"),
        (r#""x":1"#, "`type` is missing"),
    ] {
        let found = only(&entity(&format!("{members},\"data\":@0")), &[("u8", &[1])]);
        assert_eq!(found, format!("E /entity not understood: {says}"));
    }
    for members in [
        r#""type":"record","children":{}"#,
        r#""type":"union","variants":{},"data":@0"#,
        r#""type":"tagged","tag_bits":0,"values":{"a":{"type":"null"}},"data":@0"#,
    ] {
        // Some stream has to tell the dialect.
        let children = format!(r#""a":{{{members}}},"b":{{"type":"bits","bits":1,"data":@1}}"#);
        let streams: [(&str, &[u64]); 2] = [("u8", &[]), ("u8", &[])];
        let found = only(&group("", &children), &streams);
        assert!(found.starts_with("W /entity/children/a the specification's dialect has no "), "{found}");
        assert_eq!(found_in_v001(&group("", &children), &streams), NOTHING);
    }
}

#[test]
fn members_of_other_types() {
    let logic = r#""type":"bit_struct","children":{"a":{"type":"bits","bits":1FIELD}},"data":@0"#;
    let field = |members: &str| entity(&logic.replace("FIELD", members));
    let one: [(&str, &[u64]); 2] = [("u8", &[1]), ("u8", &[1])];
    assert_eq!(found(&field(""), &one), NOTHING);
    for (schema, says) in [
        (group(r#","variants":{}"#, ""), "E /entity \"variants\" does not belong to type \"group\""),
        (group(r#","child":{}"#, ""), "E /entity \"child\" does not belong to type \"group\""),
        (group(r#","values":["a"]"#, ""), "E /entity \"values\" does not belong to type \"group\""),
        (
            group(r#","core:role":"record","bits":1"#, ""),
            "E /entity \"bits\" does not belong to type \"group\"",
        ),
        (group(r#","data":@0"#, ""), "E /entity \"data\" does not belong to type \"group\""),
        (
            group(r#","summaries":{"skip":{"base_level":3,"levels":[]}}"#, ""),
            "E /entity \"summaries\" does not belong to type \"group\"",
        ),
        (group(r#","summaries":[1]"#, ""), "E /entity \"summaries\" does not belong to type \"group\""),
        (bits(r#","children":{}"#), "E /entity \"children\" does not belong to type \"bits\""),
        (bits(r#","elements":1"#), "E /entity \"elements\" does not belong to type \"bits\""),
        (bits(r#","names":[]"#), "E /entity \"names\" does not belong to type \"bits\""),
        (bits(r#","variants":{}"#), "E /entity \"variants\" does not belong to type \"bits\""),
        (group(r#","pos":1"#, ""), "W /entity \"pos\" does not belong to type \"group\""),
        (field(r#","data":@1"#), "E /entity/children/a \"data\" of a field in the elements of /entity"),
        (
            field(r#","data":@1,"summaries":{}"#),
            "E /entity/children/a \"data\" of a field in the elements of /entity",
        ),
        (
            field(r#","summaries":{"bit_and_or":{"base_level":2,"levels":[]}}"#),
            "E /entity/children/a \"summaries\" of a field in the elements of /entity",
        ),
        (
            entity(
                r#""type":"variable_array","child":{"type":"bits","bits":8,"data":@1},"data":@0,"summaries":{"skip":{"base_level":3,"levels":[]}}"#,
            ),
            "E /entity \"summaries\" does not belong to type \"variable_array\"",
        ),
        (
            entity(
                r#""type":"fixed_array","elements":1,"child":{"type":"bits","bits":8,"data":@1},"data":@0"#,
            ),
            "E /entity \"data\" does not belong to type \"fixed_array\"",
        ),
        (
            entity(
                r#""type":"fixed_array","elements":1,"child":{"type":"bits","bits":8,"data":@1},"inner":{}"#,
            ),
            "E /entity \"inner\" does not belong to type \"fixed_array\"",
        ),
    ] {
        assert_eq!(only(&schema, &one), says, "{schema}");
    }
    // The reference reads no null, wherever it is.
    let null = found(&group(r#","data":null"#, ""), &[]);
    assert_eq!(null.len(), 2, "{null:?}");
    assert!(null.contains(&"W /entity crate iguazu reads no file with null, as in \"data\"".into()));
    // What later versions give an `enum`.
    let variants = entity(r#""type":"enum","bits":1,"values":["a","b"],"variants":{},"data":@0"#);
    assert_eq!(found(&variants, &one), NOTHING);
    let packed = entity(&logic.replace("FIELD", r#","pos":0"#));
    assert_eq!(found(&packed, &one), NOTHING);
    let packed = found_in_v001(&packed, &one);
    assert_eq!(
        packed,
        ["W /entity/children/a \"pos\" in dialect V, whose reader puts fields one after the other"]
    );
}

#[test]
fn widths_and_names() {
    let child = r#""child":{"type":"bits","bits":8,"data":@0}"#;
    for (members, element, says) in [
        (
            r#""type":"character","data":@0"#.to_owned(),
            "u16",
            "E /entity characters are elements of u8, not u16",
        ),
        (
            r#""type":"float32","data":@0"#.to_owned(),
            "u64",
            "W /entity a float32 has elements of u32, not u64, elsewhere",
        ),
        (
            r#""type":"float32","data":@0"#.to_owned(),
            "u16",
            "E /entity the field ends at bit 32 of an element of 16 bits",
        ),
        (
            r#""type":"float64","data":@0"#.to_owned(),
            "u32",
            "E /entity the field ends at bit 64 of an element of 32 bits",
        ),
        (
            r#""type":"timestamp","data":@0"#.to_owned(),
            "u32",
            "E /entity the field ends at bit 64 of an element of 32 bits",
        ),
        (
            r#""type":"signed","bits":0,"data":@0"#.to_owned(),
            "u8",
            "W /entity a field of 0 bits holds nothing",
        ),
        (
            format!(r#""type":"fixed_array","elements":0,{child}"#),
            "u8",
            "E /entity an array of 0 elements of its child",
        ),
        (format!(r#""type":"tuple","fields":{{}},{child}"#), "u8", "E /entity a tuple of 0 fields"),
        (
            format!(r#""type":"tuple","names":["a","a"],{child}"#),
            "u8",
            "E /entity two fields are called \"a\"",
        ),
        (
            r#""type":"enum","bits":1,"values":["a","b","c"],"data":@0"#.to_owned(),
            "u8",
            "W /entity 3 names for a value of 1 bits",
        ),
        (
            r#""type":"enum","bits":2,"values":["a","b","a"],"data":@0"#.to_owned(),
            "u8",
            "W /entity two values are called \"a\"",
        ),
    ] {
        assert_eq!(only(&entity(&members), &[(element, &[1, 1])]), says);
    }
    // Ends may be of any width, and so may a float in a `bit_struct`.
    let array = entity(r#""type":"variable_array","data":@0,"child":{"type":"character","data":@1}"#);
    assert_eq!(found(&array, &[("u16", &[1]), ("u8", &[65])]), NOTHING);
    let float = entity(r#""type":"bit_struct","children":{"a":{"type":"float32","pos":32}},"data":@0"#);
    assert_eq!(found(&float, &[("u64", &[1])]), NOTHING);
}

#[test]
fn fields() {
    let wide = r#"{"entity":{"type":"int","bits":9,"data":@0}}"#;
    assert_eq!(only(wide, &[("u8", &[1])]), "E /entity the field ends at bit 9 of an element of 8 bits");
    let logic = |children: &str| {
        let schema = entity(&format!(r#""type":"bit_struct","children":{{{children}}},"data":@0"#));
        found(&schema, &[("u8", &[0xff])])
    };
    let a = r#""a":{"type":"bits","bits":3}"#;
    // Bits of no field may be set.
    assert_eq!(logic(&format!(r#"{a},"b":{{"type":"bits","bits":2,"pos":3}}"#)), NOTHING);
    assert_eq!(
        logic(&format!(r#"{a},"b":{{"type":"bits","bits":2,"pos":7}}"#)),
        ["E /entity/children/b the field ends at bit 9 of an element of 8 bits"]
    );
    assert_eq!(
        logic(&format!(r#""c":{{"type":"null","pos":1}},"b":{{"type":"bits","bits":2,"pos":1}},{a}"#)),
        ["W /entity fields \"a\" and \"b\" share bits 1 to 2"]
    );
    assert_eq!(
        logic(&format!(r#"{a},"b":{{"type":"bits","bits":2,"pos":2}}"#)),
        ["W /entity fields \"a\" and \"b\" share bit 2"]
    );
    // Of a struct in it, its fields count, not the bits between them.
    let inner = r#""b":{"type":"bit_struct","pos":1,"children":{"x":{"type":"bits","bits":1},"y":{"type":"bits","bits":1,"pos":1}}}"#;
    assert_eq!(logic(&format!("{a},{inner}")), ["W /entity fields \"a\" and \"x\" share bit 1"]);
    let around = inner.replace("\"pos\":1}", "\"pos\":6}").replace("\"pos\":1,", "\"pos\":0,");
    assert_eq!(logic(&format!(r#""a":{{"type":"bits","bits":3,"pos":1}},{around}"#)), NOTHING);
    // The variants of a tag share its bits, and may be of any width.
    let tagged = r#""type":"tagged","tag_bits":1,"values":{"a":{"type":"bits","bits":3},"b":{"type":"bits","bits":7}},"data":@0"#;
    assert_eq!(found_in_v001(&entity(tagged), &[("u8", &[0xff])]), NOTHING);
    let wide = tagged.replace("\"bits\":7", "\"bits\":8");
    assert_eq!(
        found_in_v001(&entity(&wide), &[("u8", &[0xff])]),
        ["E /entity the field ends at bit 9 of an element of 8 bits"]
    );
}

#[test]
fn only_fields_share_an_element() {
    let logic = |node: &str| {
        entity(&format!(
            r#""type":"bit_struct","children":{{"a":{{"type":"bits","bits":1}},"b":{{{node}}}}},"data":@0"#
        ))
    };
    for (node, kind) in [
        (r#""type":"group","children":{}"#, "group"),
        (r#""type":"group","children":{"x":{"type":"bits","bits":1,"data":@1}}"#, "group"),
        (r#""type":"tuple","names":["x"],"child":{"type":"bits","bits":8,"data":@1}"#, "tuple"),
        (r#""type":"fixed_array","elements":1,"child":{"type":"bits","bits":8,"data":@1}"#, "fixed_array"),
    ] {
        let found = found(&logic(node), &[("u8", &[1]), ("u8", &[1])]);
        let expected = format!("E /entity/children/b expected a field in a bit_struct, found a {kind}");
        assert!(found.contains(&expected), "{found:?}");
    }
    let tagged = r#""type":"tagged","tag_bits":1,"values":{"a":{"type":"group","children":{}}},"data":@0"#;
    assert_eq!(
        found_in_v001(&entity(tagged), &[("u8", &[0])]),
        ["E /entity/values/a expected a field in a tagged, found a group"]
    );
    let three = r#""type":"tagged","tag_bits":1,"values":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}},"data":@0"#;
    assert_eq!(found_in_v001(&entity(three), &[("u8", &[0])]), ["W /entity 3 variants for a tag of 1 bits"]);
}

#[test]
fn no_small_file_has_gigabytes_of_findings() {
    let name = "n".repeat(60_000);
    let nulls: Vec<_> = (0..20_000).map(|number| format!("\"{number}\":null")).collect();
    let child = format!(r#""{name}":{{"type":"bits","bits":1,{},"data":@0}}"#, nulls.join(","));
    let found = found(&group("", &child), &[("u8", &[1])]);
    assert!(found.iter().map(String::len).sum::<usize>() < 5 << 20, "{}", found.len());
    let last = found.last().unwrap();
    assert!(last.starts_with("W  0 more errors and 19") && last.ends_with("are not shown"), "{last}");
}
