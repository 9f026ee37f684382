//! Cutting a filter into shards and joining them again.
//!
//! A segment with prefix `p` of depth `d` in the whole filter is, bit for bit, the segment with the
//! last `d - bits` bits of `p` in the shard that its first `bits` bits name: where a key lies in a
//! segment depends on the hash bits after the prefix only. So a shard is a filter of its own, which
//! sees hashes without those bits (shifted out to the left).

use crate::directory::Directory;
use crate::filter::{CuckooFilter, Policy};
use crate::geometry::{Geometry, Resolution};
use crate::growth::Whole;
use crate::hash::{KeyHash, KeyHasher};
use crate::side::Side;
use crate::table::{Segment, Table};

/// How a filter is cut: into 2^`bits` shards, by the first bits of the hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) bits: u32,
    /// Of the whole filter, as are the policy and the hasher.
    pub(crate) geometry: Geometry,
    pub(crate) policy: Policy,
    pub(crate) hasher: KeyHasher,
}

/// The smallest hash of a shard.
pub(crate) fn prefix_of(number: u64, bits: u32) -> u64 {
    // Two shifts, because a shift by 64 (one shard) is not defined.
    (number << 1) << (63 - bits)
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

impl Cut {
    /// The shards of a filter whose segments stand in hash order, as they do in a new one; of its items
    /// only those in slots.
    pub(crate) fn shards(&self, table: Table) -> Vec<CuckooFilter> {
        let shard = |mut table: Table| {
            for segment in &mut table.segments {
                segment.prefix <<= self.bits;
            }
            self.shard(table)
        };
        table.cut(1 << self.bits).into_iter().map(shard).collect()
    }

    /// A shard with these segments, which stand in hash order and whose prefixes are those in the shard.
    pub(crate) fn shard(&self, table: Table) -> CuckooFilter {
        let geometry = self.shard_geometry();
        let occupied = table.segments.iter().map(|segment| u64::from(segment.occupied)).sum();
        let directory = directory_of(&table, geometry.base_depth);
        let whole = Whole { depth: self.bits, ..Whole::default() };
        let shard = CuckooFilter::of_table(geometry, table, directory, self.policy, self.hasher);
        CuckooFilter { stored: occupied, whole, ..shard }
    }

    /// The geometry of a shard: the same segments, `bits` bits less deep.
    fn shard_geometry(&self) -> Geometry {
        let resolution = match self.geometry.resolution {
            Resolution::Prefix { bits } => Resolution::Prefix { bits: bits - self.bits },
            cells @ Resolution::Cells { .. } => cells,
        };
        Geometry { base_depth: self.geometry.base_depth - self.bits, resolution, ..self.geometry }
    }

    /// The filter of all shards, in their order.
    pub(crate) fn join(&self, shards: Vec<CuckooFilter>) -> CuckooFilter {
        let mut side = Side::default();
        let mut stored = 0;
        let mut tables = Vec::with_capacity(shards.len());
        for (number, mut shard) in (0..).zip(shards) {
            let prefix = prefix_of(number, self.bits);
            for segment in &mut shard.table.segments {
                segment.prefix = prefix | (segment.prefix >> self.bits);
            }
            for (hash, aside) in shard.side.iter() {
                // The smallest hash of a cell, in the coarser steps of the whole filter's hashes.
                let smallest = hash.to_u64().div_ceil(1 << self.bits);
                side.add(KeyHash::from_u64(prefix | smallest), aside);
            }
            stored += shard.stored;
            tables.push(shard.table);
        }
        let mut table = Table::joined(tables);
        table.segments.sort_unstable_by_key(|segment| segment.prefix);
        let directory = directory_of(&table, self.geometry.base_depth);
        let (geometry, policy, hasher) = (self.geometry, self.policy, self.hasher);
        let joined = CuckooFilter::of_table(geometry, table, directory, policy, hasher);
        CuckooFilter { side, stored, ..joined }
    }
}

/// The directory of a table whose segments stand in hash order.
fn directory_of(table: &Table, base_depth: u32) -> Directory {
    let depth = |segment: &Segment| base_depth + u32::from(segment.level);
    let depths: Vec<_> = table.segments.iter().map(depth).collect();
    Directory::from_depths(&depths).expect("segments of a filter cover all hashes")
}
