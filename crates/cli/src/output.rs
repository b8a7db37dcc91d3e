//! Printing: buffered stdout, tables, JSON lines.

use std::io::{self, BufWriter, Write};

use serde_json::{Map, Value};

/// A JSON object whose members keep their order: a row of a table, a line of `digest`.
pub(crate) type Row = Map<String, Value>;

/// A [`Row`] from pairs.
pub(crate) fn row<const N: usize>(members: [(&str, Value); N]) -> Row {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Runs `print` on buffered stdout and flushes it, also when `print` fails.
pub(crate) fn to_stdout<T>(print: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let result = print(&mut out);
    out.flush()?;
    result
}

/// Prints one line of JSON.
pub(crate) fn json_line(out: &mut dyn Write, row: &Row) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, row).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

/// Prints rows as an aligned table under their names, or as JSON lines.
pub(crate) fn table(out: &mut dyn Write, rows: &[Row], json: bool) -> anyhow::Result<()> {
    if json {
        return rows.iter().try_for_each(|row| json_line(out, row));
    }
    let mut names: Vec<&str> = Vec::new();
    for name in rows.iter().flat_map(Map::keys) {
        if !names.contains(&&**name) {
            names.push(name);
        }
    }
    let cell = |row: &Row, name: &str| row.get(name).map_or_else(String::new, plain);
    let widths: Vec<usize> = names
        .iter()
        .map(|name| rows.iter().map(|row| width(&cell(row, name))).chain([width(name)]).max().unwrap_or(0))
        .collect();
    let numeric: Vec<bool> = names
        .iter()
        .map(|name| {
            rows.iter().all(|row| matches!(row.get(*name), None | Some(Value::Number(_) | Value::Null)))
        })
        .collect();
    let mut line = |cells: Vec<String>| -> anyhow::Result<()> {
        let mut text = String::new();
        for ((cell, &column), &right) in cells.iter().zip(&widths).zip(&numeric) {
            let pad = " ".repeat(column - width(cell));
            text += &if right { format!("{pad}{cell}  ") } else { format!("{cell}{pad}  ") };
        }
        Ok(writeln!(out, "{}", text.trim_end())?)
    };
    if rows.is_empty() {
        return Ok(());
    }
    line(names.iter().map(|name| (*name).to_owned()).collect())?;
    rows.iter().try_for_each(|row| line(names.iter().map(|name| cell(row, name)).collect()))
}

/// A value for people: strings without quotes, control characters escaped.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => printable(text),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Text from a file, with what could steer a terminal made visible.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Text as one field of a CSV line (RFC 4180).
pub(crate) fn csv_field(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
