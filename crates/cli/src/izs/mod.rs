//! `.izs` files.

mod cat;
mod digest;
mod info;
mod items;

use std::io::Write;
use std::ops::Range;

use anyhow::anyhow;
use core_codec::Limits;
use std_io::{Input, IzsFile};

use crate::document::{self, CatRequest, Outcome};
use crate::output::Row;

/// An open `.izs` file.
pub(crate) struct Document(IzsFile);

impl Document {
    pub(crate) fn open(input: Input) -> anyhow::Result<Self> {
        let file = IzsFile::from_input(input, Limits::default()).map_err(|error| match error {
            std_io::Error::Format(error) if error.structure() == "footer" => {
                anyhow!("{error}; --scan reads what an earlier footer describes, if there is one")
            }
            other => other.into(),
        })?;
        Ok(Self(file))
    }

    /// Opens what the last complete footer describes.
    pub(crate) fn scan(input: Input) -> anyhow::Result<Self> {
        Ok(Self(IzsFile::open_last(input, Limits::default())?))
    }
}

impl document::Document for Document {
    fn left_out(&self) -> Option<String> {
        let Range { start, end } = self.0.unread();
        (start < end)
            .then(|| format!("bytes {start}..{end} of the file: they follow its last complete footer"))
    }

    fn info(&self, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        info::print(&self.0, out)
    }

    fn info_json(&self, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        info::json(&self.0, out)
    }

    fn items(&self, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.0.schema().streams().try_for_each(|id| emit(items::stream(&self.0, id)))
    }

    fn cat(&self, request: &CatRequest, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        request.refuse_slices()?;
        request.refuse_rows()?;
        cat::print(&self.0, request.item, request.range, request.format, out)?;
        Ok(Outcome::Done)
    }

    fn digest(&self, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<Outcome> {
        digest::emit(&self.0, emit)
    }

    fn verify(&self, summaries: bool, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let mut result = Ok(());
        self.0.verify(summaries, &mut |finding| {
            if result.is_ok() {
                let item = Some(&*finding.item).filter(|item| !item.is_empty());
                result = emit(document::finding(finding.severity, item, finding.message));
            }
        })?;
        result
    }
}
