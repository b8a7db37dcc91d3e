//! The Iguazu `.izs` file format: digital and analog waveforms and events in compressed blocks.
//!
//! A file is written in one pass: header, blocks of all streams in any order, block indexes, the schema (JSON
//! in a Zstandard frame), footer. It is read from its end.
//!
//! - [`raw`]: the fixed bytes.
//! - [`schema`]: a schema declared in constants, without a heap.
//! - [`recorder`]: the one-pass writer, without a heap.
//! - [`model`]: the schema of a file as checked types.
//! - [`reader`]: from a file to its schema and elements.
//! - [`writer`]: the writer for hosts: whole blocks, any number of streams.
//! - [`summary`]: coarser versions of streams, built while they are written.

mod block_log;
mod json;
#[cfg(feature = "alloc")]
pub mod model;
pub mod raw;
#[cfg(all(feature = "alloc", any(feature = "zstd", feature = "zstd-c")))]
pub mod reader;
pub mod recorder;
pub mod schema;
pub mod summary;
#[cfg(all(feature = "alloc", any(feature = "zstd", feature = "zstd-c")))]
pub mod writer;

pub use raw::{Compression, Dialect, Element, Sample};
pub use recorder::{Memory, RecordError, Recorder};
pub use schema::{Attribute, Entity, Schema, SchemaError, Stream};
