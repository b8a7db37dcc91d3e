//! Where the blocks lie, in a few bytes a block.
//!
//! Blocks follow one another in the file, so that their sizes give their offsets. An entry is one LEB128
//! number, the owner in its low bits and the size above: two or three bytes for the blocks of common recordings.

use heapless::Vec;

/// Sizes and owners of the blocks of a file, in file order, in `LOG` bytes.
#[derive(Debug)]
pub(super) struct BlockLog<const LOG: usize> {
    bytes: Vec<u8, LOG, u32>,
}

/// One entry of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) owner: u8,
    pub(super) size: u32,
}

/// Bits that tell so many owners apart.
pub(super) const fn owner_bits(owners: u8) -> u32 {
    8 - owners.saturating_sub(1).leading_zeros()
}

/// Bytes of the entry of a block of `size` bytes or fewer.
pub(super) const fn entry_len(size: u64, owner_bits: u32) -> usize {
    let bits = 64 - size.leading_zeros() + owner_bits;
    if bits == 0 { 1 } else { bits.div_ceil(7) as usize }
}

impl<const LOG: usize> BlockLog<LOG> {
    pub(super) const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(super) fn free(&self) -> usize {
        LOG - self.bytes.len().min(LOG)
    }

    /// Adds an entry. The caller has made sure that there is room.
    pub(super) fn push(&mut self, entry: Entry, owner_bits: u32) {
        let mut value = u64::from(entry.size) << owner_bits | u64::from(entry.owner);
        while value >= 0x80 {
            let _ = self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        let _ = self.bytes.push(value as u8);
    }

    /// The entry at byte `at` of the log, and where the next one is.
    pub(super) fn entry(&self, at: usize, owner_bits: u32) -> Option<(Entry, usize)> {
        let mut bytes = self.bytes.get(at..)?.iter();
        let (mut value, mut shift, mut len) = (0, 0, 0);
        loop {
            let byte = bytes.next()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            len += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let owner = value & ((1 << owner_bits) - 1);
        Some((Entry { owner: owner as u8, size: (value >> owner_bits) as u32 }, at + len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_keep_to_their_bound() {
        for owners in [1, 2, 3, 9, 255] {
            let bits = owner_bits(owners);
            for size in [0, 1, 13, 127, 128, 4109, 16383, 16384, 1 << 20, 1 << 30, u32::MAX] {
                let mut log = BlockLog::<64>::new();
                let first = Entry { owner: owners - 1, size };
                let second = Entry { owner: 0, size: size / 2 };
                log.push(first, bits);
                assert!(64 - log.free() <= entry_len(u64::from(size), bits), "{size} of {owners}");
                log.push(second, bits);
                let (entry, next) = log.entry(0, bits).unwrap();
                assert_eq!(entry, first);
                assert_eq!(log.entry(next, bits).unwrap().0, second);
            }
        }
    }

    #[test]
    fn common_blocks_take_two_or_three_bytes() {
        assert_eq!([1, 2, 3, 4, 5, 255].map(owner_bits), [0, 1, 2, 2, 3, 8]);
        assert_eq!(entry_len(4096 + 30, 0), 2);
        assert_eq!(entry_len((1 << 20) + 4000, 0), 3);
        assert_eq!(entry_len(8192 + 30, 2), 3);
    }
}
