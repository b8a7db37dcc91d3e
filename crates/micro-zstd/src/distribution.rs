//! Distributions of symbols for finite state entropy: fitted to counts, and described in the frame (RFC 8878,
//! section 4.1.1).

use crate::bits::{BitWriter, highest_bit};
use crate::fse::ACCURACY_MAX;

/// The least accuracy that a description can state.
const ACCURACY_MIN: u32 = 5;

/// The distribution of `N` symbols that fits their counts.
#[derive(Clone, Debug)]
pub(crate) struct Distribution<const N: usize> {
    pub(crate) accuracy: u32,
    /// Sums up to 2^accuracy, where -1 stands for 1.
    pub(crate) of: [i8; N],
}

impl<const N: usize> Distribution<N> {
    /// Fits a distribution of at most the given accuracy; `None` unless there are two symbols or more.
    pub(crate) fn fit(counts: &[u16; N], most: u32) -> Option<Self> {
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
        let mut of = [0_i8; N];
        let mut left = size as i32;
        // One division for all: shares in units of 2^-20.
        let share = (size << 20) / total;
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
    pub(crate) fn cost(&self, counts: &[u16; N]) -> u32 {
        let each = self.of.iter().zip(counts).filter(|(_, count)| **count > 0);
        each.map(|(part, count)| {
            let part = u32::from(part.unsigned_abs());
            u32::from(*count) * ((self.accuracy << 8) - log2(part))
        })
        .sum()
    }

    /// Writes the description from byte `at` of `out` on, and returns where it ends.
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
            let Some(fitted) = Distribution::fit(&counts, 7) else { panic!("{counts:?}") };
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
        let distribution = Distribution { accuracy: 5, of: [31, 0, 0, 0, 0, 1] };
        // Accuracy 0 in 4 bits; 32 of 34 values in 6 bits; 1 for a zero in 2 bits of 4 values or so; zeros 3 + 0.
        assert!(distribution.describe(&mut out, 0).is_some());
        assert_eq!(out[0] & 0xF, 0);
    }

    #[test]
    fn logarithms() {
        assert_eq!([log2(1), log2(2), log2(3), log2(128)], [0, 256, 384, 7 * 256]);
    }
}
