//! Locates keys, and prefetches their buckets, long before the keys are processed.

use std::ops::Range;

use super::Segments;
use super::uniform::{KeyGroup, WIDTH};
use crate::hash::KeyHash;
use crate::kernel::{KnownLevel, Place};
use crate::table::prefetch;

/// Groups in flight, 64 keys: enough to cover the latency of memory, few enough to stay in the first
/// cache.
const PREFETCH_DISTANCE: usize = 4;

impl Segments {
    /// Prefetches the buckets of a key.
    #[inline(always)]
    pub(crate) fn prefetch(&self, level: impl KnownLevel, hash: KeyHash) {
        let place = self.locate_by(level, hash);
        let segment = self.table.segment(place.segment);
        for bucket in [place.primary, place.alternate] {
            level.geometry().codec.prefetch(segment, bucket);
        }
    }
}

/// The next keys of a batch, in order, with their places; their buckets are being prefetched. The segments of all keys have
/// one level. Valid until a segment splits: a place found before may name the wrong half.
pub(crate) struct Prefetcher<'a, L> {
    level: L,
    hashes: &'a [KeyHash],
    ring: [KeyGroup; PREFETCH_DISTANCE],
    taken: usize,
    /// The last group in flight, unless its buckets are prefetched already.
    last: Option<usize>,
}

impl<'a, L: KnownLevel> Prefetcher<'a, L> {
    #[inline(always)]
    pub(crate) fn new(segments: &Segments, level: L, hashes: &'a [KeyHash], taken: usize) -> Self {
        let ring = [KeyGroup::default(); PREFETCH_DISTANCE];
        let mut prefetcher = Self { level, hashes, ring, taken, last: None };
        let group = taken / WIDTH;
        for group in group..group + PREFETCH_DISTANCE {
            prefetcher.locate_group(segments, group);
            prefetcher.prefetch_last();
        }
        prefetcher
    }

    /// The last group in flight, whose buckets are to be prefetched, key by key, between the keys of the
    /// group that is processed: a burst of prefetches delays everything after it.
    #[inline(always)]
    pub(crate) fn due(&self) -> Option<&KeyGroup> {
        self.last.map(|group| &self.ring[group % PREFETCH_DISTANCE])
    }

    #[inline(always)]
    fn prefetch_last(&self) {
        if let Some(keys) = self.due() {
            (0..WIDTH).for_each(|number| keys.prefetch(&self.level.geometry().codec, number));
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
    pub(crate) fn next_group(&mut self, segments: &Segments) {
        let group = self.taken / WIDTH;
        self.taken = (group + 1) * WIDTH;
        self.locate_group(segments, group + PREFETCH_DISTANCE);
    }

    /// The next key's place.
    #[inline(always)]
    pub(crate) fn next(&mut self, segments: &Segments) -> Option<Place> {
        self.hashes.get(self.taken)?;
        let number = self.taken % WIDTH;
        let place = self.group().0.place(number);
        if number == WIDTH - 1 {
            self.next_group(segments);
            self.prefetch_last();
        } else {
            self.taken += 1;
        }
        Some(place)
    }

    #[inline(always)]
    fn locate_group(&mut self, segments: &Segments, group: usize) {
        let level = &self.level.geometry();
        self.last = None;
        let Some(rest) = self.hashes.get(group * WIDTH..) else { return };
        let keys = &mut self.ring[group % PREFETCH_DISTANCE];
        // Two cache lines of hashes: among many random accesses the processor does not see that the hashes are read from
        // end to end.
        for line in [0, WIDTH / 2] {
            if let Some(hash) = rest.get(PREFETCH_DISTANCE * WIDTH + line) {
                prefetch(std::ptr::from_ref(hash).cast());
            }
        }
        match (rest.first_chunk(), rest.last()) {
            (Some(hashes), _) => segments.locate_group(level, hashes, keys),
            (None, Some(&last)) => {
                // The last key fills the group.
                let hash = |number| rest.get(number).copied().unwrap_or(last);
                segments.locate_group(level, &std::array::from_fn(hash), keys);
            }
            (None, None) => return,
        }
        self.last = Some(group);
    }
}
