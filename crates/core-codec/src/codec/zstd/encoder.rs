//! Writing Zstandard frames: one frame with its content size for each call, without a checksum.

use alloc::vec::Vec;

use crate::error::ErrorKind;

/// The levels that an [`Encoder`] takes, as in the C library.
pub const LEVELS: core::ops::RangeInclusive<u8> = 1..=19;

/// The level that the C library calls its default.
pub const DEFAULT_LEVEL: u8 = 3;

/// Encodes blocks into frames; its tables and its output are kept from block to block.
///
/// With the feature `zstd-c` it is the C library. Without, it is `micro_zstd`: it finds matches in a window of
/// 32 KiB and codes literals and sequences by their statistics, whatever the level; the frames are larger than
/// those of the C library at level 1.
///
/// ```
/// use core_codec::codec::zstd::{self, Encoder};
///
/// let mut encoder = Encoder::new();
/// let frame = encoder.encode(3, &[7; 100_000])?.to_vec();
/// let mut out = vec![0; 100_000];
/// zstd::decode(&frame, &mut out)?;
/// assert!(frame.len() < 100 && out == [7; 100_000]);
/// # Ok::<(), core_codec::ErrorKind>(())
/// ```
pub struct Encoder {
    imp: imp::Context,
    /// As long as the longest frame until now.
    out: Vec<u8>,
}

impl core::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Encoder").field("buffer", &self.out.len()).finish_non_exhaustive()
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// An encoder with tables of its own.
    #[must_use]
    pub fn new() -> Self {
        Self { imp: imp::Context::new(), out: Vec::new() }
    }

    /// One frame that holds `content`; the same bytes whatever was encoded before.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] for a level outside [`LEVELS`], [`ErrorKind::Codec`] when the library fails,
    /// for want of memory for instance.
    pub fn encode(&mut self, level: u8, content: &[u8]) -> Result<&[u8], ErrorKind> {
        check_level(level)?;
        let len = self.imp.encode(level, content, &mut self.out)?;
        Ok(&self.out[..len])
    }
}

/// Checks a level.
///
/// # Errors
/// [`ErrorKind::OutOfRange`].
pub fn check_level(level: u8) -> Result<(), ErrorKind> {
    if LEVELS.contains(&level) {
        return Ok(());
    }
    let (min, max) = ((*LEVELS.start()).into(), (*LEVELS.end()).into());
    Err(ErrorKind::OutOfRange { what: "zstd level", min, max, found: level.into() })
}

#[cfg(feature = "zstd-c")]
mod imp {
    use zstd_safe::{CCtx, CParameter};

    use super::{ErrorKind, Vec};

    pub(super) struct Context {
        context: CCtx<'static>,
        level: Option<u8>,
    }

    impl Context {
        pub(super) fn new() -> Self {
            Self { context: CCtx::create(), level: None }
        }

        pub(super) fn encode(
            &mut self,
            level: u8,
            content: &[u8],
            out: &mut Vec<u8>,
        ) -> Result<usize, ErrorKind> {
            let failed = |code| ErrorKind::Codec { codec: "zstd", reason: zstd_safe::get_error_name(code) };
            if self.level != Some(level) {
                self.context.set_parameter(CParameter::CompressionLevel(level.into())).map_err(failed)?;
                self.level = Some(level);
            }
            let bound = zstd_safe::compress_bound(content.len());
            if out.len() < bound {
                out.resize(bound, 0);
            }
            self.context.compress2(&mut out[..], content).map_err(failed)
        }
    }
}

#[cfg(not(feature = "zstd-c"))]
mod imp {
    use alloc::boxed::Box;

    use micro_zstd::{Entropy, FrameEncoder};

    use super::{ErrorKind, Vec};

    pub(super) struct Context(Box<Entropy<32_768, 8192, 32_768>>);

    impl Context {
        pub(super) fn new() -> Self {
            Self(Box::new(Entropy::new()))
        }

        pub(super) fn encode(
            &mut self,
            _: u8,
            content: &[u8],
            out: &mut Vec<u8>,
        ) -> Result<usize, ErrorKind> {
            out.clear();
            self.0.start(Some(content.len() as u64));
            let mut rest = content;
            while !rest.is_empty() {
                let encoded = self.0.encode(rest);
                out.extend_from_slice(encoded.output);
                rest = rest.get(encoded.taken..).unwrap_or_default();
            }
            while let Some(output) = self.0.finish() {
                out.extend_from_slice(output);
            }
            Ok(out.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::zstd::decode;
    use proptest::prelude::*;
    use std::vec;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn frames_decode_to_their_content_whatever_came_before(
            contents in prop::collection::vec(prop::collection::vec(0_u8..4, 0..30_000), 1..4),
            level in LEVELS,
        ) {
            let mut encoder = Encoder::new();
            for content in &contents {
                let frame = encoder.encode(level, content).unwrap().to_vec();
                let mut out = vec![0; content.len()];
                decode(&frame, &mut out).unwrap();
                prop_assert_eq!(&out, content);
                let mut fresh = Encoder::new();
                prop_assert_eq!(fresh.encode(level, content).unwrap(), &frame[..]);
            }
        }
    }

    #[test]
    fn levels_are_1_to_19() {
        for level in [0, 20, 255] {
            assert!(matches!(Encoder::new().encode(level, b"x"), Err(ErrorKind::OutOfRange { .. })));
        }
    }
}
