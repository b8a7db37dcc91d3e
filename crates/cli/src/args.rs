//! The command line.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Parser, Subcommand, ValueEnum};

/// Look into .izs signals, TsFile time series and StarDS arrays; FILE may be an http or https URL.
#[derive(Debug, Parser)]
#[command(name = "tripoint", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// Master key of an encrypted TsFile, 16 bytes; where others may see it, better in the variable TRIPOINT_KEY
    #[arg(long, global = true, value_name = "KEY")]
    pub(crate) key: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the file is invalid or unreadable, or the operation failed
  2  wrong usage
  3  done, but something was left out, and stderr says what";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what a file holds, with a sketch of each trace
    Info {
        /// Path or URL
        file: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        /// What is to be seen of the file
        #[command(flatten)]
        view: View,
    },
    /// List the streams, arrays or columns
    Ls {
        /// Path or URL
        file: PathBuf,
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
        /// What is to be seen of the file
        #[command(flatten)]
        view: View,
    },
    /// Print the values of one item
    Cat {
        /// Path or URL
        file: PathBuf,
        /// Item as `ls --json` names it; may be left out where there is only one. Of a StarDS file KEY or LAYER:KEY,
        /// of a TsFile DEVICE.MEASUREMENT or "TABLE/TAG/TAG COLUMN". One that begins with - comes last, behind --
        item: Option<String>,
        /// Elements of a stream, or indices of the first dimension of an array, from A up to, not including, B;
        /// either may be left out
        #[arg(long, value_name = "A..B", default_value = "..")]
        range: Span,
        /// A part of each dimension of a StarDS array, as Python writes it: 0:10,::2,-1
        #[arg(long, value_name = "SLICES", allow_hyphen_values = true)]
        slice: Option<String>,
        /// Rows of a TsFile: which ones
        #[command(flatten)]
        rows: Box<RowArgs>,
        /// Values of an .izs file: as what
        #[command(flatten)]
        meaning: Meaning,
        /// How to print them
        #[arg(long, value_enum, default_value_t = CatFormat::Csv)]
        format: CatFormat,
        /// What is to be seen of the file
        #[command(flatten)]
        view: View,
    },
    /// Print a hash of the data of each item, whatever the file's layout
    Digest {
        /// Path or URL
        file: PathBuf,
        /// What is to be seen of the file
        #[command(flatten)]
        view: View,
    },
    /// Read all of a file and tell what is wrong or odd about it
    Verify {
        /// Path or URL
        file: PathBuf,
        /// Compute the summaries of an .izs file again, too, and compare
        #[arg(long)]
        summaries: bool,
        /// Check what is there of a file that was cut off or never finished: of a TsFile its data alone, without the
        /// footer, of an .izs file what its last complete footer describes
        #[arg(long)]
        scan: bool,
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
}

/// What is to be seen of a file beyond what it says itself.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct View {
    /// Read a file that was cut off or never finished: a TsFile by its data alone, an .izs file up to its last
    /// complete footer
    #[arg(long)]
    pub(crate) scan: bool,
    /// Let the layers of a StarDS file have what the base layer has and they lack
    #[arg(long)]
    pub(crate) inherit: bool,
}

/// As what the elements of an .izs file are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct Meaning {
    /// Numbers of an .izs file as the quantities that they stand for, by number:scale and number:offset
    #[arg(long)]
    pub(crate) scaled: bool,
    /// With the time of each element of an .izs file, by time:rate and time:epoch, of a record by its timestamps: in
    /// seconds, or as date and time
    #[arg(long)]
    pub(crate) times: bool,
    /// A record of an .izs file as events: start, end, and its other fields
    #[arg(long, conflicts_with = "scaled")]
    pub(crate) events: bool,
}

/// Which rows of a TsFile.
#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct RowArgs {
    /// Device of a TsFile as `ls --json` names it: a path (root.plant.d1), or table/tag1/tag2; all of them by default
    #[arg(long)]
    pub(crate) device: Option<String>,
    /// Table of a TsFile that has several
    #[arg(long)]
    pub(crate) table: Option<String>,
    /// Columns of a TsFile, tags among them, with commas between them; a name that holds one stands in double quotes;
    /// may be given several times; all of them by default
    #[arg(long, value_name = "A,B")]
    pub(crate) columns: Vec<String>,
    /// Times from A up to, not including, B, in the unit of the file; either may be left out
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    pub(crate) time: Option<TimeSpan>,
    /// What a tag of a TsFile must be like, such as "region = north", "dev in d1,d2", "dev between d1 and d5",
    /// "dev ~ ^d[0-9]", "dev is null"; may be given several times
    #[arg(long = "tag", value_name = "TEST")]
    pub(crate) tags: Vec<String>,
}

/// A range of times whose ends may be open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeSpan {
    pub(crate) start: Option<i64>,
    pub(crate) end: Option<i64>,
}

impl FromStr for TimeSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        open_range(text).map(|(start, end)| Self { start, end })
    }
}

/// `A..B`, where either may be missing.
fn open_range<T>(text: &str) -> Result<(Option<T>, Option<T>), String>
where
    T: FromStr<Err: fmt::Display> + PartialOrd + fmt::Display,
{
    let (start, end) = text.split_once("..").ok_or("expected A..B, such as 0..1000")?;
    let number = |text: &str| match text {
        "" => Ok(None),
        _ => text.replace('_', "").parse().map(Some).map_err(|error| format!("{text:?}: {error}")),
    };
    match (number(start)?, number(end)?) {
        (Some(start), Some(end)) if end < start => Err(format!("it ends at {end}, before it starts")),
        range => Ok(range),
    }
}

impl Command {
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::Info { file, .. }
            | Self::Ls { file, .. }
            | Self::Cat { file, .. }
            | Self::Digest { file, .. }
            | Self::Verify { file, .. } => file,
        }
    }

    pub(crate) fn view(&self) -> View {
        match self {
            Self::Info { view, .. }
            | Self::Ls { view, .. }
            | Self::Cat { view, .. }
            | Self::Digest { view, .. } => *view,
            Self::Verify { scan, .. } => View { scan: *scan, ..View::default() },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CatFormat {
    /// Comma-separated values under a line of names
    Csv,
    /// One JSON object a line
    Ndjson,
    /// The little-endian bytes that `digest` hashes
    Raw,
    /// One JSON document, of a StarDS array nested as its dimensions are
    Json,
    /// A StarDS array as a file of NumPy
    Npy,
}

/// A range of elements whose ends may be open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: Option<u64>,
}

impl Span {
    /// The range in an item of `len` elements.
    pub(crate) fn within(&self, len: u64) -> anyhow::Result<std::ops::Range<u64>> {
        let end = self.end.unwrap_or(len);
        anyhow::ensure!(
            self.start <= end && end <= len,
            "range {}..{end} is not inside 0..{len}",
            self.start
        );
        Ok(self.start..end)
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (start, end) = open_range(text)?;
        Ok(Self { start: start.unwrap_or(0), end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn spans() {
        assert_eq!("2..1_000".parse(), Ok(Span { start: 2, end: Some(1000) }));
        assert_eq!("..".parse(), Ok(Span::default()));
        assert_eq!("5..".parse::<Span>().unwrap().within(7).unwrap(), 5..7);
        assert_eq!("-5..1_000".parse(), Ok(TimeSpan { start: Some(-5), end: Some(1000) }));
        assert!("5..4".parse::<TimeSpan>().is_err());
        assert!("5..8".parse::<Span>().unwrap().within(7).is_err());
        assert!("8..".parse::<Span>().unwrap().within(7).is_err());
        for text in ["", "5", "5..4", "a..b", "-1..2"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
