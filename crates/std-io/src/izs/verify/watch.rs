//! Rules for the elements of a stream, which share one pass over them.

use core_codec::izs::Element;

use super::Verifier;
use crate::izs::numbers;

/// Some elements of a stream.
pub(super) struct Part<'p> {
    /// Number of the first.
    pub(super) first: u64,
    pub(super) element: Element,
    pub(super) bytes: &'p [u8],
}

impl Part<'_> {
    /// The elements with their numbers.
    pub(super) fn elements(&self) -> impl Iterator<Item = (u64, u64)> {
        (self.first..).zip(numbers(self.element, self.bytes))
    }
}

/// Watches the elements of a stream, part by part, for one rule.
pub(super) trait Watch {
    fn look(&mut self, part: &Part);

    /// Says what it saw, when all elements are through.
    fn tell(&self, verifier: &mut Verifier);
}
