//! Where blocks and indexes stand in the file.

use std::collections::HashSet;
use std::fmt;

use core_codec::izs::model::StreamId;
use core_codec::izs::raw::HEADER;

use super::Verifier;
use crate::error::Error;
use crate::izs::{INDEX_BATCH, IzsStream};

/// Most places that are compared, which take 16 MiB. Of a file with more, those of its first streams are.
const MOST: usize = 1 << 19;

/// What stands somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Header,
    Block(StreamId, u32),
    Index(StreamId),
    Schema,
}

/// Some bytes of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    start: u64,
    end: u64,
    what: What,
}

impl Place {
    fn stream(&self) -> Option<StreamId> {
        match self.what {
            What::Block(stream, _) | What::Index(stream) => Some(stream),
            What::Header | What::Schema => None,
        }
    }

    /// Whether both are all of the same block, or the same index: streams may share them.
    fn is_same(&self, other: &Self) -> bool {
        let kinds = matches!(
            (self.what, other.what),
            (What::Block(..), What::Block(..)) | (What::Index(_), What::Index(_))
        );
        kinds && (self.start, self.end) == (other.start, other.end)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Header => f.write_str("the header"),
            What::Block(_, number) => write!(f, "block {number}"),
            What::Index(_) => f.write_str("the index"),
            What::Schema => f.write_str("the schema"),
        }
    }
}

/// All places of a file.
pub(super) struct Places(Vec<Place>);

impl Places {
    pub(super) fn new(verifier: &Verifier, has_header: bool) -> Self {
        let izs = verifier.file.izs();
        let schema = Place { start: izs.schema_bytes().start, end: izs.file_len(), what: What::Schema };
        let mut places = Self(Vec::new());
        places.add(schema);
        if has_header {
            places.add(Place { start: 0, end: HEADER.len() as u64, what: What::Header });
        }
        places
    }

    fn add(&mut self, place: Place) {
        if place.start < place.end && self.0.len() < MOST {
            self.0.push(place);
        }
    }

    /// Adds the index and the blocks of a stream, behind all of which the index has to stand.
    pub(super) fn add_stream(&mut self, verifier: &mut Verifier, stream: &IzsStream) -> Result<(), Error> {
        let (id, descriptor) = (stream.reader.id(), stream.descriptor());
        let index = descriptor.i_offset;
        let entries = descriptor.index_entries();
        let mut next = 0;
        while next < entries {
            let batch = next..entries.min(next + INDEX_BATCH);
            next = batch.end;
            for block in verifier.file.input.run(|source| stream.reader.blocks(source, batch.clone()))? {
                let (start, end) = (block.bytes.start, block.bytes.end);
                if end > index {
                    let pointer = verifier.schema.stream_pointer(id);
                    let message =
                        format!("block {} at {start}..{end} ends after the index starts", block.number);
                    verifier.error(pointer, message);
                    return Ok(());
                }
                // Of more, none is added.
                let number = u32::try_from(block.number).unwrap_or(u32::MAX);
                self.add(Place { start, end, what: What::Block(id, number) });
            }
        }
        let end = index.saturating_add(descriptor.i_size);
        self.add(Place { start: index, end, what: What::Index(id) });
        Ok(())
    }

    /// Tells of the first place of each stream that shares some of its bytes with another, for both once.
    pub(super) fn tell(mut self, verifier: &mut Verifier) {
        self.0.sort_unstable();
        let mut told = HashSet::new();
        // None ends after it of those before.
        let mut furthest: Option<Place> = None;
        for place in self.0 {
            if let Some(before) = furthest
                && place.start < before.end
                && !place.is_same(&before)
            {
                tell_of(
                    if place.stream().is_some() { [place, before] } else { [before, place] },
                    &mut told,
                    verifier,
                );
            }
            if furthest.is_none_or(|before| before.end < place.end) {
                furthest = Some(place);
            }
        }
    }
}

fn tell_of([place, other]: [Place; 2], told: &mut HashSet<StreamId>, verifier: &mut Verifier) {
    let Some(stream) = place.stream().filter(|stream| told.insert(*stream)) else { return };
    told.extend(other.stream());
    let schema = verifier.schema;
    let whose = match other.stream().filter(|other| *other != stream) {
        Some(other) => format!(" of {}", schema.stream_pointer(other)),
        None => String::new(),
    };
    let [at, with] = [&place, &other].map(|Place { start, end, .. }| format!("{start}..{end}"));
    let message = format!("{place} at {at} overlaps {other}{whose} at {with}");
    verifier.warning(schema.stream_pointer(stream), message);
}
