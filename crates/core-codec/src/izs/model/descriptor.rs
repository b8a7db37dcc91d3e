//! Stream descriptors: where the elements of one stream are and how they are stored.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt;

use super::json::{Object, Value};
use crate::izs::raw::{Compression, Dialect, Element, INDEX_ENTRY_LEN};

/// A compression method by its name in the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// One that the format defines.
    Known(Compression),
    /// Another: its stream can be listed, not decoded.
    Other(Box<str>),
}

impl Method {
    fn of(name: &str) -> Self {
        Compression::from_name(name).map_or_else(|| Self::Other(name.into()), Self::Known)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Known(compression) => compression.name(),
            Self::Other(name) => name,
        })
    }
}

/// A stream descriptor ("Schema" in the specification).
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    /// Width of an element.
    pub element: Element,
    /// Number of elements in the stream.
    pub end: u64,
    /// Elements in each block but the last; at least 1.
    pub block: u64,
    /// How blocks are compressed.
    pub compress: Method,
    /// Where the block index starts, in bytes from the start of the file.
    pub i_offset: u64,
    /// Bytes of the block index.
    pub i_size: u64,
    /// How the block index is compressed.
    pub i_compress: Method,
    /// The key names that it came with.
    pub dialect: Dialect,
    /// Members that no dialect knows.
    pub other: Object,
}

impl Descriptor {
    /// A stream without elements.
    pub(in crate::izs) fn empty(element: Element, block: u64, compress: Method) -> Self {
        Self {
            element,
            end: 0,
            block,
            compress,
            i_offset: 0,
            i_size: 0,
            i_compress: Method::Known(Compression::None),
            dialect: Dialect::Spec,
            other: Object::default(),
        }
    }

    /// Number of blocks that hold elements: `end / block`, rounded up.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.end.div_ceil(self.block)
    }

    /// Number of elements in block `number`; 0 past the last.
    #[must_use]
    pub fn block_len(&self, number: u64) -> u64 {
        match number.checked_mul(self.block) {
            Some(start) => self.end.saturating_sub(start).min(self.block),
            None => 0,
        }
    }

    /// Entries in the block index.
    #[must_use]
    pub fn index_entries(&self) -> u64 {
        self.i_size / INDEX_ENTRY_LEN
    }

    /// Reads the descriptor in any dialect; the reason when it is none.
    pub(super) fn parse(mut members: Object) -> Result<Self, String> {
        let end = take_integer(&mut members, &["end", "end_idx"])?;
        let i_offset = take_integer(&mut members, &["i_offset", "root"])?;
        let i_size = take_integer(&mut members, &["i_size", "root_len"])?;
        let block = take_integer(&mut members, &["block", "block_size"])?.1;
        if block == 0 {
            return Err("`block`: expected at least 1, found 0".into());
        }
        let name = take_text(&mut members, &["element", "element_type"])?;
        let element = Element::from_name(&name)
            .ok_or_else(|| format!("`element`: unknown element {}", brief(&Value::String(name))))?;
        let compress = Method::of(&take_text(&mut members, &["compress"])?);
        let i_compress = match members.get("i_compress") {
            Some(_) => Method::of(&take_text(&mut members, &["i_compress"])?),
            None => Method::Known(Compression::None),
        };
        let v001 = end.0 == "end_idx" || i_offset.0 == "root" || i_size.0 == "root_len";
        Ok(Self {
            element,
            end: end.1,
            block,
            compress,
            i_offset: i_offset.1,
            i_size: i_size.1,
            i_compress,
            dialect: if v001 { Dialect::V001 } else { Dialect::Spec },
            other: members,
        })
    }
}

/// Takes the one member that goes by one of `names`; a second one must agree with it.
fn take(members: &mut Object, names: &[&'static str]) -> Result<(&'static str, Value), String> {
    let mut found = None;
    for &name in names {
        match (members.take(name), &found) {
            (Some(value), None) => found = Some((name, value)),
            (Some(value), Some((first, taken))) if value != *taken => {
                return Err(format!("`{first}` and `{name}` disagree"));
            }
            _ => {}
        }
    }
    found.ok_or_else(|| format!("`{}` is missing", names[0]))
}

fn take_integer(members: &mut Object, names: &[&'static str]) -> Result<(&'static str, u64), String> {
    let (name, value) = take(members, names)?;
    let number = value
        .as_u64()
        .ok_or_else(|| format!("`{name}`: expected an integer from 0 to 2^64-1, found {}", brief(&value)))?;
    Ok((name, number))
}

fn take_text(members: &mut Object, names: &[&'static str]) -> Result<Box<str>, String> {
    match take(members, names)? {
        (_, Value::String(text)) if text.len() <= LONGEST_TEXT => Ok(text),
        (name, value) => Err(format!("`{name}`: expected a short string, found {}", brief(&value))),
    }
}

/// Bytes of the longest name of an element or a method.
const LONGEST_TEXT: usize = 256;

/// The value when it is short, else what kind of value it is.
pub(super) fn brief(value: &Value) -> String {
    match value {
        Value::String(text) if text.len() > 32 => "a long string".into(),
        Value::Number(text) if text.len() > 32 => "a long number".into(),
        Value::Array(_) | Value::Object(_) => value.type_name().into(),
        _ => format!("{value}"),
    }
}
