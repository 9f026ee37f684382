//! A filter in memory that several threads ask at once, in as many shards as are useful.

use crate::filter::estimate::Forecast;
use crate::filter::op::{Op, Stop};
use crate::filter::run_filter::{RunFilter, Summary, SummaryRequest};
use crate::filter::sharding::{self, HASH_BITS, LastLoad, Sharding};
use crate::filter::spec::FilterSpec;
use crate::input::Survey;
use crate::key::{Answers, BlockKeys, Group};
use crate::pipeline::{Batch, Prefetch, Unanswered};
use crate::record::LARGE_BLOCK;
use crate::terminal::{FilterFigures, Result};
use coua::{CuckooFilter, KeyHasher};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The shards, by the first bits of their keys.
#[derive(Debug)]
pub(crate) struct ShardedMemory {
    shards: Vec<Mutex<MemoryShard>>,
    sharding: Sharding,
    load: LastLoad,
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
        Ok(Self { shards, sharding, load: LastLoad::default() })
    }

    fn shard(&self, number: usize) -> MutexGuard<'_, MemoryShard> {
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answers for all keys, from those of the shards.
    fn merge(&self, keys: &BlockKeys, answers: &mut Answers) -> Result<(), Stop> {
        let merged = self.sharding.merge(keys, answers, HASH_BITS.into());
        if merged.is_err() {
            answers.groups.iter().enumerate().for_each(|(shard, group)| self.undo(shard, group));
        }
        merged
    }

    fn undo(&self, shard: usize, group: &Group) {
        sharding::undo(&mut self.shard(shard).filter, group);
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

    fn load(&self) -> Option<f64> {
        Some(self.load.get())
    }

    fn block_bytes(&self) -> usize {
        LARGE_BLOCK
    }

    fn prefetch(&self) -> Arc<dyn Prefetch> {
        self.clone()
    }

    fn answer(&mut self, _op: Op, batch: &mut Batch, _known: usize) -> Result<(), Stop> {
        self.merge(&batch.keys, &mut batch.answers)
    }

    fn end_of_blocks(&mut self, unanswered: Vec<Unanswered>) {
        for Unanswered { shard, group } in &unanswered {
            self.undo(*shard, group);
        }
    }

    fn summary(&mut self, request: SummaryRequest) -> Summary {
        Summary::of(self.figures(), request)
    }
}

impl Prefetch for ShardedMemory {
    fn lookup(&self, keys: &BlockKeys, answers: &mut Answers) {
        self.sharding.group(keys, answers);
    }

    fn shards(&self) -> usize {
        self.shards.len()
    }

    fn query_shard(&self, shard: usize, group: &mut Group, consumed: u64) {
        let MemoryShard { filter, forecast } = &mut *self.shard(shard);
        // Only `dedup` has a filter that is forgotten.
        sharding::ask(filter, Op::Dedup, group);
        self.load.set(filter);
        if let Some(forecast) = forecast {
            forecast.make_room(consumed, group.hashes.len(), filter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::sharding::MOST_BITS;
    use crate::key::Seen;
    use coua::KeyHash;
    use std::collections::HashSet;

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

    /// Shards, each of which takes at most this number of items.
    fn shards(most: &[u64]) -> ShardedMemory {
        let bits = most.len().ilog2();
        let shard = |most: &u64| {
            let builder = CuckooFilter::builder().hash_bits(HASH_BITS - bits).max_items(*most);
            Mutex::new(MemoryShard { filter: builder.build().unwrap(), forecast: None })
        };
        let (shards, load) = (most.iter().map(shard).collect(), LastLoad::default());
        ShardedMemory { shards, sharding: Sharding { bits }, load }
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
            assert_eq!(filter.figures().items, new as u64, "what came after it is taken back");
        }
    }
}
