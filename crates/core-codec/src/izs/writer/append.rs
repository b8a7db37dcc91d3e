//! Going on where a finished file ends.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::summing::Summing;
use super::{Settings, Writer};
use crate::error::Error;
use crate::izs::model::{Method, Role, Schema, StreamId, Strictness, Summary};
use crate::izs::raw::{Dialect, IndexEntry};
use crate::izs::reader::{Izs, StreamReader};
use crate::izs::summary::Rule;
use crate::limits::Limits;
use crate::source::{Poll, Source, Stop};

/// What has to be known of a stream to go on with it.
struct Stored {
    /// All blocks but a short last one.
    whole: Vec<IndexEntry>,
    /// The short last block, and its elements.
    last: Option<(IndexEntry, Vec<u8>)>,
}

impl Writer {
    /// Goes on with a finished file: new blocks, indexes, schema and footer come behind its end, and nothing of
    /// it is changed. `schema` is the file's own, with what is new added; see
    /// [`SchemaBuilder::extend`](crate::izs::model::SchemaBuilder::extend).
    ///
    /// Each stream has to be [resumed](Self::resume) before anything is pushed.
    ///
    /// # Errors
    /// When the level is outside 1 to 19, or the schema cannot be written in the dialect of the file.
    pub fn append(izs: &Izs, schema: Schema, settings: &Settings) -> Result<Self, Error> {
        let is_v001 = |id: StreamId| {
            izs.schema()[id].descriptor().is_ok_and(|descriptor| descriptor.dialect == Dialect::V001)
        };
        let dialect = if izs.schema().streams().any(is_v001) { Dialect::V001 } else { Dialect::Spec };
        let settings = settings.strictness(Strictness::Append);
        let mut writer = Self::bare(schema, dialect, &settings)?;
        writer.position = izs.file_len();
        for id in izs.schema().streams() {
            // Kept as it is, unless `resume` finds that it can go on.
            writer.tracks[id.index()].keep(izs.schema()[id].descriptor().ok());
        }
        if settings.summaries {
            for stream in writer.schema.streams().skip(izs.schema().streams().len()) {
                writer.summarise(stream);
            }
        }
        Ok(writer)
    }

    /// Makes a stream of the old file ready to go on, with its summary. Returns the summaries that are not
    /// understood, or do not have the groups that they should, so that they cannot go on: they are dropped if
    /// anything is added to the stream. A stream that cannot be read to its end is kept, but takes no more.
    ///
    /// # Errors
    /// Only [`Stop::Need`]: nothing has changed then.
    pub fn resume<S: Source + ?Sized>(
        &mut self,
        source: &S,
        izs: &Izs,
        id: StreamId,
        limits: &Limits,
    ) -> Poll<Vec<String>> {
        let Some(reader) = readable(izs.stream(id, limits).map_err(Stop::Error))? else {
            return Ok(Vec::new());
        };
        let Some(stored) = readable(stored(&reader, source))? else { return Ok(Vec::new()) };
        let mut lost = Vec::new();
        let mut going_on = None;
        let entity = &izs.schema()[izs.schema()[id].entity()];
        if izs.schema()[id].role() == Role::Data {
            let descriptor = reader.descriptor();
            let rule = Rule::of(entity.kind(), descriptor.element, self.dialect);
            for summary in entity.summaries() {
                let ours = rule.filter(|rule| {
                    going_on.is_none() && is_sound(izs, summary, *rule, descriptor.end, limits)
                });
                let summing = match ours {
                    Some(rule) => readable(self.resume_summary(source, izs, &reader, rule, summary, limits))?,
                    None => None,
                };
                match summing {
                    Some(summing) => going_on = Some(summing),
                    None => lost.push(format!("{} of {}", summary.key, izs.schema().stream_pointer(id))),
                }
            }
            if let Some(rule) = rule
                && self.settings.summaries
                && entity.summaries().is_empty()
                && rule.levels(descriptor.end) == 0
            {
                going_on = readable(self.start_summary(source, &reader, rule))?;
            }
        }
        let takes_more = matches!(reader.descriptor().compress, Method::Known(_));
        let track = &mut self.tracks[id.index()];
        track.go_on(reader.descriptor().end, stored.whole, stored.last, takes_more);
        if let Some((summing, groups)) = going_on {
            self.continue_summary(id, summing, groups);
        }
        Ok(lost)
    }

    /// The state of a summary that is stored, and the groups above its last level.
    fn resume_summary<S: Source + ?Sized>(
        &self,
        source: &S,
        izs: &Izs,
        data: &StreamReader<'_>,
        rule: Rule,
        summary: &Summary,
        limits: &Limits,
    ) -> Poll<(Summing, Groups)> {
        let mut summing = Summing::new(rule, data.descriptor().element);
        let mut groups = Groups::new();
        for (level, &id) in (0..).zip(&summary.levels) {
            let reader = izs.stream(id, limits)?;
            // All of it has to be there, since the level goes on too.
            stored(&reader, source)?;
            let end = reader.descriptor().end;
            let group = u64::from(rule.group_len());
            summing.pyramid.resume(level, &read(&reader, source, end.saturating_sub(group)..end)?);
            summing.levels.push(id.index() as u32);
            if level as usize + 1 == summary.levels.len() {
                let all = read(&reader, source, 0..end)?;
                summing
                    .pyramid
                    .push_groups(level, &all, &mut |level, new| groups.push((level, new.to_vec())));
            }
        }
        let end = data.descriptor().end;
        let whole = end >> rule.base_level() << rule.base_level();
        summing.pyramid.resume_at(whole);
        let open = read(data, source, whole..end)?;
        summing.pyramid.push(&open, &mut |level, new| groups.push((level, new.to_vec())));
        Ok((summing, groups))
    }

    /// The summary of a stream that was too short for one.
    fn start_summary<S: Source + ?Sized>(
        &self,
        source: &S,
        data: &StreamReader<'_>,
        rule: Rule,
    ) -> Poll<(Summing, Groups)> {
        let mut summing = Summing::new(rule, data.descriptor().element);
        let mut groups = Groups::new();
        let all = read(data, source, 0..data.descriptor().end)?;
        summing.pyramid.push(&all, &mut |level, new| groups.push((level, new.to_vec())));
        Ok((summing, groups))
    }

    fn continue_summary(&mut self, id: StreamId, mut summing: Summing, groups: Groups) {
        for &level in &summing.levels {
            self.tracks[level as usize].is_level = true;
        }
        let mut jobs = Vec::new();
        for (level, new) in groups {
            let Summing { levels, .. } = &mut summing;
            self.put_groups(id.index(), levels, level, &new, &mut jobs);
        }
        // Fewer groups than fill a block.
        debug_assert!(jobs.is_empty());
        self.summaries[id.index()] = Some(summing);
    }
}

/// Groups of levels that are not stored yet.
type Groups = Vec<(u32, Vec<u8>)>;

/// None for what is damaged.
fn readable<T>(poll: Poll<T>) -> Poll<Option<T>> {
    match poll {
        Ok(value) => Ok(Some(value)),
        Err(Stop::Error(_)) => Ok(None),
        Err(need) => Err(need),
    }
}

fn read<S: Source + ?Sized>(
    reader: &StreamReader<'_>,
    source: &S,
    elements: core::ops::Range<u64>,
) -> Poll<Vec<u8>> {
    let size = u64::from(reader.descriptor().element.size());
    let mut bytes = vec![0; ((elements.end - elements.start) * size) as usize];
    reader.read(source, elements, &mut bytes)?;
    Ok(bytes)
}

fn stored<S: Source + ?Sized>(reader: &StreamReader<'_>, source: &S) -> Poll<Stored> {
    let descriptor = reader.descriptor();
    let blocks = reader.blocks(source, 0..descriptor.blocks())?;
    let entry = |bytes: &core::ops::Range<u64>| IndexEntry {
        offset: bytes.start,
        // It came out of an index, where it has 32 bits.
        size: (bytes.end - bytes.start) as u32,
    };
    let mut whole: Vec<_> = blocks.iter().map(|block| entry(&block.bytes)).collect();
    let short = !descriptor.end.is_multiple_of(descriptor.block);
    let readable = matches!(descriptor.compress, Method::Known(_));
    let last = match (whole.last(), short && readable) {
        (Some(&entry), true) => {
            // Within the limits, before anything is allocated.
            reader.block_bytes(descriptor.blocks().saturating_sub(1))?;
            let start = descriptor.end - descriptor.end % descriptor.block;
            let elements = read(reader, source, start..descriptor.end)?;
            whole.pop();
            Some((entry, elements))
        }
        _ => None,
    };
    Ok(Stored { whole, last })
}

/// Whether a stored summary is by this rule and has all of its groups, in blocks that do not tear them.
fn is_sound(izs: &Izs, summary: &Summary, rule: Rule, elements: u64, limits: &Limits) -> bool {
    let sound = |(level, &id): (u32, &StreamId)| {
        let Ok(reader) = izs.stream(id, limits) else { return false };
        let descriptor = reader.descriptor();
        let group = u64::from(rule.group_len());
        descriptor.end == rule.groups(elements, level) * group && descriptor.block.is_multiple_of(group)
    };
    *summary.key == *rule.key()
        && summary.base_level == Some(rule.base_level())
        && summary.levels.len() as u32 == rule.levels(elements)
        && !summary.levels.is_empty()
        && (0..).zip(&summary.levels).all(sound)
}
