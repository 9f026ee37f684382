//! Shards that threads fill side by side.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{Block, Construction, FEWEST, Keys};
use crate::error::OutOfMemory;
use crate::filter::{CuckooFilter, WhenFull};
use crate::geometry::Resolution;
use crate::growth::{Whole, deepest};
use crate::hash::KeyHash;
use crate::parts::Cut;
use crate::prepared::Copies;

/// Keys that are sorted together: 1 MiB of hashes, which the second cache holds.
const BLOCK: usize = 1 << 17;
/// More shards at once than 2^10 are slow to sort into. Fewer, of more segments each, would leave the
/// second cache while they are filled.
const MOST_BITS: u32 = 10;
/// Groups of shards for each thread: the last one of them is not waited for long.
const GROUPS: usize = 8;
/// One segment of so many may split.
const FEW_SPLITS: u64 = 16;
/// Homeless items that a shard takes beyond what the whole filter may have: more than a batch looks ahead for.
/// With so many all is thrown away, and to seek a place for each of more keys made to collide takes hours.
const SPARE_HOMES: u64 = 1 << 13;

/// A limit may have mattered: what was built is perhaps not what single inserts would have built.
#[derive(Debug)]
pub(super) struct Unfit;

/// A filter, empty at first, cut into shards to be filled. They know no limits that matter.
pub(super) struct Shards {
    cut: Cut,
    all: Vec<CuckooFilter>,
    blocks: Vec<Block>,
    /// Of the whole filter at the start, when they were least.
    segments: usize,
    homeless_limit: u64,
    capacity: u64,
}

impl Shards {
    /// `None` if so few keys, or a filter of one segment, are not worth it.
    pub(super) fn new(construction: &Construction<'_>) -> Result<Option<Self>, OutOfMemory> {
        let Construction { geometry, policy, hasher, keys, .. } = *construction;
        if keys.len() < FEWEST || geometry.base_depth == 0 {
            return Ok(None);
        }
        let whole = CuckooFilter::empty(geometry, policy, hasher)?;
        let bits = geometry.base_depth.min(MOST_BITS);
        let bits = match geometry.resolution {
            // A shard must have bits left to tell its keys apart.
            Resolution::Prefix { bits: all } => bits.min(all - 1),
            Resolution::Cells { .. } => bits,
        };
        let (segments, capacity) = (whole.segments(), whole.capacity());
        let homeless_limit = whole.homeless_limit();
        let cut = Cut { bits, geometry, policy, hasher };
        let mut all = cut.shards(whole.table);
        for shard in &mut all {
            let other_segments = segments - shard.segments();
            let spare_homes = homeless_limit + SPARE_HOMES;
            shard.whole = Whole { depth: bits, other_segments, spare_homes };
            shard.policy.max_items = u64::MAX;
        }
        Ok(Some(Self { cut, all, blocks: Vec::new(), segments, homeless_limit, capacity }))
    }

    /// So many keys can come without any limit of items being met.
    pub(super) fn room(&self) -> usize {
        let stored = self.all.iter().map(|shard| shard.stored).sum();
        usize::try_from(self.capacity.saturating_sub(stored)).unwrap_or(usize::MAX)
    }

    /// Whether more than a few segments have split, each into memory of its own: a growing filter does
    /// better on the whole.
    pub(super) fn has_grown(&self) -> bool {
        let splits: u64 = self.all.iter().map(|shard| shard.splits).sum();
        splits > self.segments as u64 / FEW_SPLITS
    }

    /// Inserts some keys.
    pub(super) fn insert(
        &mut self,
        keys: &dyn Keys,
        stretch: Range<usize>,
        copies: Copies,
        threads: usize,
    ) -> Result<(), Unfit> {
        let bits = self.cut.bits;
        let (last, starts) = (stretch.end, stretch.step_by(BLOCK));
        self.blocks.resize_with(starts.len(), Block::default);
        side_by_side(threads, starts.zip(&mut self.blocks), |space, (start, block)| {
            let end = last.min(start + BLOCK);
            block.fill(keys.hashes(start..end, space), bits);
        });
        let blocks = &self.blocks;
        let is_refused = AtomicBool::new(false);
        // What neighbours count shares cache lines: no two threads shall fill them at the same time.
        let neighbours = self.all.len().div_ceil(threads.saturating_mul(GROUPS));
        let groups = self.all.chunks_mut(neighbours).enumerate();
        side_by_side(threads, groups, |space, (group, shards)| {
            for (number, shard) in (group * neighbours..).zip(shards) {
                space.clear();
                for block in blocks {
                    space.extend_from_slice(block.of_shard(number));
                }
                if shard.insert_all(space, copies, &mut []).is_err() {
                    is_refused.store(true, Ordering::Relaxed);
                }
            }
        });
        if is_refused.into_inner() || !self.is_far_from_limits() { Err(Unfit) } else { Ok(()) }
    }

    /// Whether no insert so far would have met a limit of the whole filter, in whatever order.
    fn is_far_from_limits(&self) -> bool {
        let most_homeless: u64 = self.all.iter().map(|shard| shard.side.most_homeless()).sum();
        // All segments could split that did, and none had to that could not.
        let deepest_of = |shard: &CuckooFilter| {
            let level = shard.table.segments.iter().map(|segment| segment.level).max();
            self.cut.geometry.base_depth + u32::from(level.unwrap_or(0))
        };
        let depth = self.all.iter().filter(|shard| shard.splits > 0).map(deepest_of).max();
        // One whose fingerprints have no bit left to give makes a whole filter grow, not a shard.
        let is_stuck = |shard: &CuckooFilter| {
            let segments = 0..shard.segments() as u32;
            let grows = shard.policy.when_full != WhenFull::Refuse;
            let mut last = segments.filter(|&index| grows && shard.is_last_level(index));
            last.any(|index| shard.is_crowded(index))
        };
        most_homeless < self.homeless_limit
            && depth.is_none_or(|it| it < deepest(self.segments))
            && !self.all.iter().any(is_stuck)
    }

    /// The filter.
    pub(super) fn join(self) -> CuckooFilter {
        self.cut.join(self.all)
    }
}

/// Does work on all items, by several threads, of which this is one; each takes the next when it has
/// done one, and has space for hashes that it need not take anew.
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
