//! Shards that threads fill in parallel.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::cuckoo::{ByShard, CuckooFilter, ShardPlan, WhenFull, deepest};
use crate::hash::KeyHash;
use crate::kernel::{IfPresent, Resolution};

/// Fewer keys than these are not worth sorting.
pub(super) const FEWEST: usize = 1 << 14;
/// Keys that are sorted together: 1 MiB of hashes, which the second cache holds.
const BLOCK: usize = 1 << 17;
/// More shards at once than 2^10 are slow to sort into. Fewer, of more segments each, would leave the
/// second cache while they are filled.
const MOST_BITS: u32 = 10;
/// Groups of shards for each thread: small, so that nobody waits long for the last one.
const GROUPS: usize = 8;
/// One segment of so many may split.
const FEW_SPLITS: u64 = 16;
/// Overflow limit per shard while building, beyond that of the whole filter: more than a batch looks ahead
/// for. Beyond it the result is discarded. Bounds work on adversarial keys.
const SPARE_OVERFLOW: u64 = 1 << 13;

/// Keys in order, by their hashes.
pub(super) trait Keys: Sync {
    fn len(&self) -> usize;

    /// The hashes of some keys; `space` may be used for them.
    fn hashes<'a>(&'a self, range: Range<usize>, space: &'a mut Vec<KeyHash>) -> &'a [KeyHash];
}

/// A filter, empty at first, split into shards to be filled. Their limits are never reached.
pub(super) struct Shards {
    plan: ShardPlan,
    all: Vec<CuckooFilter>,
    blocks: Vec<ByShard>,
    /// Of the whole filter at the start, when they were least.
    segments: usize,
    overflow_limit: u64,
    capacity: u64,
}

impl Shards {
    /// The shards of a filter that is empty and has more than one segment.
    pub(super) fn of(whole: CuckooFilter) -> Option<Self> {
        let bits = whole.geometry().base_depth.min(MOST_BITS);
        let bits = match whole.geometry().resolution {
            // A shard must have bits left to tell its keys apart.
            Resolution::Prefix { bits: all } => bits.min(all - 1),
            Resolution::Cells { .. } => bits,
        };
        let (segments, capacity) = (whole.segments(), whole.capacity());
        let overflow_limit = whole.overflow_limit();
        let plan = ShardPlan::of(&whole, bits);
        let mut all = plan.split(whole).ok()?;
        for shard in &mut all {
            let other_segments = segments - shard.segments();
            let limits = plan.limits(other_segments, overflow_limit + SPARE_OVERFLOW);
            shard.set_limits(limits, u64::MAX);
        }
        Some(Self { plan, all, blocks: Vec::new(), segments, overflow_limit, capacity })
    }

    /// Keys that can be inserted before a limit of items is met.
    pub(super) fn capacity_left(&self) -> usize {
        let stored = self.all.iter().map(CuckooFilter::stored).sum();
        usize::try_from(self.capacity.saturating_sub(stored)).unwrap_or(usize::MAX)
    }

    /// Whether more than a few segments have split, each into memory of its own: a growing filter does
    /// better on the whole.
    pub(super) fn has_grown(&self) -> bool {
        let splits: u64 = self.all.iter().map(CuckooFilter::splits).sum();
        splits > self.segments as u64 / FEW_SPLITS
    }

    /// Inserts some keys. `None` if a limit may have been met: single inserts might have built another filter.
    pub(super) fn insert(
        &mut self,
        keys: &dyn Keys,
        chunk: Range<usize>,
        if_present: IfPresent,
        threads: usize,
    ) -> Option<()> {
        let bits = self.plan.bits;
        let (last, starts) = (chunk.end, chunk.step_by(BLOCK));
        self.blocks.resize_with(starts.len(), ByShard::default);
        side_by_side(threads, starts.zip(&mut self.blocks), |space, (start, block)| {
            let end = last.min(start + BLOCK);
            block.fill(keys.hashes(start..end, space), bits, |_| ());
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
        (!is_refused.into_inner() && self.is_far_from_limits()).then_some(())
    }

    /// Whether no insert so far would have met a limit of the whole filter, in whatever order.
    fn is_far_from_limits(&self) -> bool {
        let overflowed: u64 = self.all.iter().map(|shard| shard.overflow().peak()).sum();
        // Every segment that split was allowed to, and none had to that was not allowed.
        let deepest_of = |shard: &CuckooFilter| {
            self.plan.geometry.base_depth + u32::from(shard.table().deepest_level())
        };
        let depth = self.all.iter().filter(|shard| shard.splits() > 0).map(deepest_of).max();
        // A segment whose fingerprints have no bit left to give makes a whole filter grow, not a shard.
        let is_blocked = |shard: &CuckooFilter| {
            let segments = 0..shard.segments() as u32;
            let grows = shard.when_full() != WhenFull::Refuse;
            let mut last = segments.filter(|&index| grows && shard.is_last_level(index));
            last.any(|index| shard.prefers_split(index))
        };
        overflowed < self.overflow_limit
            && depth.is_none_or(|it| it < deepest(self.segments))
            && !self.all.iter().any(is_blocked)
    }

    /// The filter.
    pub(super) fn join(self) -> Option<CuckooFilter> {
        self.plan.join(self.all).ok()
    }
}

/// Does work on all items, by this thread and others. Each takes the next item when it has done one, and keeps
/// its space for hashes.
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
            // Without another thread the others do its share.
            drop(thread::Builder::new().spawn_scoped(scope, work_through));
        }
        work_through();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::filter_and_crowd;

    impl Keys for Vec<KeyHash> {
        fn len(&self) -> usize {
            self.len()
        }

        fn hashes<'a>(&'a self, range: Range<usize>, _: &'a mut Vec<KeyHash>) -> &'a [KeyHash] {
            &self[range]
        }
    }

    /// A shard knows how many segments the others have.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn segments_of_shards_may_lie_as_deep_as_those_of_the_whole() {
        let (empty, crowd) = filter_and_crowd();
        let mut shards = Shards::of(empty).unwrap();
        // One split into the greatest depth is taken for a limit that was met.
        assert!(shards.insert(&crowd, 0..crowd.len(), IfPresent::AddCopy, 1).is_none());
        let deepest = shards.all.iter().map(|shard| shard.table().deepest_level()).max();
        assert_eq!(deepest, Some(4));
    }
}
