//! Distributions of symbols for finite state entropy: fitted to counts, and described in the frame (RFC 8878,
//! section 4.1.1).

use crate::bits::{BitWriter, highest_bit};
use crate::fse::ACCURACY_MAX;

/// The least accuracy that a description can state.
const ACCURACY_MIN: u32 = 5;

/// No kind of symbols has more.
const SYMBOLS: usize = 53;

/// The distribution of symbols that fits their counts.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    pub(crate) accuracy: u32,
    /// Sums up to 2^accuracy, where -1 stands for 1.
    pub(crate) of: [i8; SYMBOLS],
}

impl Distribution {
    /// Fits a distribution of at most the given accuracy; `None` unless there are two symbols or more.
    #[inline(never)]
    pub(crate) fn fit(counts: &[u16], most: u32) -> Option<Self> {
        let mut total = 0;
        let (mut present, mut largest, mut last) = (0, 0, 0);
        for (symbol, &count) in counts.iter().enumerate() {
            if count > 0 {
                total += u32::from(count);
                present += 1;
                last = symbol as u32;
                if counts.get(largest).is_none_or(|most| count > *most) {
                    largest = symbol;
                }
            }
        }
        if present < 2 {
            return None;
        }
        // More accuracy than the counts have is waste; less than the symbols need cannot be.
        let least = (highest_bit(total) + 1).min(highest_bit(last) + 2).max(ACCURACY_MIN);
        let accuracy = highest_bit(total - 1).saturating_sub(2).max(least).min(most.min(ACCURACY_MAX));
        let size = 1_u32 << accuracy;
        let mut of = [0_i8; SYMBOLS];
        let mut left = size as i32;
        // One division for all: shares in units of 2^-20.
        let share = (size << 20).checked_div(total)?;
        for (share_of, &count) in of.iter_mut().zip(counts) {
            if count > 0 {
                let part = ((u32::from(count) * share + (1 << 19)) >> 20) as i32;
                *share_of = if part == 0 { -1 } else { part.min(i32::from(i8::MAX)) as i8 };
                left -= i32::from(share_of.unsigned_abs());
            }
        }
        let slot = of.get_mut(largest)?;
        let rest = i32::from(*slot) + left;
        // The largest makes up for what rounding took or gave; where it cannot, no table fits.
        if rest < 1 || rest > i32::from(i8::MAX) {
            return None;
        }
        *slot = rest as i8;
        Some(Self { accuracy, of })
    }

    /// Bits in 1/256 that symbols of these counts take, about.
    #[inline(never)]
    pub(crate) fn cost(&self, counts: &[u16]) -> u32 {
        let each = self.of.iter().zip(counts).filter(|(_, count)| **count > 0);
        each.map(|(part, count)| {
            let part = u32::from(part.unsigned_abs());
            u32::from(*count) * ((self.accuracy << 8) - log2(part))
        })
        .sum()
    }

    /// Writes the description from byte `at` of `out` on, and returns where it ends.
    #[inline(never)]
    pub(crate) fn describe(&self, out: &mut [u8], at: usize) -> Option<usize> {
        let mut writer = BitWriter::new(at);
        writer.add(self.accuracy - ACCURACY_MIN, 4);
        let mut remaining = (1_i32 << self.accuracy) + 1;
        let mut threshold = 1_i32 << self.accuracy;
        let mut bits = self.accuracy + 1;
        let mut symbols = self.of.iter();
        while remaining > 1 {
            let part = i32::from(*symbols.next()?);
            let most = 2 * threshold - 1 - remaining;
            remaining -= part.abs();
            let mut value = part + 1;
            if value >= threshold {
                value += most;
            }
            writer.add(value as u32, bits - u32::from(value < most));
            while remaining < threshold && threshold > 1 {
                bits -= 1;
                threshold >>= 1;
            }
            if !writer.flush(out) {
                return None;
            }
            if part == 0 {
                // The number of zeros that follow, in digits to the base of 3.
                let rest = symbols.as_slice();
                let mut zeros = rest.iter().take_while(|part| **part == 0).count();
                symbols = rest.get(zeros..)?.iter();
                while zeros >= 3 {
                    writer.add(3, 2);
                    zeros -= 3;
                    if !writer.flush(out) {
                        return None;
                    }
                }
                writer.add(zeros as u32, 2);
            }
        }
        writer.align(out)
    }
}

/// The logarithm to the base of 2, in 1/256, between powers of two on a straight line.
pub(crate) fn log2(value: u32) -> u32 {
    let whole = highest_bit(value);
    (whole << 8) + ((value << 8) >> whole) - 256
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_sum_up() {
        for counts in [[1, 1, 0, 0], [1, 1000, 0, 1], [5, 6, 7, 8], [0, 0, 1, 65535], [33, 0, 1, 1]] {
            let Some(fitted) = Distribution::fit(&counts[..], 7) else { panic!("{counts:?}") };
            let sum: i32 = fitted.of.iter().map(|part| i32::from(part.abs())).sum();
            assert_eq!(sum, 1 << fitted.accuracy, "{counts:?}: {fitted:?}");
            assert!(fitted.of.iter().zip(counts).all(|(part, count)| (*part != 0) == (count != 0)));
        }
        assert!(Distribution::fit(&[0, 7, 0], 7).is_none());
        assert!(Distribution::fit(&[0; 3], 7).is_none());
    }

    #[test]
    fn a_description_reads_as_the_rfc_lays_it_out() {
        let mut out = [0; 16];
        let mut distribution = Distribution { accuracy: 5, of: [0; SYMBOLS] };
        (distribution.of[0], distribution.of[5]) = (31, 1);
        // The accuracy less 5 in 4 bits. 31 + 1 of 0 to 33, of which 31 and up take 6 bits, behind a gap of 30.
        // 0 + 1 of 0 to 2, of which 0 takes a bit, others two. Three more zeros, and none. 1 + 1 in the same way.
        assert_eq!(distribution.describe(&mut out, 0), Some(3));
        let bits = 62 << 4 | 0b01 << 10 | 0b11 << 12 | 0b11 << 16;
        assert_eq!(out[..3], u32::to_le_bytes(bits)[..3]);
    }

    #[test]
    fn logarithms() {
        assert_eq!([log2(1), log2(2), log2(3), log2(128)], [0, 256, 384, 7 * 256]);
    }
}
