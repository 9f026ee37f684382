//! The keys of a batch by the level of their segments.
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

/// The keys of a chunk, divided by level.
#[derive(Default)]
pub(crate) struct DividedKeys {
    level_of: Vec<u8>,
    hashes: Vec<KeyHash>,
    numbers: Vec<u16>,
    /// Where the keys of each level end.
    ends: Vec<usize>,
}

impl DividedKeys {
    /// Divides the keys of a chunk, at most 2^16.
    pub(crate) fn divide(&mut self, segments: &Segments, hashes: &[KeyHash]) {
        self.level_of.clear();
        let level = |&hash: &KeyHash| segments.get(segments.segment_of(hash)).level();
        self.level_of.extend(hashes.iter().map(level));
        self.ends.clear();
        self.ends.resize(segments.levels().len(), 0);
        self.level_of.iter().for_each(|&level| self.ends[usize::from(level)] += 1);
        let mut begin = 0;
        for end in &mut self.ends {
            begin += replace(end, begin);
        }
        self.hashes.resize(hashes.len(), KeyHash::from_u64(0));
        self.numbers.resize(hashes.len(), 0);
        for (number, (&hash, &level)) in (0..).zip(hashes.iter().zip(&self.level_of)) {
            let place = &mut self.ends[usize::from(level)];
            (self.hashes[*place], self.numbers[*place]) = (hash, number);
            *place += 1;
        }
    }

    /// The levels that have keys: the number of each, its keys in their order, and their numbers in the chunk.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, &[KeyHash], &[u16])> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = begins.zip(&self.ends).map(|(begin, &end)| begin..end).enumerate();
        let parts = ranges.filter(|(_, range)| !range.is_empty());
        parts.map(|(level, part)| (level, &self.hashes[part.clone()], &self.numbers[part]))
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
    let (mut keys, mut found) = (DividedKeys::default(), Vec::new());
    for (chunk, hashes) in hashes.chunks(CHUNK).enumerate() {
        keys.divide(filter.as_segments(), hashes);
        for (level, hashes, numbers) in keys.parts() {
            found.resize(if answers.is_empty() { 0 } else { hashes.len() }, T::default());
            let level = filter.as_segments().levels()[level];
            work(&mut filter, &level, hashes, &mut found);
            for (&number, &answer) in numbers.iter().zip(&found) {
                answers[chunk * CHUNK + usize::from(number)] = answer;
            }
        }
    }
}
