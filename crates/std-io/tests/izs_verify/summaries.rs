//! Summaries: as they are declared, their levels and groups.

use core_codec::izs::Dialect;

use crate::izs_support::made_bytes;
use crate::{NOTHING, entity, found, found_in_v001, int, of_bytes};

/// `count` elements of a stream of bytes, and the levels of its range.
fn pyramid(count: u64) -> Vec<Vec<u64>> {
    let mut streams = vec![(0..count).map(|i| i * 7 % 251).collect::<Vec<_>>()];
    let mut size = 4;
    while streams.last().unwrap().len() as u64 >= if streams.len() == 1 { 1024 } else { 2048 } {
        let groups = streams[0].chunks_exact(size);
        let range = |group: &[u64]| [*group.iter().min().unwrap(), *group.iter().max().unwrap()];
        let level = groups.flat_map(range).collect();
        streams.push(level);
        size *= 2;
    }
    streams
}

/// What is found with a summary of these members and levels over elements of `int`.
fn of_summary(summaries: &str, streams: &[Vec<u64>]) -> Vec<String> {
    let streams: Vec<_> = streams.iter().map(|stream| ("u8", &stream[..])).collect();
    found(&int(&format!(r#","summaries":{summaries}"#)), &streams)
}

#[test]
fn summaries_as_they_are_declared() {
    let streams = pyramid(5000);
    assert_eq!(streams.len(), 3);
    let with = |old: &str, new: &str| {
        let good = r#"{"range":{"base_level":2,"levels":[@1,@2]}}"#;
        let summaries = good.replace(old, new);
        assert!(old.is_empty() || summaries != good);
        of_summary(&summaries, &streams)
    };
    assert_eq!(with("", ""), NOTHING);
    let range = "/entity/summaries/range";
    for (old, new, says) in [
        (r#"{"range":{"base_level":2,"levels":[@1,@2]}}"#, "[1]", "E /entity \"summaries\": expected objects with \"levels\", found [1]".into()),
        ("[@1,@2]", "\"x\"", "E /entity \"summaries\": expected objects with \"levels\", found {\"range\":{\"base_level\":2,\"levels\":\"x\"}}".into()),
        ("\"base_level\":2,", "", format!("E {range} \"base_level\": expected 2, found none")),
        ("\"base_level\":2", "\"base_level\":\"2\"", format!("E {range} \"base_level\": expected 2, found \"2\"")),
        ("\"base_level\":2", "\"base_level\":300", format!("E {range} \"base_level\": expected 2, found 300")),
        ("\"base_level\":2", "\"base_level\":64", format!("E {range} \"base_level\": expected 2, found 64")),
        ("\"base_level\":2", "\"base_level\":63", format!("E {range} 2 levels from level 63 on: expected 1 at most")),
        ("\"base_level\"", "\"x\":1,\"base_level\"", format!("W {range} unknown member \"x\" of a summary")),
        ("range", "mean", "W /entity/summaries/mean no \"mean\" of type \"int\" in elements of u8 is known: it is not checked".into()),
        ("range", "skip", "W /entity/summaries/skip no \"skip\" of type \"int\" in elements of u8 is known: it is not checked".into()),
        ("range", "a/b", "W /entity/summaries/a~1b no \"a/b\" of type \"int\" in elements of u8 is known: it is not checked".into()),
    ] {
        assert_eq!(with(old, new), [says], "{new}");
    }
    let range_of = |kind: &str, element: &str| {
        let schema =
            entity(&format!(r#"{kind},"data":@0,"summaries":{{"range":{{"base_level":2,"levels":[@0]}}}}"#));
        found(&schema, &[(element, &[0; 2000])])
    };
    for (kind, element) in [
        (r#""type":"bits","bits":8"#, "u8"),
        (r#""type":"signed","bits":7"#, "u8"),
        (r#""type":"timestamp""#, "u64"),
    ] {
        let found = range_of(kind, element);
        assert!(
            found.len() == 1 && found[0].starts_with("W /entity/summaries/range no \"range\" of"),
            "{found:?}"
        );
    }
}

#[test]
fn levels() {
    let streams = pyramid(5000);
    let level = "/entity/summaries/range/levels";
    let range = |levels: &str| format!(r#"{{"range":{{"base_level":2,"levels":[{levels}]}}}}"#);
    let with = |place: usize, change: &dyn Fn(&mut Vec<u64>)| {
        let mut streams = streams.clone();
        change(&mut streams[place]);
        of_summary(&range("@1,@2"), &streams)
    };
    assert_eq!(with(1, &|_| ()), NOTHING);
    assert_eq!(with(1, &|level| level.truncate(2499)), [format!("E {level}/0 2499 values for 1250 groups")]);
    assert_eq!(with(1, &|level| level.truncate(2400)), [format!("E {level}/0 2400 values for 1250 groups")]);
    assert_eq!(with(2, &|level| level.extend([0, 0])), [format!("E {level}/1 1252 values for 625 groups")]);
    assert_eq!(
        with(2, &|level| level.truncate(1248)),
        [format!("W {level}/1 1248 values for 625 groups: the last is missing, as crate iguazu leaves it")]
    );
    let wide = found(
        &int(&format!(r#","summaries":{}"#, range("@1"))),
        &[("u8", &streams[0]), ("u16", &streams[1])],
    );
    assert_eq!(wide, [format!("E {level}/0 elements of u16 over a stream of u8")]);

    let summary = "/entity/summaries/range";
    assert_eq!(
        of_summary(&range(""), &streams),
        [format!("W {summary} no level: viewers that look for one fail")]
    );
    // A recorder may leave out coarse levels, but not so many that a display has to wait.
    assert_eq!(of_summary(&range("@1"), &streams), NOTHING);
    assert_eq!(of_summary(&range("@1"), &pyramid(4 * 16_383)), NOTHING);
    assert_eq!(
        of_summary(&range("@1"), &pyramid(4 * 16_384)),
        [format!("W {summary} no level above the 16384 groups of the last: viewers show nothing from afar")]
    );
    let mut more = streams.clone();
    more.push(
        more[2].chunks_exact(4).flat_map(|pair| [pair[0].min(pair[2]), pair[1].max(pair[3])]).collect(),
    );
    assert_eq!(
        of_summary(&range("@1,@2,@3"), &more),
        [format!(
            "W {summary} level 2 stands over 625 groups, expected 1024 or more: writers do not continue it"
        )]
    );
    let short = [vec![3; 9], vec![3; 4]];
    assert_eq!(
        of_summary(&range("@1"), &short),
        [format!(
            "W {summary} level 0 stands over 9 elements, expected 1024 or more: writers do not continue it"
        )]
    );
    let coarse = [streams[0].clone(), streams[2].clone()];
    assert_eq!(
        of_summary(&range("@1").replace(":2", ":3"), &coarse),
        [format!("W {summary} \"base_level\": writers have 2, found 3: it is not continued")]
    );
}

#[test]
fn groups() {
    let streams = pyramid(5000);
    let with = |place: usize, at: usize| {
        let mut streams = streams.clone();
        streams[place][at] ^= 1;
        of_summary(r#"{"range":{"base_level":2,"levels":[@1,@2]}}"#, &streams)
    };
    let level = "/entity/summaries/range/levels";
    assert_eq!(with(1, 100), [format!("E {level}/0 group 50 differs from its elements")]);
    assert_eq!(with(2, 1249), [format!("E {level}/1 group 624 differs from its elements")]);
    // Without being asked to, it does not compare.
    let mut wrong = streams.clone();
    wrong[1][0] ^= 1;
    let wrong: Vec<_> = wrong.iter().map(|stream| ("u8", &stream[..])).collect();
    let schema = int(r#","summaries":{"range":{"base_level":2,"levels":[@1,@2]}}"#);
    let mut told = Vec::new();
    of_bytes(&made_bytes(Dialect::Spec, &schema, &wrong))
        .verify(false, &mut |finding| told.push(finding))
        .unwrap();
    assert_eq!(told, []);

    let of = |kind: &str, key: &str, base: u32, element: &str, elements: &[u64], level: &[u64]| {
        let schema = entity(&format!(
            r#"{kind},"data":@0,"summaries":{{"{key}":{{"base_level":{base},"levels":[@1]}}}}"#
        ));
        let streams: [(&str, &[u64]); 2] = [(element, elements), (element, level)];
        (found(&schema, &streams), found_in_v001(&schema, &streams))
    };
    let pair = |low: u64, high: u64| [low, high].repeat(256);
    let same = |(spec, v001): (Vec<String>, Vec<String>)| {
        assert_eq!((&spec[..], &v001[..]), (&[] as &[String], &[] as &[String]));
    };
    same(of(r#""type":"signed","bits":8"#, "range", 2, "u8", &[1, 0xff, 3, 4].repeat(256), &pair(0xff, 4)));
    same(of(r#""type":"int","bits":8"#, "range", 2, "u8", &[1, 0xff, 3, 4].repeat(256), &pair(1, 0xff)));
    same(of(r#""type":"bits","bits":8"#, "bit_and_or", 2, "u8", &[1, 3, 5, 1].repeat(256), &pair(1, 7)));
    let [nan, one] = [f32::NAN, 1.0].map(|value| u64::from(value.to_bits()));
    same(of(r#""type":"float32""#, "range", 2, "u32", &[nan, one, nan, nan].repeat(256), &pair(one, one)));
    // The dialects differ in which element they take.
    let times: Vec<u64> = (0..1024).collect();
    let [first, last] = [0, 7].map(|at| (0..128).map(|group| group * 8 + at).collect::<Vec<u64>>());
    let (spec, v001) = of(r#""type":"timestamp""#, "skip", 3, "u64", &times, &first);
    assert_eq!((spec.len(), v001.len()), (0, 1), "{spec:?} {v001:?}");
    let (spec, v001) = of(r#""type":"timestamp""#, "skip", 3, "u64", &times, &last);
    assert_eq!((spec.len(), v001.len()), (1, 0), "{spec:?} {v001:?}");
}
