//! Runs the programs of `firmware/` on the boards and compares what they print with the files beside them.
//!
//! The expected output of `NAME.rs` is `NAME.out`, or `NAME.BOARD.out` where a board's differs for a reason.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use lexopt::{Arg, ValueExt};
use similar::TextDiff;

use crate::boards::{self, BOARDS, Board};
use crate::budgets::{self, Figure};
use crate::firmware::{self, Program};
use crate::thumb::{Profile, Toolchain};
use crate::{inputs, paths, qemu, setup, size};

/// Lines that start so hold figures, which the budgets judge.
pub(crate) const MEASURED: &str = "measured ";

/// What was asked for.
#[derive(Default)]
struct Options {
    name: Option<String>,
    board: Option<&'static Board>,
    bless: bool,
    tighten: bool,
}

/// What came of a program on a board.
struct Tested {
    verdict: &'static str,
    figures: Vec<Figure>,
}

pub(crate) fn task(mut args: lexopt::Parser) -> Result<()> {
    let mut options = Options::default();
    while let Some(arg) = args.next()? {
        match arg {
            Arg::Long("board") => options.board = Some(boards::find(&args.value()?.string()?)?),
            Arg::Long("bless") => options.bless = true,
            Arg::Long("tighten") => options.tighten = true,
            Arg::Value(name) if options.name.is_none() => options.name = Some(name.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    run(&setup::ensure()?, &options)
}

/// Runs every program on every board.
pub(crate) fn run_all(toolchain: &Toolchain) -> Result<()> {
    run(toolchain, &Options::default())
}

fn run(toolchain: &Toolchain, options: &Options) -> Result<()> {
    let programs = wanted(options)?;
    let mut results = Results::default();
    for board in BOARDS.iter().filter(|board| options.board.is_none_or(|only| only == *board)) {
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            programs.iter().partition(|program| program.boards.contains(&board));
        for program in elsewhere {
            println!("{} on {}: not for this board", program.name, board.name);
        }
        for profile in Profile::ALL {
            let programs = here.iter().copied().filter(|program| program.profiles.contains(&profile));
            results.add_all(toolchain, board, profile, &programs.collect::<Vec<_>>(), options.bless)?;
        }
    }
    let Results { passed, failures, mut figures } = results;
    for failure in &failures {
        println!("\n{failure}");
    }
    println!();
    figures.sort_by(|a, b| a.name.cmp(&b.name));
    let all = options.name.is_none() && options.board.is_none() && failures.is_empty();
    let is_counted: fn(&str) -> bool = |name| !size::is_figure(name);
    let within = budgets::judge(&figures, all.then_some(is_counted), options.tighten);
    println!("\nprograms in QEMU: {passed} passed, {} failed", failures.len());
    if !failures.is_empty() {
        bail!("{} runs in QEMU failed", failures.len());
    }
    within
}

/// What came of all programs so far.
#[derive(Default)]
struct Results {
    passed: usize,
    failures: Vec<String>,
    figures: Vec<Figure>,
}

impl Results {
    /// Builds and runs the programs on the board.
    fn add_all(
        &mut self,
        toolchain: &Toolchain,
        board: &'static Board,
        profile: Profile,
        programs: &[&Program],
        bless: bool,
    ) -> Result<()> {
        if programs.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = programs.iter().map(|program| program.name.as_str()).collect();
        let dir = firmware::build(toolchain, board, profile, &names)?;
        for program in programs {
            let at = format!("{} on {}{}", program.name, board.name, profile.label());
            match test(program, board, &dir.join(&program.name), bless) {
                Ok(Tested { verdict, figures }) => {
                    println!("{at}: {verdict}");
                    self.passed += 1;
                    let label = |figure: Figure| Figure { name: figure.name + profile.label(), ..figure };
                    self.figures.extend(figures.into_iter().map(label));
                }
                Err(error) => {
                    println!("{at}: FAILED");
                    self.failures.push(format!("{at}: {error:#}"));
                }
            }
        }
        Ok(())
    }
}

fn wanted(options: &Options) -> Result<Vec<Program>> {
    let mut programs = firmware::programs()?;
    if let Some(name) = &options.name {
        programs.retain(|program| program.name == *name);
        let Some(program) = programs.first() else { bail!("there is no program firmware/src/bin/{name}.rs") };
        if let Some(board) = options.board
            && !program.boards.contains(&board)
        {
            bail!("program {name} is not for {}: see firmware/Cargo.toml", board.name);
        }
    }
    Ok(programs)
}

/// Runs one program on one board, and says how it fared.
fn test(program: &Program, board: &'static Board, binary: &Path, bless: bool) -> Result<Tested> {
    let dir = paths::target().join("qemu").join(format!("{}.{}", program.name, board.name));
    fs::create_dir_all(&dir)?;
    for (name, source) in &program.inputs {
        fs::write(dir.join(name), inputs::bytes(source)?).with_context(|| format!("{name}, an input"))?;
    }
    let ended = qemu::run(board, binary, &dir)?;
    let printed = ended.stdout.replace("\r\n", "\n");
    let context = || format!("printed:\n{printed}{}", ended.stderr);
    let status = ended.status.context("it did not end in time").with_context(context)?;
    if status.code() != Some(program.exit) {
        bail!("{status}, where {} was expected; {}", program.exit, context());
    }
    let (measured, printed): (Vec<_>, Vec<_>) =
        printed.split_inclusive('\n').partition(|line| line.starts_with(MEASURED));
    let figures = measured.into_iter().map(|line| figure(line, board)).collect::<Result<_>>()?;
    Ok(Tested { verdict: compare(program, board, &printed.concat(), bless)?, figures })
}

fn figure(line: &str, board: &'static Board) -> Result<Figure> {
    measured(line).map(|(name, value)| Figure { name, board: board.name, value })
}

/// Reads `measured NAME = VALUE`.
pub(crate) fn measured<T>(line: &str) -> Result<(String, T)>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let parsed = line.trim_end().strip_prefix(MEASURED).and_then(|rest| rest.rsplit_once(" = "));
    let (name, value) = parsed.with_context(|| format!("not `{MEASURED}NAME = VALUE`: {line}"))?;
    Ok((name.to_owned(), value.parse().context(line.to_owned())?))
}

fn compare(program: &Program, board: &Board, printed: &str, bless: bool) -> Result<&'static str> {
    let own = firmware::bin_dir().join(format!("{}.{}.out", program.name, board.name));
    let path = if own.exists() { own } else { firmware::bin_dir().join(format!("{}.out", program.name)) };
    let expected = fs::read_to_string(&path);
    if expected.as_ref().is_ok_and(|expected| expected == printed) {
        return Ok("ok");
    }
    if bless {
        fs::write(&path, printed)?;
        return Ok("blessed");
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let expected =
        expected.with_context(|| format!("cannot read {name}; --bless writes it. Printed:\n{printed}"))?;
    let diff = TextDiff::from_lines(&expected, printed);
    bail!("the output differs:\n{}", diff.unified_diff().header(&name, "printed"))
}
