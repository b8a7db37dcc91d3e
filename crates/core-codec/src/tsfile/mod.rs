//! TsFile, versions 4 and 3: time series by device and measurement.
//!
//! Layers, each in a module of its own: the primitives ([`wire`]), the two ends of a file ([`metadata`]), the
//! index ([`index`], [`series`]), chunks and pages ([`chunk`], [`page`]), the [`encoding`]s, and columns in memory
//! ([`mod@column`]).

pub mod bloom;
pub mod chunk;
pub mod column;
pub mod device;
pub mod encoding;
pub mod encryption;
pub mod file;
pub mod index;
pub mod metadata;
pub mod page;
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
