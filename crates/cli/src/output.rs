//! Printing: buffered stdout, tables, JSON lines.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal as _, Write};

use serde_json::{Map, Value};
use unicode_width::UnicodeWidthStr as _;

/// A JSON object whose members keep their order: a row of a table, a line of `digest`.
pub(crate) type Row = Map<String, Value>;

/// A [`Row`] from pairs.
pub(crate) fn row<const N: usize>(members: [(&str, Value); N]) -> Row {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Runs `print` on buffered stdout and flushes it, also when `print` fails.
pub(crate) fn to_stdout<T>(print: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let stdout = io::stdout().lock();
    let is_terminal = stdout.is_terminal();
    let mut out = BufWriter::with_capacity(1 << 16, Stdout(stdout));
    let result = if is_terminal { print(&mut Screen(&mut out)) } else { print(&mut out) };
    let flushed = out.flush();
    let value = result?;
    flushed?;
    Ok(value)
}

/// Stdout, whose errors can be told from those of the file.
struct Stdout<W>(W);

/// Why stdout cannot be written to.
#[derive(Debug)]
struct StdoutError(io::Error);

impl std::error::Error for StdoutError {}

impl fmt::Display for StdoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stdout: {}", self.0)
    }
}

impl StdoutError {
    fn of(error: io::Error) -> io::Error {
        io::Error::new(error.kind(), Self(error))
    }
}

impl<W: Write> Write for Stdout<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(StdoutError::of)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(StdoutError::of)
    }
}

/// What is wrong with stdout, if that is why there is an error.
pub(crate) fn stdout_error(error: &anyhow::Error) -> Option<&io::Error> {
    let mut errors = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    errors.find(|error| error.get_ref().and_then(|inner| inner.downcast_ref::<StdoutError>()).is_some())
}

/// A terminal, which text from a file must not steer. Elsewhere values are written as they are.
struct Screen<W>(W);

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Text comes in whole characters; what is not text was asked for as raw bytes.
        match str::from_utf8(bytes) {
            Ok(text) => {
                for (part, line) in text.split('\n').enumerate() {
                    if part > 0 {
                        self.0.write_all(b"\n")?;
                    }
                    self.0.write_all(harmless(line).as_bytes())?;
                }
            }
            Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A float as text: the shortest digits that give it back, with an exponent where they would be many.
pub(crate) fn float_text(value: impl fmt::Debug) -> String {
    format!("{value:?}")
}

/// A double as JSON. What JSON cannot hold (NaN, infinities) becomes a string, so that it is not taken for null.
pub(crate) fn double_json(value: f64) -> Value {
    if value.is_finite() { value.into() } else { float_text(value).into() }
}

/// A single as JSON, with its own shortest digits, not those of the double that equals it.
pub(crate) fn single_json(value: f32) -> Value {
    double_json(float_text(value).parse().unwrap_or(value.into()))
}

/// What a column is called beside others of these names.
pub(crate) fn free_name(wanted: &str, names: &[String]) -> String {
    let mut name = wanted.to_owned();
    while names.contains(&name) {
        name.insert(0, '_');
    }
    name
}

/// Prints one line of JSON.
pub(crate) fn json_line(out: &mut dyn Write, row: &Row) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, row).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

/// Columns of the terminal that a column of a table takes at most; a cell that is longer moves what follows.
const MOST_WIDTH: usize = 64;

/// The columns of a table: rows are measured first, then printed, and never held.
#[derive(Debug, Default)]
pub(crate) struct Widths(Vec<Column>);

#[derive(Debug)]
struct Column {
    name: String,
    width: usize,
    /// Only numbers, which are aligned to the right.
    numeric: bool,
}

impl Widths {
    /// Makes room for a row.
    pub(crate) fn measure(&mut self, row: &Row) {
        for (name, value) in row {
            let place = self.0.iter().position(|column| column.name == *name).unwrap_or_else(|| {
                self.0.push(Column { name: name.clone(), width: width(name), numeric: true });
                self.0.len() - 1
            });
            let column = &mut self.0[place];
            column.width = column.width.max(width(&plain(value)).min(MOST_WIDTH));
            column.numeric &= matches!(value, Value::Number(_) | Value::Null);
        }
    }

    /// Prints the names of the columns.
    pub(crate) fn print_names(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        self.line(out, |column| column.name.clone())
    }

    /// Prints a row that was measured.
    pub(crate) fn print(&self, out: &mut dyn Write, row: &Row) -> anyhow::Result<()> {
        self.line(out, |column| row.get(&column.name).map_or_else(String::new, plain))
    }

    fn line(&self, out: &mut dyn Write, cell: impl Fn(&Column) -> String) -> anyhow::Result<()> {
        let mut line = String::new();
        for column in &self.0 {
            let text = cell(column);
            let padding = " ".repeat(column.width.saturating_sub(width(&text)));
            let (before, after) = if column.numeric { (&*padding, "") } else { ("", &*padding) };
            line.extend([before, &text, after, "  "]);
        }
        Ok(writeln!(out, "{}", line.trim_end())?)
    }
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

/// Text from a file, with what could steer a terminal or turn the direction of the line made visible; and a second
/// backslash where the text's own would look like that.
pub(crate) fn printable(text: &str) -> String {
    // Most names need none of it, and they can be long.
    if !text.contains('\\') {
        return harmless(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        show(c, &mut shown);
        let looks_escaped = |next: char| matches!(next, 'n' | 'r' | 't' | 'u' | '\\') || steers(next);
        if c == '\\' && chars.peek().is_some_and(|&next| looks_escaped(next)) {
            shown.push(c);
        }
    }
    shown
}

/// The same, but for the backslashes: for what is no name, such as a message that holds the path of a file.
fn harmless(text: &str) -> String {
    if is_plain_ascii(text) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| show(c, &mut shown));
    shown
}

fn show(c: char, shown: &mut String) {
    if steers(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
}

fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{feff}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first 48 characters of a text, as they are shown.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(48) {
        Some((end, _)) => printable(&text[..end]) + "…",
        None => printable(text),
    }
}

/// Characters of a message that are shown: a file can hold a name of many megabytes.
const LONGEST_MESSAGE: usize = 2000;

/// Writes a line to stderr. That stderr is closed or full changes nothing in what else is done.
pub(crate) fn complain(message: &str) {
    let message = without_passwords(message);
    let mut shown = harmless(&message.chars().take(LONGEST_MESSAGE).collect::<String>());
    if message.chars().nth(LONGEST_MESSAGE).is_some() {
        shown.push_str(" ...");
    }
    let _ = writeln!(io::stderr(), "tripoint: {shown}");
}

/// A message with `***` in place of the passwords of URLs in it.
fn without_passwords(message: &str) -> String {
    let mut shown = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + "://".len());
        let ends = |c: char| matches!(c, '/' | '?' | '#') || c.is_whitespace();
        let (authority, more) = after.split_at(after.find(ends).unwrap_or(after.len()));
        let parts = authority.rsplit_once('@').and_then(|(of, host)| Some((of.split_once(':')?.0, host)));
        shown.push_str(before);
        match parts {
            Some((user, host)) => shown.extend([user, ":***@", host]),
            None => shown.push_str(authority),
        }
        rest = more;
    }
    shown + rest
}

/// Columns that a text takes in a terminal.
pub(crate) fn width(text: &str) -> usize {
    if is_plain_ascii(text) { text.len() } else { text.width() }
}

/// Whether each byte is a character of one column.
fn is_plain_ascii(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Text as one field of a CSV line (RFC 4180).
pub(crate) fn csv_field(text: &str) -> String {
    if text.contains(CSV_SPECIAL) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

const CSV_SPECIAL: [char; 4] = ['"', ',', '\n', '\r'];

/// Writes the same, without a copy of the text.
pub(crate) fn put_csv_field(out: &mut dyn Write, text: &str) -> io::Result<()> {
    if !text.contains(CSV_SPECIAL) {
        return out.write_all(text.as_bytes());
    }
    for (part, text) in text.split('"').enumerate() {
        out.write_all(if part == 0 { b"\"" } else { b"\"\"" })?;
        out.write_all(text.as_bytes())?;
    }
    out.write_all(b"\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_csv_is_quoted_where_it_must_be() {
        for (text, field) in
            [("a b", "a b"), ("", ""), ("a\"b\"", "\"a\"\"b\"\"\""), ("a,", "\"a,\""), ("\n", "\"\n\"")]
        {
            assert_eq!(csv_field(text), field);
            let mut written = Vec::new();
            put_csv_field(&mut written, text).unwrap();
            assert_eq!(written, field.as_bytes());
        }
    }

    #[test]
    fn texts_that_differ_are_shown_differently() {
        for (text, shown) in [
            ("a\nb", "a\\nb"),
            ("a\\nb", "a\\\\nb"),
            ("a\\\nb", "a\\\\\\nb"),
            ("a\\\\nb", "a\\\\\\\\nb"),
            ("\0\u{1b}[2J", "\\u{0}\\u{1b}[2J"),
            ("\\u{0}", "\\\\u{0}"),
            // As names of StarDS layers are written for `cat`.
            ("a\\:b\\", "a\\:b\\"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        for (message, shown) in [
            ("http://me:geheim@host/x: no", "http://me:***@host/x: no"),
            ("HTTPS://me:ge@heim@host:80", "HTTPS://me:***@host:80"),
            ("a http://u:@h and http://host:80/a:b@c", "a http://u:***@h and http://host:80/a:b@c"),
            ("http://me@host/", "http://me@host/"),
            ("no URL: a:b@c", "no URL: a:b@c"),
        ] {
            assert_eq!(without_passwords(message), shown);
        }
    }

    #[test]
    fn a_screen_is_not_steered() {
        let mut shown = Vec::new();
        writeln!(Screen(&mut shown), "a\u{1b}[2J,\u{202e}\u{9b}é\nb").unwrap();
        assert_eq!(str::from_utf8(&shown), Ok("a\\u{1b}[2J,\\u{202e}\\u{9b}é\nb\n"));
        shown.clear();
        Screen(&mut shown).write_all(&[0x1b, 0xff]).unwrap();
        assert_eq!(shown, [0x1b, 0xff]);
    }
}
