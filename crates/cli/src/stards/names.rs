//! Names that `cat` takes.
//!
//! A plain name is `key`, or `layer:key` in a named layer. Arrays and metadata are separate namespaces, and both layers
//! and keys may hold colons, so that several items can have one plain name. Those are named in full: `array@layer:key` or
//! `metadata@layer:key`, with a backslash before each colon and backslash of the layer's name.

use std::collections::BTreeSet;
use std::fmt;

use core_codec::stards::BASE_LAYER;

use super::{Document, items};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Array,
    Metadata,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Array, Self::Metadata];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Metadata => "metadata",
        }
    }
}

/// What tells an item from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    pub(super) kind: Kind,
    pub(super) layer: &'a str,
    pub(super) key: &'a str,
}

impl Place<'_> {
    /// `key`, or `layer:key` in a named layer.
    pub(super) fn plain(&self) -> String {
        if self.layer == BASE_LAYER { self.key.to_owned() } else { [self.layer, ":", self.key].concat() }
    }

    fn hash(&self) -> u64 {
        core_codec::stards::hash(self.plain().as_bytes())
    }
}

/// The full name.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layer = self.layer.replace('\\', "\\\\").replace(':', "\\:");
        write!(f, "{}@{layer}:{}", self.kind.name(), self.key)
    }
}

/// Reads a full name: the kind, the layer and the key.
pub(super) fn parse(text: &str) -> Option<(Kind, String, &str)> {
    let (kind, rest) = Kind::ALL
        .into_iter()
        .find_map(|kind| Some((kind, text.strip_prefix(kind.name())?.strip_prefix('@')?)))?;
    let mut layer = String::new();
    let mut characters = rest.char_indices();
    loop {
        match characters.next()? {
            (at, ':') => return Some((kind, layer, &rest[at + 1..])),
            (_, '\\') => layer.push(characters.next()?.1),
            (_, other) => layer.push(other),
        }
    }
}

/// The layers and keys that a plain name can mean: that of the base layer first.
pub(super) fn splits(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let colons = text.match_indices(':').map(|(at, _)| (&text[..at], &text[at + 1..]));
    std::iter::once((BASE_LAYER, text)).chain(colons)
}

/// Which items cannot be told by their plain names.
pub(super) struct Ambiguous(BTreeSet<u64>);

impl Ambiguous {
    /// Goes through all items. Of their names only hashes are kept: two names with one hash cost a full name.
    pub(super) fn of(document: &Document) -> Self {
        let (mut seen, mut ambiguous) = (BTreeSet::new(), BTreeSet::new());
        items::places(document, &mut |place| {
            let hash = place.hash();
            if !seen.insert(hash) {
                ambiguous.insert(hash);
            }
        });
        Self(ambiguous)
    }

    /// The name by which `cat` finds this item and no other.
    pub(super) fn name(&self, place: &Place<'_>) -> String {
        let plain = place.plain();
        // What would be read as a full name, or as one of the base layer.
        let prefixes = ["array@", "metadata@", "__base__:"];
        let other = prefixes.iter().any(|prefix| plain.starts_with(prefix));
        let shared = !self.0.is_empty() && self.0.contains(&place.hash());
        if other || shared { place.to_string() } else { plain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_names_are_read_as_they_are_written() {
        for (layer, key) in [("__base__", "x"), ("a:b\\", "c:d\\:"), ("", ""), (":", "é"), ("\\:", ":")] {
            for kind in Kind::ALL {
                let text = Place { kind, layer, key }.to_string();
                assert_eq!(parse(&text), Some((kind, layer.to_owned(), key)), "{text}");
            }
        }
        for text in ["x", "array", "array@", "array@x", "metadata@x\\:", "metadata@x\\", "other@a:b"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(splits("a:b:c").collect::<Vec<_>>(), [("__base__", "a:b:c"), ("a", "b:c"), ("a:b", "c")]);
    }
}
