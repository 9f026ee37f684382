//! Which keys repeat, and how often, for two passes over the same records.
//!
//! The first pass inserts each key into `first`, and counts in `more` the records whose key is already there. So most
//! keys take no more memory than with `dedup`. In the second pass the first record of a key removes it from `first`; a
//! key that was never in `more` is unique.
//!
//! To find the last record of each key, the first pass only lists the keys of all records. Between the passes each list
//! is read backwards: the last record of a key is then the first that is not in `first`.
//! That costs 1.5 times the time of `dedup`, and 9 bytes of memory a record; by the counts of `more` it would be 5 to 7 times
//! the time.

use crate::filter::memory::{self, HASH_BITS, stop_at_refusal};
use crate::filter::spec::FilterSpec;
use crate::filter::{
    Counts, FilterFigures, NoRoom, Op, Profile, RunFilter, Stop, Summary, among_repeats,
};
use crate::key::{Answers, BlockKeys, Group, Known};
use crate::pipeline::{Batch, Prefetch};
use crate::record::LARGE_BLOCK;
use crate::terminal::{Exit, Failure, ReportFormat, Result};
use coua::shards::Division;
use coua::window::When;
use coua::{
    BatchFull, CuckooFilter, Filter, Full, FullReason, IfPresent, Insertion, KeyHash, KeyHasher,
};
use std::iter::{self, repeat, zip};
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{mem, thread};

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

/// The fewest shards for the last records: each is read backwards through a filter that is small and stays in the cache.
const SHARDS_FOR_LAST: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// Keys read backwards at a time.
const CHUNK: usize = 1 << 15;

/// One shard of the keys.
#[derive(Debug)]
struct CopiesShard {
    first: CuckooFilter,
    /// The records of each key but the first.
    more: CuckooFilter,
    /// The keys of all records in the first pass, if the last ones pass.
    records: Vec<KeyHash>,
    /// Whether each of these records is the last of its key.
    are_last: Vec<bool>,
    /// The next of them in the second pass.
    next: usize,
}

impl CopiesShard {
    fn new(first: CuckooFilter, more: CuckooFilter) -> Self {
        Self { first, more, records: Vec::new(), are_last: Vec::new(), next: 0 }
    }

    /// Lists the keys of a block in the first pass.
    fn list(&mut self, group: &mut Group) {
        let records = group.hashes.len();
        let has_room = self.records.try_reserve(records).is_ok();
        if !has_room || self.are_last.try_reserve(records).is_err() {
            let (items, max_items) = (self.records.len() as u64, u64::MAX);
            let full = Full { items, max_items, reason: FullReason::OutOfMemory };
            return stop_at_refusal(group, Err(BatchFull { done: 0, full }));
        }
        self.records.extend_from_slice(&group.hashes);
        self.are_last.resize(self.records.len(), false);
        group.outcomes.resize(records, Insertion::Inserted);
    }

    /// Finds the last records in the list.
    fn find_last(&mut self, plan: SecondPassPlan) -> Result<(), Full> {
        let records = mem::take(&mut self.records);
        let mut left = records.len();
        for chunk in records.rchunks(CHUNK) {
            let hashes = chunk.iter().rev().copied().collect();
            let mut group = Group { hashes, ..Group::default() };
            self.add(&mut group, plan);
            group.stopped.map_or(Ok(()), |stopped| Err(stopped.full))?;
            for outcome in &group.outcomes {
                left -= 1;
                self.are_last[left] = *outcome == Insertion::Inserted;
            }
        }
        Ok(())
    }

    /// Inserts keys of records.
    fn add(&mut self, group: &mut Group, plan: SecondPassPlan) {
        group.items_before = self.first.len();
        let Group { hashes, outcomes, .. } = &mut *group;
        let added = self.first.insert_each(hashes, When::Now, IfPresent::Skip, outcomes);
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
                let place = self.next;
                self.next += hashes.len();
                // A record beyond the first pass counts as new.
                let are_last = self.are_last.iter().skip(place).chain(repeat(&true));
                are_last.take(hashes.len()).map(|is_last| !is_last).collect()
            }
        };
        let outcome = |is_dropped| {
            if is_dropped { Insertion::AlreadyPresent } else { Insertion::Inserted }
        };
        group.outcomes.extend(is_dropped.into_iter().map(outcome));
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
        let fewest = if plan.keep == Keep::Last { SHARDS_FOR_LAST } else { NonZeroUsize::MIN };
        let division = memory::division_for(threads.max(fewest));
        let filters = || spec.build_shards(division);
        let shard = |(first, more)| Mutex::new(CopiesShard::new(first, more));
        let shards = zip(filters()?, filters()?).map(shard).collect();
        Ok(Self { shards, division, plan })
    }

    /// The second pass. Returns an error if there is no room to prepare it.
    pub(crate) fn second_pass(
        self: Arc<Self>,
        known: Known,
        threads: NonZeroUsize,
    ) -> Result<CopiesPass> {
        self.find_last(threads).map_err(|full| nothing_printed(&NoRoom::of(&full)))?;
        let (keys, figures) = (self.sum(|shard| shard.first.len()), self.figures());
        Ok(CopiesPass::Second { copies: self, known, keys, figures })
    }

    /// Finds the last records of all shards, each with one of the threads.
    fn find_last(&self, threads: NonZeroUsize) -> Result<(), Full> {
        let left = Mutex::new(self.all());
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || iter::from_fn(next).try_for_each(|mut shard| shard.find_last(self.plan));
        thread::scope(|scope| {
            let start = |_| thread::Builder::new().spawn_scoped(scope, work);
            // If a thread does not start, the others do its work.
            let others: Vec<_> = (1..threads.get()).filter_map(|it| start(it).ok()).collect();
            others.into_iter().fold(work(), |found, other| {
                found.and(other.join().unwrap_or_else(|defect| resume_unwind(defect)))
            })
        })
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
        let (keys, more) = (self.sum(|it| it.first.len()), self.sum(|it| it.more.len()));
        let slots = self.sum(|shard| shard.first.slots());
        // The lists, too, were in memory: 8 bytes a record, and one for the answer.
        let lists = self.sum(|shard| shard.are_last.len() as u64 * 9);
        let bytes = self.sum(|it| (it.first.memory_bytes() + it.more.memory_bytes()) as u64);
        FilterFigures { items: keys + more, ..memory::figures(keys, slots, lists + bytes) }
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
        let merged = memory::merge(*division, keys, answers);
        if let Self::Second { known, .. } = &*self {
            // Nothing was inserted, so no shard has refused a key.
            if plan.counts {
                memory::merge_totals(*division, keys, answers);
            }
            known.mark(keys, &mut answers.found);
        }
        merged
    }

    /// Expects as many wrong answers as records that share a hash with another record.
    fn finish(self: Box<Self>, counts: &Counts, _: Option<ReportFormat>) -> Result<Summary> {
        let (keys, figures) = match *self {
            Self::First(_) => (0, FilterFigures::default()),
            Self::Second { keys, figures, .. } => (keys, figures),
        };
        let expected = among_repeats(keys, 0, [0, keys], HASH_BITS);
        Ok(Summary { expected: Some(expected), ..Summary::of(figures, counts) })
    }
}

impl Prefetch for CopiesPass {
    fn lookup(&self, keys: &BlockKeys, answers: &mut Answers) {
        memory::group(self.copies().division, keys, answers);
    }

    fn shards(&self) -> usize {
        self.copies().shards.len()
    }

    fn query_shard(&self, shard: usize, group: &mut Group) {
        let copies = self.copies();
        let mut shard = copies.shard(shard);
        match self {
            Self::First(_) if copies.plan.keep == Keep::Last => shard.list(group),
            Self::First(_) => shard.add(group, copies.plan),
            Self::Second { .. } => shard.query(group, copies.plan),
        }
    }
}
