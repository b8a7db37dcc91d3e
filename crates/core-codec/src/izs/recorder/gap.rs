//! The seam for records between blocks.

/// Writes records into the gaps between blocks, which no index names and readers pass over.
///
/// This is where a recovery extension puts what it needs to rebuild a file that lacks its end.
pub trait Gap {
    /// The longest record in bytes; 0 when there is never one.
    const MAX: u32;

    /// The record that follows a block: at most [`MAX`](Self::MAX) bytes, what is more is not written.
    fn record(&mut self, closed: &ClosedBlock) -> &[u8];
}

/// No gaps: each block follows the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NoGap;

impl Gap for NoGap {
    const MAX: u32 = 0;

    fn record(&mut self, _: &ClosedBlock) -> &[u8] {
        &[]
    }
}

/// A block that has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ClosedBlock {
    /// Number of its stream.
    pub stream: u8,
    /// Number of the block in its stream.
    pub number: u32,
    /// Byte offset in the file.
    pub offset: u64,
    /// Stored bytes.
    pub size: u32,
    /// Decoded bytes.
    pub raw_size: u32,
}
