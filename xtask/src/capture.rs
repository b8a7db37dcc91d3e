//! Captures of a logic analyser, as sigrok stores them: zip files.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use zip::ZipArchive;

use crate::paths;

/// The capture of that name in the test data.
pub(crate) fn path(name: &str) -> PathBuf {
    paths::root().join("testdata/captures").join(name)
}

/// The samples of all its chunks, in order.
pub(crate) fn samples(capture: &Path) -> Result<Vec<u8>> {
    let context = || capture.display().to_string();
    let mut archive = ZipArchive::new(File::open(capture).with_context(context)?).with_context(context)?;
    let mut samples = Vec::new();
    for chunk in 1.. {
        let Ok(mut chunk) = archive.by_name(&format!("logic-1-{chunk}")) else { break };
        chunk.read_to_end(&mut samples).with_context(context)?;
    }
    if samples.is_empty() {
        bail!("{}: it has no logic-1-1", capture.display());
    }
    Ok(samples)
}
