//! The encodings: one file each.
//!
//! A decoder gets the bytes of a stream and appends **exactly** as many values as it is told; end markers inside
//! the stream, which are legal values too, are not looked at.

use alloc::vec::Vec;

use crate::error::ErrorKind;
use crate::limits;
use crate::tsfile::column::Values;
use crate::tsfile::types::{DataType, Encoding};

mod bits;
pub mod camel;
pub mod chimp;
pub mod dictionary;
pub mod gorilla;
pub mod gorilla_v1;
pub mod plain;
pub mod regular;
pub mod rlbe;
pub mod rle;
pub mod scaled;
pub mod sprintz;
pub mod time;
pub mod ts2diff;
pub mod zigzag;

/// A number of 32 or 64 bits.
pub trait Word: Copy + Default {
    /// Its width.
    const BITS: u32;

    /// The number of these bits; those above its width are dropped.
    fn from_word(bits: u64) -> Self;

    /// Its bits, zero-extended.
    fn word(self) -> u64;

    /// Sum as IEEE numbers for floats, wrapping for integers.
    #[must_use]
    fn add(self, other: Self) -> Self;
}

macro_rules! word {
    ($type:ty, $unsigned:ty, $bits:literal, $from:expr, $to:expr, $add:expr) => {
        impl Word for $type {
            const BITS: u32 = $bits;

            #[inline]
            fn from_word(bits: u64) -> Self {
                ($from)(bits as $unsigned)
            }

            #[inline]
            fn word(self) -> u64 {
                u64::from(($to)(self))
            }

            #[inline]
            fn add(self, other: Self) -> Self {
                ($add)(self, other)
            }
        }
    };
}

word!(i32, u32, 32, |bits: u32| bits as i32, |value: i32| value as u32, i32::wrapping_add);
word!(i64, u64, 64, |bits: u64| bits as i64, |value: i64| value as u64, i64::wrapping_add);
word!(f32, u32, 32, f32::from_bits, f32::to_bits, |a, b| a + b);
word!(f64, u64, 64, f64::from_bits, f64::to_bits, |a, b| a + b);

/// Where the official writers disagree, so that only the data can tell who wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// RLBE floats as differences of bit patterns; 64-bit SPRINTZ predicts in 128 bits.
    Cpp,
    /// RLBE floats as IEEE differences; 64-bit SPRINTZ wraps in 64 bits.
    Java,
}

/// What of an encoding does not depend on the values: whether a writer leaves bytes behind the last value.
fn leaves_bytes(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Gorilla | Encoding::GorillaV1 | Encoding::Chimp | Encoding::Sprintz)
}

/// Whether the two flavours can decode a stream differently.
#[must_use]
pub fn has_flavours(encoding: Encoding, dtype: DataType) -> bool {
    match encoding {
        Encoding::Rlbe => matches!(dtype, DataType::Float | DataType::Double),
        Encoding::Sprintz => matches!(dtype, DataType::Int64 | DataType::Timestamp | DataType::Double),
        _ => false,
    }
}

/// Whether values of this type in this encoding can be decoded.
#[must_use]
pub fn is_supported(encoding: Encoding, dtype: DataType) -> bool {
    // No values of an empty stream: what fails then is not for want of a decoder.
    Values::new(dtype).is_some_and(|mut none| {
        let found = decode(encoding, dtype, Flavour::Cpp, &[], 0, &mut none);
        !matches!(found, Err(ErrorKind::Unsupported(_)))
    })
}

/// Checks that `found` values fit behind those that are there.
pub(crate) fn check_room(done: usize, more: u64, count: usize) -> Result<usize, ErrorKind> {
    let room = (count - done) as u64;
    if more <= room {
        return Ok(more as usize);
    }
    Err(ErrorKind::OutOfRange { what: "values of a run or block", min: 0, max: room, found: more })
}

/// Decodes `count` values of `dtype` from all of `input` and appends them to `out`, which is of that type.
///
/// # Errors
/// What is wrong with the stream, bytes left over where the writers leave none,
/// [`ErrorKind::Unsupported`] for encodings without a known writer and for pairs of encoding and type that none
/// writes.
pub fn decode(
    encoding: Encoding,
    dtype: DataType,
    flavour: Flavour,
    input: &[u8],
    count: usize,
    out: &mut Values,
) -> Result<(), ErrorKind> {
    out.reserve(count)?;
    let rest = match out {
        Values::Boolean(out) => boolean(encoding, input, count, out),
        Values::Int32(out) => integer(encoding, flavour, input, count, out),
        Values::Int64(out) => integer(encoding, flavour, input, count, out),
        Values::Float(out) => float(encoding, flavour, input, count, out),
        Values::Double(out) if encoding == Encoding::Camel => camel::decode(input, count, out),
        Values::Double(out) => float(encoding, flavour, input, count, out),
        Values::Binary(out) => match encoding {
            Encoding::Plain => plain::binary(input, count, out),
            Encoding::Dictionary => dictionary::decode(input, count, out),
            _ => Err(unsupported(encoding)),
        },
    }?;
    let _ = dtype;
    if rest.is_empty() || leaves_bytes(encoding) {
        return Ok(());
    }
    Err(ErrorKind::Invalid("bytes left over after the last value"))
}

/// Why a column cannot be decoded.
fn unsupported(encoding: Encoding) -> ErrorKind {
    ErrorKind::Unsupported(match encoding {
        Encoding::Bitmap => "encoding BITMAP",
        Encoding::Diff => "encoding DIFF",
        Encoding::Freq => "encoding FREQ",
        Encoding::Plain => "encoding PLAIN for this type",
        Encoding::Dictionary => "encoding DICTIONARY for this type",
        Encoding::Rle => "encoding RLE for this type",
        Encoding::Ts2Diff => "encoding TS_2DIFF for this type",
        Encoding::GorillaV1 => "encoding GORILLA_V1 for this type",
        Encoding::Regular => "encoding REGULAR for this type",
        Encoding::Gorilla => "encoding GORILLA for this type",
        Encoding::Zigzag => "encoding ZIGZAG for this type",
        Encoding::Chimp => "encoding CHIMP for this type",
        Encoding::Sprintz => "encoding SPRINTZ for this type",
        Encoding::Rlbe => "encoding RLBE for this type",
        Encoding::Camel => "encoding CAMEL for this type",
    })
}

type Rest<'a> = Result<&'a [u8], ErrorKind>;

fn boolean<'a>(encoding: Encoding, input: &'a [u8], count: usize, out: &mut Vec<bool>) -> Rest<'a> {
    match encoding {
        Encoding::Plain => plain::boolean(input, count, out),
        Encoding::Rle => {
            let mut bits = Vec::new();
            limits::room(&mut bits, count)?;
            let rest = rle::decode::<i32>(input, count, &mut bits)?;
            if let Some(&other) = bits.iter().find(|bit| !(0..=1).contains(*bit)) {
                let found = u64::from(other as u32);
                return Err(ErrorKind::OutOfRange { what: "boolean", min: 0, max: 1, found });
            }
            out.extend(bits.into_iter().map(|bit| bit == 1));
            Ok(rest)
        }
        _ => Err(unsupported(encoding)),
    }
}

/// A type that PLAIN, RLE and SPRINTZ store in a way of its own.
pub trait Integer: Word {
    /// A value of RLE runs: `ceil(width / 8)` bytes.
    fn from_run(bytes: &[u8]) -> Self;
    /// PLAIN.
    ///
    /// # Errors
    /// What is wrong with the stream.
    fn plain<'a>(input: &'a [u8], count: usize, out: &mut Vec<Self>) -> Rest<'a>;
}

impl Integer for i32 {
    /// Little-endian.
    fn from_run(bytes: &[u8]) -> Self {
        bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte)) as Self
    }

    fn plain<'a>(input: &'a [u8], count: usize, out: &mut Vec<Self>) -> Rest<'a> {
        plain::varints(input, count, out)
    }
}

impl Integer for i64 {
    /// Big-endian, unlike 32 bits.
    fn from_run(bytes: &[u8]) -> Self {
        bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)) as Self
    }

    fn plain<'a>(input: &'a [u8], count: usize, out: &mut Vec<Self>) -> Rest<'a> {
        plain::fixed(input, count, out)
    }
}

fn integer<'a, T: Integer>(
    encoding: Encoding,
    flavour: Flavour,
    input: &'a [u8],
    count: usize,
    out: &mut Vec<T>,
) -> Rest<'a> {
    match encoding {
        Encoding::Plain => T::plain(input, count, out),
        Encoding::Rle => rle::decode(input, count, out),
        Encoding::Ts2Diff => ts2diff::decode(input, count, out),
        Encoding::Gorilla => gorilla::decode(input, count, out),
        Encoding::GorillaV1 => gorilla_v1::decode(input, count, out),
        Encoding::Zigzag => zigzag::decode(input, count, out),
        Encoding::Chimp => chimp::decode(input, count, out),
        Encoding::Sprintz => sprintz::integers(input, count, flavour, out),
        Encoding::Rlbe => rlbe::decode(input, count, Flavour::Cpp, out),
        Encoding::Regular => regular::decode(input, count, out),
        _ => Err(unsupported(encoding)),
    }
}

fn float<'a, T: scaled::Float>(
    encoding: Encoding,
    flavour: Flavour,
    input: &'a [u8],
    count: usize,
    out: &mut Vec<T>,
) -> Rest<'a> {
    match encoding {
        Encoding::Plain => plain::fixed(input, count, out),
        Encoding::Rle => scaled::decode(input, count, rle::decode, out),
        Encoding::Ts2Diff => scaled::decode(input, count, ts2diff::decode, out),
        Encoding::Gorilla => gorilla::decode(input, count, out),
        Encoding::GorillaV1 => gorilla_v1::decode(input, count, out),
        Encoding::Chimp => chimp::decode(input, count, out),
        Encoding::Sprintz => sprintz::floats(input, count, flavour, out),
        Encoding::Rlbe => rlbe::decode(input, count, flavour, out),
        _ => Err(unsupported(encoding)),
    }
}

/// Appends `count` values by `block`, which appends those of one block and is told how many there may be in all.
fn blocks<'a, T>(
    mut input: &'a [u8],
    count: usize,
    out: &mut Vec<T>,
    block: impl Fn(&'a [u8], usize, &mut Vec<T>) -> Result<&'a [u8], ErrorKind>,
) -> Result<&'a [u8], ErrorKind> {
    let all = out.len() + count;
    while out.len() < all {
        input = block(input, all, out)?;
    }
    Ok(input)
}

/// Takes the parts that nom's parsers return out of a decoder's way.
pub(crate) fn part<'a, T>(
    parser: impl FnOnce(&'a [u8]) -> crate::wire::Parsed<'a, T>,
    input: &'a [u8],
) -> Result<(&'a [u8], T), ErrorKind> {
    parser(input).map_err(|failure| match failure {
        nom::Err::Error(error) | nom::Err::Failure(error) => error.kind,
        nom::Err::Incomplete(_) => ErrorKind::Invalid("incomplete"),
    })
}

/// Splits `count` bytes off.
fn split(input: &[u8], count: u64) -> Result<(&[u8], &[u8]), ErrorKind> {
    part(|input| crate::wire::take(input, count), input).map(|(rest, taken)| (taken, rest))
}
