//! Fetched parts of a file, kept within a bound.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A fetched part.
#[derive(Debug)]
struct Segment {
    bytes: Vec<u8>,
    last_used: AtomicU64,
}

/// Parts by where they start. None lies inside another. A clone shares the parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segments {
    by_start: BTreeMap<u64, Arc<Segment>>,
    total: usize,
    clock: Arc<AtomicU64>,
}

impl Segments {
    /// The bytes of `range`, when one part has them all.
    pub(crate) fn get(&self, range: &Range<u64>) -> Option<&[u8]> {
        let (start, segment) = self.by_start.range(..=range.start).next_back()?;
        let from = usize::try_from(range.start - start).ok()?;
        let to = usize::try_from(range.end - start).ok()?;
        let bytes = segment.bytes.get(from..to)?;
        self.touch(segment);
        Some(bytes)
    }

    fn touch(&self, segment: &Segment) {
        segment.last_used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Adds a part, unless another covers it, and drops those that it covers.
    pub(crate) fn insert(&mut self, start: u64, bytes: Vec<u8>) {
        self.place(start, Arc::new(Segment { bytes, last_used: AtomicU64::default() }));
    }

    fn place(&mut self, start: u64, segment: Arc<Segment>) {
        let end = start.saturating_add(segment.bytes.len() as u64);
        if self.get(&(start..end)).is_some() {
            return;
        }
        let covered: Vec<u64> = self
            .by_start
            .range(start..end)
            .take_while(|(at, segment)| at.saturating_add(segment.bytes.len() as u64) <= end)
            .map(|(at, _)| *at)
            .collect();
        for at in covered {
            self.remove(at);
        }
        self.touch(&segment);
        self.total += segment.bytes.len();
        self.by_start.insert(start, segment);
    }

    /// Whether there is no part.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_start.is_empty()
    }

    /// Takes over the parts of `other`.
    pub(crate) fn absorb(&mut self, other: Self) {
        for (start, segment) in other.by_start {
            self.place(start, segment);
        }
    }

    /// When there is more than `budget` bytes, drops the parts that were not used for longest, down to half of
    /// it, so that the cost of looking for them is spread over many insertions.
    pub(crate) fn shrink_to(&mut self, budget: usize) {
        if self.total <= budget {
            return;
        }
        let mut ages: Vec<(u64, u64)> = self
            .by_start
            .iter()
            .map(|(start, segment)| (segment.last_used.load(Ordering::Relaxed), *start))
            .collect();
        ages.sort_unstable();
        for (_, start) in ages {
            if self.total <= budget / 2 {
                break;
            }
            self.remove(start);
        }
    }

    fn remove(&mut self, start: u64) {
        if let Some(segment) = self.by_start.remove(&start) {
            self.total -= segment.bytes.len();
        }
    }
}

/// Sorts `ranges` and joins those with at most `gap` bytes between them, up to `most` bytes a range.
pub(crate) fn coalesce(mut ranges: Vec<Range<u64>>, gap: u64, most: u64) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last)
                if range.start <= last.end.saturating_add(gap)
                    && (range.end <= last.end || range.end - last.start <= most) =>
            {
                last.end = last.end.max(range.end);
            }
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_answers_for_what_lies_inside_it() {
        let mut segments = Segments::default();
        segments.insert(100, vec![1, 2, 3, 4]);
        assert_eq!(segments.get(&(101..103)), Some(&[2, 3][..]));
        assert_eq!(segments.get(&(99..103)), None);
        assert_eq!(segments.get(&(101..105)), None);
        segments.insert(98, vec![9; 10]);
        assert_eq!(segments.get(&(101..105)), Some(&[9; 4][..]));
        assert_eq!(segments.total, 10);
    }

    #[test]
    fn no_part_lies_inside_another() {
        let part = |range: Range<u64>| (range.start, vec![7; (range.end - range.start) as usize]);
        for (first, second) in
            [(0..10, 0..80), (0..80, 0..10), (0..80, 20..30), (20..30, 0..80), (70..80, 0..80)]
        {
            let mut segments = Segments::default();
            for range in [first.clone(), second.clone()] {
                let mut held = Segments::default();
                let (start, bytes) = part(range);
                held.insert(start, bytes);
                segments.absorb(held);
            }
            assert_eq!((segments.total, segments.by_start.len()), (80, 1), "{first:?} {second:?}");
            assert_eq!(segments.get(&(1..79)).map(<[u8]>::len), Some(78));
        }
    }

    #[test]
    fn the_parts_used_last_stay() {
        let mut segments = Segments::default();
        for start in 0..10 {
            segments.insert(start * 10, vec![0; 10]);
        }
        assert!(segments.get(&(0..10)).is_some());
        segments.shrink_to(40);
        assert_eq!(segments.total, 20);
        assert!(segments.get(&(0..10)).is_some());
        assert!(segments.get(&(90..100)).is_some());
        assert!(segments.get(&(50..60)).is_none());
    }

    #[test]
    fn near_ranges_are_fetched_as_one() {
        assert_eq!(coalesce(vec![50..60, 0..10, 12..20, 5..5, 3..7], 2, 100), vec![0..20, 50..60]);
        assert_eq!(coalesce(vec![0..60, 60..120], 0, 100), vec![0..60, 60..120]);
    }
}
