//! Locates keys, and prefetches their buckets, long before the keys are processed.

use std::ops::Range;

use super::Segments;
use super::uniform::{KeyGroup, WIDTH};
use crate::hash::KeyHash;
use crate::kernel::{Levels, Place};
use crate::table::prefetch;

/// Groups in flight, 64 keys: enough to cover the latency of memory, few enough to stay in the first
/// cache.
const PREFETCH_DISTANCE: usize = 4;

/// The next keys of a batch, in order, with their places; their buckets are being prefetched. Valid until a segment
/// splits: a place found before may name the wrong half.
pub(crate) struct Prefetcher<'a> {
    hashes: &'a [KeyHash],
    ring: [KeyGroup; PREFETCH_DISTANCE],
    taken: usize,
    /// The last group in flight.
    last: usize,
    /// Whether vectors located the last group and its buckets are not prefetched yet.
    is_last_due: bool,
}

impl<'a> Prefetcher<'a> {
    #[inline(always)]
    pub(crate) fn new(
        segments: &Segments,
        levels: impl Levels,
        hashes: &'a [KeyHash],
        taken: usize,
    ) -> Self {
        let ring = [KeyGroup::default(); PREFETCH_DISTANCE];
        let mut prefetcher = Self { hashes, ring, taken, last: 0, is_last_due: false };
        let group = taken / WIDTH;
        for group in group..group + PREFETCH_DISTANCE {
            prefetcher.locate_group(segments, levels, group);
            prefetcher.prefetch_last(segments, levels);
        }
        prefetcher
    }

    /// The last group in flight, whose buckets are to be prefetched, key by key, between the keys of the
    /// group that is served: a burst of prefetches delays everything after it.
    #[inline(always)]
    pub(crate) fn due(&self) -> Option<&KeyGroup> {
        self.is_last_due.then_some(&self.ring[self.last % PREFETCH_DISTANCE])
    }

    #[inline(always)]
    fn prefetch_last(&mut self, segments: &Segments, levels: impl Levels) {
        if let Some(keys) = self.due() {
            for number in 0..WIDTH {
                segments.prefetch_key(levels, keys, number);
            }
            self.is_last_due = false;
        }
    }

    /// The places of the next key's group, and the numbers of its remaining keys, up to the end of the group or the
    /// batch.
    #[inline(always)]
    pub(crate) fn group(&self) -> (&KeyGroup, Range<usize>) {
        let first = self.taken % WIDTH;
        let left = self.hashes.len() - self.taken;
        (&self.ring[self.taken / WIDTH % PREFETCH_DISTANCE], first..WIDTH.min(first + left))
    }

    /// Goes on to the next group.
    #[inline(always)]
    pub(crate) fn next_group(&mut self, segments: &Segments, levels: impl Levels) {
        let group = self.taken / WIDTH;
        self.taken = (group + 1) * WIDTH;
        self.locate_group(segments, levels, group + PREFETCH_DISTANCE);
    }

    /// The next key's place.
    #[inline(always)]
    pub(crate) fn next(&mut self, segments: &Segments, levels: impl Levels) -> Option<Place> {
        self.hashes.get(self.taken)?;
        let number = self.taken % WIDTH;
        let group = self.taken / WIDTH;
        let place = self.ring[group % PREFETCH_DISTANCE].place(number);
        self.taken += 1;
        if number == WIDTH - 1 {
            self.locate_group(segments, levels, group + PREFETCH_DISTANCE);
            self.prefetch_last(segments, levels);
        }
        Some(place)
    }

    #[inline(always)]
    fn locate_group(&mut self, segments: &Segments, levels: impl Levels, group: usize) {
        self.last = group;
        self.is_last_due = false;
        let keys = &mut self.ring[group % PREFETCH_DISTANCE];
        let Some(rest) = self.hashes.get(group * WIDTH..) else { return };
        // Two cache lines of hashes: among so many random accesses the processor does not see that they
        // are read from end to end.
        for line in [0, WIDTH / 2] {
            if let Some(hash) = rest.get(PREFETCH_DISTANCE * WIDTH + line) {
                prefetch(std::ptr::from_ref(hash).cast());
            }
        }
        if rest.first_chunk().is_some_and(|hashes| segments.locate_group(hashes, keys)) {
            self.is_last_due = true;
            return;
        }
        for (number, &hash) in rest.iter().take(WIDTH).enumerate() {
            keys.set(number, &segments.locate_and_prefetch(levels, hash));
        }
    }
}
