//! The limits of a filter, and the inputs of the decision for an insert whose buckets are full.

use super::CuckooFilter;
use super::copies::MOST_BYTES_TO_INSERT;
use super::growth::{
    Decision, FREE_DEPTH, GrowthInputs, MOST_ENTRIES_BY_CHANCE, REGION_BITS, SegmentLoad, WhenFull,
    decide, most_by_splits,
};
use crate::hash::KeyHash;
use crate::kernel::{Geometry, LevelGeometry};
use crate::sizing::{self, GROWING_SEGMENT_SLOTS, fitted};

impl CuckooFilter {
    /// The decision for an insert in this segment when both its buckets are full.
    #[inline(always)]
    pub(crate) fn when_blocked(&self, index: u32) -> Decision {
        let fill = self.fill_of(index);
        decide(&self.thresholds, &fill, || self.growth_inputs(index))
    }

    /// The most bytes that one more copy of this key takes in the overflow table; `None` if the filter grows for it.
    #[doc(hidden)]
    pub fn bytes_to_insert(&self, hash: KeyHash) -> Option<u64> {
        let place = &self.segments.locate(hash);
        let slots = Self::slots_for_copies(self.segments.level_of(place.segment));
        let is_extra = self.segments.copies(place) >= slots;
        let takes_entry = if is_extra {
            self.overflow_copies(place) == 0
        } else if self.segments.has_free_slot(place) {
            false
        } else {
            match self.when_blocked(place.segment) {
                Decision::Split | Decision::Rebuild => return None,
                Decision::Overflow => true,
                Decision::Refuse => false,
                // An eviction may fail. In a filter that holds what it was planned for, that is planned too.
                Decision::Evict => self.stored >= self.capacity(),
            }
        };
        Some(if takes_entry { MOST_BYTES_TO_INSERT as u64 } else { 0 })
    }

    /// Items that the filter can take before it lacks hash bits to split segments, and a rebuild moves all items.
    /// `u64::MAX` if that never happens. Uneven hashes may cause it earlier.
    #[doc(hidden)]
    pub fn room_by_splits(&self) -> u64 {
        if self.policy.when_full == WhenFull::Refuse {
            return u64::MAX;
        }
        most_by_splits(self.segments.geometry()).saturating_sub(self.stored)
    }

    /// The number of moves of all items to another table since the filter was created or loaded.
    #[doc(hidden)]
    pub fn rebuilds(&self) -> u32 {
        self.rebuilds
    }

    #[inline(always)]
    fn fill_of(&self, index: u32) -> SegmentLoad {
        let segment = self.segments.get(index);
        SegmentLoad {
            occupied: segment.occupied(),
            overflowed: segment.overflowed(),
            is_overfull: segment.is_overfull(),
            splits: segment.level(),
        }
    }

    /// Whether this decision may change when other segments of its region split.
    #[inline(always)]
    pub(crate) fn depends_on_region(&self, level: &LevelGeometry, index: u32) -> bool {
        let (fill, thresholds) = (self.fill_of(index), &self.thresholds);
        level.depth + self.shard.bits >= FREE_DEPTH
            && (fill.is_crowded(thresholds) || fill.at_split_load(thresholds))
    }

    /// Items of a segment that may be left without a slot before it is full.
    #[inline(always)]
    pub(crate) fn overflow_left(&self, index: u32) -> u32 {
        let overflowed = self.segments.get(index).overflowed();
        self.thresholds.most_overflowed.saturating_sub(overflowed)
    }

    #[cold]
    fn growth_inputs(&self, index: u32) -> GrowthInputs {
        let segment = self.segments.get(index);
        let geometry = self.segments.geometry();
        let level = segment.level();
        GrowthInputs {
            when_full: self.policy.when_full,
            stored: self.stored,
            capacity: self.capacity(),
            slots: self.slots(),
            is_resizable: self.is_resizable(),
            is_part: self.shard.is_part,
            entries: self.keys_without_room(index, MOST_ENTRIES_BY_CHANCE + 1),
            depth: self.segments.depth_of(index) + self.shard.bits,
            region: self.segments_in_region(index),
            is_last_level: self.segments.is_last_level(index),
            segments: self.segments.len() as u64,
            segments_if_all_as_deep: 1 << (geometry.base_depth + u32::from(level)),
        }
    }

    /// Segments in the region of a segment, if it is so deep that they matter.
    pub(super) fn segments_in_region(&self, index: u32) -> usize {
        if self.segments.depth_of(index) + self.shard.bits < FREE_DEPTH {
            return 0;
        }
        let bits = REGION_BITS.saturating_sub(self.shard.bits);
        self.segments.count_under(self.segments.get(index).prefix(), bits)
    }

    /// Whether `inserts` inserts, in any order, stay within the limit of items, and do not make the whole filter grow,
    /// which moves all items. O(1): every batch asks.
    pub(crate) fn is_far_from_limits(&self, inserts: usize) -> bool {
        let can_rebuild = self.is_resizable() && !self.shard.is_part;
        let is_small = self.slots() <= GROWING_SEGMENT_SLOTS;
        self.stored.saturating_add(inserts as u64) <= self.policy.limit()
            && !(can_rebuild && (is_small || self.segments.are_some_at_last_level()))
    }

    /// The geometry that a filter grows to as a whole.
    pub(super) fn doubled(&self) -> Geometry {
        let geometry = self.segments.geometry();
        let items = 2.0 * self.slots() as f64 * sizing::design_load(geometry);
        fitted(*geometry, items as u64)
    }
}
