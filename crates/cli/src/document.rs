//! One open file, whatever its format: what every subcommand asks of it.

use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{bail, ensure};
use core_codec::Severity;
use core_codec::izs::raw;
use std_io::{Access, Input};

use crate::args::{CatFormat, Meaning, RowArgs, Span, View};
use crate::output::{Row, row};
use crate::{izs, stards, tsfile};

/// How an operation went, beyond errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit code 0.
    Done,
    /// Exit code 1: some of the file cannot be read.
    Failed,
    /// Exit code 3: done, but something was left out, and stderr says what.
    LeftOut,
}

impl Outcome {
    /// What it is when a row has been printed, too.
    pub(crate) fn and(self, row: &Row) -> Self {
        if row.contains_key("error") { Self::Failed } else { self }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Failed => Self::from(1),
            Outcome::LeftOut => Self::from(3),
        }
    }
}

/// The command line asks for what files of this format do not have: exit code 2, as for what clap refuses.
#[derive(Debug)]
pub(crate) struct WrongUsage(pub(crate) String);

impl std::error::Error for WrongUsage {}

impl fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns [`WrongUsage`] unless `condition` holds.
pub(crate) fn expect_usage(condition: bool, message: impl Into<String>) -> anyhow::Result<()> {
    ensure!(condition, WrongUsage(message.into()));
    Ok(())
}

/// An open file of one of the formats.
pub(crate) trait Document {
    /// What of the file was passed over when it was opened, for stderr; makes a good outcome [`Outcome::LeftOut`].
    fn left_out(&self) -> Option<String> {
        None
    }

    /// Prints an overview for people. What of the file cannot be read is said in its place, and makes the outcome
    /// [`Outcome::Failed`].
    fn info(&self, out: &mut dyn Write) -> anyhow::Result<Outcome>;

    /// Prints the overview as one JSON object; its first member is `format`. What cannot be read has a member
    /// `error`, and makes the outcome [`Outcome::Failed`].
    fn info_json(&self, out: &mut dyn Write) -> anyhow::Result<Outcome>;

    /// Emits one row for each item, with the name that `cat` takes, in file order. An item that cannot be read has
    /// a member `error`.
    fn items(&self, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()>;

    /// Prints the items as a tree; none when they are no tree.
    fn tree(&self, out: &mut dyn Write) -> anyhow::Result<Option<Outcome>> {
        let _ = out;
        Ok(None)
    }

    /// Prints the values of an item, or of the only one.
    fn cat(&self, request: &CatRequest, out: &mut dyn Write) -> anyhow::Result<Outcome>;

    /// Emits one line for each item, in file order. An item that cannot be read is a line with `error` in place
    /// of its hash, and makes the outcome [`Outcome::Failed`].
    fn digest(&self, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<Outcome>;

    /// Emits one row, made by [`finding`], for each thing that is wrong or odd.
    ///
    /// With `summaries`, those of an `.izs` file are computed again.
    fn verify(&self, summaries: bool, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()>;
}

/// A row of `verify`: what is wrong or odd about an item, or about the file.
pub(crate) fn finding(severity: Severity, item: Option<&str>, message: String) -> Row {
    row([("severity", severity.name().into()), ("item", item.into()), ("message", message.into())])
}

/// What `cat` is to print.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CatRequest<'a> {
    pub(crate) item: Option<&'a str>,
    pub(crate) range: &'a Span,
    pub(crate) slice: Option<&'a str>,
    pub(crate) rows: &'a RowArgs,
    pub(crate) meaning: &'a Meaning,
    pub(crate) format: CatFormat,
}

impl CatRequest<'_> {
    /// For formats without devices.
    pub(crate) fn refuse_rows(&self) -> anyhow::Result<()> {
        expect_usage(
            *self.rows == RowArgs::default(),
            "--device, --table, --columns, --time and --tag are for TsFiles",
        )
    }

    /// For formats whose values mean what they are.
    pub(crate) fn refuse_meaning(&self) -> anyhow::Result<()> {
        expect_usage(*self.meaning == Meaning::default(), "--scaled, --times and --events are for .izs files")
    }

    /// For formats without dimensions.
    pub(crate) fn refuse_slices(&self) -> anyhow::Result<()> {
        expect_usage(
            self.slice.is_none(),
            "--slice is for StarDS arrays; --range A..B takes a part of this item",
        )?;
        expect_usage(
            !matches!(self.format, CatFormat::Json | CatFormat::Npy),
            "this item is printed as csv, ndjson or raw; json and npy are for StarDS arrays",
        )
    }
}

/// A format, told by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Izs,
    Stards,
    TsFile,
}

impl Format {
    /// Looks at the last bytes, and at the first only if those do not tell: of a remote file the end is there
    /// already. The `.izs` header is only for recognising a file, and a file whose footer is right is one
    /// without it.
    fn detect(input: &Input) -> anyhow::Result<Self> {
        let len = input.len();
        let part = |range: Range<u64>| input.run(|source| Ok(source.bytes(range.clone())?.to_vec()));
        if part(len.saturating_sub(8)..len)? == raw::FOOTER_MAGIC {
            return Ok(Self::Izs);
        }
        // As much as the header of most StarDS files, so that opening those fetches nothing more.
        let head = part(0..len.min(core_codec::stards::FIRST_READ))?;
        let head = &head[..head.len().min(8)];
        if *head == raw::HEADER {
            Ok(Self::Izs)
        } else if head.starts_with(b"TsFile") {
            Ok(Self::TsFile)
        } else if head.starts_with(b"STARDS") {
            Ok(Self::Stards)
        } else if head.is_empty() {
            bail!("the file is empty")
        } else {
            bail!("is neither .izs nor TsFile nor StarDS: it starts with {head:02x?}")
        }
    }
}

/// Opens a file of any of the formats, by its path or URL.
///
/// `key` is the master key of an encrypted TsFile; without one, it is that of the variable `TRIPOINT_KEY`.
pub(crate) fn open(path: &Path, key: Option<&str>, view: View) -> anyhow::Result<Box<dyn Document>> {
    let input = input(path)?;
    let format = Format::detect(&input)?;
    expect_usage(!view.scan || format != Format::Stards, "--scan is for .izs files and TsFiles")?;
    expect_usage(!view.inherit || format == Format::Stards, "--inherit is for StarDS files")?;
    expect_usage(key.is_none() || format == Format::TsFile, "--key is for TsFiles")?;
    let variable = std::env::var("TRIPOINT_KEY").ok();
    let key = key.or(variable.as_deref());
    match format {
        Format::TsFile if view.scan => Ok(Box::new(tsfile::Document::scan(input, key)?)),
        Format::Izs if view.scan => Ok(Box::new(izs::Document::scan(input)?)),
        Format::Izs => Ok(Box::new(izs::Document::open(input)?)),
        Format::Stards => Ok(Box::new(stards::Document::open(input, view.inherit)?)),
        Format::TsFile => Ok(Box::new(tsfile::Document::open(input, key)?)),
    }
}

fn input(path: &Path) -> anyhow::Result<Input> {
    let url = path.to_str().and_then(|text| Some((text.split_once("://")?.0, text)));
    match url {
        Some((scheme, url)) if ["http", "https"].contains(&&*scheme.to_ascii_lowercase()) => remote(url),
        Some((scheme, _)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !path.exists() => {
            bail!("{scheme} URLs are not read, only those of http and https")
        }
        _ => Ok(Input::open(path, Access::Map)?),
    }
}

#[cfg(feature = "https")]
fn remote(url: &str) -> anyhow::Result<Input> {
    Ok(Input::open_url(url, std_io::HttpOptions::default())?)
}

#[cfg(not(feature = "https"))]
fn remote(_: &str) -> anyhow::Result<Input> {
    bail!("this build reads no URLs: it lacks the feature `https`")
}
