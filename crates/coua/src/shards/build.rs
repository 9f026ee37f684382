//! Building a filter from all its keys at once.
//!
//! Single inserts access the whole table, and each waits for memory. Here the keys are first sorted by shard
//! ([`ByShard`]). Then one of several threads fills each shard, a segment or a few that fit into a cache together, with
//! its keys ([`Filling`]). Segments are independent and a shard's keys stay in order, so the bytes are those of single
//! inserts.
//!
//! The limits that depend on more than one shard (the number of items, and the depth of the segments of a region) are
//! checked afterwards. If they are still far, they never mattered, whatever the order. If not, which is rare, the
//! result is dropped, and the keys are inserted in batches.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{ByShard, Division, ShardPlan};
use crate::builder::CuckooFilterBuilder;
use crate::error::{BatchFull, BuildError};
use crate::filter::{CuckooFilter, FREE_DEPTH, IfPresent, REGION_BITS, inserts_before_rebuilding};
use crate::hash::{Key, KeyHash, KeyHasher};
use crate::kernel::Resolution;

/// The number of keys in a batch that is inserted without sorting, and the smallest chunk.
const BATCH: usize = 1 << 16;
/// The largest number of keys sorted before an insert. It limits the memory for them.
const LONGEST_CHUNK: usize = 1 << 24;
/// The number of chunks, within the limits above: the sorted keys then take one byte per key, and every shard is loaded
/// into the cache this number of times.
const CHUNKS: usize = 8;

/// Below this number of keys, sorting does not pay.
const FEWEST: usize = 1 << 14;
/// The number of keys sorted together: 1 MiB of hashes, which fits into the second-level cache.
const BLOCK: usize = 1 << 17;
/// Sorting into more than 2^10 shards at once is slow. Fewer shards, with more segments each, would not fit into the
/// second-level cache while they are filled.
const MOST_BITS: u32 = 10;
/// Groups of shards for each thread: small, so that no thread waits long for the last one.
const GROUPS: usize = 8;
/// At most one of this number of segments may split.
const FEW_SPLITS: u64 = 16;
impl CuckooFilterBuilder {
    /// Builds a filter that holds these keys, repeats included: the same, byte for byte, as
    /// [`build`](Self::build) and then [`insert`](CuckooFilter::insert) for one key after the other, but
    /// several times faster, with any number of [`threads`](Self::threads).
    ///
    /// The default capacity is the number of keys: a `rate` is enough to describe a
    /// filter of fixed size for them. A filter that starts much smaller and grows is filled by one
    /// thread, and so is one of less than about 65,000 items, or 15,000 if it can grow: it has a single
    /// segment.
    ///
    /// O(keys). Takes, in addition to the filter, about 1 byte a key (512 KiB at least, 128 MiB at most) and
    /// 1 MiB a thread until it is built.
    ///
    /// # Errors
    ///
    /// [`BuildError`] as in [`build`](Self::build), and [`BuildError::Full`] if there is no room for all
    /// keys: then there is no filter.
    ///
    /// ```
    /// use coua::CuckooFilter;
    ///
    /// let keys: Vec<String> = (0..100_000).map(|n| format!("item {n}")).collect();
    /// let filter = CuckooFilter::builder().rate(0.001).threads(2).build_from(&keys)?;
    /// assert_eq!(filter.len(), 100_000);
    /// assert!(filter.contains("item 7"));
    /// # Ok::<(), coua::BuildError>(())
    /// ```
    pub fn build_from<K: Key + Sync>(self, keys: &[K]) -> Result<CuckooFilter, BuildError> {
        let hasher = self.hasher;
        self.build_with(&Unhashed { keys, hasher }, IfPresent::AddCopy)
    }

    /// [`build_from`](Self::build_from) as a set, in which repeats count once: the same, byte for byte, as
    /// [`insert_unique`](CuckooFilter::insert_unique) for one key after the other.
    ///
    /// # Errors
    ///
    /// As [`build_from`](Self::build_from).
    pub fn build_unique_from<K: Key + Sync>(self, keys: &[K]) -> Result<CuckooFilter, BuildError> {
        let hasher = self.hasher;
        self.build_with(&Unhashed { keys, hasher }, IfPresent::Skip)
    }

    /// Not generic: so it is compiled once, and not for every kind of key of every program.
    fn build_with(
        mut self,
        keys: &dyn Keys,
        if_present: IfPresent,
    ) -> Result<CuckooFilter, BuildError> {
        if self.capacity.is_none() {
            let items = keys.len().max(1) as u64;
            self.capacity = Some(items.min(self.max_items.unwrap_or(u64::MAX)));
        }
        let threads = match self.threads {
            Some(0) => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.unwrap_or(1),
        };
        let (mut filter, mut done) = (self.clone().build()?, 0);
        let geometry = *filter.as_segments().geometry();
        let inserts = inserts_before_rebuilding(&geometry, filter.segments() as u64, 0);
        if keys.len() >= FEWEST && geometry.base_depth > 0 && keys.len() as u64 <= inserts {
            match Filling::of(filter).and_then(|shards| fill(shards, keys, if_present, threads)) {
                Some(filled) => (filter, done) = filled,
                None => filter = self.build()?,
            }
        }
        let mut space = Vec::new();
        for start in (done..keys.len()).step_by(BATCH) {
            let end = keys.len().min(start + BATCH);
            let hashes = keys.hashes(start..end, &mut space);
            let inserted = filter.insert_all(hashes, if_present, &mut []);
            inserted.map_err(|BatchFull { full, .. }| full)?;
        }
        Ok(filter)
    }
}

/// Fills shards while no limit is near. Returns the filter and the number of keys in it.
fn fill(
    mut shards: Filling,
    keys: &dyn Keys,
    if_present: IfPresent,
    threads: usize,
) -> Option<(CuckooFilter, usize)> {
    let wished = (keys.len() / CHUNKS).clamp(BATCH, LONGEST_CHUNK);
    let mut done = 0;
    loop {
        let left = (keys.len() - done).min(shards.capacity_left());
        if left < FEWEST || shards.has_grown() {
            return Some((shards.join()?, done));
        }
        let chunk = done..done + left.min(wished);
        done = chunk.end;
        shards.insert(keys, chunk, if_present, threads)?;
    }
}

/// Keys that are not hashed.
struct Unhashed<'a, K> {
    keys: &'a [K],
    hasher: KeyHasher,
}

impl<K: Key + Sync> Keys for Unhashed<'_, K> {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn hashes<'a>(&'a self, range: Range<usize>, space: &'a mut Vec<KeyHash>) -> &'a [KeyHash] {
        K::hash_all(&self.keys[range], self.hasher, space)
    }
}

/// Keys in order, by their hashes.
trait Keys: Sync {
    fn len(&self) -> usize;

    /// The hashes of some keys; `space` is a buffer for them.
    fn hashes<'a>(&'a self, range: Range<usize>, space: &'a mut Vec<KeyHash>) -> &'a [KeyHash];
}

/// A filter, initially empty, split into shards to be filled.
struct Filling {
    plan: ShardPlan,
    all: Vec<CuckooFilter>,
    blocks: Vec<ByShard>,
    /// The initial number of segments.
    segments: usize,
    capacity: u64,
}

impl Filling {
    /// The shards of a filter that is empty and has more than one segment.
    fn of(whole: CuckooFilter) -> Option<Self> {
        let geometry = whole.as_segments().geometry();
        // A shard that is smaller than a region cannot check how deep its segments may be.
        let most = if geometry.base_depth < FREE_DEPTH { MOST_BITS } else { REGION_BITS };
        let bits = geometry.base_depth.min(most);
        let bits = match geometry.resolution {
            // A shard must have bits left to distinguish its keys.
            Resolution::Prefix { bits: all } => bits.min(all - 1),
            Resolution::Cells { .. } => bits,
        };
        let (segments, capacity) = (whole.segments(), whole.capacity());
        let plan = ShardPlan::of(&whole, Division::of_bits(bits));
        let mut all = plan.split(whole).ok()?;
        for shard in &mut all {
            shard.limit_shard(plan.shard(), u64::MAX);
        }
        Some(Self { plan, all, blocks: Vec::new(), segments, capacity })
    }

    /// The number of keys that can be inserted below every limit of items.
    fn capacity_left(&self) -> usize {
        let stored = self.all.iter().map(CuckooFilter::stored).sum();
        usize::try_from(self.capacity.saturating_sub(stored)).unwrap_or(usize::MAX)
    }

    /// Whether more than a few segments have split, each into its own memory: growing the whole filter is faster then.
    fn has_grown(&self) -> bool {
        let splits: u64 = self.all.iter().map(|shard| shard.as_segments().changes()).sum();
        splits > self.segments as u64 / FEW_SPLITS
    }

    /// Inserts some keys. `None` if a limit may have been met: single inserts might have built another filter.
    fn insert(
        &mut self,
        keys: &dyn Keys,
        chunk: Range<usize>,
        if_present: IfPresent,
        threads: usize,
    ) -> Option<()> {
        let division = self.plan.division;
        let (last, starts) = (chunk.end, chunk.step_by(BLOCK));
        self.blocks.resize_with(starts.len(), ByShard::default);
        side_by_side(threads, starts.zip(&mut self.blocks), |space, (start, block)| {
            let end = last.min(start + BLOCK);
            block.fill(keys.hashes(start..end, space), division, |_| ());
        });
        let blocks = &self.blocks;
        let is_refused = AtomicBool::new(false);
        // Counters of neighbors share cache lines, so one thread fills a whole group.
        let neighbors = self.all.len().div_ceil(threads.saturating_mul(GROUPS));
        let groups = self.all.chunks_mut(neighbors).enumerate();
        side_by_side(threads, groups, |space, (group, shards)| {
            for (number, shard) in (group * neighbors..).zip(shards) {
                space.clear();
                for block in blocks {
                    space.extend_from_slice(block.of_shard(number));
                }
                if shard.insert_all(space, if_present, &mut []).is_err() {
                    is_refused.store(true, Ordering::Relaxed);
                }
            }
        });
        (!is_refused.into_inner() && self.is_far_from_depth_limit()).then_some(())
    }

    /// Whether every full segment was allowed to split.
    fn is_far_from_depth_limit(&self) -> bool {
        let bits = self.plan.division.bits();
        let is_far = |shard: &CuckooFilter| shard.as_segments().depth() + bits < FREE_DEPTH;
        bits <= REGION_BITS || self.all.iter().all(is_far)
    }

    /// Joins the shards.
    fn join(self) -> Option<CuckooFilter> {
        self.plan.join(self.all).ok()
    }
}

/// Does work on all items, on this thread and others. Each takes the next item when it has finished one, and reuses its
/// buffer for hashes.
fn side_by_side<T: Send>(
    threads: usize,
    items: impl ExactSizeIterator<Item = T> + Send,
    work: impl Fn(&mut Vec<KeyHash>, T) + Sync,
) {
    let most = threads.min(items.len());
    let queue = Mutex::new(items);
    let next = || queue.lock().expect("taking an item does not panic").next();
    let work_through = || {
        let mut space = Vec::new();
        while let Some(item) = next() {
            work(&mut space, item);
        }
    };
    thread::scope(|scope| {
        for _ in 1..most {
            // If a thread does not start, the others do its work.
            drop(thread::Builder::new().spawn_scoped(scope, work_through));
        }
        work_through();
    });
}

#[cfg(test)]
mod tests {
    use super::super::tests::{crowd, empty, many_small_segments};
    use super::*;

    impl Keys for Vec<KeyHash> {
        fn len(&self) -> usize {
            self.len()
        }

        fn hashes<'a>(&'a self, range: Range<usize>, _: &'a mut Vec<KeyHash>) -> &'a [KeyHash] {
            &self[range]
        }
    }

    /// The keys of one segment, which splits down to the depth limit of a region.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn shards_smaller_than_a_region_tell_when_its_limit_may_matter() {
        let (filter, crowd) = (empty(many_small_segments(12)), crowd(40, 30));
        let mut shards = Filling::of(filter).unwrap();
        assert!(shards.plan.division.bits() > REGION_BITS);
        assert!(shards.insert(&crowd, 0..crowd.len(), IfPresent::AddCopy, 1).is_none());
    }
}
