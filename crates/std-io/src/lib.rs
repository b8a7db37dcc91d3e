//! The host side of Tripoint: files, memory maps, typed reads.
//!
//! [`Input`] is where bytes come from, whatever the format: a memory map, or ranges that a [`Fetch`] gets on
//! demand. It drives the sans-IO readers of [`core_codec`], which is here again for its types: who depends on it under its
//! own name has to take the same version.
//!
//! ```no_run
//! let file = std_io::IzsFile::open("capture.izs")?;
//! let logic = file.find("logic")?;
//! let samples: Vec<u8> = file.stream(logic)?.read(0..1000)?;
//! # Ok::<(), std_io::Error>(())
//! ```

mod error;
mod fetch;
#[cfg(feature = "http")]
mod http;
mod input;
mod izs;
mod map;
mod new_file;
mod output;
mod parallel;
mod segments;
mod stards;
pub mod tsfile;

pub use core_codec;
pub use core_codec::Severity;
pub use error::Error;
pub use fetch::{Fetch, FileRanges};
#[cfg(feature = "http")]
pub use http::HttpOptions;
#[cfg(feature = "https")]
pub use http::Roots;
pub use input::{Access, Input};
pub use izs::{
    AppendedFile, Basis, Budget, Event, Extent, Finding, IzsAppend, IzsFile, IzsStream, IzsWriter, Overview,
    Trace, WriteOptions, numbers,
};
pub use output::OutputFile;
pub use stards::{StardsArray, StardsFile, StardsWriter};
