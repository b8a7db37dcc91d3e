//! The same data through h5py, zarr and NumPy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Runs the peers on `values`, in `folder`.
pub(crate) fn run(folder: &Path, values: &[f64]) -> Result<()> {
    let python = match environment() {
        Ok(python) => python,
        Err(error) => {
            println!("The peers are left out: {error:#}");
            return Ok(());
        }
    };
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let input = folder.join("values.f64");
    fs::write(&input, data)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/stards_peers.py");
    let status = Command::new(python).arg(script).arg(&input).arg(super::RUNS.to_string()).status()?;
    ensure!(status.success(), "the Python script ended with {status}");
    Ok(())
}

/// The interpreter of a virtual environment under `target/` that has the peers.
fn environment() -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench-python");
    let python = folder.join("bin/python");
    if !python.exists() {
        let status = Command::new("python3").args(["-m", "venv"]).arg(&folder).status();
        ensure!(status.context("python3 is needed")?.success(), "python3 -m venv failed");
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "numpy", "h5py", "zarr"];
    let status = Command::new(&python).args(install).status()?;
    ensure!(status.success(), "pip install numpy h5py zarr failed");
    Ok(python)
}
