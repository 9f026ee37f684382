//! From a plain filter to one for many threads, and back.

use crate::error::OutOfMemory;
use crate::filter::{CuckooFilter, IfPresent, REGION_BITS, WhenFull, inserts_before_rebuilding};
use crate::kernel::Geometry;
use crate::shards::ShardPlan;
use crate::shared::{Allowance, LockedShard, SharedCuckooFilter};
use crate::sizing::fitted;

use std::thread::available_parallelism;

/// Bits of the hash that choose the shard, at most and where the geometry allows it: 64 shards. A shard has whole regions,
/// so that it decides as the whole filter would.
const MOST_BITS: u32 = REGION_BITS;
/// Shards for each processor: threads seldom meet, and continue with another shard where they do.
/// More would cost speed: eviction chains of a batch are interleaved only in different segments of a shard.
const SHARDS_PER_PROCESSOR: usize = 4;
/// Items that a growing filter starts with room for: its segments keep their size forever, and small
/// ones cost more overhead and reach a lower load. This makes 4096 slots.
const SMALLEST_GROWING: u64 = 240_000;

impl SharedCuckooFilter {
    /// The filter for many threads with the items of a plain one, which is copied. O(bytes).
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`] if there is not enough memory.
    pub fn from_filter(filter: &CuckooFilter) -> Result<Self, OutOfMemory> {
        let Some(geometry) = deeper(filter) else {
            return Self::split(filter.try_clone()?, wished_bits());
        };
        let mut rebuilt = CuckooFilter::empty(geometry, *filter.policy(), filter.hasher())?;
        if rebuilt.absorb(filter, IfPresent::AddCopy).is_err() {
            // Items that share a prefix of their hashes move all the same, some without a slot.
            rebuilt = filter.try_clone()?;
            rebuilt.move_to(geometry)?;
        }
        Self::split(rebuilt, wished_bits())
    }

    /// The filter in 2^`bits` shards, or one for each segment that it began with.
    fn split(filter: CuckooFilter, bits: u32) -> Result<Self, OutOfMemory> {
        let bits = filter.as_segments().geometry().base_depth.min(bits);
        Self::in_shards(filter, bits)
    }

    fn in_shards(filter: CuckooFilter, bits: u32) -> Result<Self, OutOfMemory> {
        let plan = ShardPlan::of(&filter, bits);
        let parts = plan.split(filter)?;
        // What the parts count, which a mapped filter need not agree with.
        let stored = parts.iter().map(CuckooFilter::stored).sum();
        let allowance = Allowance::new(plan.policy.limit(), stored);
        let shards = parts.into_iter().map(LockedShard::new).collect();
        Ok(Self { shards, plan, allowance })
    }

    /// The filter in 2^`bits` shards, at most 64, by the first bits of a key's hash. Nothing is copied, and its segments
    /// stay as they are: after batches that [meet no limit](Self::accepted_keys), [`into_filter`](Self::into_filter)
    /// gives what one thread would have made of them. O(segments).
    ///
    /// # Errors
    ///
    /// The filter, if it is too small for so many shards, has a limit of memory, or may not grow.
    ///
    /// # Panics
    ///
    /// If there is no memory for directories: 4 bytes a segment.
    pub fn divide(filter: CuckooFilter, bits: u32) -> Result<Self, Box<CuckooFilter>> {
        let can_refuse = filter.memory_left() != u64::MAX || filter.when_full() == WhenFull::Refuse;
        if can_refuse || bits > MOST_BITS || !ShardPlan::of(&filter, bits).fits(&filter) {
            return Err(Box::new(filter));
        }
        Ok(Self::in_shards(filter, bits).expect("a directory takes little memory"))
    }

    /// How many keys of one batch meet no limit of the whole filter, however they fall to the shards: none is refused,
    /// and the order in which shards take theirs does not matter. No other thread may insert meanwhile.
    pub fn accepted_keys(&self) -> usize {
        let items = self.plan.policy.limit().saturating_sub(self.sum(CuckooFilter::stored));
        let segments = self.sum(|shard| shard.segments() as u64);
        let splits = inserts_before_rebuilding(&self.plan.geometry, segments);
        usize::try_from(items.min(splits)).unwrap_or(usize::MAX)
    }
}

/// Bits of the hash that choose the shard, for this machine's processors.
fn wished_bits() -> u32 {
    let processors = available_parallelism().map_or(1, usize::from);
    (processors * SHARDS_PER_PROCESSOR).next_power_of_two().ilog2().min(MOST_BITS)
}

/// The geometry in which a filter that grows has a segment for each of the most shards that a machine uses;
/// `None` if it has them already.
fn deeper(filter: &CuckooFilter) -> Option<Geometry> {
    let may_grow = filter.is_resizable() && filter.policy().when_full != WhenFull::Refuse;
    if !may_grow || filter.as_segments().geometry().base_depth >= MOST_BITS {
        return None;
    }
    let items = filter.capacity().max(SMALLEST_GROWING);
    let fit = fitted(*filter.as_segments().geometry(), items);
    let missing = MOST_BITS.saturating_sub(fit.base_depth);
    let buckets = fit.buckets.div_ceil(1 << missing);
    Some(Geometry { buckets, base_depth: fit.base_depth + missing, ..fit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHash;
    use crate::error::Insertion;

    fn bytes_of(filter: &CuckooFilter) -> Vec<u8> {
        let mut bytes = Vec::new();
        filter.write_to(&mut bytes).unwrap();
        bytes
    }

    /// Whatever machine a filter was filled on.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn any_number_of_shards_gives_the_same_answers_and_bytes() {
        let keys: Vec<_> = (0..600_000u32).map(|n| (n * 7 % 500_000).to_le_bytes()).collect();
        let fixed = || CuckooFilter::with_capacity(2_000_000, 1e-3).unwrap();
        let growing = || SharedCuckooFilter::new().into_filter();
        for empty in [fixed(), growing()] {
            let mut alone = empty.try_clone().unwrap();
            let expected = alone.insert_unique_batch(&keys).unwrap();
            assert!(expected.contains(&Insertion::AlreadyPresent));
            for bits in 0..=MOST_BITS {
                let shared = SharedCuckooFilter::split(empty.clone(), bits).unwrap();
                assert_eq!(
                    shared.shards.len(),
                    1 << bits.min(empty.as_segments().geometry().base_depth)
                );
                let outcomes = shared.insert_unique_batch(&keys).unwrap();
                assert!(outcomes == expected, "{bits} bits");
                assert!(bytes_of(&shared.into_filter()) == bytes_of(&alone), "{bits} bits");
            }
        }
    }

    /// Whatever it held before, and however often it is divided.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn divided_filters_become_what_one_thread_makes() {
        let mix = |n: u64| KeyHash::from_u64((n % 700_000).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let hashes: Vec<_> = (0..1_000_000).map(mix).collect();
        let growing = CuckooFilter::new;
        let planned = || CuckooFilter::with_capacity(2_000_000, 1e-6).unwrap();
        let crowded = || CuckooFilter::builder().max_evictions(1).build().unwrap();
        for make in [&growing as &dyn Fn() -> CuckooFilter, &planned, &crowded] {
            let (mut alone, mut filter) = (make(), make());
            for (number, block) in hashes.chunks(10_000).enumerate() {
                let expected = alone.insert_unique_batch(block).unwrap();
                let bits = number as u32 % 4;
                let outcomes = match SharedCuckooFilter::divide(filter, bits) {
                    Ok(divided) if block.len() <= divided.accepted_keys() => {
                        let done = divided.insert_unique_batch(block).unwrap();
                        filter = divided.into_filter();
                        done
                    }
                    refused => {
                        filter =
                            refused.map_or_else(|filter| *filter, SharedCuckooFilter::into_filter);
                        filter.insert_unique_batch(block).unwrap()
                    }
                };
                assert!(outcomes == expected);
            }
            assert!(bytes_of(&filter) == bytes_of(&alone));
            let bytes = [&filter, &alone].map(|filter| filter.memory_bytes() as f64);
            // Tables take memory by a huge page from some size on.
            let most = bytes[1] / 10.0 + f64::from(2 << 20);
            assert!((bytes[0] - bytes[1]).abs() < most, "{bytes:?}");
        }
    }

    /// Deeper segments are smaller, but not those of another shard.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn a_shard_does_not_know_how_small_the_segments_of_others_are() {
        let half = |upper: u64| {
            let mix = move |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1 | upper << 63;
            (0..60_000).map(mix).map(KeyHash::from_u64).collect::<Vec<_>>()
        };
        let (lower, upper) = (half(0), half(1));
        let mut alone = CuckooFilter::builder().hash_bits(64).capacity(50_000).build().unwrap();
        // First the upper half of the segments splits, so that its segments are all deeper.
        alone.insert_batch(&upper).unwrap();
        let levels = alone.as_segments().iter().map(crate::table::Segment::level);
        assert!(levels.clone().any(|level| level == 0) && levels.max() > Some(0));
        let filter = alone.try_clone().unwrap();
        let divided = SharedCuckooFilter::divide(filter, 1).unwrap();
        alone.insert_batch(&lower).unwrap();
        divided.insert_batch(&lower).unwrap();
        assert!(divided.contains_batch(&lower).into_iter().all(|found| found));
        assert!(bytes_of(&divided.into_filter()) == bytes_of(&alone));
    }
}
