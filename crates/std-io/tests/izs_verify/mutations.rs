//! A good schema of each type, changed in every place in every way: each change is found, and without one nothing is.

use core_codec::Limits;
use core_codec::izs::Dialect;
use core_codec::izs::model::{Object, Value, parse_json};
use core_codec::izs::schema::RESERVED;
use proptest::prelude::*;
use std_io::{Finding, Input, IzsFile};

use crate::NOTHING;
use crate::izs_support::{ended, made_parts};
use crate::{findings, of_bytes, shown};

/// Members of the entity, its streams, and the dialect if only one has it.
type Good = (&'static str, Vec<(&'static str, Vec<u64>)>, Option<Dialect>);

fn goods() -> Vec<Good> {
    let bytes = || ("u8", vec![1, 0, 1, 1, 0, 1]);
    let v001 = Some(Dialect::V001);
    let long = |period: &[u64]| ("u8", period.repeat(1024 / period.len()));
    let level = |group: &[u64]| ("u8", group.repeat(256));
    vec![
        (r#""type":"null","data":@0"#, vec![bytes()], None),
        (
            r#""type":"bits","bits":1,"time:rate":1000,"time:epoch":"2024-01-01T00:00:00Z","data":@0"#,
            vec![bytes()],
            None,
        ),
        (r#""type":"int","bits":8,"number:scale":0.5,"number:offset":-1.5,"data":@0"#, vec![bytes()], None),
        (r#""type":"signed","bits":8,"number:min":-1.0,"number:max":1.0,"data":@0"#, vec![bytes()], None),
        (r#""type":"enum","bits":1,"values":["off","on"],"data":@0"#, vec![bytes()], None),
        (r#""type":"character","data":@0"#, vec![("u8", vec![65, 0xc3, 0xa9])], None),
        (r#""type":"timestamp","time:rate":1e9,"data":@0"#, vec![("u64", vec![1, 2, 2])], None),
        (r#""type":"float32","data":@0"#, vec![("u32", vec![0, 1])], None),
        (r#""type":"float64","data":@0"#, vec![("u64", vec![0, 1])], None),
        (
            r#""type":"bit_struct","children":{"a":{"type":"bits","bits":1},"b":{"type":"int","bits":2,"pos":1}},"data":@0"#,
            vec![bytes()],
            Some(Dialect::Spec),
        ),
        (
            r#""type":"bit_struct","children":{"a":{"type":"bits","bits":1},"b":{"type":"bit_struct","children":{"c":{"type":"int","bits":2}}}},"data":@0"#,
            vec![bytes()],
            v001,
        ),
        (
            r#""type":"tagged","tag_bits":1,"values":{"a":{"type":"null"},"b":{"type":"int","bits":2}},"data":@0"#,
            vec![bytes()],
            v001,
        ),
        (
            r#""type":"group","children":{"a":{"type":"bits","bits":1,"data":@0},"b":{"type":"bits","bits":8,"data":@1}}"#,
            vec![bytes(), ("u8", vec![5])],
            None,
        ),
        (
            r#""type":"group","core:role":"record","time:field":"t","core:text":"{v}","children":{"t":{"type":"timestamp","time:rate":5,"data":@0},"v":{"type":"bits","bits":8,"data":@1}}"#,
            vec![("u64", vec![1, 2]), ("u8", vec![5, 6])],
            Some(Dialect::Spec),
        ),
        (
            r#""type":"record","time":"t","text":"{v}","children":{"t":{"type":"tuple","fields":{"start":{},"end":{}},"child":{"type":"timestamp","data":@0},"time:rate":5},"v":{"type":"bits","bits":8,"data":@1}}"#,
            vec![("u64", vec![1, 3, 2, 2]), ("u8", vec![5, 6])],
            v001,
        ),
        (
            r#""type":"union","variants":{"a":{"type":"bits","bits":8,"data":@1},"b":{"type":"int","bits":8,"data":@2}},"data":@0"#,
            vec![("u8", vec![0, 1, 0]), ("u8", vec![1, 2]), ("u8", vec![3])],
            v001,
        ),
        (
            r#""type":"tuple","fields":{"re":{"number:scale":2},"im":{}},"child":{"type":"int","bits":8,"data":@0}"#,
            vec![bytes()],
            None,
        ),
        (
            r#""type":"fixed_array","elements":3,"child":{"type":"bits","bits":8,"data":@0}"#,
            vec![bytes()],
            None,
        ),
        (
            r#""type":"variable_array","data":@0,"child":{"type":"character","data":@1}"#,
            vec![("u64", vec![1, 1, 3]), ("u8", vec![65, 0xc3, 0xa9])],
            None,
        ),
        (
            r#""type":"variable_array","data":@0,"child":{"type":"fixed_array","elements":1,"child":{"type":"int","bits":8,"data":@1}}"#,
            vec![("u16", vec![1, 1, 3]), ("u8", vec![65, 0xc3, 0xa9])],
            None,
        ),
        (
            r#""type":"bits","bits":8,"data":@0,"summaries":{"bit_and_or":{"base_level":2,"levels":[@1]}}"#,
            vec![long(&[1, 3]), level(&[1, 3])],
            None,
        ),
        (
            r#""type":"int","bits":8,"data":@0,"summaries":{"range":{"base_level":2,"levels":[@1]}}"#,
            vec![long(&[1, 3]), level(&[1, 3])],
            None,
        ),
        (
            r#""type":"timestamp","data":@0,"summaries":{"skip":{"base_level":3,"levels":[@1]}}"#,
            vec![("u64", vec![7; 1024]), ("u64", vec![7; 128])],
            None,
        ),
    ]
}

/// A file before its schema, and the schema.
struct Made {
    body: Vec<u8>,
    schema: Value,
    dialect: Dialect,
}

impl Made {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for (members, streams, only) in goods() {
            let streams: Vec<_> = streams.iter().map(|(element, values)| (*element, &values[..])).collect();
            for dialect in [Dialect::Spec, Dialect::V001] {
                if only.is_none_or(|only| only == dialect) {
                    let (body, schema) = made_parts(dialect, &crate::entity(members), &streams);
                    all.push(Self { body, schema: json(&schema), dialect });
                }
            }
        }
        all
    }

    fn file(&self, schema: &Value) -> IzsFile {
        of_bytes(&ended(self.body.clone(), &schema.to_string()))
    }

    /// The objects of the schema with the steps to them.
    fn objects(&self) -> Vec<(Vec<String>, &Object)> {
        let mut found = Vec::new();
        collect(&self.schema, &mut Vec::new(), &mut found);
        found
    }

    fn entities(&self) -> Vec<(Vec<String>, &str)> {
        let objects = self.objects().into_iter();
        objects.filter_map(|(place, members)| Some((place, members.get("type")?.as_str()?))).collect()
    }

    fn descriptors(&self) -> Vec<Vec<String>> {
        let objects = self.objects().into_iter();
        objects.filter(|(_, members)| members.get("compress").is_some()).map(|(place, _)| place).collect()
    }

    fn summaries(&self) -> Vec<Vec<String>> {
        let objects = self.objects().into_iter();
        objects.filter(|(_, members)| members.get("base_level").is_some()).map(|(place, _)| place).collect()
    }

    /// The schema with the object at `place` changed; none if that makes no difference.
    fn changed(&self, place: &[String], change: &dyn Fn(&mut Object)) -> Option<Value> {
        let schema = changed(&self.schema, place, change);
        (schema != self.schema).then_some(schema)
    }
}

fn json(text: &str) -> Value {
    parse_json(text.as_bytes(), &Limits::default()).unwrap()
}

fn collect<'v>(value: &'v Value, place: &mut Vec<String>, found: &mut Vec<(Vec<String>, &'v Object)>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            found.push((place.clone(), members));
            members.iter().map(|(key, value)| (key.to_owned(), value)).collect()
        }
        Value::Array(values) => {
            values.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()
        }
        _ => return,
    };
    for (key, value) in below {
        place.push(key);
        collect(value, place, found);
        place.pop();
    }
}

fn changed(value: &Value, place: &[String], change: &dyn Fn(&mut Object)) -> Value {
    match (value, place) {
        (Value::Object(members), []) => {
            let mut members = members.clone();
            change(&mut members);
            Value::Object(members)
        }
        (Value::Object(members), [key, rest @ ..]) => {
            let mut members = members.clone();
            members.set(key, changed(members.get(key).unwrap(), rest, change));
            Value::Object(members)
        }
        (Value::Array(values), [at, rest @ ..]) => {
            let mut values = values.clone();
            let at: usize = at.parse().unwrap();
            values[at] = changed(&values[at], rest, change);
            Value::Array(values)
        }
        _ => unreachable!(),
    }
}

/// Whether a finding is about what stands at `place`, what is in it, or what it is in.
fn is_about(finding: &Finding, place: &[String]) -> bool {
    let pointer: String = place.iter().map(|step| format!("/{step}")).collect();
    pointer.starts_with(&finding.item) || finding.item.starts_with(&pointer)
}

/// A change of the object at `place` is found, if it is one.
fn expect_found(made: &Made, place: &[String], change: &dyn Fn(&mut Object)) {
    let Some(schema) = made.changed(place, change) else { return };
    let found = findings(&made.file(&schema));
    assert!(found.iter().any(|finding| is_about(finding, place)), "{place:?} of {schema}: {found:?}");
}

/// Each of the members, as JSON, in the place of what is there.
fn expect_each_found(made: &Made, place: &[String], members: &[(&str, &str)]) {
    for (key, value) in members {
        expect_found(made, place, &|members| members.set(key, json(value)));
    }
}

#[test]
fn good_files_are_clean() {
    for made in Made::all() {
        assert_eq!(shown(&made.file(&made.schema)), NOTHING, "{}", made.schema);
    }
}

#[test]
fn members_that_are_missing_are_missed() {
    for made in Made::all() {
        for (place, _) in made.entities() {
            // Without these two it says less, but nothing wrong.
            for key in RESERVED.into_iter().filter(|key| !matches!(*key, "summaries" | "pos")) {
                expect_found(&made, &place, &|members| drop(members.take(key)));
            }
        }
        for place in made.descriptors() {
            let keys = ["element", "block", "compress", "end", "i_offset", "i_size", "i_compress"];
            for key in keys.into_iter().chain(["end_idx", "root", "root_len"]) {
                expect_found(&made, &place, &|members| drop(members.take(key)));
            }
        }
        for place in made.summaries() {
            for key in ["base_level", "levels"] {
                expect_found(&made, &place, &|members| drop(members.take(key)));
            }
        }
    }
}

#[test]
fn members_that_belong_to_others_are_found() {
    for made in Made::all() {
        for (place, type_name) in made.entities() {
            let has_children = ["group", "record", "union", "tuple", "fixed_array", "variable_array"];
            for key in RESERVED {
                for value in ["{}", "[]", "[\"a\"]", "5", "null", "{\"a\":{}}"] {
                    // `summaries` without one, the `pos` of a field, and see `members_of_other_types`.
                    let is_right = (key == "summaries" && value == "{}")
                        || (key == "pos" && !has_children.contains(&type_name))
                        || (key == "variants" && type_name == "enum");
                    if !is_right {
                        expect_found(&made, &place, &|members| {
                            if members.get(key).is_none() {
                                members.set(key, json(value));
                            }
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn attributes_that_say_nothing_are_found() {
    for made in Made::all() {
        for (place, _) in made.entities() {
            let attributes = [
                ("x", "null"),
                ("x", "[{\"y\":-1}]"),
                ("x", "1e999"),
                ("time:rate", "-1.5"),
                ("time:rate", "\"fast\""),
                ("sample_rate", "0"),
                ("time:epoch", "\"yesterday\""),
                ("time:epoch", "5"),
                ("time:display", "\"late\""),
                ("number:scale", "\"2\""),
                ("number:offset", "[]"),
                ("number:min", "true"),
                ("number:range", "{\"min\":5,\"max\":4}"),
                ("number:range", "[4,5]"),
                ("time:field", "\"nobody\""),
                ("core:text", "5"),
                ("display:color", "{}"),
                ("display:layout", "\"table\""),
            ];
            expect_each_found(&made, &place, &attributes);
        }
    }
}

#[test]
fn descriptors_that_are_wrong_are_found() {
    for made in Made::all() {
        let keys = match made.dialect {
            Dialect::Spec => ["end", "i_offset", "i_size"],
            Dialect::V001 => ["end_idx", "root", "root_len"],
        };
        for place in made.descriptors() {
            let changes = [|number| number + 1, |number| number - 1, |_| 0, |_| u64::MAX, |_| 1 << 40];
            for (key, change) in keys.iter().flat_map(|key| changes.map(|change| (key, change))) {
                expect_found(&made, &place, &|members| {
                    let number = members.get(key).and_then(Value::as_u64).unwrap();
                    members.set(key, change(number).into());
                });
            }
            let members = [
                ("element", "\"u9\""),
                ("element", "\"u8\""),
                ("element", "\"u16\""),
                ("block", "0"),
                ("block", "1000"),
                ("block", "1099511627776"),
                ("block", "18446744073709551615"),
                ("compress", "\"lz4\""),
                ("compress", "\"zstd\""),
                ("i_compress", "\"zstd\""),
                ("codec", "\"zstd\""),
            ];
            expect_each_found(&made, &place, &members);
        }
    }
}

#[test]
fn summaries_that_are_wrong_are_found() {
    let mut count = 0;
    for made in Made::all() {
        for place in made.summaries() {
            count += 1;
            let members = [
                ("base_level", "1"),
                ("base_level", "4"),
                ("base_level", "255"),
                ("base_level", "256"),
                ("base_level", "\"2\""),
                ("levels", "[]"),
                ("levels", "\"x\""),
                ("levels", "[5]"),
                ("max_level", "5"),
            ];
            expect_each_found(&made, &place, &members);
            let (own, all) = place.split_last().unwrap();
            for name in ["range", "skip", "bit_and_or", "mean"].into_iter().filter(|name| name != own) {
                expect_found(&made, all, &|summaries| {
                    let summary = summaries.take(own).unwrap();
                    summaries.set(name, summary);
                });
            }
        }
    }
    assert_eq!(count, 6);
}

/// Each entity as one of another type, which lacks something or whose elements are not as wide.
#[test]
fn types_that_do_not_fit_are_found() {
    for made in Made::all() {
        for (place, own) in made.entities() {
            let is_wide = |name: &str| matches!(name, "timestamp" | "float64");
            for name in ["timestamp", "float64", "float32", "group", "fixed_array", "union", "nothing"] {
                // A record without its role is a good group.
                if !(is_wide(own) && is_wide(name)) && [own, name] != ["record", "group"] {
                    expect_found(&made, &place, &|members| members.set("type", name.into()));
                }
            }
        }
    }
}

/// Opens and verifies what may be no file at all.
fn survives(bytes: Vec<u8>) {
    if let Ok(file) = IzsFile::from_input(Input::fetching(bytes), Limits::default()) {
        file.verify(true, &mut |_| ()).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever a file holds, there is an end, and no panic.
    #[test]
    fn no_bytes_panic(which: prop::sample::Index, flips in prop::collection::vec((any::<u16>(), any::<u8>()), 1..6)) {
        let all = Made::all();
        let made = which.get(&all);
        let mut bytes = ended(made.body.clone(), &made.schema.to_string());
        for (at, value) in flips {
            let place = usize::from(at) % (bytes.len() - 16);
            if place < made.body.len() {
                bytes[place] = value;
            } else if bytes[place].is_ascii_digit() {
                // So that it mostly stays a schema.
                bytes[place] = b'0' + value % 10;
            }
        }
        survives(bytes);
    }

    #[test]
    fn no_schema_panics(which: prop::sample::Index, place: prop::sample::Index, key: prop::sample::Index, value: prop::sample::Index) {
        let all = Made::all();
        let made = which.get(&all);
        let values = [
            "null", "true", "0", "64", "255", "18446744073709551615", "-1", "1e999", "\"\"", "\"u8\"", "[]", "{}", "[null]",
            "{\"a\":{}}",
        ];
        let (place, members) = place.get(&made.objects()).clone();
        let keys: Vec<&str> = members.iter().map(|(key, _)| key).collect();
        if !keys.is_empty() {
            let (key, value): (&&str, &&str) = (key.get(&keys), value.get(&values));
            let value = json(value);
            let schema = changed(&made.schema, &place, &|members| members.set(key, value.clone()));
            survives(ended(made.body.clone(), &schema.to_string()));
        }
    }
}
