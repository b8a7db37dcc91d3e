//! Captures of a logic analyser, as sigrok stores them: zip files.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use zip::ZipArchive;
use zip::result::ZipError;

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
        let mut chunk = match archive.by_name(&format!("logic-1-{chunk}")) {
            Err(ZipError::FileNotFound) => break,
            chunk => chunk.with_context(context)?,
        };
        chunk.read_to_end(&mut samples).with_context(context)?;
    }
    if samples.is_empty() {
        bail!("{}: it has no logic-1-1", capture.display());
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_that_cannot_be_read_is_not_the_end() {
        let capture = path("i2c_atecc508a.sr");
        let whole = samples(&capture).unwrap();
        assert!(!whole.is_empty());
        let bytes = std::fs::read(&capture).unwrap();
        // The method of the last chunk, in the directory at the end: 10 bytes into its entry, the name 46 bytes in.
        let name = bytes.windows(8).rposition(|window| window == b"logic-1-").unwrap();
        let mut damaged = bytes.clone();
        damaged[name - 36] = 0x63;
        let file = std::env::temp_dir().join(format!("tripoint-capture-{}.sr", std::process::id()));
        std::fs::write(&file, damaged).unwrap();
        let result = samples(&file);
        std::fs::remove_file(&file).unwrap();
        let error = format!("{:#}", result.unwrap_err());
        assert!(!error.contains("it has no logic-1-1"), "{error}");
    }
}
