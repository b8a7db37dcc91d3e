//! What was decoded last, kept within a bound: reading here and there in a block decodes it once, and reading on does
//! not start over.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use core_codec::izs::model::StreamId;

use super::place::Place;

/// Decoded blocks, and places in blocks that are too large to be kept.
#[derive(Debug)]
pub(super) struct BlockCache {
    budget: AtomicUsize,
    kept: Mutex<Kept>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Block(StreamId, u64),
    /// One for each stream.
    Place(StreamId),
}

#[derive(Debug)]
enum Entry {
    Block(Arc<Vec<u8>>),
    Place(Place),
}

impl Entry {
    fn memory(&self) -> usize {
        match self {
            Self::Block(block) => block.len(),
            Self::Place(place) => place.memory(),
        }
    }
}

/// Entries, and when each was used last.
#[derive(Debug, Default)]
struct Kept {
    by_key: HashMap<Key, (Entry, u64)>,
    total: usize,
    clock: u64,
}

impl BlockCache {
    /// Keeps at most `budget` bytes.
    pub(super) fn new(budget: usize) -> Self {
        Self { budget: budget.into(), kept: Mutex::default() }
    }

    /// Makes room for as many bytes at least.
    pub(super) fn reserve(&self, bytes: usize) {
        self.budget.fetch_max(bytes, Ordering::Relaxed);
    }

    /// The most bytes that are kept.
    pub(super) fn budget(&self) -> usize {
        self.budget.load(Ordering::Relaxed)
    }

    /// The decoded block, if it is kept.
    pub(super) fn block(&self, stream: StreamId, number: u64) -> Option<Arc<Vec<u8>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clock += 1;
        let now = kept.clock;
        let (entry, last_used) = kept.by_key.get_mut(&Key::Block(stream, number))?;
        *last_used = now;
        match entry {
            Entry::Block(block) => Some(block.clone()),
            Entry::Place(_) => None,
        }
    }

    /// Takes the place where a stream was read last; it is put back by [`keep_place`](Self::keep_place).
    pub(super) fn take_place(&self, stream: StreamId) -> Option<Place> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.remove(Key::Place(stream))? {
            Entry::Place(place) => Some(place),
            Entry::Block(_) => None,
        }
    }

    /// Keeps a block, if it is not too large.
    pub(super) fn keep_block(&self, stream: StreamId, number: u64, block: Arc<Vec<u8>>) {
        self.keep(Key::Block(stream, number), Entry::Block(block));
    }

    /// Keeps a place in a stream, if it is not too large.
    pub(super) fn keep_place(&self, stream: StreamId, place: Place) {
        self.keep(Key::Place(stream), Entry::Place(place));
    }

    /// Keeps an entry, and drops those used longest ago for it.
    fn keep(&self, key: Key, entry: Entry) {
        let (memory, budget) = (entry.memory(), self.budget());
        if memory > budget {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove(key);
        while kept.total > budget - memory {
            let oldest = kept.by_key.iter().min_by_key(|(_, (_, last_used))| *last_used);
            let Some(oldest) = oldest.map(|(key, _)| *key) else { break };
            kept.remove(oldest);
        }
        kept.clock += 1;
        let now = kept.clock;
        kept.total += memory;
        kept.by_key.insert(key, (entry, now));
    }
}

impl Kept {
    fn remove(&mut self, key: Key) -> Option<Entry> {
        let (entry, _) = self.by_key.remove(&key)?;
        self.total -= entry.memory();
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_codec::Limits;
    use core_codec::izs::model::Schema;

    #[test]
    fn the_blocks_used_last_stay_within_the_bound() {
        let schema = Schema::parse(br#"{"entity":{"type":"null"}}"#, &Limits::default()).unwrap();
        let stream = schema.streams().next().unwrap();
        let cache = BlockCache::new(30);
        let keep = |number, len| cache.keep_block(stream, number, Arc::new(vec![0; len]));
        for number in 0..3 {
            keep(number, 10);
        }
        assert!(cache.block(stream, 0).is_some());
        keep(3, 10);
        assert!(cache.block(stream, 1).is_none());
        assert!(cache.block(stream, 0).is_some());
        keep(0, 20);
        assert_eq!(cache.kept.lock().unwrap().total, 30);
        keep(9, 31);
        assert!(cache.block(stream, 9).is_none(), "what is over the budget alone");
        assert_eq!(cache.kept.lock().unwrap().total, 30);
        let none = BlockCache::new(0);
        none.keep_block(stream, 0, Arc::new(vec![0; 10]));
        assert!(none.block(stream, 0).is_none());
    }
}
