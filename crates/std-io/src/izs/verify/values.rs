//! Elements one after the other.

use core_codec::izs::model::Descriptor;

use crate::error::Error;
use crate::izs::IzsStream;

/// Reads the elements of a stream one after the other, holding one block.
pub(super) struct Values<'a> {
    stream: IzsStream<'a>,
    block: Vec<u8>,
    /// Bytes of the block that have been read.
    at: usize,
    /// Number of the next block.
    next: u64,
}

impl<'a> Values<'a> {
    pub(super) fn new(stream: IzsStream<'a>) -> Self {
        Self { stream, block: Vec::new(), at: 0, next: 0 }
    }

    /// Elements in all.
    pub(super) fn len(&self) -> u64 {
        self.stream.len()
    }

    /// The next group of one or two values; a single one stands for both.
    pub(super) fn group(&mut self, values: u64) -> Result<[u64; 2], Error> {
        let first = self.value()?;
        Ok([first, if values == 1 { first } else { self.value()? }])
    }

    pub(super) fn value(&mut self) -> Result<u64, Error> {
        if self.at == self.block.len() {
            let Descriptor { block, end, .. } = *self.stream.descriptor();
            let start = self.next.saturating_mul(block).min(end);
            // Past the end this is an empty block, and the values are 0.
            self.block = Vec::new();
            self.block = self.stream.read_bytes(start..start.saturating_add(block).min(end))?;
            (self.next, self.at) = (self.next + 1, 0);
        }
        let size = usize::from(self.stream.descriptor().element.size());
        let bytes = self.block.get(self.at..self.at + size).unwrap_or_default();
        self.at += bytes.len();
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(wide))
    }
}
