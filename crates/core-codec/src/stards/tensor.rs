//! A value in memory: element type, shape and bytes.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::raw;
use super::types::{DataType, Element};
use crate::error::{Error, ErrorKind};

const STRUCTURE: &str = "value";

/// An array or a scalar with its type, as metadata holds it and as any array can be read.
///
/// ```
/// use core_codec::stards::Tensor;
///
/// let gain = Tensor::scalar(1.25f64);
/// assert_eq!(gain.to_vec::<f64>().unwrap(), [1.25]);
/// assert!(gain.to_vec::<f32>().is_err());
///
/// let units = Tensor::strings(&[2], ["m", "s"]).unwrap();
/// assert_eq!(units.to_strings().unwrap(), ["m", "s"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    dtype: DataType,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

impl Tensor {
    /// A value from its bytes: little-endian elements in row-major order; of strings, a `u32` length and the bytes
    /// of each.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] when the bytes do not make as many elements as `shape` has.
    pub fn new(dtype: DataType, shape: &[u64], bytes: Vec<u8>) -> Result<Self, Error> {
        let elements = element_count(shape).map_err(|kind| Error::new(STRUCTURE, kind))?;
        let mismatch =
            |what, expected, found| Err(Error::new(STRUCTURE, ErrorKind::Mismatch { what, expected, found }));
        match dtype.size() {
            Some(size) => {
                let expected = elements.saturating_mul(size as u64);
                if expected != bytes.len() as u64 {
                    return mismatch("bytes", expected, bytes.len() as u64);
                }
            }
            None => {
                let mut rest = &bytes[..];
                let mut found = 0;
                while !rest.is_empty() {
                    let at = (bytes.len() - rest.len()) as u64;
                    rest = crate::wire::parse("string", at, rest, raw::string)?.0;
                    found += 1;
                }
                if found != elements {
                    return mismatch("strings", elements, found);
                }
            }
        }
        Ok(Self { dtype, shape: shape.to_vec(), bytes })
    }

    /// As [`new`](Self::new) where a reader has checked the bytes.
    pub(super) fn checked(dtype: DataType, shape: &[u64], bytes: Vec<u8>) -> Self {
        Self { dtype, shape: shape.to_vec(), bytes }
    }

    /// One number.
    #[must_use]
    pub fn scalar<T: Element>(value: T) -> Self {
        let bytes = bytemuck::bytes_of(&value.swap_le()).to_vec();
        Self { dtype: T::DTYPE, shape: Vec::new(), bytes }
    }

    /// Numbers in row-major order.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] when `shape` has not as many elements as `values`.
    pub fn array<T: Element>(shape: &[u64], values: &[T]) -> Result<Self, Error> {
        Self::new(T::DTYPE, shape, le_bytes(values).into_owned())
    }

    /// One string.
    #[must_use]
    pub fn string(text: &str) -> Self {
        Self { dtype: DataType::String, shape: Vec::new(), bytes: string_bytes([text]) }
    }

    /// Strings in row-major order.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] when `shape` has not as many elements as `texts`.
    pub fn strings<'a>(shape: &[u64], texts: impl IntoIterator<Item = &'a str>) -> Result<Self, Error> {
        Self::new(DataType::String, shape, string_bytes(texts))
    }

    /// Type of the elements.
    #[must_use]
    pub fn dtype(&self) -> DataType {
        self.dtype
    }

    /// Size of each dimension; none for a scalar.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Number of elements.
    #[must_use]
    pub fn elements(&self) -> u64 {
        // The shape was counted when the value was made.
        element_count(&self.shape).unwrap_or(0)
    }

    /// Little-endian elements in row-major order; of strings, a `u32` length and the bytes of each.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives the bytes away.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The numbers.
    ///
    /// # Errors
    /// [`ErrorKind::Type`] when they are not of type `T`.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        expect_type(T::DTYPE, self.dtype)?;
        let mut values = vec![T::zeroed(); self.bytes.len() / size_of::<T>()];
        bytemuck::cast_slice_mut(&mut values).copy_from_slice(&self.bytes);
        swap_le(&mut values);
        Ok(values)
    }

    /// The bytes of each string, UTF-8 or not; nothing for numbers.
    pub fn iter_strings(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = if self.dtype == DataType::String { &self.bytes[..] } else { &[] };
        core::iter::from_fn(move || {
            let (tail, text) = raw::string(rest).ok()?;
            rest = tail;
            Some(text)
        })
    }

    /// The strings.
    ///
    /// # Errors
    /// [`ErrorKind::Type`] when they are numbers, [`ErrorKind::Invalid`] when one is not UTF-8.
    pub fn to_strings(&self) -> Result<Vec<String>, Error> {
        expect_type(DataType::String, self.dtype)?;
        self.iter_strings()
            .map(|text| match core::str::from_utf8(text) {
                Ok(text) => Ok(String::from(text)),
                Err(_) => Err(Error::new("string", ErrorKind::Invalid("not UTF-8"))),
            })
            .collect()
    }
}

/// Elements of an array of this shape.
pub(super) fn element_count(shape: &[u64]) -> Result<u64, ErrorKind> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1u64, |product, &size| product.checked_mul(size))
        .ok_or(ErrorKind::Invalid("the shape has more than 2^64 elements"))
}

/// Checks the type that was asked for.
pub(super) fn expect_type(expected: DataType, found: DataType) -> Result<(), Error> {
    if expected == found {
        return Ok(());
    }
    let kind = ErrorKind::Type { expected: expected.name(), found: found.name() };
    Err(Error::new("element type", kind))
}

/// Little-endian bytes of numbers; borrowed where the machine is little-endian.
pub(super) fn le_bytes<T: Element>(values: &[T]) -> alloc::borrow::Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        return bytemuck::cast_slice(values).into();
    }
    let swapped: Vec<T> = values.iter().map(|value| value.swap_le()).collect();
    bytemuck::cast_slice(&swapped).to_vec().into()
}

/// Makes numbers of the machine out of little-endian ones.
pub(super) fn swap_le<T: Element>(values: &mut [T]) {
    if cfg!(target_endian = "big") {
        for value in values {
            *value = value.swap_le();
        }
    }
}

/// A `u32` length and the bytes of each string.
fn string_bytes<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in texts {
        // A longer string cannot be stored; the writer rejects the whole then, for its length.
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

macro_rules! from_element {
    ($($type:ident)*) => {$(
        impl From<$type> for Tensor {
            fn from(value: $type) -> Self {
                Self::scalar(value)
            }
        }

        impl From<&[$type]> for Tensor {
            fn from(values: &[$type]) -> Self {
                let bytes = le_bytes(values).into_owned();
                Self { dtype: $type::DTYPE, shape: vec![values.len() as u64], bytes }
            }
        }
    )*};
}

from_element!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

impl From<&str> for Tensor {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}
