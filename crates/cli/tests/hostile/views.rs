//! Elements printed as what they mean.

use crate::support::{File, data, said};

/// A file of uncompressed streams of bytes, each of one block, from a schema in which `@0`, `@1`, ... stand for them.
fn made(schema: &str, streams: &[(&str, &[u8])]) -> (File, String) {
    let (mut file, mut schema) = (File::new(), schema.to_owned());
    for (number, (element, bytes)) in streams.iter().enumerate() {
        let width = element[1..].parse::<usize>().unwrap() / 8;
        let place = file.parts(&[bytes]);
        let descriptor = data(element, (bytes.len() / width) as u64, 4096, "none", place);
        schema = schema.replace(&format!("@{number}"), &descriptor);
    }
    (file, format!(r#"{{"entity":{schema}}}"#))
}

/// What the command prints on it without an error.
fn printed((file, schema): &(File, String), arguments: &[&str]) -> String {
    let (text, code) = said(file.clone().run(schema, arguments));
    assert_eq!(code, Some(0), "{arguments:?}: {text}");
    text
}

const TAGGED: &str = r#"{"type":"tagged","tag_bits":2,"values":{
    "pair":{"type":"bit_struct","children":{"x":{"type":"bits","bits":1},"y":{"type":"signed","bits":3,"pos":1}}},
    "state":{"type":"enum","bits":1,"values":["off","on"]},
    "deep":{"type":"tagged","tag_bits":1,"values":{"n":{"type":"null"},"v":{"type":"int","bits":2}}}}"#;

/// The tag is in bits 0 and 1.
const ELEMENTS: &[u8] = &[0b11_1100, 0b0101, 0b1_1110, 0b10, 0b111];

#[test]
fn tagged_fields_show_what_the_tag_selects() {
    let file = made(&format!(r#"{TAGGED},"data":@0}}"#), &[("u8", ELEMENTS)]);
    let expected = "index,value\n0,\"{\"\"pair\"\":{\"\"x\"\":1,\"\"y\"\":-1}}\"\n1,\"{\"\"state\"\":\"\"on\"\"}\"\n\
        2,\"{\"\"deep\"\":{\"\"v\"\":3}}\"\n3,\"{\"\"deep\"\":{\"\"n\"\":null}}\"\n4,7\n";
    assert_eq!(printed(&file, &["cat"]), expected);
    let lines = printed(&file, &["cat", "--format", "ndjson", "--range", "..2"]);
    assert_eq!(
        lines,
        "{\"index\":0,\"value\":{\"pair\":{\"x\":1,\"y\":-1}}}\n{\"index\":1,\"value\":{\"state\":\"on\"}}\n"
    );
    assert_eq!(printed(&file, &["cat", "FILE", "pair", "--range", "..1"]), "index,x,y\n0,1,-1\n");
    let info = printed(&file, &["info"]);
    for part in ["pair … 3", "  pair   bit_struct\n", "    y    signed", "  deep   tagged\n"] {
        assert!(info.contains(part), "{part}: {info}");
    }
}

/// A tagged field beside others.
#[test]
fn tagged_fields_of_a_struct_show_what_the_tag_selects() {
    let schema = format!(
        r#"{{"type":"bit_struct","children":{{"a":{TAGGED}}},"b":{{"type":"bits","bits":1,"pos":7}}}},"data":@0}}"#
    );
    let file = made(&schema, &[("u8", &[0b1011_1100, 0b0101])]);
    let lines = printed(&file, &["cat", "--format", "ndjson"]);
    assert_eq!(
        lines,
        "{\"index\":0,\"a\":{\"pair\":{\"x\":1,\"y\":-1}},\"b\":1}\n{\"index\":1,\"a\":{\"state\":\"on\"},\"b\":0}\n"
    );
    assert!(printed(&file, &["info"]).contains("state  enum"));
}

#[test]
fn unions_show_the_element_of_the_variant() {
    let schema = r#"{"type":"union","data":@0,"variants":{
        "level":{"type":"int","bits":8,"data":@1},
        "what":{"type":"record","children":{"on":{"type":"bits","bits":1,"data":@2},"to":{"type":"enum","bits":1,"values":["a","b"],"data":@3}}}}}"#;
    let file = made(schema, &[("u8", &[1, 0, 0, 9, 1]), ("u8", &[10, 20]), ("u8", &[1, 0]), ("u8", &[0, 1])]);
    let expected = "index,value\n0,\"{\"\"what\"\":{\"\"on\"\":1,\"\"to\"\":\"\"a\"\"}}\"\n1,\"{\"\"level\"\":10}\"\n\
        2,\"{\"\"level\"\":20}\"\n3,9\n4,\"{\"\"what\"\":{\"\"on\"\":0,\"\"to\"\":\"\"b\"\"}}\"\n";
    assert_eq!(printed(&file, &["cat"]), expected);
    let lines = printed(&file, &["cat", "--format", "ndjson", "--range", "4.."]);
    assert_eq!(lines, "{\"index\":4,\"value\":{\"what\":{\"on\":0,\"to\":\"b\"}}}\n");
    assert_eq!(printed(&file, &["cat", "--format", "raw"]), "\u{1}\0\0\t\u{1}");
    let short = made(schema, &[("u8", &[0, 0]), ("u8", &[10]), ("u8", &[]), ("u8", &[])]);
    let (text, code) = said(short.0.run(&short.1, &["cat"]));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("stream of /entity/variants/level"), "{text}");
}

#[test]
fn numbers_as_quantities() {
    let file = made(
        r#"{"type":"bit_struct","children":{"v":{"type":"signed","bits":4,"number:scale":0.50,"number:offset":-1},
            "b":{"type":"bits","bits":1,"pos":7},"w":{"type":"int","bits":3,"pos":4,"number:scale":1e999}},"data":@0}"#,
        &[("u8", &[0x0f, 0x92])],
    );
    assert_eq!(printed(&file, &["cat", "FILE", "v", "--scaled"]), "index,v\n0,-1.5\n1,0.0\n");
    assert_eq!(printed(&file, &["cat", "FILE", "v"]), "index,v\n0,-1\n1,2\n");
    assert_eq!(printed(&file, &["cat", "FILE", "b", "--scaled"]), "index,b\n0,0\n1,1\n");
    // A scale that no double holds fails what needs it, and nothing else.
    assert_eq!(printed(&file, &["cat", "FILE", "w"]), "index,w\n0,0\n1,1\n");
    for arguments in [&["cat", "FILE", "w", "--scaled"][..], &["info"]] {
        let (text, code) = said(file.0.clone().run(&file.1, arguments));
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("/entity/children/w") && text.contains("`number:scale` is 1e999"), "{text}");
    }
    assert!(
        printed(&file, &["info", "--json"])
            .contains(r#""attributes":{"number:scale":0.50,"number:offset":-1}"#)
    );
    let (text, code) =
        said(file.0.clone().run(&file.1, &["cat", "FILE", "v", "--scaled", "--format", "raw"]));
    assert_eq!(code, Some(2), "{text}");
}

#[test]
fn times_of_samples() {
    let sampled = |attributes: &str| {
        made(&format!(r#"{{"type":"bits","bits":1,{attributes},"data":@0}}"#), &[("u8", &[1, 0, 1])])
    };
    let times = |attributes: &str| printed(&sampled(attributes), &["cat", "--times"]);
    assert_eq!(
        times(r#""time:rate":3.0"#),
        "index,time,value\n0,0,1\n1,0.333333333333,0\n2,0.666666666666,1\n"
    );
    assert_eq!(
        times(r#""time:rate":1000,"time:epoch":"2023-12-31T23:59:59.999Z""#),
        "index,time,value\n0,2023-12-31T23:59:59.999Z,1\n1,2024-01-01T00:00:00Z,0\n2,2024-01-01T00:00:00.001Z,1\n"
    );
    let (file, schema) = sampled(r#""a":1"#);
    let (text, code) = said(file.run(&schema, &["cat", "--times"]));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("no valid `time:rate`"), "{text}");
}

#[test]
fn events_and_their_times() {
    let ticks: Vec<u8> = [5u64, 7, 9, 12].iter().flat_map(|tick| tick.to_le_bytes()).collect();
    let file = made(
        r#"{"type":"record","time:rate":1000,"children":{"byte":{"type":"int","bits":8,"data":@1},
            "span":{"type":"tuple","fields":{"from":{},"to":{}},"child":{"type":"timestamp","data":@0}}}}"#,
        &[("u64", &ticks), ("u8", &[0x55, 0xaa])],
    );
    assert_eq!(printed(&file, &["cat", "--events"]), "index,start,end,byte\n0,5,7,85\n1,9,12,170\n");
    let lines = printed(&file, &["cat", "--events", "--times", "--range", "1..", "--format", "ndjson"]);
    assert_eq!(lines, "{\"index\":1,\"time\":\"0.009\",\"start\":9,\"end\":12,\"byte\":170}\n");
    assert_eq!(
        printed(&file, &["cat", "FILE", "span", "--times", "--range", "..1"]),
        "index,time,from,to\n0,0.005,5,7\n"
    );
    let single = made(
        r#"{"type":"group","core:role":"record","children":{"start":{"type":"int","bits":8,"data":@1},
            "at":{"type":"timestamp","time:rate":10,"data":@0}}}"#,
        &[("u64", &ticks[..8]), ("u8", &[3])],
    );
    assert_eq!(printed(&single, &["cat", "--events", "--times"]), "index,time,_start,start\n0,0.500,5,3\n");
}

/// A record of two elements, with a time in the child `t`, which is of this type, and `"v"`.
fn record(attributes: &str, time: &str, streams: &[(&str, &[u8])]) -> (File, String) {
    let value = format!(r#""v":{{"type":"int","bits":8,"data":@{}}}"#, streams.len());
    let schema = format!(r#"{{"type":"record"{attributes},"children":{{"t":{time},{value}}}}}"#);
    made(&schema, &[streams, &[("u8", &[1, 2])]].concat())
}

/// What the command says when it fails.
fn refused((file, schema): &(File, String), arguments: &[&str], says: &str) {
    let (text, code) = said(file.clone().run(schema, arguments));
    assert_eq!(code, Some(1), "{arguments:?}: {text}");
    // Not even a header is printed before.
    assert!(text.starts_with("tripoint: ") && text.contains(says), "{arguments:?}: {text}");
}

#[test]
fn what_is_no_time_is_no_event() {
    let inner = r#""type":"int","bits":8,"data":@0"#;
    let tuple = |fields: &str| format!(r#"{{"type":"tuple","fields":{fields},"child":{{{inner}}}}}"#);
    let events = |time: &str, bytes: &[u8], arguments: &[&str], says: Option<&str>| {
        let file = record(r#","time:field":"t","time:rate":10"#, time, &[("u8", bytes)]);
        match says {
            Some(says) => refused(&file, arguments, says),
            None => assert_eq!(
                printed(&file, arguments),
                if bytes.len() == 2 {
                    "index,start,v\n0,9,1\n1,8,2\n"
                } else {
                    "index,start,end,v\n0,6,7,1\n1,8,9,2\n"
                }
            ),
        }
    };
    events(&format!("{{{inner}}}"), &[9, 8], &["cat", "--events"], None);
    events(&tuple(r#"{"a":{},"b":{}}"#), &[6, 7, 8, 9], &["cat", "--events"], None);
    for (time, bytes, kind) in [
        (tuple(r#"{"a":{}}"#), 2, "tuple(1)"),
        (tuple(r#"{"a":{},"b":{},"c":{}}"#), 6, "tuple(3)"),
        (format!(r#"{{"type":"fixed_array","elements":2,"child":{{{inner}}}}}"#), 4, "fixed_array(2)"),
        (format!(r#"{{"type":"record","children":{{"x":{{{inner}}}}}}}"#), 2, "record"),
        (
            r#"{"type":"bit_struct","children":{"x":{"type":"int","bits":4}},"data":@0}"#.into(),
            2,
            "bit_struct",
        ),
        (r#"{"type":"enum","bits":8,"values":["a"],"data":@0}"#.into(), 2, "enum(8)"),
        (r#"{"type":"union","variants":{},"data":@0}"#.into(), 2, "union"),
    ] {
        for view in ["--events", "--times"] {
            events(&time, &[1; 6][..bytes], &["cat", view], Some(&format!("it is a {kind}")));
        }
    }
    let signed = r#"{"type":"signed","bits":8,"data":@0}"#;
    events(signed, &[9, 0xff], &["cat", "--events"], Some("a time is not an unsigned integer"));
}

#[test]
fn elements_that_are_no_samples_have_no_times() {
    let byte = |number| format!(r#"{{"type":"int","bits":8,"data":@{number}}}"#);
    let of = |kind: &str| format!(r#"{{"type":{kind},"time:rate":10,"child":{}}}"#, byte(0));
    for kind in [r#""tuple","fields":{"a":{},"b":{}}"#, r#""fixed_array","elements":2"#] {
        let file = made(&of(kind), &[("u8", &[1, 2, 3, 4])]);
        let shared = "index,time,value\n0,0,1\n1,0,2\n2,0.100,3\n3,0.100,4\n";
        assert_eq!(printed(&file, &["cat", "FILE", "child", "--times"]), shared);
        assert!(printed(&file, &["info"]).contains("4 × u8, 10 Hz, 200 ms"));
    }
    let nothing = made(&of(r#""fixed_array","elements":0"#), &[("u8", &[1])]);
    refused(&nothing, &["cat", "FILE", "child", "--times"], "no times of its own");

    let array = made(&of(r#""variable_array","data":@1"#), &[("u8", &[1, 2, 3]), ("u8", &[1, 3])]);
    assert_eq!(printed(&array, &["cat", "--times"]), "index,time,value\n0,0,[1]\n1,0.100,\"[2,3]\"\n");
    let union = format!(r#"{{"type":"union","time:rate":10,"data":@0,"variants":{{"child":{}}}}}"#, byte(1));
    let union = made(&union, &[("u8", &[0, 0]), ("u8", &[1, 2])]);
    let timestamp = r#"{"type":"timestamp","data":@0}"#;
    let ticks: Vec<u8> = [5u64, 100].iter().flat_map(|tick| tick.to_le_bytes()).collect();
    let record = record(r#","time:rate":10"#, timestamp, &[("u64", &ticks)]);
    for (file, item, rates) in [(&array, "child", 1), (&union, "child", 1), (&record, "v", 1)] {
        refused(file, &["cat", "FILE", item, "--times"], "no times of its own");
        assert_eq!(printed(file, &["info"]).matches("10 Hz").count(), rates);
    }
    assert_eq!(printed(&record, &["cat", "FILE", "t", "--times"]), "index,time,t\n0,0.500,5\n1,10,100\n");
    let own = made(
        &of(r#""variable_array","data":@1"#).replace(r#""bits":8"#, r#""bits":8,"time:rate":2"#),
        &[("u8", &[1, 2, 3]), ("u8", &[1, 3])],
    );
    assert_eq!(
        printed(&own, &["cat", "FILE", "child", "--times", "--range", "1..2"]),
        "index,time,value\n1,0.500,2\n"
    );
}

#[test]
fn attributes_of_times_are_not_ignored() {
    let timestamp = r#"{"type":"timestamp","data":@0}"#;
    for (attribute, says) in [
        (r#""time:field":7"#, "`time:field` is 7"),
        (r#""time:field":"zz""#, "`time:field` is \"zz\""),
        (r#""time:epoch":"2024-01-01""#, "`time:epoch` is \"2024-01-01\""),
        (r#""time:epoch":5"#, "`time:epoch` is 5"),
    ] {
        let file = record(&format!(r#","time:rate":10,{attribute}"#), timestamp, &[("u64", &[0; 16])]);
        refused(&file, &["cat", "--times"], says);
        assert_eq!(printed(&file, &["cat"]), "index,t,v\n0,0,1\n1,0,2\n");
    }
    let file = record(r#","time:rate":10,"time:epoch":"+010000-01-01T00:00:00Z""#, timestamp, &[]);
    refused(&file, &["cat", "--times", "--range", "0..0"], "expected a date and time of RFC 3339");
    let file = record(r#","time:rate":"x""#, timestamp, &[("u64", &[0; 16])]);
    refused(&file, &["cat", "--times"], "no valid `time:rate`: it is \"x\"");
}

#[test]
fn no_scale_is_left_out() {
    let tuple = |fields: &str, own: &str, child: &str| {
        let child = format!(r#"{{"type":"int","bits":8,"data":@0{child}}}"#);
        made(
            &format!(r#"{{"type":"tuple","fields":{{{fields}}}{own},"child":{child}}}"#),
            &[("u8", &[1, 2, 3, 4])],
        )
    };
    let fields = r#""a":{"number:scale":2,"number:offset":1},"b":{}"#;
    let scaled = tuple(fields, "", "");
    assert_eq!(printed(&scaled, &["cat", "--scaled"]), "index,a,b\n0,3.0,2\n1,7.0,4\n");
    assert_eq!(printed(&scaled, &["cat", "--scaled", "--range", "1.."]), "index,a,b\n1,7.0,4\n");
    let scale = r#","number:scale":3"#;
    let by_child = tuple(r#""a":{},"b":{}"#, "", scale);
    assert_eq!(printed(&by_child, &["cat", "--scaled", "--range", "..1"]), "index,a,b\n0,3.0,6.0\n");
    refused(&tuple(fields, "", scale), &["cat", "--scaled"], "both its fields and its child have scales");
    refused(
        &tuple(r#""a":{"number:scale":"2"},"b":{}"#, "", ""),
        &["cat", "--scaled"],
        "`number:scale` is \"2\"",
    );
    refused(&tuple(r#""a":{},"b":{}"#, scale, ""), &["cat", "--scaled"], "but is not a number");
    let nested = r#"{"type":"bit_struct","children":{"a":{"type":"bit_struct","number:offset":9,"children":{
        "b":{"type":"int","bits":8}}}},"data":@0}"#;
    let nested = made(nested, &[("u8", &[1])]);
    refused(&nested, &["cat", "--scaled"], "/entity/children/a: has `number:scale` or `number:offset`");
    assert_eq!(printed(&nested, &["cat"]), "index,b\n0,1\n");
}

#[test]
fn numbers_without_a_variant_are_whole() {
    let unknown = made(r#"{"type":"tagged","tag_bits":1,"values":{},"data":@0}"#, &[("u8", &[0, 254])]);
    assert_eq!(printed(&unknown, &["cat"]), "index,value\n0,0\n1,254\n");
    let inner = r#"{"type":"tagged","tag_bits":1,"values":{"a":{"type":"tagged","tag_bits":1,"values":{}}},"data":@0}"#;
    assert_eq!(printed(&made(inner, &[("u8", &[254])]), &["cat"]), "index,value\n0,\"{\"\"a\"\":127}\"\n");
    // What follows it in a struct belongs to others.
    let within =
        r#"{"type":"bit_struct","children":{"a":{"type":"tagged","tag_bits":2,"values":{}}},"data":@0}"#;
    assert_eq!(printed(&made(within, &[("u8", &[255])]), &["cat"]), "index,a\n0,3\n");
}

#[test]
fn years_of_more_than_four_digits_have_a_sign() {
    let file = made(
        r#"{"type":"int","bits":8,"time:rate":0.5,"time:epoch":"9999-12-31T23:59:58Z","data":@0}"#,
        &[("u8", &[1, 2])],
    );
    let expected = "index,time,value\n0,9999-12-31T23:59:58Z,1\n1,+010000-01-01T00:00:00Z,2\n";
    assert_eq!(printed(&file, &["cat", "--times"]), expected);
}

#[test]
fn names_are_told_apart() {
    let field = r#"{"type":"int","bits":8,"data":@0}"#;
    let names = [r"a\nb", r"a\\nb", r"\u0000", r"\u001b[2J", "-x"];
    let children: Vec<_> = names.iter().map(|name| format!(r#""{name}":{field}"#)).collect();
    let file = made(&format!(r#"{{"type":"group","children":{{{}}}}}"#, children.join(",")), &[("u8", &[7])]);
    let listed = printed(&file, &["ls"]);
    let shown: Vec<_> = listed.lines().skip(1).map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(shown, [r"a\nb", r"a\\nb", r"\u{0}", r"\u{1b}[2J", "-x"]);
    // All of them are as wide as they are shown.
    let info = printed(&file, &["info"]);
    let places: Vec<_> = info.lines().filter_map(|line| line.find("int(8), 1 × u8")).collect();
    assert_eq!(places, [13; 5], "{info}");
    assert_eq!(printed(&file, &["cat", "FILE", "--", "-x"]), "index,-x\n0,7\n");
    let (text, code) = said(file.0.clone().run(&file.1, &["cat", "FILE", "-x"]));
    assert_eq!(code, Some(2));
    assert!(text.contains("to pass '-x' as a value, use '-- -x'"), "{text}");
}

#[test]
fn children_that_differ_in_length_are_named() {
    let schema = r#"{"type":"record","children":{
        "a":{"type":"int","bits":8,"data":@0},"b":{"type":"int","bits":8,"data":@1}}}"#;
    let file = made(schema, &[("u8", &[1, 2, 3]), ("u8", &[1, 2])]);
    refused(&file, &["cat"], "entity of /entity: its children differ in length: 3 of \"a\", 2 of \"b\"");
}
