//! Reading on in a block that is too large to be kept as a whole.

use std::ops::Range;

use core_codec::izs::reader::{Block, BlockDecoder};

use super::{IzsStream, zeroed};
use crate::error::Error;

/// Bytes that are decoded at a time.
const STEP: usize = 256 << 10;

/// Bytes that are decoded ahead of what is asked for, at most, where decoding goes on behind them.
const AHEAD: usize = 1 << 20;

/// Bytes that are decoded ahead at least.
const LEAST: usize = 4 << 10;

/// Some bytes of a decoded block, and what decodes those that follow.
#[derive(Debug)]
pub(super) struct Place {
    /// The number of the block.
    block: u64,
    /// Where `bytes` start in it.
    start: usize,
    bytes: Vec<u8>,
    /// Goes on behind `bytes`; without it, reading on starts over.
    decoder: Option<BlockDecoder>,
}

impl Place {
    fn at_start_of(block: &Block) -> Self {
        Self { block: block.number, start: 0, bytes: Vec::new(), decoder: None }
    }

    /// Bytes of memory that it holds.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.decoder.as_ref().map_or(0, BlockDecoder::memory)
    }

    /// What there is of `range`, from its start on.
    fn get(&self, range: Range<usize>) -> &[u8] {
        let rest = range.start.checked_sub(self.start).and_then(|from| self.bytes.get(from..));
        rest.map_or(&[], |rest| &rest[..rest.len().min(range.len())])
    }

    /// Makes `start` the start of what there is, which then goes on at `at`.
    fn forget_before(&mut self, start: usize, at: usize) {
        let end = self.start + self.bytes.len();
        if at == end && (self.start..end).contains(&start) {
            self.bytes.drain(..start - self.start);
            self.start = start;
        } else {
            self.bytes.clear();
            self.start = at;
        }
    }
}

impl IzsStream<'_> {
    /// Reads the bytes `inside` a block of which not all may be kept, by way of the place where the stream was read last.
    pub(super) fn read_on(&self, block: &Block, inside: Range<usize>, out: &mut [u8]) -> Result<(), Error> {
        let (cache, id) = (&self.file.cache, self.reader.id());
        let kept = cache.take_place(id).filter(|place| place.block == block.number);
        let mut place = kept.unwrap_or_else(|| Place::at_start_of(block));
        let mut done = 0;
        while done < out.len() {
            let at = inside.start + done;
            let found = place.get(at..inside.end);
            out[done..done + found.len()].copy_from_slice(found);
            done += found.len();
            if found.is_empty() {
                self.move_on(&mut place, block, inside.start, at)?;
            }
        }
        if place.decoder.as_ref().is_some_and(|decoder| !self.may_keep(decoder)) {
            place.decoder = None;
        }
        if place.memory() <= self.share {
            cache.keep_place(id, place);
        }
        Ok(())
    }

    /// Decodes what comes at `at` of a block, and some more. What there is from `from` on is kept, unless it is much: some
    /// read the same elements twice before they go on.
    fn move_on(&self, place: &mut Place, block: &Block, from: usize, at: usize) -> Result<(), Error> {
        let len = self.reader.block_bytes(block.number)?;
        place.forget_before(if at - from <= self.share / 8 { from } else { at }, at);
        let mut decoder = match place.decoder.take().filter(|decoder| decoder.position() <= at) {
            Some(decoder) => decoder,
            None => self.reader.decoder(block)?,
        };
        let mut passed: Vec<u8> = zeroed(STEP.min(at - decoder.position()))?;
        while decoder.position() < at {
            let most = passed.len().min(at - decoder.position());
            self.decode_on(&mut decoder, &mut passed[..most])?;
        }
        loop {
            let (position, filled) = (decoder.position(), place.bytes.len());
            let end = len.min(at + self.ahead(at - place.start, &decoder));
            if position >= end {
                break;
            }
            let step = STEP.min(end - position);
            place
                .bytes
                .try_reserve_exact(step)
                .map_err(|_| std::io::Error::from(std::io::ErrorKind::OutOfMemory))?;
            place.bytes.resize(filled + step, 0);
            let written = self.decode_on(&mut decoder, &mut place.bytes[filled..])?;
            place.bytes.truncate(filled + written);
        }
        if decoder.position() < len {
            place.decoder = Some(decoder);
            return Ok(());
        }
        // Sees that the block ends here.
        self.decode_on(&mut decoder, &mut []).map(drop)
    }

    fn decode_on(&self, decoder: &mut BlockDecoder, out: &mut [u8]) -> Result<usize, Error> {
        self.file.input.run(|source| self.reader.decode_on(source, decoder, out))
    }

    /// How far to decode from where `behind` bytes are kept on.
    fn ahead(&self, behind: usize, decoder: &BlockDecoder) -> usize {
        let room = self.share.saturating_sub(behind);
        let ahead = if self.may_keep(decoder) {
            room.saturating_sub(decoder.memory()).min(AHEAD)
        } else {
            // Reading on will start over: the more there is, the less often.
            room
        };
        ahead.max(LEAST)
    }

    /// Whether there is room for a decoder, and for some bytes beside it.
    fn may_keep(&self, decoder: &BlockDecoder) -> bool {
        decoder.memory() <= self.share / 4 * 3
    }
}

#[cfg(test)]
mod tests {
    use crate::input::Input;
    use crate::izs::{IzsFile, IzsWriter, WriteOptions};
    use core_codec::Limits;
    use core_codec::izs::model::{Kind, SchemaBuilder};
    use core_codec::izs::{Compression, Element};

    /// A file of one block, and what it decodes to.
    fn file(compression: Compression) -> (IzsFile, Vec<u8>) {
        let elements: Vec<u32> = (0..3_000_000_u32).map(|i| i.wrapping_mul(i) >> 20).collect();
        let mut schema = SchemaBuilder::new(Kind::Int { bits: 32 });
        let stream = schema.stream_with(schema.root(), Element::U32, 1 << 22, compression).unwrap();
        let options = WriteOptions::default().level(1).threads(1);
        let mut writer = IzsWriter::new(Vec::new(), schema.finish().unwrap(), &options).unwrap();
        writer.push(stream, &elements).unwrap();
        let input = Input::fetching(writer.finish().unwrap());
        let file = IzsFile::from_input(input, Limits::default()).unwrap();
        (file, bytemuck::cast_slice(&elements).to_vec())
    }

    #[test]
    fn reading_on_starts_over_only_where_the_decoder_is_too_large() {
        for (compression, share, goes_on) in [
            (Compression::Zstd, 2 << 20, true),
            (Compression::Zstd, 600_000, false),
            (Compression::None, 600_000, true),
        ] {
            let (file, expected) = file(compression);
            let file = file.with_block_cache(share);
            let id = file.find("").unwrap();
            let stream = file.stream(id).unwrap();
            // As who reads times and then values: each part twice, with the element before it.
            for start in (0..stream.len()).step_by(30_000) {
                let part = start.saturating_sub(1)..stream.len().min(start + 30_000);
                let bytes = &expected[part.start as usize * 4..part.end as usize * 4];
                for _ in 0..2 {
                    assert!(stream.read_bytes(part.clone()).unwrap() == bytes, "{compression:?} {part:?}");
                }
                let place = file.cache.take_place(id).unwrap();
                assert!(place.memory() <= share, "{} of {share}", place.memory());
                let at_end = place.start + place.bytes.len() == expected.len();
                assert_eq!(place.decoder.is_some(), goes_on && !at_end, "{compression:?} {part:?}");
                file.cache.keep_place(id, place);
            }
        }
    }

    #[test]
    fn whatever_is_kept_reads_are_the_same() {
        for compression in [Compression::Zstd, Compression::None] {
            for share in [0, 1000, 10_000, 600_000, 2 << 20, 64 << 20] {
                let (file, expected) = file(compression);
                let file = file.with_block_cache(share);
                let stream = file.stream(file.find("").unwrap()).unwrap();
                for part in
                    [5..7, 6..7, 7..2000, 1999..60_000, 3..4, 100_000..1_100_000, 2_999_999..3_000_000]
                {
                    let bytes = &expected[part.start as usize * 4..part.end as usize * 4];
                    assert!(stream.read_bytes(part.clone()).unwrap() == bytes, "{share} {part:?}");
                }
            }
        }
    }

    /// What is wrong with the end of a block is found by who reads up to there.
    #[test]
    fn a_damaged_end_is_found() {
        let (file, _) = file(Compression::Zstd);
        let file = file.with_block_cache(2 << 20);
        let stream = file.stream(file.find("").unwrap()).unwrap();
        let mut blocks = file.input.run(|source| stream.reader.blocks(source, 0..1)).unwrap();
        blocks[0].bytes.end -= 1;
        let mut out = [0; 8];
        stream.read_on(&blocks[0], 0..8, &mut out).unwrap();
        let error = stream.read_on(&blocks[0], 11_999_992..12_000_000, &mut out).unwrap_err();
        assert!(error.to_string().starts_with("block of /entity/data, number 0 at byte 8: "), "{error}");
    }
}
