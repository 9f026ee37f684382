//! Filters in memory, dropped at the end: one for a single thread, or as many shards as several threads can use. Only
//! `dedup` has them.
//!
//! Each shard processes the blocks in their order, whichever thread does it, and however far the other shards are. So
//! the answers are the same as with one thread.

use crate::clock;
use crate::filter::spec::FilterSpec;
use crate::filter::{Counts, FilterFigures, Op, Profile, RunFilter, Stop, Summary, outdated_note};
use crate::key::{Answers, BlockKeys, Group, Seen};
use crate::pipeline::{Batch, Prefetch};
use crate::record::LARGE_BLOCK;
use crate::terminal::{ReportFormat, Result};
use coua::shards::Division;
use coua::window::{Generations, When};
use coua::{BatchFull, CuckooFilter, Filter, IfPresent, Insertion, KeyHash};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(crate) struct MemoryFilter {
    filter: Generations,
    outcomes: Vec<Insertion>,
}

impl MemoryFilter {
    /// Builds a new filter.
    pub(crate) fn new(spec: &FilterSpec) -> Result<Self> {
        Ok(Self { filter: spec.build()?, outcomes: Vec::new() })
    }
}

impl RunFilter for MemoryFilter {
    fn profile(&self) -> Profile {
        Profile { window: self.filter.window(), ..Profile::new(self.filter.hasher()) }
    }

    fn answer(&mut self, op: Op, batch: &mut Batch) -> Result<(), Stop> {
        clock::advance(&mut self.filter);
        let Batch { keys, answers, .. } = batch;
        let (when, if_present) = (keys.when(), op.if_present());
        let result = self.filter.insert_each(&keys.hashes, when, if_present, &mut self.outcomes);
        answers.record(&self.outcomes, result);
        result.map_err(Stop::full)
    }

    fn doubts(&self, _op: Op) -> Option<String> {
        outdated_note(&self.filter)
    }

    fn finish(self: Box<Self>, counts: &Counts, _: Option<ReportFormat>) -> Result<Summary> {
        Ok(Summary::of(FilterFigures::from(&self.filter), counts))
    }
}

#[derive(Debug)]
pub(crate) struct ShardedMemory {
    shards: Vec<Mutex<CuckooFilter>>,
    division: Division,
}

impl ShardedMemory {
    /// Builds as many shards as `threads` can use.
    pub(crate) fn new(spec: &FilterSpec, threads: NonZeroUsize) -> Result<Self> {
        let division = division_for(threads);
        let shards = spec.build_shards(division)?.into_iter().map(Mutex::new).collect();
        Ok(Self { shards, division })
    }

    fn shard(&self, number: usize) -> MutexGuard<'_, CuckooFilter> {
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The figures of all shards together.
    fn figures(&self) -> FilterFigures {
        let sum = |figure: fn(&CuckooFilter) -> u64| -> u64 {
            (0..self.shards.len()).map(|number| figure(&self.shard(number))).sum()
        };
        let bytes = sum(|shard| shard.memory_bytes() as u64);
        figures(sum(CuckooFilter::len), sum(CuckooFilter::slots), bytes)
    }
}

/// The figures of shards that remember all bits of each hash.
pub(super) fn figures(items: u64, slots: u64, memory_bytes: u64) -> FilterFigures {
    FilterFigures {
        items,
        load: Some(items as f64 / slots as f64),
        memory_bytes,
        hash_bits: Some(HASH_BITS),
        false_positive_rate: Some(items as f64 / HASH_BITS.exp2()),
        ..FilterFigures::default()
    }
}

impl RunFilter for Arc<ShardedMemory> {
    fn profile(&self) -> Profile {
        let prefetch = self.clone();
        let hasher = self.shard(0).hasher();
        Profile { block_bytes: LARGE_BLOCK, prefetch, ..Profile::new(hasher) }
    }

    fn answer(&mut self, _op: Op, batch: &mut Batch) -> Result<(), Stop> {
        merge(self.division, &batch.keys, &mut batch.answers)
    }

    fn finish(self: Box<Self>, counts: &Counts, _: Option<ReportFormat>) -> Result<Summary> {
        Ok(Summary::of(self.figures(), counts))
    }
}

impl Prefetch for ShardedMemory {
    fn lookup(&self, keys: &BlockKeys, answers: &mut Answers) {
        group(self.division, keys, answers);
    }

    fn shards(&self) -> usize {
        self.shards.len()
    }

    fn query_shard(&self, shard: usize, group: &mut Group) {
        let mut shard = self.shard(shard);
        group.items_before = shard.len();
        let Group { hashes, outcomes, .. } = group;
        let result = shard.insert_each(hashes, When::Now, IfPresent::Skip, outcomes);
        stop_at_refusal(group, result);
    }
}

/// Bits of a hash that shards remember together.
pub(super) const HASH_BITS: f64 = 64.0;

/// Enough shards to keep these threads busy: a power of two, at most 64.
pub(super) fn division_for(threads: NonZeroUsize) -> Division {
    Division::new(usize::BITS - (threads.get() - 1).leading_zeros())
}

/// Groups the keys of a block by shard, as the hashes that the shards see.
pub(super) fn group(division: Division, keys: &BlockKeys, answers: &mut Answers) {
    let groups = &mut answers.groups;
    groups.resize_with(division.shards(), Group::default);
    groups.iter_mut().for_each(Group::clear);
    for hash in &keys.hashes {
        groups[division.shard_of(*hash)].hashes.push(division.within(*hash));
    }
}

/// Puts the answers of the groups in the order of the keys, up to the first key for which a shard had no room. The
/// shards form one filter for the user.
pub(super) fn merge(
    division: Division,
    keys: &BlockKeys,
    answers: &mut Answers,
) -> Result<(), Stop> {
    let Some(shard) = merge_found(division, keys, answers) else { return Ok(()) };
    let before = answers.groups.iter().map(|group| group.items_before).sum::<u64>();
    let items = before + answers.count(Seen::New);
    let mut stopped =
        answers.groups[shard].stopped.expect("a shard without room for a key says so");
    (stopped.done, stopped.full.items) = (answers.found.len(), items);
    Err(Stop::full(stopped))
}

/// Merges the answers. Returns the shard that has no room, if there is one.
fn merge_found(division: Division, keys: &BlockKeys, answers: &mut Answers) -> Option<usize> {
    let Answers { groups, found, .. } = answers;
    let mut outcomes: Vec<_> = groups.iter().map(|group| group.outcomes.iter()).collect();
    found.resize(keys.hashes.len(), Seen::Unknown);
    for (nth, hash) in keys.hashes.iter().enumerate() {
        let shard = division.shard_of(*hash);
        let Some(outcome) = outcomes[shard].next() else {
            found.truncate(nth);
            return Some(shard);
        };
        found[nth] = Seen::from(*outcome == Insertion::AlreadyPresent);
    }
    None
}

/// Puts the numbers of copies in the order of the keys.
pub(super) fn merge_totals(division: Division, keys: &BlockKeys, answers: &mut Answers) {
    let Answers { groups, totals, .. } = answers;
    let mut of_shards: Vec<_> = groups.iter().map(|group| group.totals.iter()).collect();
    let next = |hash: &KeyHash| of_shards[division.shard_of(*hash)].next().copied().unwrap_or(0);
    totals.extend(keys.hashes.iter().map(next));
}

/// Drops the outcomes from the first key for which there was no room.
pub(super) fn stop_at_refusal(group: &mut Group, result: Result<(), BatchFull>) {
    group.stopped = result.err();
    if let Some(stopped) = group.stopped {
        group.outcomes.truncate(stopped.done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Seen;
    use coua::KeyHash;
    use std::collections::HashSet;

    /// Hashes, about half of which are repeats.
    fn hashes(number: u64) -> Vec<KeyHash> {
        let mix = |key: u64| key.wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes();
        (0..number).map(|key| KeyHash::from_u64(mix(mix(key) % (number / 2)))).collect()
    }

    fn answered(filter: &ShardedMemory, hashes: &[KeyHash]) -> (Vec<Seen>, Result<(), Stop>) {
        let keys = BlockKeys { hashes: hashes.to_vec(), ..BlockKeys::default() };
        let mut answers = Answers::default();
        filter.lookup(&keys, &mut answers);
        let groups = &mut answers.groups;
        groups.iter_mut().enumerate().for_each(|(shard, group)| filter.query_shard(shard, group));
        let result = merge(filter.division, &keys, &mut answers);
        (answers.found, result)
    }

    /// 2^`bits` shards, each of which accepts at most `most` items.
    fn shards(bits: u32, most: u64) -> ShardedMemory {
        let division = Division::new(bits);
        let builder = CuckooFilter::builder().max_items(most);
        let shards = builder.build_shards(division).unwrap().into_iter().map(Mutex::new).collect();
        ShardedMemory { shards, division }
    }

    #[test]
    fn all_together_answer_as_one() {
        for bits in 0..=6 {
            let filter = shards(bits, u64::MAX);
            let mut seen = HashSet::new();
            for block in hashes(50_000).chunks(777) {
                let (found, answer) = answered(&filter, block);
                assert!(answer.is_ok() && found.len() == block.len());
                for (hash, found) in block.iter().zip(found) {
                    assert_eq!(!seen.insert(hash.to_u64()), found == Seen::Repeat);
                }
            }
            assert_eq!(filter.figures().items, seen.len() as u64);
            let mean = seen.len() as u64 >> bits;
            let alike = |number: usize| filter.shard(number).len().abs_diff(mean) < 1_000;
            assert!((0..1 << bits).all(alike), "{bits} bits");
        }
    }

    #[test]
    fn the_first_record_without_room_ends_it() {
        let mut stopped = [0; 2];
        for (round, most) in (0..).zip([1, 2, 3, 7, 11, 21, 40, 61, 62, 63]) {
            let hashes = &hashes(4_000)[round * 400..][..400];
            let filter = shards(1, most);
            let (mut seen, mut items) = (HashSet::new(), [0; 2]);
            let mut fits = |hash: &&KeyHash| {
                let shard = filter.division.shard_of(**hash);
                items[shard] += u64::from(seen.insert(hash.to_u64()));
                stopped[shard] += u32::from(items[shard] > most);
                items[shard] <= most
            };
            let expected = hashes.iter().take_while(&mut fits).count();
            let (found, answer) = answered(&filter, hashes);
            let Err(Stop::Full { nth, no_room }) = answer else { panic!("{answer:?}") };
            assert_eq!((nth, found.len()), (expected, expected), "{most}");
            let different: HashSet<_> = hashes[..expected].iter().map(|h| h.to_u64()).collect();
            let new = found.iter().filter(|found| **found == Seen::New).count();
            assert_eq!(new, different.len());
            assert!(no_room.why.contains(&format!("{new} item")), "of both shards: {no_room:?}");
        }
        assert!(stopped.iter().all(|times| *times > 0), "each shard once: {stopped:?}");
    }

    #[test]
    fn shards_follow_the_threads() {
        let shards = [1, 2, 3, 4, 5, 16, 17, 64, 256, usize::MAX / 2 + 1]
            .map(|threads| division_for(NonZeroUsize::new(threads).unwrap()).shards());
        assert_eq!(shards, [1, 2, 4, 4, 8, 16, 32, 64, 64, 64]);
    }
}
