//! Conversions between a plain filter and one for many threads.

use crate::error::OutOfMemory;
use crate::filter::{CuckooFilter, IfPresent, REGION_BITS, WhenFull};
use crate::kernel::Geometry;
use crate::segments::Segments;
use crate::shards::{Division, ShardPlan};
use crate::shared::{Allowance, LockedShard, SharedCuckooFilter};
use crate::sizing::fitted;

use std::sync::RwLock;
use std::thread::available_parallelism;

/// The most bits of the hash that choose the shard: 64 shards, if the geometry allows it. A shard has whole regions, so
/// it decides as the whole filter would.
const MOST_BITS: u32 = REGION_BITS;
/// Shards for each processor: threads seldom collide. More shards would cost speed: eviction chains of a batch are
/// interleaved only in different segments of a shard.
const SHARDS_PER_PROCESSOR: usize = 4;
/// The initial capacity of a growing filter: its segments never change their size, and small ones cost more overhead
/// and reach a lower load. This makes 4096 slots.
const SMALLEST_GROWING: u64 = 240_000;

impl SharedCuckooFilter {
    /// Copies a plain filter into one for many threads. O(bytes).
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`] if there is not enough memory.
    pub fn from_filter(filter: &CuckooFilter) -> Result<Self, OutOfMemory> {
        let Some(geometry) = deeper(filter) else {
            return Self::split(filter, wished_bits());
        };
        let segments = Segments::empty(geometry)?;
        let mut rebuilt = CuckooFilter::of_segments(segments, *filter.policy(), filter.hasher());
        if rebuilt.insert_all_of(filter, IfPresent::AddCopy).is_err() {
            // Items that share a prefix of their hashes move anyway, some without a slot.
            rebuilt = filter.rebuilt_in(geometry)?;
        }
        Self::split(&rebuilt, wished_bits())
    }

    /// Copies a filter into 2^`bits` shards, or one for each of its initial segments.
    fn split(filter: &CuckooFilter, bits: u32) -> Result<Self, OutOfMemory> {
        let bits = filter.as_segments().geometry().base_depth.min(bits);
        let division = Division::new(bits);
        let plan = ShardPlan::of(filter, division);
        let parts = plan.split(filter)?;
        // The count of the parts, with which a mapped filter need not agree.
        let stored = parts.iter().map(CuckooFilter::stored).sum();
        let allowance = Allowance::new(plan.policy.limit(), stored);
        let lock = |part| LockedShard(RwLock::new(part));
        Ok(Self { shards: parts.into_iter().map(lock).collect(), plan, allowance })
    }
}

/// The bits of the hash that choose the shard, for this machine's processors.
fn wished_bits() -> u32 {
    let processors = available_parallelism().map_or(1, usize::from);
    (processors * SHARDS_PER_PROCESSOR).next_power_of_two().ilog2().min(MOST_BITS)
}

/// The geometry in which a growing filter has a segment for each of the most shards that a machine uses; `None` if it
/// already has them.
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
    use crate::error::Insertion;

    fn bytes_of(filter: &CuckooFilter) -> Vec<u8> {
        let mut bytes = Vec::new();
        filter.write_to(&mut bytes).unwrap();
        bytes
    }

    /// On any machine.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn any_number_of_shards_gives_the_same_answers_and_bytes() {
        let keys: Vec<_> = (0..600_000u32).map(|n| (n * 7 % 500_000).to_le_bytes()).collect();
        let fixed = || CuckooFilter::with_capacity(2_000_000, 1e-3).unwrap();
        let growing = || SharedCuckooFilter::new().snapshot().unwrap();
        for empty in [fixed(), growing()] {
            let mut alone = empty.try_clone().unwrap();
            let expected = alone.insert_unique_batch(&keys).unwrap();
            assert!(expected.contains(&Insertion::AlreadyPresent));
            for bits in 0..=MOST_BITS {
                let shared = SharedCuckooFilter::split(&empty, bits).unwrap();
                assert_eq!(
                    shared.shards(),
                    1 << bits.min(empty.as_segments().geometry().base_depth)
                );
                let outcomes = shared.insert_unique_batch(&keys).unwrap();
                assert!(outcomes == expected, "{bits} bits");
                assert!(bytes_of(&shared.snapshot().unwrap()) == bytes_of(&alone), "{bits} bits");
            }
        }
    }
}
