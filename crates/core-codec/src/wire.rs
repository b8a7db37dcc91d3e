//! Bounds-checked parsing on nom, with the absolute offset of what failed.
//!
//! A parser of a structure is a plain nom function over `&[u8]` that returns [`Parsed`]; [`parse`] runs it and
//! turns its failure into an [`Error`] with an absolute offset.

use nom::error::{ErrorKind as NomKind, ParseError};

use crate::error::{Error, ErrorKind};

/// What a parser returns: the rest of the input and the value.
pub type Parsed<'a, T> = nom::IResult<&'a [u8], T, WireError>;

/// A failure inside a parser; its place is counted from the end of the input, which every parser shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireError {
    /// Bytes of input that were left where it failed.
    pub remaining: usize,
    /// What is wrong.
    pub kind: ErrorKind,
}

impl WireError {
    /// A failure at the start of `input`, as nom wants it from a parser function.
    #[must_use]
    pub fn at(input: &[u8], kind: ErrorKind) -> nom::Err<Self> {
        nom::Err::Failure(Self { remaining: input.len(), kind })
    }
}

impl ParseError<&[u8]> for WireError {
    fn from_error_kind(input: &[u8], kind: NomKind) -> Self {
        let available = input.len() as u64;
        let kind = match kind {
            // nom's fixed-width and `take` parsers fail only for want of bytes; they do not say how many.
            NomKind::Eof | NomKind::Complete => ErrorKind::Truncated { needed: available + 1, available },
            _ => ErrorKind::Invalid("malformed"),
        };
        Self { remaining: input.len(), kind }
    }

    fn append(_: &[u8], _: NomKind, other: Self) -> Self {
        other
    }
}

/// Runs `parser` on `input`, which starts at byte `offset` of the file. Bytes may be left over.
///
/// # Errors
/// What the parser found, as an [`Error`] of `structure` at its absolute offset.
pub fn parse<'a, T>(
    structure: &'static str,
    offset: u64,
    input: &'a [u8],
    parser: impl FnOnce(&'a [u8]) -> Parsed<'a, T>,
) -> Result<(&'a [u8], T), Error> {
    parser(input).map_err(|failure| {
        let error = match failure {
            nom::Err::Error(error) | nom::Err::Failure(error) => error,
            nom::Err::Incomplete(_) => WireError::from_error_kind(&[], NomKind::Eof),
        };
        let consumed = input.len().saturating_sub(error.remaining);
        Error::new(structure, error.kind).at(offset.saturating_add(consumed as u64))
    })
}

/// As [`parse`], and the parser must consume all of `input`.
///
/// # Errors
/// As [`parse`]; bytes left over are [`ErrorKind::Invalid`].
pub fn parse_all<'a, T>(
    structure: &'static str,
    offset: u64,
    input: &'a [u8],
    parser: impl FnOnce(&'a [u8]) -> Parsed<'a, T>,
) -> Result<T, Error> {
    let (rest, value) = parse(structure, offset, input, parser)?;
    if rest.is_empty() {
        return Ok(value);
    }
    let at = offset.saturating_add((input.len() - rest.len()) as u64);
    Err(Error::new(structure, ErrorKind::Invalid("bytes left over")).at(at))
}

/// Takes `count` bytes, and says how many were needed when they are not there.
///
/// # Errors
/// [`ErrorKind::Truncated`].
pub fn take(input: &[u8], count: u64) -> Parsed<'_, &[u8]> {
    match usize::try_from(count).ok().and_then(|count| input.split_at_checked(count)) {
        Some((taken, rest)) => Ok((rest, taken)),
        None => {
            Err(WireError::at(input, ErrorKind::Truncated { needed: count, available: input.len() as u64 }))
        }
    }
}
