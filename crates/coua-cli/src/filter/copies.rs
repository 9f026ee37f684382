//! Which keys repeat, and how often, for two passes over the same records.
//!
//! The first pass inserts each key into `first`, and counts in `more` the records whose key is already there. So most
//! keys take no more memory than with `dedup`. In the second pass the first record of a key removes it from `first`; a
//! key that was never in `more` is unique.
//!
//! To find the last record of each key, the first pass only stores the hashes, shard by shard. Between the passes each
//! shard is read backwards: the last record of a key is then the first that is not in `first`. One bit per record
//! passes the result to the second pass. (`docs/decisions/0020-two-passes-of-records.md`)

use crate::filter::collisions::{self, Answered};
use crate::filter::estimate::Forecast;
use crate::filter::hash_spool::{HashSpool, nothing_printed};
use crate::filter::op::{NoRoom, Op, Stop};
use crate::filter::run_filter::{RunFilter, Summary, SummaryRequest};
use crate::filter::sharding::{self, HASH_BITS, ask, outcomes};
use crate::filter::spec::FilterSpec;
use crate::filter::tally::Tally;
use crate::input::{Spooling, Survey};
use crate::key::{Answers, BlockKeys, Expectation, Group, Known};
use crate::pipeline::{Batch, Prefetch};
use crate::record::LARGE_BLOCK;
use crate::terminal::{FilterFigures, Result, caught_signal};
use coua::shards::{Division, Shards};
use coua::{CuckooFilter, Insertion, KeyHash, KeyHasher};
use std::cmp::Reverse;
use std::iter::zip;
use std::mem;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// The fewest shards for the last records. Each thread has the filter of one shard at a time: that filter is small and
/// stays in the cache, and the others take no memory.
const SHARDS_FOR_LAST: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// Which of several records with the same key passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    First,
    Last,
    /// Only a record whose key occurs once.
    None,
}

/// What the second pass must know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    pub(crate) keep: Keep,
    /// Whether it also needs the number of records with the key.
    pub(crate) counts: bool,
}

/// The filters, in shards by the first bits of the keys.
#[derive(Debug)]
pub(crate) struct Copies {
    shards: Vec<Mutex<CopiesShard>>,
    division: Division,
    threads: NonZeroUsize,
    question: Question,
    /// Taken after the first pass, or between the passes, when most memory is in use.
    figures: OnceLock<Figures>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    keys: u64,
    items: u64,
    slots: u64,
    memory_bytes: u64,
}

#[derive(Debug)]
struct CopiesShard {
    first: CuckooFilter,
    more: Tally,
    forecast: Option<Forecast>,
    /// Keys of a block that were already present.
    again: Vec<KeyHash>,
    /// The keys of all records, if the last ones are to be found.
    records: HashSpool,
    last: LastRecords,
}

/// Which records of a shard are the last of their keys.
#[derive(Debug, Default)]
struct LastRecords {
    /// One bit per record.
    bits: Vec<u64>,
    /// The next record of the second pass.
    next: usize,
}

impl LastRecords {
    fn with_room(records: u64) -> Result<Self, NoRoom> {
        let mut bits = Vec::new();
        let words = records.div_ceil(u64::BITS.into()) as usize;
        bits.try_reserve_exact(words).map_err(|_| NoRoom::memory(0))?;
        bits.resize(words, 0);
        Ok(Self { bits, next: 0 })
    }

    fn set(&mut self, record: u64) {
        self.bits[(record / 64) as usize] |= 1 << (record % 64);
    }

    /// Whether the next record is the last of its key. A record beyond the first pass counts as new.
    fn is_next(&mut self) -> bool {
        let record = self.next;
        self.next += 1;
        self.bits.get(record / 64).is_none_or(|word| word >> (record % 64) & 1 == 1)
    }
}

impl Copies {
    /// Creates as many shards as `threads` can use.
    pub(crate) fn new(
        spec: &FilterSpec,
        inputs: &Survey,
        threads: NonZeroUsize,
        question: Question,
        spooling: Spooling,
    ) -> Result<Self> {
        let is_last = question.keep == Keep::Last;
        let fewest = if is_last { SHARDS_FOR_LAST } else { NonZeroUsize::MIN };
        let division = Division::for_threads(threads.max(fewest));
        let filters = || spec.build_shards(division).map(Shards::into_filters);
        let shard = |(first, more)| {
            let forecast = Forecast::new(inputs.total_bytes, division.shards());
            let (records, last) = (HashSpool::new(spooling), LastRecords::default());
            let (more, again) = (Tally::new(more), Vec::new());
            Mutex::new(CopiesShard { first, more, forecast, again, records, last })
        };
        let shards = zip(filters()?, filters()?).map(shard).collect();
        Ok(Self { shards, division, threads, question, figures: OnceLock::new() })
    }

    /// Prepares the second pass, unless a signal ends the program. Frees what that pass does not need.
    pub(crate) fn turn(&self) -> Result<()> {
        let (all, at_once) = if self.question.keep == Keep::Last {
            (self.find_last()?, self.threads.get())
        } else {
            let shards = 0..self.shards.len();
            (shards.map(|number| self.shard(number).figures()).collect(), usize::MAX)
        };
        self.figures.get_or_init(|| ShardFigures::sum(all, at_once));
        if self.question.keep != Keep::First {
            for number in 0..self.shards.len() {
                self.shard(number).first.clear();
            }
        }
        Ok(())
    }

    /// Finds the last records of each shard, with all threads.
    fn find_last(&self) -> Result<Vec<ShardFigures>> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<Vec<ShardFigures>> {
            let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
            let numbers = numbers.take_while(|number| *number < self.shards.len());
            numbers.map(|number| self.shard(number).find_last(self.question)).collect()
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
        groups.try_for_each(|(number, group)| self.shard(number).records.append(&group.hashes))
    }

    fn shard(&self, number: usize) -> MutexGuard<'_, CopiesShard> {
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many records are expected to share a hash with another record.
    pub(crate) fn expected_wrongly_found(&self) -> Expectation {
        let keys = self.figures.get().map_or(0, |figures| figures.keys);
        let answered = Answered { new: keys, repeats: 0 };
        collisions::among_repeats(answered, [0, keys], HASH_BITS)
    }

    fn figures(&self) -> FilterFigures {
        let Figures { items, slots, memory_bytes, .. } =
            self.figures.get().copied().unwrap_or_default();
        let hash_bits = HASH_BITS;
        FilterFigures {
            items,
            load: Some(items as f64 / slots as f64),
            memory_bytes,
            hash_bits: Some(hash_bits),
            false_positive_rate: Some(items as f64 / hash_bits.exp2()),
            window: None,
        }
    }

    pub(crate) fn hasher(&self) -> KeyHasher {
        self.shard(0).first.hasher()
    }
}

/// The figures of a shard.
#[derive(Clone, Copy, Debug)]
struct ShardFigures {
    keys: u64,
    items: u64,
    slots: u64,
    /// The memory of `first`, and of the rest.
    memory_bytes: [u64; 2],
}

impl ShardFigures {
    /// The sum over all shards, if `at_once` shards have their `first` in memory at a time.
    fn sum(mut all: Vec<Self>, at_once: usize) -> Figures {
        all.sort_unstable_by_key(|it| Reverse(it.memory_bytes[0]));
        let sum = |figure: fn(&Self) -> u64| all.iter().map(figure).sum::<u64>();
        let firsts = all.iter().take(at_once).map(|it| it.memory_bytes[0]).sum::<u64>();
        Figures {
            keys: sum(|it| it.keys),
            items: sum(|it| it.items),
            slots: sum(|it| it.slots),
            memory_bytes: firsts + sum(|it| it.memory_bytes[1]),
        }
    }
}

impl CopiesShard {
    fn add(&mut self, group: &mut Group, consumed: u64, question: Question) {
        let Self { first, more, forecast, again, .. } = self;
        ask(first, Op::Dedup, group);
        again.clear();
        let all = zip(&group.hashes, &group.outcomes);
        again
            .extend(all.filter(|(_, it)| **it == Insertion::AlreadyPresent).map(|(hash, _)| *hash));
        // A pass that found no room has no usable results.
        let counted = match question.keep {
            Keep::Last if !question.counts => Ok(()),
            Keep::None if !question.counts => more.mark(again),
            _ => more.add(again),
        };
        group.stopped = group.stopped.or(counted.err());
        if group.stopped.is_some() {
            group.outcomes.clear();
        }
        if let Some(forecast) = forecast {
            forecast.make_room(consumed, group.hashes.len(), first);
        }
    }

    /// Inserts all records from the last to the first, and sets the bits of the last ones of their keys.
    fn find_last(&mut self, question: Question) -> Result<ShardFigures> {
        let records = mem::replace(&mut self.records, HashSpool::new(Spooling::Refused));
        let (mut left, mut group) = (records.len(), Group::default());
        let mut last = LastRecords::with_room(left).map_err(|it| nothing_printed(&it))?;
        let (count, spooled) = (left, records.memory_bytes());
        self.forecast = Forecast::new(Some(count), 1);
        records.read_backwards(|hashes| {
            if caught_signal().is_some() {
                return Ok(());
            }
            group.clear();
            group.hashes.extend(hashes);
            let consumed = count - left + group.hashes.len() as u64;
            self.add(&mut group, consumed, question);
            if let Some(stopped) = group.stopped {
                return Err(nothing_printed(&NoRoom::of(&stopped.full)));
            }
            for outcome in &group.outcomes {
                left -= 1;
                if *outcome == Insertion::Inserted {
                    last.set(left);
                }
            }
            Ok(())
        })?;
        self.last = last;
        let mut figures = self.figures();
        figures.memory_bytes[1] += spooled as u64;
        // Frees its memory.
        self.first =
            self.more.empty().map_err(|_| nothing_printed(&NoRoom::memory(figures.items)))?;
        Ok(figures)
    }

    fn ask(&mut self, group: &mut Group, question: Question) {
        let Self { first, more, last, .. } = self;
        let hashes = &group.hashes;
        if question.counts {
            group.totals.extend(more.count(hashes).into_iter().map(|again| again + 1));
        }
        let is_kept = match question.keep {
            Keep::First => first.remove_batch(hashes),
            Keep::Last => hashes.iter().map(|_| last.is_next()).collect(),
            Keep::None => more.count(hashes).into_iter().map(|again| again == 0).collect(),
        };
        group.outcomes.extend(outcomes(is_kept.into_iter().map(|is_kept| !is_kept)));
    }

    fn figures(&self) -> ShardFigures {
        let Self { first, more, last, .. } = self;
        let of_first = (first.len(), first.slots(), first.memory_bytes());
        let (mut items, mut slots, mut bytes) = (of_first.0, of_first.1, last.bits.len() * 8);
        for filter in more.filters() {
            items += filter.len();
            slots += filter.slots();
            bytes += filter.memory_bytes();
        }
        let memory_bytes = [of_first.2 as u64, bytes as u64];
        ShardFigures { keys: of_first.0, items, slots, memory_bytes }
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
        matches!(self, Self::First(copies) if copies.question.keep == Keep::Last)
    }
}

impl RunFilter for CopiesPass {
    fn hasher(&self) -> KeyHasher {
        self.copies().hasher()
    }

    fn load(&self) -> Option<f64> {
        let copies = self.copies();
        (copies.question.keep != Keep::Last).then(|| copies.shard(0).first.load_factor())
    }

    fn knows_new(&self) -> bool {
        !self.only_keeps_hashes()
    }

    fn block_bytes(&self) -> usize {
        LARGE_BLOCK
    }

    fn prefetch(&self) -> Arc<dyn Prefetch> {
        Arc::new(self.clone())
    }

    fn answer(&mut self, _op: Op, batch: &mut Batch, _known: usize) -> Result<(), Stop> {
        let Batch { keys, answers, .. } = batch;
        if self.only_keeps_hashes() {
            return self.copies().append(answers).map_err(Stop::Failed);
        }
        let Copies { division, question, .. } = self.copies();
        let merged = sharding::merge(*division, keys, answers, HASH_BITS);
        if let Self::Second(_, known) = &*self {
            // Nothing was inserted, so no shard has refused a key.
            if question.counts {
                sharding::merge_totals(*division, keys, answers);
            }
            known.mark(keys, &mut answers.found);
        }
        merged
    }

    fn summary(&mut self, request: SummaryRequest) -> Summary {
        Summary::of(self.copies().figures(), request)
    }
}

impl Prefetch for CopiesPass {
    fn lookup(&self, keys: &BlockKeys, answers: &mut Answers) {
        sharding::group(self.copies().division, keys, answers);
    }

    fn shards(&self) -> usize {
        if self.only_keeps_hashes() { 0 } else { self.copies().shards.len() }
    }

    fn query_shard(&self, shard: usize, group: &mut Group, consumed: u64) {
        let copies = self.copies();
        let mut shard = copies.shard(shard);
        match self {
            Self::First(_) => shard.add(group, consumed, copies.question),
            Self::Second(..) => shard.ask(group, copies.question),
        }
    }
}
