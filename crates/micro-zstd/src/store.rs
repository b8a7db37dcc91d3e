//! The level *store*: raw blocks.

use crate::checksum::{Checksum, NoChecksum};
use crate::frame::{self, BLOCK_HEADER, BLOCK_MAX, BlockType, CHECKSUM, HEADER_MAX};
use crate::{Encoded, FrameEncoder};

/// Stores the content in raw blocks, for data that does not compress.
///
/// A frame of known size needs no copy: after each block header, the output is the input itself. So it is for a
/// frame of unknown size wherever more than a whole block is given at once; other bytes gather in the buffer of
/// `N` bytes, of which one block holds `N` less [`OVERHEAD`](Self::OVERHEAD).
///
/// # Examples
/// ```
/// use micro_zstd::{FrameEncoder, Store};
///
/// let mut store = Store::<64>::new();
/// store.start(Some(3));
/// let mut frame = store.encode(b"abc").output.to_vec(); // the headers
/// frame.extend_from_slice(store.encode(b"abc").output); // the input
/// assert_eq!(frame, b"\x28\xB5\x2F\xFD\x20\x03\x19\x00\x00abc");
/// assert!(store.finish().is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Store<const N: usize, C: Checksum = NoChecksum> {
    stage: Stage,
    /// Content bytes of the frame that no block has claimed yet, where the size is known.
    unclaimed: Option<u64>,
    /// Bytes of the open block that pass from input to output.
    passing: usize,
    /// Bytes in `buffer`: frame header, room for a block header, content.
    len: usize,
    /// Where the block header stands in `buffer`.
    block: usize,
    buffer: [u8; N],
    checksum: C,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No frame is open.
    Idle,
    Open,
    /// The last block is out, the checksum is not.
    Checksum,
}

impl<const N: usize, C: Checksum> Store<N, C> {
    /// The RAM that an encoder takes, in bytes.
    pub const RAM: usize = size_of::<Self>();
    /// Bytes of the buffer that hold headers rather than content.
    pub const OVERHEAD: usize = HEADER_MAX + BLOCK_HEADER;
    /// Content bytes of a block in a frame of unknown size.
    const BLOCK: usize = {
        assert!(N >= 32 && N <= BLOCK_MAX, "a buffer has 32 bytes to 128 KiB");
        N - Self::OVERHEAD
    };

    /// An encoder without an open frame, all of its bytes zero. A buffer of another size does not compile:
    ///
    /// ```compile_fail,E0080
    /// let _ = micro_zstd::Store::<31>::new();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(Self::BLOCK > 0) };
        Self {
            stage: Stage::Idle,
            unclaimed: None,
            passing: 0,
            len: 0,
            block: 0,
            buffer: [0; N],
            checksum: C::NEW,
        }
    }

    /// Writes the header of a block of `size` bytes; those that follow pass through.
    fn open_block(&mut self, size: usize, last: bool) -> &[u8] {
        self.passing = size;
        self.close_block(size, last)
    }

    /// Writes the header of a block whose `size` bytes stand in the buffer or pass through, and empties the buffer.
    fn close_block(&mut self, size: usize, last: bool) -> &[u8] {
        let header = frame::block_header(BlockType::Raw, size, last);
        if let Some(slot) = self.buffer.get_mut(self.block..).and_then(|rest| rest.first_chunk_mut()) {
            *slot = header;
        }
        let len = self.len;
        (self.block, self.len) = (0, BLOCK_HEADER);
        self.buffer.get(..len).unwrap_or_default()
    }

    /// Content bytes in the buffer.
    fn gathered(&self) -> usize {
        self.len - self.block - BLOCK_HEADER
    }
}

impl<const N: usize, C: Checksum> Default for Store<N, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize, C: Checksum> FrameEncoder for Store<N, C> {
    fn start(&mut self, content_size: Option<u64>) {
        self.stage = Stage::Open;
        self.unclaimed = content_size;
        self.passing = 0;
        self.checksum.start();
        let mut header = [0; HEADER_MAX];
        self.block = frame::header(&mut header, content_size, 17, C::PRESENT);
        self.len = self.block + BLOCK_HEADER;
        if let Some(slot) = self.buffer.first_chunk_mut() {
            *slot = header;
        }
    }

    fn encode<'a>(&'a mut self, input: &'a [u8]) -> Encoded<'a> {
        if self.stage != Stage::Open {
            self.start(None);
        }
        if self.passing > 0 {
            let output = input.get(..self.passing).unwrap_or(input);
            self.passing -= output.len();
            self.checksum.update(output);
            return Encoded { taken: output.len(), output };
        }
        if let Some(size @ 1..) = self.unclaimed {
            let block = size.min(BLOCK_MAX as u64);
            self.unclaimed = Some(size - block);
            return Encoded { taken: 0, output: self.open_block(block as usize, block == size) };
        }
        let gathered = self.gathered();
        if gathered == 0 && input.len() > Self::BLOCK {
            return Encoded { taken: 0, output: self.open_block(Self::BLOCK, false) };
        }
        if gathered == Self::BLOCK {
            return Encoded { taken: 0, output: self.close_block(gathered, false) };
        }
        let free = self.buffer.get_mut(self.len..).unwrap_or_default();
        let room = free.len().min(Self::BLOCK - gathered);
        let taken = input.get(..room).unwrap_or(input);
        if let Some(free) = free.get_mut(..taken.len()) {
            free.copy_from_slice(taken);
        }
        self.checksum.update(taken);
        self.len += taken.len();
        Encoded { taken: taken.len(), output: &[] }
    }

    fn finish(&mut self) -> Option<&[u8]> {
        if self.stage == Stage::Open {
            self.stage = if C::PRESENT { Stage::Checksum } else { Stage::Idle };
            // The last block of a frame of known size is out, unless it has no content.
            let gathered = self.gathered();
            if !(self.unclaimed == Some(0) && self.block == 0 && gathered == 0) {
                return Some(self.close_block(gathered, true));
            }
        }
        if self.stage == Stage::Checksum {
            self.stage = Stage::Idle;
            let value = self.checksum.value().to_le_bytes();
            let slot = self.buffer.first_chunk_mut::<CHECKSUM>()?;
            *slot = value;
            return Some(slot);
        }
        None
    }

    fn max_output(len: u64) -> u64 {
        frame::worst_case(len, Self::BLOCK as u64)
    }
}
