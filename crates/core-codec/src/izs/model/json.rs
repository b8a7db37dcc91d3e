//! A JSON value that keeps what a schema may hold: the order of keys, every integer exactly, null.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

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
    /// Any other number: with a fraction or an exponent, or outside the 64-bit integers.
    Float(f64),
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

    /// The value as the nearest float.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Unsigned(number) => Some(*number as f64),
            Self::Negative(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
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
            Self::Float(_) => "a float",
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

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Unsigned(value) => serializer.serialize_u64(*value),
            Self::Negative(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
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

/// Writes the value as compact JSON.
impl fmt::Display for Value {
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
    parse_within(text, limits, &Budget::new(limits))
}

/// Keys that an object of the text has more than once, which a [`parse`]d [`Value`] no longer shows: at most
/// the first 16.
///
/// # Errors
/// As [`parse`].
pub fn repeated_keys(text: &[u8], limits: &Limits) -> Result<Vec<Box<str>>, Error> {
    let budget = Budget::new(limits);
    parse_within(text, limits, &budget)?;
    Ok(budget.repeated.into_inner())
}

fn parse_within(text: &[u8], limits: &Limits, budget: &Budget) -> Result<Value, Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let seed = Seed { budget, depth: limits.depth };
    let parsed = seed.deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    parsed.map_err(|error| match budget.exceeded.get() {
        Some(Bound::Values) => {
            let (limit, found) = (limits.entries, limits.entries.saturating_add(1));
            Error::new("schema", ErrorKind::Limit { what: "JSON values", limit, found })
        }
        Some(Bound::Name(found)) => {
            let kind = ErrorKind::Limit { what: "bytes of a name", limit: limits.name_bytes, found };
            Error::new("schema", kind)
        }
        Some(Bound::Depth) => {
            let (limit, found) = (limits.depth, limits.depth.saturating_add(1));
            Error::new("schema", ErrorKind::Limit { what: "nested levels", limit, found })
        }
        None => Error::new("schema", ErrorKind::Invalid("malformed JSON")).detail(error.to_string()),
    })
}

#[derive(Clone, Copy)]
enum Bound {
    Values,
    Depth,
    /// Of a name, by its length.
    Name(u64),
}

/// Repeated keys that are remembered.
const MOST_REPEATED: usize = 16;

/// What one parse may still take, which bound it passed, and what it found odd.
struct Budget {
    values: Cell<u64>,
    exceeded: Cell<Option<Bound>>,
    name_bytes: u64,
    repeated: RefCell<Vec<Box<str>>>,
}

impl Budget {
    fn new(limits: &Limits) -> Self {
        Self {
            values: Cell::new(limits.entries),
            exceeded: Cell::new(None),
            name_bytes: limits.name_bytes,
            repeated: RefCell::default(),
        }
    }

    fn check_name<E: serde::de::Error>(&self, name: &str) -> Result<(), E> {
        if name.len() as u64 <= self.name_bytes { Ok(()) } else { self.stop(Bound::Name(name.len() as u64)) }
    }

    fn repeats(&self, key: &str) {
        let mut repeated = self.repeated.borrow_mut();
        if repeated.len() < MOST_REPEATED {
            repeated.push(key.into());
        }
    }

    fn take_one<E: serde::de::Error>(&self) -> Result<(), E> {
        match self.values.get().checked_sub(1) {
            Some(left) => {
                self.values.set(left);
                Ok(())
            }
            None => self.stop(Bound::Values),
        }
    }

    fn stop<T, E: serde::de::Error>(&self, bound: Bound) -> Result<T, E> {
        self.exceeded.set(Some(bound));
        Err(E::custom("limit"))
    }
}

#[derive(Clone, Copy)]
struct Seed<'a> {
    budget: &'a Budget,
    depth: u64,
}

impl Seed<'_> {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Self { depth, ..self }),
            None => self.budget.stop(Bound::Depth),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.budget.take_one()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(u64::try_from(value).map_or(Value::Negative(value), Value::Unsigned))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value.into_boxed_str()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(inner)? {
            values.push(value);
        }
        values.shrink_to_fit();
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut members = Vec::new();
        while let Some(name) = items.next_key::<Box<str>>()? {
            self.budget.check_name::<A::Error>(&name)?;
            if members.len() >= u32::MAX as usize {
                return Err(A::Error::custom("too many members"));
            }
            members.push((name, items.next_value_seed(inner)?));
        }
        Ok(Value::Object(Object::from_members(members, |key| self.budget.repeats(key))))
    }
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
        let deep = "[".repeat(100_000);
        assert!(parse_text(&deep).is_err());
    }

    #[test]
    fn malformed_text_is_an_error_with_line_and_column() {
        let error = parse_text("{\"a\": 1,\n 5}").unwrap_err();
        assert!(format!("{error}").contains("line 2 column 2"), "{error}");
        assert!(parse_text("{} x").is_err());
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
