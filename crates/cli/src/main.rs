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

use std::io;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::document::{CatRequest, Outcome};

fn main() -> ExitCode {
    let args = Args::parse();
    let path = args.command.file();
    match run(&args.command, args.key.as_deref()) {
        Ok(outcome) => outcome.into(),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&format!("{}: {error:#}", path.display()));
            Outcome::Failed.into()
        }
    }
}

fn run(command: &Command, key: Option<&str>) -> anyhow::Result<Outcome> {
    let document = document::open(command.file(), key)?;
    output::to_stdout(|out| match command {
        Command::Info { json: true, .. } => {
            output::json_line(out, &document.info_json()?)?;
            Ok(Outcome::Done)
        }
        Command::Info { .. } => {
            document.info(out)?;
            Ok(Outcome::Done)
        }
        Command::Ls { json: true, .. } => {
            document.items(&mut |row| output::json_line(out, &row))?;
            Ok(Outcome::Done)
        }
        Command::Ls { .. } => {
            if document.tree(out)? {
                return Ok(Outcome::Done);
            }
            let mut widths = output::Widths::default();
            document.items(&mut |row| {
                widths.measure(&row);
                Ok(())
            })?;
            widths.print_names(out)?;
            document.items(&mut |row| widths.print(out, &row))?;
            Ok(Outcome::Done)
        }
        Command::Cat { item, range, slice, rows, format, .. } => {
            let request = CatRequest {
                item: item.as_deref(),
                range,
                slice: slice.as_deref(),
                device: rows.device.as_deref(),
                table: rows.table.as_deref(),
                columns: rows.columns.as_deref(),
                time: rows.time.as_ref(),
                tags: &rows.tags,
                format: *format,
            };
            document.cat(&request, out)
        }
        Command::Digest { .. } => document.digest(&mut |line| output::json_line(out, &line)),
        Command::Verify { json: true, .. } => document.verify(&mut |row| output::json_line(out, &row)),
        Command::Verify { .. } => {
            let outcome = document.verify(&mut |row| {
                let text = |name| row.get(name).map(output::plain).unwrap_or_default();
                Ok(writeln!(out, "{}: {}", text("severity"), text("message"))?)
            })?;
            if outcome == Outcome::Done {
                output::complain(&format!("{}: all of it can be read", command.file().display()));
            }
            Ok(outcome)
        }
    })
}

/// Whoever read our output has seen enough.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    kinds.into_iter().any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
