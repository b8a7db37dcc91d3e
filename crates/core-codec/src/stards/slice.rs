//! Selections of a part of an array, as Python and NumPy write them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::num::{IntErrorKind, ParseIntError};
use core::str::FromStr;

use crate::error::{Error, ErrorKind};

const STRUCTURE: &str = "slice";

/// What to take of one dimension.
///
/// ```
/// use core_codec::stards::Slice;
///
/// let slices = Slice::parse_all("2, :10, ::-1").unwrap();
/// assert_eq!(slices[0], Slice::Index(2));
/// assert_eq!(slices[1], Slice::range(None, Some(10), 1));
/// assert_eq!(slices[2], Slice::range(None, None, -1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slice {
    /// One index, counted from the end when negative; the result has one dimension less.
    Index(i64),
    /// From `start` (included) to `stop` (excluded) in steps of `step`. Negative ends count from the end of the
    /// dimension, ends outside it are moved to it, and a negative step goes backwards.
    Range {
        /// First index; by default the first one in the direction of the step.
        start: Option<i64>,
        /// Where it ends; by default past the last one in the direction of the step.
        stop: Option<i64>,
        /// Not 0.
        step: i64,
    },
}

impl Slice {
    /// All of a dimension.
    pub const ALL: Self = Self::range(None, None, 1);

    /// `start:stop:step`.
    #[must_use]
    pub const fn range(start: Option<i64>, stop: Option<i64>, step: i64) -> Self {
        Self::Range { start, stop, step }
    }

    /// The slices of several dimensions, separated by commas.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the part that is no slice.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, Error> {
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        text.split(',').map(str::parse).collect()
    }
}

impl FromStr for Slice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let error =
            |reason| Error::new(STRUCTURE, ErrorKind::Invalid(reason)).detail(alloc::format!("{text:?}"));
        let number = |part: &str| match part.trim() {
            "" => Ok(None),
            part => part.parse().map(Some).map_err(|wrong: ParseIntError| match wrong.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
                    error("an integer of more than 64 bits")
                }
                _ => error("expected an integer"),
            }),
        };
        let parts: Vec<_> = text.split(':').map(number).collect::<Result<_, _>>()?;
        match parts[..] {
            [Some(index)] => Ok(Self::Index(index)),
            [start, stop] => Ok(Self::range(start, stop, 1)),
            [_, _, Some(0)] => Err(error("the step is 0")),
            [start, stop, step] => Ok(Self::range(start, stop, step.unwrap_or(1))),
            _ => Err(error("expected index or start:stop:step")),
        }
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, stop, step) = match *self {
            Self::Index(index) => return write!(f, "{index}"),
            Self::Range { start, stop, step } => (start, stop, step),
        };
        if let Some(start) = start {
            write!(f, "{start}")?;
        }
        f.write_str(":")?;
        if let Some(stop) = stop {
            write!(f, "{stop}")?;
        }
        if step == 1 { Ok(()) } else { write!(f, ":{step}") }
    }
}

/// The indices taken of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The first index.
    pub first: u64,
    /// From one index to the next; irrelevant when there is at most one.
    pub step: i64,
    /// How many.
    pub count: u64,
    /// Whether the result has this dimension.
    pub keep: bool,
}

/// Slices applied to a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    axes: Box<[Axis]>,
    shape: Vec<u64>,
    elements: u64,
}

impl Selection {
    /// Applies `slices` to the first dimensions of `shape`; the other dimensions are taken whole.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] for more slices than dimensions, [`ErrorKind::Invalid`] for an index outside its
    /// dimension and a step of 0.
    pub fn new(shape: &[u64], slices: &[Slice]) -> Result<Self, Error> {
        if slices.len() > shape.len() {
            let (max, found) = (shape.len() as u64, slices.len() as u64);
            return Err(Error::new(
                STRUCTURE,
                ErrorKind::OutOfRange { what: "dimensions", min: 0, max, found },
            ));
        }
        let slices = slices.iter().copied().chain(core::iter::repeat(Slice::ALL));
        let axes = shape
            .iter()
            .zip(slices)
            .map(|(&size, slice)| {
                axis(size, slice).map_err(|kind| {
                    Error::new(STRUCTURE, kind).detail(alloc::format!("{slice} of a dimension of {size}"))
                })
            })
            .collect::<Result<Box<[Axis]>, _>>()?;
        let shape: Vec<u64> = axes.iter().filter(|axis| axis.keep).map(|axis| axis.count).collect();
        let elements = super::tensor::element_count(&shape).map_err(|kind| Error::new(STRUCTURE, kind))?;
        Ok(Self { axes, shape, elements })
    }

    /// One for each dimension of the array.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Shape of the result.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Elements of the result.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.elements
    }
}

/// The rules of Python's `slice.indices`.
fn axis(size: u64, slice: Slice) -> Result<Axis, ErrorKind> {
    // In 128 bits nothing here can overflow.
    let len = i128::from(size);
    let from_end = |index: i64| if index < 0 { i128::from(index) + len } else { i128::from(index) };
    match slice {
        Slice::Index(index) => {
            let found = from_end(index);
            if (0..len).contains(&found) {
                return Ok(Axis { first: found as u64, step: 1, count: 1, keep: false });
            }
            Err(ErrorKind::Invalid("the index lies outside"))
        }
        Slice::Range { step: 0, .. } => Err(ErrorKind::Invalid("the step is 0")),
        Slice::Range { start, stop, step } => {
            let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
            let end = |end: Option<i64>, default| end.map_or(default, |end| from_end(end).clamp(low, high));
            let (start, stop) = if step > 0 {
                (end(start, low), end(stop, high))
            } else {
                (end(start, high), end(stop, low))
            };
            let span = if step > 0 { stop - start } else { start - stop };
            let count = if span <= 0 { 0 } else { (span - 1) / i128::from(step.unsigned_abs()) + 1 };
            // A count above 0 means that `start` is an index of the dimension.
            let first = if count == 0 { 0 } else { start as u64 };
            Ok(Axis { first, step, count: count as u64, keep: true })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn indices(size: u64, text: &str) -> Vec<u64> {
        let selection = Selection::new(&[size], &Slice::parse_all(text).unwrap()).unwrap();
        let axis = selection.axes()[0];
        assert_eq!(axis.count, selection.elements());
        (0..axis.count).map(|i| axis.first.wrapping_add_signed(axis.step.wrapping_mul(i as i64))).collect()
    }

    #[test]
    fn takes_what_python_takes() {
        assert_eq!(indices(5, ":"), [0, 1, 2, 3, 4]);
        assert_eq!(indices(5, "1:4"), [1, 2, 3]);
        assert_eq!(indices(5, "::2"), [0, 2, 4]);
        assert_eq!(indices(5, "1::3"), [1, 4]);
        assert_eq!(indices(5, "::-1"), [4, 3, 2, 1, 0]);
        assert_eq!(indices(5, "::-2"), [4, 2, 0]);
        assert_eq!(indices(5, "3:0:-1"), [3, 2, 1]);
        assert_eq!(indices(5, "-2:"), [3, 4]);
        assert_eq!(indices(5, "-99:99"), [0, 1, 2, 3, 4]);
        assert_eq!(indices(5, "99:-99:-3"), [4, 1]);
        assert_eq!(indices(5, "4:1"), [0u64; 0]);
        assert_eq!(indices(5, "0:0:-1"), [0u64; 0]);
        assert_eq!(indices(0, "::-1"), [0u64; 0]);
        assert_eq!(indices(5, "::9223372036854775807"), [0]);
        assert_eq!(indices(5, "::-9223372036854775808"), [4]);
        assert_eq!(indices(5, "-1"), [4]);
    }

    #[test]
    fn an_index_removes_its_dimension() {
        let selection = Selection::new(&[2, 3, 4], &[Slice::Index(-1), Slice::range(None, None, 2)]).unwrap();
        assert_eq!(selection.shape(), [2, 4]);
        assert_eq!(selection.elements(), 8);
    }

    #[test]
    fn what_is_no_slice_is_an_error() {
        for text in ["x", "1:2:0", "1:2:3:4", ",", "1,", "99999999999999999999"] {
            assert!(Slice::parse_all(text).is_err(), "{text}");
        }
        let outside = |index| Selection::new(&[3], &[Slice::Index(index)]).unwrap_err().to_string();
        assert_eq!(outside(3), "slice: the index lies outside: 3 of a dimension of 3");
        assert_eq!(outside(-4), "slice: the index lies outside: -4 of a dimension of 3");
        let huge = Slice::parse_all("99999999999999999999").unwrap_err().to_string();
        assert!(huge.contains("more than 64 bits"), "{huge}");
        assert!(Selection::new(&[3], &[Slice::ALL, Slice::ALL]).is_err());
        assert!(Selection::new(&[3], &[Slice::range(None, None, 0)]).is_err());
    }

    #[test]
    fn displays_what_it_parses() {
        for text in ["3", "-1", ":", "1:", ":-2", "1:2:3", "::-1"] {
            assert_eq!(text.parse::<Slice>().unwrap().to_string(), text);
        }
    }
}
