//! A Zstandard frame encoder (RFC 8878) in a few KiB of fixed RAM, without a heap.
#![no_std]
#![forbid(unsafe_code)]

/// Encodes Zstandard frames, one after the other, sans-IO: bytes go in, and the frame's bytes come out as they
/// are ready.
pub trait FrameEncoder {
    /// Starts a frame; what was left of an earlier one is forgotten. A known `content_size` is stated in the
    /// frame header.
    fn start(&mut self, content_size: Option<u64>);

    /// Takes bytes from the front of `input`. While `input` is not empty, each call takes at least a byte or
    /// returns output.
    fn encode<'a>(&'a mut self, input: &'a [u8]) -> Encoded<'a>;

    /// Ends the frame: returns its last bytes piece by piece, then `None`.
    fn finish(&mut self) -> Option<&[u8]>;

    /// The longest frame that `len` bytes of content can become, whatever they are and however they are split.
    fn max_output(len: u64) -> u64
    where
        Self: Sized;
}

/// What [`FrameEncoder::encode`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded<'a> {
    /// Bytes taken from the front of the input.
    pub taken: usize,
    /// Bytes of the frame that follow those returned before. They may lie in the input itself.
    pub output: &'a [u8],
}
