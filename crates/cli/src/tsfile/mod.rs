//! TsFiles.

mod cat;
mod digest;
mod info;
mod items;
mod select;
mod values;

use std::io::Write;

use anyhow::anyhow;
use core_codec::Limits;
use std_io::Input;
use std_io::tsfile::TsFile;

use crate::document::{self, CatRequest, Outcome, expect_usage};
use crate::output::{self, Row};

/// An open TsFile.
pub(crate) struct Document(TsFile);

impl Document {
    /// Opens what `input` holds; `key` is the master key of an encrypted file.
    pub(crate) fn open(input: Input, key: Option<&str>) -> anyhow::Result<Self> {
        let mut file = TsFile::from_input(input, &Limits::default()).map_err(|error| match error {
            std_io::Error::Format(error) if error.structure() == "tail" => {
                anyhow!("{error}; --scan reads what is there without the footer")
            }
            other => other.into(),
        })?;
        if let Some(key) = key {
            file.unlock(checked(key)?)?;
        }
        Ok(Self(file))
    }

    /// The same by its data section alone.
    pub(crate) fn scan(input: Input, key: Option<&str>) -> anyhow::Result<Self> {
        Ok(Self(TsFile::recover_input(input, &Limits::default(), key.map(checked).transpose()?)?))
    }
}

/// The bytes of a master key.
fn checked(key: &str) -> anyhow::Result<&[u8]> {
    let len = key.len();
    expect_usage(len == 16, format!("the master key has 16 bytes, this one {len}"))?;
    Ok(key.as_bytes())
}

impl document::Document for Document {
    fn left_out(&self) -> Option<String> {
        let std_io::tsfile::Unread { bytes, reason } = self.0.unread()?;
        Some(format!("bytes {}..{} of the file: {reason}", bytes.start, bytes.end))
    }

    fn info(&self, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        info::print(&self.0, out)
    }

    fn info_json(&self, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        let (overview, outcome) = info::json(&self.0)?;
        output::json_line(out, &overview)?;
        Ok(outcome)
    }

    fn items(&self, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
        items::emit(&self.0, emit)
    }

    fn tree(&self, out: &mut dyn Write) -> anyhow::Result<Option<Outcome>> {
        items::tree(&self.0, out).map(Some)
    }

    fn cat(&self, request: &CatRequest, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        request.refuse_meaning()?;
        cat::print(&self.0, request, out)
    }

    fn digest(&self, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<Outcome> {
        digest::emit(&self.0, emit)
    }

    fn verify(&self, summaries: bool, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
        expect_usage(!summaries, "--summaries is for .izs files")?;
        self.0
            .verify(|finding| emit(document::finding(finding.severity, Some(&finding.item), finding.message)))
    }
}
