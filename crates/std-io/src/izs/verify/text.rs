//! Text in UTF-8.

use core_codec::izs::model::{EntityId, StreamId};

use super::Verifier;
use super::values::Values;
use super::watch::{Part, Watch};

/// The characters of a stream as one text.
pub(super) struct Whole {
    stream: StreamId,
    utf8: Utf8,
}

impl Whole {
    pub(super) fn new(stream: StreamId) -> Self {
        Self { stream, utf8: Utf8::default() }
    }
}

impl Watch for Whole {
    fn look(&mut self, part: &Part) {
        self.utf8.check(part.first, part.bytes);
    }

    fn tell(&self, verifier: &mut Verifier) {
        if let Some(place) = self.utf8.finish() {
            let pointer = verifier.schema.stream_pointer(self.stream);
            verifier.warning(pointer, format!("not UTF-8 at element {place}"));
        }
    }
}

/// The characters of a stream as texts, each an element of a `variable_array`.
pub(super) struct Elements<'a> {
    array: EntityId,
    /// The ends of the elements after this one.
    ends: Values<'a>,
    /// Number of the element that comes next or has begun.
    element: u64,
    start: u64,
    /// Where it ends; none past the last, or where that is not known: of wrong ends it is told with their stream.
    end: Option<u64>,
    utf8: Utf8,
    /// Element, and the byte in it.
    wrong: Option<(u64, u64)>,
}

impl<'a> Elements<'a> {
    pub(super) fn new(array: EntityId, ends: Values<'a>) -> Self {
        let utf8 = Utf8::default();
        let mut elements = Self { array, ends, element: 0, start: 0, end: None, utf8, wrong: None };
        elements.end = elements.next_end();
        elements
    }

    fn next_end(&mut self) -> Option<u64> {
        let end = (self.element < self.ends.len()).then(|| self.ends.value().ok()).flatten();
        end.filter(|end| *end >= self.start)
    }
}

impl Watch for Elements<'_> {
    fn look(&mut self, part: &Part) {
        let (mut at, mut bytes) = (part.first, part.bytes);
        while self.wrong.is_none()
            && let Some(end) = self.end
        {
            let inside = usize::try_from(end - at).map_or(bytes.len(), |left| left.min(bytes.len()));
            let (now, later) = bytes.split_at(inside);
            self.utf8.check(at, now);
            (at, bytes) = (at + inside as u64, later);
            if at < end {
                break;
            }
            self.wrong = self.utf8.finish().map(|place| (self.element, place - self.start));
            (self.element, self.start, self.utf8) = (self.element + 1, end, Utf8::default());
            self.end = self.next_end();
        }
    }

    fn tell(&self, verifier: &mut Verifier) {
        if let Some((element, byte)) = self.wrong {
            let pointer = verifier.schema.entity_pointer(self.array);
            verifier.warning(pointer, format!("element {element} is not UTF-8 at its byte {byte}"));
        }
    }
}

/// Looks for the first byte that is not UTF-8, part by part.
#[derive(Default)]
struct Utf8 {
    /// Where a character has begun that goes on in the next part.
    begun: Option<u64>,
    pending: Vec<u8>,
    wrong: Option<u64>,
}

impl Utf8 {
    fn check(&mut self, first: u64, bytes: &[u8]) {
        let joined;
        let (start, bytes) = match self.begun.take() {
            // At most three bytes are there from before.
            Some(start) => {
                joined = [std::mem::take(&mut self.pending), bytes.to_vec()].concat();
                (start, &joined[..])
            }
            None => (first, bytes),
        };
        let Err(error) = str::from_utf8(bytes) else { return };
        let place = start + error.valid_up_to() as u64;
        if error.error_len().is_some() {
            self.wrong = self.wrong.or(Some(place));
        } else {
            (self.begun, self.pending) = (Some(place), bytes[error.valid_up_to()..].to_vec());
        }
    }

    fn finish(&self) -> Option<u64> {
        self.wrong.or(self.begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_may_lie_in_two_parts() {
        let check = |parts: &[&[u8]]| {
            let (mut text, mut at) = (Utf8::default(), 0);
            for part in parts {
                text.check(at, part);
                at += part.len() as u64;
            }
            text.finish()
        };
        let smile = "a😀".as_bytes();
        for place in 0..=smile.len() {
            assert_eq!(check(&[&smile[..place], &smile[place..]]), None);
        }
        assert_eq!(check(&[&smile[..2], &smile[2..3], &smile[3..]]), None);
        assert_eq!(check(&[&smile[..3], b"a"]), Some(1));
        assert_eq!(check(&[b"ab", &smile[..3]]), Some(3));
        assert_eq!(check(&[b"\xff", b"\xff"]), Some(0));
    }
}
