//! Runs of one byte, found a word at a time.

/// How many bytes at the front of `bytes` are `byte`.
pub(crate) fn run_length(bytes: &[u8], byte: u8) -> usize {
    let word = u32::from_le_bytes([byte; 4]);
    let (groups, _) = bytes.as_chunks::<16>();
    let mut run = 0;
    for group in groups {
        let (words, _) = group.as_chunks::<4>();
        if words.iter().any(|found| u32::from_le_bytes(*found) != word) {
            break;
        }
        run += 16;
    }
    run + bytes.get(run..).unwrap_or_default().iter().take_while(|found| **found == byte).count()
}

/// How many bytes at the back of `bytes` are `byte`.
pub(crate) fn run_length_back(bytes: &[u8], byte: u8) -> usize {
    bytes.iter().rev().take_while(|found| **found == byte).count()
}

/// Copies bytes up to the first run of at least eight bytes, or else to the run that ends `from`: what stands
/// before is final, whatever follows. Returns how many those are; `to` has room for them, and may be written
/// behind them too.
pub(crate) fn copy_to_run(from: &[u8], to: &mut [u8]) -> usize {
    // A run of eight fills a word and the first byte of the next. Of most data, to look at every fourth byte is
    // enough to know that there is none. And where words must be loaded a byte at a time, as on targets that
    // are strict about alignment, the copy costs least along with that.
    let (groups, _) = from.as_chunks::<16>();
    let (rooms, _) = to.as_chunks_mut::<16>();
    let (mut start, mut before) = (0, None);
    let mut found = None;
    for (room, group) in rooms.iter_mut().zip(groups) {
        let &[a, a1, _, _, b, b1, _, _, c, c1, _, _, d, d1, _, _] = group;
        if before == Some(a) || a == b && a == a1 || b == c && b == b1 || c == d && c == c1 {
            found = run_among(from, start, 16);
            if found.is_some() {
                break;
            }
        }
        *room = *group;
        before = (d == d1).then_some(d);
        start += 16;
    }
    let end = || from.len() - from.last().map_or(0, |last| run_length_back(from, *last));
    let end = found.or_else(|| run_among(from, start, from.len() - start)).unwrap_or_else(end);
    let rest = from.get(start..end).unwrap_or_default();
    for (to, from) in to.get_mut(start..).unwrap_or_default().iter_mut().zip(rest) {
        *to = *from;
    }
    end
}

/// Where the first run of at least eight bytes starts that fills one of the words from `start` on, for `len`
/// bytes, or the word before.
#[inline(never)]
fn run_among(bytes: &[u8], start: usize, len: usize) -> Option<usize> {
    let start = start.saturating_sub(4);
    let (words, _) = bytes.get(start..)?.as_chunks::<4>();
    for (index, &[first, second, third, fourth]) in words.iter().take(len / 4 + 1).enumerate() {
        if first == second && first == third && first == fourth {
            let (before, from) = bytes.split_at_checked(start + index * 4)?;
            let back = run_length_back(before, first);
            if back + from.iter().take(8).take_while(|found| **found == first).count() >= 8 {
                return Some(before.len() - back);
            }
        }
    }
    None
}

/// How many bytes `a` and `b` have in common at the front.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let (words_a, _) = a.as_chunks::<4>();
    let (words_b, _) = b.as_chunks::<4>();
    let mut common = 0;
    for (x, y) in words_a.iter().zip(words_b) {
        let differs = u32::from_le_bytes(*x) ^ u32::from_le_bytes(*y);
        if differs != 0 {
            return common + (differs.trailing_zeros() / 8) as usize;
        }
        common += 4;
    }
    let rest_a = a.get(common..).unwrap_or_default();
    let rest_b = b.get(common..).unwrap_or_default();
    common + rest_a.iter().zip(rest_b).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_where_the_byte_changes() {
        for len in 0..100 {
            let mut bytes = [7; 100];
            bytes[len] = 8;
            assert_eq!(run_length(&bytes, 7), len);
            assert_eq!(run_length(&bytes[..len], 7), len);
            assert_eq!(run_length_back(&bytes, 7), 99 - len);
        }
    }

    #[test]
    fn prefixes_are_common_up_to_the_first_difference() {
        let a: [u8; 40] = core::array::from_fn(|i| i as u8);
        for len in 0..40 {
            let mut b = a;
            b[len] ^= 0x80;
            assert_eq!(common_prefix(&a, &b), len);
            assert_eq!(common_prefix(&a, &b[..len]), len);
            assert_eq!(common_prefix(&a[1..=len], &a[1..]), len);
        }
    }

    #[test]
    fn copies_up_to_the_first_long_run_wherever_it_stands() {
        for start in 0..40 {
            for len in 1..24 {
                let mut bytes: [u8; 64] = core::array::from_fn(|i| 0x80 | i as u8);
                bytes[start..start + len].fill(1);
                let check = |from: &[u8], room: usize, expected: usize| {
                    let mut to = [0; 64];
                    assert_eq!(
                        copy_to_run(from, &mut to[..room]),
                        expected,
                        "{len} at {start} of {}",
                        from.len()
                    );
                    assert_eq!(to[..expected], from[..expected]);
                };
                let expected = if len >= 8 { start } else { 63 };
                check(&bytes, 64, expected);
                check(&bytes, 63, expected);
                check(&bytes[..start + len], 64, start);
                check(&bytes[..start + len], start, start);
            }
        }
        assert_eq!(copy_to_run(&[], &mut []), 0);
    }
}
