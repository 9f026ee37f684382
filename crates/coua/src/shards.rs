//! Copying a filter into shards, and back into one.
//!
//! A segment with prefix `p` of depth `d` in the whole filter is, bit for bit, the segment with the last `d - bits`
//! bits of `p` in the shard that its first `bits` bits select: the place of a key in a segment depends only on the hash
//! bits after the prefix. So a shard is a separate filter, which sees hashes without those bits (shifted out to the
//! left).
//!
//! A [`Division`] defines these bits. Shards are built as such, or are the parts of a
//! [`SharedCuckooFilter`](crate::SharedCuckooFilter).

use std::ops::Deref;

use crate::builder::{CuckooFilterBuilder, MOST_HASH_BITS};
use crate::error::{BuildError, OutOfMemory};
use crate::filter::{CuckooFilter, Policy, REGION_BITS, Shard};
use crate::hash::{KeyHash, KeyHasher};
use crate::kernel::{Geometry, Resolution};
use crate::segments::Segments;
use crate::table::{Segment, Table};

/// A division of all keys among shards: the first bits of a hash select its shard, which sees the hash without these
/// bits, shifted out to the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    bits: u32,
}

impl Division {
    /// 2^`bits` shards, at most 64.
    pub const fn new(bits: u32) -> Self {
        Self { bits: if bits < REGION_BITS { bits } else { REGION_BITS } }
    }

    /// The number of bits that select a shard.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u32 {
        self.bits
    }

    /// The number of shards.
    pub const fn shards(self) -> usize {
        1 << self.bits
    }

    /// The number of this key's shard, counted from 0.
    #[inline(always)]
    pub fn shard_of(self, hash: KeyHash) -> usize {
        // Two shifts, because a shift by 64 is not defined.
        ((hash.to_u64() >> 1) >> (63 - self.bits)) as usize
    }

    /// The hash as its shard sees it.
    #[inline(always)]
    pub fn within(self, hash: KeyHash) -> KeyHash {
        KeyHash::from_u64(hash.to_u64() << self.bits)
    }
}

impl CuckooFilterBuilder {
    /// Builds an empty filter for each shard, in their order. The hash bits that select a shard are not stored in it: all
    /// shards together remember as many bits as the builder says.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build); [`BuildError::RateAndHashBits`] if the builder has a rate.
    ///
    /// ```
    /// use coua::shards::Division;
    /// use coua::{CuckooFilter, KeyHash};
    ///
    /// let division = Division::new(1);
    /// let mut shards = CuckooFilter::builder().build_shards(division)?;
    /// for hash in [1, u64::MAX].map(KeyHash::from_u64) {
    ///     shards[division.shard_of(hash)].insert(division.within(hash))?;
    /// }
    /// assert!(shards.iter().map(CuckooFilter::len).eq([1, 1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build_shards(mut self, division: Division) -> Result<Vec<CuckooFilter>, BuildError> {
        let all = self.hash_bits.unwrap_or(MOST_HASH_BITS);
        self.hash_bits = Some(all.saturating_sub(division.bits()));
        (0..division.shards()).map(|_| self.clone().build()).collect()
    }
}

/// How a filter becomes shards, and these one filter again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShardPlan {
    pub(crate) division: Division,
    /// The geometry of the whole filter, as are the policy and the hasher.
    pub(crate) geometry: Geometry,
    pub(crate) policy: Policy,
    pub(crate) hasher: KeyHasher,
}

impl ShardPlan {
    pub(crate) fn of(filter: &CuckooFilter, division: Division) -> Self {
        let geometry = *filter.as_segments().geometry();
        Self { division, geometry, policy: *filter.policy(), hasher: filter.hasher() }
    }

    /// Copies a filter, whose base depth is at least the bits of the division, into shards: their geometry is less deep by
    /// these.
    pub(crate) fn split(&self, filter: &CuckooFilter) -> Result<Vec<CuckooFilter>, OutOfMemory> {
        let (division, bits) = (self.division, self.division.bits());
        let resolution = match self.geometry.resolution {
            Resolution::Prefix { bits: all } => Resolution::Prefix { bits: all - bits },
            cells @ Resolution::Cells { .. } => cells,
        };
        let base_depth = self.geometry.base_depth - bits;
        let geometry = Geometry { base_depth, resolution, ..self.geometry };
        let segments: Vec<_> = filter.as_segments().in_order(|prefix| prefix << bits).collect();
        let shard_of = |segment: &Segment| division.shard_of(KeyHash::from_u64(segment.prefix()));
        let shard = |number| {
            let first = segments.partition_point(|(segment, ..)| shard_of(segment) < number);
            let end = segments.partition_point(|(segment, ..)| shard_of(segment) <= number);
            let table = Table::copy_of(&segments[first..end])?;
            let segments = Segments::of_table(geometry, table)?;
            let mut shard = CuckooFilter::of_segments(segments, self.policy, self.hasher);
            shard.limit_shard(self.shard(), self.policy.max_items);
            shard.reserve_overflow(filter.overflow().len() >> bits);
            Ok(shard)
        };
        let mut shards = (0..division.shards()).map(shard).collect::<Result<Vec<_>, _>>()?;
        for (hash, entry) in filter.overflow().iter() {
            shards[division.shard_of(hash)].add_counted(division.within(hash), entry);
        }
        Ok(shards)
    }

    /// The properties of the division that a shard needs.
    pub(crate) fn shard(&self) -> Shard {
        Shard { is_part: true, bits: self.division.bits() }
    }

    /// Copies all shards, in their order, into one filter.
    pub(crate) fn join(
        &self,
        shards: &[impl Deref<Target = CuckooFilter>],
    ) -> Result<CuckooFilter, OutOfMemory> {
        let bits = self.division.bits();
        // With the smallest hash of each shard.
        let shards = || (0_u64..).map(|number| (number << 1) << (63 - bits)).zip(shards);
        let segments = shards().flat_map(|(first, shard)| {
            shard.as_segments().in_order(move |prefix| first | (prefix >> bits))
        });
        let table = Table::copy_of(&segments.collect::<Vec<_>>())?;
        let segments = Segments::of_table(self.geometry, table)?;
        let mut whole = CuckooFilter::of_segments(segments, self.policy, self.hasher);
        whole.reserve_overflow(shards().map(|(_, shard)| shard.overflow().len()).sum());
        for (first, shard) in shards() {
            for (hash, entry) in shard.overflow().iter() {
                // The smallest hash of a cell, in the coarser steps of the whole filter's hashes.
                let smallest = hash.to_u64().div_ceil(1 << bits);
                whole.add_counted(KeyHash::from_u64(first | smallest), entry);
            }
        }
        Ok(whole)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// 2^`depth` segments of 16 slots.
    pub(crate) fn many_small_segments(depth: u32) -> Geometry {
        Geometry { buckets: 4, base_depth: depth, ..Geometry::ONE_BUCKET }
    }

    pub(crate) fn empty(geometry: Geometry) -> CuckooFilter {
        let segments = Segments::empty(geometry).unwrap();
        CuckooFilter::of_segments(segments, *CuckooFilter::new().policy(), KeyHasher::default())
    }

    pub(crate) fn mix(n: u64) -> u64 {
        let n = (n ^ (n >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        n ^ (n >> 29)
    }

    /// Keys that share the first `bits` bits of their hashes.
    pub(crate) fn crowd(keys: u64, bits: u32) -> Vec<KeyHash> {
        (1..=keys).map(|n| KeyHash::from_u64(mix(mix(n)) >> bits)).collect()
    }

    pub(crate) fn bytes_of(filter: &CuckooFilter) -> Vec<u8> {
        let mut bytes = Vec::new();
        filter.write_to(&mut bytes).unwrap();
        bytes
    }

    /// The effect of an insert depends only on the segments of the key's region: the bytes are the same in every order
    /// of regions. Tested with filters around the size at which depth matters, keys that share prefixes of several
    /// lengths, and segments too full to take more.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn the_order_of_regions_does_not_matter() {
        let (mut deepest, mut overflowed) = (0, 0);
        for (depth, keys) in [(11, 40_000), (12, 50_000), (13, 90_000)] {
            let mut hashes: Vec<_> = (0..keys).map(|n| KeyHash::from_u64(mix(mix(n)))).collect();
            for (n, bits) in (0..).zip([3, 9, 14, 20, 27, 40]) {
                // Each group is in a different region.
                let begin = mix(n) & 63 << 58;
                let crowd = crowd(400, bits.max(6)).into_iter();
                hashes.extend(crowd.map(|hash| KeyHash::from_u64(hash.to_u64() | begin)));
            }
            hashes.extend_from_within(keys as usize / 2..);
            let mut order: Vec<_> = (0..hashes.len()).collect();
            order.sort_by_key(|&n| mix(n as u64));
            let hashes: Vec<_> = order.into_iter().map(|n| hashes[n]).collect();
            let make = || empty(many_small_segments(depth));
            let mut one_by_one = make();
            for &hash in &hashes {
                one_by_one.insert(hash).unwrap();
            }
            let expected = bytes_of(&one_by_one);
            let mut in_batches = make();
            hashes.chunks(777).for_each(|batch| in_batches.insert_batch(batch).unwrap());
            assert!(bytes_of(&in_batches) == expected, "{depth}");
            for reversed in [false, true] {
                let mut by_region = hashes.clone();
                let region = |hash: &KeyHash| Division::new(6).shard_of(*hash);
                by_region
                    .sort_by_key(|hash| if reversed { 63 - region(hash) } else { region(hash) });
                let mut filter = make();
                filter.insert_batch(&by_region).unwrap();
                assert!(bytes_of(&filter) == expected, "{depth} {reversed}");
            }
            for division in [1, 4, 6].map(Division::new) {
                let plan = ShardPlan::of(&make(), division);
                let mut shards = plan.split(&make()).unwrap();
                std::thread::scope(|scope| {
                    for (part, shard) in shards.iter_mut().enumerate() {
                        let own = hashes.iter().filter(|it| division.shard_of(**it) == part);
                        let own: Vec<_> = own.map(|it| division.within(*it)).collect();
                        scope.spawn(move || shard.insert_batch(&own).unwrap());
                    }
                });
                let joined = plan.join(&shards.iter().collect::<Vec<_>>()).unwrap();
                assert!(bytes_of(&joined) == expected, "{depth} {division:?}");
            }
            let segments = one_by_one.as_segments();
            let depths = (0..segments.len() as u32).map(|index| segments.depth_of(index));
            deepest = depths.fold(deepest, u32::max);
            overflowed = overflowed.max(one_by_one.overflow().overflowed());
        }
        assert!(deepest > 16 && overflowed > 300, "{deepest} {overflowed}");
    }

    #[test]
    fn all_shards_together_remember_the_bits_described() {
        for (bits, described) in [(None, 64), (Some(40), 40)] {
            for division in (0..=6).map(Division::new) {
                let builder = CuckooFilter::builder();
                let builder = bits.map_or(builder.clone(), |bits| builder.hash_bits(bits));
                let shards = builder.build_shards(division).unwrap();
                assert_eq!(shards.len(), division.shards());
                let own = f64::from(described - division.bits());
                assert!(shards.iter().all(|shard| (shard.hash_bits() - own).abs() < 1e-9));
            }
        }
        let rated = CuckooFilter::builder().rate(0.01).capacity(10);
        let refused = rated.build_shards(Division::new(1)).unwrap_err();
        assert_eq!(refused, BuildError::RateAndHashBits);
        let coarse = CuckooFilter::builder().hash_bits(8);
        assert!(coarse.build_shards(Division::new(1)).is_err());
    }

    #[test]
    fn no_bit_of_a_hash_is_lost() {
        for bits in 0..=REGION_BITS {
            let division = Division::new(bits);
            for hash in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef, 1 << 63].map(KeyHash::from_u64) {
                let first = (division.shard_of(hash) as u128) << (64 - bits);
                let rest = u128::from(division.within(hash).to_u64() >> bits);
                assert_eq!(first | rest, u128::from(hash.to_u64()));
                assert!(division.shard_of(hash) < division.shards());
            }
        }
    }
}
