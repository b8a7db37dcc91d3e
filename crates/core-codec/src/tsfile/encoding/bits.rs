//! Bits, most significant first.

use crate::error::ErrorKind;

/// Reads bits from the most significant of each byte on.
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    /// Position in bits.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        // A slice has at most `isize::MAX` bytes, but eight times that passes `usize` where it has 32 bits.
        let most = usize::MAX / 8;
        Self { bytes: &bytes[..bytes.len().min(most)], at: 0 }
    }

    /// Reads `count` bits, at most 64; zeros stand for what is past the end. [`check`](Self::check) tells
    /// afterwards whether any were.
    #[inline]
    pub(crate) fn take(&mut self, count: u32) -> u64 {
        debug_assert!(count <= 64);
        let value = if count <= 57 {
            // Two shifts, since none by 64 is possible.
            self.peek() >> 1 >> (63 - count)
        } else {
            let high = self.peek() >> 32;
            let low = load(self.bytes, (self.at + 32) / 8) << ((self.at + 32) % 8);
            (high << (count - 32)) | low >> (96 - count)
        };
        self.at += count as usize;
        value
    }

    /// Goes on `count` bits.
    #[inline]
    pub(crate) fn skip(&mut self, count: u32) {
        self.at += count as usize;
    }

    /// Whether all bits that were taken were there.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), ErrorKind> {
        if self.at <= self.bytes.len() * 8 { Ok(()) } else { Err(self.truncated(0)) }
    }

    fn truncated(&self, count: u32) -> ErrorKind {
        let needed = (self.at as u64 + u64::from(count)).div_ceil(8);
        ErrorKind::Truncated { needed, available: self.bytes.len() as u64 }
    }

    /// The next 57 bits and more at the top; zeros stand for what is past the end.
    #[inline]
    pub(crate) fn peek(&self) -> u64 {
        load(self.bytes, self.at / 8) << (self.at % 8)
    }

    /// Reads `count` bits, at most 64.
    #[inline]
    pub(crate) fn bits(&mut self, count: u32) -> Result<u64, ErrorKind> {
        debug_assert!(count <= 64);
        let end = self.at + count as usize;
        if end > self.bytes.len() * 8 {
            return Err(self.truncated(count));
        }
        Ok(self.take(count))
    }

    /// Reads one bit.
    #[inline]
    pub(crate) fn bit(&mut self) -> Result<bool, ErrorKind> {
        let byte = self.bytes.get(self.at / 8).ok_or_else(|| self.truncated(1))?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Ok(bit == 1)
    }

    /// Bits from the start on.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Goes on at the next byte border.
    pub(crate) fn align(&mut self) {
        self.at = self.at.next_multiple_of(8);
    }

    /// What follows, from the next byte border on.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at.div_ceil(8)..).unwrap_or_default()
    }
}

/// Eight bytes from `at` on as a big-endian number; zeros stand for what is past the end.
#[inline]
pub(crate) fn load(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(eight) => u64::from_be_bytes(*eight),
        None => {
            let mut eight = [0; 8];
            eight[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(eight)
        }
    }
}

/// Calls `each` with `count` numbers of `width` bits, packed one after another from the first bit of `bytes` on.
///
/// The caller has checked that `bytes` holds them all; zeros stand for what is past the end.
#[inline]
pub(crate) fn unpack(bytes: &[u8], width: u32, count: usize, mut each: impl FnMut(u64)) {
    debug_assert!(width <= 64 && packed_bytes(count, width) <= bytes.len() as u64);
    match width {
        0 => (0..count).for_each(|_| each(0)),
        8 => bytes.iter().take(count).for_each(|&byte| each(byte.into())),
        16 => bytes.as_chunks().0.iter().take(count).for_each(|&two| each(u16::from_be_bytes(two).into())),
        32 => bytes.as_chunks().0.iter().take(count).for_each(|&four| each(u32::from_be_bytes(four).into())),
        64 => bytes.as_chunks().0.iter().take(count).for_each(|&eight| each(u64::from_be_bytes(eight))),
        1..=57 => {
            let shift = 64 - width;
            // Loads of eight bytes stay inside as long as eight bytes are left.
            let bits = bytes.len().saturating_sub(7) * 8;
            let fast = (bits / width as usize).min(count);
            let mut at = 0usize;
            for _ in 0..fast {
                let word = bytes.get(at / 8..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
                each((u64::from_be_bytes(word) << (at % 8)) >> shift);
                at += width as usize;
            }
            for _ in fast..count {
                each((load(bytes, at / 8) << (at % 8)) >> shift);
                at += width as usize;
            }
        }
        _ => {
            let mut at = 0usize;
            for _ in 0..count {
                let high = (load(bytes, at / 8) << (at % 8)) >> 32;
                let low_width = width - 32;
                let low_at = at + 32;
                let low = (load(bytes, low_at / 8) << (low_at % 8)) >> (64 - low_width);
                each((high << low_width) | low);
                at += width as usize;
            }
        }
    }
}

/// Bytes of `count` numbers of `width` bits, padded to a byte.
pub(crate) fn packed_bytes(count: usize, width: u32) -> u64 {
    (count as u64).saturating_mul(width.into()).div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn slow(bytes: &[u8], at: usize, width: u32) -> u64 {
        (at..at + width as usize)
            .fold(0, |value, bit| value << 1 | u64::from(bytes[bit / 8] >> (7 - bit % 8) & 1))
    }

    proptest! {
        #[test]
        fn unpack_equals_bit_by_bit(bytes in prop::collection::vec(any::<u8>(), 0..200), width in 0u32..=64) {
            let count = if width == 0 { 5 } else { bytes.len() * 8 / width as usize };
            let mut found = Vec::new();
            unpack(&bytes, width, count, |value| found.push(value));
            let expected: Vec<u64> = (0..count).map(|i| slow(&bytes, i * width as usize, width)).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn bits_equal_bit_by_bit(bytes: [u8; 40], widths in prop::collection::vec(0u32..=64, 0..20)) {
            let mut reader = BitReader::new(&bytes);
            let mut at = 0;
            for width in widths {
                let found = reader.bits(width);
                if at + width as usize > 320 {
                    prop_assert!(found.is_err());
                    break;
                }
                prop_assert_eq!(found.unwrap(), slow(&bytes, at, width));
                at += width as usize;
            }
        }
    }

    #[test]
    fn the_end_is_an_error() {
        let mut reader = BitReader::new(&[0xff]);
        assert_eq!(reader.bits(7), Ok(0x7f));
        assert_eq!(reader.bits(2), Err(ErrorKind::Truncated { needed: 2, available: 1 }));
        assert_eq!(reader.bit(), Ok(true));
        assert_eq!(reader.bit(), Err(ErrorKind::Truncated { needed: 2, available: 1 }));
    }
}
