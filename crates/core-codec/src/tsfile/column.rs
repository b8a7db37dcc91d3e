//! Columns in memory: typed values and which rows have one.

use alloc::vec::Vec;
use core::mem;

use crate::error::ErrorKind;
use crate::limits::room;
use crate::tsfile::types::DataType;

/// Byte strings, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    /// Where each ends; the first entry is 0, so there is one more than strings.
    offsets: Vec<u32>,
    data: Vec<u8>,
}

/// The end of a string, behind those before it.
#[inline]
fn end_of(bytes: usize) -> Result<u32, ErrorKind> {
    let what = "bytes of the strings of a batch";
    let limit = u32::MAX.into();
    u32::try_from(bytes).map_err(|_| ErrorKind::Limit { what, limit, found: bytes as u64 })
}

impl Default for Binaries {
    fn default() -> Self {
        Self { offsets: alloc::vec![0], data: Vec::new() }
    }
}

impl Binaries {
    /// Number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.len() == 1
    }

    /// String `index`.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let start = *self.offsets.get(index)? as usize;
        let end = *self.offsets.get(index.checked_add(1)?)? as usize;
        self.data.get(start..end)
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.offsets.windows(2).map(|pair| &self.data[pair[0] as usize..pair[1] as usize])
    }

    /// Where string i starts, and behind the last where it ends: the layout of Arrow's binary arrays.
    #[must_use]
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The bytes of all strings.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.offsets.truncate(1);
        self.data.clear();
    }

    /// Appends one.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] where all of them together pass 4 GiB.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ErrorKind> {
        self.data.extend_from_slice(bytes);
        self.push_end(self.data.len())
    }

    /// Makes room for `count` strings of `bytes` bytes together, numbers that have passed the limits.
    pub(crate) fn reserve(&mut self, count: usize, bytes: usize) -> Result<(), ErrorKind> {
        room(&mut self.offsets, count)?;
        room(&mut self.data, bytes)
    }

    /// Appends the end of a string whose bytes will be [taken over](Self::take_over).
    #[inline]
    pub(crate) fn push_end(&mut self, end: usize) -> Result<(), ErrorKind> {
        self.offsets.push(end_of(end)?);
        Ok(())
    }

    /// Takes over the bytes of all strings, whose ends are known.
    pub(crate) fn take_over(&mut self, data: Vec<u8>) {
        self.data = data;
    }

    /// Appends strings `start..end` of `other`.
    fn extend_from(&mut self, other: &Self, start: usize, end: usize) -> Result<(), ErrorKind> {
        let (before, first) = (self.data.len(), other.offsets[start] as usize);
        let bytes = &other.data[first..other.offsets[end] as usize];
        end_of(before + bytes.len())?;
        self.reserve(end - start, bytes.len())?;
        self.data.extend_from_slice(bytes);
        let ends = other.offsets[start + 1..=end].iter();
        self.offsets.extend(ends.map(|&end| (end as usize - first + before) as u32));
        Ok(())
    }

    fn spread(&mut self, present: &Bitmap) {
        let mut dense = self.len();
        self.offsets.resize(present.len() + 1, 0);
        for row in (0..present.len()).rev() {
            if dense == row + 1 {
                break;
            }
            self.offsets[row + 1] = self.offsets[dense];
            dense -= usize::from(present.get(row));
        }
    }
}

/// Values of one type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// BOOLEAN.
    Boolean(Vec<bool>),
    /// INT32, DATE.
    Int32(Vec<i32>),
    /// INT64, TIMESTAMP.
    Int64(Vec<i64>),
    /// FLOAT.
    Float(Vec<f32>),
    /// DOUBLE.
    Double(Vec<f64>),
    /// TEXT, STRING, BLOB.
    Binary(Binaries),
}

/// One value, borrowed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// BOOLEAN.
    Boolean(bool),
    /// INT32, DATE.
    Int32(i32),
    /// INT64, TIMESTAMP.
    Int64(i64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// TEXT, STRING, BLOB.
    Binary(&'a [u8]),
}

/// Runs the same code for the vector of each type.
macro_rules! each_vec {
    ($values:expr, $vec:ident => $fixed:expr, $binaries:ident => $binary:expr) => {
        match $values {
            Values::Boolean($vec) => $fixed,
            Values::Int32($vec) => $fixed,
            Values::Int64($vec) => $fixed,
            Values::Float($vec) => $fixed,
            Values::Double($vec) => $fixed,
            Values::Binary($binaries) => $binary,
        }
    };
}

impl Values {
    /// No values of this type; `None` for types that have none (VECTOR, UNKNOWN, OBJECT).
    #[must_use]
    pub fn new(dtype: DataType) -> Option<Self> {
        Some(match dtype {
            DataType::Boolean => Self::Boolean(Vec::new()),
            DataType::Int32 | DataType::Date => Self::Int32(Vec::new()),
            DataType::Int64 | DataType::Timestamp => Self::Int64(Vec::new()),
            DataType::Float => Self::Float(Vec::new()),
            DataType::Double => Self::Double(Vec::new()),
            DataType::Text | DataType::String | DataType::Blob => Self::Binary(Binaries::default()),
            DataType::Vector | DataType::Unknown | DataType::Object => return None,
        })
    }

    /// Whether it holds values of this type.
    #[must_use]
    pub fn is_of(&self, dtype: DataType) -> bool {
        Self::new(dtype).is_some_and(|values| mem::discriminant(&values) == mem::discriminant(self))
    }

    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        each_vec!(self, vec => vec.len(), binaries => binaries.len())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all and keeps the memory.
    pub fn clear(&mut self) {
        each_vec!(self, vec => vec.clear(), binaries => binaries.clear());
    }

    /// Value `index`.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value<'_>> {
        Some(match self {
            Self::Boolean(vec) => Value::Boolean(*vec.get(index)?),
            Self::Int32(vec) => Value::Int32(*vec.get(index)?),
            Self::Int64(vec) => Value::Int64(*vec.get(index)?),
            Self::Float(vec) => Value::Float(*vec.get(index)?),
            Self::Double(vec) => Value::Double(*vec.get(index)?),
            Self::Binary(binaries) => Value::Binary(binaries.get(index)?),
        })
    }

    /// Appends value `index` of `other`, or a placeholder where there is none. Both are of one type.
    ///
    /// # Errors
    /// As [`Binaries::push`].
    pub(crate) fn push_from(&mut self, other: &Self, index: Option<usize>) -> Result<(), ErrorKind> {
        let at = index.unwrap_or(usize::MAX);
        match (self, other) {
            (Self::Boolean(to), Self::Boolean(from)) => to.push(from.get(at).copied().unwrap_or_default()),
            (Self::Int32(to), Self::Int32(from)) => to.push(from.get(at).copied().unwrap_or_default()),
            (Self::Int64(to), Self::Int64(from)) => to.push(from.get(at).copied().unwrap_or_default()),
            (Self::Float(to), Self::Float(from)) => to.push(from.get(at).copied().unwrap_or_default()),
            (Self::Double(to), Self::Double(from)) => to.push(from.get(at).copied().unwrap_or_default()),
            (Self::Binary(to), Self::Binary(from)) => to.push(from.get(at).unwrap_or_default())?,
            _ => return Err(ErrorKind::Invalid("chunks of one column differ in type")),
        }
        Ok(())
    }

    /// Appends values `start..end` of `other`, which is of the same type.
    ///
    /// # Errors
    /// As [`Binaries::push`].
    pub(crate) fn extend_from(&mut self, other: &Self, start: usize, end: usize) -> Result<(), ErrorKind> {
        self.reserve(end - start)?;
        match (self, other) {
            (Self::Boolean(to), Self::Boolean(from)) => to.extend_from_slice(&from[start..end]),
            (Self::Int32(to), Self::Int32(from)) => to.extend_from_slice(&from[start..end]),
            (Self::Int64(to), Self::Int64(from)) => to.extend_from_slice(&from[start..end]),
            (Self::Float(to), Self::Float(from)) => to.extend_from_slice(&from[start..end]),
            (Self::Double(to), Self::Double(from)) => to.extend_from_slice(&from[start..end]),
            (Self::Binary(to), Self::Binary(from)) => to.extend_from(from, start, end)?,
            _ => return Err(ErrorKind::Invalid("chunks of one column differ in type")),
        }
        Ok(())
    }

    /// Makes room for `count` values, of strings not counting their bytes.
    pub(crate) fn reserve(&mut self, count: usize) -> Result<(), ErrorKind> {
        each_vec!(self, vec => room(vec, count), binaries => binaries.reserve(count, 0))
    }

    /// Appends `count` placeholders.
    pub(crate) fn extend_empty(&mut self, count: usize) -> Result<(), ErrorKind> {
        self.reserve(count)?;
        each_vec!(
            self,
            vec => { let all = vec.len() + count; vec.resize(all, Default::default()); },
            binaries => for _ in 0..count { binaries.push(&[])?; }
        );
        Ok(())
    }

    /// Gives the values, one for each row that has one, their rows; the others get a placeholder.
    pub(crate) fn spread(&mut self, present: &Bitmap) -> Result<(), ErrorKind> {
        fn slots<T: Copy + Default>(vec: &mut Vec<T>, present: &Bitmap) {
            let mut dense = vec.len();
            vec.resize(present.len(), T::default());
            // From the back, so that no value is overwritten before it has moved.
            for row in (0..present.len()).rev() {
                if dense == row + 1 {
                    break;
                }
                vec[row] = if present.get(row) {
                    dense -= 1;
                    vec[dense]
                } else {
                    T::default()
                };
            }
        }
        if present.count() < present.len() {
            self.reserve(present.len() - present.count())?;
            each_vec!(self, vec => slots(vec, present), binaries => binaries.spread(present));
        }
        Ok(())
    }

    /// Bytes of memory that the values hold, used or not.
    #[must_use]
    pub fn held(&self) -> usize {
        fn of<T>(vec: &Vec<T>) -> usize {
            vec.capacity() * size_of::<T>()
        }
        each_vec!(self, vec => of(vec), binaries => of(&binaries.data) + of(&binaries.offsets))
    }
}

/// A bit a row, least significant first: Arrow's layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    bytes: Vec<u8>,
    len: usize,
    ones: usize,
}

impl Bitmap {
    /// `len` equal bits.
    #[must_use]
    pub fn filled(value: bool, len: usize) -> Self {
        let mut bitmap = Self::default();
        bitmap.extend(value, len);
        bitmap
    }

    /// The first `len` bits of `bytes`, most significant first as the format has them. `None` when they are not
    /// all there.
    #[must_use]
    pub fn from_msb(bytes: &[u8], len: usize) -> Option<Self> {
        let mut bitmap = Self::default();
        bitmap.set_msb(bytes, len).then_some(bitmap)
    }

    /// Takes over the first `len` bits of `bytes`, most significant first. Says whether they were all there.
    pub(crate) fn set_msb(&mut self, bytes: &[u8], len: usize) -> bool {
        self.clear();
        let Some(stored) = bytes.get(..len.div_ceil(8)) else { return false };
        self.bytes.extend(stored.iter().map(|byte| byte.reverse_bits()));
        if let (Some(last), used @ 1..) = (self.bytes.last_mut(), len % 8) {
            *last &= (1 << used) - 1;
        }
        self.len = len;
        self.ones = self.bytes.iter().map(|byte| byte.count_ones() as usize).sum();
        true
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of rows that have a value.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ones
    }

    /// Whether row `index` has a value.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        index < self.len && self.bytes[index / 8] >> (index % 8) & 1 == 1
    }

    /// The bits: row i is bit i % 8 of byte i / 8.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.len = 0;
        self.ones = 0;
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, value: bool) {
        if self.len.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(value) << (self.len % 8);
        }
        self.len += 1;
        self.ones += usize::from(value);
    }

    /// Appends `count` equal rows.
    pub fn extend(&mut self, value: bool, count: usize) {
        let mut left = count;
        while left > 0 && !self.len.is_multiple_of(8) {
            self.push(value);
            left -= 1;
        }
        self.bytes.resize(self.bytes.len() + left / 8, if value { 0xff } else { 0 });
        self.len += left / 8 * 8;
        self.ones += if value { left / 8 * 8 } else { 0 };
        (0..left % 8).for_each(|_| self.push(value));
    }

    /// Appends rows `start..end` of `other`.
    pub(crate) fn extend_from(&mut self, other: &Self, start: usize, end: usize) {
        if other.count() == other.len() && end <= other.len() {
            self.extend(true, end - start);
        } else {
            (start..end).for_each(|row| self.push(other.get(row)));
        }
    }
}

/// A column of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// A value a row; rows without one hold a placeholder (0, false, empty).
    pub values: Values,
    /// Which rows have a value.
    pub validity: Bitmap,
}

impl Column {
    /// A column without rows; `None` for types that have no values.
    #[must_use]
    pub fn new(dtype: DataType) -> Option<Self> {
        Some(Self { values: Values::new(dtype)?, validity: Bitmap::default() })
    }

    /// The value of a row, `None` where it has none.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<Value<'_>> {
        self.validity.get(row).then(|| self.values.get(row)).flatten()
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.validity.clear();
    }

    /// Removes all rows, and keeps the memory unless it is much.
    pub(crate) fn reuse(&mut self) {
        const KEPT: usize = 1 << 20;
        if self.held() > KEPT
            && let Values::Binary(binaries) = &mut self.values
        {
            *binaries = Binaries::default();
        }
        self.clear();
    }

    /// Bytes of memory that it holds, used or not.
    #[must_use]
    pub fn held(&self) -> usize {
        self.values.held() + self.validity.bytes.capacity()
    }

    /// Appends `count` rows without a value.
    pub(crate) fn push_nulls(&mut self, count: usize) -> Result<(), ErrorKind> {
        self.validity.extend(false, count);
        self.values.extend_empty(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bitmaps_count_and_cut(bits: Vec<bool>, start in 0usize..40, end in 0usize..40, more in 0usize..40) {
            let mut bitmap = Bitmap::default();
            bits.iter().for_each(|&bit| bitmap.push(bit));
            prop_assert_eq!(bitmap.count(), bits.iter().filter(|&&bit| bit).count());
            let end = end.min(bits.len());
            let start = start.min(end);
            let mut part = Bitmap::default();
            part.extend_from(&bitmap, start, end);
            part.extend(true, more);
            let expected: Vec<bool> = bits[start..end].iter().copied().chain(vec![true; more]).collect();
            prop_assert_eq!((0..part.len()).map(|i| part.get(i)).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn spread_puts_values_in_their_rows(rows: Vec<Option<i32>>) {
            let mut present = Bitmap::default();
            rows.iter().for_each(|row| present.push(row.is_some()));
            let mut numbers = Values::Int32(rows.iter().filter_map(|row| *row).collect());
            let mut strings = Binaries::default();
            for row in rows.iter().flatten() {
                strings.push(&row.to_be_bytes()).unwrap();
            }
            let mut strings = Values::Binary(strings);
            numbers.spread(&present).unwrap();
            strings.spread(&present).unwrap();
            for (i, row) in rows.iter().enumerate() {
                prop_assert_eq!(numbers.get(i), Some(Value::Int32(row.unwrap_or(0))));
                let bytes = row.map(i32::to_be_bytes);
                prop_assert_eq!(strings.get(i), Some(Value::Binary(bytes.as_ref().map_or(&[][..], |b| &b[..]))));
            }
        }
    }

    #[test]
    fn bits_of_the_format_are_turned_around() {
        let bitmap = Bitmap::from_msb(&[0b1010_0000, 0b0100_0000], 10).unwrap();
        let rows: Vec<usize> = (0..10).filter(|&row| bitmap.get(row)).collect();
        assert_eq!(rows, [0, 2, 9]);
        assert_eq!(bitmap.count(), 3);
        assert_eq!(Bitmap::from_msb(&[0xff], 9), None);
        assert_eq!(Bitmap::from_msb(&[0xff], 3).unwrap().count(), 3);
    }
}
