//! Rebuilds the whole filter without the keys, to reserve or free memory.
//!
//! A slot's cell has a representative hash. Inserting it into another geometry that distinguishes the same hashes
//! gives the same answers.

use super::{CuckooFilter, WhenFull, deepest};
use crate::error::{Full, FullReason, OutOfMemory, with_room};
use crate::hash::KeyHash;
use crate::kernel::{Geometry, Resolution};
use crate::segments::Segments;
use crate::sizing::{self, fitted};
use crate::table::Segment;

impl CuckooFilter {
    /// The geometry that fits `items` and distinguishes the same hashes as this filter.
    fn geometry_for(&self, items: u64) -> Geometry {
        let geometry = *self.segments.geometry();
        let Resolution::Cells { top_bits } = geometry.resolution else {
            return fitted(geometry, items);
        };
        let load = sizing::design_load(&geometry);
        let wanted = items as f64 / load / geometry.segment_slots() as f64;
        let base_depth = (wanted.max(1.0).log2().ceil() as u32).min(geometry.base_depth);
        let top_bits = top_bits + geometry.base_depth - base_depth;
        let resolution = Resolution::Cells { top_bits };
        let joined = Geometry { base_depth, resolution, ..geometry };
        if joined.level(base_depth).is_some() { joined } else { geometry }
    }

    /// Allocates the memory for `additional` items at once, and no more than they need. O(slots).
    ///
    /// Does nothing if the filter can grow, and its keys cover only a part of all hashes (because they arrived in the
    /// order of their hashes), or if it is a copy of a [shard](crate::shards).
    ///
    /// For a filter of fixed size, which has its memory unless it was [compacted](Self::compact), this only checks the
    /// limits.
    ///
    /// # Errors
    ///
    /// [`Full`] if `max_items` would be exceeded, the size is fixed and too small, or there is not enough memory.
    pub fn reserve(&mut self, additional: u64) -> Result<(), Full> {
        let items = self.stored.saturating_add(additional);
        if items > self.policy.limit() {
            return Err(self.full(FullReason::MaxItems));
        }
        if items <= self.capacity() {
            return Ok(());
        }
        if self.policy.when_full == WhenFull::Refuse {
            return Err(self.full(FullReason::NoRoom));
        }
        let geometry = self.geometry_for(items);
        let keeps_geometry = self.shard.is_part || !self.is_even_in(&geometry);
        if geometry.slots() <= self.slots() || keeps_geometry {
            return Ok(());
        }
        *self = self.rebuilt_in(geometry).map_err(|_| self.full(FullReason::OutOfMemory))?;
        Ok(())
    }

    /// Frees memory after removals: rebuilds the filter for its present items.
    ///
    /// O(slots); the old and the new table exist at the same time for a while. A filter of fixed size shrinks by
    /// halves, others to the size they need. Nothing changes if that would take more bytes, if the hashes are too
    /// uneven to fit, or in a copy of a [shard](crate::shards). Copies of a key have only two buckets, so if most keys
    /// have several copies, the filter stays larger.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`] if there is no memory for the smaller table; nothing changes.
    pub fn compact(&mut self) -> Result<(), OutOfMemory> {
        if self.shard.is_part {
            return Ok(());
        }
        let mut last = None;
        // Copies need more slots.
        for factor in [1, 2] {
            let geometry = self.geometry_for(self.stored.saturating_mul(factor));
            // Fixed sizes differ by halves, so a geometry may repeat.
            if last.replace(geometry) != Some(geometry)
                && geometry.slots() < self.slots()
                && self.is_even_in(&geometry)
            {
                let smaller = self.rebuilt_in(geometry)?;
                if smaller.is_smaller_than(self) {
                    *self = smaller;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Whether a filter of the same items takes fewer slots and bytes. Fewer segments have wider slots.
    fn is_smaller_than(&self, other: &Self) -> bool {
        let bytes =
            |filter: &Self| filter.segments.slot_bytes() + filter.overflow.memory_bytes() as u64;
        self.slots() < other.slots() && bytes(self) < bytes(other)
    }

    /// Whether each segment of another geometry has enough slots for the items whose hashes begin with its
    /// prefix.
    fn is_even_in(&self, geometry: &Geometry) -> bool {
        let target = |prefix: u64| prefix.unbounded_shr(64 - geometry.base_depth);
        let (mut last, mut items) = (0, 0);
        self.segments.in_hash_order().all(|index| {
            let segment = self.segments.get(index);
            if target(segment.prefix()) != last {
                (last, items) = (target(segment.prefix()), 0);
            }
            // A segment that becomes several gives each a share.
            let depth = self.segments.depth_of(index);
            items += u64::from(segment.occupied()) >> geometry.base_depth.saturating_sub(depth);
            items <= geometry.segment_slots()
        })
    }

    /// Splits the segments of keys under `prefix` in which evictions failed too often, as far as allowed.
    fn split_overfull(&mut self, prefix: u64, depth: u32) -> Result<(), OutOfMemory> {
        let last = prefix | u64::MAX.unbounded_shr(depth);
        let mut next = Some(prefix);
        while let Some(first) = next.filter(|&first| first <= last) {
            let index = self.segments.segment_of(KeyHash::from_u64(first));
            if self.must_split(index) {
                self.split(index)?;
                continue;
            }
            let end = self.segments.get(index).prefix()
                | u64::MAX.unbounded_shr(self.segments.depth_of(index));
            next = end.checked_add(1);
        }
        Ok(())
    }

    /// Whether half the evictions that make a segment full have failed, and it may become two.
    fn must_split(&self, index: u32) -> bool {
        let segment = self.segments.get(index);
        let depth = self.segments.depth_of(index) + self.shard.bits;
        segment.overflowed() > self.thresholds.most_overflowed / 2
            && segment.is_overfull()
            && self.policy.when_full != WhenFull::Refuse
            && !self.segments.is_last_level(index)
            && depth < deepest(self.segments_in_region(index))
    }

    /// A filter with these items in a table of another geometry that distinguishes the same hashes. The result depends
    /// only on both, so there is an error if a split gets no memory. As everywhere in the standard library, the process
    /// aborts if there is no memory for small lists or entries of the overflow table.
    pub(crate) fn rebuilt_in(&self, geometry: Geometry) -> Result<Self, OutOfMemory> {
        let segments = Segments::empty(geometry)?;
        let mut target = Self::of_segments(segments, self.policy, self.hasher);
        let fullest = self.segments.iter().map(Segment::occupied).max();
        let mut hashes = with_room(fullest.unwrap_or(0) as usize)?;
        target.stored = self.stored;
        target.shard = self.shard;
        target.rebuilds = self.rebuilds.wrapping_add(1);
        target.overflow = self.overflow.try_clone()?;
        for index in 0..target.segments.len() as u32 {
            target.count_overflow(index);
        }
        for index in self.segments.in_hash_order() {
            hashes.clear();
            self.segments.representatives(index).for_each(|hash| hashes.push(hash));
            target.reinsert_batch(&hashes);
            let prefix = self.segments.get(index).prefix();
            target.split_overfull(prefix, self.segments.depth_of(index))?;
        }
        target.reinsert_overflowed(0, 0);
        Ok(target)
    }
}
