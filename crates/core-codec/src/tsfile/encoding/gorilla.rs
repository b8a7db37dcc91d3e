//! GORILLA: the first value, then for each `0` (the same), `10` and the bits of the last window, or `11`, leading
//! zeros, significant bits less one, and the bits.

use alloc::vec::Vec;

use super::Word;
use super::bits::BitReader;
use crate::error::ErrorKind;

/// Where the bits of the last XOR stood.
#[derive(Clone, Copy)]
pub(super) struct Window {
    leading: u32,
    significant: u32,
}

impl Window {
    /// Before any was written, `10` cannot stand.
    pub(super) const NONE: Self = Self { leading: 0, significant: 0 };

    /// The XOR with the previous value, with the window that it leaves behind.
    ///
    /// What stands in front of the bits is looked at in one word, since this is where the time goes: a call a value
    /// would take a third more.
    #[inline(always)]
    pub(super) fn read<T: Word>(&mut self, bits: &mut BitReader<'_>) -> Result<u64, ErrorKind> {
        let word = bits.peek();
        match word >> 62 {
            0 | 1 => {
                bits.skip(1);
                return bits.check().map(|()| 0);
            }
            2 => {
                bits.skip(2);
                if self.significant == 0 {
                    return Err(ErrorKind::Invalid("window used before one was set"));
                }
            }
            _ => {
                // Five or six bits each.
                let size = T::BITS.trailing_zeros();
                let both = (word << 2 >> (64 - 2 * size)) as u32;
                bits.skip(2 + 2 * size);
                self.leading = both >> size;
                self.significant = (both & (T::BITS - 1)) + 1;
                if self.leading + self.significant > T::BITS {
                    return Err(ErrorKind::Invalid("window passes the width of the value"));
                }
            }
        }
        let trailing = T::BITS - self.leading - self.significant;
        let xor = bits.take(self.significant) << trailing;
        bits.check()?;
        Ok(xor)
    }
}

/// Appends `count` values.
///
/// # Errors
/// What is wrong with the stream.
pub fn decode<'a, T: Word>(input: &'a [u8], count: usize, out: &mut Vec<T>) -> Result<&'a [u8], ErrorKind> {
    if count == 0 {
        return Ok(input);
    }
    let mut bits = BitReader::new(input);
    let mut value = bits.bits(T::BITS)?;
    // A value takes a bit at least.
    if count > input.len().saturating_mul(8) {
        return Err(ErrorKind::Truncated { needed: count as u64 / 8, available: input.len() as u64 });
    }
    let start = out.len();
    out.resize(start + count, T::from_word(value));
    let mut window = Window::NONE;
    for slot in &mut out[start + 1..] {
        value ^= window.read::<T>(&mut bits)?;
        *slot = T::from_word(value);
    }
    Ok(bits.rest())
}

#[cfg(test)]
#[allow(clippy::unusual_byte_groupings, reason = "grouped as the fields of the stream")]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn same_new_window_and_old_window() {
        // 1; same; xor 0b11 with a new window (leading 30, two bits); xor 0b01 in the same window; 0 padding.
        let bits = [0b0_11_11110, 0b00001_11_1, 0b0_01_00000];
        let stream = [&1i32.to_be_bytes()[..], &bits].concat();
        let mut out: Vec<i32> = vec![];
        assert!(decode(&stream, 4, &mut out).unwrap().is_empty());
        assert_eq!(out, [1, 1, 2, 3]);
    }

    #[test]
    fn the_end_marker_is_a_value_like_others() {
        // NaN, then seven times the same; the stream never says where it ends.
        let stream = [&f64::NAN.to_bits().to_be_bytes()[..], &[0]].concat();
        let mut out: Vec<f64> = vec![];
        decode(&stream, 8, &mut out).unwrap();
        assert!(out.len() == 8 && out.iter().all(|value| value.is_nan()));
        let stream = [&i32::MIN.to_be_bytes()[..], &[0]].concat();
        let mut out: Vec<i32> = vec![];
        decode(&stream, 3, &mut out).unwrap();
        assert_eq!(out, [i32::MIN; 3]);
    }

    #[test]
    fn malformed_streams_are_errors() {
        let mut out: Vec<i32> = vec![];
        assert!(decode(&[0, 0, 0], 1, &mut out).is_err());
        // `10` first.
        assert!(decode(&[0, 0, 0, 0, 0b1000_0000, 0], 2, &mut out).is_err());
        // Leading 31 and 32 significant bits.
        assert!(decode(&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 2, &mut out).is_err());
        assert!(decode(&[0, 0, 0, 0, 0], 1_000_000, &mut out).is_err());
    }
}
