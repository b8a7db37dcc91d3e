//! Content around every boundary of the format: where a code, a size format or a limit changes.

mod common;

use common::{check, encode};
use micro_zstd::{Entropy, Fast, FrameEncoder, Xxh64};

/// Bytes that look like noise, without four in a row that come again soon.
fn noise(len: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 11) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// As noise, of 16 different bytes only.
fn few(len: usize, seed: u32) -> Vec<u8> {
    noise(len, seed).into_iter().map(|byte| byte & 15).collect()
}

/// One encoder of each level with a window, large enough for what is tested, and the default ones.
#[derive(Default)]
struct Levels {
    fast: Fast,
    fast_large: Fast<32768, 4096, 65536>,
    entropy: Entropy,
    entropy_large: Entropy<32768, 4096, 65536, Xxh64>,
}

impl Levels {
    fn check(&mut self, content: &[u8], what: &str) {
        check(&mut self.fast, content, &format!("fast, {what}"));
        check(&mut self.fast_large, content, &format!("fast, large, {what}"));
        check(&mut self.entropy, content, &format!("entropy, {what}"));
        check(&mut self.entropy_large, content, &format!("entropy, large, {what}"));
    }
}

/// Each value, and its neighbours.
fn around(values: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut around: Vec<_> =
        values.into_iter().flat_map(|value| value.saturating_sub(1)..=value + 1).collect();
    around.dedup();
    around
}

#[test]
fn literal_lengths() {
    let mut levels = Levels::default();
    // Where codes begin, and where a stored sequence needs a second word (255).
    for len in
        around([1, 16, 18, 20, 22, 24, 28, 32, 40, 48, 64, 128, 255, 256, 512, 1024, 2048, 4096, 8192, 16384])
    {
        // The literals stand between two matches of the same string.
        let string = noise(40, 1);
        let content = [&string[..], &string, &noise(len, 2), &string, &noise(3, 4)].concat();
        levels.check(&content, &format!("{len} literals"));
    }
}

#[test]
fn match_lengths() {
    let mut levels = Levels::default();
    let codes = [
        4, 6, 8, 35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 258, 259, 515, 1027, 2051, 4099, 8195,
        16387,
    ];
    for len in around(codes) {
        let string = noise(len, 3);
        let content = [&string[..], &noise(20, 4), &string, &noise(20, 5)].concat();
        levels.check(&content, &format!("a match of {len}"));
        // A match that overlaps itself, not long enough for a block of its own.
        let content = [&noise(20, 6)[..], &vec![7; len], &noise(20, 7)].concat();
        levels.check(&content, &format!("a run of {len}"));
    }
}

#[test]
fn offsets() {
    let mut levels = Levels::default();
    // Powers of two less 3 begin a code; the default windows end at 4096, their halves at 2048.
    for offset in around((3..=15).flat_map(|code| [1 << code, (1 << code) - 3])) {
        let string = noise(8.min(offset), 8);
        let content = [&string[..], &noise(offset - string.len(), 9), &string, &noise(5, 10)].concat();
        levels.check(&content, &format!("an offset of {offset}"));
    }
}

#[test]
fn numbers_of_sequences() {
    let mut levels = Levels::default();
    // The number takes a second byte from 128 on.
    for count in around([1, 2, 127, 128, 255, 256, 512]) {
        let words: Vec<Vec<u8>> = (0..16).map(|seed| noise(9, seed + 11)).collect();
        let mut content = words.concat();
        for (index, byte) in noise(count, 99).into_iter().enumerate() {
            content.extend_from_slice(&words[usize::from(byte & 15)]);
            content.push(index as u8);
        }
        levels.check(&content, &format!("{count} sequences"));
    }
}

#[test]
fn sizes_of_literals_sections() {
    let mut levels = Levels::default();
    // Raw: 32 and 4096; Huffman: 1024, the four streams and their rounding, and 16384.
    for len in around([6, 12, 32, 63, 256, 1023, 1025, 1028, 2046, 4096, 16383, 16386]) {
        levels.check(&few(len, 12), &format!("{len} literals of 16 values"));
        let content = [&few(len, 13)[..], &[200; 100], &few(10, 14)].concat();
        levels.check(&content, &format!("{len} literals of 16 values and a match"));
        let same = [&[1; 1][..], &[2, 1].repeat(len / 2)].concat();
        levels.check(&same, &format!("{len} bytes of period 2"));
    }
}

#[test]
fn skewed_literals() {
    let mut levels = Levels::default();
    // Counts like Fibonacci's make the longest codes: more than the 11 bits that are allowed.
    let (mut a, mut b) = (1, 1);
    let mut content = Vec::new();
    for symbol in 0..20_u8 {
        content.extend(std::iter::repeat_n(symbol.wrapping_mul(37), a));
        (a, b) = (b, a + b);
    }
    // Shuffled, so that no matches hide them.
    let mut state = 1_u32;
    for at in (1..content.len()).rev() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        content.swap(at, state as usize % (at + 1));
    }
    for len in [20, 100, 1000, 4096, content.len()] {
        levels.check(&content[..len], &format!("{len} literals of Fibonacci's counts"));
    }
    // All bytes, almost all, and few, each in the first block or only later.
    for kinds in [2, 3, 127, 128, 129, 130, 200, 255, 256] {
        let some: Vec<u8> =
            noise(6000, 15).into_iter().map(|byte| (usize::from(byte) % kinds) as u8).collect();
        let more = [&some[..], &few(3000, 16), &noise(3000, 17), &some].concat();
        levels.check(&some, &format!("{kinds} different literals"));
        levels.check(&more, &format!("{kinds} different literals, then others"));
    }
}

#[test]
fn edges_of_the_window() {
    let mut levels = Levels::default();
    for len in around([2048, 4096, 6144, 8192, 32768, 49152, 65536]) {
        levels.check(&few(len, 18), &format!("{len} bytes"));
        let period = noise(300, 19).repeat(len.div_ceil(300));
        levels.check(&period[..len], &format!("{len} bytes of period 300"));
        let idle = [&vec![0; len][..], &noise(100, 20), &vec![0; len], &noise(100, 20)].concat();
        levels.check(&idle, &format!("twice {len} idle bytes"));
    }
}

#[test]
fn blocks_of_128_kib() {
    let mut levels = Levels::default();
    for len in around([128 << 10]) {
        levels.check(&vec![5; len], &format!("{len} equal bytes"));
        levels.check(&noise(len, 21), &format!("{len} bytes of noise"));
        let content = [&vec![5; len][..], &few(5000, 22), &vec![5; len + 3], &few(5000, 22)].concat();
        levels.check(&content, &format!("{len} equal bytes between others"));
    }
}

/// What an encoder found in one frame is not there for the next, also where that starts with a run.
#[test]
fn a_frame_does_not_depend_on_the_one_before() {
    let shared = noise(40, 1);
    let ten = noise(10, 2);
    let before = [&ten[..], &ten, &ten, b"abc", &shared, &noise(9, 3)].concat();
    let part = &shared[..20];
    let content = [&[0; 128][..], &noise(33, 4), part, &noise(44, 5), part, &noise(20, 6)].concat();
    fn same<E: FrameEncoder>([mut fresh, mut used]: [E; 2], before: &[u8], content: &[u8]) {
        let expected = encode(&mut fresh, None, content, &[usize::MAX]);
        encode(&mut used, None, before, &[usize::MAX]);
        assert_eq!(encode(&mut used, None, content, &[usize::MAX]), expected);
    }
    same([<Fast>::new(), <Fast>::new()], &before, &content);
    same([<Entropy>::new(), <Entropy>::new()], &before, &content);
}
