//! The overview.

use std::io::Write;

use std_io::IzsFile;

use crate::izs::items;
use crate::output::{Row, row, table};

pub(super) fn json(file: &IzsFile) -> Row {
    row([
        ("format", "izs".into()),
        ("size", file.input().len().into()),
        ("streams", items::rows(file).into_iter().map(serde_json::Value::Object).collect()),
    ])
}

pub(super) fn print(file: &IzsFile, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, ".izs, {} bytes", file.input().len())?;
    table(out, &items::rows(file), false)
}
