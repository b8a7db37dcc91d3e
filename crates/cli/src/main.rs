//! The `tripoint` command: what is in an `.izs`, TsFile or StarDS file.
//!
//! Data goes to stdout, everything else to stderr. Exit codes: 0 done; 1 the file is invalid or unreadable, or
//! the operation failed; 2 wrong usage; 3 done, but data was lost or left out.

mod args;
mod document;
mod human;
mod izs;
mod output;
mod sparkline;
mod stards;
mod tsfile;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::document::{CatRequest, Document, Outcome, WrongUsage};

fn main() -> ExitCode {
    let args = Args::parse();
    let path = args.command.file();
    match run(&args.command, args.key.as_deref()) {
        Ok(outcome) => {
            if outcome == Outcome::Failed && !matches!(args.command, Command::Verify { .. }) {
                output::complain(&format!("{}: not all of it can be read", path.display()));
            }
            outcome.into()
        }
        Err(error) => {
            if let Some(error) = output::stdout_error(&error) {
                // Whoever read our output has seen enough.
                if error.kind() == io::ErrorKind::BrokenPipe {
                    return ExitCode::SUCCESS;
                }
                output::complain(&error.to_string());
                return Outcome::Failed.into();
            }
            output::complain(&format!("{}: {error:#}", path.display()));
            if error.is::<WrongUsage>() { ExitCode::from(2) } else { Outcome::Failed.into() }
        }
    }
}

fn run(command: &Command, key: Option<&str>) -> anyhow::Result<Outcome> {
    let document = document::open(command.file(), key, command.view())?;
    let outcome = print(command, &*document)?;
    match document.left_out() {
        Some(text) => {
            output::complain(&format!("left out: {text}"));
            Ok(if outcome == Outcome::Done { Outcome::LeftOut } else { outcome })
        }
        None => Ok(outcome),
    }
}

fn print(command: &Command, document: &dyn Document) -> anyhow::Result<Outcome> {
    output::to_stdout(|out| match command {
        Command::Info { json: true, .. } => document.info_json(out),
        Command::Info { .. } => document.info(out),
        Command::Ls { json, .. } => list(document, *json, out),
        Command::Cat { item, range, slice, rows, meaning, format, .. } => {
            let (item, slice) = (item.as_deref(), slice.as_deref());
            let request = CatRequest { item, range, slice, rows, meaning, format: *format };
            document.cat(&request, out)
        }
        Command::Digest { .. } => document.digest(&mut |line| output::json_line(out, &line)),
        Command::Verify { json, summaries, .. } => verify(command.file(), document, *json, *summaries, out),
    })
}

/// Prints the items: as JSON, as a tree where they are one, or else as a table.
fn list(document: &dyn Document, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Done;
    if json {
        document.items(&mut |row| {
            outcome = outcome.and(&row);
            output::json_line(out, &row)
        })?;
        return Ok(outcome);
    }
    if let Some(outcome) = document.tree(out)? {
        return Ok(outcome);
    }
    let mut widths = output::Widths::default();
    document.items(&mut |row| {
        outcome = outcome.and(&row);
        widths.measure(&row);
        Ok(())
    })?;
    widths.print_names(out)?;
    document.items(&mut |row| widths.print(out, &row))?;
    Ok(outcome)
}

/// Prints the findings, and then, on stderr, what they come to.
fn verify(
    file: &Path,
    document: &dyn Document,
    json: bool,
    summaries: bool,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let (mut errors, mut warnings) = (0, 0);
    document.verify(summaries, &mut |row| {
        let text = |name| row.get(name).map(output::plain).unwrap_or_default();
        let severity = text("severity");
        *if severity == "error" { &mut errors } else { &mut warnings } += 1;
        if json {
            output::json_line(out, &row)
        } else {
            let (item, message) = (text("item"), text("message"));
            // Most messages say what they are about.
            let about = if message.contains(&item) { String::new() } else { item + ": " };
            Ok(writeln!(out, "{severity}: {about}{message}")?)
        }
    })?;
    // The verdict comes last, also where both streams end in one terminal.
    out.flush()?;
    let (outcome, verdict) = match errors {
        0 => (Outcome::Done, "all of it can be read"),
        _ => (Outcome::Failed, "not valid"),
    };
    let counts = format!("{}, {}", human::counted(errors, "error"), human::counted(warnings, "warning"));
    output::complain(&format!("{}: {verdict} ({counts})", file.display()));
    Ok(outcome)
}
