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

/// Where the first run of at least eight bytes starts, or else the run that ends `bytes`: what stands before is
/// final, whatever follows `bytes`.
pub(crate) fn next_run(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<4>();
    for (index, word) in words.iter().enumerate() {
        // A run of seven bytes or more fills one of the words.
        let value = u32::from_le_bytes(*word);
        if value == value.rotate_left(8) {
            let (before, from) = bytes.split_at_checked(index * 4).unwrap_or_default();
            let back = run_length_back(before, word[0]);
            let run = back + from.iter().take(8).take_while(|found| **found == word[0]).count();
            if run >= 8 || run == back + from.len() {
                return before.len() - back;
            }
        }
    }
    bytes.len() - bytes.last().map_or(0, |last| run_length_back(bytes, *last))
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
    fn the_first_long_run_is_found_wherever_it_stands() {
        for start in 0..40 {
            for len in 1..24 {
                let mut bytes: [u8; 64] = core::array::from_fn(|i| 0x80 | i as u8);
                bytes[start..start + len].fill(1);
                let expected = if len >= 8 { start } else { 63 };
                assert_eq!(next_run(&bytes), expected, "{len} at {start}");
                assert_eq!(next_run(&bytes[..start + len]), start, "{len} at {start}, at the end");
            }
        }
        assert_eq!(next_run(&[]), 0);
    }
}
