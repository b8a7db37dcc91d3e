//! The files that programs on the boards read.

use anyhow::{Context, Result, bail};

use crate::capture;

/// The bytes that a line of `inputs` in `firmware/Cargo.toml` names.
pub(crate) fn bytes(source: &str) -> Result<Vec<u8>> {
    let words: Vec<_> = source.split_whitespace().collect();
    match words[..] {
        ["stream", kind, count] => stream(kind, count.parse().with_context(|| source.to_owned())?),
        ["capture", name] => capture::samples(&capture::path(name)),
        _ => bail!("no such source: {source}"),
    }
}

fn stream(kind: &str, count: usize) -> Result<Vec<u8>> {
    Ok(match kind {
        "logic" => streams::logic_bytes(count),
        "adc" => streams::little_endian(streams::adc().take(count)),
        "slow" => streams::little_endian(streams::slow().take(count)),
        _ => bail!("there is no stream {kind}: there are logic, adc, slow"),
    })
}
