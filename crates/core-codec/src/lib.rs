//! Sans-IO readers and writers of three data file formats: `.izs` signals, TsFile time series and StarDS
//! arrays.
//!
//! Nothing here opens a file: readers are functions over a [`source::Source`] that say which bytes they lack,
//! writers return the bytes of the file in order. Nothing panics, and nothing is allocated for what a file
//! merely claims: every length passes [`Limits`].
//!
//! ```
//! # #[cfg(all(feature = "izs", feature = "zstd"))] {
//! use core_codec::izs::{Entity, Memory, Recorder, Schema, Stream, reader};
//! use core_codec::{Limits, source};
//! use micro_zstd::Rle;
//!
//! // Record an .izs as a microcontroller does ...
//! const LEVEL: Stream<u8> = Stream::new(0);
//! static SCHEMA: Schema = Schema::new(Entity::int(8).data(LEVEL.def()));
//! let mut memory = Memory::<Rle<256>, 1, 64>::new(Rle::new());
//! let mut recorder = Recorder::new(&mut memory, &SCHEMA).unwrap();
//! let mut file = Recorder::HEADER.to_vec();
//! let mut pieces = recorder.push(LEVEL, &[7; 5000]).unwrap();
//! while let Some(piece) = pieces.next() {
//!     file.extend(piece);
//! }
//! let mut pieces = recorder.finish().unwrap();
//! while let Some(piece) = pieces.next() {
//!     file.extend(piece);
//! }
//!
//! // ... and read three of its elements.
//! let (file, limits) = (file.as_slice(), Limits::default());
//! let izs = source::complete(reader::open(file, &limits)).unwrap();
//! let stream = izs.stream(izs.schema().streams().next().unwrap(), &limits).unwrap();
//! let mut levels = [0; 3];
//! source::complete(stream.read(file, 4000..4003, &mut levels)).unwrap();
//! assert_eq!(levels, [7; 3]);
//! # }
//! ```
//!
//! # Features
//!
//! `izs`, `stards` and `tsfile` are the formats. Without `alloc` there are the wire types, the errors and the
//! one-pass `.izs` writer; readers need `alloc`. `zstd` decodes in Rust, `zstd-c` with the C library, which is
//! several times faster and needs a C compiler. `defmt` formats the public types of the one-pass writer.
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

pub use error::{Error, ErrorKind, Severity};
pub use limits::Limits;
