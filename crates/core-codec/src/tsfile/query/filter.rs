//! Which devices of a table a query is about.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::error::{Error, ErrorKind};
use crate::tsfile::device::DeviceId;
use crate::tsfile::metadata::TableSchema;

/// What a tag must be like.
#[derive(Clone)]
#[non_exhaustive]
pub enum Test {
    /// This text.
    Equal(Box<str>),
    /// One of these.
    In(Vec<Box<str>>),
    /// Not less than the first, not greater than the second.
    Between(Box<str>, Box<str>),
    /// What a function says of a tag that is not null, such as a regular expression.
    Matches(Arc<dyn Fn(&str) -> bool + Send + Sync>),
    /// Null. An empty text is not null.
    Null,
    /// The contrary; of a null tag it holds only where the test is [`Test::Null`].
    Not(Box<Self>),
}

impl fmt::Debug for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal(value) => write!(f, "= {value:?}"),
            Self::In(values) => write!(f, "in {values:?}"),
            Self::Between(low, high) => write!(f, "between {low:?} and {high:?}"),
            Self::Matches(_) => f.write_str("matches"),
            Self::Null => f.write_str("is null"),
            Self::Not(test) => write!(f, "not {test:?}"),
        }
    }
}

impl Test {
    /// Whether a tag passes. Null equals nothing, is in no list and no range.
    #[must_use]
    pub fn accepts(&self, tag: Option<&str>) -> bool {
        match self {
            Self::Null => tag.is_none(),
            Self::Not(test) if matches!(**test, Self::Null) => tag.is_some(),
            Self::Not(test) => tag.is_some() && !test.accepts(tag),
            Self::Equal(value) => tag == Some(value),
            Self::In(values) => values.iter().any(|value| tag == Some(value)),
            Self::Between(low, high) => tag.is_some_and(|tag| **low <= *tag && *tag <= **high),
            Self::Matches(matches) => tag.is_some_and(|tag| matches(tag)),
        }
    }
}

/// Tests of tags, all of which a device must pass.
///
/// ```
/// use core_codec::tsfile::DeviceId;
/// use core_codec::tsfile::query::{TagFilter, Test};
///
/// let filter = TagFilter::default().and(0, Test::Equal("north".into()));
/// let device = DeviceId::new(vec![Some("plant".into()), Some("north".into())]);
/// assert!(filter.accepts(&device));
/// ```
#[derive(Clone, Debug, Default)]
pub struct TagFilter {
    tests: Vec<(usize, Test)>,
}

impl TagFilter {
    /// A filter of tests by the names of tag columns.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a name that is no tag of the table.
    pub fn new(
        table: &TableSchema,
        tests: impl IntoIterator<Item = (Box<str>, Test)>,
    ) -> Result<Self, Error> {
        let mut filter = Self::default();
        for (name, test) in tests {
            let tag = table.tags().position(|column| column.name == name);
            let tag =
                tag.ok_or_else(|| Error::new("table", ErrorKind::NotFound("tag column")).detail(name))?;
            filter.tests.push((tag, test));
        }
        Ok(filter)
    }

    /// Adds a test of tag number `tag`, counted among the tags.
    #[must_use]
    pub fn and(mut self, tag: usize, test: Test) -> Self {
        self.tests.push((tag, test));
        self
    }

    /// Whether a device passes all tests.
    #[must_use]
    pub fn accepts(&self, device: &DeviceId) -> bool {
        self.tests.iter().all(|(tag, test)| test.accepts(device.tag(*tag)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn null_passes_only_the_test_for_null() {
        let tests = [
            Test::Equal("a".into()),
            Test::In(vec!["a".into(), "b".into()]),
            Test::Between("a".into(), "c".into()),
            Test::Matches(Arc::new(|tag| tag.starts_with('a'))),
        ];
        for test in tests {
            assert!(test.accepts(Some("a")), "{test:?}");
            assert!(!test.accepts(Some("d")), "{test:?}");
            assert!(!test.accepts(None), "{test:?}");
            let not = Test::Not(Box::new(test));
            assert!(!not.accepts(Some("a")) && not.accepts(Some("d")) && !not.accepts(None), "{not:?}");
        }
        assert!(
            Test::Null.accepts(None) && !Test::Null.accepts(Some("")) && !Test::Null.accepts(Some("null"))
        );
        let not_null = Test::Not(Box::new(Test::Null));
        assert!(!not_null.accepts(None) && not_null.accepts(Some("")));
    }

    #[test]
    fn trimmed_tags_are_null() {
        let device = DeviceId::new(vec![Some("t".into()), None, Some("x".into())]);
        let accepts = |tag, test| TagFilter::default().and(tag, test).accepts(&device);
        assert!(accepts(0, Test::Null) && accepts(1, Test::Equal("x".into())) && accepts(7, Test::Null));
    }
}
