//! DICTIONARY: `VarInt n`, n byte strings behind `VarInt` lengths, then an INT32 RLE stream of indexes.

use alloc::vec::Vec;

use super::{part, plain, rle};
use crate::error::ErrorKind;
use crate::limits;
use crate::tsfile::column::Binaries;
use crate::tsfile::wire::varint;

/// Bytes that the strings of a page may have.
const MOST_BYTES: u64 = 32 << 20;

/// Appends `count` strings.
///
/// # Errors
/// What is wrong with the stream; [`ErrorKind::OutOfRange`] for an index without an entry, [`ErrorKind::Limit`] for
/// strings of more than 32 MiB together.
pub fn decode<'a>(input: &'a [u8], count: usize, out: &mut Binaries) -> Result<&'a [u8], ErrorKind> {
    let (mut rest, size) = part(varint, input)?;
    let size = usize::try_from(size).map_err(|_| ErrorKind::Invalid("negative size of the dictionary"))?;
    let mut entries = Vec::new();
    for _ in 0..size {
        let entry;
        (entry, rest) = plain::one(rest)?;
        entries.push(entry);
    }
    let mut indexes: Vec<i32> = Vec::new();
    limits::room(&mut indexes, count)?;
    let rest = rle::decode(rest, count, &mut indexes)?;
    let entry = |index: i32| {
        let entry = usize::try_from(index).ok().and_then(|index| entries.get(index));
        entry.ok_or_else(|| {
            let max = (size as u64).saturating_sub(1);
            let found = u64::from(index as u32);
            ErrorKind::OutOfRange { what: "index into the dictionary", min: 0, max, found }
        })
    };
    // A few bytes can name a long entry again and again.
    let mut bytes = 0;
    for &index in &indexes {
        bytes += entry(index)?.len() as u64;
        limits::check("bytes of strings in a page", bytes, MOST_BYTES)?;
    }
    out.reserve(count, bytes as usize)?;
    for index in indexes {
        out.push(entry(index)?)?;
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_name_entries() {
        let mut out = Binaries::default();
        // Two entries, then width 1, one group: 0 1 1.
        decode(&[4, 2, b'a', 4, b'b', b'c', 4, 1, 3, 3, 0b0110_0000], 3, &mut out).unwrap();
        assert_eq!(out.iter().collect::<Vec<_>>(), [&b"a"[..], b"bc", b"bc"]);
    }

    #[test]
    fn a_long_entry_is_not_named_without_end() {
        let long = alloc::vec![b'x'; 1 << 16];
        let mut input = alloc::vec![2, 0x80, 0x80, 0x08];
        input.extend(&long);
        // Width 1, a run of so many zeros.
        for (count, fits) in [(512_u32, true), (513, false)] {
            let run = [((count << 1 & 0x7f) | 0x80) as u8, (count >> 6) as u8, 0];
            let stream = [&input[..], &[4, 1], &run].concat();
            let decoded = decode(&stream, count as usize, &mut Binaries::default());
            assert_eq!(decoded.is_ok(), fits, "{decoded:?}");
            assert!(fits || matches!(decoded, Err(ErrorKind::Limit { .. })), "{decoded:?}");
        }
    }

    #[test]
    fn indexes_without_an_entry_are_errors() {
        let mut out = Binaries::default();
        let found = decode(&[2, 2, b'a', 4, 1, 3, 3, 0b0110_0000], 3, &mut out);
        let what = "index into the dictionary";
        assert_eq!(found, Err(ErrorKind::OutOfRange { what, min: 0, max: 0, found: 1 }));
        assert!(decode(&[1], 1, &mut out).is_err());
        assert!(decode(&[0xfe, 0xff, 0xff, 0xff, 0x0f], 1, &mut out).is_err());
    }
}
