//! Descriptors of streams, and the one pass over the elements of each.

use std::collections::HashMap;

use core_codec::izs::Element;
use core_codec::izs::model::{EntityId, Kind, Link, MAX_BLOCK_BYTES, MIN_BLOCK, Role, StreamId};
use core_codec::izs::raw::INDEX_ENTRY_LEN;

use super::Verifier;
use super::choices::Choices;
use super::ends::{Ends, Tags};
use super::order::Times;
use super::places::Places;
use super::text::{Elements, Whole};
use super::times::TimeOf;
use super::values::Values;
use super::watch::{Part, Watch};
use crate::error::Error;
use crate::izs::{Budget, IzsStream};

/// What the passes over all streams share.
struct Pass {
    /// For each element once.
    budget: Budget,
    /// For what is looked at again: the ends of texts, and each further field.
    again: Budget,
    places: Places,
    time_fields: HashMap<EntityId, TimeOf>,
}

impl<'a> Verifier<'a> {
    /// Reads all streams.
    pub(super) fn streams(&mut self, has_header: bool) {
        let mut pass = Pass {
            budget: self.file.budget(),
            again: self.file.budget(),
            places: Places::new(self, has_header),
            time_fields: self.time_fields(),
        };
        for id in self.schema.streams() {
            let read = self.file.stream(id).and_then(|stream| {
                self.stream(&stream);
                self.read(&stream, &mut pass)
            });
            if let Err(found) = read {
                self.error(self.schema.stream_pointer(id), found.to_string());
            }
        }
        pass.places.tell(self);
    }

    /// Whether the descriptor is as it should be.
    fn stream(&mut self, stream: &IzsStream) {
        let (pointer, descriptor) = (self.schema.stream_pointer(stream.reader.id()), stream.descriptor());
        let block = descriptor.block;
        if !block.is_power_of_two() || block < MIN_BLOCK {
            let message = format!("blocks of {block} elements: should be a power of 2 from {MIN_BLOCK} on");
            self.warning(pointer, message);
        }
        let bytes = block.saturating_mul(descriptor.element.size().into());
        if bytes > MAX_BLOCK_BYTES {
            let message =
                format!("blocks of {bytes} bytes: readers make room for a whole one, of {MAX_BLOCK_BYTES}");
            self.warning(pointer, message);
        }
        if !descriptor.i_size.is_multiple_of(INDEX_ENTRY_LEN) {
            self.warning(pointer, format!("an index of {} bytes is not whole entries", descriptor.i_size));
        }
        let len = self.file.izs().file_len();
        if descriptor.i_size == 0 && descriptor.i_offset > len {
            let message = format!(
                "an empty index at {}, in a file of {len} bytes: crate iguazu fails on it",
                descriptor.i_offset
            );
            self.warning(pointer, message);
        }
        for (name, _) in descriptor.other.iter() {
            self.warning(pointer, format!("unknown member {name:?} of the stream descriptor"));
        }
    }

    fn read(&mut self, stream: &IzsStream<'a>, pass: &mut Pass) -> Result<(), Error> {
        pass.budget.charge(stream)?;
        pass.places.add_stream(self, stream)?;
        let mut watches = self.watches(stream, pass);
        let element = stream.descriptor().element;
        stream.for_each_part(0..stream.len(), |range, bytes| {
            let part = Part { first: range.start, element, bytes };
            watches.iter_mut().for_each(|watch| watch.look(&part));
            Ok::<_, Error>(())
        })?;
        stream.check_empty_block()?;
        watches.iter().for_each(|watch| watch.tell(self));
        Ok(())
    }

    /// What the elements of a stream are watched for.
    fn watches(&mut self, stream: &IzsStream<'a>, pass: &mut Pass) -> Vec<Box<dyn Watch + 'a>> {
        let id = stream.reader.id();
        let entity = self.schema[id].entity();
        if self.schema[id].role() != Role::Data || !self.schema.may_have_stream(entity) {
            return Vec::new();
        }
        let mut watches: Vec<Box<dyn Watch + 'a>> = Vec::new();
        if let Some(times) = Times::of(self, entity, &pass.time_fields) {
            watches.push(Box::new(times));
        }
        match self.schema[entity].kind() {
            Kind::VariableArray => watches.push(Box::new(Ends::new(entity))),
            Kind::Union => {
                watches.push(Box::new(Tags::new(entity, self.schema[entity].children().len())));
            }
            Kind::Character if stream.descriptor().element == Element::U8 => {
                watches.extend(self.text(id, entity, pass));
            }
            _ => {
                let choices = Choices::of(self, id, entity);
                match choices.count() {
                    0 => {}
                    count => match pass.again.charge_times(stream, count) {
                        Ok(()) => watches.push(Box::new(choices)),
                        Err(found) => self.unchecked(id, &found),
                    },
                }
            }
        }
        watches
    }

    /// Watches text that is UTF-8: right below a `variable_array` each of its elements.
    fn text(&mut self, id: StreamId, entity: EntityId, pass: &mut Pass) -> Option<Box<dyn Watch + 'a>> {
        let node = &self.schema[entity];
        let above = node.parent().filter(|_| matches!(node.link(), Link::Inner(_)));
        let Some(array) = above.filter(|&above| *self.schema[above].kind() == Kind::VariableArray) else {
            return Some(Box::new(Whole::new(id)));
        };
        // Of ends that cannot be read it is told with their stream.
        let ends = self.file.stream(self.schema[array].data()?).ok()?;
        match pass.again.charge(&ends) {
            Ok(()) => Some(Box::new(Elements::new(array, Values::new(ends)))),
            Err(found) => {
                self.unchecked(id, &found);
                None
            }
        }
    }

    fn unchecked(&mut self, id: StreamId, found: &Error) {
        let message = format!("what its elements mean is not checked: {found}");
        self.warning(self.schema.stream_pointer(id), message);
    }

    /// Bits of an element; as many as there can be where that is not known.
    pub(super) fn element_bits(&self, stream: StreamId) -> u32 {
        self.descriptor(stream).map_or(64, |descriptor| u32::from(descriptor.element.size()) * 8)
    }
}
