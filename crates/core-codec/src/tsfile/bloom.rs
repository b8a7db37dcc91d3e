//! The bloom filter over the series of a file. A series is hashed as its segments and its measurement, joined by
//! dots, `null` for null.

use alloc::format;
use core::ops::Range;

use crate::source::{Poll, Source};
use crate::tsfile::device::DeviceId;

/// Seeds of the hash functions; a filter uses the first `k`.
const SEEDS: [u32; 8] = [5, 7, 11, 19, 31, 37, 43, 59];

/// Which Murmur3 hashed the paths.
///
/// The Java writer sign-extends the bytes of the tail, so that paths that are not ASCII hash differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashFlavour {
    /// As Murmur3 is defined; the C++ writer.
    Standard,
    /// Tail bytes sign-extended; the Java writer.
    SignExtended,
}

/// Says that a series is certainly not in the file, or that it may be.
///
/// It names its bytes in the file and does not copy them, so that opening a file costs the same however many
/// series it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BloomFilter {
    bytes: Range<u64>,
    bits: u32,
    hashes: usize,
}

impl BloomFilter {
    /// A filter of `bits` bits, of which the file stores `bytes` (trailing zero bytes are left out). `None` when
    /// it cannot filter: no bits, no hash functions, or more than there are seeds.
    #[must_use]
    pub fn new(bytes: Range<u64>, bits: u32, hashes: u32) -> Option<Self> {
        let hashes = usize::try_from(hashes).ok().filter(|k| (1..=SEEDS.len()).contains(k))?;
        (bits > 0).then_some(Self { bytes, bits, hashes })
    }

    /// Number of bits.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Number of hash functions.
    #[must_use]
    pub fn hashes(&self) -> usize {
        self.hashes
    }

    /// Whether the series may be in the file, by either flavour of the hash.
    ///
    /// The C++ writer hashes null tags at the end, which Java trims: up to `tags` tags are tried both ways.
    ///
    /// # Errors
    /// Those of the source.
    pub fn may_contain<S: Source + ?Sized>(
        &self,
        source: &S,
        device: &DeviceId,
        measurement: &str,
        tags: usize,
    ) -> Poll<bool> {
        let stored = source.bytes(self.bytes.clone())?;
        let mut path = device.path();
        for _ in device.segments().len()..=(tags + 1).max(device.segments().len()) {
            let key = format!("{path}.{measurement}");
            let flavours = [HashFlavour::Standard, HashFlavour::SignExtended];
            if flavours.into_iter().any(|flavour| self.contains(stored, &key, flavour)) {
                return Ok(true);
            }
            path.push_str(".null");
        }
        Ok(false)
    }

    /// Whether all bits of `key` are set in the filter's `stored` bytes.
    #[must_use]
    pub fn contains(&self, stored: &[u8], key: &str, flavour: HashFlavour) -> bool {
        SEEDS[..self.hashes].iter().all(|&seed| {
            let bit = position(key.as_bytes(), seed, self.bits, flavour);
            stored.get(bit as usize / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
        })
    }
}

/// The bit of `key` under one seed: low 32 bits of the hash, absolute value, modulo the size.
fn position(key: &[u8], seed: u32, bits: u32, flavour: HashFlavour) -> u32 {
    let hash = murmur3(key, seed, flavour) as u32 as i32;
    // `MIN` has no absolute value and counts as zero.
    hash.checked_abs().unwrap_or(0).unsigned_abs() % bits
}

/// Sum of the two halves of Murmur3 x64-128.
fn murmur3(key: &[u8], seed: u32, flavour: HashFlavour) -> u64 {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mix1 = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix2 = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let (mut h1, mut h2) = (u64::from(seed), u64::from(seed));

    let (blocks, tail) = key.as_chunks::<16>();
    for block in blocks {
        let both = u128::from_le_bytes(*block);
        h1 = (h1 ^ mix1(both as u64)).rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 = (h2 ^ mix2((both >> 64) as u64)).rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }

    let (mut k1, mut k2) = (0u64, 0u64);
    for (i, &byte) in tail.iter().enumerate() {
        let wide = match flavour {
            HashFlavour::Standard => u64::from(byte),
            HashFlavour::SignExtended => i64::from(byte as i8) as u64,
        };
        if i < 8 {
            k1 ^= wide << (8 * i);
        } else {
            k2 ^= wide << (8 * (i - 8));
        }
    }
    if tail.len() > 8 {
        h2 ^= mix2(k2);
    }
    if !tail.is_empty() {
        h1 ^= mix1(k1);
    }

    h1 ^= key.len() as u64;
    h2 ^= key.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1.wrapping_add(h2)
}

fn finish(mut k: u64) -> u64 {
    k = (k ^ (k >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    k = (k ^ (k >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    fn filter(keys: &[&str], flavour: HashFlavour) -> (BloomFilter, Vec<u8>) {
        let (bits, hashes) = (256u32, 5);
        let mut bytes: Vec<u8> = vec![0; 32];
        for key in keys {
            for &seed in &SEEDS[..hashes as usize] {
                let bit = position(key.as_bytes(), seed, bits, flavour);
                bytes[bit as usize / 8] |= 1 << (bit % 8);
            }
        }
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        (BloomFilter::new(0..bytes.len() as u64, bits, hashes).unwrap(), bytes)
    }

    #[test]
    fn murmur3_matches_its_reference() {
        // Murmur3 x64-128 of "hello" with seed 0: halves cbd8a7b341bd9b02 and 5b1e906a48ae1d19.
        let sum = 0xcbd8_a7b3_41bd_9b02u64.wrapping_add(0x5b1e_906a_48ae_1d19);
        assert_eq!(murmur3(b"hello", 0, HashFlavour::Standard), sum);
    }

    #[test]
    fn flavours_differ_only_beyond_ascii() {
        let hash = |key: &str, flavour| murmur3(key.as_bytes(), 5, flavour);
        for key in ["", "root.sg.d1.s1", "root.very.long.path.of.a.device.s123"] {
            assert_eq!(hash(key, HashFlavour::Standard), hash(key, HashFlavour::SignExtended));
        }
        assert_ne!(hash("温度", HashFlavour::Standard), hash("温度", HashFlavour::SignExtended));
    }

    #[test]
    fn a_positive_of_either_flavour_counts() {
        let device = DeviceId::from_path("root.sg.温");
        for flavour in [HashFlavour::Standard, HashFlavour::SignExtended] {
            let (filter, stored) = filter(&["root.sg.温.s"], flavour);
            assert_eq!(filter.may_contain(&stored[..], &device, "s", 0), Ok(true));
            assert_eq!(filter.may_contain(&stored[..], &device, "other", 0), Ok(false));
        }
    }

    #[test]
    fn null_tags_at_the_end_may_be_hashed_or_not() {
        let device = DeviceId::new(vec![Some("t".into()), Some("a".into())]);
        for (key, tags) in [("t.a.v", 1), ("t.a.v", 3), ("t.a.null.null.v", 3)] {
            let (filter, stored) = filter(&[key], HashFlavour::Standard);
            assert_eq!(filter.may_contain(&stored[..], &device, "v", tags), Ok(true), "{key}");
        }
        let (filter, stored) = filter(&["t.a.null.null.v"], HashFlavour::Standard);
        assert_eq!(filter.may_contain(&stored[..], &device, "v", 2), Ok(false));
    }

    #[test]
    fn filters_that_cannot_filter_are_none() {
        assert_eq!(BloomFilter::new(0..1, 0, 3), None);
        assert_eq!(BloomFilter::new(0..1, 256, 0), None);
        assert_eq!(BloomFilter::new(0..1, 256, 9), None);
    }
}
