//! StarDS files.

mod cat;
mod digest;
mod info;
mod items;
mod npy;
mod values;

use std::io::Write;

use core_codec::Limits;
use core_codec::stards::Severity;
use std_io::{Input, StardsFile};

use crate::document::{self, CatRequest, Outcome, expect_usage};
use crate::output::{Row, row};

/// An open StarDS file.
pub(crate) struct Document(StardsFile);

impl Document {
    pub(crate) fn open(input: Input) -> anyhow::Result<Self> {
        Ok(Self(StardsFile::from_input(input, &Limits::default())?))
    }
}

impl document::Document for Document {
    fn info(&self, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        info::print(&self.0, out)
    }

    fn info_json(&self) -> anyhow::Result<(Row, Outcome)> {
        Ok(info::json(&self.0))
    }

    fn items(&self, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
        items::all(&self.0).try_for_each(emit)
    }

    fn cat(&self, request: &CatRequest, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        request.refuse_rows()?;
        cat::print(&self.0, request, out)?;
        Ok(Outcome::Done)
    }

    fn digest(&self, emit: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<Outcome> {
        digest::emit(&self.0, emit)
    }

    fn verify(
        &self,
        summaries: bool,
        emit: &mut dyn FnMut(Row) -> anyhow::Result<()>,
    ) -> anyhow::Result<Outcome> {
        expect_usage(!summaries, "--summaries is for .izs files")?;
        let mut outcome = Outcome::Done;
        for finding in self.0.verify()? {
            let severity = match finding.severity {
                Severity::Warning => "warning",
                Severity::Error => {
                    outcome = Outcome::Failed;
                    "error"
                }
            };
            emit(row([
                ("severity", severity.into()),
                ("message", finding.error.to_string().into()),
                ("structure", finding.error.structure().into()),
                ("offset", finding.error.offset().into()),
            ]))?;
        }
        Ok(outcome)
    }
}
