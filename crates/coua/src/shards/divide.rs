//! A filter divided into shards that threads change concurrently, and joined again.

use super::{Division, ShardPlan, Shards};
use crate::filter::{CuckooFilter, WhenFull, inserts_before_rebuilding};

/// A filter in shards that threads change independently: the order among shards does not matter. `join` makes one
/// filter of them again, with the same bytes as one thread would have produced, as long as no more keys were inserted
/// than were [accepted](Self::accepted_keys).
///
/// For programs that know the shard of each key themselves, and need no order among threads. All others use
/// [`SharedCuckooFilter`](crate::SharedCuckooFilter).
///
/// ```
/// use coua::shards::{DividedFilter, Division};
/// use coua::{CuckooFilter, IfPresent, KeyHash};
///
/// let (filter, division) = (CuckooFilter::with_capacity(1_000_000, 1e-6)?, Division::new(1));
/// let divided = DividedFilter::divide(filter, division).unwrap();
/// for hash in [1, u64::MAX].map(KeyHash::from_u64) {
///     let mut shard = divided.shards().shard(division.shard_of(hash));
///     shard.verbs().insert_one(division.within(hash), IfPresent::AddCopy)?;
/// }
/// assert!(divided.join().contains(KeyHash::from_u64(u64::MAX)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DividedFilter {
    plan: ShardPlan,
    shards: Shards,
    accepted_keys: u64,
}

impl DividedFilter {
    /// Divides a filter. Nothing is copied, and its segments stay as they are. O(segments).
    ///
    /// # Errors
    ///
    /// Returns the filter if it is too small for these shards.
    ///
    /// # Panics
    ///
    /// If there is no memory for directories: 4 bytes a segment.
    pub fn divide(filter: CuckooFilter, division: Division) -> Result<Self, Box<CuckooFilter>> {
        let plan = ShardPlan::of(&filter, division);
        if !plan.fits(&filter) {
            return Err(Box::new(filter));
        }
        let (segments, may_refuse) =
            (filter.segments() as u64, plan.policy.when_full == WhenFull::Refuse);
        let parts = plan.split(filter).expect("a directory takes little memory");
        let stored = parts.iter().map(CuckooFilter::stored).fold(0, u64::saturating_add);
        let items = plan.policy.limit().saturating_sub(stored);
        let splits = inserts_before_rebuilding(&plan.geometry, segments, stored);
        let accepted_keys = if may_refuse { 0 } else { items.min(splits) };
        Ok(Self { plan, shards: Shards::of(division, parts), accepted_keys })
    }

    /// The shards.
    pub fn shards(&self) -> &Shards {
        &self.shards
    }

    /// The number of keys, counted since the division, that cannot exceed a limit of the whole filter, whatever their
    /// shards: no such key is refused while there is memory, and the order among shards does not matter. 0 for a filter
    /// that may not grow.
    pub fn accepted_keys(&self) -> u64 {
        self.accepted_keys
    }

    /// The filter with the items of all shards. O(segments): nothing is copied.
    ///
    /// # Panics
    ///
    /// If there is no memory for a directory: 4 bytes a segment.
    pub fn join(self) -> CuckooFilter {
        self.plan.join(self.shards.into_filters()).expect("a directory takes little memory")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{add, bytes_of, mix};
    use super::*;
    use crate::filter::IfPresent;
    use crate::hash::KeyHash;

    fn divide(filter: CuckooFilter, bits: u32) -> Result<DividedFilter, Box<CuckooFilter>> {
        DividedFilter::divide(filter, Division::new(bits))
    }

    /// The outcomes of a batch, in its order.
    fn answers(shards: &Shards, batch: &[KeyHash]) -> Vec<crate::Insertion> {
        let division = shards.division();
        let insert = |hash: &KeyHash| {
            let mut shard = shards.shard(division.shard_of(*hash));
            shard.verbs().insert_one(division.within(*hash), IfPresent::Skip).unwrap()
        };
        batch.iter().map(insert).collect()
    }

    /// For any content, and any number of divisions.
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
                let outcomes = match divide(filter, number as u32 % 4) {
                    Ok(divided) if block.len() as u64 <= divided.accepted_keys() => {
                        let done = answers(divided.shards(), block);
                        filter = divided.join();
                        done
                    }
                    refused => {
                        filter = refused.map_or_else(|filter| *filter, DividedFilter::join);
                        filter.insert_unique_batch(block).unwrap()
                    }
                };
                assert!(outcomes == expected);
            }
            assert!(bytes_of(&filter) == bytes_of(&alone));
            let bytes = [&filter, &alone].map(|filter| filter.memory_bytes() as f64);
            // Large tables allocate memory in huge pages.
            let most = bytes[1] / 10.0 + f64::from(2 << 20);
            assert!((bytes[0] - bytes[1]).abs() < most, "{bytes:?}");
        }
    }

    /// A part keeps the geometry of the whole: otherwise the joined filter would look for keys in wrong places.
    #[test]
    fn a_part_cannot_be_rebuilt() {
        let hashes: Vec<_> = (1..20_000).map(|n| KeyHash::from_u64(mix(n))).collect();
        for bits in 0..=2 {
            let mut filter = CuckooFilter::builder().capacity(100_000).build().unwrap();
            filter.insert_batch(&hashes).unwrap();
            let divided = divide(filter, bits).unwrap();
            let division = Division::new(bits);
            let own: Vec<_> = hashes.iter().filter(|it| division.shard_of(**it) == 0).collect();
            let mut copy = divided.shards().shard(0).clone();
            copy.compact();
            copy.merge(&divided.shards().shard(0).clone()).unwrap();
            assert!(own.iter().all(|it| copy.count(division.within(**it)) == 2));
            let mut part = divided.shards().shard(0);
            let slots = part.slots();
            part.reserve(1_000_000).unwrap();
            assert_eq!(part.slots(), slots);
            drop(part);
            let joined = divided.join();
            assert!(joined.contains_batch(&hashes).into_iter().all(|found| found));
            assert_eq!(joined.len(), hashes.len() as u64);
        }
    }

    /// Also a filter that is one part, with more keys than it was divided for.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn a_part_that_grows_keeps_its_geometry() {
        let hashes: Vec<_> = (1..200_000).map(|n| KeyHash::from_u64(mix(n))).collect();
        let divided = divide(CuckooFilter::new(), 0).unwrap();
        add(&mut divided.shards().shard(0), &hashes);
        let joined = divided.join();
        assert!(joined.contains_batch(&hashes).into_iter().all(|found| found));
    }

    /// Deeper segments are smaller, but a shard cannot see the segments of another.
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
        let divided = divide(alone.try_clone().unwrap(), 1).unwrap();
        alone.insert_batch(&lower).unwrap();
        let shards = divided.shards();
        let own: Vec<_> = lower.iter().map(|hash| shards.division().within(*hash)).collect();
        add(&mut shards.shard(0), &own);
        assert!(shards.shard(0).contains_batch(&own).into_iter().all(|found| found));
        assert!(bytes_of(&divided.join()) == bytes_of(&alone));
    }

    /// The accepted keys exceed no limit: neither that of items nor that of a rebuild, which shards cannot do.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn accepted_keys_meet_no_limit() {
        let mix = |n: u64| KeyHash::from_u64(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let full = |items: u64| {
            let builder = CuckooFilter::builder().rate(1e-4).max_items(items).capacity(40_000);
            let mut filter = builder.build().unwrap();
            filter.insert_batch(&(0..80_000).map(mix).collect::<Vec<_>>()).unwrap();
            divide(filter, 1).unwrap().accepted_keys()
        };
        assert_eq!([80_000, 80_100].map(full), [0, 100]);
        // With only 22 bits it is rebuilt before it has a million items.
        let few_bits = || CuckooFilter::builder().hash_bits(22).capacity(30_000).build().unwrap();
        let (mut alone, mut filter) = (few_bits(), few_bits());
        let (mut next, mut times) = (0, [0; 2]);
        while next < 800_000 {
            let divided = divide(filter, 1).map_err(|filter| *filter);
            let accepted = divided.as_ref().map_or(0, DividedFilter::accepted_keys);
            let size = if accepted < 100 { 20_000 } else { accepted.min(500) };
            let batch: Vec<_> = (next..next + size).map(mix).collect();
            alone.insert_batch(&batch).unwrap();
            filter = match divided {
                Ok(divided) if size <= accepted => {
                    let (shards, division) = (divided.shards(), divided.shards().division());
                    for hash in &batch {
                        let mut shard = shards.shard(division.shard_of(*hash));
                        add(&mut shard, &[division.within(*hash)]);
                    }
                    divided.join()
                }
                whole => {
                    let mut filter = whole.map_or_else(|filter| filter, DividedFilter::join);
                    filter.insert_batch(&batch).unwrap();
                    filter
                }
            };
            times[usize::from(size <= accepted)] += 1;
            next += size;
            assert!(bytes_of(&filter) == bytes_of(&alone), "{next}");
        }
        let [before, after] = [few_bits(), alone].map(|it| *it.as_segments().geometry());
        assert!(times.iter().all(|times| *times > 10), "{times:?}");
        assert_ne!((before.buckets, before.base_depth), (after.buckets, after.base_depth));
        let fixed = CuckooFilter::builder().capacity(80_000).rate(1e-3).when_full(WhenFull::Refuse);
        assert!(divide(fixed.build().unwrap(), 1).is_ok_and(|it| it.accepted_keys() == 0));
    }
}
