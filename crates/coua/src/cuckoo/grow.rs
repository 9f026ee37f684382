//! When a filter grows, and what that may take.
//!
//! A split divides one segment into two, one bit deeper ([`split`](super::split)). A small filter is
//! [rebuilt](super::rebuild) instead, and so is one whose fingerprints have no bit left to give.
//!
//! An insert whose buckets are full evicts other items. After an eviction has failed, the next such insert
//! makes the filter grow first, unless chance explains the failure in a filter that holds no more than it
//! was planned for. A filter that cannot grow refuses once the overflowed items reach their limit.

use super::{CuckooFilter, WhenFull};
use crate::error::{FullReason, OutOfMemory};
use crate::kernel::{Geometry, LevelGeometry};
use crate::sizing::{self, GROWING_SEGMENT_SLOTS, OVERFLOW_ENTRY_BYTES, fitted};
use crate::table::Segment;

/// A segment with less than this part of its slots in use does not split, nor does such a filter double.
const LEAST_USE: u64 = 4;
/// Entries of the overflow table that chance may give a segment which holds what it is planned for. With more,
/// its keys have many copies.
const MOST_ENTRIES_BY_CHANCE: usize = 4;
/// Standard deviations by which a segment exceeds its share: once in 300,000.
const MOST_DEVIATION: f64 = 4.5;

/// What an insert does whose buckets are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenBlocked {
    Evict,
    Grow,
    Refuse(FullReason),
}

impl CuckooFilter {
    /// What an insert does in a segment where both its buckets are full. Each of `active` eviction chains may
    /// yet fail.
    pub(crate) fn when_blocked(&self, segment: u32, active: usize) -> WhenBlocked {
        let is_overflow_full = self.overflow.overflowed() + active as u64 >= self.overflow_limit();
        let must_split = is_overflow_full && self.is_used(segment) || self.prefers_split(segment);
        if must_split && self.may_grow(segment) {
            if self.growth_bytes(segment) <= self.memory_left() {
                return WhenBlocked::Grow;
            }
            return WhenBlocked::Refuse(FullReason::MemoryLimit);
        }
        if is_overflow_full {
            let may_not_grow = self.policy.when_full == WhenFull::Refuse;
            let reason = if may_not_grow { FullReason::NoRoom } else { FullReason::Crowded };
            return WhenBlocked::Refuse(reason);
        }
        // Beyond what its memory was planned for, an item may come to need an entry of the overflow table.
        if !self.has_memory_for_overflow(active) && self.stored >= self.capacity() {
            return WhenBlocked::Refuse(FullReason::MemoryLimit);
        }
        WhenBlocked::Evict
    }

    /// Whether memory is left for an entry of the overflow table, if so many chains come to need one first.
    pub(crate) fn has_memory_for_overflow(&self, active: usize) -> bool {
        self.memory_left() >= (active as u64 + 1) * OVERFLOW_ENTRY_BYTES as u64
    }

    /// Keys made to collide fill two buckets, not a segment: they must not buy memory.
    fn is_used(&self, segment: u32) -> bool {
        let occupied = self.table.segment(segment).occupied();
        u64::from(occupied) >= self.geometry.segment_slots() / LEAST_USE
    }

    /// Whether to split rather than evict, although the overflow table has space. False within planned
    /// capacity.
    pub(crate) fn prefers_split(&self, index: u32) -> bool {
        let segment = self.table.segment(index);
        // A filter of exactly planned size splits only when it must.
        self.is_resizable()
            && (u64::from(segment.occupied()) >= self.split_at()
                || segment.is_overfull() && self.is_used(index))
            && !self.is_as_planned(segment)
    }

    /// Whether a segment holds no more than chance gives it while the filter holds what it was planned for. A
    /// small filter is judged as a whole. In others, which may be split into shards, the segment alone counts.
    #[cold]
    fn is_as_planned(&self, segment: &Segment) -> bool {
        if self.is_small() {
            return self.stored < self.capacity();
        }
        let entries = || self.overflow.under(segment.prefix(), self.geometry.base_depth);
        segment.level() == 0
            && self.limits.levels_above == 0
            && u64::from(segment.occupied()) < self.most_by_chance()
            && entries().nth(MOST_ENTRIES_BY_CHANCE).is_none()
    }

    /// Whether so many inserts meet no limit of the whole filter, whatever their order: neither that of
    /// items nor that of overflowed ones, of which each may make one more, nor that of memory; and none makes
    /// the whole filter grow, which moves all that is in.
    pub(crate) fn is_far_from_limits(&self, inserts: usize) -> bool {
        self.stored.saturating_add(inserts as u64) <= self.policy.limit()
            && !self.may_rebuild_to_grow()
            && self.overflow.overflowed() + (inserts as u64) < self.overflow_limit()
            && self.is_far_from_memory_limit(inserts)
    }

    /// Slots in use from which a segment splits rather than evicts.
    fn split_at(&self) -> u64 {
        let load = sizing::loads(&self.geometry).split;
        (self.geometry.segment_slots() as f64 * load) as u64
    }

    /// The most slots in use that chance brings about in a segment which was not split, while the filter holds
    /// what it is planned for.
    fn most_by_chance(&self) -> u64 {
        let load = sizing::loads(&self.geometry).growing;
        let planned = self.geometry.segment_slots() as f64 * load;
        (planned + MOST_DEVIATION * planned.sqrt()) as u64
    }

    pub(super) fn may_split(&self, segment: u32) -> bool {
        let depth = self.level_of(segment).depth;
        !self.is_last_level(segment) && self.limits.allow_split(depth, self.table.len())
    }

    fn may_grow(&self, segment: u32) -> bool {
        self.policy.when_full != WhenFull::Refuse
            && (self.rebuilds_to_grow(segment) || self.may_split(segment))
    }

    /// Whether growth in a segment rebuilds the whole filter. The shards of a shared filter must keep segments
    /// of one size.
    fn rebuilds_to_grow(&self, segment: u32) -> bool {
        self.is_small()
            || self.is_resizable() && !self.limits.is_shard() && self.lacks_bits(segment)
    }

    /// Whether growth in some segment may rebuild the whole filter. O(1): every batch asks.
    fn may_rebuild_to_grow(&self) -> bool {
        let last = self.levels[self.levels.len() - 1].depth;
        let lacks_bits =
            || self.directory.depth() == last && self.geometry.level(last + 1).is_none();
        self.is_resizable() && !self.limits.is_shard() && (self.is_small() || lacks_bits())
    }

    /// Whether the fingerprints of a segment have no bit left to give, in a filter that is used and most of
    /// whose segments are as deep: keys that share a prefix must not buy memory for all. Twice the slots then
    /// hold all items, however they are spread.
    fn lacks_bits(&self, index: u32) -> bool {
        let level = u32::from(self.table.segment(index).level());
        let most_segments = 1 << (self.geometry.base_depth + level);
        self.is_last_level(index)
            && 2 * self.table.len() >= most_segments
            && self.stored >= self.slots() / LEAST_USE
    }

    /// Whether a segment has no level below it.
    pub(crate) fn is_last_level(&self, index: u32) -> bool {
        usize::from(self.table.segment(index).level()) + 1 == self.levels.len()
    }

    /// Whether the whole filter is rebuilt faster than users notice, and then has larger segments.
    fn is_small(&self) -> bool {
        self.is_resizable() && !self.limits.is_shard() && self.slots() <= GROWING_SEGMENT_SLOTS
    }

    /// Lets the filter grow to so many bytes of memory at most, as [`memory_bytes`](Self::memory_bytes)
    /// counts them; `None`: to any number, as before the first call. O(1).
    ///
    /// What would exceed the limit is refused: growth, [`reserve`](Self::reserve), and the fifth copy of a
    /// key or a later one (with four slots in a bucket), if it is the first that has no slot. Everything else goes
    /// on, also in a filter that is larger already. Until the filter has grown, each item that its memory was
    /// [planned](Self::capacity) for goes in, also the few of them that have no slot in the end; later, those
    /// whose segments have free slots.
    /// While a filter is rebuilt, its old table is not counted. A clone has the same limit;
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
            // Not less: what is asked for may be as much, where it has no number.
            u64::MAX => u64::MAX,
            limit => limit.saturating_sub(self.memory_bytes() as u64),
        }
    }

    /// Whether so many inserts, each of which may split a segment, do not exceed the limit of memory.
    fn is_far_from_memory_limit(&self, inserts: usize) -> bool {
        // Twice: the ends of arenas may be too short for a segment. Once more what there is: the list of
        // segments and the directory may double, or the whole filter.
        let segment = self.levels[0].bytes(self.geometry.segment_slots());
        let splits = segment.saturating_mul(2 * inserts as u64);
        self.memory_left() >= splits.saturating_add(self.memory_bytes() as u64)
    }

    /// Bytes that growth in a segment takes at least.
    fn growth_bytes(&self, index: u32) -> u64 {
        if self.rebuilds_to_grow(index) {
            return self.bytes_to_become(&self.doubled());
        }
        let level = usize::from(self.table.segment(index).level());
        let bytes = self.levels[level + 1].bytes(self.geometry.segment_slots());
        let directory = self.directory.bytes_to_split(self.levels[level].depth);
        let is_deepest = level + 2 == self.levels.len();
        let list = if is_deepest { size_of::<LevelGeometry>() as u64 } else { 0 };
        self.table.bytes_for(bytes).saturating_add(directory + list)
    }

    /// Bytes that a table of another geometry takes beyond those of this one.
    pub(super) fn bytes_to_become(&self, geometry: &Geometry) -> u64 {
        let bytes = self.table.memory_bytes() + self.directory.memory_bytes();
        sizing::table_bytes(geometry).saturating_sub(bytes as u64)
    }

    /// Splits a segment, or doubles the filter. Probes made before are stale.
    pub(super) fn grow(&mut self, segment: u32) -> Result<(), OutOfMemory> {
        if self.rebuilds_to_grow(segment) {
            self.move_to(self.doubled())
        } else {
            self.split(segment)
        }
    }

    /// The geometry that a filter grows to as a whole.
    fn doubled(&self) -> Geometry {
        let items = if self.is_small() {
            2 * self.slots()
        } else {
            (2.0 * self.slots() as f64 * sizing::design_load(&self.geometry)) as u64
        };
        fitted(self.geometry, items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHash;
    use crate::cuckoo::OverflowEntry;
    use std::time::{Duration, Instant};

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn which_filters_may_double_is_known_without_a_look_at_their_segments() {
        let mix = |n: u64| KeyHash::from_u64(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut seen = [false; 2];
        for (hash_bits, capacity) in [(20, 15_000), (20, 100_000), (22, 300_000), (24, 15_000)] {
            let builder = CuckooFilter::builder().hash_bits(hash_bits).capacity(capacity);
            let mut filter = builder.build().unwrap();
            for n in 0..400_000 {
                filter.insert(mix(n)).unwrap();
                if n % 100 == 0 && !filter.is_small() {
                    let mut segments = 0..filter.segments() as u32;
                    let may_rebuild = segments.any(|segment| filter.is_last_level(segment));
                    assert_eq!(filter.may_rebuild_to_grow(), may_rebuild, "{n} {filter:?}");
                    seen[usize::from(may_rebuild)] = true;
                }
            }
        }
        assert_eq!(seen, [true; 2]);
    }

    /// As in a forged snapshot: more overflowed items than there are slots, each of which may take ten
    /// thousand steps.
    #[cfg(not(miri))]
    #[test]
    fn a_crowd_without_free_slots_is_not_reinserted_one_by_one() {
        let builder = CuckooFilter::builder().capacity(50_000).hash_bits(40).max_evictions(10_000);
        let mut filter = builder.build().unwrap();
        let mix = |n: u64| KeyHash::from_u64(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (0..filter.capacity()).for_each(|n| filter.insert(mix(n)).unwrap());
        let crowd = || (1 << 40..).map(mix).take(300_000);
        for hash in crowd() {
            filter.restore_overflow(hash, OverflowEntry { extra: 0, overflowed: 1 });
        }
        let begin = Instant::now();
        filter.reinsert_overflowed(0, 0);
        // One by one it would take an hour.
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
        assert!(crowd().all(|hash| filter.contains(hash)));
    }
}
