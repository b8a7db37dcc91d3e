//! The licences and origins of the dependencies, by cargo-deny and `ci/deny.toml`.

use anyhow::Result;

use crate::process;
use crate::test::Outcome;

pub(crate) fn task(args: lexopt::Parser) -> Result<()> {
    process::no_more(args)?;
    run()?.required()
}

pub(crate) fn run() -> Result<Outcome> {
    if !process::succeeds(&mut process::cargo(["deny", "--version"])) {
        return Ok(Outcome::Skipped(
            "cargo-deny is not installed: `cargo install --locked cargo-deny`".into(),
        ));
    }
    // Advisories are fetched from the net, and change by themselves: no part of a test.
    let config = ["--config", "../ci/deny.toml"];
    for manifest in ["Cargo.toml", "firmware/Cargo.toml"] {
        let args = ["deny", "--manifest-path", manifest, "--all-features", "check"];
        let mut command = process::cargo(args);
        let config = if manifest.contains('/') { config } else { ["--config", "ci/deny.toml"] };
        process::run(command.args(config).args(["bans", "licenses", "sources"]))?;
    }
    Ok(Outcome::Passed)
}
