//! The two enumerations of the format and the Rust types that go with them.

use core::fmt;

use bytemuck::Pod;

/// The type of an element ("Data types").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// Signed, one byte.
    Int8,
    /// Signed, two bytes.
    Int16,
    /// Signed, four bytes.
    Int32,
    /// Signed, eight bytes.
    Int64,
    /// Unsigned, one byte.
    Uint8,
    /// Unsigned, two bytes.
    Uint16,
    /// Unsigned, four bytes.
    Uint32,
    /// Unsigned, eight bytes.
    Uint64,
    /// IEEE 754, four bytes.
    Float32,
    /// IEEE 754, eight bytes.
    Float64,
    /// UTF-8 of any length.
    String,
}

impl DataType {
    /// All types, in the order of their codes.
    pub const ALL: [Self; 11] = [
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
        Self::Float32,
        Self::Float64,
        Self::String,
    ];

    /// The type with this code in a file.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Its code in a file.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Bytes of an element; `None` for strings.
    #[must_use]
    pub fn size(self) -> Option<usize> {
        match self {
            Self::Int8 | Self::Uint8 => Some(1),
            Self::Int16 | Self::Uint16 => Some(2),
            Self::Int32 | Self::Uint32 | Self::Float32 => Some(4),
            Self::Int64 | Self::Uint64 | Self::Float64 => Some(8),
            Self::String => None,
        }
    }

    /// Its name, such as `float64`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::String => "string",
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How the bytes of an array or a metadata block are stored ("Compression types").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// As they are.
    None,
    /// A zlib stream a block; a gzip member is read too.
    Gzip,
    /// A Zstandard frame a block: reserved by the specification, read and written here as an extension.
    Zstd,
    /// A raw LZ4 block a block.
    Lz4,
    /// Byte planes, then [`Gzip`](Self::Gzip).
    GzipShuffle,
    /// Byte planes, then [`Lz4`](Self::Lz4): the default for arrays.
    #[default]
    Lz4Shuffle,
}

impl Compression {
    /// All codecs, in the order of their codes.
    pub const ALL: [Self; 6] =
        [Self::None, Self::Gzip, Self::Zstd, Self::Lz4, Self::GzipShuffle, Self::Lz4Shuffle];

    /// The codec with this code in a file.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Its code in a file.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Its name in the specification.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Gzip => "GZIP",
            Self::Zstd => "ZSTD",
            Self::Lz4 => "LZ4",
            Self::GzipShuffle => "GZIP_SHUFFLE",
            Self::Lz4Shuffle => "LZ4_SHUFFLE",
        }
    }

    /// Whether numeric arrays are split into byte planes first.
    #[must_use]
    pub fn shuffles(self) -> bool {
        matches!(self, Self::GzipShuffle | Self::Lz4Shuffle)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that is a numeric [`DataType`].
pub trait Element: Pod + PartialEq + fmt::Debug + sealed::Sealed {
    /// The type in a file.
    const DTYPE: DataType;

    /// Between the byte order of the machine and little-endian, in both directions.
    #[must_use]
    fn swap_le(self) -> Self;
}

macro_rules! element {
    ($($type:ident $dtype:ident: $swap:expr;)*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: DataType = DataType::$dtype;

            #[inline]
            fn swap_le(self) -> Self {
                let swap: fn($type) -> $type = $swap;
                swap(self)
            }
        }
    )*};
}

element! {
    i8 Int8: |value| value;
    i16 Int16: i16::to_le;
    i32 Int32: i32::to_le;
    i64 Int64: i64::to_le;
    u8 Uint8: |value| value;
    u16 Uint16: u16::to_le;
    u32 Uint32: u32::to_le;
    u64 Uint64: u64::to_le;
    f32 Float32: |value| Self::from_bits(value.to_bits().to_le());
    f64 Float64: |value| Self::from_bits(value.to_bits().to_le());
}
