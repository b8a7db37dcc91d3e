//! The level *rle*: raw blocks, and RLE blocks for runs of one byte.

use crate::checksum::{Checksum, NoChecksum};
use crate::frame::{self, BLOCK_HEADER, BLOCK_MAX, BlockType, CHECKSUM, HEADER_MAX};
use crate::run::{copy_to_run, run_length};
use crate::{Encoded, FrameEncoder};

/// Stores runs of one byte as RLE blocks of four bytes, for up to 128 KiB of content each, and the rest as raw
/// blocks. For idle lines and sparse samples where each instruction counts.
///
/// The buffer of `N` bytes gathers blocks; it is returned as output when it is full.
///
/// # Examples
/// ```
/// use micro_zstd::{FrameEncoder, Rle};
///
/// let mut rle = Rle::<64>::new();
/// rle.start(None);
/// let encoded = rle.encode(&[0; 60_000]);
/// assert_eq!((encoded.taken, encoded.output), (60_000, &b""[..]));
/// assert_eq!(rle.finish(), Some(&b"\x28\xB5\x2F\xFD\x00\x38\x03\x53\x07\x00"[..]));
/// assert_eq!(rle.finish(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Rle<const N: usize, C: Checksum = NoChecksum> {
    is_open: bool,
    /// The byte of the run that the input so far ends with.
    byte: u8,
    /// The length of that run, which no block holds yet.
    run: usize,
    /// Where the header of the open raw block stands in `buffer`; it is the last block there.
    raw: Option<usize>,
    len: usize,
    buffer: [u8; N],
    checksum: C,
}

/// The shortest run that an RLE block shortens, where a raw block must be opened for the run otherwise.
const SHORT: usize = 5;
/// The shortest run for which it pays to end a raw block and begin another.
const LONG: usize = 8;

impl<const N: usize, C: Checksum> Rle<N, C> {
    /// The RAM that an encoder takes, in bytes.
    pub const RAM: usize = size_of::<Self>();
    /// Bytes of the buffer that blocks may fill; the checksum always finds room behind.
    const ROOM: usize = {
        assert!(N >= 64 && N <= BLOCK_MAX, "a buffer has 64 bytes to 128 KiB");
        N - CHECKSUM
    };

    /// An encoder without an open frame, all of its bytes zero. A buffer of another size does not compile:
    ///
    /// ```compile_fail,E0080
    /// let _ = micro_zstd::Rle::<63>::new();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(Self::ROOM > 0) };
        Self { is_open: false, byte: 0, run: 0, raw: None, len: 0, buffer: [0; N], checksum: C::NEW }
    }

    fn put<const LEN: usize>(&mut self, at: usize, bytes: [u8; LEN]) {
        if let Some(slot) = self.buffer.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
            *slot = bytes;
        }
    }

    /// Ends the open raw block and empties the buffer.
    fn flush(&mut self) -> &[u8] {
        self.end_raw(false);
        let len = core::mem::take(&mut self.len);
        self.buffer.get(..len).unwrap_or_default()
    }

    fn end_raw(&mut self, last: bool) {
        if let Some(at) = self.raw.take() {
            let size = self.len - at - BLOCK_HEADER;
            self.put(at, frame::block_header(BlockType::Raw, size, last));
        }
    }

    /// Opens a raw block if none is open, and returns where its next bytes go: nowhere if the buffer is full.
    fn raw_room(&mut self) -> &mut [u8] {
        if self.raw.is_none() && self.len + BLOCK_HEADER < Self::ROOM {
            self.raw = Some(self.len);
            self.len += BLOCK_HEADER;
        }
        if self.raw.is_none() {
            return &mut [];
        }
        self.buffer.get_mut(self.len..Self::ROOM).unwrap_or_default()
    }

    /// Gives the pending run to a block. False if the buffer is full: flush it and call again.
    fn settle(&mut self, last: bool) -> bool {
        if self.run >= if self.raw.is_some() { LONG } else { SHORT } {
            if self.len + BLOCK_HEADER + 1 > Self::ROOM {
                return false;
            }
            self.end_raw(false);
            let [a, b, c] = frame::block_header(BlockType::Rle, self.run, last);
            self.put(self.len, [a, b, c, self.byte]);
            self.len += BLOCK_HEADER + 1;
            self.run = 0;
        } else {
            let (byte, run) = (self.byte, self.run);
            let room = self.raw_room();
            let taken = run.min(room.len());
            room.iter_mut().take(taken).for_each(|slot| *slot = byte);
            self.len += taken;
            self.run -= taken;
            if self.run > 0 {
                return false;
            }
            if last {
                self.end_raw(true);
            }
        }
        true
    }

    /// Takes bytes whose run is settled to a raw block, up to a run that an RLE block may hold: that one is
    /// pending then. Returns how many it took.
    fn take_raw(&mut self, bytes: &[u8]) -> usize {
        let Some(&first) = bytes.first() else { return 0 };
        let mut taken = 0;
        let mut rest = bytes;
        let mut byte = first;
        if self.raw.is_some() || bytes.get(..SHORT).is_some_and(|front| front != [first; SHORT]) {
            let room = self.raw_room();
            // What the buffer has no room for is looked at later, once.
            let seen = bytes.get(..room.len() + 1).unwrap_or(bytes);
            taken = copy_to_run(seen, room);
            self.len += taken;
            rest = bytes.get(taken..).unwrap_or_default();
            byte = *rest.first().unwrap_or(&0);
        }
        self.byte = byte;
        self.run = run_length(rest.get(..BLOCK_MAX).unwrap_or(rest), byte);
        taken + self.run
    }
}

impl<const N: usize, C: Checksum> Default for Rle<N, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize, C: Checksum> FrameEncoder for Rle<N, C> {
    fn start(&mut self, content_size: Option<u64>) {
        self.is_open = true;
        self.run = 0;
        self.raw = None;
        self.checksum.start();
        let mut header = [0; HEADER_MAX];
        self.len = frame::header(&mut header, content_size, 17, C::PRESENT);
        self.put(0, header);
    }

    fn encode<'a>(&'a mut self, input: &'a [u8]) -> Encoded<'a> {
        if !self.is_open {
            self.start(None);
        }
        let mut taken = 0;
        let mut rest = input;
        while !rest.is_empty() {
            let more = if self.run > 0 {
                let most = BLOCK_MAX - self.run;
                run_length(rest.get(..most).unwrap_or(rest), self.byte)
            } else {
                0
            };
            self.run += more;
            taken += more;
            rest = rest.get(more..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            let full = if self.run > 0 {
                !self.settle(false)
            } else {
                let raw = self.take_raw(rest);
                taken += raw;
                rest = rest.get(raw..).unwrap_or_default();
                self.run == 0
            };
            if full {
                self.checksum.update(input.get(..taken).unwrap_or_default());
                return Encoded { taken, output: self.flush() };
            }
        }
        self.checksum.update(input);
        Encoded { taken, output: &[] }
    }

    fn finish(&mut self) -> Option<&[u8]> {
        if !self.is_open {
            return None;
        }
        if self.run == 0 && self.raw.is_none() {
            // Nothing has come: the only block is empty.
            self.put(self.len, frame::block_header(BlockType::Raw, 0, true));
            self.len += BLOCK_HEADER;
        } else if !self.settle(true) {
            return Some(self.flush());
        }
        if C::PRESENT {
            self.put(self.len, self.checksum.value().to_le_bytes());
            self.len += CHECKSUM;
        }
        self.is_open = false;
        Some(self.flush())
    }

    fn max_output(len: u64) -> u64 {
        frame::worst_case(len, (Self::ROOM - HEADER_MAX - 2 * BLOCK_HEADER) as u64)
    }
}
