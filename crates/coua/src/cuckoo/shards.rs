//! Splitting a filter into shards, and joining them again.
//!
//! A segment with prefix `p` of depth `d` in the whole filter is, bit for bit, the segment with the last
//! `d - bits` bits of `p` in the shard that its first `bits` bits name: where a key lies in a segment depends
//! only on the hash bits after the prefix. So a shard is a filter of its own, which sees hashes without those
//! bits (shifted out to the left).

use std::ops::Range;

use super::{CuckooFilter, OverflowEntry, OverflowTable, Policy, ShardLimits};
use crate::error::OutOfMemory;
use crate::hash::{KeyHash, KeyHasher};
use crate::kernel::{Geometry, Resolution};
use crate::table::{Segment, Table};

/// How a filter is split: into 2^`bits` shards, by the first bits of the hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShardPlan {
    pub(crate) bits: u32,
    /// Of the whole filter, as are the policy and the hasher.
    pub(crate) geometry: Geometry,
    pub(crate) policy: Policy,
    pub(crate) hasher: KeyHasher,
}

/// The number of the shard that a hash falls to.
#[inline(always)]
pub(crate) fn shard_of(hash: KeyHash, bits: u32) -> usize {
    // Two shifts, as above.
    ((hash.to_u64() >> 1) >> (63 - bits)) as usize
}

/// A hash as its shard sees it.
#[inline(always)]
pub(crate) fn within_shard(hash: KeyHash, bits: u32) -> KeyHash {
    KeyHash::from_u64(hash.to_u64() << bits)
}

/// Some keys, sorted by shard; those of one shard are in order, and as their shard knows them.
#[derive(Default)]
pub(crate) struct ByShard {
    hashes: Vec<KeyHash>,
    /// Where each shard's keys end.
    ends: Vec<usize>,
}

impl ByShard {
    /// Takes other keys, sorts them into 2^`bits` shards, and tells the place of each in its turn. Counting sort:
    /// two passes, no comparison.
    pub(crate) fn fill(&mut self, hashes: &[KeyHash], bits: u32, mut tell: impl FnMut(usize)) {
        self.ends.clear();
        self.ends.resize(1 << bits, 0);
        for &hash in hashes {
            self.ends[shard_of(hash, bits)] += 1;
        }
        let mut next = 0;
        for end in &mut self.ends {
            next += std::mem::replace(end, next);
        }
        self.hashes.resize(hashes.len(), KeyHash::from_u64(0));
        for &hash in hashes {
            let place = &mut self.ends[shard_of(hash, bits)];
            self.hashes[*place] = within_shard(hash, bits);
            tell(*place);
            // In the end it has moved on to where the next shard's keys begin.
            *place += 1;
        }
    }

    /// The places of a shard's keys.
    pub(crate) fn places(&self, shard: usize) -> Range<usize> {
        let first = if shard == 0 { 0 } else { self.ends[shard - 1] };
        first..self.ends[shard]
    }

    /// The keys of a shard.
    pub(crate) fn of_shard(&self, shard: usize) -> &[KeyHash] {
        &self.hashes[self.places(shard)]
    }
}

impl ShardPlan {
    pub(crate) fn of(filter: &CuckooFilter, bits: u32) -> Self {
        let &CuckooFilter { geometry, policy, hasher, .. } = filter;
        Self { bits, geometry, policy, hasher }
    }

    /// The shards of a filter: their geometry is that of the whole, `bits` bits less deep.
    pub(crate) fn split(&self, filter: CuckooFilter) -> Result<Vec<CuckooFilter>, OutOfMemory> {
        let resolution = match self.geometry.resolution {
            Resolution::Prefix { bits } => Resolution::Prefix { bits: bits - self.bits },
            cells @ Resolution::Cells { .. } => cells,
        };
        let base_depth = self.geometry.base_depth.saturating_sub(self.bits);
        let geometry = Geometry { base_depth, resolution, ..self.geometry };
        let part_of = |prefix| shard_of(KeyHash::from_u64(prefix), self.bits);
        let shard = |mut table: Table| {
            table.map_places(|prefix, level| (prefix << self.bits, level - self.levels_above()));
            let shard = CuckooFilter::of_table(geometry, table, self.policy, self.hasher)?;
            Ok(CuckooFilter { limits: self.limits(0, 0), ..shard })
        };
        let tables = filter.table.split(1 << self.bits, part_of);
        let mut shards = tables.into_iter().map(shard).collect::<Result<Vec<_>, _>>()?;
        for (hash, entry) in filter.overflow.iter() {
            let shard = &mut shards[shard_of(hash, self.bits)];
            shard.restore_overflow(within_shard(hash, self.bits), entry);
        }
        Ok(shards)
    }

    /// What a shard must know, with so many segments in the others.
    pub(crate) fn limits(&self, other_segments: usize, spare_overflow: u64) -> ShardLimits {
        let (shard_bits, levels_above) = (self.bits, self.levels_above());
        ShardLimits { shard_bits, other_segments, spare_overflow, levels_above }
    }

    /// Whether each segment of a filter lies in one shard.
    pub(crate) fn fits(&self, filter: &CuckooFilter) -> bool {
        let depth = |segment: &Segment| self.geometry.base_depth + u32::from(segment.level());
        let has_levels = self.levels_above() == 0 || filter.is_resizable();
        has_levels && filter.table.iter().all(|segment| depth(segment) >= self.bits)
    }

    /// Levels of the filter whose segments are not as deep as a shard.
    fn levels_above(&self) -> u8 {
        self.bits.saturating_sub(self.geometry.base_depth) as u8
    }

    /// The filter of all shards, in their order.
    pub(crate) fn join(&self, shards: Vec<CuckooFilter>) -> Result<CuckooFilter, OutOfMemory> {
        let mut overflow = OverflowTable::default();
        let mut stored = 0;
        let mut tables = Vec::with_capacity(shards.len());
        for (number, mut shard) in (0_u64..).zip(shards) {
            // The smallest hash of the shard.
            let first = (number << 1) << (63 - self.bits);
            let above = self.levels_above();
            shard.table.map_places(|prefix, level| (first | (prefix >> self.bits), level + above));
            for (hash, entry) in shard.overflow.iter() {
                // The smallest hash of a cell, in the coarser steps of the whole filter's hashes.
                let smallest = hash.to_u64().div_ceil(1 << self.bits);
                overflow.add(KeyHash::from_u64(first | smallest), entry);
            }
            stored += shard.stored;
            tables.push(shard.table);
        }
        let table = Table::joined(tables);
        let joined = CuckooFilter::of_table(self.geometry, table, self.policy, self.hasher)?;
        Ok(CuckooFilter { overflow, stored, ..joined })
    }
}

impl CuckooFilter {
    /// Adds copies of a key that another filter, or a snapshot, had in its overflow table.
    pub(crate) fn restore_overflow(&mut self, hash: KeyHash, entry: OverflowEntry) {
        self.note_overflow(hash, entry);
        self.stored += entry.overflowed;
    }
}

/// An empty filter of 2^13 segments, whose limit of depth is above that of few segments; and keys, all of one segment,
/// that make it split down to that limit.
#[cfg(test)]
pub(crate) fn filter_and_crowd() -> (CuckooFilter, Vec<KeyHash>) {
    let four_slots = Geometry::of_buckets(crate::Layout::Buckets, 4);
    let geometry = Geometry { buckets: 4, base_depth: 13, ..four_slots };
    let policy = *CuckooFilter::new().policy();
    let filter = CuckooFilter::empty(geometry, policy, KeyHasher::default()).unwrap();
    // More than a segment has slots for, and fewer than a shard leaves in its overflow table.
    let crowd =
        (0..40).map(|n: u64| KeyHash::from_u64(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20));
    (filter, crowd.collect())
}
