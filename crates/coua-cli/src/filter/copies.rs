//! Which keys repeat, and how often, for two passes over the same records.
//!
//! The first pass inserts each key into `first`, and counts in `more` the records whose key is already there. So most
//! keys take no more memory than with `dedup`. In the second pass the first record of a key removes it from `first`; a
//! key that was never in `more` is unique. For the last record of each key, a hash table has the number of that record
//! in place of `first`. (Hashes in a temporary file, read backwards, take a quarter of that memory, and 180 lines
//! more.)

use crate::filter::collisions::{self, Answered};
use crate::filter::run_filter::{NoRoom, Op, Profile, RunFilter, Stop, Summary, SummaryRequest};
use crate::filter::sharding::{self, HASH_BITS, outcomes, stop_at_refusal};
use crate::filter::spec::FilterSpec;
use crate::key::{Answers, BlockKeys, Group, Known};
use crate::pipeline::{Batch, Prefetch};
use crate::record::LARGE_BLOCK;
use crate::terminal::{Exit, Failure, FilterFigures, Result};
use coua::shards::{Division, Shards};
use coua::window::When;
use coua::{
    BatchFull, CuckooFilter, Filter, Full, FullReason, IfPresent, Insertion, KeyHash, KeyHasher,
};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::iter::zip;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The record that passes, of several with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    First,
    Last,
    /// Only a record whose key occurs once.
    None,
}

/// The questions that the second pass answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SecondPassPlan {
    pub(crate) keep: Keep,
    /// Whether it also needs the number of records with the key.
    pub(crate) counts: bool,
}

/// The failure if there is no room for the second pass.
pub(crate) fn nothing_printed(no_room: &NoRoom) -> Failure {
    Failure::ending(Exit::Full, "filter", format_args!("{}; nothing was printed", no_room.why))
}

/// The hash of a hash: the same, with its halves exchanged, since the table needs good low bits, and a shard's hashes
/// end with zeros.
#[derive(Debug, Default)]
struct OwnHash(u64);

impl Hasher for OwnHash {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash.rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// One shard of the keys.
#[derive(Debug)]
struct CopiesShard {
    first: CuckooFilter,
    /// The records of each key but the first.
    more: CuckooFilter,
    /// The number of the last record of each key, if the last ones pass.
    last: HashMap<u64, u64, BuildHasherDefault<OwnHash>>,
    /// The records of the present pass so far, if the last ones pass.
    records: u64,
}

impl CopiesShard {
    fn keys(&self) -> u64 {
        self.first.len() + self.last.len() as u64
    }

    /// Inserts the keys of a block in the first pass.
    fn add(&mut self, group: &mut Group, plan: SecondPassPlan) {
        group.items_before = self.keys();
        let added = match plan.keep {
            Keep::Last => self.add_last(group),
            _ => self.first.insert_each(
                &group.hashes,
                When::Now,
                IfPresent::Skip,
                &mut group.outcomes,
            ),
        };
        stop_at_refusal(group, added);
        let all = zip(&group.hashes, &group.outcomes);
        let again = all.filter(|(_, outcome)| **outcome == Insertion::AlreadyPresent);
        let again: Vec<KeyHash> = again.map(|(hash, _)| *hash).collect();
        // A pass that found no room has no usable results.
        let counted = match plan.keep {
            Keep::Last if !plan.counts => Ok(()),
            Keep::None if !plan.counts => self.more.insert_unique_batch(&again).map(drop),
            _ => self.more.insert_batch(&again),
        };
        group.stopped = group.stopped.or(counted.err());
        if group.stopped.is_some() {
            group.outcomes.clear();
        }
    }

    fn add_last(&mut self, group: &mut Group) -> Result<(), BatchFull> {
        if self.last.try_reserve(group.hashes.len()).is_err() {
            let reason = FullReason::OutOfMemory;
            let full = Full { items: self.keys(), max_items: u64::MAX, reason };
            return Err(BatchFull { done: 0, full });
        }
        for hash in &group.hashes {
            let earlier = self.last.insert(hash.to_u64(), self.records);
            self.records += 1;
            group.outcomes.extend(outcomes([earlier.is_some()]));
        }
        Ok(())
    }

    /// Answers for a block in the second pass.
    fn query(&mut self, group: &mut Group, plan: SecondPassPlan) {
        let hashes = &group.hashes;
        if plan.counts {
            let again = self.more.count_batch(hashes);
            group.totals.extend(again.into_iter().map(|again| again + 1));
        }
        let is_dropped: Vec<bool> = match plan.keep {
            Keep::First => {
                self.first.remove_batch(hashes).iter().map(|is_first| !is_first).collect()
            }
            Keep::None => self.more.contains_batch(hashes),
            Keep::Last => {
                let numbered = zip(self.records.., hashes);
                // A record beyond the first pass counts as new.
                let is_later = |(number, hash): (u64, &KeyHash)| {
                    self.last.get(&hash.to_u64()).is_some_and(|last| number < *last)
                };
                numbered.map(is_later).collect()
            }
        };
        self.records += hashes.len() as u64;
        group.outcomes.extend(outcomes(is_dropped));
    }
}

/// The keys, in shards by their first bits.
#[derive(Debug)]
pub(crate) struct Copies {
    shards: Vec<Mutex<CopiesShard>>,
    division: Division,
    plan: SecondPassPlan,
}

impl Copies {
    /// Creates as many shards as `threads` can use.
    pub(crate) fn new(
        spec: &FilterSpec,
        threads: NonZeroUsize,
        plan: SecondPassPlan,
    ) -> Result<Self> {
        let division = Division::for_threads(threads);
        let filters = || spec.build_shards(division).map(Shards::into_filters);
        let shard =
            |(first, more)| CopiesShard { first, more, last: HashMap::default(), records: 0 };
        let shards = zip(filters()?, filters()?).map(|both| Mutex::new(shard(both))).collect();
        Ok(Self { shards, division, plan })
    }

    /// The second pass.
    pub(crate) fn second_pass(self: Arc<Self>, known: Known) -> CopiesPass {
        self.all().for_each(|mut shard| shard.records = 0);
        CopiesPass::Second {
            keys: self.sum(CopiesShard::keys),
            figures: self.figures(),
            known,
            copies: self,
        }
    }

    fn shard(&self, number: usize) -> MutexGuard<'_, CopiesShard> {
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> impl Iterator<Item = MutexGuard<'_, CopiesShard>> {
        (0..self.shards.len()).map(|number| self.shard(number))
    }

    fn sum(&self, figure: fn(&CopiesShard) -> u64) -> u64 {
        self.all().map(|shard| figure(&shard)).sum()
    }

    fn figures(&self) -> FilterFigures {
        let keys = self.sum(CopiesShard::keys);
        let room = self.sum(|shard| shard.first.slots() + shard.last.capacity() as u64);
        // An entry of the table has two numbers and a byte of control.
        let table = self.sum(|shard| shard.last.capacity() as u64 * 17);
        let bytes = self.sum(|it| (it.first.memory_bytes() + it.more.memory_bytes()) as u64);
        FilterFigures {
            items: keys + self.sum(|shard| shard.more.len()),
            capacity: None,
            load: Some(keys as f64 / room as f64),
            memory_bytes: table + bytes,
            hash_bits: Some(HASH_BITS),
            false_positive_rate: Some(keys as f64 / HASH_BITS.exp2()),
            window: None,
        }
    }

    pub(crate) fn hasher(&self) -> KeyHasher {
        self.shard(0).first.hasher()
    }
}

/// One of the two passes. In the second, a record that passes counts as new.
#[derive(Clone, Debug)]
pub(crate) enum CopiesPass {
    First(Arc<Copies>),
    Second {
        copies: Arc<Copies>,
        /// Keys that are counted like others, but count as seen.
        known: Known,
        /// The number of different keys.
        keys: u64,
        figures: FilterFigures,
    },
}

impl CopiesPass {
    fn copies(&self) -> &Copies {
        match self {
            Self::First(copies) | Self::Second { copies, .. } => copies,
        }
    }
}

impl RunFilter for CopiesPass {
    fn profile(&self) -> Profile {
        let prefetch = Arc::new(self.clone());
        let hasher = self.copies().hasher();
        Profile { block_bytes: LARGE_BLOCK, prefetch, ..Profile::new(hasher) }
    }

    fn answer(&mut self, _op: Op, batch: &mut Batch) -> Result<(), Stop> {
        let Batch { keys, answers, .. } = batch;
        let Copies { division, plan, .. } = self.copies();
        let merged = sharding::merge(*division, keys, answers);
        if let Self::Second { known, .. } = &*self {
            // Nothing was inserted, so no shard has refused a key.
            if plan.counts {
                sharding::merge_totals(*division, keys, answers);
            }
            known.mark(keys, &mut answers.found);
        }
        merged
    }

    /// Expects as many wrong answers as records that share a hash with another record.
    fn finish(self: Box<Self>, request: SummaryRequest) -> Result<Summary> {
        let (keys, figures) = match *self {
            Self::First(_) => (0, FilterFigures::default()),
            Self::Second { keys, figures, .. } => (keys, figures),
        };
        let answered = Answered { new: keys, repeats: 0 };
        let expected = collisions::among_repeats(answered, [0, keys], HASH_BITS);
        Ok(Summary { expected: Some(expected), ..Summary::of(figures, request) })
    }
}

impl Prefetch for CopiesPass {
    fn lookup(&self, keys: &BlockKeys, answers: &mut Answers) {
        sharding::group(self.copies().division, keys, answers);
    }

    fn shards(&self) -> usize {
        self.copies().shards.len()
    }

    fn query_shard(&self, shard: usize, group: &mut Group) {
        let copies = self.copies();
        let mut shard = copies.shard(shard);
        match self {
            Self::First(_) => shard.add(group, copies.plan),
            Self::Second { .. } => shard.query(group, copies.plan),
        }
    }
}
