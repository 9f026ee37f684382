//! The keys of a batch by the level of their segments, or by shard.
//!
//! All segments that a loop over keys touches have one level. While a filter grows, some of its segments have split once
//! more than the others: then the keys of each level are processed apart. Segments are independent, and the keys of a
//! segment keep their order, so answers and bytes are those of single calls.

use std::mem::replace;
use std::ops::Deref;

use super::CuckooFilter;
use crate::hash::KeyHash;
use crate::kernel::LevelGeometry;
use crate::segments::Segments;

/// Keys that are divided by level at a time.
const CHUNK: usize = 4096;

/// Keys in groups: those of each level, or of each shard.
#[derive(Default)]
pub(crate) struct GroupedKeys {
    group_of: Vec<u8>,
    hashes: Vec<KeyHash>,
    numbers: Vec<u32>,
    /// Where the keys of each group end.
    ends: Vec<usize>,
}

impl GroupedKeys {
    /// Divides keys among at most 256 groups, in which they keep their order and have the hashes that `within` returns. A
    /// counting sort: two passes, no comparisons.
    pub(crate) fn divide(
        &mut self,
        hashes: &[KeyHash],
        groups: usize,
        group_of: impl Fn(KeyHash) -> u8,
        within: impl Fn(KeyHash) -> KeyHash,
    ) {
        self.group_of.clear();
        self.group_of.extend(hashes.iter().map(|&hash| group_of(hash)));
        self.ends.clear();
        self.ends.resize(groups, 0);
        self.group_of.iter().for_each(|&group| self.ends[usize::from(group)] += 1);
        let mut begin = 0;
        for end in &mut self.ends {
            begin += replace(end, begin);
        }
        self.hashes.resize(hashes.len(), KeyHash::from_u64(0));
        self.numbers.resize(hashes.len(), 0);
        for (number, (&hash, &group)) in (0..).zip(hashes.iter().zip(&self.group_of)) {
            // After the last key, it is the end of the group.
            let place = &mut self.ends[usize::from(group)];
            (self.hashes[*place], self.numbers[*place]) = (within(hash), number);
            *place += 1;
        }
    }

    /// [`divide`](Self::divide) by level.
    pub(crate) fn divide_by_level(&mut self, segments: &Segments, hashes: &[KeyHash]) {
        let level = |hash| segments.get(segments.segment_of(hash)).level();
        self.divide(hashes, segments.levels().len(), level, |hash| hash);
    }

    /// The keys of a group, and their numbers.
    pub(crate) fn group(&self, group: usize) -> (&[KeyHash], &[u32]) {
        let begin = if group == 0 { 0 } else { self.ends[group - 1] };
        let places = begin..self.ends[group];
        (&self.hashes[places.clone()], &self.numbers[places])
    }

    /// The groups that have keys: the number of each, its keys, and their numbers.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (usize, &[KeyHash], &[u32])> {
        let all = (0..self.ends.len()).map(|group| (group, self.group(group)));
        let filled = all.filter(|(_, (hashes, _))| !hashes.is_empty());
        filled.map(|(group, (hashes, numbers))| (group, hashes, numbers))
    }
}

/// Lets `work` process keys whose segments have one level at a time. It gets a place for the answer of each key, unless
/// `answers` is empty.
pub(crate) fn by_level<F: Deref<Target = CuckooFilter>, T: Copy + Default>(
    mut filter: F,
    hashes: &[KeyHash],
    answers: &mut [T],
    mut work: impl FnMut(&mut F, &LevelGeometry, &[KeyHash], &mut [T]),
) {
    if let Some(level) = filter.as_segments().uniform() {
        return work(&mut filter, &level, hashes, answers);
    }
    let (mut keys, mut found) = (GroupedKeys::default(), Vec::new());
    for (chunk, hashes) in hashes.chunks(CHUNK).enumerate() {
        keys.divide_by_level(filter.as_segments(), hashes);
        for (level, hashes, numbers) in keys.groups() {
            found.resize(if answers.is_empty() { 0 } else { hashes.len() }, T::default());
            let level = filter.as_segments().levels()[level];
            work(&mut filter, &level, hashes, &mut found);
            for (&number, &answer) in numbers.iter().zip(&found) {
                answers[chunk * CHUNK + number as usize] = answer;
            }
        }
    }
}
