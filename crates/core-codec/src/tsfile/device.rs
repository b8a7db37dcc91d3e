//! Device ids: the path of a device, or the table name and tag values of a row group.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

use crate::error::ErrorKind;
use crate::tsfile::metadata::Version;
use crate::tsfile::wire::{uvarint, var_string};
use crate::wire::{Parsed, WireError};

/// Segments of a device id; trailing nulls are trimmed, so ids that differ only there are equal.
///
/// In a table file segment 0 is the table name and the others are tag values. In a tree file the segments are
/// the path: up to the first three nodes joined by a dot, then one node each.
///
/// ```
/// use core_codec::tsfile::DeviceId;
///
/// assert_eq!(DeviceId::from_path("root.a.b").segments(), [Some("root.a".into()), Some("b".into())]);
/// assert_eq!(DeviceId::from_path("root.a.b.c.d").path(), "root.a.b.c.d");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceId {
    segments: Vec<Option<Box<str>>>,
}

impl DeviceId {
    /// An id of these segments.
    #[must_use]
    pub fn new(mut segments: Vec<Option<Box<str>>>) -> Self {
        while segments.len() > 1 && segments.last().is_some_and(Option::is_none) {
            segments.pop();
        }
        Self { segments }
    }

    /// The id of a tree path such as `root.sg.d1`: one node is one segment; of two or three the last stands
    /// alone; of four and more the first three are joined.
    #[must_use]
    pub fn from_path(path: &str) -> Self {
        let nodes: Vec<&str> = split_path(path);
        let head = match nodes.len() {
            0 | 1 => 1,
            2 | 3 => nodes.len() - 1,
            _ => 3,
        };
        let mut segments = Vec::with_capacity(nodes.len());
        segments.push(Some(nodes[..head.min(nodes.len())].join(".").into_boxed_str()));
        segments.extend(nodes.iter().skip(head).map(|&node| Some(Box::from(node))));
        Self { segments }
    }

    /// Its segments.
    #[must_use]
    pub fn segments(&self) -> &[Option<Box<str>>] {
        &self.segments
    }

    /// The table name: segment 0.
    #[must_use]
    pub fn table(&self) -> &str {
        self.segments.first().and_then(Option::as_deref).unwrap_or("")
    }

    /// The value of tag column `index` (counted among the tags), null where it is null or trimmed.
    #[must_use]
    pub fn tag(&self, index: usize) -> Option<&str> {
        self.segments.get(index.checked_add(1)?)?.as_deref()
    }

    /// All segments joined by dots, `null` for null: the path of a tree device, and the key of the bloom filter.
    #[must_use]
    pub fn path(&self) -> String {
        let segments: Vec<&str> = self.segments.iter().map(|s| s.as_deref().unwrap_or("null")).collect();
        segments.join(".")
    }

    /// The id in the form `table/tag1/tag2`, which no other id has: as [`quoted`](Self::quoted) segments between
    /// slashes.
    ///
    /// ```
    /// use core_codec::tsfile::DeviceId;
    ///
    /// let id = |segments: &[Option<&str>]| DeviceId::new(segments.iter().map(|s| s.map(Box::from)).collect());
    /// assert_eq!(id(&[Some("plant"), Some("north"), Some("d 1")]).slashed(), "plant/north/d 1");
    /// assert_eq!(id(&[Some("plant"), None, Some("null"), Some("1/2")]).slashed(), r#"plant/null/"null"/"1/2""#);
    /// ```
    #[must_use]
    pub fn slashed(&self) -> String {
        self.quoted().collect::<Vec<_>>().join("/")
    }

    /// Its segments, `null` for null. One that could be taken for another thing, since it is the text `null`, holds
    /// a slash or starts with a quote, stands in double quotes, where two of them are one.
    pub fn quoted(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.segments.iter().map(|segment| match segment.as_deref() {
            None => NULL.into(),
            Some(text) if text == NULL || text.contains('/') || text.starts_with('"') => {
                Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
            }
            Some(text) => text.into(),
        })
    }

    /// The id whose [`slashed`](Self::slashed) form this is.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where a quote does not end, or something stands between it and the next slash.
    pub fn from_slashed(text: &str) -> Result<Self, ErrorKind> {
        let parts = split_quoted(text, '/')?.into_iter();
        let segment = |(part, quoted): (Cow<'_, str>, bool)| (quoted || part != NULL).then(|| part.into());
        Ok(Self::new(parts.map(segment).collect()))
    }

    /// Order of the index: segment by segment, null first, bytes of UTF-8.
    #[must_use]
    pub fn compare_encoded(&self, encoded: DeviceKey<'_>) -> Ordering {
        if encoded.version == Version::V3 {
            return self.path().as_bytes().cmp(encoded.path().as_bytes());
        }
        let mut mine = self.segments.iter().map(Option::as_deref);
        let mut nulls = 0usize;
        for theirs in encoded.segments() {
            let Some(text) = theirs else {
                // Trailing nulls are written by some and trimmed by others.
                nulls += 1;
                continue;
            };
            for _ in 0..core::mem::take(&mut nulls) {
                match mine.next() {
                    None => return Ordering::Less,
                    Some(None) => {}
                    Some(Some(_)) => return Ordering::Greater,
                }
            }
            match mine.next() {
                None | Some(None) => return Ordering::Less,
                Some(Some(own)) => match own.as_bytes().cmp(text.as_bytes()) {
                    Ordering::Equal => {}
                    other => return other,
                },
            }
        }
        // What is left of the key is null; what is left of `self` ends in a value.
        if mine.next().is_some() { Ordering::Greater } else { Ordering::Equal }
    }
}

/// The path of a tree device. An id that is none, such as that of a table, is shown in its [slashed] form behind a
/// slash, so that all ids differ and [`from_str`](FromStr::from_str) gives them back.
///
/// [slashed]: DeviceId::slashed
impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        if !path.starts_with('/') && Self::from_path(&path) == *self {
            return f.write_str(&path);
        }
        write!(f, "/{}", self.slashed())
    }
}

impl FromStr for DeviceId {
    type Err = ErrorKind;

    fn from_str(text: &str) -> Result<Self, ErrorKind> {
        match text.strip_prefix('/') {
            Some(slashed) => Self::from_slashed(slashed),
            None => Ok(Self::from_path(text)),
        }
    }
}

const NULL: &str = "null";

/// Splits a list of names, and says of each whether it stands in double quotes: one that does may hold the separator,
/// and two quotes in it are one.
///
/// ```
/// use core_codec::tsfile::device::split_quoted;
///
/// let names = split_quoted(r#"a b,"c,""d""",e"#, ',').unwrap();
/// assert_eq!(names, [("a b".into(), false), (r#"c,"d""#.into(), true), ("e".into(), false)]);
/// ```
///
/// # Errors
/// [`ErrorKind::Invalid`] where a quote does not end, or something stands between it and the next separator.
pub fn split_quoted(list: &str, separator: char) -> Result<Vec<(Cow<'_, str>, bool)>, ErrorKind> {
    let mut parts = Vec::new();
    let mut rest = Some(list);
    while let Some(list) = rest {
        let (part, quoted);
        (part, quoted, rest) = match list.strip_prefix('"') {
            Some(text) => {
                let (part, rest) = unquote(text, separator)?;
                (part.into(), true, rest)
            }
            None => match list.split_once(separator) {
                Some((part, rest)) => (part.into(), false, Some(rest)),
                None => (list.into(), false, None),
            },
        };
        parts.push((part, quoted));
    }
    Ok(parts)
}

/// The text up to the quote that ends it, and what stands behind the separator after that.
fn unquote(mut rest: &str, separator: char) -> Result<(String, Option<&str>), ErrorKind> {
    let mut text = String::new();
    loop {
        let (part, behind) = rest.split_once('"').ok_or(ErrorKind::Invalid("a quote that does not end"))?;
        text.push_str(part);
        match behind.strip_prefix('"') {
            Some(more) => {
                text.push('"');
                rest = more;
            }
            None if behind.is_empty() => return Ok((text, None)),
            None => {
                let rest = behind.strip_prefix(separator);
                let rest = rest.ok_or(ErrorKind::Invalid("a quote that ends inside of a name"))?;
                return Ok((text, Some(rest)));
            }
        }
    }
}

/// Splits at dots, but not inside backquotes, which quote nodes that hold dots.
fn split_path(path: &str) -> Vec<&str> {
    let mut nodes = Vec::new();
    let (mut start, mut quoted) = (0, false);
    for (i, c) in path.char_indices() {
        match c {
            '`' => quoted = !quoted,
            '.' if !quoted => {
                nodes.push(&path[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    nodes.push(&path[start..]);
    nodes
}

/// A device id as it stands in a file, already checked, and not copied.
#[derive(Clone, Copy, Debug)]
pub struct DeviceKey<'a> {
    version: Version,
    count: u32,
    bytes: &'a [u8],
}

impl<'a> DeviceKey<'a> {
    /// Parses `DeviceID`: in version 4 `UVarInt n` and n `VarString`s, in version 3 one `VarString`.
    ///
    /// # Errors
    /// As the primitives.
    pub fn parse(version: Version, input: &'a [u8]) -> Parsed<'a, Self> {
        let (start, count) = match version {
            Version::V4 => uvarint(input)?,
            Version::V3 => (input, 1),
        };
        let mut rest = start;
        for _ in 0..count {
            let segment;
            (rest, segment) = var_string(rest)?;
            if segment.is_none() && version == Version::V3 {
                return Err(WireError::at(input, ErrorKind::Invalid("null device name")));
            }
        }
        Ok((rest, Self { version, count, bytes: &start[..start.len() - rest.len()] }))
    }

    /// Its segments; `n = 0` stands for one empty segment.
    fn segments(self) -> impl Iterator<Item = Option<&'a str>> {
        let mut rest = self.bytes;
        let only = (self.count == 0).then_some(Some(""));
        only.into_iter().chain((0..self.count).map_while(move |_| {
            let segment;
            (rest, segment) = var_string(rest).ok()?;
            Some(segment)
        }))
    }

    /// The path that is the whole id in version 3.
    fn path(self) -> &'a str {
        self.segments().next().flatten().unwrap_or("")
    }

    /// The id on its own.
    #[must_use]
    pub fn to_id(self) -> DeviceId {
        match self.version {
            Version::V3 => DeviceId::from_path(self.path()),
            Version::V4 => DeviceId::new(self.segments().map(|segment| segment.map(Box::from)).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tsfile::wire::{put_uvarint, put_var_string};
    use alloc::vec;
    use proptest::prelude::*;
    use std::string::ToString;

    /// Ids of the characters that mean something.
    fn ids() -> impl Strategy<Value = DeviceId> {
        let segment = prop_oneof![Just("null".to_string()), r#"[a/."'`n]{0,3}"#, ".{0,3}"];
        let segments = prop::collection::vec(prop::option::of(segment), 1..5);
        segments.prop_map(|all| DeviceId::new(all.into_iter().map(|s| s.map(Into::into)).collect()))
    }

    proptest! {
        #[test]
        fn names_of_ids_are_read_back(id in ids(), path in r#"[a/."`n]{0,8}"#) {
            prop_assert_eq!(&DeviceId::from_slashed(&id.slashed()), &Ok(id.clone()));
            prop_assert_eq!(&id.to_string().parse(), &Ok(id.clone()));
            let id = DeviceId::from_path(&path);
            prop_assert_eq!(&id.to_string().parse(), &Ok(id.clone()));
            prop_assert!(path.starts_with('/') || id.to_string() == path);
        }
    }

    #[test]
    fn only_names_that_need_it_are_quoted() {
        for (segments, slashed, shown) in [
            (&[Some("root.sg"), Some("d")][..], "root.sg/d", "root.sg.d"),
            (&[Some("t"), Some("say \"a\" b"), Some("")], "t/say \"a\" b/", "/t/say \"a\" b/"),
            (&[Some("t"), Some("/")], r#"t/"/""#, "t./"),
            (&[Some("t"), Some(""), Some("")], "t//", "/t//"),
            (&[Some("t"), Some("null")], r#"t/"null""#, "t.null"),
            (&[Some("t"), None, Some("\"")], r#"t/null/"""""#, r#"/t/null/"""""#),
        ] {
            let id = DeviceId::new(segments.iter().map(|s| s.map(Into::into)).collect());
            assert_eq!((&*id.slashed(), &*id.to_string()), (slashed, shown));
        }
        assert!(DeviceId::from_slashed("t/\"a").is_err());
        assert!(DeviceId::from_slashed("t/\"a\"b").is_err());
    }

    fn encode(segments: &[Option<&str>]) -> Vec<u8> {
        let mut out = vec![];
        put_uvarint(&mut out, segments.len() as u32);
        for segment in segments {
            put_var_string(&mut out, *segment).unwrap();
        }
        out
    }

    fn decode(bytes: &[u8]) -> DeviceId {
        DeviceKey::parse(Version::V4, bytes).unwrap().1.to_id()
    }

    #[test]
    fn tree_paths_are_cut_after_three_nodes() {
        let segments = |path: &str| -> Vec<String> {
            DeviceId::from_path(path).segments().iter().map(|s| s.as_deref().unwrap().to_string()).collect()
        };
        assert_eq!(segments("root"), ["root"]);
        assert_eq!(segments("root.a"), ["root", "a"]);
        assert_eq!(segments("root.a.b"), ["root.a", "b"]);
        assert_eq!(segments("root.a.b.c"), ["root.a.b", "c"]);
        assert_eq!(segments("root.a.b.c.d"), ["root.a.b", "c", "d"]);
        assert_eq!(segments("root.`a.b`.c"), ["root.`a.b`", "c"]);
    }

    #[test]
    fn trailing_null_tags_are_trimmed_and_inner_ones_kept() {
        let full = decode(&encode(&[Some("t"), None, Some("x"), None, None]));
        assert_eq!(full, decode(&encode(&[Some("t"), None, Some("x")])));
        assert_eq!(full.tag(0), None);
        assert_eq!(full.tag(1), Some("x"));
        assert_ne!(full, decode(&encode(&[Some("t"), Some("null"), Some("x")])));
        assert_ne!(decode(&encode(&[Some("t"), Some("")])), decode(&encode(&[Some("t"), None])));
        assert_eq!(decode(&encode(&[])).segments(), [Some("".into())]);
    }

    #[test]
    fn order_is_by_segment_with_nulls_first() {
        let order = |a: &[Option<&str>], b: &[Option<&str>]| {
            let encoded = encode(b);
            decode(&encode(a)).compare_encoded(DeviceKey::parse(Version::V4, &encoded).unwrap().1)
        };
        assert_eq!(order(&[Some("t"), Some("a")], &[Some("t"), Some("a"), None]), Ordering::Equal);
        assert_eq!(order(&[Some("t"), None, Some("a")], &[Some("t"), Some("a")]), Ordering::Less);
        assert_eq!(order(&[Some("t"), Some("a")], &[Some("t"), None, Some("a")]), Ordering::Greater);
        assert_eq!(order(&[Some("t")], &[Some("t"), None, Some("a")]), Ordering::Less);
        assert_eq!(order(&[Some("t"), Some("b")], &[Some("t"), Some("a"), Some("z")]), Ordering::Greater);
        assert_eq!(order(&[Some("t"), Some("a"), Some("b")], &[Some("t"), Some("a")]), Ordering::Greater);
    }
}
