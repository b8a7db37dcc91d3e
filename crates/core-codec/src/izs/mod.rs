//! The Iguazu `.izs` file format: digital and analog waveforms and events in compressed blocks.
//!
//! A file is written in one pass: header, blocks of all streams in any order, block indexes, the schema (JSON
//! in a Zstandard frame), footer. It is read from its end.
//!
//! - [`raw`]: the fixed bytes.

pub mod raw;

pub use raw::{Compression, Dialect, Element, Sample};
