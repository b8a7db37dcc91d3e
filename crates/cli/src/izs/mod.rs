//! `.izs` files.

mod cat;
mod digest;
mod info;
mod items;

use std::io::Write;
use std::ops::Range;

use anyhow::anyhow;
use core_codec::Limits;
use core_codec::izs::model::Value;
use std_io::{Input, IzsFile};

use crate::document::{self, CatRequest, Outcome};
use crate::output::{self, Row};

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
        cat::print(&self.0, request, out)?;
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

/// A value as JSON, with its floats as everywhere; a number that none of its numbers holds as its text.
fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Unsigned(number) => (*number).into(),
        Value::Negative(number) => (*number).into(),
        Value::Float(number) => output::double_json(*number),
        Value::Number(text) => value.as_f64().map_or_else(|| (&**text).into(), output::double_json),
        Value::String(text) => (&**text).into(),
        Value::Array(values) => values.iter().map(json).collect(),
        Value::Object(members) => serde_json::Value::Object(
            members.iter().map(|(name, value)| (name.to_owned(), json(value))).collect(),
        ),
    }
}
