//! Joining segments: the inverse of a [`split`](super::split), for filters that have become mostly empty.
//!
//! Two segments whose prefixes differ in the last bit become one, a level up, where fingerprints have one bit
//! more. Their items are told by their representatives, as in a rebuild, but only these items move: so a large
//! filter gives memory back in steps. What a step does follows from the slots alone, so equal filters stay equal.

use super::CuckooFilter;
use crate::error::{OutOfMemory, reserve};
use crate::hash::{Key, KeyHash};
use crate::kernel::{Geometry, LevelGeometry, Resolution};
use crate::sizing;

/// Segments join of their own accord while their items fill this part of one: its splits are far off.
const PART_WHEN_REMOVING: f64 = 0.5;
/// When memory is asked for, they may fill this part of what a segment is planned for.
const PART_OF_PLANNED: f64 = 0.85;
/// Keys in the overflow table with which two segments may join: their copies have few buckets.
const MOST_OVERFLOW_ENTRIES: usize = 64;

impl CuckooFilter {
    /// Gives memory back where a key was removed: if the segment that it lies in is so empty that it joins its
    /// sibling, they become one. Tells whether they did. O(1), or O(slots of a segment), well under a millisecond.
    ///
    /// Whatever the order of removals, a filter of many segments that is told each removed key keeps about four
    /// times the slots that its items need at most. It must be [resizable](Self::is_resizable).
    pub fn compact_at<K: Key>(&mut self, key: K) -> bool {
        let segment = self.directory.segment_of(key.hash_with(self.hasher));
        let most = self.geometry.segment_slots() as f64 * PART_WHEN_REMOVING;
        self.join(segment, most as u64).unwrap_or(false)
    }

    /// A step of [`compact`](Self::compact) for filters that are too large to be rebuilt as a whole in the time
    /// that there is: the segment that the hash `from` lies in joins its sibling, if both are so empty that they
    /// should. Returns the hash from which to go on, which lies in the segment that they have become, or else in the
    /// next one; nothing after the last. O(1), or O(slots of a segment).
    ///
    /// Steps from hash 0 to the end leave up to twice the slots that a rebuilt filter would have.
    pub fn compact_step(&mut self, from: KeyHash) -> Option<KeyHash> {
        let load = sizing::design_load(&self.geometry) * PART_OF_PLANNED;
        let most = (self.geometry.segment_slots() as f64 * load) as u64;
        // Without memory for a segment nothing is joined.
        let has_joined = self.join(self.directory.segment_of(from), most).unwrap_or(false);
        let index = self.directory.segment_of(from);
        let (prefix, depth) = (self.table.segment(index).prefix(), self.level_of(index).depth);
        let next = 1_u64.checked_shl(64 - depth).and_then(|width| prefix.checked_add(width));
        if has_joined { Some(prefix) } else { next }.map(KeyHash::from_u64)
    }

    /// Joins a segment with its sibling, if both together have at most so many slots in use and can be joined.
    fn join(&mut self, index: u32, most: u64) -> Result<bool, OutOfMemory> {
        let Some(pair) = self.siblings(index) else { return Ok(false) };
        let occupied = pair.map(|index| u64::from(self.table.segment(index).occupied()));
        if occupied.iter().sum::<u64>() > most || !self.may_join(pair[0]) {
            return Ok(false);
        }
        let mut hashes = self.representatives(pair[0])?;
        hashes.extend(self.representatives(pair[1])?);
        let joined = self.put_in_place_of(pair)?;
        let (prefix, depth) = (self.table.segment(joined).prefix(), self.level_of(joined).depth);
        self.reinsert_batch(&hashes);
        self.reinsert_overflowed(prefix, depth);
        Ok(true)
    }

    /// A segment and the one with which it makes up one a level up, the lower one first.
    fn siblings(&self, index: u32) -> Option<[u32; 2]> {
        let (segment, depth) = (self.table.segment(index), self.level_of(index).depth);
        let bit = 1_u64.checked_shl(64_u32.checked_sub(depth)?)?;
        let other = self.directory.segment_of(KeyHash::from_u64(segment.prefix() ^ bit));
        let pair = if segment.prefix() & bit == 0 { [index, other] } else { [other, index] };
        (self.table.segment(other).level() == segment.level()).then_some(pair)
    }

    /// Whether these segments may become one: a level above theirs exists, and their overflowed items are few.
    fn may_join(&self, lower: u32) -> bool {
        let (level, prefix) = (self.level_of(lower), self.table.segment(lower).prefix());
        let is_free = self.is_resizable() && !self.limits.is_shard();
        is_free
            && (self.table.segment(lower).level() > 0 || self.lowered().is_some())
            && self.overflow.under(prefix, level.depth - 1).nth(MOST_OVERFLOW_ENTRIES).is_none()
    }

    /// The geometry whose segments are the pairs of this one's, and their level; `None` if fingerprints would be
    /// too wide, or could not be split again.
    fn lowered(&self) -> Option<(Geometry, LevelGeometry)> {
        let base_depth = self.geometry.base_depth.checked_sub(1)?;
        // A representative has at most 63 bits after the prefix.
        if base_depth == 0 && self.geometry.resolution == (Resolution::Prefix { bits: 64 }) {
            return None;
        }
        let geometry = Geometry { base_depth, ..self.geometry };
        let base = geometry.level(base_depth)?;
        geometry.level(base_depth + 1).map(|_| (geometry, base))
    }

    /// Makes all segments ones that were split once more.
    fn lower_base(&mut self, (geometry, base): (Geometry, LevelGeometry)) {
        self.levels.insert(0, base);
        self.table.iter_mut().for_each(|mut segment| segment.deepen());
        self.geometry = geometry;
    }

    /// Puts an empty segment a level up in the place of two. Takes all memory first.
    fn put_in_place_of(&mut self, [lower, upper]: [u32; 2]) -> Result<u32, OutOfMemory> {
        let (prefix, level) =
            (self.table.segment(lower).prefix(), self.table.segment(lower).level());
        let lowered = if level == 0 { self.lowered() } else { None };
        let parent = lowered.map_or_else(|| self.levels[usize::from(level) - 1], |(_, base)| base);
        let bytes = parent.bytes(self.geometry.segment_slots());
        reserve(&mut self.levels, 1)?;
        self.table.reserve_segment(bytes, u64::MAX)?;
        if let Some(lowered) = lowered {
            self.lower_base(lowered);
        }
        let level = self.table.segment(lower).level() - 1;
        let joined = self.table.add_segment(bytes, prefix, level)?;
        self.directory.assign(prefix, parent.depth, joined);
        // The later one first: the last segment takes the place of one that goes.
        self.drop_segment(lower.max(upper));
        self.drop_segment(lower.min(upper));
        self.directory.shrink();
        let deepest = (self.directory.depth() - self.geometry.base_depth) as usize;
        self.levels.truncate(deepest + 2);
        self.levels.shrink_to_fit();
        self.uniform = self.find_uniform();
        self.splits += 1;
        let joined = self.directory.segment_of(KeyHash::from_u64(prefix));
        if self.overflow.under(prefix, parent.depth).next().is_some() {
            self.table.segment_mut(joined).mark_overflow();
        }
        Ok(joined)
    }

    /// Removes a segment to which no hash leads any more.
    fn drop_segment(&mut self, index: u32) {
        self.table.remove_segment(index);
        if (index as usize) < self.table.len() {
            let (prefix, depth) = (self.table.segment(index).prefix(), self.level_of(index).depth);
            self.directory.assign(prefix, depth, index);
        }
    }
}
