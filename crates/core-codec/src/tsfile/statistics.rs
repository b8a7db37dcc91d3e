//! Statistics of a page, a chunk or a series.

use alloc::boxed::Box;

use crate::error::ErrorKind;
use crate::tsfile::types::DataType;
use crate::tsfile::wire::{binary32, boolean, float32, float64, int32, int64, uvarint};
use crate::wire::{Parsed, WireError};

/// Count, time range and summary of the non-null values.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Non-null values (in a time column: rows).
    pub count: u32,
    /// Time of the first.
    pub start: i64,
    /// Time of the last.
    pub end: i64,
    /// By type of the column.
    pub values: ValueStatistics,
}

/// Minimum, maximum, first, last and sum of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary<T, S> {
    /// Smallest value.
    pub min: T,
    /// Largest value.
    pub max: T,
    /// Value at the earliest time.
    pub first: T,
    /// Value at the latest time.
    pub last: T,
    /// Sum of all values.
    pub sum: S,
}

/// The part of [`Statistics`] that depends on the type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ValueStatistics {
    /// Types without any: BLOB, VECTOR, OBJECT.
    None,
    /// BOOLEAN.
    Boolean {
        /// Value at the earliest time.
        first: bool,
        /// Value at the latest time.
        last: bool,
        /// Number of trues.
        sum: i64,
    },
    /// INT32 and DATE.
    Int32(Summary<i32, i64>),
    /// INT64 and TIMESTAMP.
    Int64(Summary<i64, f64>),
    /// FLOAT.
    Float(Summary<f32, f64>),
    /// DOUBLE.
    Double(Summary<f64, f64>),
    /// TEXT.
    Text {
        /// Value at the earliest time.
        first: Box<[u8]>,
        /// Value at the latest time.
        last: Box<[u8]>,
    },
    /// STRING.
    String {
        /// Value at the earliest time.
        first: Box<[u8]>,
        /// Value at the latest time.
        last: Box<[u8]>,
        /// Smallest value.
        min: Box<[u8]>,
        /// Largest value.
        max: Box<[u8]>,
    },
}

impl Statistics {
    /// Parses `Statistics` of a column of `dtype`.
    ///
    /// # Errors
    /// As the primitives; [`ErrorKind::Unsupported`] for a type that has no layout.
    pub fn parse(dtype: DataType, input: &[u8]) -> Parsed<'_, Self> {
        let (rest, count) = uvarint(input)?;
        let (rest, start) = int64(rest)?;
        let (rest, end) = int64(rest)?;
        let (rest, values) = ValueStatistics::parse(dtype, rest)?;
        Ok((rest, Self { count, start, end, values }))
    }

    /// Whether all of it lies in the closed range.
    #[must_use]
    pub fn inside(&self, start: i64, end: i64) -> bool {
        self.count == 0 || (start <= self.start && self.end <= end)
    }

    /// Whether nothing of it lies in the closed range. Statistics of nothing say no times: what is in truth there has
    /// to be looked at.
    #[must_use]
    pub fn outside(&self, start: i64, end: i64) -> bool {
        self.count != 0 && (self.end < start || end < self.start)
    }
}

fn summary<'a, T, S>(
    input: &'a [u8],
    value: impl Fn(&'a [u8]) -> Parsed<'a, T>,
    sum: impl Fn(&'a [u8]) -> Parsed<'a, S>,
) -> Parsed<'a, Summary<T, S>> {
    let (rest, min) = value(input)?;
    let (rest, max) = value(rest)?;
    let (rest, first) = value(rest)?;
    let (rest, last) = value(rest)?;
    let (rest, sum) = sum(rest)?;
    Ok((rest, Summary { min, max, first, last, sum }))
}

impl ValueStatistics {
    fn parse(dtype: DataType, input: &[u8]) -> Parsed<'_, Self> {
        Ok(match dtype {
            DataType::Vector | DataType::Blob | DataType::Object => (input, Self::None),
            DataType::Boolean => {
                let (rest, first) = boolean(input)?;
                let (rest, last) = boolean(rest)?;
                let (rest, sum) = int64(rest)?;
                (rest, Self::Boolean { first, last, sum })
            }
            DataType::Int32 | DataType::Date => map(summary(input, int32, int64)?, Self::Int32),
            DataType::Int64 | DataType::Timestamp => map(summary(input, int64, float64)?, Self::Int64),
            DataType::Float => map(summary(input, float32, float64)?, Self::Float),
            DataType::Double => map(summary(input, float64, float64)?, Self::Double),
            DataType::Text => {
                let (rest, first) = binary32(input)?;
                let (rest, last) = binary32(rest)?;
                (rest, Self::Text { first: first.into(), last: last.into() })
            }
            DataType::String => {
                let (rest, first) = binary32(input)?;
                let (rest, last) = binary32(rest)?;
                let (rest, min) = binary32(rest)?;
                let (rest, max) = binary32(rest)?;
                let values =
                    Self::String { first: first.into(), last: last.into(), min: min.into(), max: max.into() };
                (rest, values)
            }
            DataType::Unknown => {
                return Err(WireError::at(input, ErrorKind::Unsupported("statistics of type UNKNOWN")));
            }
        })
    }
}

fn map<A, B>((rest, value): (&[u8], A), f: impl FnOnce(A) -> B) -> (&[u8], B) {
    (rest, f(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn header(count: u8) -> Vec<u8> {
        [&[count][..], &1i64.to_be_bytes(), &9i64.to_be_bytes()].concat()
    }

    #[test]
    fn int32_sums_in_64_bits_and_int64_in_floats() {
        let mut bytes = header(2);
        for value in [-5i32, 7, 7, -5] {
            bytes.extend(value.to_be_bytes());
        }
        bytes.extend(2i64.to_be_bytes());
        let (rest, found) = Statistics::parse(DataType::Int32, &bytes).unwrap();
        assert!(rest.is_empty());
        assert_eq!((found.count, found.start, found.end), (2, 1, 9));
        assert_eq!(
            found.values,
            ValueStatistics::Int32(Summary { min: -5, max: 7, first: 7, last: -5, sum: 2 })
        );

        let mut bytes = header(1);
        for value in [4i64; 4] {
            bytes.extend(value.to_be_bytes());
        }
        bytes.extend(4f64.to_be_bytes());
        let (_, found) = Statistics::parse(DataType::Timestamp, &bytes).unwrap();
        assert_eq!(
            found.values,
            ValueStatistics::Int64(Summary { min: 4, max: 4, first: 4, last: 4, sum: 4.0 })
        );
    }

    #[test]
    fn text_has_first_and_last_and_string_also_min_and_max() {
        let mut bytes = header(2);
        for text in ["b", "a", "a", "b"] {
            bytes.extend(1i32.to_be_bytes());
            bytes.extend(text.bytes());
        }
        let (rest, found) = Statistics::parse(DataType::Text, &bytes).unwrap();
        assert_eq!(rest.len(), 10);
        assert_eq!(
            found.values,
            ValueStatistics::Text { first: b"b".as_slice().into(), last: b"a".as_slice().into() }
        );
        assert!(Statistics::parse(DataType::String, &bytes).unwrap().0.is_empty());
        assert_eq!(Statistics::parse(DataType::Blob, &bytes).unwrap().0.len(), 20);
    }

    #[test]
    fn a_range_covers_or_misses() {
        let bytes = header(3);
        let (_, found) = Statistics::parse(DataType::Vector, &bytes).unwrap();
        assert!(found.inside(1, 9) && !found.inside(2, 9));
        assert!(found.outside(10, 20) && found.outside(-5, 0) && !found.outside(9, 9));
    }
}
