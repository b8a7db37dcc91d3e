//! Builds the library crates with their features in turn: none, each alone, each with `alloc`, all.

use std::fs;

use anyhow::{Context, Result};

use crate::boards::BOARDS;
use crate::test::Outcome;
use crate::thumb::{Profile, Toolchain};
use crate::{paths, process};

/// The folders of the crates whose features are combined.
const CRATES: [&str; 5] = ["core-codec", "micro-zstd", "firmware-writer", "std-io", "cli"];

/// Crate, features: what must build for every target of the boards.
const ON_TARGETS: [(&str, &str); 6] = [
    ("micro-zstd", ""),
    ("firmware-writer", ""),
    ("firmware-writer", "defmt"),
    ("core-codec", ""),
    ("core-codec", "izs,stards,tsfile,defmt"),
    ("core-codec", "alloc,izs,stards,tsfile,zstd"),
];

pub(crate) fn host() -> Result<Outcome> {
    for folder in CRATES {
        for features in combinations(&features(folder)?) {
            let manifest = format!("crates/{folder}/Cargo.toml");
            let mut clippy = process::cargo(["clippy", "--quiet", "--manifest-path", &manifest]);
            clippy.args(["--no-default-features", "--features", &features, "--", "-D", "warnings"]);
            process::run(&mut clippy)?;
        }
    }
    Ok(Outcome::Passed)
}

pub(crate) fn thumb(toolchain: &Toolchain) -> Result<Outcome> {
    for board in &BOARDS {
        for (package, features) in ON_TARGETS {
            let mut command = toolchain.build(board.target, Profile::Release);
            command.args(["--quiet", "--package", package, "--no-default-features", "--features", features]);
            process::run(command.current_dir(paths::root()))?;
        }
    }
    Ok(Outcome::Passed)
}

/// The features of the crate in a folder, `default` left out.
fn features(folder: &str) -> Result<Vec<String>> {
    let path = paths::root().join("crates").join(folder).join("Cargo.toml");
    let manifest: toml::Table =
        fs::read_to_string(&path)?.parse().with_context(|| path.display().to_string())?;
    let features = manifest.get("features").and_then(toml::Value::as_table);
    let names = features.into_iter().flat_map(toml::Table::keys).filter(|name| *name != "default");
    Ok(names.cloned().collect())
}

fn combinations(features: &[String]) -> Vec<String> {
    let mut sets = vec![String::new()];
    sets.extend(features.iter().cloned());
    if features.iter().any(|name| name == "alloc") {
        let others = features.iter().filter(|name| !["alloc", "std"].contains(&name.as_str()));
        sets.extend(others.map(|name| format!("alloc,{name}")));
    }
    if features.len() > 1 {
        sets.push(features.join(","));
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_combined() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(combinations(&[]), [""]);
        assert_eq!(combinations(&names(&["defmt"])), ["", "defmt"]);
        let combined = combinations(&names(&["alloc", "izs", "std"]));
        assert_eq!(combined, ["", "alloc", "izs", "std", "alloc,izs", "alloc,izs,std"]);
    }

    #[test]
    fn the_crates_have_the_features_that_are_built_on_the_targets() {
        for (package, listed) in ON_TARGETS {
            let known = features(package).unwrap();
            assert!(
                listed.split(',').filter(|name| !name.is_empty()).all(|name| known.iter().any(|k| k == name))
            );
        }
    }
}
