//! What stands after the blocks: indexes, schema, footer.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Writer;
use crate::codec::zstd::Encoder;
use crate::error::{Error, ErrorKind};
use crate::izs::model::{Descriptor, Method, Role, StreamId};
use crate::izs::raw::{Dialect, Footer, INDEX_ENTRY_LEN};

impl Writer {
    /// The rest of the file: all block indexes together, so that one read of the tail finds them, the schema,
    /// the footer.
    ///
    /// # Errors
    /// When it comes before [`finish`](Self::finish) and the report of all blocks, or an index or the schema is
    /// too long for the format.
    pub fn ending(mut self, encoder: &mut Encoder) -> Result<Vec<u8>, Error> {
        if !self.finished || !self.outstanding.is_empty() {
            return Err(Error::new("writer", ErrorKind::Invalid("blocks are still to be stored")));
        }
        let mut ending = Vec::new();
        for id in self.schema.streams() {
            if self.tracks[id.index()].is_level {
                continue;
            }
            self.drop_stale(id);
            let placed = self.place(id.index() as u32, &mut ending)?;
            if let Some(descriptor) = self.schema.descriptor_mut(id) {
                descriptor.end = placed.end;
                descriptor.i_offset = placed.i_offset;
                descriptor.i_size = placed.i_size;
                descriptor.i_compress = placed.i_compress;
            }
            self.place_levels(id, &mut ending)?;
        }
        let text = self.schema.emit(self.dialect, self.settings.strictness)?;
        let schema = encoder
            .encode(self.settings.level, text.as_bytes())
            .map_err(|kind| Error::new("schema", kind))?;
        let schema_len = u32::try_from(schema.len()).map_err(|_| {
            let (limit, found) = (u32::MAX.into(), schema.len() as u64);
            Error::new("schema", ErrorKind::Limit { what: "compressed bytes", limit, found })
        })?;
        ending.extend_from_slice(schema);
        ending.extend_from_slice(&Footer { schema_len, reserved: 0 }.emit());
        Ok(ending)
    }

    /// Drops the summaries of a stream that has grown while they have not.
    fn drop_stale(&mut self, id: StreamId) {
        let track = &self.tracks[id.index()];
        let grown = track.old_elements.is_some_and(|old| old != track.elements);
        if !grown || self.schema[id].role() != Role::Data {
            return;
        }
        let entity = self.schema[id].entity();
        let going_on = self.summaries[id.index()].as_ref().map(|summing| summing.pyramid.rule().key());
        let stale: Vec<Box<str>> = self.schema[entity]
            .summaries()
            .iter()
            .map(|summary| summary.key.clone())
            .filter(|key| Some(&**key) != going_on)
            .collect();
        for key in stale {
            self.schema.set_summary(entity, &key, 0, Vec::new());
        }
    }

    /// Writes the indexes of a summary's levels, and the summary into the schema.
    fn place_levels(&mut self, stream: StreamId, ending: &mut Vec<u8>) -> Result<(), Error> {
        let levels = self.levels(stream.index()).to_vec();
        let Some(summing) = &self.summaries[stream.index()] else { return Ok(()) };
        let rule = summing.pyramid.rule();
        let descriptors: Result<Vec<_>, _> = levels.iter().map(|&level| self.place(level, ending)).collect();
        let entity = self.schema[stream].entity();
        self.schema.set_summary(entity, rule.key(), rule.base_level(), descriptors?);
        Ok(())
    }

    /// Writes the index of a track. The descriptor, as far as the track knows it.
    fn place(&self, track: u32, ending: &mut Vec<u8>) -> Result<Descriptor, Error> {
        let track = &self.tracks[track as usize];
        if let Some(kept) = &track.kept {
            return Ok(kept.clone());
        }
        let i_size = track.blocks.len() as u64 * INDEX_ENTRY_LEN;
        if self.dialect == Dialect::V001 && i_size > u32::MAX.into() {
            let kind = ErrorKind::Limit { what: "bytes", limit: u32::MAX.into(), found: i_size };
            return Err(Error::new("block index", kind));
        }
        let method = Method::Known(track.encoding.compression());
        let mut descriptor = Descriptor::empty(track.element, track.block, method);
        descriptor.end = track.elements;
        descriptor.i_offset = self.position + ending.len() as u64;
        descriptor.i_size = i_size;
        ending.extend(track.blocks.iter().flat_map(|block| block.offset.to_le_bytes()));
        ending.extend(track.blocks.iter().flat_map(|block| block.size.to_le_bytes()));
        Ok(descriptor)
    }
}
