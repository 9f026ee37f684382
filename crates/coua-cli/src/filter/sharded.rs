//! A filter that several threads ask at once, in as many shards as are useful. The first bits of a key's hash name its
//! shard.
//!
//! In memory, each shard is a filter of the other bits, and is asked about the blocks in their order, whichever thread
//! does it. So it answers as it would if one thread asked all. In a file, the filter's segments are shared out; a block is
//! asked about in all shards, by whichever thread is free, after the block before it was answered for. So the filter holds
//! what was answered, whenever it is saved.

use crate::filter::collisions;
use crate::filter::estimate::Forecast;
use crate::filter::op::{Op, Stop};
use crate::filter::run_filter::{RunFilter, Summary, SummaryRequest};
use crate::filter::spec::FilterSpec;
use crate::input::Survey;
use crate::key::{Answers, BlockKeys, Group, Seen};
use crate::pipeline::{Batch, Prefetch};
use crate::record::BlockSize;
use crate::terminal::{FilterFigures, Result};
use coua::{CuckooFilter, KeyHash, KeyHasher, SharedCuckooFilter};
use coua_store::Store;
use std::iter::zip;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// More shards take more memory than they save time: each has segments that are not full.
pub(super) const MOST_BITS: u32 = 6;

/// Bits of a hash.
pub(super) const HASH_BITS: u32 = 64;

/// A division into 2^`bits` shards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sharding {
    pub(super) bits: u32,
}

impl Sharding {
    /// As many shards as `threads` can use.
    pub(super) fn for_threads(threads: NonZeroUsize) -> Self {
        Self { bits: threads.get().next_power_of_two().ilog2().min(MOST_BITS) }
    }

    pub(super) fn shards(self) -> usize {
        1 << self.bits
    }

    pub(super) fn shard_of(self, hash: KeyHash) -> usize {
        // In two steps: all bits are too many for one.
        (hash.to_u64() >> 1 >> (HASH_BITS - 1 - self.bits)) as usize
    }

    /// Groups the keys of a block by their shards. `own` is a key's hash as its shard knows it.
    pub(super) fn group(
        self,
        keys: &BlockKeys,
        answers: &mut Answers,
        own: impl Fn(KeyHash) -> KeyHash,
    ) {
        let groups = &mut answers.groups;
        groups.resize_with(self.shards(), Group::default);
        for group in groups.iter_mut() {
            group.hashes.clear();
        }
        for hash in &keys.hashes {
            groups[self.shard_of(*hash)].hashes.push(own(*hash));
        }
    }

    /// Puts the answers of the groups in the order of the keys, up to the first that a shard has refused: that shard is
    /// the error.
    pub(super) fn merge(self, keys: &BlockKeys, answers: &mut Answers) -> Result<(), usize> {
        let Answers { groups, found, .. } = answers;
        let mut outcomes: Vec<_> = groups.iter().map(|group| group.outcomes.iter()).collect();
        found.resize(keys.hashes.len(), Seen::Unknown);
        for (nth, hash) in keys.hashes.iter().enumerate() {
            let shard = self.shard_of(*hash);
            let Some(outcome) = outcomes[shard].next() else {
                found.truncate(nth);
                return Err(shard);
            };
            found[nth] = Seen::from(*outcome);
        }
        Ok(())
    }

    /// Puts the numbers of copies in the order of the keys likewise.
    pub(super) fn merge_totals(self, keys: &BlockKeys, answers: &mut Answers) {
        let Answers { groups, totals, .. } = answers;
        let mut of_shards: Vec<_> = groups.iter().map(|group| group.totals.iter()).collect();
        let next = |hash: &KeyHash| of_shards[self.shard_of(*hash)].next().copied().unwrap_or(0);
        totals.extend(keys.hashes.iter().map(next));
    }
}

/// The shards, by the first bits of their keys.
#[derive(Debug)]
pub(crate) struct ShardedMemory {
    shards: Vec<Mutex<MemoryShard>>,
    sharding: Sharding,
}

#[derive(Debug)]
struct MemoryShard {
    filter: CuckooFilter,
    forecast: Option<Forecast>,
}

impl ShardedMemory {
    /// As many shards as `threads` can use.
    pub(crate) fn new(spec: &FilterSpec, inputs: &Survey, threads: NonZeroUsize) -> Result<Self> {
        let sharding = Sharding::for_threads(threads);
        let shard = |_| {
            let filter = spec.build_with_hash_bits(HASH_BITS - sharding.bits)?;
            Ok(Mutex::new(MemoryShard { filter, forecast: Forecast::new(inputs.total_bytes) }))
        };
        let shards = (0..sharding.shards()).map(shard).collect::<Result<_>>()?;
        Ok(Self { shards, sharding })
    }

    fn shard(&self, number: usize) -> MutexGuard<'_, MemoryShard> {
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answers for all keys, from those of the shards: up to the first key for which there was no room.
    pub(crate) fn merge(&self, keys: &BlockKeys, answers: &mut Answers) -> Result<(), Stop> {
        let merged = self.sharding.merge(keys, answers);
        // To the user the shards are one filter.
        let before = answers.groups.iter().map(|group| group.items_before).sum::<u64>();
        let new = answers.count(Seen::New);
        collisions::expect(answers, new, [before, before + new], HASH_BITS.into());
        merged.map_err(|shard| {
            let stopped = answers.groups[shard].stopped;
            let mut stopped = stopped.expect("a shard without room for a key says so");
            (stopped.done, stopped.full.items) = (answers.found.len(), before + new);
            Stop::full(stopped)
        })
    }

    /// What there is to say of all shards together.
    fn figures(&self) -> FilterFigures {
        let shards: Vec<_> = (0..self.shards.len()).map(|number| self.shard(number)).collect();
        let sum = |figure: fn(&CuckooFilter) -> u64| -> u64 {
            shards.iter().map(|shard| figure(&shard.filter)).sum()
        };
        let mean = |figure: fn(&CuckooFilter) -> f64| {
            shards.iter().map(|shard| figure(&shard.filter)).sum::<f64>() / shards.len() as f64
        };
        let items = sum(CuckooFilter::len);
        FilterFigures {
            items,
            load: Some(items as f64 / sum(CuckooFilter::slots) as f64),
            memory_bytes: sum(|shard| shard.memory_bytes() as u64),
            hash_bits: Some(f64::from(self.sharding.bits) + mean(CuckooFilter::hash_bits)),
            false_positive_rate: Some(mean(CuckooFilter::false_positive_rate)),
            window: None,
        }
    }
}

impl RunFilter for Arc<ShardedMemory> {
    fn hasher(&self) -> KeyHasher {
        self.shard(0).filter.hasher()
    }

    /// Of one shard; all are alike.
    fn load(&self) -> Option<f64> {
        Some(self.shard(0).filter.load_factor())
    }

    fn block_size(&self) -> BlockSize {
        BlockSize::LARGE
    }

    fn prefetch(&self) -> Arc<dyn Prefetch> {
        self.clone()
    }

    fn answer(&mut self, _op: Op, batch: &mut Batch, _known: usize) -> Result<(), Stop> {
        self.merge(&batch.keys, &mut batch.answers)
    }

    fn summary(&mut self, request: SummaryRequest) -> Summary {
        Summary::of(self.figures(), request)
    }
}

impl Prefetch for ShardedMemory {
    /// Groups the keys by their shards.
    fn lookup(&self, keys: &BlockKeys, answers: &mut Answers) {
        let own = |hash: KeyHash| KeyHash::from_u64(hash.to_u64() << self.sharding.bits);
        self.sharding.group(keys, answers, own);
    }

    fn shards(&self) -> usize {
        self.shards.len()
    }

    fn query_shard(&self, shard: usize, group: &mut Group, consumed: u64) {
        let MemoryShard { filter, forecast } = &mut *self.shard(shard);
        group.items_before = filter.len();
        let result = filter.insert_unique_batch_into(&group.hashes, &mut group.outcomes);
        group.stopped = result.err();
        let done = group.stopped.map_or(group.hashes.len(), |stopped| stopped.done);
        group.outcomes.truncate(done);
        if let Some(forecast) = forecast {
            forecast.make_room(consumed, group.hashes.len(), filter);
        }
    }
}

/// Where threads find the filter, and how they share it.
#[derive(Debug)]
pub(super) struct ShardedFile {
    filter: Arc<coua_store::Divided>,
    sharding: Sharding,
    op: Op,
}

impl ShardedFile {
    /// None if the filter is to be changed by one thread.
    pub(super) fn new(store: &Store, op: Op, threads: NonZeroUsize) -> Option<Self> {
        let can = op.inserts() && threads.get() > 1 && store.filter().window().is_none();
        let (filter, sharding) = (store.divided(), Sharding::for_threads(threads));
        can.then_some(Self { filter, sharding, op })
    }

    /// Shares the filter out, unless it is. Returns false if it cannot take so many `keys` at once then.
    pub(super) fn shard(&self, store: &mut Store, keys: usize) -> bool {
        let is_divided = self.filter.filter().is_some();
        is_divided || store.divide(self.sharding.bits, keys)
    }

    /// The filter's load, if it is shared out.
    pub(super) fn load(&self) -> Option<f64> {
        self.filter.filter().as_ref().map(SharedCuckooFilter::load_factor)
    }

    /// The answers for a block about which all shards were asked.
    pub(super) fn answer(&self, store: &mut Store, keys: &BlockKeys, answers: &mut Answers) {
        if self.op == Op::Add {
            answers.added = keys.hashes.len() as u64;
            store.note_inserted(keys.hashes.iter().copied());
            return;
        }
        let merged = self.sharding.merge(keys, answers);
        debug_assert!(merged.is_ok(), "no key of an accepted block is refused");
        let new = zip(&keys.hashes, &answers.found).filter(|(_, found)| **found == Seen::New);
        store.note_inserted(new.map(|(hash, _)| *hash));
        answers.added = answers.count(Seen::New);
        if let Some(filter) = &*self.filter.filter() {
            let (new, items) = (answers.added, filter.len());
            collisions::expect(answers, new, [items - new, items], filter.hash_bits());
        }
    }
}

impl Prefetch for ShardedFile {
    fn lookup(&self, keys: &BlockKeys, answers: &mut Answers) {
        self.sharding.group(keys, answers, |hash| hash);
    }

    fn shards(&self) -> usize {
        self.sharding.shards()
    }

    fn queries_in_turn(&self) -> bool {
        true
    }

    fn accepts(&self, keys: &BlockKeys) -> bool {
        self.filter
            .filter()
            .as_ref()
            .is_some_and(|filter| keys.hashes.len() <= filter.accepted_keys())
    }

    fn query_shard(&self, _shard: usize, group: &mut Group, _consumed: u64) {
        let Some(filter) = &*self.filter.filter() else { return };
        let hashes: &[KeyHash] = &group.hashes;
        let refused = match self.op {
            Op::Add => filter.insert_batch(hashes),
            _ => filter.insert_unique_batch_into(hashes, &mut group.outcomes),
        };
        debug_assert!(refused.is_ok(), "no key of an accepted block is refused");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn shards_follow_the_threads() {
        let bits = [1, 2, 3, 4, 16, 256]
            .map(|threads| Sharding::for_threads(NonZeroUsize::new(threads).unwrap()).bits);
        assert_eq!(bits, [0, 1, 2, 2, 4, MOST_BITS]);
    }

    /// Hashes of which about half are repeats.
    fn hashes(number: u64) -> Vec<KeyHash> {
        let mix = |key: u64| key.wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes();
        (0..number).map(|key| KeyHash::from_u64(mix(mix(key) % (number / 2)))).collect()
    }

    fn answered(filter: &ShardedMemory, hashes: &[KeyHash]) -> (Vec<Seen>, Result<(), Stop>) {
        let keys = BlockKeys { hashes: hashes.to_vec(), ..BlockKeys::default() };
        let mut answers = Answers::default();
        filter.lookup(&keys, &mut answers);
        let groups = &mut answers.groups;
        groups
            .iter_mut()
            .enumerate()
            .for_each(|(shard, group)| filter.query_shard(shard, group, 0));
        let result = filter.merge(&keys, &mut answers);
        (answers.found, result)
    }

    /// Shards that take so many items.
    fn shards(most: &[u64]) -> ShardedMemory {
        let bits = most.len().ilog2();
        let shard = |most: &u64| {
            let builder = CuckooFilter::builder().hash_bits(HASH_BITS - bits).max_items(*most);
            Mutex::new(MemoryShard { filter: builder.build().unwrap(), forecast: None })
        };
        ShardedMemory { shards: most.iter().map(shard).collect(), sharding: Sharding { bits } }
    }

    #[test]
    fn all_together_answer_as_one() {
        for bits in 0..=MOST_BITS {
            let filter = shards(&vec![u64::MAX; 1 << bits]);
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
            let alike = |number: usize| filter.shard(number).filter.len().abs_diff(mean) < 1_000;
            assert!((0..1 << bits).all(alike), "{bits} bits");
        }
    }

    #[test]
    fn the_first_record_without_room_ends_it() {
        let hashes = hashes(400);
        for most in [[11, 11], [11, 21], [21, 11], [2, 61], [61, 2], [1, 1]] {
            let filter = shards(&most);
            let (mut seen, mut items) = (HashSet::new(), [0; 2]);
            let fits = |hash: &&KeyHash| {
                let shard = filter.sharding.shard_of(**hash);
                items[shard] += u64::from(seen.insert(hash.to_u64()));
                items[shard] <= most[shard]
            };
            let expected = hashes.iter().take_while(fits).count();
            let (found, answer) = answered(&filter, &hashes);
            let Err(Stop::Full { nth, no_room }) = answer else { panic!("{answer:?}") };
            assert_eq!((nth, found.len()), (expected, expected), "{most:?}");
            let different: HashSet<_> = hashes[..expected].iter().map(|h| h.to_u64()).collect();
            let new = found.iter().filter(|found| **found == Seen::New).count();
            assert_eq!(new, different.len());
            assert!(no_room.why.contains(&format!("{new} item")), "of both shards: {no_room:?}");
        }
    }
}
