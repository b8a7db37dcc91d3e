//! The numbered enums of the format.

use core::fmt;

macro_rules! wire_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum $name {
            $($(#[$variant_doc])* $variant = $code,)*
        }

        impl $name {
            /// All of them, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The one with this code in a file.
            #[must_use]
            pub fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Its upper-case name in the specification.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

wire_enum! {
    /// Type of the values of a column.
    DataType {
        /// One byte, 0 or 1.
        Boolean = 0 "BOOLEAN",
        /// 32-bit signed integer.
        Int32 = 1 "INT32",
        /// 64-bit signed integer.
        Int64 = 2 "INT64",
        /// IEEE 754 binary32.
        Float = 3 "FLOAT",
        /// IEEE 754 binary64.
        Double = 4 "DOUBLE",
        /// Bytes that are usually text.
        Text = 5 "TEXT",
        /// The time column of aligned columns.
        Vector = 6 "VECTOR",
        /// No type.
        Unknown = 7 "UNKNOWN",
        /// A 64-bit signed count of the file's time unit.
        Timestamp = 8 "TIMESTAMP",
        /// A day as the decimal number yyyymmdd.
        Date = 9 "DATE",
        /// Raw bytes.
        Blob = 10 "BLOB",
        /// UTF-8 text.
        String = 11 "STRING",
        /// A reference to an object outside the file.
        Object = 12 "OBJECT",
    }
}

wire_enum! {
    /// How values become bytes.
    Encoding {
        /// Values one after another.
        Plain = 0 "PLAIN",
        /// Distinct strings, then indexes.
        Dictionary = 1 "DICTIONARY",
        /// Runs and bit-packed groups.
        Rle = 2 "RLE",
        /// No known writer.
        Diff = 3 "DIFF",
        /// Bit-packed differences of neighbours.
        Ts2Diff = 4 "TS_2DIFF",
        /// No known writer.
        Bitmap = 5 "BITMAP",
        /// The first form of GORILLA.
        GorillaV1 = 6 "GORILLA_V1",
        /// A constant step.
        Regular = 7 "REGULAR",
        /// XOR with the previous value.
        Gorilla = 8 "GORILLA",
        /// ZigZag and LEB128.
        Zigzag = 9 "ZIGZAG",
        /// No known writer.
        Freq = 10 "FREQ",
        /// XOR with one of the last 64 or 128 values.
        Chimp = 11 "CHIMP",
        /// Bit-packed residuals of a predictor.
        Sprintz = 12 "SPRINTZ",
        /// Runs of bit widths of differences.
        Rlbe = 13 "RLBE",
        /// Decimal fractions apart from their integer part.
        Camel = 14 "CAMEL",
    }
}

wire_enum! {
    /// How pages are compressed.
    Compression {
        /// Not.
        Uncompressed = 0 "UNCOMPRESSED",
        /// A raw Snappy block.
        Snappy = 1 "SNAPPY",
        /// One gzip member.
        Gzip = 2 "GZIP",
        /// Raw LZO1X.
        Lzo = 3 "LZO",
        /// Lossy, never written.
        Sdt = 4 "SDT",
        /// Lossy, never written.
        Paa = 5 "PAA",
        /// Lossy, never written.
        Pla = 6 "PLA",
        /// A raw LZ4 block.
        Lz4 = 7 "LZ4",
        /// A Zstandard frame.
        Zstd = 8 "ZSTD",
        /// An XZ container.
        Lzma2 = 9 "LZMA2",
    }
}

wire_enum! {
    /// Role of a column in a table.
    Category {
        /// Part of the device id.
        Tag = 0 "TAG",
        /// Measured values.
        Field = 1 "FIELD",
        /// A constant beside the tags.
        Attribute = 2 "ATTRIBUTE",
        /// The time column.
        Time = 3 "TIME",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip() {
        for &dtype in DataType::ALL {
            assert_eq!(DataType::from_code(dtype as u8), Some(dtype));
        }
        for &encoding in Encoding::ALL {
            assert_eq!(Encoding::from_code(encoding as u8), Some(encoding));
        }
        for &compression in Compression::ALL {
            assert_eq!(Compression::from_code(compression as u8), Some(compression));
        }
        assert_eq!(DataType::from_code(13), None);
        assert_eq!(Encoding::Ts2Diff.name(), "TS_2DIFF");
    }
}
