//! Decoded blocks, kept within a bound: reading here and there in a block decodes it once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use core_codec::izs::model::StreamId;

/// Which block of which stream.
pub(super) type Key = (StreamId, u64);

/// Decoded blocks by what they are.
#[derive(Debug)]
pub(super) struct BlockCache {
    budget: AtomicUsize,
    blocks: Mutex<Blocks>,
}

#[derive(Debug, Default)]
struct Blocks {
    by_key: HashMap<Key, (Arc<Vec<u8>>, u64)>,
    total: usize,
    clock: u64,
}

impl BlockCache {
    /// Keeps at most `budget` bytes, or one block that is larger; nothing when it is 0.
    pub(super) fn new(budget: usize) -> Self {
        Self { budget: budget.into(), blocks: Mutex::default() }
    }

    /// Makes room for as many bytes at least.
    pub(super) fn reserve(&self, bytes: usize) {
        self.budget.fetch_max(bytes, Ordering::Relaxed);
    }

    /// The decoded block, if it is kept.
    pub(super) fn get(&self, key: Key) -> Option<Arc<Vec<u8>>> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.clock += 1;
        let now = blocks.clock;
        let (block, last_used) = blocks.by_key.get_mut(&key)?;
        *last_used = now;
        Some(block.clone())
    }

    /// Keeps a block, and drops those used longest ago for it.
    pub(super) fn insert(&self, key: Key, block: Arc<Vec<u8>>) {
        let budget = self.budget.load(Ordering::Relaxed);
        if budget == 0 {
            return;
        }
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.clock += 1;
        let now = blocks.clock;
        blocks.total += block.len();
        if let Some((old, _)) = blocks.by_key.insert(key, (block, now)) {
            blocks.total -= old.len();
        }
        while blocks.total > budget && blocks.by_key.len() > 1 {
            let oldest =
                blocks.by_key.iter().min_by_key(|(_, (_, last_used))| *last_used).map(|(key, _)| *key);
            match oldest.and_then(|oldest| blocks.by_key.remove(&oldest)) {
                Some((old, _)) => blocks.total -= old.len(),
                None => break,
            }
        }
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
        for number in 0..3 {
            cache.insert((stream, number), Arc::new(vec![0; 10]));
        }
        assert!(cache.get((stream, 0)).is_some());
        cache.insert((stream, 3), Arc::new(vec![0; 10]));
        assert!(cache.get((stream, 1)).is_none());
        assert!(cache.get((stream, 0)).is_some());
        cache.insert((stream, 0), Arc::new(vec![0; 20]));
        assert_eq!(cache.blocks.lock().unwrap().total, 30);
        cache.insert((stream, 9), Arc::new(vec![0; 31]));
        assert!(cache.get((stream, 9)).is_some(), "what is over the budget alone");
        assert_eq!(cache.blocks.lock().unwrap().total, 31);
        let none = BlockCache::new(0);
        none.insert((stream, 0), Arc::new(vec![0; 10]));
        assert!(none.get((stream, 0)).is_none());
    }
}
