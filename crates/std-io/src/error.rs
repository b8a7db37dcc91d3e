//! The error type of this crate.

use std::{fmt, io};

/// Why a file could not be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The bytes could not be had.
    Io(io::Error),
    /// The bytes are not what the format wants.
    Format(core_codec::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Format(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<core_codec::Error> for Error {
    fn from(error: core_codec::Error) -> Self {
        Self::Format(error)
    }
}
