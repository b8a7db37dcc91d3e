//! `tripoint` on StarDS files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use core_codec::stards::{BASE_LAYER, Compression, DataType, Draft, Tensor};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std_io::StardsWriter;

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn run(file: &Path, arguments: &[&str]) -> Output {
    let (command, rest) = arguments.split_first().unwrap();
    Command::new(env!("CARGO_BIN_EXE_tripoint")).arg(command).arg(file).args(rest).output().unwrap()
}

/// What is printed when all goes well.
fn printed(name: &str, arguments: &[&str]) -> Vec<u8> {
    let output = run(&testdata(name), arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {arguments:?}: {errors}");
    output.stdout
}

fn text(name: &str, arguments: &[&str]) -> String {
    String::from_utf8(printed(name, arguments)).unwrap()
}

fn check_digests(folder: &Path) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "stards") {
            continue;
        }
        count += 1;
        let output = run(&path, &["digest"]);
        assert!(output.status.success(), "{path:?}");
        let mut found = BTreeMap::new();
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["format"], "stards");
            let name = |field: &str| line[field].as_str().unwrap().to_owned();
            let value = [&line["dtype"], &line["shape"], &line["sha256"]].map(Value::clone);
            found.insert((name("layer"), name("kind"), name("key")), value);
        }
        let sidecar: Value = serde_json::from_slice(&fs::read(path.with_extension("json")).unwrap()).unwrap();
        let mut expected = BTreeMap::new();
        for (layer, content) in sidecar["layers"].as_object().unwrap() {
            for (plural, kind) in [("arrays", "array"), ("metadata", "metadata")] {
                for (key, item) in content[plural].as_object().unwrap() {
                    let value = [&item["dtype"], &item["shape"], &item["raw_sha256"]].map(Value::clone);
                    expected.insert((layer.clone(), kind.to_owned(), key.clone()), value);
                }
            }
        }
        assert_eq!(found, expected, "{path:?}");
    }
    count
}

#[test]
fn digests_equal_their_sidecars() {
    assert!(check_digests(&testdata("stards")) >= 30);
}

#[test]
fn digests_of_the_wider_corpus_equal_their_sidecars() {
    match std::env::var_os("TRIPOINT_CORPUS") {
        Some(corpus) => assert!(check_digests(&Path::new(&corpus).join("stards")) > 0),
        None => eprintln!("not run: TRIPOINT_CORPUS is unset"),
    }
}

const LAYERS: &str = "stards/layers_GZIP.stards";

#[test]
fn cat_prints_each_format() {
    assert_eq!(
        text(LAYERS, &["cat", "image", "--slice", "0:2, ::-4"]),
        "index0,index1,value\n0,7,-4.707\n0,3,-5.567\n1,7,-3.057\n1,3,-4.004\n"
    );
    assert_eq!(text(LAYERS, &["cat", "base_only", "--range", "1.."]), "index,value\n1,8\n2,9\n");
    assert_eq!(text(LAYERS, &["cat", "gain"]), "value\n1.25\n");
    assert_eq!(text(LAYERS, &["cat", "calibrated:notes", "--format", "json"]), "[\"layer only\",\"☂\"]\n");
    assert_eq!(
        text(LAYERS, &["cat", "image", "--slice", "-1,::3", "--format", "ndjson"]),
        "{\"index\":[7,0],\"value\":7.093}\n{\"index\":[7,3],\"value\":8.196}\n{\"index\":[7,6],\"value\":8.877}\n"
    );
    assert_eq!(
        text(LAYERS, &["cat", "calibrated:image", "--slice", "::2", "--format", "json"]),
        "[[-6.859,-5.974,-5.641,-5.356],[-4.413,-3.88,-4.408,-3.26]]\n"
    );
    assert_eq!(text(LAYERS, &["cat", "image", "--slice", "3:3,:2", "--format", "json"]), "[]\n");
    assert_eq!(text(LAYERS, &["cat", "image", "--slice", ":2,3:3", "--format", "json"]), "[[],[]]\n");
    let raw = printed(LAYERS, &["cat", "base_only", "--format", "raw"]);
    assert_eq!(raw, [7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0]);
    let hash = format!("\"sha256\":\"{}\"", sha256(&raw));
    let digests = text(LAYERS, &["digest"]);
    assert!(digests.lines().any(|line| line.contains("base_only") && line.contains(&hash)), "{digests}");
    assert_eq!(text("stards/scalars_NONE.stards", &["cat", "nan"]), "value\nNaN\n");
    assert_eq!(text("stards/scalars_NONE.stards", &["cat", "nan", "--format", "json"]), "\"NaN\"\n");
}

/// Nothing in the file stands for the empty arrays that a shape promises.
#[test]
fn the_brackets_of_empty_arrays_are_bounded() {
    let mut draft = Draft::new();
    let mut put = |name: &str, shape: &[u64], elements: &'static [u8]| {
        draft.put_slice(BASE_LAYER, name, shape, elements, Compression::None).unwrap();
        let value = Tensor::new(DataType::Uint8, shape, elements.to_vec()).unwrap();
        draft.set_metadata(BASE_LAYER, name, value).unwrap();
    };
    put("product", &[1024, 1024, 0], &[]);
    put("deep", &[1; 100], &[7]);
    put("deep_and_empty", &[[1; 99].as_slice(), &[0]].concat(), &[]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.stards");
    StardsWriter::new(&draft).save(&path).unwrap();
    let brackets = |inner: &str, depth: usize| format!("{}{inner}{}\n", "[".repeat(depth), "]".repeat(depth));
    for (item, expected) in
        [("product", brackets("", 1)), ("deep", brackets("7", 100)), ("deep_and_empty", brackets("", 100))]
    {
        let output = run(&path, &["cat", item, "--format", "json"]);
        assert!(output.status.success(), "{item}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{item}");
    }
    assert!(run(&path, &["info", "--json"]).status.success());
}

#[test]
fn cat_writes_what_numpy_reads() {
    let header = |file: &[u8]| {
        assert_eq!(&file[..8], b"\x93NUMPY\x01\0");
        let len = usize::from(u16::from_le_bytes([file[8], file[9]]));
        assert_eq!((10 + len) % 64, 0);
        (String::from_utf8(file[10..10 + len].to_vec()).unwrap(), file[10 + len..].to_vec())
    };
    let (text, data) = header(&printed(LAYERS, &["cat", "image", "--slice", "0,:2", "--format", "npy"]));
    assert_eq!(text.trim_end(), "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }");
    assert_eq!(data, [-6.546f64, -5.802].map(f64::to_le_bytes).concat());
    let (text, data) = header(&printed(LAYERS, &["cat", "image", "--format", "npy"]));
    assert!(text.contains("(8, 8)") && text.ends_with('\n') && data.len() == 512);
    let (text, data) = header(&printed(LAYERS, &["cat", "calibrated:notes", "--format", "npy"]));
    assert!(text.contains("'<U10'") && data.len() == 80);
    assert_eq!(data[40..44], ('☂' as u32).to_le_bytes());
    let (text, _) = header(&printed(LAYERS, &["cat", "gain", "--format", "npy"]));
    assert!(text.contains("'shape': ()"), "{text}");
}

#[test]
fn a_slice_backwards_is_the_array_backwards() {
    let all = printed("stards/default_config.stards", &["cat", "ramp", "--format", "raw"]);
    assert_eq!(all.len(), 2_400_000);
    let turned =
        printed("stards/default_config.stards", &["cat", "ramp", "--slice", "::-1", "--format", "raw"]);
    let rows: Vec<u8> = all.chunks(8000).rev().flatten().copied().collect();
    assert!(turned == rows);
}

/// Arrays and metadata take the same slices, and refuse the same.
#[test]
fn metadata_is_sliced_as_arrays_are() {
    let mut draft = Draft::new();
    let mut put = |key: &str, value: Tensor| {
        draft.set_metadata(BASE_LAYER, &format!("{key}_metadata"), value.clone()).unwrap();
        draft.put(BASE_LAYER, &format!("{key}_array"), value, Compression::None).unwrap();
    };
    put("numbers", Tensor::array(&[2, 3], &[0i16, 1, 2, 10, 11, 12]).unwrap());
    put("texts", Tensor::strings(&[2, 3], ["", "a", "bc", "def", "ghij", "☂"]).unwrap());
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    StardsWriter::new(&draft).save(&path).unwrap();
    for key in ["numbers", "texts"] {
        for slice in ["::-1,::2", "1", "-1,-1", "0:9,1", "5:9", "2", "0,0,0", "x"] {
            for format in ["csv", "json", "npy"] {
                let cat = |kind: &str| {
                    let item = format!("{key}_{kind}");
                    let output = run(&path, &["cat", &item, "--slice", slice, "--format", format]);
                    (output.status.code(), output.stdout)
                };
                let (code, printed) = cat("array");
                assert_eq!(
                    code,
                    Some(match slice {
                        "2" | "0,0,0" => 1,
                        "x" => 2,
                        _ => 0,
                    }),
                    "{slice}"
                );
                assert_eq!(cat("metadata"), (code, printed), "{key} {slice} {format}");
            }
        }
    }
}

#[test]
fn more_dimensions_than_numpy_reads_are_refused() {
    let mut draft = Draft::new();
    for dimensions in [64, 65] {
        let shape = vec![1; dimensions];
        draft.put_slice(BASE_LAYER, &dimensions.to_string(), &shape, &[7u8], Compression::None).unwrap();
    }
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    StardsWriter::new(&draft).save(&path).unwrap();
    assert_eq!(run(&path, &["cat", "64", "--format", "npy"]).status.code(), Some(0));
    let output = run(&path, &["cat", "65", "--format", "npy"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("NumPy reads at most 64 dimensions, these are 65"), "{errors}");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
}

#[test]
fn info_and_ls_tell_layers_arrays_and_metadata() {
    let info = text(LAYERS, &["info"]);
    for part in [
        "StarDS version 1, 2,324 bytes",
        "layer processed: 1 array, 2 metadata keys",
        "coef = 0.1 0.2 0.3",
        "calibrated:notes",
    ] {
        assert!(info.contains(part), "{info}");
    }
    let json: Value = serde_json::from_slice(&printed(LAYERS, &["info", "--json"])).unwrap();
    assert_eq!(json["layers"][0]["metadata"]["gain"]["value"], 1.25);
    assert_eq!(json["arrays"][0]["codec"], "GZIP");
    assert_eq!((&json["arrays"][0]["raw"], &json["arrays"][0]["stored"]), (&512.into(), &450.into()));
    let rows = text(LAYERS, &["ls", "--json"]);
    assert_eq!(rows.lines().count(), 7 + 7);
    assert!(rows.contains("\"name\":\"zeta:meta_only\",\"kind\":\"metadata\""), "{rows}");
}

#[test]
fn verify_ends_in_failure_for_errors_only() {
    let output = run(&testdata(LAYERS), &["verify"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).lines().all(|line| line.starts_with("warning: ")));
    let output = run(&testdata("stards-bad/14_corrupt_gzip_block.stards"), &["verify", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"severity\":\"error\""));
}

#[test]
fn hostile_files_end_in_an_error_of_digest_and_verify() {
    // Valid, and one that is merely odd.
    let readable = ["00_control_valid.stards", "30_duplicate_key.stards"];
    for entry in fs::read_dir(testdata("stards-bad")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_none_or(|extension| extension != "stards") {
            continue;
        }
        let expected = i32::from(!readable.contains(&&*name));
        for command in ["digest", "verify"] {
            let output = run(&path, &[command]);
            assert_eq!(output.status.code(), Some(expected), "{command} {name}");
            assert!(!(output.stdout.is_empty() && output.stderr.is_empty()), "{command} {name}");
        }
        for command in [&["info"][..], &["info", "--json"], &["ls"], &["cat", "a"]] {
            let code = run(&path, command).status.code();
            assert!(matches!(code, Some(0 | 1)), "{command:?} {name}: {code:?}");
        }
    }
}

#[test]
fn a_layer_inherits_from_the_base_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.stards");
    let mut draft = Draft::new();
    draft.add_layer("L").unwrap();
    draft.put(BASE_LAYER, "a", 1u8, Compression::None).unwrap();
    draft.put(BASE_LAYER, "b", 2u8, Compression::None).unwrap();
    draft.put("L", "b", 3u8, Compression::None).unwrap();
    draft.set_metadata(BASE_LAYER, "unit", "m").unwrap();
    draft.set_metadata(BASE_LAYER, "gain", 4u8).unwrap();
    draft.set_metadata("L", "gain", 5u8).unwrap();
    StardsWriter::new(&draft).save(&path).unwrap();
    let cat = |name: &str, inherit: &[&str]| {
        let output = run(&path, &[&["cat", name, "--format", "json"], inherit].concat());
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
    };
    for (name, own, inherited) in [
        ("L:a", None, Some("1")),
        ("L:b", Some("3"), Some("3")),
        ("L:unit", None, Some("\"m\"")),
        ("L:gain", Some("5"), Some("5")),
        ("L:none", None, None),
        ("M:a", None, None),
    ] {
        assert_eq!(cat(name, &[]).as_deref(), own, "{name}");
        assert_eq!(cat(name, &["--inherit"]).as_deref(), inherited, "{name}");
    }
    let lines = |arguments: &[&str]| {
        let output = run(&path, arguments);
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let ls = lines(&["ls", "--json", "--inherit"]);
    let names: Vec<String> = ls
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["a", "b", "L:b", "L:a", "gain", "unit", "L:gain", "L:unit"]);
    assert!(names.iter().all(|name| cat(name, &["--inherit"]).is_some()));
    assert_eq!(lines(&["digest"]).lines().count(), 6);
    assert_eq!(lines(&["digest", "--inherit"]).lines().count(), 8);
    let info = lines(&["info", "--inherit"]);
    assert!(
        info.contains("layer L: 2 arrays, 2 metadata keys\n  gain = 5 (uint8)\n  unit = m (string)\n"),
        "{info}"
    );
    let info: Value = serde_json::from_str(&lines(&["info", "--json", "--inherit"])).unwrap();
    assert_eq!(info["arrays"].as_array().unwrap().len(), 4);
    assert_eq!(info["layers"][1]["metadata"]["unit"]["value"], "m");
    assert_eq!(run(&testdata("izs/bits1_u8.izs"), &["ls", "--inherit"]).status.code(), Some(2));
}

/// Arrays and metadata, keys with colons and layers: all have the plain name `x` or `L:x`.
#[test]
fn every_item_has_a_name_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.stards");
    let mut draft = Draft::new();
    let layers = ["L", "L:x", "back\\", "array@__base__"];
    layers.iter().for_each(|layer| draft.add_layer(layer).unwrap());
    let mut expected = BTreeMap::new();
    let mut number = 0u8;
    for layer in [BASE_LAYER].into_iter().chain(layers) {
        for key in ["x", "L:x", "y:z", "x:y:z", "array@L:x", "__base__:x", "only_in_metadata"] {
            number += 1;
            if key != "only_in_metadata" {
                draft.put(layer, key, number, Compression::None).unwrap();
                expected.insert(("array", number), ());
            }
            number += 1;
            draft.set_metadata(layer, key, number).unwrap();
            expected.insert(("metadata", number), ());
        }
    }
    StardsWriter::new(&draft).save(&path).unwrap();
    let rows = run(&path, &["ls", "--json"]);
    let mut found = BTreeMap::new();
    for line in String::from_utf8(rows.stdout).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let output = run(&path, &["cat", row["name"].as_str().unwrap(), "--format", "raw"]);
        assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
        let kind = if row["kind"] == "array" { "array" } else { "metadata" };
        assert_eq!(found.insert((kind, output.stdout[0]), ()), None, "{line}");
    }
    assert_eq!(found, expected);
    // A plain name that several have says so.
    let output = run(&path, &["cat", "x", "--format", "json"]);
    assert_eq!(output.stdout, b"1\n");
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(
        warning.contains("array@__base__:x is printed of array@__base__:x, metadata@__base__:x"),
        "{warning}"
    );
    assert!(text(LAYERS, &["ls"]).lines().all(|line| !line.contains('@')));
}

/// The array `x` of the layer L is stored as `__layer_L__:x`, which a metadata key of the base layer may be called.
#[test]
fn metadata_may_be_called_as_an_array_is_stored() {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    let stored_as = "__layer_L__:x";
    let cat = |name: &str| run(&path, &["cat", name, "--format", "raw"]).stdout;
    let mut draft = Draft::new();
    draft.add_layer("L").unwrap();
    draft.put("L", "x", 1u8, Compression::None).unwrap();
    StardsWriter::new(&draft).save(&path).unwrap();
    assert_eq!(cat(stored_as), [1]);
    draft.set_metadata(BASE_LAYER, stored_as, 2u8).unwrap();
    StardsWriter::new(&draft).save(&path).unwrap();
    let rows = String::from_utf8(run(&path, &["ls", "--json"]).stdout).unwrap();
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let values: Vec<_> = rows.map(|row| cat(row["name"].as_str().unwrap())).collect();
    assert_eq!(values, [[1], [2]]);
}

#[test]
fn replaced_text_is_told() {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    let mut draft = Draft::new();
    let strings = b"\x02\0\0\0\xc3\xa9\x02\0\0\0ok".to_vec();
    let strings = Tensor::new(DataType::String, &[2], strings).unwrap();
    draft.put(BASE_LAYER, "a", strings, Compression::None).unwrap();
    draft.set_metadata(BASE_LAYER, "m", "é").unwrap();
    draft.set_metadata_compression(Compression::None).unwrap();
    StardsWriter::new(&draft).save(&path).unwrap();
    let told = |item: &str, format: &str| {
        let output = run(&path, &["cat", item, "--format", format]);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let good = (Some(0), String::new());
    assert_eq!([told("a", "csv"), told("m", "json")], [good.clone(), good.clone()]);
    let file: Vec<u8> =
        fs::read(&path).unwrap().into_iter().map(|b| if b == 0xc3 { 0xff } else { b }).collect();
    fs::write(&path, file).unwrap();
    for item in ["a", "m"] {
        for format in ["csv", "ndjson", "json", "npy"] {
            let (code, errors) = told(item, format);
            assert_eq!((code, errors.lines().count()), (Some(3), 1), "{item} {format}: {errors}");
            assert!(errors.contains(&format!(" {item}: text that is not UTF-8")), "{errors}");
            assert!(errors.contains("--format raw"), "{errors}");
        }
        assert_eq!(told(item, "raw"), good);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_once() {
    for arguments in
        [&["cat", "image"][..], &["cat", "image", "--format", "npy"], &["ls"], &["info", "--json"]]
    {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tripoint"));
        command.arg(arguments[0]).arg(testdata(LAYERS)).args(&arguments[1..]);
        let output = command.stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.starts_with("tripoint: stdout: ") && errors.lines().count() == 1, "{errors}");
    }
}

#[test]
fn the_last_of_two_arrays_with_one_key_is_the_only_one() {
    let path = testdata("stards-bad/30_duplicate_key.stards");
    let named = run(&path, &["cat", "a"]);
    let unnamed = run(&path, &["cat"]);
    assert!(named.status.success() && !named.stdout.is_empty());
    assert_eq!(named, unnamed);
    // Nor is the other one listed.
    let count = |arguments: &[&str]| {
        String::from_utf8(run(&path, arguments).stdout).unwrap().matches("array").count()
    };
    assert_eq!(count(&["ls"]), 1);
    assert_eq!(count(&["ls", "--json"]), 1);
    let info = String::from_utf8(run(&path, &["info"]).stdout).unwrap();
    assert!(info.contains("layer __base__: 1 array, "), "{info}");
}

#[test]
fn wrong_requests_are_refused() {
    for (arguments, code, message) in [
        (&["cat"][..], 2, "several arrays"),
        (&["cat", "nothing"], 1, "no such item"),
        (
            &["cat", "image", "--slice", "0:1,0,0"],
            1,
            "--slice has 3 parts for 2 dimensions: one each at most, such as 0:1,0:1",
        ),
        (&["cat", "gain", "--slice", "0,1"], 1, "--slice has 2 parts for 0 dimensions"),
        (&["cat", "image", "--slice", "8"], 1, "index"),
        (&["cat", "image", "--slice", "-9"], 1, "the index lies outside: -9 of a dimension of 8"),
        (&["cat", "image", "--slice", "x"], 2, "expected an integer"),
        (&["cat", "image", "--slice", "0,99999999999999999999:"], 2, "an integer of more than 64 bits"),
        (&["cat", "image", "--range", "99999999999999999999.."], 2, "too large"),
        (&["cat", "image", "--slice", "0", "--range", "0..1"], 2, "exclude each other"),
        (&["cat", "image", "--range", "0..9"], 1, "not inside"),
        (&["cat", "gain", "--range", "0..1"], 2, "scalar"),
        (&["cat", "image", "--device", "d"], 2, "are for TsFiles"),
    ] {
        let output = run(&testdata(LAYERS), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(message), "{arguments:?}: {errors}");
        // A header may be there already, but no value.
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}
