//! Changes that the writer makes to a schema.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Descriptor, EntityId, Object, Role, Schema, Stream, StreamId, Summary};

impl StreamId {
    /// Its place among all streams of the schema.
    pub(in crate::izs) fn index(self) -> usize {
        self.0 as usize
    }
}

impl Schema {
    /// The descriptor of a stream, to be changed; none where it was not understood.
    pub(in crate::izs) fn descriptor_mut(&mut self, id: StreamId) -> Option<&mut Descriptor> {
        self.streams.get_mut(id.0 as usize)?.descriptor.as_mut().ok()
    }

    /// Puts a summary with these levels in the place of those of the same key, or takes it away when there are
    /// none.
    pub(in crate::izs) fn set_summary(
        &mut self,
        entity: EntityId,
        key: &str,
        base_level: u8,
        levels: Vec<Descriptor>,
    ) {
        let mut summaries = core::mem::take(&mut self.entities[entity.0 as usize].summaries).into_vec();
        let place = summaries.iter().position(|summary| &*summary.key == key);
        let mut summary = match place {
            Some(place) => summaries.remove(place),
            None => Summary {
                key: key.into(),
                base_level: None,
                levels: Box::default(),
                other: Object::default(),
            },
        };
        let place = place.unwrap_or(summaries.len());
        summary.base_level = Some(base_level);
        let first = self.streams.len() as u32;
        let new = (first..).take(levels.len()).map(StreamId).collect();
        let old = core::mem::replace(&mut summary.levels, new);
        for (level, mut descriptor) in (0..).zip(levels) {
            // A level that goes on keeps what is not understood of it.
            if let Some(Ok(old)) = old.get(level as usize).map(|&id| self[id].descriptor()) {
                descriptor.other = old.other.clone();
            }
            let role = Role::Level { summary: place as u32, level };
            self.streams.push(Stream { entity, role, descriptor: Ok(descriptor) });
        }
        if !summary.levels.is_empty() {
            summaries.insert(place, summary);
        }
        self.entities[entity.0 as usize].summaries = summaries.into();
    }
}
