//! What an insert needs to know when both its buckets are full, and how much memory the filter may still take.

use super::CuckooFilter;
use super::copies::MOST_BYTES_TO_INSERT;
use super::growth::{Decision, Fill, MOST_ENTRIES_BY_CHANCE, Surroundings, decide};
use super::policy::{FREE_DEPTH, REGION_BITS, deepest};
use crate::kernel::{Geometry, LevelGeometry};
use crate::sizing::{self, GROWING_SEGMENT_SLOTS, OVERFLOW_ENTRY_BYTES, fitted};

/// Bytes of the overflow table for the few items that find no slot in the halves of a segment.
pub(super) const UNPLACED_BYTES: u64 = 64 * OVERFLOW_ENTRY_BYTES as u64;

impl CuckooFilter {
    /// The decision for an insert in this segment when both its buckets are full.
    #[inline(always)]
    pub(crate) fn when_blocked(&self, index: u32) -> Decision {
        let fill = self.fill_of(index);
        decide(&self.thresholds, &fill, self.memory_limit, || self.surroundings(index))
    }

    #[inline(always)]
    fn fill_of(&self, index: u32) -> Fill {
        let segment = self.segments.get(index);
        Fill {
            occupied: segment.occupied(),
            overflowed: segment.overflowed(),
            is_overfull: segment.is_overfull(),
        }
    }

    /// Whether this decision may change when other segments of its region split.
    #[inline(always)]
    pub(crate) fn depends_on_region(&self, level: &LevelGeometry, index: u32) -> bool {
        let (fill, thresholds) = (self.fill_of(index), &self.thresholds);
        level.depth + self.shard.bits >= FREE_DEPTH
            && (fill.is_crowded(thresholds) || fill.is_filled(thresholds))
    }

    /// Items of a segment that may be left without a slot before it is full.
    #[inline(always)]
    pub(crate) fn overflow_left(&self, index: u32) -> u32 {
        let overflowed = self.segments.get(index).overflowed();
        self.thresholds.most_overflowed.saturating_sub(overflowed)
    }

    #[cold]
    fn surroundings(&self, index: u32) -> Surroundings {
        let segment = self.segments.get(index);
        let geometry = self.segments.geometry();
        let level = segment.level();
        let memory_left = self.memory_left();
        let is_limited = memory_left != u64::MAX;
        Surroundings {
            when_full: self.policy.when_full,
            stored: self.stored,
            capacity: self.capacity(),
            slots: self.slots(),
            is_resizable: self.is_resizable(),
            is_part: self.shard.is_part(),
            splits: level + self.shard.levels_above,
            entries: self.keys_without_room(index, MOST_ENTRIES_BY_CHANCE + 1),
            depth: self.segments.depth_of(index) + self.shard.bits,
            region: self.segments_in_region(index),
            is_last_level: self.segments.is_last_level(index),
            segments: self.segments.len() as u64,
            segments_if_all_as_deep: 1 << (geometry.base_depth + u32::from(level)),
            split_bytes: if is_limited && !self.segments.is_last_level(index) {
                self.segments.bytes_to_split(index).saturating_add(UNPLACED_BYTES)
            } else {
                0
            },
            rebuild_bytes: if is_limited { self.bytes_to_become(&self.doubled()) } else { 0 },
            memory_left,
        }
    }

    /// Segments in the region of a segment, if it is so deep that they matter.
    fn segments_in_region(&self, index: u32) -> usize {
        if self.segments.depth_of(index) + self.shard.bits < FREE_DEPTH {
            return 0;
        }
        let bits = REGION_BITS.saturating_sub(self.shard.bits);
        self.segments.count_under(self.segments.get(index).prefix(), bits)
    }

    /// Whether a segment may become two, as far as its depth goes.
    pub(super) fn may_split(&self, index: u32) -> bool {
        let depth = self.segments.depth_of(index) + self.shard.bits;
        !self.segments.is_last_level(index) && depth < deepest(self.segments_in_region(index))
    }

    /// Whether `inserts` inserts, in any order, stay within the limits of items and memory, and do not make the whole
    /// filter grow, which moves all items.
    pub(crate) fn is_far_from_limits(&self, inserts: usize) -> bool {
        self.stored.saturating_add(inserts as u64) <= self.policy.limit()
            && !self.may_rebuild_to_grow()
            && self.is_far_from_memory_limit(inserts)
    }

    /// Whether growth in some segment may rebuild the whole filter. O(1): every batch asks.
    fn may_rebuild_to_grow(&self) -> bool {
        let is_small = self.slots() <= GROWING_SEGMENT_SLOTS;
        let can_rebuild = self.is_resizable() && !self.shard.is_part();
        can_rebuild && (is_small || self.segments.are_some_at_last_level())
    }

    /// Limits the memory of the filter, in bytes as counted by [`memory_bytes`](Self::memory_bytes).
    /// `None` (the default): no limit. O(1).
    ///
    /// What would exceed the limit is refused: growth, [`reserve`](Self::reserve), and the first copy of a key that has
    /// no slot (the second copy; in slots of less than 32 bits, one beyond a bucket's slots). Everything else
    /// still works, even in a filter that is larger already. Until the filter has grown, it accepts all items that its
    /// memory was [planned](Self::capacity) for, even the few that find no slot; later, those whose
    /// segments have free slots. While a filter is rebuilt, its old table is not counted. A clone has the same limit;
    /// snapshots, conversions and shared filters have none.
    ///
    /// ```
    /// use coua::{CuckooFilter, FullReason};
    /// let mut filter = CuckooFilter::new();
    /// filter.set_memory_limit(Some(1 << 20));
    /// let full = (0u32..).find_map(|key| filter.insert(key.to_le_bytes()).err());
    /// assert_eq!(full.map(|full| full.reason), Some(FullReason::MemoryLimit));
    /// assert!((900_000..=1 << 20).contains(&filter.memory_bytes()));
    /// ```
    pub fn set_memory_limit(&mut self, limit: Option<u64>) {
        self.memory_limit = limit.unwrap_or(u64::MAX);
    }

    /// Bytes that the filter may still take; `u64::MAX` without a limit.
    pub(crate) fn memory_left(&self) -> u64 {
        match self.memory_limit {
            // Requests of unknown size are `u64::MAX` too, and must fit.
            u64::MAX => u64::MAX,
            limit => limit.saturating_sub(self.memory_bytes() as u64),
        }
    }

    /// Whether `inserts` inserts, each of which may split a segment, stay within the limit of memory.
    fn is_far_from_memory_limit(&self, inserts: usize) -> bool {
        if self.memory_limit == u64::MAX {
            return true;
        }
        // Twice, because the ends of arenas may be too short for a segment. And the present memory once more, because
        // the list of segments and the directory may double, or the whole filter.
        let geometry = self.segments.geometry();
        let segment = geometry.slot_bytes() >> geometry.base_depth;
        let splits = segment.saturating_mul(2 * inserts as u64);
        self.memory_left() >= splits.saturating_add(self.memory_bytes() as u64)
    }

    /// Whether memory is left for an entry of the overflow table.
    pub(super) fn has_memory_for_overflow(&self) -> bool {
        self.memory_left() >= MOST_BYTES_TO_INSERT.max(OVERFLOW_ENTRY_BYTES) as u64
    }

    /// Bytes that a table of another geometry takes beyond those of this one.
    pub(super) fn bytes_to_become(&self, geometry: &Geometry) -> u64 {
        sizing::table_bytes(geometry).saturating_sub(self.segments.table_bytes() as u64)
    }

    /// The geometry that a filter grows to as a whole.
    pub(super) fn doubled(&self) -> Geometry {
        let geometry = self.segments.geometry();
        let items = 2.0 * self.slots() as f64 * sizing::design_load(geometry);
        fitted(*geometry, items as u64)
    }
}
