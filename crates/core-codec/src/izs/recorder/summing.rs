//! Summaries that are built while their streams are recorded.

use core::marker::PhantomData;

use micro_zstd::FrameEncoder;

use super::gap::Gap;
use super::memory::{Input, Memory, Wire};
use super::{Pieces, RecordError, Recorder};
use crate::izs::raw::Sample;
use crate::izs::schema::{Levels, Schema, Stream, StreamDef};
use crate::izs::summary::{Order, Pyramid, Rule};

/// What the groups of a summary hold, as a type, so that a program has no code for the rules that it does not use.
pub trait Reduction {
    /// The rule.
    const RULE: Rule;
}

macro_rules! reductions {
    ($($name:ident = $rule:expr, $of:literal;)*) => {$(
        #[doc = concat!("The summary of ", $of, ".")]
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl Reduction for $name {
            const RULE: Rule = $rule;
        }
    )*};
}

reductions! {
    BitAndOr = Rule::BitAndOr, "`bits` and `bit_struct`";
    RangeUnsigned = Rule::Range(Order::Unsigned), "`int`";
    RangeSigned = Rule::Range(Order::Signed), "`signed`, as wide as its element";
    RangeFloat = Rule::Range(Order::Float), "`float32` and `float64`";
    SkipFirst = Rule::SkipFirst, "`timestamp` in the dialect of the specification";
    SkipLast = Rule::SkipLast, "`timestamp` in dialect V";
}

/// What has been seen of a stream of which a summary is built, for one recording, the first that it is used in: 16 bytes a level and about 60 more.
/// `R` is what fits the entity.
///
/// The levels themselves are streams of the recording, which [`Entity::summary`](crate::izs::Entity::summary)
/// declares.
#[derive(Clone, Debug)]
pub struct Summary<R, const LEVELS: usize> {
    of: StreamDef,
    levels: Levels,
    /// Which recording it belongs to, once it has seen elements: where the memory is, which stays there as long as it
    /// records, and which of its recordings.
    recording: (usize, u16),
    pyramid: Pyramid<LEVELS, TILE_GROUPS>,
    reduction: PhantomData<fn() -> R>,
}

/// A tile of 128 elements: stack is short.
const TILE_GROUPS: usize = 32;

impl<R: Reduction, const LEVELS: usize> Summary<R, LEVELS> {
    /// The summary of `stream` that `schema` declares, with `LEVELS` levels.
    ///
    /// # Errors
    /// [`RecordError::Summary`] when it declares none, one of another number of levels, or of what `R` does not fit.
    pub fn new<T: Sample>(schema: &Schema<'_>, stream: Stream<T>) -> Result<Self, RecordError> {
        let mut found = None;
        schema.summaries(&mut |of, levels, rule| {
            if *of == stream.def() && usize::from(levels.count) == LEVELS && rule == R::RULE {
                let pyramid = Pyramid::new(rule, of.element);
                found = Some(Self { of: *of, levels, recording: (0, 0), pyramid, reduction: PhantomData });
            }
        });
        found.ok_or(RecordError::Summary { stream: stream.def().id })
    }

    /// Elements that come into stream number `id`, one of the levels, when `count` more have been seen.
    fn added(&self, id: u8, count: u64) -> u64 {
        let Some(level) = id.checked_sub(self.levels.first).filter(|level| *level < self.levels.count) else {
            return 0;
        };
        let (rule, seen) = (R::RULE, self.pyramid.count());
        elements(rule, seen.saturating_add(count), level).saturating_sub(elements(rule, seen, level))
    }
}

/// Elements of a level over `count` elements.
#[inline(never)]
fn elements(rule: Rule, count: u64, level: u8) -> u64 {
    rule.groups(count, u32::from(level)).saturating_mul(u64::from(rule.group_len()))
}

impl<E: FrameEncoder, const STREAMS: usize, const LOG: usize, const STAGE: usize, G: Gap>
    Recorder<'_, E, STREAMS, LOG, STAGE, G>
{
    /// Takes elements of `stream` from the front of `elements`, up to the end of a block, and their groups into the
    /// levels of its summary; returns how many, and the pieces of the file that are ready.
    ///
    /// # Errors
    /// Nothing has been taken when it fails: [`RecordError`] says why.
    pub fn push_summarised<'a, T: Sample, R: Reduction, const LEVELS: usize>(
        &'a mut self,
        stream: Stream<T>,
        summary: &mut Summary<R, LEVELS>,
        elements: &'a [T],
    ) -> Result<(usize, Pieces<'a, E, STREAMS, LOG, STAGE, G>), RecordError> {
        let def = stream.def();
        let count = elements.len() as u64;
        self.memory.admit(def, count, |id| summary.added(id, count))?;
        let seen = self.memory.streams.get(usize::from(def.id)).map(|state| state.elements);
        if !self.declares(summary, def)
            || seen != Some(summary.pyramid.count())
            || (seen != Some(0) && summary.recording != self.memory.identity())
        {
            return Err(RecordError::Summary { stream: def.id });
        }
        let behind = summary.pyramid.count() & (u64::from(def.block) - 1);
        // The first element opens the block, so that all blocks of levels come behind it, whatever the pushes are.
        let most = if behind == 0 { 1 } else { u64::from(def.block) - behind };
        let part = elements.get(..most as usize).unwrap_or(elements);
        // While another stream's block is open, nothing leaves the stages.
        let together = if self.memory.is_blocked(def.id) { count } else { part.len() as u64 };
        self.memory.admit_groups(summary, together)?;
        let memory = &mut *self.memory;
        summary.recording = memory.identity();
        let bytes = bytemuck::must_cast_slice(part);
        let first = summary.levels.first;
        summary.pyramid.push_known(R::RULE, T::ELEMENT, bytes, &mut |level, groups| {
            memory.stage_groups(first.wrapping_add(level as u8), groups);
        });
        Ok((part.len(), self.push(stream, part)?))
    }

    /// Whether the schema of the recording has this summary of the stream.
    fn declares<R: Reduction, const LEVELS: usize>(
        &self,
        summary: &Summary<R, LEVELS>,
        def: StreamDef,
    ) -> bool {
        let mut declared = false;
        self.schema.summaries(&mut |of, levels, rule| {
            declared |= *of == def && levels == summary.levels && rule == R::RULE;
        });
        declared && summary.of == def
    }
}

impl<E: FrameEncoder, const STREAMS: usize, const LOG: usize, const STAGE: usize, G: Gap>
    Memory<E, STREAMS, LOG, STAGE, G>
{
    /// What tells this recording from any other.
    fn identity(&self) -> (usize, u16) {
        (core::ptr::from_ref(self).addr(), self.recording)
    }

    /// Whether the block of another stream is being written.
    fn is_blocked(&self, stream: u8) -> bool {
        matches!(self.wire, Wire::Block(open) if open.stream != stream)
    }

    /// Checks that the stages of the levels have room for the groups of `count` more elements.
    fn admit_groups<R: Reduction, const LEVELS: usize>(
        &self,
        summary: &Summary<R, LEVELS>,
        count: u64,
    ) -> Result<(), RecordError> {
        for state in &self.streams {
            let free = state.stage_free() / u32::from(state.def.element.size());
            let added = summary.added(state.def.id, count);
            if added > 0 && added > u64::from(free) {
                return Err(RecordError::StageFull { stream: state.def.id, free });
            }
        }
        Ok(())
    }

    fn stage_groups(&mut self, stream: u8, groups: &[u8]) {
        if let Some(state) = self.streams.get_mut(usize::from(stream)) {
            let elements = groups.len() >> state.def.element.size().trailing_zeros();
            state.elements = state.elements.saturating_add(elements as u64);
        }
        self.fill_stage(&mut Input { stream, bytes: groups, last: false });
    }

    /// Drops the levels that the stream is too short for, and all when elements came in without their summary.
    pub(super) fn settle_summaries(&mut self, schema: &Schema<'_>) {
        schema.summaries(&mut |of, levels, rule| {
            let count = self.streams.get(usize::from(of.id)).map_or(0, |state| state.elements);
            let mut existing = rule.levels(count);
            for level in 0..levels.count {
                let stream = usize::from(levels.first.wrapping_add(level));
                let found = self.streams.get(stream).map_or(0, |state| state.elements);
                if found != elements(rule, count, level) {
                    existing = 0;
                }
            }
            for level in 0..levels.count {
                let stream = usize::from(levels.first.wrapping_add(level));
                if let Some(state) = self.streams.get_mut(stream).filter(|_| u32::from(level) >= existing) {
                    (state.elements, state.staged) = (0, 0);
                }
            }
        });
    }
}
