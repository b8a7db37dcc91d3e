//! TsFile, versions 4 and 3: time series by device and measurement.
//!
//! Layers, each in a module of its own: the primitives ([`wire`]), the two ends of a file ([`metadata`]), the
//! index ([`index`], [`series`]), chunks and pages ([`chunk`], [`page`]), the [`encoding`]s, and columns in memory
//! ([`mod@column`]).
//!
//! ```
//! use core_codec::Limits;
//! use core_codec::source::complete;
//! use core_codec::tsfile::query::{Batch, Plan, Rows, Serial, TimeRange};
//! use core_codec::tsfile::{DeviceId, TsFile};
//!
//! let bytes = std::fs::read("../../testdata/tsfile/tree_single_point.tsfile").unwrap();
//! let bytes = &bytes[..];
//! let file = complete(TsFile::open(bytes, &Limits::default()))?;
//! let device = complete(file.device(bytes, &DeviceId::from_path("root.sg.d1")))?.unwrap();
//! let plan = complete(Plan::new(&file, bytes, &device, Some(&["s1"]), TimeRange::ALL))?;
//! let mut rows = Rows::new(&file, plan);
//! let mut batch = Batch::default();
//! assert!(complete(rows.next(&file, bytes, &Serial, &mut batch))?);
//! assert_eq!(batch.rows(), 1);
//! # Ok::<(), core_codec::Error>(())
//! ```

pub mod bloom;
pub mod chunk;
#[cfg_attr(not(target_has_atomic = "ptr"), allow(dead_code, reason = "queries alone use all of it"))]
pub mod column;
pub mod device;
pub mod encoding;
pub mod encryption;
pub mod file;
pub mod index;
pub mod metadata;
pub mod page;
// Plans are shared between threads.
#[cfg(target_has_atomic = "ptr")]
pub mod query;
pub mod scan;
pub mod series;
pub mod statistics;
pub mod types;
pub mod wire;

pub use bloom::BloomFilter;
pub use column::{Bitmap, Column, Value, Values};
pub use device::DeviceId;
pub use encryption::{Encryption, PageKey};
pub use file::TsFile;
pub use index::{DeviceCursor, DeviceEntry, find_device};
pub use metadata::{ColumnSchema, Metadata, TableSchema, Version};
pub use series::{ChunkMetadata, Series, SeriesCursor, find_series};
pub use statistics::{Statistics, Summary, ValueStatistics};
pub use types::{Category, Compression, DataType, Encoding};
