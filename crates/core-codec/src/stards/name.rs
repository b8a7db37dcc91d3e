//! Names, each held once however many structures it is part of.

use alloc::string::{String, ToString};
use core::fmt;

/// Text that several owners share.
#[cfg(target_has_atomic = "ptr")]
pub type Text = alloc::sync::Arc<str>;
/// Text that several owners share.
#[cfg(not(target_has_atomic = "ptr"))]
pub type Text = alloc::rc::Rc<str>;

/// Bytes of a name that an error tells: a file can hold one of 64 KiB, and errors of it by the thousand.
const LONGEST_LABEL: usize = 1000;

/// The name of an array: `key`, or `layer:key` in a named layer.
#[derive(Clone, PartialEq, Eq)]
pub struct Name {
    /// None for the base layer.
    layer: Option<Text>,
    storage_key: Text,
    /// Where in the storage key the key inside the layer starts.
    start: usize,
}

impl Name {
    /// `start` is where a character of the storage key starts.
    pub(super) fn new(layer: Option<Text>, storage_key: Text, start: usize) -> Self {
        Self { layer, storage_key, start }
    }

    /// The key inside the layer.
    #[must_use]
    pub fn key(&self) -> &str {
        self.storage_key.get(self.start..).unwrap_or_default()
    }

    /// As an error tells it.
    pub(super) fn label(&self) -> String {
        match &self.layer {
            // Nothing of the rest would be told.
            Some(layer) if layer.len() > LONGEST_LABEL => label(layer),
            Some(layer) => label(&[layer, ":", label(self.key()).as_str()].concat()),
            None => label(self.key()),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(layer) = &self.layer {
            write!(f, "{layer}:")?;
        }
        f.write_str(self.key())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

/// A name as an error tells it: cut where it is long.
pub(super) fn label(name: &str) -> String {
    if name.len() <= LONGEST_LABEL {
        return name.into();
    }
    let end = (0..=LONGEST_LABEL).rev().find(|&end| name.is_char_boundary(end)).unwrap_or_default();
    [&name[..end], "…"].concat()
}

/// How many there are of something, as an error tells it.
pub(super) fn counted(count: u64, name: &str) -> String {
    alloc::format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_show_layer_and_key_and_labels_are_cut() {
        let name = |layer: Option<&str>| Name::new(layer.map(Text::from), "__layer_L__:é".into(), 12);
        assert_eq!((name(Some("L")).to_string().as_str(), name(None).key()), ("L:é", "é"));
        let long = "é".repeat(60_000);
        assert_eq!(name(Some(&long)).to_string().len(), 2 * 60_000 + 3);
        for label in [name(Some(&long)).label(), label(&long)] {
            assert!(label.len() < 1010 && label.ends_with("é…"));
        }
        assert_eq!((counted(1, "byte"), counted(0, "byte")), ("1 byte".into(), "0 bytes".into()));
        assert_eq!((name(Some("L")).label(), label("x")), ("L:é".into(), "x".into()));
    }
}
