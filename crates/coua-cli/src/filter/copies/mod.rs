//! Which keys repeat, and how often, for two passes over the same records.
//!
//! The first pass inserts each key into `first`, and counts in `more` the records whose key is already there. So most
//! keys take no more memory than with `dedup`. In the second pass the first record of a key removes it from `first`; a
//! key that was never in `more` is unique.
//!
//! To find the last record of each key, the first pass only stores the hashes, shard by shard. Between the passes each
//! shard is read backwards: the last record of a key is then the first that is not in `first`. One bit per record
//! passes the result to the second pass. (`docs/decisions/0020-two-passes-of-records.md`)

mod hash_spool;
mod shard;

pub(crate) use hash_spool::nothing_printed;
pub(crate) use shard::{Keep, SecondPassPlan};

use crate::filter::collisions::{self, Answered};
use crate::filter::op::{Op, Stop};
use crate::filter::run_filter::{Profile, RunFilter, Summary, SummaryRequest};
use crate::filter::sharding::{self, HASH_BITS};
use crate::filter::spec::FilterSpec;
use crate::key::{Answers, BlockKeys, Group, Known};
use crate::pipeline::{Batch, Prefetch};
use crate::record::LARGE_BLOCK;
use crate::terminal::{FilterFigures, Result};
use coua::KeyHasher;
use coua::shards::{Division, Shards};
use shard::{CopiesShard, Figures};
use std::iter::zip;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// The fewest shards for the last records. Each thread has the filter of one shard at a time: that filter is small and
/// stays in the cache, and the others take no memory.
const SHARDS_FOR_LAST: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// The filters, in shards by the first bits of the keys.
#[derive(Debug)]
pub(crate) struct Copies {
    shards: Vec<Mutex<CopiesShard>>,
    division: Division,
    threads: NonZeroUsize,
    plan: SecondPassPlan,
    /// Taken after the first pass, or between the passes, when most memory is in use.
    figures: OnceLock<Figures>,
}

impl Copies {
    /// Creates as many shards as `threads` can use.
    pub(crate) fn new(
        spec: &FilterSpec,
        threads: NonZeroUsize,
        plan: SecondPassPlan,
    ) -> Result<Self> {
        let is_last = plan.keep == Keep::Last;
        let fewest = if is_last { SHARDS_FOR_LAST } else { NonZeroUsize::MIN };
        let division = Division::for_threads(threads.max(fewest));
        let filters = || spec.build_shards(division).map(Shards::into_filters);
        let shard = |(first, more)| Mutex::new(CopiesShard::new(first, more));
        let shards = zip(filters()?, filters()?).map(shard).collect();
        Ok(Self { shards, division, threads, plan, figures: OnceLock::new() })
    }

    /// Prepares the second pass, unless a signal ends the program. Frees what that pass does not need.
    pub(crate) fn start_second_pass(&self) -> Result<()> {
        let (all, at_once) = if self.plan.keep == Keep::Last {
            (self.find_last()?, self.threads.get())
        } else {
            let shards = 0..self.shards.len();
            (shards.map(|number| self.shard(number).figures()).collect(), self.shards.len())
        };
        self.figures.get_or_init(|| Figures::sum(&all, at_once));
        if self.plan.keep != Keep::First {
            for number in 0..self.shards.len() {
                self.shard(number).forget_keys();
            }
        }
        Ok(())
    }

    /// Finds the last records of each shard, with all threads.
    fn find_last(&self) -> Result<Vec<Figures>> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<Vec<Figures>> {
            let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
            let numbers = numbers.take_while(|number| *number < self.shards.len());
            numbers.map(|number| self.shard(number).find_last(self.plan)).collect()
        };
        thread::scope(|scope| {
            let start = |_| {
                let thread = thread::Builder::new().name("worker".to_owned());
                // If a thread does not start, the others do its work.
                thread.spawn_scoped(scope, work).ok()
            };
            let others: Vec<_> = (1..self.threads.get()).filter_map(start).collect();
            let mut all = work();
            for other in others {
                let found = other.join().unwrap_or_else(|panic| resume_unwind(panic));
                all = all.and_then(|all| Ok([all, found?].concat()));
            }
            all
        })
    }

    /// Stores the keys of a block, which are grouped by shard.
    fn append(&self, answers: &Answers) -> Result<()> {
        let mut groups = answers.groups.iter().enumerate();
        groups.try_for_each(|(number, group)| self.shard(number).append(&group.hashes))
    }

    fn shard(&self, number: usize) -> MutexGuard<'_, CopiesShard> {
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn figures(&self) -> FilterFigures {
        let Figures { keys, items, slots, first_bytes, other_bytes } =
            self.figures.get().copied().unwrap_or_default();
        let hash_bits = HASH_BITS;
        FilterFigures {
            items,
            capacity: None,
            load: Some(keys as f64 / slots as f64),
            memory_bytes: first_bytes + other_bytes,
            hash_bits: Some(hash_bits),
            false_positive_rate: Some(keys as f64 / hash_bits.exp2()),
            window: None,
        }
    }

    pub(crate) fn hasher(&self) -> KeyHasher {
        self.shard(0).hasher()
    }
}

/// One of the two passes. In the second, a record that passes counts as new.
#[derive(Clone, Debug)]
pub(crate) enum CopiesPass {
    First(Arc<Copies>),
    /// With keys that are counted like others, but count as seen.
    Second(Arc<Copies>, Known),
}

impl CopiesPass {
    fn copies(&self) -> &Copies {
        match self {
            Self::First(copies) | Self::Second(copies, _) => copies,
        }
    }

    /// Then no shard is looked up.
    fn only_keeps_hashes(&self) -> bool {
        matches!(self, Self::First(copies) if copies.plan.keep == Keep::Last)
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
        if self.only_keeps_hashes() {
            return self.copies().append(answers).map_err(Stop::Failed);
        }
        let Copies { division, plan, .. } = self.copies();
        let merged = sharding::merge(*division, keys, answers);
        if let Self::Second(_, known) = &*self {
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
        let figures = self.copies().figures();
        let keys = self.copies().figures.get().map_or(0, |figures| figures.keys);
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
        if self.only_keeps_hashes() { 0 } else { self.copies().shards.len() }
    }

    fn query_shard(&self, shard: usize, group: &mut Group) {
        let copies = self.copies();
        let mut shard = copies.shard(shard);
        match self {
            Self::First(_) => shard.add(group, copies.plan),
            Self::Second(..) => shard.ask(group, copies.plan),
        }
    }
}
