//! A JSON value that keeps what a schema may hold: the order of keys, every number as its text, null.
//!
//! A parser of its own, since those that there are lose a number that no double holds, or fail on it.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

use crate::error::{Error, ErrorKind};
use crate::limits::Limits;

/// A JSON value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer from 0 to 2^64-1.
    Unsigned(u64),
    /// An integer from -2^63 to -1.
    Negative(i64),
    /// A number with a fraction or an exponent, in the shortest digits that give it back.
    Float(f64),
    /// Any other number of a text, kept as it stands there: in more digits than a double holds, or in another form
    /// than this module writes, such as `1e400`, `18446744073709551616` or `1.50`.
    Number(Box<str>),
    /// A string.
    String(Box<str>),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

impl Value {
    /// The value as an integer from 0 to 2^64-1.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Unsigned(number) => Some(*number),
            _ => None,
        }
    }

    /// The value as the nearest float; none for a number beyond the range of floats.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Unsigned(number) => Some(*number as f64),
            Self::Negative(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Number(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        }
    }

    /// The value as a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value as an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// What kind of value it is, for messages.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Unsigned(_) | Self::Negative(_) => "an integer",
            Self::Float(_) | Self::Number(_) => "a float",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

macro_rules! from {
    ($($t:ty => $from:expr),*) => {$(
        impl From<$t> for Value {
            fn from(value: $t) -> Self {
                $from(value)
            }
        }
    )*};
}

from!(
    bool => Self::Bool,
    u64 => Self::Unsigned,
    i64 => |value| u64::try_from(value).map_or(Self::Negative(value), Self::Unsigned),
    f64 => Self::Float,
    &str => |value: &str| Self::String(value.into()),
    Object => Self::Object,
    Vec<Value> => Self::Array
);

/// The members of a JSON object in the order of the text.
///
/// Keys are unique: of a key that the text repeats, the last value stands in the place of the first, which is
/// what most JSON readers do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object(Vec<(Box<str>, Value)>);

impl Object {
    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.iter().find_map(|(name, value)| (name == key).then_some(value))
    }

    /// Removes `key` and returns its value; the others keep their order.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        let place = self.0.iter().position(|(name, _)| &**name == key)?;
        Some(self.0.remove(place).1)
    }

    /// Sets `key`, in its place when it is there, at the end when it is not.
    pub fn set(&mut self, key: &str, value: Value) {
        match self.0.iter_mut().find(|(name, _)| &**name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.into(), value)),
        }
    }

    /// The members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// How many members there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the last value of each repeated key, in the place of the first, and tells `repeats` the key.
    fn from_members(mut members: Vec<(Box<str>, Value)>, mut repeats: impl FnMut(&str)) -> Self {
        let mut order: Vec<u32> = (0..members.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| members[a as usize].0.cmp(&members[b as usize].0).then(a.cmp(&b)));
        let repeated: Vec<_> = order
            .chunk_by(|&a, &b| members[a as usize].0 == members[b as usize].0)
            .filter(|places| places.len() > 1)
            .collect();
        let mut stale: Vec<u32> = repeated.iter().flat_map(|places| &places[1..]).copied().collect();
        stale.sort_unstable();
        let values: Vec<_> = repeated.iter().map(|places| (places[0], places[places.len() - 1])).collect();
        for (first, last) in values {
            members[first as usize].1 = core::mem::take(&mut members[last as usize].1);
            repeats(&members[first as usize].0);
        }
        let mut place = 0..;
        members.retain(|_| place.next().is_none_or(|place| stale.binary_search(&place).is_err()));
        members.shrink_to_fit();
        Self(members)
    }
}

impl IntoIterator for Object {
    type Item = (Box<str>, Value);
    type IntoIter = alloc::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<(Box<str>, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (Box<str>, Value)>>(members: I) -> Self {
        Self::from_members(members.into_iter().collect(), |_| ())
    }
}

/// Writes the value as compact JSON; a float that JSON has no digits for as null.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Negative(value) => write!(f, "{value}"),
            // `Debug` has an exponent where `Display` has hundreds of digits.
            Self::Float(value) if value.is_finite() => write!(f, "{value:?}"),
            Self::Null | Self::Float(_) => f.write_str("null"),
            Self::Number(text) => f.write_str(text),
            Self::String(text) => write_string(f, text),
            Self::Array(values) => {
                f.write_str("[")?;
                for (number, value) in values.iter().enumerate() {
                    let comma = if number > 0 { "," } else { "" };
                    write!(f, "{comma}{value}")?;
                }
                f.write_str("]")
            }
            Self::Object(members) => write!(f, "{members}"),
        }
    }
}

/// Writes the object as compact JSON.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (number, (name, value)) in self.iter().enumerate() {
            f.write_str(if number > 0 { "," } else { "" })?;
            write_string(f, name)?;
            write!(f, ":{value}")?;
        }
        f.write_str("}")
    }
}

fn write_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        f.write_str(&rest[..at])?;
        match rest.as_bytes()[at] {
            byte @ (b'"' | b'\\') => write!(f, "\\{}", char::from(byte))?,
            b'\n' => f.write_str("\\n")?,
            b'\r' => f.write_str("\\r")?,
            b'\t' => f.write_str("\\t")?,
            byte => write!(f, "\\u{byte:04x}")?,
        }
        rest = &rest[at + 1..];
    }
    f.write_str(rest)?;
    f.write_char('"')
}

/// Parses JSON text (RFC 8259). At most [`Limits::entries`] values and [`Limits::depth`] (never more than 128) levels,
/// keys of at most [`Limits::name_bytes`].
///
/// # Errors
/// [`ErrorKind::Invalid`] with what was expected at which line and column for malformed text;
/// [`ErrorKind::Limit`] for too many values or levels.
pub fn parse(text: &[u8], limits: &Limits) -> Result<Value, Error> {
    Parser::new(text, limits)?.parse()
}

/// Keys that an object of the text has more than once, which a [`parse`]d [`Value`] no longer shows: at most
/// the first 16.
///
/// # Errors
/// As [`parse`].
pub fn repeated_keys(text: &[u8], limits: &Limits) -> Result<Vec<Box<str>>, Error> {
    let mut parser = Parser::new(text, limits)?;
    parser.parse()?;
    Ok(parser.repeated)
}

/// Repeated keys that are remembered.
const MOST_REPEATED: usize = 16;

/// Levels that fit a small stack, whatever the limits say.
const DEEPEST: u64 = 128;

/// Goes through the text once. Its recursion is as deep as the text, which is bounded.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// What may still come, and what was allowed at first.
    values_left: u64,
    values: u64,
    depth: u64,
    name_bytes: u64,
    repeated: Vec<Box<str>>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8], limits: &Limits) -> Result<Self, Error> {
        let valid = str::from_utf8(text).map_err(|error| {
            let detail = format!("not UTF-8 at byte {}", error.valid_up_to());
            Error::new("schema", ErrorKind::Invalid(MALFORMED)).detail(detail)
        })?;
        // Places of members are told in 32 bits.
        let values = limits.entries.min(u32::MAX.into());
        Ok(Self {
            text: valid,
            at: 0,
            values_left: values,
            values,
            depth: limits.depth.min(DEEPEST),
            name_bytes: limits.name_bytes,
            repeated: Vec::new(),
        })
    }

    fn parse(&mut self) -> Result<Value, Error> {
        let value = self.value(0)?;
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.malformed("expected nothing more")),
        }
    }

    /// A value inside so many arrays and objects.
    fn value(&mut self, depth: u64) -> Result<Value, Error> {
        let left = self.values_left.checked_sub(1);
        self.values_left = left.ok_or_else(|| over("JSON values", self.values, self.values + 1))?;
        match self.peek() {
            Some(b'{') => self.object(self.inner(depth)?),
            Some(b'[') => self.array(self.inner(depth)?),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn inner(&self, depth: u64) -> Result<u64, Error> {
        if depth < self.depth { Ok(depth + 1) } else { Err(over("nested levels", self.depth, depth + 1)) }
    }

    fn object(&mut self, depth: u64) -> Result<Value, Error> {
        let mut members = Vec::new();
        self.list(b'}', "expected `,` or `}`", |parser| {
            if parser.peek() != Some(b'"') {
                return Err(parser.malformed("key must be a string"));
            }
            let name = parser.string()?;
            let len = name.len() as u64;
            if len > parser.name_bytes {
                return Err(over("bytes of a name", parser.name_bytes, len));
            }
            parser.expect(b':', "expected `:`")?;
            members.push((name, parser.value(depth)?));
            Ok(())
        })?;
        let repeated = &mut self.repeated;
        Ok(Value::Object(Object::from_members(members, |key| {
            if repeated.len() < MOST_REPEATED {
                repeated.push(key.into());
            }
        })))
    }

    fn array(&mut self, depth: u64) -> Result<Value, Error> {
        let mut values = Vec::new();
        self.list(b']', "expected `,` or `]`", |parser| {
            values.push(parser.value(depth)?);
            Ok(())
        })?;
        values.shrink_to_fit();
        Ok(Value::Array(values))
    }

    /// What stands between brackets, of which the first is next.
    fn list(
        &mut self,
        close: u8,
        expected: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.at += 1;
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            if self.peek() != Some(b',') {
                return self.expect(close, expected);
            }
            self.at += 1;
        }
    }

    fn word(&mut self) -> Result<Value, Error> {
        let words = [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
        let rest = self.rest();
        match words.into_iter().find(|(word, _)| rest.starts_with(word.as_bytes())) {
            Some((word, value)) => {
                self.at += word.len();
                Ok(value)
            }
            None => Err(self.malformed("expected a value")),
        }
    }

    fn number(&mut self) -> Result<Value, Error> {
        let start = self.at;
        self.skip(b"-");
        // A zero stands alone.
        if !self.skip(b"0") {
            self.digits()?;
        }
        if self.skip(b".") {
            self.digits()?;
        }
        if self.skip(b"eE") {
            self.skip(b"+-");
            self.digits()?;
        }
        Ok(number(&self.text[start..self.at]))
    }

    fn digits(&mut self) -> Result<(), Error> {
        let count = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count > 0 { Ok(()) } else { Err(self.malformed("expected a digit")) }
    }

    /// Passes the next byte if it is one of these.
    fn skip(&mut self, any: &[u8]) -> bool {
        let found = self.rest().first().is_some_and(|byte| any.contains(byte));
        self.at += usize::from(found);
        found
    }

    /// A string, of which the quote is next.
    fn string(&mut self) -> Result<Box<str>, Error> {
        self.at += 1;
        let mut decoded = String::new();
        loop {
            let rest = &self.text[self.at..];
            let stop = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\');
            let Some(stop) = stop else {
                self.at = self.text.len();
                return Err(self.malformed("a string has no end"));
            };
            let plain = &rest[..stop];
            self.at += stop + 1;
            match rest.as_bytes()[stop] {
                b'"' if decoded.is_empty() => return Ok(plain.into()),
                b'"' => {
                    decoded.push_str(plain);
                    return Ok(decoded.into());
                }
                b'\\' => {
                    decoded.push_str(plain);
                    decoded.push(self.escape()?);
                }
                _ => return Err(self.malformed("a control character in a string")),
            }
        }
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<char, Error> {
        let byte = self.rest().first().copied();
        self.at += usize::from(byte.is_some_and(|byte| byte.is_ascii()));
        Ok(match byte {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => self.utf16()?,
            _ => return Err(self.malformed("not an escape")),
        })
    }

    /// A character as one unit of UTF-16 or two.
    fn utf16(&mut self) -> Result<char, Error> {
        let first = self.unit()?;
        let second = match first {
            0xd800..0xdc00 if self.rest().starts_with(b"\\u") => {
                self.at += 2;
                Some(self.unit()?)
            }
            _ => None,
        };
        let decoded = char::decode_utf16([Some(first), second].into_iter().flatten()).next();
        decoded.and_then(Result::ok).ok_or_else(|| self.malformed("half of a character in UTF-16"))
    }

    fn unit(&mut self) -> Result<u16, Error> {
        let digits = self.rest().get(..4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let unit = digits.and_then(|digits| u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        self.at += digits.map_or(0, <[u8]>::len);
        unit.ok_or_else(|| self.malformed("expected four hexadecimal digits"))
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Error> {
        if self.peek() != Some(byte) {
            return Err(self.malformed(expected));
        }
        self.at += 1;
        Ok(())
    }

    /// The next byte after white space.
    fn peek(&mut self) -> Option<u8> {
        let space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.rest().iter().take_while(space).count();
        self.rest().first().copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn malformed(&self, expected: &str) -> Error {
        let before = &self.text.as_bytes()[..self.at.min(self.text.len())];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
        let detail = format!("{expected} at line {line} column {column}");
        Error::new("schema", ErrorKind::Invalid(MALFORMED)).detail(detail)
    }
}

const MALFORMED: &str = "malformed JSON";

fn over(what: &'static str, limit: u64, found: u64) -> Error {
    Error::new("schema", ErrorKind::Limit { what, limit, found })
}

/// The number that a text is, in the variant that is written as this text again.
fn number(text: &str) -> Value {
    let integer = if let Ok(number) = text.parse() {
        Some(Value::Unsigned(number))
    } else {
        // Not that of `-0`, which is a float.
        text.parse().ok().filter(|number: &i64| *number < 0).map(Value::Negative)
    };
    let float = || text.parse().ok().map(Value::Float).filter(|float| is_written(float, text));
    integer.or_else(float).unwrap_or_else(|| Value::Number(text.into()))
}

/// Whether the value is written as this text.
fn is_written(value: &Value, text: &str) -> bool {
    struct Rest<'a>(&'a str);
    impl fmt::Write for Rest<'_> {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            self.0 = self.0.strip_prefix(part).ok_or(fmt::Error)?;
            Ok(())
        }
    }
    let mut rest = Rest(text);
    write!(rest, "{value}").is_ok() && rest.0.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use proptest::prelude::*;

    fn parse_text(text: &str) -> Result<Value, Error> {
        parse(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn keeps_order_null_and_integers() {
        let text = r#"{"z":null,"a":[-9223372036854775808,18446744073709551615,-5,-5.0],"m":{"é":"\n"}}"#;
        assert_eq!(format!("{}", parse_text(text).unwrap()), text);
    }

    #[test]
    fn a_repeated_key_keeps_its_first_place_and_its_last_value() {
        let text = r#"{"b":1,"a":2,"b":3,"c":4,"a":5,"b":6}"#;
        assert_eq!(format!("{}", parse_text(text).unwrap()), r#"{"b":6,"a":5,"c":4}"#);
        let repeated = repeated_keys(text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(repeated, ["a".into(), "b".into()]);
        assert!(repeated_keys(br#"[{"a":1},{"a":1}]"#, &Limits::default()).unwrap().is_empty());
    }

    #[test]
    fn bounds_values_and_depth() {
        let mut limits = Limits { entries: 4, ..Limits::default() };
        assert!(parse(b"[0,0,0]", &limits).is_ok());
        let error = parse(b"[0,0,0,0]", &limits).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { what: "JSON values", limit: 4, .. }));
        limits.depth = 2;
        assert!(parse(b"[[0]]", &limits).is_ok());
        let error = parse(b"[[[0]]]", &limits).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { what: "nested levels", limit: 2, .. }));
        let deep = |depth| "[".repeat(depth) + &"]".repeat(depth);
        let limits = Limits { depth: 1 << 20, ..Limits::default() };
        assert!(parse(deep(128).as_bytes(), &limits).is_ok());
        assert!(parse(deep(100_000).as_bytes(), &limits).is_err());
    }

    #[test]
    fn malformed_text_is_an_error_with_line_and_column() {
        let error = parse_text("{\"a\": 1,\n 5}").unwrap_err();
        assert!(format!("{error}").contains("line 2 column 2"), "{error}");
        for text in [
            "",
            "{} x",
            "{",
            "[1,]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":1,}",
            "nul",
            "tru",
            "01",
            "-",
            "+1",
            ".5",
            "1.",
            "1e",
            "1e+",
            "0x1",
            "NaN",
            "\"",
            "\"a",
            "\"\\",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u123é\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\udc00\"",
            "\"\n\"",
            "\"\\é\"",
            "'a'",
            "\u{feff}1",
        ] {
            assert!(parse_text(text).is_err(), "{text}");
        }
        assert!(parse(b"\"\xff\"", &Limits::default()).is_err());
    }

    #[test]
    fn strings_are_unescaped() {
        let text = r#" [ "\"\\\/\b\f\n\r\t\u00e9" , "\ud83d\ude00a", "" ] "#;
        let Ok(Value::Array(strings)) = parse_text(text) else { panic!("{text}") };
        let strings: Vec<_> = strings.iter().map(|string| string.as_str().unwrap()).collect();
        assert_eq!(strings, ["\"\\/\u{8}\u{c}\n\r\té", "😀a", ""]);
    }

    /// What no 64-bit integer and no double holds stays as it is, as does what they would be written otherwise.
    #[test]
    fn numbers_keep_their_text() {
        let text = "[1e400,-1e400,18446744073709551616,-9223372036854775809,1.50,1E5,1e+5,-0,-0.0,0.1,1e16,0e0,5.0,1e-400,\
            0.1000000000000000000000000000000000000001,123456789012345678901234567890123456789012345678901234567890]";
        let value = parse_text(text).unwrap();
        assert_eq!(format!("{value}"), text);
        let Value::Array(numbers) = value else { panic!("{text}") };
        let floats: Vec<_> = numbers.iter().map(Value::as_f64).collect();
        assert_eq!(floats[..3], [None, None, Some(18_446_744_073_709_551_616.0)]);
        assert_eq!(floats[4..8], [Some(1.5), Some(1e5), Some(1e5), Some(-0.0)]);
        assert_eq!((&numbers[9], &numbers[12]), (&Value::Float(0.1), &Value::Float(5.0)));
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<u64>().prop_map(Value::Unsigned),
            (i64::MIN..0).prop_map(Value::Negative),
            any::<f64>().prop_filter("JSON has no NaN", |f| f.is_finite()).prop_map(Value::Float),
            any::<String>().prop_map(|s| Value::String(s.into())),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
                prop::collection::vec((any::<String>().prop_map(Into::into), inner), 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn text_of_a_value_parses_to_the_value(value in value()) {
            prop_assert_eq!(parse_text(&format!("{value}")).unwrap(), value);
        }
    }
}
