//! Attributes that mean something.

use crate::{NOTHING, bits, entity, found, found_in_v001, group, int, only};

#[test]
fn attributes() {
    for (attribute, says) in [
        (r#","x":[null]"#, "W /entity crate iguazu reads no file with null, as in \"x\""),
        (r#","x":{"y":-5}"#, "W /entity crate iguazu reads no file with a negative integer"),
        (r#","x":1e400"#, "W /entity crate iguazu reads no file with a number beyond the range of a double"),
        (r#","time:rate":0"#, "W /entity \"time:rate\": expected a rate in hertz, found 0"),
        (
            r#","time:rate":1,"time:epoch":"now""#,
            "W /entity \"time:epoch\": expected a date and time of RFC 3339, found \"now\"",
        ),
        (
            r#","time:display":"ISO""#,
            "W /entity \"time:display\": expected \"iso\", \"relative\" or \"raw\", found \"ISO\"",
        ),
        (r#","core:text":1"#, "W /entity \"core:text\": expected a string, found 1"),
        (r#","display:color":1"#, "W /entity \"display:color\": expected a string, found 1"),
        (r#","display:timeline:row":1"#, "W /entity \"display:timeline:row\": expected a string, found 1"),
        (r#","display:layout":"table""#, "W /entity \"display:layout\": expected an object, found \"table\""),
    ] {
        let found = only(&bits(attribute), &[("u8", &[1])]);
        assert!(found.starts_with(says), "{attribute}: {found}");
    }
    let fine = r#","x":-5.0,"y":1.50,"z":18446744073709551616,"time:rate":1e3,"time:epoch":"2024-01-01T00:00:00Z","time:display":"raw","number:offset":-5.0,"display:color":"red","display:layout":{},"core:role":"complex""#;
    assert_eq!(found(&int(fine), &[("u8", &[1])]), NOTHING);
    assert_eq!(
        only(&group(r#","core:role":"recording""#, ""), &[]),
        "W /entity \"core:role\": expected \"record\" or \"capture\", found \"recording\""
    );
    assert_eq!(found(&group(r#","core:role":"capture""#, ""), &[]), NOTHING);
    // `text` means something in dialect V.
    assert_eq!(found(&bits(r#","text":1"#), &[("u8", &[1])]), NOTHING);
    assert_eq!(
        found_in_v001(&bits(r#","text":1"#), &[("u8", &[1])]),
        ["W /entity \"text\": expected a string, found 1"]
    );
    let tuple =
        entity(r#""type":"tuple","fields":{"a":{"x":null}},"child":{"type":"bits","bits":8,"data":@0}"#);
    assert_eq!(
        only(&tuple, &[("u8", &[1])]),
        "W /entity crate iguazu reads no file with null, as in \"x\" of its field \"a\""
    );
}

#[test]
fn scales() {
    let no_number = only(&int(r#","number:scale":"2""#), &[("u8", &[1])]);
    assert!(no_number.starts_with("E /entity entity of /entity: expected a number within"), "{no_number}");
    for (attribute, says) in [
        (r#","number:min":"0""#, "W /entity \"number:min\": expected a number, found \"0\""),
        (r#","number:max":[]"#, "W /entity \"number:max\": expected a number, found []"),
        (
            r#","number:range":{"min":1}"#,
            "W /entity \"number:range\": expected an object of the numbers \"min\" and \"max\", found {\"min\":1}",
        ),
        (r#","number:min":2,"number:max":1.5"#, "W /entity a range of numbers from 2 to 1.5"),
        (r#","number:range":{"min":2,"max":1}"#, "W /entity a range of numbers from 2 to 1"),
    ] {
        assert_eq!(only(&int(attribute), &[("u8", &[1])]), says);
    }
    let fine = r#","number:min":-1.5,"number:max":1,"number:range":{"min":0,"max":0},"number:scale":2"#;
    assert_eq!(found(&int(fine), &[("u8", &[1])]), NOTHING);
    for (name, value) in [
        ("number:scale", "2"),
        ("number:offset", "2"),
        ("number:min", "2"),
        ("number:max", "2"),
        ("number:range", r#"{"min":1,"max":2}"#),
    ] {
        for (members, element) in [
            (r#""type":"bits","bits":8,"data":@0"#, "u8"),
            (r#""type":"enum","bits":1,"values":["a"],"data":@0"#, "u8"),
            (r#""type":"character","data":@0"#, "u8"),
            (r#""type":"null","data":@0"#, "u8"),
            (r#""type":"timestamp","data":@0"#, "u64"),
            (r#""type":"bit_struct","children":{},"data":@0"#, "u8"),
            (r#""type":"group","children":{}"#, "u8"),
            (r#""type":"fixed_array","elements":1,"child":{"type":"int","bits":8,"data":@0}"#, "u8"),
            (r#""type":"tuple","fields":{"a":{}},"child":{"type":"int","bits":8,"data":@0}"#, "u8"),
        ] {
            let found = only(&entity(&format!("{members},{name:?}:{value}")), &[(element, &[0])]);
            assert!(found.starts_with(&format!("W /entity {name:?} of type ")), "{members}: {found}");
        }
    }
    let tuple = |fields: &str, child: &str| {
        let child = format!(r#""child":{{{child},"data":@0}}"#);
        found(&entity(&format!(r#""type":"tuple","fields":{{"a":{{{fields}}}}},{child}"#)), &[("u8", &[1])])
    };
    let scale = r#""number:scale":2"#;
    assert_eq!(tuple(scale, r#""type":"int","bits":8"#), NOTHING);
    assert_eq!(
        tuple(scale, r#""type":"bits","bits":8"#),
        ["W /entity its fields have scales, but its child is \"bits\", no number"]
    );
    assert_eq!(
        tuple(scale, r#""type":"int","bits":8,"number:offset":1"#),
        ["W /entity both its fields and its child have scales"]
    );
    let wrong = tuple(r#""number:scale":"2""#, r#""type":"int","bits":8"#);
    assert!(wrong.len() == 1 && wrong[0].starts_with("E /entity entity of /entity: expected a number"));
}

#[test]
fn templates() {
    let record = |text: &str| {
        let members = format!(r#","core:role":"record","core:text":"{text}""#);
        found(&group(&members, r#""a":{"type":"bits","bits":8,"data":@0}"#), &[("u8", &[1])])
    };
    for text in ["", "{a}", "{}", "{{b}}", "x {a} y {a", "}"] {
        assert_eq!(record(text), NOTHING, "{text}");
    }
    for text in ["{b}", "{a} {b}", "{{ {b}"] {
        assert_eq!(
            record(text),
            ["W /entity \"core:text\" has \"b\" in braces, which is no child"],
            "{text}"
        );
    }
}

#[test]
fn attributes_of_times() {
    let one: [(&str, &[u64]); 2] = [("u64", &[1]), ("u8", &[1])];
    let (t, v) = (r#""t":{"type":"timestamp"T,"data":@0}"#, r#""v":{"type":"int","bits":8V,"data":@1}"#);
    let record = |members: &str, of_t: &str, of_v: &str| {
        let children = [t.replace('T', of_t), v.replace('V', of_v)].join(",");
        found(&group(&format!(r#","core:role":"record"{members}"#), &children), &one)
    };
    let rate = r#","time:rate":1000"#;
    let epoch = r#","time:epoch":"2024-01-01T00:00:00Z""#;
    let no_use = "its rate is of no use: nothing here is a sample or a time by it";
    let no_times = "\"time:epoch\" is of no use: nothing here has times by a \"time:rate\"";
    for (members, of_t, of_v) in [
        ("", "", ""),
        (rate, "", ""),
        ("", rate, ""),
        (&format!("{rate}{epoch}"), "", ""),
        (epoch, rate, ""),
        (rate, epoch, ""),
    ] {
        assert_eq!(record(members, of_t, of_v), NOTHING, "{members} {of_t}");
    }
    // The timestamps have a rate of their own, and the other elements their times by these.
    assert_eq!(record(rate, rate, ""), [format!("W /entity {no_use}")]);
    assert_eq!(record(epoch, "", ""), [format!("W /entity {no_times}")]);
    assert_eq!(record("", epoch, ""), [format!("W /entity/children/t {no_times}")]);
    assert_eq!(record(&format!("{rate}{epoch}"), &format!("{rate}{epoch}"), "").len(), 2);

    let empty = only(&group(rate, ""), &[]);
    assert_eq!(empty, format!("W /entity {no_use}"));
    let plain = |members: &str, of_v: &str| found(&group(members, &v.replace('V', of_v)), &one);
    assert_eq!(plain(rate, ""), NOTHING);
    assert_eq!(plain(epoch, rate), NOTHING);
    assert_eq!(plain(rate, rate), [format!("W /entity {no_use}")]);
    assert_eq!(plain("", epoch), [format!("W /entity/children/v {no_times}")]);
    assert_eq!(
        plain("", r#","time:rate":1,"sample_rate":2"#),
        ["W /entity/children/v both \"time:rate\" and \"sample_rate\": readers may take either"]
    );
    let ticks = found_in_v001(&entity(r#""type":"timestamp","sample_rate":5,"data":@0"#), &one);
    assert_eq!(ticks, ["W /entity \"sample_rate\" of a timestamp, whose ticks are by \"time:rate\""]);

    let field = |name: &str| record(&format!(r#","time:field":{name}"#), "", "");
    assert_eq!(field("\"t\""), NOTHING);
    assert_eq!(field("\"v\""), NOTHING);
    for name in ["\"x\"", "1"] {
        let missing = field(name);
        assert_eq!(missing.len(), 1);
        assert!(
            missing[0].starts_with("W /entity entity of /entity: no times: expected the name of a child")
        );
    }
    let bits = group(r#","time:field":"a""#, r#""a":{"type":"bits","bits":8,"data":@1}"#);
    assert_eq!(
        only(&bits, &one),
        "W /entity entity of /entity/children/a: no time: expected a timestamp or an integer, or a tuple of two of them: it is a bits(8)"
    );
    let misplaced = only(&int(r#","time:field":"a""#), &[("u8", &[1])]);
    assert_eq!(misplaced, "W /entity \"time:field\" of type \"int\", which has no named children");

    let two = r#""a":{"type":"timestamp","data":@0},"b":{"type":"timestamp","data":@0}"#;
    assert_eq!(
        found(&group(r#","core:role":"record""#, two), &one),
        ["W /entity children \"a\" and \"b\" are both times: expected \"time:field\" to name one"]
    );
    assert_eq!(found(&group(r#","core:role":"record","time:field":"b""#, two), &one), NOTHING);
    // In a plain group they have nothing to do with one another.
    assert_eq!(found(&group("", two), &one), NOTHING);
}
