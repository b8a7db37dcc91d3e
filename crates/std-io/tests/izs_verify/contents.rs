//! What elements say.

use core_codec::Limits;
use core_codec::izs::Dialect;
use std_io::{Input, IzsFile};

use crate::izs_support::made_bytes;
use crate::{NOTHING, entity, found, found_in_v001, group, only, shown};

/// A group needs no length but as the element of what is above it.
#[test]
fn lengths_of_groups() {
    let unequal = r#"{"type":"group","children":{"a":{"type":"int","bits":8,"data":@0},"b":{"type":"int","bits":8,"data":@1}}}"#;
    let streams: [(&str, &[u64]); 3] = [("u8", &[1, 2, 3, 4]), ("u8", &[1, 2]), ("u8", &[0, 2])];
    let inner = |outer: &str| format!(r#"{{"entity":{}}}"#, outer.replace("INNER", unequal));
    assert_eq!(found(&inner("INNER"), &streams[..2]), NOTHING);
    assert_eq!(found(&inner(r#"{"type":"group","children":{"g":INNER}}"#), &streams[..2]), NOTHING);
    for (outer, place) in [
        (r#"{"type":"fixed_array","elements":2,"child":INNER}"#, "/entity/child"),
        (r#"{"type":"tuple","names":["x","y"],"child":INNER}"#, "/entity/child"),
        (
            r#"{"type":"fixed_array","elements":2,"child":{"type":"group","children":{"g":INNER}}}"#,
            "/entity/child/children/g",
        ),
        (r#"{"type":"group","core:role":"record","children":{"g":INNER}}"#, "/entity/children/g"),
    ] {
        let message = format!("E {place} children of a group differ: \"a\" has 4 elements, \"b\" 2");
        assert_eq!(found(&inner(outer), &streams[..2]), [message]);
    }
    let array = r#"{"type":"variable_array","child":INNER,"data":@2}"#;
    let found = found(&inner(array), &streams);
    assert!(found[0].starts_with("E /entity/child children of a group differ"), "{found:?}");
}

#[test]
fn lengths() {
    let record = group(
        r#","core:role":"record""#,
        r#""a":{"type":"int","bits":8,"data":@0},"b":{"type":"int","bits":8,"data":@1}"#,
    );
    assert_eq!(found(&record, &[("u8", &[1]), ("u8", &[1])]), NOTHING);
    assert_eq!(
        only(&record, &[("u8", &[1, 2]), ("u8", &[1])]),
        "E /entity children of a record differ: \"a\" has 2 elements, \"b\" 1"
    );

    let fixed = entity(r#""type":"fixed_array","elements":2,"child":{"type":"bits","bits":8,"data":@0}"#);
    assert_eq!(
        only(&fixed, &[("u8", &[1, 2, 3])]),
        "E /entity the child has 3 elements, not a multiple of 2"
    );
    let tuple =
        entity(r#""type":"tuple","fields":{"a":{},"b":{}},"child":{"type":"bits","bits":8,"data":@0}"#);
    assert_eq!(only(&tuple, &[("u8", &[1])]), "E /entity the child has 1 elements, not a multiple of 2");

    let array = entity(r#""type":"variable_array","data":@0,"child":{"type":"bits","bits":8,"data":@1}"#);
    assert_eq!(found(&array, &[("u64", &[1, 1, 2]), ("u8", &[65, 66])]), NOTHING);
    let back = only(&array, &[("u64", &[2, 1]), ("u8", &[65, 66])]);
    assert_eq!(back, "E /entity element 1 ends at 1, before the one before it, at 2");
    let long = only(&array, &[("u64", &[1, 5]), ("u8", &[65, 66])]);
    assert_eq!(long, "E /entity the last element ends at 5, the child has 2 elements");

    let union = entity(
        r#""type":"union","data":@0,"variants":{"a":{"type":"int","bits":8,"data":@1},"b":{"type":"int","bits":8,"data":@2}}"#,
    );
    let union =
        |tags: &[u64], a: &[u64], b: &[u64]| found_in_v001(&union, &[("u8", tags), ("u8", a), ("u8", b)]);
    assert_eq!(union(&[0, 1, 0], &[5, 6], &[7]), NOTHING);
    assert_eq!(union(&[0, 2, 3], &[5], &[]), ["E /entity element 1 has tag 2, there are 2 variants"]);
    assert_eq!(union(&[0, 1, 0], &[5, 6], &[]), ["E /entity variant \"b\" has 0 elements, 1 tags name it"]);
    assert_eq!(union(&[0], &[5, 6], &[]), ["E /entity variant \"a\" has 2 elements, 1 tags name it"]);
}

#[test]
fn tags_and_values() {
    let v001 = |members: &str, elements: &[u64]| found_in_v001(&entity(members), &[("u8", elements)]);
    let tagged =
        r#""type":"tagged","tag_bits":2,"values":{"a":{"type":"bits","bits":2},"b":{"type":"null"}}"#;
    let own = format!("{tagged},\"data\":@0");
    assert_eq!(v001(&own, &[0b1100, 1]), NOTHING);
    assert_eq!(v001(&own, &[0b1100, 1, 0b111, 2]), ["E /entity element 2 has tag 3, there are 2 variants"]);

    // Inside of a `bit_struct`, and of one in that, behind other fields.
    let logic = |inner: &str| {
        format!(r#""type":"bit_struct","children":{{"x":{{"type":"bits","bits":1}},"t":{{{inner}}}}}"#)
    };
    let inside = logic(tagged) + ",\"data\":@0";
    assert_eq!(v001(&inside, &[0b010, 0b011, 0]), NOTHING);
    let t = "E /entity/children/t";
    assert_eq!(v001(&inside, &[0b010, 0b101]), [format!("{t} element 1 has tag 2, there are 2 variants")]);
    let nested = logic(&logic(tagged)) + ",\"data\":@0";
    assert_eq!(v001(&nested, &[0b0111, 0b0000]), NOTHING);
    assert_eq!(
        v001(&nested, &[0b0111, 0b1100]),
        [format!("{t}/children/t element 1 has tag 3, there are 2 variants")]
    );

    // In a variant, whose bits count only where the tag names it.
    let variant = format!(
        r#""type":"tagged","tag_bits":1,"values":{{"x":{{"type":"null"}},"t":{{{tagged}}}}},"data":@0"#
    );
    assert_eq!(v001(&variant, &[0b110, 0b001, 0b011]), NOTHING);
    assert_eq!(
        v001(&variant, &[0b110, 0b011, 0b111]),
        ["E /entity/values/t element 2 has tag 3, there are 2 variants"]
    );
    let deep = format!(
        r#""type":"tagged","tag_bits":1,"values":{{"x":{{"type":"null"}},"s":{{{}}}}},"data":@0"#,
        logic(tagged)
    );
    assert_eq!(v001(&deep, &[0b1000, 0b0011]), NOTHING);
    assert_eq!(
        v001(&deep, &[0b1001]),
        ["E /entity/values/s/children/t element 0 has tag 2, there are 2 variants"]
    );

    // A field that has a stream of its own, which it should not, is not in the elements.
    let own =
        r#""type":"bit_struct","children":{"e":{"type":"enum","bits":1,"values":["a"],"data":@1}},"data":@0"#;
    let own = found(&entity(own), &[("u8", &[1]), ("u8", &[0])]);
    assert_eq!(own, ["E /entity/children/e \"data\" of a field in the elements of /entity"]);

    let values = entity(r#""type":"enum","bits":2,"values":["a","b"],"data":@0"#);
    assert_eq!(found(&values, &[("u8", &[0, 1, 0b101])]), NOTHING);
    assert_eq!(only(&values, &[("u8", &[0, 1, 2, 3])]), "W /entity element 2 has value 2, there are 2 names");
    let inside = logic(r#""type":"enum","bits":2,"pos":1,"values":["a","b"]"#) + ",\"data\":@0";
    assert_eq!(
        only(&entity(&inside), &[("u8", &[0, 0b111])]),
        "W /entity/children/t element 1 has value 3, there are 2 names"
    );
}

#[test]
fn times_in_order() {
    let times = entity(r#""type":"timestamp","data":@0"#);
    assert_eq!(found(&times, &[("u64", &[1, 1, 5])]), NOTHING);
    let back = only(&times, &[("u64", &[1, 5, 4, 3])]);
    assert_eq!(back, "W /entity element 2 is at 4, before the one before it, at 5");

    let span =
        entity(r#""type":"tuple","fields":{"start":{},"end":{}},"child":{"type":"timestamp","data":@0}"#);
    // An event may begin before the one before it ends.
    assert_eq!(found(&span, &[("u64", &[1, 9, 2, 2])]), NOTHING);
    assert_eq!(
        found(&span, &[("u64", &[5, 6, 4, 9])]),
        ["W /entity element 1 starts at 4, before the one before it, at 5"]
    );
    assert_eq!(
        found(&span, &[("u64", &[5, 6, 7, 6, 8, 0])]),
        ["E /entity element 1 ends at 6, before it starts, at 7"]
    );

    let record = |kind: &str| {
        group(
            r#","core:role":"record","time:field":"t""#,
            &format!(r#""t":{{{kind}}},"v":{{"type":"bits","bits":8,"data":@1}}"#),
        )
    };
    let t = "/entity/children/t";
    let at = |kind: &str, element: &str, times: &[u64], rows: usize| {
        found(&record(kind), &[(element, times), ("u8", &vec![0; rows])])
    };
    let int = r#""type":"int","bits":12,"data":@0"#;
    // The bits above the field are none of it.
    assert_eq!(at(int, "u16", &[1, 0xf001, 5], 3), NOTHING);
    assert_eq!(
        at(int, "u16", &[1, 5, 0xf004], 3),
        [format!("W {t} element 2 is at 4, before the one before it, at 5")]
    );
    let signed = r#""type":"signed","bits":8,"data":@0"#;
    assert_eq!(at(signed, "u8", &[1, 127], 2), NOTHING);
    assert_eq!(
        at(signed, "u8", &[0xfe, 0xff, 3], 3),
        [format!("W {t} element 0 has time -2: expected no negative one")]
    );
    let pair = r#""type":"tuple","fields":{"start":{},"end":{}},"child":{"type":"int","bits":8,"data":@0}"#;
    assert_eq!(at(pair, "u8", &[1, 9, 2, 2], 2), NOTHING);
    assert_eq!(
        at(pair, "u8", &[5, 4, 3, 9], 2),
        [
            format!("W {t} element 1 starts at 3, before the one before it, at 5"),
            format!("E {t} element 0 ends at 4, before it starts, at 5"),
        ]
    );
    // Integers that no record names are no times, nor are others in a record that names one.
    assert_eq!(found(&entity(pair), &[("u8", &[5, 4, 3, 9])]), NOTHING);
    let two = group(
        r#","core:role":"record","time:field":"t""#,
        r#""t":{"type":"timestamp","data":@0},"u":{"type":"timestamp","data":@1}"#,
    );
    assert_eq!(found(&two, &[("u64", &[1, 2]), ("u64", &[2, 1])]), NOTHING);
    // Each element of an array has its own.
    let array = entity(&format!(
        r#""type":"variable_array","data":@1,"child":{{{}}}"#,
        r#""type":"timestamp","data":@0"#
    ));
    assert_eq!(found(&array, &[("u64", &[5, 4]), ("u64", &[1, 2])]), NOTHING);
}

#[test]
fn text() {
    let text = entity(r#""type":"character","data":@0"#);
    assert_eq!(found(&text, &[("u8", &[65, 0xc3, 0xa9])]), NOTHING);
    assert_eq!(only(&text, &[("u8", &[65, 0xff, 66])]), "W /entity/data not UTF-8 at element 1");
    assert_eq!(only(&text, &[("u8", &[65, 66, 0xc3])]), "W /entity/data not UTF-8 at element 2");

    let array = entity(r#""type":"variable_array","data":@0,"child":{"type":"character","data":@1}"#);
    let texts = |ends: &[u64], bytes: &[u64]| found(&array, &[("u64", ends), ("u8", bytes)]);
    assert_eq!(texts(&[1, 1, 3, 3], &[65, 0xc3, 0xa9]), NOTHING);
    // The stream is UTF-8, and none of its elements.
    assert_eq!(texts(&[1, 2], &[0xc3, 0xa9]), ["W /entity element 0 is not UTF-8 at its byte 0"]);
    assert_eq!(texts(&[1, 3, 4], &[65, 66, 0xc3, 0xa9]), ["W /entity element 1 is not UTF-8 at its byte 1"]);
    assert_eq!(texts(&[2, 5], &[65, 66, 67, 0xff, 68]), ["W /entity element 1 is not UTF-8 at its byte 1"]);
    assert_eq!(texts(&[1, 2], &[65, 0xc3]), ["W /entity element 1 is not UTF-8 at its byte 0"]);
    assert_eq!(texts(&[], &[]), NOTHING);
    // An element, and a character, may lie in two blocks.
    let mut bytes = vec![65; 4095];
    bytes.extend([0xc3, 0xa9, 65]);
    assert_eq!(texts(&[4000, 4098], &bytes), NOTHING);
    assert_eq!(texts(&[4096, 4098], &bytes), ["W /entity element 0 is not UTF-8 at its byte 4095"]);
    // Of characters that are no bytes nothing more is told.
    let wide = found(&array, &[("u64", &[2, 5000]), ("u16", &[0xc3c3; 5000])]);
    assert_eq!(wide, ["E /entity/child characters are elements of u8, not u16"]);
    // Ends may lie in several blocks, too.
    let ends: Vec<u64> = (1..=5000).collect();
    assert_eq!(texts(&ends, &[65; 5000]), NOTHING);
    bytes = vec![65; 5000];
    bytes[4999] = 0xff;
    assert_eq!(texts(&ends, &bytes), ["W /entity element 4999 is not UTF-8 at its byte 0"]);
}

/// A file of a few KB decodes to so much that going through it for each field is refused, and says so.
#[test]
fn the_cost_of_looking_is_bounded() {
    let fields: Vec<_> =
        (0..20).map(|i| format!(r#""{i}":{{"type":"enum","bits":0,"values":["a"]}}"#)).collect();
    let schema = entity(&format!(r#""type":"bit_struct","children":{{{}}},"data":@0"#, fields.join(",")));
    let mut limits = Limits::default();
    limits.expansion = 2;
    let bytes = made_bytes(Dialect::Spec, &schema, &[("u8", &[0; 4000])]);
    let file = IzsFile::from_input(Input::fetching(bytes), limits).unwrap();
    let found = shown(&file);
    let says =
        "W /entity/data what its elements mean is not checked: stream of /entity/data: decoded bytes of all";
    assert!(found.iter().any(|found| found.starts_with(says)), "{found:?}");
}
