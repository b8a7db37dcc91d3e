//! Arrays as those of `ndarray`.

use alloc::vec::Vec;

use ndarray::{ArrayD, ArrayViewD, IxDyn};

use super::array::Array;
use super::draft::Draft;
use super::slice::Slice;
use super::storage::Storage;
use super::types::Element;
use crate::error::{Error, ErrorKind};
use crate::limits;
use crate::source::{Poll, Source};

fn dimensions(shape: &[u64]) -> Result<IxDyn, Error> {
    let sizes: Result<Vec<usize>, _> =
        shape.iter().map(|&size| limits::check("size of a dimension", size, isize::MAX as u64)).collect();
    Ok(IxDyn(&sizes.map_err(|kind| Error::new("shape", kind))?))
}

fn refused(_: ndarray::ShapeError) -> Error {
    Error::new("shape", ErrorKind::Invalid("larger than an array in memory can be"))
}

/// With the `ndarray` feature.
///
/// ```
/// use core_codec::Limits;
/// use core_codec::source::complete;
/// use core_codec::stards::{BASE_LAYER, Compression, Dataset, Draft};
///
/// let mut draft = Draft::new();
/// let grid = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
/// draft.put_ndarray(BASE_LAYER, "grid", grid.view().into_dyn(), Compression::Lz4)?;
/// let file = draft.to_bytes(&[][..])?;
/// let dataset = complete(Dataset::open(&file[..], &Limits::default()))?;
/// let read = complete(dataset.array(BASE_LAYER, "grid")?.read_ndarray::<f64, _>(&file[..]))?;
/// assert_eq!(read, grid.into_dyn());
/// # Ok::<(), core_codec::Error>(())
/// ```
impl Array {
    /// All of its numbers.
    ///
    /// # Errors
    /// As [`read_vec`](Self::read_vec), and a shape that memory cannot hold.
    pub fn read_ndarray<T: Element, S: Source + ?Sized>(&self, source: &S) -> Poll<ArrayD<T>> {
        let shape = dimensions(self.shape())?;
        let values = self.read_vec(source)?;
        Ok(ArrayD::from_shape_vec(shape, values).map_err(refused)?)
    }

    /// The numbers that `slices` take.
    ///
    /// # Errors
    /// As [`read_slice_vec`](Self::read_slice_vec), and a shape that memory cannot hold.
    pub fn read_slice_ndarray<T: Element, S: Source + ?Sized>(
        &self,
        source: &S,
        slices: &[Slice],
    ) -> Poll<ArrayD<T>> {
        let (shape, values) = self.read_slice_vec(source, slices)?;
        Ok(ArrayD::from_shape_vec(dimensions(&shape)?, values).map_err(refused)?)
    }

    /// As [`view`](Self::view), in its shape.
    ///
    /// # Errors
    /// As [`view`](Self::view), and a shape that memory cannot hold.
    pub fn view_ndarray<'a, T: Element, S: Source + ?Sized>(
        &self,
        source: &'a S,
    ) -> Poll<Option<ArrayViewD<'a, T>>> {
        let Some(values) = self.view(source)? else { return Ok(None) };
        let view = ArrayViewD::from_shape(dimensions(self.shape())?, values);
        Ok(Some(view.map_err(refused)?))
    }
}

impl<'a> Draft<'a> {
    /// As [`put_slice`](Self::put_slice), with the shape and the numbers of `values`.
    ///
    /// # Errors
    /// As [`put_slice`](Self::put_slice).
    pub fn put_ndarray<T: Element>(
        &mut self,
        layer: &str,
        key: &str,
        values: ArrayViewD<'a, T>,
        storage: impl Into<Storage>,
    ) -> Result<(), Error> {
        let shape: Vec<u64> = values.shape().iter().map(|&size| size as u64).collect();
        match values.to_slice() {
            Some(slice) => self.put_slice(layer, key, &shape, slice, storage),
            // Not in row-major order, or with gaps.
            None => {
                let copied: Vec<T> = values.iter().copied().collect();
                self.put(layer, key, super::tensor::Tensor::array(&shape, &copied)?, storage)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::complete;
    use crate::stards::{BASE_LAYER, Compression, Dataset};
    use ndarray::{Array3, Axis, Slice as NdSlice};

    #[test]
    fn any_layout_is_written_and_slices_are_those_of_ndarray() {
        let values = Array3::from_shape_fn((4, 5, 6), |(i, j, k)| (i * 100 + j * 10 + k) as i32);
        let turned = values.t();
        let mut draft = Draft::new();
        draft.put_ndarray(BASE_LAYER, "x", values.view().into_dyn(), Compression::None).unwrap();
        draft.put_ndarray(BASE_LAYER, "t", turned.into_dyn(), Compression::Lz4Shuffle).unwrap();
        let file = draft.to_bytes(&[][..]).unwrap();
        let dataset = complete(Dataset::open(&file[..], &crate::Limits::default())).unwrap();
        let read = |key| dataset.array(BASE_LAYER, key).unwrap();
        assert_eq!(complete(read("t").read_ndarray::<i32, _>(&file[..])).unwrap(), turned.into_dyn());
        if let Some(view) = complete(read("x").view_ndarray::<i32, _>(&file[..])).unwrap() {
            assert_eq!(view, values.view().into_dyn());
        }
        let slices = Slice::parse_all("1:3, ::-2, 4").unwrap();
        let found = complete(read("x").read_slice_ndarray::<i32, _>(&file[..], &slices)).unwrap();
        // The macro of `ndarray` for this holds unsafe code.
        let mut expected = values.view();
        expected.slice_axis_inplace(Axis(0), NdSlice::from(1..3));
        expected.slice_axis_inplace(Axis(1), NdSlice::new(0, None, -2));
        assert_eq!(found, expected.index_axis(Axis(2), 4).into_dyn());
    }
}
