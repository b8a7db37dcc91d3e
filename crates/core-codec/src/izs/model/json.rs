//! A JSON value that keeps what a schema may hold: the order of keys, every number as its text, null.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt::{self, Write as _};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

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
            Self::Number(text) if text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) => {
                "an integer of more than 64 bits"
            }
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
    u32 => |value: u32| Self::Unsigned(value.into()),
    u64 => Self::Unsigned,
    i32 => |value: i32| i64::from(value).into(),
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

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Unsigned(value) => serializer.serialize_u64(*value),
            Self::Negative(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Number(text) => {
                serde_json::from_str::<&RawValue>(text).map_err(S::Error::custom)?.serialize(serializer)
            }
            Self::String(value) => serializer.serialize_str(value),
            Self::Array(values) => serializer.collect_seq(values),
            Self::Object(object) => object.serialize(serializer),
        }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Writes the value as compact JSON; a float that JSON has no digits for as null.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// Writes the object as compact JSON.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// Parses JSON text. At most [`Limits::entries`] values and [`Limits::depth`] (never more than 128) levels,
/// keys of at most [`Limits::name_bytes`].
///
/// # Errors
/// [`ErrorKind::Invalid`] with the parser's words, line and column included, for malformed text;
/// [`ErrorKind::Limit`] for too many values or levels.
pub fn parse(text: &[u8], limits: &Limits) -> Result<Value, Error> {
    parse_within(text, &Budget::new(limits))
}

/// Keys that an object of the text has more than once, which a [`parse`]d [`Value`] no longer shows: at most
/// the first 16.
///
/// # Errors
/// As [`parse`].
pub fn repeated_keys(text: &[u8], limits: &Limits) -> Result<Vec<Box<str>>, Error> {
    let budget = Budget::new(limits);
    parse_within(text, &budget)?;
    Ok(budget.repeated.into_inner())
}

fn parse_within(text: &[u8], budget: &Budget) -> Result<Value, Error> {
    check_levels(text, budget.depth)?;
    let whole: Result<&RawValue, _> = serde_json::from_slice(text);
    let parsed = whole.and_then(|whole| Seed { budget }.value(whole.get()));
    parsed.map_err(|error| match budget.exceeded.get() {
        Some(Bound { what, limit, found }) => over(what, limit, found),
        None => Error::new("schema", ErrorKind::Invalid("malformed JSON")).detail(error.to_string()),
    })
}

fn over(what: &'static str, limit: u64, found: u64) -> Error {
    Error::new("schema", ErrorKind::Limit { what, limit, found })
}

/// Checks how deep arrays and objects lie inside of one another, before anything grows with that.
fn check_levels(text: &[u8], most: u64) -> Result<(), Error> {
    let (mut depth, mut in_string, mut escaped) = (0_u64, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' if depth == most => return Err(over("nested levels", most, most + 1)),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// A limit that was passed.
#[derive(Clone, Copy)]
struct Bound {
    what: &'static str,
    limit: u64,
    found: u64,
}

/// Repeated keys that are remembered.
const MOST_REPEATED: usize = 16;

/// Levels that fit a small stack, whatever the limits say.
const DEEPEST: u64 = 128;

/// Text that is gone through, that of a value once more for each level that it is inside of.
const MOST_SCANNED: u64 = 512 << 20;

/// What one parse may still take, which bound it passed, and what it found odd.
struct Budget {
    values: u64,
    values_left: Cell<u64>,
    scanned: Cell<u64>,
    depth: u64,
    name_bytes: u64,
    exceeded: Cell<Option<Bound>>,
    repeated: RefCell<Vec<Box<str>>>,
}

impl Budget {
    fn new(limits: &Limits) -> Self {
        // Places of members are told in 32 bits.
        let values = limits.entries.min(u32::MAX.into());
        Self {
            values,
            values_left: Cell::new(values),
            scanned: Cell::new(0),
            depth: limits.depth.min(DEEPEST),
            name_bytes: limits.name_bytes,
            exceeded: Cell::new(None),
            repeated: RefCell::default(),
        }
    }

    fn repeats(&self, key: &str) {
        let mut repeated = self.repeated.borrow_mut();
        if repeated.len() < MOST_REPEATED {
            repeated.push(key.into());
        }
    }

    fn check<E: serde::de::Error>(&self, what: &'static str, limit: u64, found: u64) -> Result<(), E> {
        if found <= limit {
            return Ok(());
        }
        self.exceeded.set(Some(Bound { what, limit, found }));
        Err(E::custom("limit"))
    }

    /// Takes a value of so many bytes.
    fn take<E: serde::de::Error>(&self, len: usize) -> Result<(), E> {
        let Some(left) = self.values_left.get().checked_sub(1) else {
            return self.check("JSON values", self.values, self.values + 1);
        };
        self.values_left.set(left);
        self.scanned.set(self.scanned.get().saturating_add(len as u64));
        self.check("bytes of nested JSON", MOST_SCANNED, self.scanned.get())
    }
}

/// Reads a value by its text, since the numbers of the parser are doubles, or errors where no double holds them.
#[derive(Clone, Copy)]
struct Seed<'a> {
    budget: &'a Budget,
}

impl Seed<'_> {
    fn value(self, text: &str) -> Result<Value, serde_json::Error> {
        self.budget.take::<serde_json::Error>(text.len())?;
        let mut deserializer = serde_json::Deserializer::from_str(text);
        match text.as_bytes().first() {
            Some(b'{' | b'[') => deserializer.deserialize_any(self),
            Some(b'"') => Box::deserialize(&mut deserializer).map(Value::String),
            Some(b't' | b'f') => bool::deserialize(&mut deserializer).map(Value::Bool),
            Some(b'n') => Ok(Value::Null),
            _ => Ok(number(text)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?;
        self.value(text.get()).map_err(D::Error::custom)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(self)? {
            values.push(value);
        }
        values.shrink_to_fit();
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut members = Vec::new();
        while let Some(name) = items.next_key::<Box<str>>()? {
            self.budget.check::<A::Error>("bytes of a name", self.budget.name_bytes, name.len() as u64)?;
            members.push((name, items.next_value_seed(self)?));
        }
        Ok(Value::Object(Object::from_members(members, |key| self.budget.repeats(key))))
    }
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
    use alloc::string::String;
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
        assert!(
            parse(br#"[["]]\"[[[[{{{{",{"a":"\\"}]]"#, &Limits { depth: 3, ..Limits::default() }).is_ok()
        );
        let deep = |depth| "[".repeat(depth) + &"]".repeat(depth);
        let limits = Limits { depth: 1 << 20, ..Limits::default() };
        assert!(parse(deep(128).as_bytes(), &limits).is_ok());
        assert!(parse(deep(129).as_bytes(), &limits).is_err());
        assert!(parse("[".repeat(1 << 20).as_bytes(), &limits).is_err());
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
