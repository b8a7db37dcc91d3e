//! The one error type of this crate: what was expected, what was found, at which byte, in which structure.

use core::fmt;

#[cfg(feature = "alloc")]
use alloc::boxed::Box;

/// How bad something is that a verification of a file finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Allowed or harmless, but not what a careful writer leaves behind; another reader may trip over it.
    Warning,
    /// Breaks a rule of the format, or cannot be read.
    Error,
}

impl Severity {
    /// `warning` or `error`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes end before the structure does.
    Truncated {
        /// Bytes that the structure needs from its offset on.
        needed: u64,
        /// Bytes that are there.
        available: u64,
    },
    /// Fixed bytes that identify a structure are not there.
    Magic {
        /// What stands in the specification.
        expected: &'static [u8],
        /// The first eight bytes found, zero-padded.
        found: [u8; 8],
    },
    /// A number differs from the one that the rest of the file implies.
    Mismatch {
        /// The quantity.
        what: &'static str,
        /// What the rest of the file implies.
        expected: u64,
        /// What was found.
        found: u64,
    },
    /// A number lies outside what it may be.
    OutOfRange {
        /// The quantity.
        what: &'static str,
        /// The lowest valid value.
        min: u64,
        /// The highest valid value.
        max: u64,
        /// What was found.
        found: u64,
    },
    /// A number passes a bound of [`Limits`](crate::Limits).
    Limit {
        /// The quantity.
        what: &'static str,
        /// The bound.
        limit: u64,
        /// What was found.
        found: u64,
    },
    /// The system has not this much memory to give.
    Memory {
        /// Bytes that were asked for.
        needed: u64,
    },
    /// The bytes break a rule of the format.
    Invalid(&'static str),
    /// Compressed data does not decode.
    Codec {
        /// The codec.
        codec: &'static str,
        /// What the codec says.
        reason: &'static str,
    },
    /// Valid, but nothing here can read it.
    Unsupported(&'static str),
    /// No item has this name.
    NotFound(&'static str),
    /// The item is there, but not of the type that was asked for.
    Type {
        /// The type that was asked for.
        expected: &'static str,
        /// The type of the item.
        found: &'static str,
    },
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { needed, available } => {
                write!(f, "needs {needed} bytes, only {available} are there")
            }
            Self::Magic { expected, found } => {
                write!(
                    f,
                    "expected the bytes {expected:02x?}, found {:02x?}",
                    &found[..expected.len().min(8)]
                )
            }
            Self::Mismatch { what, expected, found } => {
                write!(f, "{what}: expected {expected}, found {found}")
            }
            Self::OutOfRange { what, min, max, found } => {
                write!(f, "{what}: expected {min} to {max}, found {found}")
            }
            Self::Limit { what, limit, found } => write!(f, "{what}: {found} is over the limit of {limit}"),
            Self::Memory { needed } => {
                write!(f, "needs {needed} bytes of memory, more than the system gives")
            }
            Self::Invalid(reason) => f.write_str(reason),
            Self::Codec { codec, reason } => write!(f, "{codec}: {reason}"),
            Self::Unsupported(what) => write!(f, "unsupported {what}"),
            Self::NotFound(what) => write!(f, "no such {what}"),
            Self::Type { expected, found } => write!(f, "expected {expected}, found {found}"),
        }
    }
}

/// An [`ErrorKind`] with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    structure: &'static str,
    offset: Option<u64>,
    #[cfg(feature = "alloc")]
    item: Option<Box<str>>,
    #[cfg(feature = "alloc")]
    detail: Option<Box<str>>,
}

impl Error {
    /// An error in `structure`, a name of the specification such as "block index".
    #[must_use]
    pub fn new(structure: &'static str, kind: ErrorKind) -> Self {
        Self {
            kind,
            structure,
            offset: None,
            #[cfg(feature = "alloc")]
            item: None,
            #[cfg(feature = "alloc")]
            detail: None,
        }
    }

    /// Says at which absolute byte of the file it was found.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Names the stream, array, column or block that it belongs to.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn item(mut self, item: impl Into<Box<str>>) -> Self {
        self.item = Some(item.into());
        self
    }

    /// Adds a reason that only the data can word, such as a JSON parser's message or an unknown name.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn detail(mut self, detail: impl Into<Box<str>>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The structure that was being read, by its name in the specification.
    #[must_use]
    pub fn structure(&self) -> &'static str {
        self.structure
    }

    /// The stream, array, column or block that it belongs to, where it has a name.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn item_name(&self) -> Option<&str> {
        self.item.as_deref().filter(|name| !name.is_empty())
    }

    /// The absolute byte offset in the file, where one is known.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.structure)?;
        #[cfg(feature = "alloc")]
        if let Some(item) = self.item_name() {
            write!(f, " of {item}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset}")?;
        }
        write!(f, ": {}", self.kind)?;
        #[cfg(feature = "alloc")]
        if let Some(detail) = &self.detail {
            write!(f, ": {detail}")?;
        }
        Ok(())
    }
}

impl core::error::Error for Error {}

#[cfg(feature = "defmt")]
impl defmt::Format for Error {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{=str} at byte {}: {}", self.structure, self.offset, self.kind);
    }
}
