//! A Zstandard frame encoder (RFC 8878) in a few KiB of fixed RAM, without a heap.
//!
//! Every level is a type that implements [`FrameEncoder`], sans-IO: bytes go in, and the frame's bytes come out.
//!
//! | level | type | RAM of the default | what it does |
//! |---|---|---|---|
//! | store | [`Store`] | as chosen | raw blocks; passes the input through where it can |
//! | rle | [`Rle`] | as chosen | and RLE blocks for runs |
//! | fast | [`Fast`] | 5.7 KiB, and 0.4 KiB of stack | and matches, coded by the format's default tables |
//! | entropy | [`Entropy`] | 8.6 KiB, and 1.4 KiB of stack | and Huffman-coded literals, and tables fitted to the content |
//!
//! Their sizes are const parameters, and all their RAM is in the value (`RAM` is how much). A `static` encoder costs
//! no flash: its bytes are zero until it starts. One encoder makes any number of frames, one after the other; each
//! depends on its content alone, neither on how that was split nor on the target. Each zstd block is written in
//! whichever way is smallest, so that content which does not compress grows by a block header now and then only:
//! see [`FrameEncoder::max_output`].
//!
//! # Examples
//! ```
//! use micro_zstd::{FrameEncoder, Rle};
//!
//! let mut encoder = Rle::<1024>::new();
//! let mut frame = Vec::new();
//! let content = [0; 100_000];
//! let mut rest = &content[..];
//! while !rest.is_empty() {
//!     let encoded = encoder.encode(rest);
//!     frame.extend_from_slice(encoded.output);
//!     rest = &rest[encoded.taken..];
//! }
//! while let Some(output) = encoder.finish() {
//!     frame.extend_from_slice(output);
//! }
//! assert_eq!(frame.len(), 10);
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bits;
mod checksum;
mod coding;
mod distribution;
mod encoder;
mod finder;
mod fitted;
mod frame;
mod fse;
mod huffman;
mod rle;
mod run;
mod sequences;
mod store;

pub use checksum::{Checksum, NoChecksum, Xxh64};
pub use coding::{Coding, Predefined};
pub use encoder::Encoder;
pub use fitted::Fitted;
pub use rle::Rle;
pub use store::Store;

/// Encodes Zstandard frames, one after the other, sans-IO: bytes go in, and the frame's bytes come out as they
/// are ready.
pub trait FrameEncoder {
    /// Starts a frame; what was left of an earlier one is forgotten. A known `content_size` is stated in the
    /// frame header: the frame is valid only if exactly so many bytes follow. Without this call, the first
    /// [`encode`](Self::encode) starts a frame of unknown size.
    fn start(&mut self, content_size: Option<u64>);

    /// Takes bytes from the front of `input`. While `input` is not empty, each call takes at least a byte or
    /// returns output. Bytes that were not taken have to be given again before the frame ends. The frame does not
    /// depend on how its content is split into inputs.
    fn encode<'a>(&'a mut self, input: &'a [u8]) -> Encoded<'a>;

    /// Ends the frame: returns its last bytes piece by piece, then `None`. Without an open frame there are none.
    fn finish(&mut self) -> Option<&[u8]>;

    /// The longest frame that `len` bytes of content can become, whatever they are and however they are split.
    fn max_output(len: u64) -> u64
    where
        Self: Sized;
}

/// The level *fast*: matches, and tables that the format brings along.
///
/// # Examples
/// ```
/// use micro_zstd::{Fast, FrameEncoder};
///
/// let mut encoder: Fast = Fast::new();
/// assert!(encoder.encode(b"again and again and again and again").output.is_empty());
/// assert_eq!(encoder.finish().map(<[u8]>::len), Some(25));
/// assert!(Fast::<2048, 256, 512>::RAM < 3300);
/// ```
pub type Fast<const WINDOW: usize = 4096, const HASH: usize = 512, const OUT: usize = 544, C = NoChecksum> =
    Encoder<Predefined, WINDOW, HASH, OUT, C>;

/// The level *entropy*: as [`Fast`], with Huffman-coded literals, and tables fitted to the content.
pub type Entropy<
    const WINDOW: usize = 4096,
    const HASH: usize = 512,
    const OUT: usize = 2176,
    C = NoChecksum,
> = Encoder<Fitted, WINDOW, HASH, OUT, C>;

/// What [`FrameEncoder::encode`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded<'a> {
    /// Bytes taken from the front of the input.
    pub taken: usize,
    /// Bytes of the frame that follow those returned before. They may lie in the input itself.
    pub output: &'a [u8],
}
