//! StarDS: typed arrays of any number of dimensions, in layers, with metadata.
//!
//! [`Dataset`] reads, [`Draft`] writes. A dataset is the header of a file, parsed and checked; the data stays in the
//! [`Source`](crate::source::Source), and only the blocks that are asked for are decoded. A draft is a file to be
//! written: new, or made out of a dataset and changed.
//!
//! ```
//! use core_codec::Limits;
//! use core_codec::source::complete;
//! use core_codec::stards::{BASE_LAYER, Compression, Dataset, Draft, Slice};
//!
//! let image: Vec<u16> = (0..12).collect();
//! let mut draft = Draft::new();
//! draft.add_layer("raw")?;
//! draft.put_slice("raw", "image", &[3, 4], &image, Compression::Lz4Shuffle)?;
//! draft.set_metadata(BASE_LAYER, "camera", "left")?;
//! let file = draft.to_bytes(&[][..])?;
//!
//! let dataset = complete(Dataset::open(&file[..], &Limits::default()))?;
//! let image = dataset.array("raw", "image")?;
//! // Every second column of the last row.
//! let (shape, values) = complete(image.read_slice_vec::<u16, _>(&file[..], &Slice::parse_all("-1, ::2")?))?;
//! assert_eq!((&shape[..], &values[..]), (&[2][..], &[8, 10][..]));
//! # Ok::<(), core_codec::Error>(())
//! ```

mod array;
mod codec;
mod cursor;
mod dataset;
mod draft;
mod gather;
mod hash;
mod layout;
mod metadata;
mod name;
#[cfg(feature = "ndarray")]
mod nd;
pub mod raw;
mod slice;
mod storage;
mod tensor;
mod types;
mod verify;

pub use array::{Array, Block, Content};
pub use codec::{DEFAULT_LEVEL, encode_block};
pub use cursor::Walk;
pub use dataset::{BASE_LAYER, Dataset, FIRST_READ, Layer};
pub use draft::{Data, Draft, DraftArray};
pub use hash::hash;
pub use layout::Layout;
pub use metadata::Entry;
pub use name::{Name, Text};
pub use slice::{Axis, Selection, Slice};
pub use storage::{DEFAULT_BLOCK_SIZE, MAX_BLOCK_SIZE, MAX_BLOCKS, MAX_DIMENSIONS, Storage};
pub use tensor::Tensor;
pub use types::{Compression, DataType, Element};
pub use verify::{Check, Finding};
