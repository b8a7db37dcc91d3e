//! The fixed bytes of an `.izs` file: header, footer, block index, element and compression names.

use nom::Parser;
use nom::number::complete::le_u32;

use crate::error::ErrorKind;
use crate::wire::{Parsed, WireError, take};

/// The eight bytes that an `.izs` file begins with. They identify the file and are not needed to read it.
pub const HEADER: [u8; 8] = [0x00, 0x21, 0x4a, 0xd9, 0xff, 0x90, 0xba, 0xed];

/// The last eight bytes of an `.izs` file.
pub const FOOTER_MAGIC: [u8; 8] = [0x01, 0x21, 0x4a, 0xd9, 0x01, 0x90, 0xba, 0xed];

/// Width of one element of a stream (`element` of a stream descriptor).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Element {
    /// 8 bits.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
}

impl Element {
    /// All widths, narrow to wide.
    pub const ALL: [Self; 4] = [Self::U8, Self::U16, Self::U32, Self::U64];

    /// Bytes of one element: 1, 2, 4 or 8.
    #[must_use]
    pub const fn size(self) -> u8 {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 => 4,
            Self::U64 => 8,
        }
    }

    /// The name in a stream descriptor.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
        }
    }

    /// The width with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|element| element.name() == name)
    }
}

/// A Rust integer that is the element of a stream.
pub trait Sample: Copy + bytemuck::Pod + 'static {
    /// Its width.
    const ELEMENT: Element;
}

impl Sample for u8 {
    const ELEMENT: Element = Element::U8;
}
impl Sample for u16 {
    const ELEMENT: Element = Element::U16;
}
impl Sample for u32 {
    const ELEMENT: Element = Element::U32;
}
impl Sample for u64 {
    const ELEMENT: Element = Element::U64;
}

/// How the blocks of a stream are stored (`compress` of a stream descriptor).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Compression {
    /// Little-endian elements as they are.
    None,
    /// A Zstandard frame for each block.
    Zstd,
}

impl Compression {
    /// The name in a stream descriptor.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
        }
    }

    /// The compression with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Zstd].into_iter().find(|compression| compression.name() == name)
    }
}

/// The key names of stream descriptors, the one thing in which files of the two dialects exclude one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Dialect {
    /// The text of the specification: `i_offset`, `i_size`, `i_compress`, `end`.
    #[default]
    Spec,
    /// The released crate `iguazu` 0.0.1, which reads nothing else: `root`, `root_len`, `end_idx`.
    V001,
}

/// The last 16 bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Footer {
    /// Compressed length in bytes of the schema, which ends where the footer starts.
    pub schema_len: u32,
    /// Must be 0. The released reference reader ignores it.
    pub reserved: u32,
}

impl Footer {
    /// Bytes of a footer.
    pub const LEN: usize = 16;

    /// Parses a footer.
    ///
    /// # Errors
    /// [`ErrorKind::Magic`] when the last eight bytes are not the footer's, [`ErrorKind::Truncated`].
    pub fn parse(input: &[u8]) -> Parsed<'_, Self> {
        let (magic, (schema_len, reserved)) = (le_u32, le_u32).parse_complete(input)?;
        let (rest, found) = take(magic, 8)?;
        if found != FOOTER_MAGIC {
            let found = found.first_chunk().copied().unwrap_or_default();
            return Err(WireError::at(magic, ErrorKind::Magic { expected: &FOOTER_MAGIC, found }));
        }
        Ok((rest, Self { schema_len, reserved }))
    }

    /// The footer's bytes.
    #[must_use]
    pub const fn emit(self) -> [u8; Self::LEN] {
        let [a, b, c, d] = self.schema_len.to_le_bytes();
        let [e, f, g, h] = self.reserved.to_le_bytes();
        let [i, j, k, l, m, n, o, p] = FOOTER_MAGIC;
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
    }
}

/// Bytes that one block takes in an uncompressed block index: an offset and a size.
pub const INDEX_ENTRY_LEN: u64 = 12;

/// A block's place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct IndexEntry {
    /// Byte offset from the start of the file.
    pub offset: u64,
    /// Stored bytes.
    pub size: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::parse_all;

    #[test]
    fn footer_round_trips() {
        let footer = Footer { schema_len: 0x0102_0304, reserved: 0 };
        assert_eq!(parse_all("footer", 0, &footer.emit(), Footer::parse), Ok(footer));
    }

    #[test]
    fn footer_names_the_magic_it_found() {
        let mut bytes = Footer { schema_len: 1, reserved: 0 }.emit();
        bytes[8] = 0x77;
        let error = parse_all("footer", 100, &bytes, Footer::parse).unwrap_err();
        assert_eq!(error.offset(), Some(108));
        assert!(matches!(error.kind(), ErrorKind::Magic { found: [0x77, ..], .. }));
    }
}
