//! Summaries that are built while their streams are written.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::track::Track;
use super::{Job, Writer};
use crate::izs::raw::Element;
use crate::izs::summary::{Pyramid, Rule};

/// Most elements in a block of a new level: whoever zooms wants a few of them.
const LEVEL_BLOCK: u64 = 1 << 16;

/// A summary of one stream.
#[derive(Debug)]
pub(super) struct Summing {
    pub(super) pyramid: Box<Pyramid>,
    /// Where the groups of each level go, among the writer's tracks.
    pub(super) levels: Vec<u32>,
}

impl Summing {
    pub(super) fn new(rule: Rule, element: Element) -> Self {
        Self { pyramid: Box::new(Pyramid::new(rule, element)), levels: Vec::new() }
    }
}

impl Writer {
    /// Feeds elements of a stream to its summary. Jobs come in the order in which their blocks are complete.
    pub(super) fn sum(
        &mut self,
        stream: usize,
        summing: &mut Summing,
        elements: &[u8],
        jobs: &mut Vec<Job<'_>>,
    ) {
        let Summing { pyramid, levels } = summing;
        pyramid.push(elements, &mut |level, groups| self.put_groups(stream, levels, level, groups, jobs));
    }

    /// Adds groups to a level.
    pub(super) fn put_groups(
        &mut self,
        stream: usize,
        levels: &mut Vec<u32>,
        level: u32,
        mut groups: &[u8],
        jobs: &mut Vec<Job<'_>>,
    ) {
        while levels.len() <= level as usize {
            levels.push(self.tracks.len() as u32);
            let Track { element, block, encoding, .. } = self.tracks[stream];
            // A power of two, so that no group is torn between two blocks.
            let block = block.next_power_of_two().clamp(4096, LEVEL_BLOCK);
            self.tracks.push(Track::open(element, block, encoding));
        }
        let number = levels[level as usize];
        while !groups.is_empty() {
            let track = &mut self.tracks[number as usize];
            let (now, later) = groups.split_at(groups.len().min(track.room()));
            groups = later;
            let job = track.push(number, now, &mut self.spare).map(Job::into_owned);
            self.hand_out(job, jobs);
        }
    }

    /// The tracks of the levels that a stream's summary has, by its length.
    pub(super) fn levels(&self, stream: usize) -> &[u32] {
        let Some(summing) = &self.summaries[stream] else { return &[] };
        let existing = summing.pyramid.rule().levels(self.tracks[stream].elements) as usize;
        &summing.levels[..existing.min(summing.levels.len())]
    }
}
