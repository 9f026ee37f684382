//! Frees memory in steps, by joining segments, for filters that have become mostly empty.

use super::{CuckooFilter, deepest};
use crate::error::OutOfMemory;
use crate::hash::{Key, KeyHash};
use crate::sizing;

/// After a removal, segments join if their items fill at most this share of one, which is far from splitting.
const PART_WHEN_REMOVING: f64 = 0.5;
/// When compaction is requested, they may fill this share of what a segment is planned for.
const PART_OF_PLANNED: f64 = 0.85;
/// The most keys in the overflow table with which two segments may join: their copies have few buckets.
const MOST_OVERFLOW_ENTRIES: usize = 64;

impl CuckooFilter {
    /// Frees memory after the removal of a key: joins the key's segment with its sibling, if both are nearly empty.
    /// Returns whether it did. O(1), or O(slots of a segment), well under a millisecond.
    ///
    /// If this is called for each removed key, a filter of many segments keeps at most about four times the slots that
    /// its items need, whatever the order of removals. It must be [resizable](Self::is_resizable).
    pub fn compact_at<K: Key>(&mut self, key: K) -> bool {
        let segment = self.segments.segment_of(key.hash_with(self.hasher));
        let most = self.segments.geometry().segment_slots() as f64 * PART_WHEN_REMOVING;
        self.join(segment, most as u64).unwrap_or(false)
    }

    /// A step of [`compact`](Self::compact), for filters that take too long to rebuild as a whole: joins the
    /// segment of the hash `from` with its sibling, if both are empty enough. Returns the hash from which to continue,
    /// in the joined segment or in the next one; `None` after the last. O(1), or O(slots of a segment).
    ///
    /// After steps from hash 0 to the end, the filter has up to twice the slots of a rebuilt one.
    pub fn compact_step(&mut self, from: KeyHash) -> Option<KeyHash> {
        let geometry = self.segments.geometry();
        let load = sizing::design_load(geometry) * PART_OF_PLANNED;
        let most = (geometry.segment_slots() as f64 * load) as u64;
        // Without memory for a segment, nothing is joined.
        let has_joined = self.join(self.segments.segment_of(from), most).unwrap_or(false);
        let index = self.segments.segment_of(from);
        let (prefix, depth) = (self.segments.get(index).prefix(), self.segments.depth_of(index));
        let next = 1_u64.checked_shl(64 - depth).and_then(|width| prefix.checked_add(width));
        if has_joined { Some(prefix) } else { next }.map(KeyHash::from_u64)
    }

    /// Joins a segment with its sibling, if both together use at most `most` slots and can be joined.
    fn join(&mut self, index: u32, most: u64) -> Result<bool, OutOfMemory> {
        let Some(pair) = self.segments.siblings(index) else { return Ok(false) };
        let occupied = pair.map(|index| u64::from(self.segments.get(index).occupied()));
        if occupied.iter().sum::<u64>() > most || !self.may_join(pair) {
            return Ok(false);
        }
        let mut hashes = self.representatives(pair[0])?;
        hashes.extend(self.representatives(pair[1])?);
        let joined = self.segments.join(pair)?;
        self.count_overflow(joined);
        let (prefix, depth) = (self.segments.get(joined).prefix(), self.segments.depth_of(joined));
        self.reinsert_batch(&hashes);
        self.reinsert_overflowed(prefix, depth);
        Ok(true)
    }

    /// Whether these segments may become one: a level above theirs exists, their overflowed items are few, and no
    /// segment is deeper than allowed for the remaining number of segments.
    fn may_join(&self, pair: [u32; 2]) -> bool {
        let entries = |index| self.keys_without_room(index, MOST_OVERFLOW_ENTRIES + 1);
        let can_join = self.is_resizable() && !self.shard.is_part;
        can_join
            && self.segments.depth() <= deepest(self.segments.len() - 1)
            && self.segments.has_level_above(pair[0])
            && pair.map(entries).iter().sum::<usize>() <= MOST_OVERFLOW_ENTRIES
    }
}
