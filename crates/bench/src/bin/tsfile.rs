//! Reads TsFiles beside the Python packages `tsfile` 2.5.0 and `pyarrow`, on the same data.
//!
//! `cargo xtask bench tsfile [--seconds N]` makes a Python environment under `target/`, writes the files there, and
//! prints millions of points a second: full scans into batches of columns on one core, on two, and of two processes on a
//! core each ("2 apart", what the machine can do when nothing is shared but its memory); the time to open a file of 100,000 series and read one, and each decoder alone.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use bench::tsfile::decoders;
use std_io::tsfile::{Batch, ScanBatch, TimeRange, TsFile};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const COLUMNS: u64 = 10;
const NAMES: [&str; 6] = ["int64_one", "int64_many", "double_one", "double_many", "text_one", "text_many"];
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python/tsfile_bench.py");

fn main() -> Result<()> {
    let mut args = env::args().skip(1);
    let mut seconds = 3.0;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => seconds = args.next().ok_or("--seconds needs a number")?.parse()?,
            "--scan" => return scan_worker(Path::new(&args.next().ok_or("which file?")?), seconds),
            "--open" => return open_worker(&mut args),
            "--decoders" => return decoders::print(),
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let target = env::var_os("CARGO_TARGET_DIR").map_or(target, PathBuf::from).join("tsfile-bench");
    let python = environment(&target)?;
    let folder = target.join("files");
    run(Command::new(&python).arg(SCRIPT).arg("write").arg(&folder))?;
    scans(&python, &folder, seconds)?;
    open_one(&python, &folder)?;
    decoders::print()
}

/// A Python environment with the packages, made once.
fn environment(target: &Path) -> Result<PathBuf> {
    let python = target.join("venv/bin/python");
    if !python.exists() {
        fs::create_dir_all(target)?;
        run(Command::new("python3").args(["-m", "venv"]).arg(target.join("venv")))?;
        let packages = ["tsfile==2.5.0", "pyarrow==26.0.1", "pandas"];
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages))?;
    }
    Ok(python)
}

fn run(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// A command that runs on `cores`, with as many threads.
fn on_cores(cores: std::ops::Range<usize>, program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("taskset");
    command.arg("-c").arg(format!("{}-{}", cores.start, cores.end - 1)).arg(program).args(args);
    command.env("RAYON_NUM_THREADS", cores.len().to_string());
    command
}

/// Runs a command on the first `cores` cores and reads the number that it prints.
fn pinned(cores: usize, program: &Path, args: &[&str]) -> Result<f64> {
    Ok(run(&mut on_cores(0..cores, program, args))?.trim().parse()?)
}

/// Runs a command twice at once, on a core each, and adds what they print: what two cores can do that share nothing
/// but their memory.
fn apart(program: &Path, args: &[&str]) -> Result<f64> {
    let start = |core| {
        on_cores(core..core + 1, program, args).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()
    };
    let mut sum = 0.0;
    for process in [start(0)?, start(1)?] {
        let output = process.wait_with_output()?;
        sum += String::from_utf8(output.stdout)?.trim().parse::<f64>()?;
    }
    Ok(sum)
}

fn scans(python: &Path, folder: &Path, seconds: f64) -> Result<()> {
    let myself = env::current_exe()?;
    println!("full scan into batches, {COLUMNS} columns, millions of points a second");
    println!(
        "{:<12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>9}",
        "file",
        "1 core",
        "2 cores",
        "2 apart",
        "wheel 1",
        "wheel 2",
        "parquet",
        "/wheel",
        "2 / 1",
        "2 / apart"
    );
    for name in NAMES {
        let file = folder.join(format!("{name}.tsfile"));
        let folder = folder.to_str().ok_or("path is not UTF-8")?;
        let (file, seconds) = (file.to_str().ok_or("path is not UTF-8")?, seconds.to_string());
        let ours = |cores| pinned(cores, &myself, &["--seconds", &seconds, "--scan", file]);
        let theirs = |cores, task| pinned(cores, python, &[SCRIPT, task, folder, name, &seconds]);
        let (one, wheel) = (ours(1)?, theirs(1, "scan")?);
        let apart = apart(&myself, &["--seconds", &seconds, "--scan", file])?;
        let (two, wheel_two) = (ours(2)?, theirs(2, "scan")?);
        let parquet = theirs(1, "parquet")?;
        println!(
            "{name:<12} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>8.2} {:>8.2} {:>9.2}",
            one / 1e6,
            two / 1e6,
            apart / 1e6,
            wheel / 1e6,
            wheel_two / 1e6,
            parquet / 1e6,
            one / wheel,
            two / one,
            two / apart
        );
    }
    Ok(())
}

/// Scans a file as often as fits and prints the points a second of the best time.
fn scan_worker(path: &Path, seconds: f64) -> Result<()> {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut best = f64::INFINITY;
    let mut points = 0;
    while points == 0 || Instant::now() < end {
        let start = Instant::now();
        points = scan(path)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{}", points as f64 / best);
    Ok(())
}

fn scan(path: &Path) -> Result<u64> {
    let file = TsFile::open(path)?;
    let names: Vec<String> = (0..COLUMNS).map(|i| format!("c{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut points = 0;
    let mut scan = file.scan(Some("t"), Some(&names), TimeRange::ALL, |_| true);
    let mut rows = ScanBatch::default();
    while scan.read(&mut rows)? {
        points += rows.batch.rows() as u64 * rows.batch.columns.len() as u64;
    }
    Ok(points)
}

/// Opens a file and reads one series of table `t`; gives the number of rows.
fn open_and_read(path: &Path, device: &str, column: &str) -> Result<usize> {
    let id = core_codec::tsfile::DeviceId::new(vec![Some("t".into()), Some(device.into())]);
    let file = TsFile::open(path)?;
    let entry = file.device(&id)?.ok_or("the device is not in the file")?;
    let mut rows = file.rows(&entry, Some(&[column]), TimeRange::ALL)?.serial();
    let mut batch = Batch::default();
    let mut found = 0;
    while rows.next(&mut batch)? {
        found += batch.rows();
    }
    Ok(found)
}

/// Opens the file of many series and reads one of them; then the same in a file of fewer, for the memory.
fn open_one(python: &Path, folder: &Path) -> Result<()> {
    let path = folder.join("series.tsfile");
    let mut best = Duration::MAX;
    for _ in 0..500 {
        let start = Instant::now();
        assert_eq!(open_and_read(&path, "d054321", "v")?, 3);
        best = best.min(start.elapsed());
    }
    let wheel = pinned(1, python, &[SCRIPT, "open", folder.to_str().ok_or("path is not UTF-8")?])?;
    println!("\nopen a file of 100,000 series and read one of them: {best:.1?}, wheel {wheel:.3} ms");
    let myself = env::current_exe()?;
    for (name, device, column, series) in
        [("int64_many", "d000543", "c3", 10_000), ("series", "d054321", "v", 100_000)]
    {
        let file = folder.join(format!("{name}.tsfile"));
        let file = file.to_str().ok_or("path is not UTF-8")?;
        let peak = pinned(1, &myself, &["--open", file, device, column])?;
        println!("peak memory of that in a file of {series} series: {:.1} MiB", peak / f64::from(1 << 20));
    }
    Ok(())
}

/// Prints the most memory that opening a file and reading one series took.
fn open_worker(args: &mut impl Iterator<Item = String>) -> Result<()> {
    let mut next = || args.next().ok_or("expected FILE DEVICE COLUMN");
    let (file, device, column) = (next()?, next()?, next()?);
    open_and_read(Path::new(&file), &device, &column)?;
    println!("{}", bench::peak_memory().ok_or("the system does not tell")?);
    Ok(())
}
