//! Frame and block headers (RFC 8878, sections 3.1.1.1 and 3.1.1.2).

/// The longest block content that a frame may have whose window is at least as large (`Block_Maximum_Size`).
pub(crate) const BLOCK_MAX: usize = 128 << 10;
/// Bytes of a block header.
pub(crate) const BLOCK_HEADER: usize = 3;
/// The longest frame header: magic number, descriptor, window descriptor, content size of eight bytes.
pub(crate) const HEADER_MAX: usize = 14;
/// Bytes of the content checksum.
pub(crate) const CHECKSUM: usize = 4;

const MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();

/// The types of blocks, by their number in the block header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockType {
    Raw = 0,
    Rle = 1,
    Compressed = 2,
}

/// A block header; `size` is `Block_Size`, at most [`BLOCK_MAX`].
pub(crate) fn block_header(block_type: BlockType, size: usize, last: bool) -> [u8; BLOCK_HEADER] {
    let [a, b, c, _] = ((size as u32) << 3 | (block_type as u32) << 1 | u32::from(last)).to_le_bytes();
    [a, b, c]
}

/// Writes the header of a frame to the front of `out` and returns its length.
///
/// A frame of at most [`BLOCK_MAX`] bytes is a single segment: its decoder needs no more memory than its content
/// has. Any other states a window of 2^`window_log` bytes.
pub(crate) fn header(
    out: &mut [u8; HEADER_MAX],
    content_size: Option<u64>,
    window_log: u8,
    checksum: bool,
) -> usize {
    let single_segment = content_size.is_some_and(|size| size <= BLOCK_MAX as u64);
    let (size_flag, size_bytes, stated) = match content_size {
        None => (0, 0, 0),
        Some(size @ ..=255) if single_segment => (0, 1, size),
        Some(size @ 256..=0x1_00FF) => (1, 2, size - 256),
        Some(size @ ..=0xFFFF_FFFF) => (2, 4, size),
        Some(size) => (3, 8, size),
    };
    let descriptor = size_flag << 6 | u8::from(single_segment) << 5 | u8::from(checksum) << 2;
    let [a, b, c, d, e, f, g, h] = stated.to_le_bytes();
    let [m0, m1, m2, m3] = MAGIC;
    if single_segment {
        *out = [m0, m1, m2, m3, descriptor, a, b, c, d, e, f, g, h, 0];
        5 + size_bytes
    } else {
        *out = [m0, m1, m2, m3, descriptor, (window_log - 10) << 3, a, b, c, d, e, f, g, h];
        6 + size_bytes
    }
}

/// What a frame costs beyond its content when each zstd block holds at least `block` bytes of it.
pub(crate) const fn worst_case(len: u64, block: u64) -> u64 {
    let blocks = len / block + 2;
    len.saturating_add(blocks * BLOCK_HEADER as u64).saturating_add((HEADER_MAX + CHECKSUM) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_state_the_content_size_in_the_fewest_bytes() {
        let len = |size| header(&mut [0; HEADER_MAX], size, 17, false);
        assert_eq!(len(None), 6);
        assert_eq!([len(Some(0)), len(Some(255)), len(Some(256)), len(Some(65791))], [6, 6, 7, 7]);
        assert_eq!([len(Some(65792)), len(Some(131_072))], [9, 9]);
        assert_eq!([len(Some(131_073)), len(Some(u64::from(u32::MAX))), len(Some(1 << 32))], [10, 10, 14]);
    }

    #[test]
    fn a_header_reads_as_the_rfc_lays_it_out() {
        let mut out = [0; HEADER_MAX];
        let len = header(&mut out, Some(4096), 17, true);
        assert_eq!(out[..len], [0x28, 0xB5, 0x2F, 0xFD, 0b0110_0100, 0x00, 0x0F]);
        let len = header(&mut out, None, 17, false);
        assert_eq!(out[..len], [0x28, 0xB5, 0x2F, 0xFD, 0, 7 << 3]);
        assert_eq!(block_header(BlockType::Rle, BLOCK_MAX, true), [0b11, 0, 0x10]);
    }
}
