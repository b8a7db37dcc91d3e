//! The bit streams of compressed blocks, which are written forward and read backward.

/// Bytes that four flushes may touch: up to 15 before the last of them, and its four.
pub(crate) type Room = [u8; 20];

/// Writes bits from the least significant one of the first byte on.
///
/// A writer that runs into `limit` writes no more and says so in the end: see [`BitWriter::finish`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitWriter {
    accumulator: u32,
    /// Bits in the accumulator.
    bits: u32,
    at: usize,
}

impl BitWriter {
    /// Writes from byte `at` of the slice on that is given to [`flush`](Self::flush).
    pub(crate) fn new(at: usize) -> Self {
        Self { accumulator: 0, bits: 0, at }
    }

    /// Adds the low `bits` bits of `value`, whose other bits are zero. Up to 24 bits may be added between flushes.
    #[inline(always)]
    pub(crate) fn add(&mut self, value: u32, bits: u32) {
        self.accumulator |= value.wrapping_shl(self.bits);
        self.bits += bits;
    }

    /// Moves whole bytes to `out`; false if it has fewer than four left.
    #[inline(always)]
    #[must_use]
    pub(crate) fn flush(&mut self, out: &mut [u8]) -> bool {
        let Some(slot) = out.get_mut(self.at..).and_then(|rest| rest.first_chunk_mut()) else { return false };
        *slot = self.accumulator.to_le_bytes();
        self.at += (self.bits >> 3) as usize;
        self.accumulator >>= self.bits & 24;
        self.bits &= 7;
        true
    }

    /// The next bytes of `out`: room for four times [`flush_within`](Self::flush_within), then [`skip`](Self::skip).
    #[inline(always)]
    pub(crate) fn room<'a>(&self, out: &'a mut [u8]) -> Option<&'a mut Room> {
        out.get_mut(self.at..)?.first_chunk_mut()
    }

    /// Moves whole bytes to `room`, `offset` bytes in; returns how far in the next ones go. Needs no check of bounds:
    /// a flush moves three bytes at the most.
    #[inline(always)]
    pub(crate) fn flush_within(&mut self, room: &mut Room, offset: usize) -> usize {
        if let Some(slot) = room.get_mut(offset & 15..).and_then(|rest| rest.first_chunk_mut()) {
            *slot = self.accumulator.to_le_bytes();
        }
        let bytes = self.bits >> 3;
        self.accumulator >>= self.bits & 24;
        self.bits &= 7;
        offset + bytes as usize
    }

    /// Goes on behind what was moved to the room.
    #[inline(always)]
    pub(crate) fn skip(&mut self, offset: usize) {
        self.at += offset;
    }

    /// Flushes, fills the last byte with zeros, and returns where it ends.
    #[must_use]
    pub(crate) fn align(mut self, out: &mut [u8]) -> Option<usize> {
        self.flush(out).then_some(self.at + usize::from(self.bits > 0))
    }

    /// Adds the final set bit, flushes, and returns where the bytes end.
    #[must_use]
    pub(crate) fn finish(mut self, out: &mut [u8]) -> Option<usize> {
        self.add(1, 1);
        self.align(out)
    }
}

/// The position of the highest set bit; 0 for 0.
#[inline(always)]
pub(crate) fn highest_bit(value: u32) -> u32 {
    (value | 1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_fill_bytes_from_the_low_end() {
        let mut out = [0; 8];
        let mut writer = BitWriter::new(1);
        writer.add(0b101, 3);
        writer.add(0x1F_FFFF, 21);
        assert!(writer.flush(&mut out));
        writer.add(0, 0);
        writer.add(0b01, 2);
        assert_eq!(writer.finish(&mut out), Some(5));
        assert_eq!(out, [0, 0b1111_1101, 0xFF, 0xFF, 0b101, 0, 0, 0]);
    }

    #[test]
    fn a_full_slice_is_noticed() {
        let mut writer = BitWriter::new(1);
        writer.add(1, 1);
        assert!(!writer.flush(&mut [0; 4]));
        assert_eq!(writer.finish(&mut [0; 4]), None);
    }
}
