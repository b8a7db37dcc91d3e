//! Zstandard frames (RFC 8878): by the C library with the feature `zstd-c`, else in pure Rust.
//!
//! Stored bytes are any number of frames, skippable ones among them. What a frame header claims (content size,
//! window) never decides what is allocated.

use alloc::vec;
use alloc::vec::Vec;

use crate::error::ErrorKind;

mod encoder;

pub use encoder::{DEFAULT_LEVEL, Encoder, LEVELS, check_level};

#[cfg(feature = "zstd-c")]
use by_c as imp;
#[cfg(not(feature = "zstd-c"))]
use by_rust as imp;

/// Decodes `stored` into all of `out`.
///
/// # Errors
/// [`ErrorKind::Codec`] for malformed frames and when they decode to more bytes than `out` has,
/// [`ErrorKind::Mismatch`] when they decode to fewer.
pub fn decode(stored: &[u8], out: &mut [u8]) -> Result<(), ErrorKind> {
    exactly(imp::decode, stored, out)
}

/// Decodes `stored`, whose decoded length is not known, to at most `limit` bytes.
///
/// # Errors
/// [`ErrorKind::Codec`] for malformed frames, [`ErrorKind::Limit`] when they decode to more.
pub fn decode_bounded(stored: &[u8], limit: u64) -> Result<Vec<u8>, ErrorKind> {
    bounded(imp::decode, stored, limit)
}

/// Decodes `stored` to `expected` bytes and gives them to `each` in parts of `part` bytes, the last one shorter: in the
/// memory of a part and of the window that the frames need. What is wrong may be found after some parts.
///
/// # Errors
/// As [`decode`].
pub fn decode_in_parts(
    stored: &[u8],
    expected: u64,
    part: usize,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), ErrorKind> {
    let mut given = 0;
    let streamed = in_parts::<imp::Stream>(stored, expected, part, &mut |bytes| {
        given += bytes.len();
        each(bytes);
    });
    if streamed != Err(WINDOW_TOO_LARGE) {
        return streamed;
    }
    decode_whole(stored, expected)?[given..].chunks(part.max(1)).for_each(each);
    Ok(())
}

/// What a [`Decoder`] says of a window that is larger than what it is a window on.
pub(crate) const WINDOW_TOO_LARGE: ErrorKind = ErrorKind::Unsupported("zstd window of more than 8 MiB");

/// Decodes `stored` into as many bytes.
///
/// # Errors
/// As [`decode`], and [`ErrorKind::Memory`].
pub(crate) fn decode_whole(stored: &[u8], expected: u64) -> Result<Vec<u8>, ErrorKind> {
    let len = usize::try_from(expected).map_err(|_| ErrorKind::Memory { needed: expected })?;
    let mut whole = bytemuck::try_zeroed_vec(len).map_err(|()| ErrorKind::Memory { needed: expected })?;
    decode(stored, &mut whole)?;
    Ok(whole)
}

/// Stored bytes that [`Decoder::decode`] is given at least, unless there are no more: a frame's header, and the largest
/// block with its own header and the checksum behind it.
pub const LEAST_STORED: usize = 18 + 3 + (128 << 10) + 4;

/// Decodes frames step by step, and holds its place in between: in little more memory than the window that they need.
pub struct Decoder(imp::Stream);

/// How far a step of a [`Decoder`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Stored bytes that are done with.
    pub read: usize,
    /// Decoded bytes.
    pub written: usize,
}

impl Decoder {
    /// Decodes frames of at most `most` bytes together.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] with the decoder's reason.
    pub fn new(most: u64) -> Result<Self, ErrorKind> {
        Ok(Self(Stream::new(most)?))
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.0.memory()
    }

    /// Goes on with `stored`, which follows what was read before: [`LEAST_STORED`] bytes or more, or all the rest, as
    /// `is_rest` says. Stops when `out` is full, or there is not enough of them.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] for malformed frames, [`ErrorKind::Unsupported`] for a window of more than 8 MiB that is
    /// larger than all that it is a window on: decoding that at once takes less memory.
    pub fn decode(&mut self, stored: &[u8], is_rest: bool, out: &mut [u8]) -> Result<Step, ErrorKind> {
        self.0.decode(stored, is_rest, out)
    }

    /// Checks that no frame is cut short, when all has been read.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] when one is.
    pub fn finish(&self) -> Result<(), ErrorKind> {
        self.0.finish()
    }
}

/// What each decoder does of a [`Decoder`].
trait Stream: Sized {
    fn new(most: u64) -> Result<Self, ErrorKind>;
    fn memory(&self) -> usize;
    fn decode(&mut self, stored: &[u8], is_rest: bool, out: &mut [u8]) -> Result<Step, ErrorKind>;
    fn finish(&self) -> Result<(), ErrorKind>;
}

fn in_parts<S: Stream>(
    stored: &[u8],
    expected: u64,
    part: usize,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), ErrorKind> {
    let mut stream = S::new(expected)?;
    let mut buffer = vec![0; part.max(1)];
    let (mut rest, mut found) = (stored, 0_u64);
    loop {
        let step = stream.decode(rest, true, &mut buffer)?;
        rest = &rest[step.read..];
        found = found.saturating_add(step.written as u64);
        if found > expected {
            return Err(TOO_LONG);
        }
        if step.written > 0 {
            each(&buffer[..step.written]);
        }
        if step.written < buffer.len() {
            break;
        }
    }
    stream.finish()?;
    if found < expected {
        return Err(ErrorKind::Mismatch { what: "decoded bytes", expected, found });
    }
    Ok(())
}

pub(crate) const TOO_LONG: ErrorKind =
    ErrorKind::Codec { codec: "zstd", reason: "decodes to more bytes than it should" };

/// Whether `stored` starts as a frame does, or a skippable one.
#[must_use]
pub fn is_frame(stored: &[u8]) -> bool {
    matches!(stored, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Encodes `data` as one frame, at the encoder's default level.
///
/// # Errors
/// [`ErrorKind::Codec`] with the encoder's reason.
pub fn encode(data: &[u8]) -> Result<Vec<u8>, ErrorKind> {
    let mut encoder = Encoder::new();
    encoder.encode(DEFAULT_LEVEL, data).map(<[u8]>::to_vec)
}

/// What a decoder found out.
enum Outcome {
    /// All of it, in so many bytes.
    Done(usize),
    /// There is more than the buffer holds.
    TooSmall,
}

/// Decodes as much of the stored bytes as the buffer holds.
type OneShot = fn(&[u8], &mut [u8]) -> Result<Outcome, ErrorKind>;

fn exactly(decoder: OneShot, stored: &[u8], out: &mut [u8]) -> Result<(), ErrorKind> {
    let expected = out.len() as u64;
    match decoder(stored, out)? {
        Outcome::Done(found) if found as u64 == expected => Ok(()),
        Outcome::Done(found) => {
            Err(ErrorKind::Mismatch { what: "decoded bytes", expected, found: found as u64 })
        }
        Outcome::TooSmall => Err(TOO_LONG),
    }
}

/// Tries buffers of doubling size: cheap for the small metadata that this is for, and needs no trust.
fn bounded(decoder: OneShot, stored: &[u8], limit: u64) -> Result<Vec<u8>, ErrorKind> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut size = stored.len().saturating_mul(4).clamp(4096, limit.max(4096)).min(limit);
    loop {
        let mut out = vec![0; size];
        match decoder(stored, &mut out)? {
            Outcome::Done(found) => {
                out.truncate(found);
                return Ok(out);
            }
            Outcome::TooSmall if size < limit => size = size.saturating_mul(2).min(limit),
            Outcome::TooSmall => {
                let (limit, found) = (limit as u64, (limit as u64).saturating_add(1));
                return Err(ErrorKind::Limit { what: "decoded bytes", limit, found });
            }
        }
    }
}

#[cfg(feature = "zstd-c")]
mod by_c {
    use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, SafeResult};

    use super::{ErrorKind, Outcome, Step, WINDOW_TOO_LARGE};

    /// log2 of a window that every decoder should support (RFC 8878, 3.1.1.1.2), and of the largest there is.
    const WINDOW_LOGS: [u32; 2] = [23, 30];

    /// Each thread keeps a context, which costs as much to set up as a small block takes to decode.
    #[cfg(feature = "std")]
    fn decompress(stored: &[u8], out: &mut [u8]) -> SafeResult {
        use core::cell::RefCell;

        std::thread_local! {
            static CONTEXT: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
        }
        let kept = CONTEXT.try_with(|context| {
            let mut context = context.try_borrow_mut().ok()?;
            Some(context.get_or_insert_with(DCtx::create).decompress(out, stored))
        });
        match kept {
            Ok(Some(result)) => result,
            // A thread that is ending has none any more.
            _ => zstd_safe::decompress(out, stored),
        }
    }

    #[cfg(not(feature = "std"))]
    fn decompress(stored: &[u8], out: &mut [u8]) -> SafeResult {
        zstd_safe::decompress(out, stored)
    }

    pub(super) fn decode(stored: &[u8], out: &mut [u8]) -> Result<Outcome, ErrorKind> {
        // The one-shot call decodes straight into `out`: it allocates no window, whatever a header claims.
        match decompress(stored, out) {
            Ok(found) => Ok(Outcome::Done(found)),
            Err(code) if zstd_safe::get_error_name(code) == "Destination buffer is too small" => {
                Ok(Outcome::TooSmall)
            }
            Err(code) => Err(malformed(code)),
        }
    }

    pub(super) struct Stream {
        context: DCtx<'static>,
        /// What the frame still needs, at a guess; 0 between frames.
        unfinished: usize,
    }

    impl super::Stream for Stream {
        fn new(most: u64) -> Result<Self, ErrorKind> {
            let mut context = DCtx::create();
            // No window is larger than what it is a window on.
            let log = u64::BITS - most.saturating_sub(1).leading_zeros();
            let [common, largest] = WINDOW_LOGS;
            context.set_parameter(DParameter::WindowLogMax(log.clamp(common, largest))).map_err(malformed)?;
            Ok(Self { context, unfinished: 0 })
        }

        fn memory(&self) -> usize {
            self.context.sizeof()
        }

        fn decode(&mut self, stored: &[u8], _is_rest: bool, out: &mut [u8]) -> Result<Step, ErrorKind> {
            let mut input = InBuffer::around(stored);
            let mut written = 0;
            while written < out.len() {
                let read = input.pos();
                let mut output = OutBuffer::around_pos(out, written);
                let hint = self.context.decompress_stream(&mut output, &mut input).map_err(|code| {
                    match zstd_safe::get_error_name(code) {
                        "Frame requires too much memory for decoding" => WINDOW_TOO_LARGE,
                        _ => malformed(code),
                    }
                })?;
                if output.pos() == written && input.pos() == read {
                    break;
                }
                (written, self.unfinished) = (output.pos(), hint);
            }
            Ok(Step { read: input.pos(), written })
        }

        fn finish(&self) -> Result<(), ErrorKind> {
            if self.unfinished == 0 {
                return Ok(());
            }
            Err(ErrorKind::Codec { codec: "zstd", reason: "frame cut short" })
        }
    }

    fn malformed(code: usize) -> ErrorKind {
        ErrorKind::Codec { codec: "zstd", reason: zstd_safe::get_error_name(code) }
    }
}

#[cfg(all(feature = "zstd", any(not(feature = "zstd-c"), test)))]
mod by_rust {
    use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
    use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
    use ruzstd::io::Read;

    use super::{ErrorKind, LEAST_STORED, Outcome, Step, Stream as _, WINDOW_TOO_LARGE};

    /// A window that every decoder should support (RFC 8878, 3.1.1.1.2).
    const COMMON_WINDOW: u64 = 8 << 20;

    pub(super) fn decode(stored: &[u8], out: &mut [u8]) -> Result<Outcome, ErrorKind> {
        let mut stream = Stream::new(out.len() as u64)?;
        let Step { read, written } = stream.decode(stored, true, out)?;
        let more = stream.decode(&stored[read..], true, &mut [0])?;
        stream.finish()?;
        Ok(if more.written == 0 { Outcome::Done(written) } else { Outcome::TooSmall })
    }

    pub(super) struct Stream {
        /// The frame that is open.
        frame: Option<FrameDecoder>,
        /// The largest window that is taken.
        most: u64,
        /// The window of the open frame.
        window: u64,
        /// What is still to be passed over of a skippable frame.
        skip: usize,
    }

    impl super::Stream for Stream {
        fn new(most: u64) -> Result<Self, ErrorKind> {
            Ok(Self { frame: None, most: COMMON_WINDOW.max(most), window: 0, skip: 0 })
        }

        fn memory(&self) -> usize {
            // Its buffer grows by doubling; tables, and the largest block.
            usize::try_from(self.window).unwrap_or(usize::MAX).saturating_mul(2).saturating_add(256 << 10)
        }

        fn decode(&mut self, stored: &[u8], is_rest: bool, out: &mut [u8]) -> Result<Step, ErrorKind> {
            let (mut rest, mut written) = (stored, 0);
            loop {
                if let Some(frame) = &mut self.frame {
                    written += frame.read(&mut out[written..]).map_err(|_| malformed("malformed frame"))?;
                    if written == out.len() && frame.can_collect() > 0 {
                        break;
                    }
                    if frame.is_finished() {
                        check_sum(frame)?;
                        self.frame = None;
                    }
                }
                let skipped = self.skip.min(rest.len());
                (rest, self.skip) = (&rest[skipped..], self.skip - skipped);
                let is_enough = is_rest || rest.len() >= LEAST_STORED;
                match &mut self.frame {
                    None if rest.is_empty() || !is_enough => break,
                    None => self.start(&mut rest)?,
                    Some(_) if !is_enough => break,
                    Some(frame) => {
                        frame
                            .decode_blocks(&mut rest, BlockDecodingStrategy::UptoBlocks(1))
                            .map_err(|_| malformed("malformed frame"))?;
                    }
                }
            }
            Ok(Step { read: stored.len() - rest.len(), written })
        }

        fn finish(&self) -> Result<(), ErrorKind> {
            if self.skip > 0 { Err(malformed("skippable frame cut short")) } else { Ok(()) }
        }
    }

    impl Stream {
        /// Reads the header of a frame.
        fn start(&mut self, stored: &mut &[u8]) -> Result<(), ErrorKind> {
            let header = *stored;
            // A new decoder for each frame: it allocates its window as output comes, a reused one at once.
            let mut frame = FrameDecoder::new();
            frame.set_max_window_size(self.most);
            match frame.init(&mut *stored) {
                Ok(()) => {
                    self.window = window(header).unwrap_or_else(|| frame.content_size());
                    self.frame = Some(frame);
                    Ok(())
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    self.skip = length as usize;
                    Ok(())
                }
                Err(FrameDecoderError::WindowSizeTooBig { .. }) => Err(WINDOW_TOO_LARGE),
                Err(_) => Err(malformed("malformed frame header")),
            }
        }
    }

    /// The window that a valid header has (RFC 8878, 3.1.1.1); none where it is the content.
    fn window(header: &[u8]) -> Option<u64> {
        let [_, _, _, _, descriptor, window, ..] = *header else { return None };
        let base = 1 << (10 + (window >> 3));
        (descriptor & 0x20 == 0).then(|| base + base / 8 * u64::from(window & 7))
    }

    fn check_sum(frame: &FrameDecoder) -> Result<(), ErrorKind> {
        match frame.get_checksum_from_data() {
            Some(stated) if frame.get_calculated_checksum() != Some(stated) => {
                Err(malformed("checksum does not match"))
            }
            _ => Ok(()),
        }
    }

    fn malformed(reason: &'static str) -> ErrorKind {
        ErrorKind::Codec { codec: "zstd", reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Magic number and header of a frame without content size whose window is 1 KiB << `window_log`.
    fn header(window_log: u8) -> Vec<u8> {
        vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, window_log << 3]
    }

    fn block(kind: u32, len: usize, last: bool, content: &[u8]) -> Vec<u8> {
        let header = (len as u32) << 3 | kind << 1 | u32::from(last);
        [&header.to_le_bytes()[..3], content].concat()
    }

    fn rle_frame(window_log: u8, blocks: usize) -> Vec<u8> {
        let mut frame = header(window_log);
        for number in 1..=blocks {
            frame.extend(block(1, 128 << 10, number == blocks, &[7]));
        }
        frame
    }

    fn decoders() -> Vec<OneShot> {
        vec![
            #[cfg(feature = "zstd-c")]
            by_c::decode,
            #[cfg(feature = "zstd")]
            by_rust::decode,
        ]
    }

    #[test]
    fn several_frames_and_skippable_ones() {
        let skippable = [&0x184d_2a57_u32.to_le_bytes()[..], &3u32.to_le_bytes(), b"any"].concat();
        let first = [header(0), block(0, 3, false, b"abc"), block(1, 2, true, b"d")].concat();
        let second = [header(0), block(0, 1, true, b"e")].concat();
        let stored = [&skippable[..], &first, &skippable, &skippable, &second, &skippable].concat();
        for decoder in decoders() {
            let mut out = [0; 6];
            exactly(decoder, &stored, &mut out).unwrap();
            assert_eq!(&out, b"abcdde");
            assert_eq!(bounded(decoder, &stored, 6).unwrap(), b"abcdde");
            let fewer = exactly(decoder, &stored, &mut [0; 7]).unwrap_err();
            assert_eq!(fewer, ErrorKind::Mismatch { what: "decoded bytes", expected: 7, found: 6 });
            assert!(matches!(exactly(decoder, &stored, &mut [0; 5]), Err(ErrorKind::Codec { .. })));
            assert!(matches!(bounded(decoder, &stored, 5), Err(ErrorKind::Limit { limit: 5, .. })));
            for cut in 1..stored.len() {
                // Cut between two frames, it is valid, and short.
                assert!(exactly(decoder, &stored[..cut], &mut out).is_err() || cut + 11 >= stored.len());
            }
        }
    }

    #[test]
    fn parts_are_what_the_whole_is() {
        let raw = |bytes: &[u8]| [header(0), block(0, bytes.len(), true, bytes)].concat();
        let skippable = [&0x184d_2a57_u32.to_le_bytes()[..], &3u32.to_le_bytes(), b"any"].concat();
        let stored = [&skippable[..], &rle_frame(10, 3), &raw(b"abc"), &skippable].concat();
        let expected = 3 * (128 << 10) + 3;
        let check = |in_parts: InParts| {
            for part in [1 << 10, 100_000, expected, expected + 1] {
                let mut parts = Vec::new();
                in_parts(&stored, expected as u64, part, &mut |bytes| parts.push(bytes.to_vec())).unwrap();
                assert!(parts.iter().rev().skip(1).all(|found| found.len() == part));
                let whole = parts.concat();
                assert_eq!((whole.len(), &whole[expected - 4..]), (expected, &[7, b'a', b'b', b'c'][..]));
            }
            let fail =
                |stored: &[u8], expected: u64| in_parts(stored, expected, 1000, &mut |_| ()).unwrap_err();
            let kind =
                ErrorKind::Mismatch { what: "decoded bytes", expected: 400_000, found: expected as u64 };
            assert_eq!(fail(&stored, 400_000), kind);
            let mut seen = 0;
            let long = in_parts(&stored, 5000, 1000, &mut |bytes| seen += bytes.len());
            assert!(matches!(long, Err(ErrorKind::Codec { .. })) && seen == 5000, "{long:?} {seen}");
            for cut in skippable.len() + 1..skippable.len() + 18 {
                fail(&stored[..cut], 3 * (128 << 10));
            }
            assert!(in_parts(&[], 0, 10, &mut |_| ()).is_ok());
        };
        #[cfg(feature = "zstd-c")]
        check(in_parts::<by_c::Stream>);
        #[cfg(feature = "zstd")]
        check(in_parts::<by_rust::Stream>);
    }

    type InParts = fn(&[u8], u64, usize, &mut dyn FnMut(&[u8])) -> Result<(), ErrorKind>;

    /// Goes through `stored` in pieces, and through what it decodes to in parts.
    fn step_by_step<S: Stream>(stored: &[u8], piece: usize, part: usize) -> Result<Vec<u8>, ErrorKind> {
        let mut stream = S::new(1 << 20)?;
        let (mut at, mut whole, mut buffer) = (0, Vec::new(), vec![0; part]);
        loop {
            let end = stored.len().min(at + piece);
            let step = stream.decode(&stored[at..end], end == stored.len(), &mut buffer)?;
            at += step.read;
            whole.extend(&buffer[..step.written]);
            if step.written < part && end == stored.len() {
                stream.finish()?;
                assert_eq!(at, end);
                return Ok(whole);
            }
            assert!(step.read > 0 || step.written > 0, "it stands still at {at}");
        }
    }

    #[test]
    fn stored_bytes_may_come_in_pieces() {
        let skippable = |len: usize| {
            [&0x184d_2a50_u32.to_le_bytes()[..], &(len as u32).to_le_bytes(), &vec![9; len]].concat()
        };
        let noise: Vec<u8> = (0..300_000_u32).map(|i| (i.wrapping_mul(i) >> 9) as u8).collect();
        let raw = |bytes: &[u8]| {
            let blocks = bytes.chunks(128 << 10).map(|part| block(0, part.len(), false, part));
            [header(7), blocks.collect::<Vec<_>>().concat(), block(0, 0, true, b"")].concat()
        };
        let stored = [skippable(500_000), raw(&noise), skippable(0), rle_frame(7, 2), raw(b"end")].concat();
        let expected = [&noise[..], &[7; 256 << 10], b"end"].concat();
        let check = |steps: Steps| {
            for (piece, part) in [(LEAST_STORED, 1000), (LEAST_STORED, 1 << 20), (1 << 20, 70_001)] {
                assert!(steps(&stored, piece, part).unwrap() == expected, "{piece} {part}");
            }
            for cut in [5, 300_000, 500_020, stored.len() - 1] {
                assert!(steps(&stored[..cut], LEAST_STORED, 1000).is_err(), "{cut}");
            }
        };
        #[cfg(feature = "zstd-c")]
        check(step_by_step::<by_c::Stream>);
        #[cfg(feature = "zstd")]
        check(step_by_step::<by_rust::Stream>);
    }

    type Steps = fn(&[u8], usize, usize) -> Result<Vec<u8>, ErrorKind>;

    /// As an encoder writes them that is not told how much comes.
    #[cfg(feature = "zstd-c")]
    #[test]
    fn windows_may_be_larger_than_what_is_decoded() {
        for window_log in [13, 14, 20, 21] {
            let stored = [rle_frame(10, 1), rle_frame(window_log, 40)].concat();
            let mut found = 0;
            let expected = 41 * (128 << 10);
            decode_in_parts(&stored, expected, 100_000, &mut |part| found += part.len() as u64).unwrap();
            assert_eq!(found, expected);
            assert!(decode_in_parts(&stored, expected - 1, 100_000, &mut |_| ()).is_err());
            assert!(decode_in_parts(&stored, expected + 1, 100_000, &mut |_| ()).is_err());
        }
    }

    #[test]
    fn an_empty_block_is_no_frame_or_an_empty_one() {
        for decoder in decoders() {
            exactly(decoder, &[], &mut []).unwrap();
            exactly(decoder, &[header(0), block(0, 0, true, b"")].concat(), &mut []).unwrap();
            assert!(exactly(decoder, b"\x28\xb5\x2f", &mut []).is_err());
        }
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let bomb = rle_frame(10, 100_000);
        for decoder in decoders() {
            assert!(matches!(bounded(decoder, &bomb, 1 << 20), Err(ErrorKind::Limit { .. })));
            assert!(exactly(decoder, &bomb, &mut [0; 4096]).is_err());
        }
    }

    #[test]
    fn a_large_window_that_is_not_used_costs_nothing() {
        // 8 MiB, which long-range encoders claim for the smallest input.
        let frame = [header(13), block(1, 10, true, b"x")].concat();
        for decoder in decoders() {
            let mut out = [0; 10];
            exactly(decoder, &frame, &mut out).unwrap();
            assert_eq!(out, [b'x'; 10]);
        }
    }

    #[cfg(feature = "zstd-c")]
    #[test]
    fn checksums_are_verified() {
        use zstd_safe::CParameter;

        let data: Vec<u8> = (0..100_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let mut encoder = zstd_safe::CCtx::create();
        encoder.set_parameter(CParameter::ChecksumFlag(true)).unwrap();
        encoder.set_parameter(CParameter::ContentSizeFlag(false)).unwrap();
        let mut stored = vec![0; zstd_safe::compress_bound(data.len())];
        let len = encoder.compress2(&mut stored[..], &data).unwrap();
        stored.truncate(len);
        for decoder in decoders() {
            assert_eq!(bounded(decoder, &stored, 1 << 20).unwrap(), data);
            let mut damaged = stored.clone();
            damaged[len - 1] ^= 1;
            assert!(matches!(bounded(decoder, &damaged, 1 << 20), Err(ErrorKind::Codec { .. })));
        }
    }
}
