//! Streams of times, whose number does not always stand beside them.

use alloc::vec::Vec;

use super::{Flavour, decode, plain, ts2diff};
use crate::error::ErrorKind;
use crate::tsfile::column::Values;
use crate::tsfile::types::{DataType, Encoding};

/// How many times there are.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// By the statistics, where there are any.
    pub known: Option<usize>,
    /// Never more than this.
    pub most: usize,
}

/// Decodes all times of a stream in place of what is in `out`.
///
/// # Errors
/// What is wrong with the stream; [`ErrorKind::Mismatch`] where their number is not the known one;
/// [`ErrorKind::Unsupported`] for an encoding whose streams do not say how many values they hold, where nothing
/// else does.
pub fn decode_times(
    encoding: Encoding,
    input: &[u8],
    count: Count,
    out: &mut Vec<i64>,
) -> Result<(), ErrorKind> {
    out.clear();
    let most = count.known.unwrap_or(count.most).min(count.most);
    match (encoding, count.known) {
        (Encoding::Ts2Diff, _) => ts2diff::decode_all(input, most, out)?,
        (Encoding::Plain, _) => {
            let rest = plain::fixed(input, input.len() / 8, out)?;
            if !rest.is_empty() {
                return Err(ErrorKind::Invalid("bytes left over after the last value"));
            }
        }
        (_, Some(known)) => {
            let mut values = Values::Int64(core::mem::take(out));
            let decoded = decode(encoding, DataType::Int64, Flavour::Cpp, input, known, &mut values);
            if let Values::Int64(times) = values {
                *out = times;
            }
            decoded?;
        }
        (_, None) => {
            return Err(ErrorKind::Unsupported("encoding of times without statistics that say how many"));
        }
    }
    match count.known {
        Some(known) if known != out.len() => {
            let (expected, found) = (known as u64, out.len() as u64);
            Err(ErrorKind::Mismatch { what: "times of a page", expected, found })
        }
        _ => Ok(()),
    }
}

/// Decodes the times of a page that is not aligned. Nothing in the file names their encoding: TS_2DIFF is what
/// the writers use unless they are told otherwise, then it is mostly PLAIN.
///
/// # Errors
/// As [`decode_times`].
pub fn decode_unnamed(input: &[u8], count: Count, out: &mut Vec<i64>) -> Result<(), ErrorKind> {
    let found = decode_times(Encoding::Ts2Diff, input, count, out);
    if found.is_err() && count.known.is_some_and(|known| known.checked_mul(8) == Some(input.len())) {
        return decode_times(Encoding::Plain, input, count, out);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn plain_times_are_found_without_a_name() {
        let bytes: Vec<u8> = [5i64, 6, 9].iter().flat_map(|time| time.to_be_bytes()).collect();
        let mut out = vec![];
        decode_unnamed(&bytes, Count { known: Some(3), most: 100 }, &mut out).unwrap();
        assert_eq!(out, [5, 6, 9]);
        assert!(decode_unnamed(&bytes, Count { known: Some(4), most: 100 }, &mut out).is_err());
    }
}
