//! One stream of a file that is being written.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::{Encoding, Job, Ticket, encoding};
use crate::error::ErrorKind;
use crate::izs::model::{Descriptor, MAX_BLOCK_BYTES};
use crate::izs::raw::{Element, IndexEntry};

/// Buffers that are kept to be used again.
pub(super) const MOST_SPARE: usize = 64;

/// A stream: its open block, and where its stored ones are.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) element: Element,
    pub(super) encoding: Encoding,
    /// Elements of a block.
    pub(super) block: u64,
    /// Bytes of a block; 0 for a stream that cannot be written.
    pub(super) block_bytes: usize,
    /// The elements of the open block.
    pub(super) buffer: Vec<u8>,
    /// All elements, those in the buffer included.
    pub(super) elements: u64,
    /// Blocks handed out.
    pub(super) issued: u64,
    pub(super) blocks: Vec<IndexEntry>,
    /// The last block was stored short, as it came from another file.
    pub(super) cut_short: bool,
    /// The short last block of a file that is continued, and its bytes, which are in `buffer`.
    pub(super) old_last: Option<(IndexEntry, usize)>,
    /// Elements in the file that is continued; none for a new stream.
    pub(super) old_elements: Option<u64>,
    /// The descriptor of a stream that stays as it is.
    pub(super) kept: Option<Descriptor>,
    /// A level of a summary that goes on, so that its summary places it.
    pub(super) is_level: bool,
}

impl Track {
    pub(super) fn new(descriptor: &Descriptor, level: u8) -> Result<Self, ErrorKind> {
        let bytes = descriptor.block.saturating_mul(descriptor.element.size().into());
        if bytes > MAX_BLOCK_BYTES {
            let what = "bytes of a block";
            return Err(ErrorKind::Limit { what, limit: MAX_BLOCK_BYTES, found: bytes });
        }
        Ok(Self::open(descriptor.element, descriptor.block, encoding(&descriptor.compress, level)))
    }

    /// A stream that takes elements, in blocks of at most [`MAX_BLOCK_BYTES`].
    pub(super) fn open(element: Element, block: u64, encoding: Encoding) -> Self {
        let block_bytes = (block * u64::from(element.size())) as usize;
        Self { element, encoding, block, block_bytes, ..Self::closed() }
    }

    /// A stream that takes nothing.
    pub(super) fn closed() -> Self {
        Self {
            element: Element::U8,
            encoding: Encoding::None,
            block: 0,
            block_bytes: 0,
            buffer: Vec::new(),
            elements: 0,
            issued: 0,
            blocks: Vec::new(),
            cut_short: false,
            old_last: None,
            old_elements: None,
            kept: None,
            is_level: false,
        }
    }

    /// Leaves the stream as it stands in the old file.
    pub(super) fn keep(&mut self, descriptor: Option<&Descriptor>) {
        self.kept = descriptor.cloned();
    }

    /// Goes on behind `end` elements in these blocks.
    pub(super) fn go_on(
        &mut self,
        end: u64,
        whole: Vec<IndexEntry>,
        last: Option<(IndexEntry, Vec<u8>)>,
        takes_more: bool,
    ) {
        (self.elements, self.old_elements) = (end, Some(end));
        self.issued = whole.len() as u64;
        self.blocks = whole;
        self.cut_short = !takes_more;
        self.kept = None;
        if let Some((entry, elements)) = last {
            self.old_last = Some((entry, elements.len()));
            self.buffer = elements;
        }
    }

    pub(super) fn set_level(&mut self, level: u8) {
        if let Encoding::Zstd { level: own } = &mut self.encoding {
            *own = level;
        }
    }

    /// Bytes up to the end of the open block.
    pub(super) fn room(&self) -> usize {
        self.block_bytes - self.buffer.len()
    }

    /// Takes bytes for which there is room; the block, if they complete it.
    pub(super) fn push<'a>(
        &mut self,
        track: u32,
        bytes: &'a [u8],
        spare: &mut Vec<Vec<u8>>,
    ) -> Option<Job<'a>> {
        self.elements += (bytes.len() / usize::from(self.element.size())) as u64;
        if bytes.len() == self.block_bytes {
            return Some(self.job(track, Cow::Borrowed(bytes)));
        }
        if self.buffer.capacity() == 0 {
            self.buffer = spare.pop().unwrap_or_default();
        }
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < self.block_bytes {
            return None;
        }
        self.old_last = None;
        let block = core::mem::take(&mut self.buffer);
        Some(self.job(track, Cow::Owned(block)))
    }

    /// The short last block. The one that an old file has already is not stored again.
    pub(super) fn finish(&mut self, track: u32) -> Option<Job<'static>> {
        if let Some((entry, len)) = self.old_last.take()
            && len == self.buffer.len()
        {
            self.buffer = Vec::new();
            self.blocks.push(entry);
            return None;
        }
        let block = core::mem::take(&mut self.buffer);
        (!block.is_empty()).then(|| self.job(track, Cow::Owned(block)))
    }

    pub(super) fn job<'a>(&mut self, track: u32, raw: Cow<'a, [u8]>) -> Job<'a> {
        let ticket = Ticket { track, number: self.issued };
        self.issued += 1;
        Job { ticket, raw, encoding: self.encoding }
    }
}
