//! The byte shuffle: all first bytes of the elements, then all second bytes, and so on.
//!
//! ```
//! use core_codec::codec::shuffle;
//!
//! let mut planes = [0; 6];
//! shuffle::shuffle(&[1, 10, 2, 20, 3, 30], 2, &mut planes);
//! assert_eq!(planes, [1, 2, 3, 10, 20, 30]);
//! ```

use alloc::vec::Vec;

/// Elements of one step of the kernels.
const LANES: usize = 8;

/// Splits `data`, elements of `width` bytes, into its byte planes.
///
/// # Panics
/// When the lengths differ or are not a multiple of `width`.
pub fn shuffle(data: &[u8], width: usize, planes: &mut [u8]) {
    assert_eq!(data.len(), planes.len());
    assert!(width > 0 && data.len().is_multiple_of(width));
    let count = data.len() / width;
    match width {
        1 => planes.copy_from_slice(data),
        2 => split2(data, split_mut(planes, count)),
        4 => split4(data, split_mut(planes, count)),
        8 => split8(data, split_mut(planes, count)),
        _ => split_any(data, &mut planes.chunks_mut(count.max(1)).collect::<Vec<_>>(), 0),
    }
}

/// Splits elements into byte planes that stand apart, each as long as there are elements.
///
/// # Panics
/// When `data` is not one element for each byte of a plane, or one of them is shorter than the first.
pub fn split(data: &[u8], planes: &mut [&mut [u8]]) {
    let count = planes.first().map_or(0, |plane| plane.len());
    assert_eq!(data.len(), count * planes.len());
    assert!(planes.iter().all(|plane| plane.len() >= count));
    match planes {
        [only] => only.copy_from_slice(data),
        [a, b] => split2(data, [a, b]),
        [a, b, c, d] => split4(data, [a, b, c, d]),
        [a, b, c, d, e, f, g, h] => split8(data, [a, b, c, d, e, f, g, h]),
        _ => split_any(data, planes, 0),
    }
}

/// Joins the byte planes of whole elements: `out` gets the elements from `first` on, as many as fit.
///
/// Parts of the elements can be joined independently, for instance on several threads.
///
/// # Panics
/// When `planes` or `out` is not a multiple of `width`, or the elements asked for are not all in `planes`.
pub fn unshuffle(planes: &[u8], width: usize, first: usize, out: &mut [u8]) {
    assert!(width > 0 && planes.len().is_multiple_of(width));
    let count = planes.len() / width;
    let plane = |p: usize| &planes[p * count + first..(p + 1) * count];
    match width {
        1 => join(&[plane(0)], out),
        2 => join(&[plane(0), plane(1)], out),
        4 => join(&core::array::from_fn::<_, 4, _>(plane), out),
        8 => join(&core::array::from_fn::<_, 8, _>(plane), out),
        _ => join_any(plane, width, 0, out),
    }
}

/// Joins byte planes that stand apart: `out` gets as many elements as fit.
///
/// # Panics
/// When `out` is not a multiple of the number of planes, or one of them is shorter than the elements need.
pub fn join(planes: &[&[u8]], out: &mut [u8]) {
    let width = planes.len();
    assert!(width > 0 && out.len().is_multiple_of(width));
    let wanted = out.len() / width;
    assert!(planes.iter().all(|plane| plane.len() >= wanted));
    match *planes {
        [only] => out.copy_from_slice(&only[..wanted]),
        [low, high] => {
            let pairs = low[..wanted].iter().zip(&high[..wanted]);
            for (element, (low, high)) in out.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
                *element = [*low, *high];
            }
        }
        [a, b, c, d] => join4([a, b, c, d], out),
        [a, b, c, d, e, f, g, h] => join8([a, b, c, d, e, f, g, h], out),
        _ => join_any(|p| planes[p], width, 0, out),
    }
}

/// The plain definition, from element `from` on.
fn split_any(data: &[u8], planes: &mut [&mut [u8]], from: usize) {
    for (i, element) in data.chunks_exact(planes.len().max(1)).enumerate().skip(from) {
        for (plane, &byte) in planes.iter_mut().zip(element) {
            plane[i] = byte;
        }
    }
}

/// The plain definition, from element `from` of `out` on.
fn join_any<'a>(plane: impl Fn(usize) -> &'a [u8], width: usize, from: usize, out: &mut [u8]) {
    for (i, element) in out.chunks_exact_mut(width).enumerate().skip(from) {
        for (p, byte) in element.iter_mut().enumerate() {
            *byte = plane(p)[i];
        }
    }
}

/// Exchanges the high `shift` bits of each half-word of `low` with the low ones of `high`, where `mask` selects
/// the low ones: one step of a transposition.
#[inline(always)]
fn exchange(words: &mut [u64], low: usize, high: usize, shift: u32, mask: u64) {
    let swap = ((words[low] >> shift) ^ words[high]) & mask;
    words[high] ^= swap;
    words[low] ^= swap << shift;
}

const HALVES: u64 = 0x0000_0000_ffff_ffff;
const QUARTERS: u64 = 0x0000_ffff_0000_ffff;
const BYTES: u64 = 0x00ff_00ff_00ff_00ff;

/// Transposes two squares of 4 x 4 bytes, one in each half of the words; it is its own inverse.
#[inline(always)]
fn transpose4(mut words: [u64; 4]) -> [u64; 4] {
    for i in 0..2 {
        exchange(&mut words, i, i + 2, 16, QUARTERS);
    }
    for i in [0, 2] {
        exchange(&mut words, i, i + 1, 8, BYTES);
    }
    words
}

fn split_mut<const N: usize>(mut planes: &mut [u8], count: usize) -> [&mut [u8]; N] {
    core::array::from_fn(|_| {
        let (plane, rest) = core::mem::take(&mut planes).split_at_mut(count);
        planes = rest;
        plane
    })
}

/// Elements of 8 bytes whose planes are put together before they are copied to their places: planes of a large
/// array may stand so far apart that they contend for the same lines of a cache.
const RUN: usize = 512;

/// Elements of 8 bytes that are transposed at once.
const ROW: usize = 16;

/// Interleaves the halves of 16 x 8 bytes: the number of each byte, in binary, is rotated by one place.
#[inline(always)]
fn riffle(bytes: [u8; 8 * ROW]) -> [u8; 8 * ROW] {
    let (first, second) = bytes.split_at(4 * ROW);
    let mut out = [0; 8 * ROW];
    for (pair, (a, b)) in out.as_chunks_mut::<2>().0.iter_mut().zip(first.iter().zip(second)) {
        *pair = [*a, *b];
    }
    out
}

fn split8(data: &[u8], mut planes: [&mut [u8]; 8]) {
    let count = data.len() / 8;
    let whole = count - count % ROW;
    let mut local = [[0; RUN]; 8];
    for (run, chunk) in data[..8 * whole].chunks(8 * RUN).enumerate() {
        for (i, group) in chunk.as_chunks::<{ 8 * ROW }>().0.iter().enumerate() {
            // Four bits of a byte's number tell its element, three its place there: four rotations exchange them.
            let rows = riffle(riffle(riffle(riffle(*group))));
            for (plane, row) in local.iter_mut().zip(rows.as_chunks::<ROW>().0) {
                plane[i * ROW..(i + 1) * ROW].copy_from_slice(row);
            }
        }
        let len = chunk.len() / 8;
        for (plane, local) in planes.iter_mut().zip(&local) {
            plane[run * RUN..][..len].copy_from_slice(&local[..len]);
        }
    }
    split_any(data, &mut planes, whole);
}

fn join8(planes: [&[u8]; 8], out: &mut [u8]) {
    let groups = planes.map(|plane| plane.as_chunks::<ROW>().0);
    let done = out.len() / 8 / ROW * ROW;
    for (i, group) in out.as_chunks_mut::<{ 8 * ROW }>().0.iter_mut().enumerate() {
        let mut rows = [0; 8 * ROW];
        for (row, plane) in rows.as_chunks_mut::<ROW>().0.iter_mut().zip(groups) {
            *row = plane[i];
        }
        *group = riffle(riffle(riffle(rows)));
    }
    join_any(|p| planes[p], 8, done, out);
}

/// The four low bytes of the four pairs in a word, together.
#[inline(always)]
fn low_bytes(word: u64) -> u64 {
    let pairs = word & BYTES;
    let fours = (pairs | pairs >> 8) & QUARTERS;
    (fours | fours >> 16) & HALVES
}

fn split2(data: &[u8], mut planes: [&mut [u8]; 2]) {
    let [low, high] = planes.each_mut().map(|plane| plane.as_chunks_mut::<LANES>().0);
    let groups = data.as_chunks::<{ 2 * LANES }>().0;
    for ((group, low), high) in groups.iter().zip(low).zip(high) {
        let (first, second) = (word(group, 0), word(group, 8));
        *low = (low_bytes(first) | low_bytes(second) << 32).to_le_bytes();
        *high = (low_bytes(first >> 8) | low_bytes(second >> 8) << 32).to_le_bytes();
    }
    split_any(data, &mut planes, groups.len() * LANES);
}

fn split4(data: &[u8], mut planes: [&mut [u8]; 4]) {
    let split = planes.each_mut().map(|plane| plane.as_chunks_mut::<LANES>().0);
    let groups = data.as_chunks::<{ 4 * LANES }>().0;
    for (i, group) in groups.iter().enumerate() {
        // Elements i and i + 4 share a word, so that a transposed word holds eight bytes of one plane.
        let words = core::array::from_fn(|r| half(group, 4 * r) | half(group, 4 * r + 16) << 32);
        for (p, row) in transpose4(words).into_iter().enumerate() {
            split[p][i] = row.to_le_bytes();
        }
    }
    split_any(data, &mut planes, groups.len() * LANES);
}

fn join4(planes: [&[u8]; 4], out: &mut [u8]) {
    let groups = planes.map(|plane| plane.as_chunks::<LANES>().0);
    for (i, group) in out.as_chunks_mut::<{ 4 * LANES }>().0.iter_mut().enumerate() {
        let words = core::array::from_fn(|p| u64::from_le_bytes(groups[p][i]));
        for (r, pair) in transpose4(words).into_iter().enumerate() {
            let (low, high) = (pair as u32, (pair >> 32) as u32);
            group[4 * r..4 * r + 4].copy_from_slice(&low.to_le_bytes());
            group[4 * r + 16..4 * r + 20].copy_from_slice(&high.to_le_bytes());
        }
    }
    let done = out.len() / 4 / LANES * LANES;
    join_any(|p| planes[p], 4, done, out);
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[inline(always)]
fn half(bytes: &[u8], at: usize) -> u64 {
    let mut half = [0; 4];
    half.copy_from_slice(&bytes[at..at + 4]);
    u64::from(u32::from_le_bytes(half))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn the_kernels_equal_the_definition_at_every_length() {
        for width in [1, 2, 3, 4, 8, 16] {
            for count in (0..70).chain([RUN - 1, RUN, RUN + 1, 2 * RUN + 17]) {
                let data: Vec<u8> = (0..width * count).map(|i| (i * 31 + i / 255) as u8).collect();
                let mut expected = vec![0; data.len()];
                let mut rows: Vec<&mut [u8]> = expected.chunks_mut(count.max(1)).collect();
                split_any(&data, &mut rows, 0);
                let mut planes = vec![0; data.len()];
                shuffle(&data, width, &mut planes);
                assert_eq!(planes, expected, "{count} of {width}");
                let mut apart = vec![vec![0; count]; width];
                let mut rows: Vec<&mut [u8]> = apart.iter_mut().map(|plane| &mut plane[..]).collect();
                split(&data, &mut rows);
                assert_eq!(apart.concat(), expected, "{count} of {width}");
                for first in [0, count / 3, count] {
                    for last in [first, (first + count) / 2, count] {
                        let mut out = vec![0; (last - first) * width];
                        unshuffle(&planes, width, first, &mut out);
                        assert_eq!(out, data[first * width..last * width], "{first}..{last} of {width}");
                    }
                }
            }
        }
    }
}
