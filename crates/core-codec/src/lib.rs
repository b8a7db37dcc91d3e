//! Sans-IO readers and writers of three data file formats: `.izs` signals, TsFile time series and StarDS
//! arrays.
#![doc = "\n"]
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

#[cfg(feature = "alloc")]
pub mod codec;
pub mod error;
#[cfg(feature = "izs")]
pub mod izs;
pub mod limits;
#[cfg(feature = "alloc")]
pub mod source;
#[cfg(feature = "stards")]
pub mod stards;
#[cfg(feature = "tsfile")]
pub mod tsfile;
pub mod wire;

pub use error::{Error, ErrorKind};
pub use limits::Limits;
