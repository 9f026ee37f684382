//! What two passes over the same records need: which keys come again, and how often.
//!
//! The first pass puts each key into `first`, and counts in `more` the records whose key is there. So most keys take no
//! more than `dedup` takes for them. In the second pass the first record of a key is the one that takes the key out of
//! `first`; the last one is that for which `more` has nothing left to take; and a key that `more` never had is alone.

use crate::filter::estimate::Forecast;
use crate::filter::op::{NoRoom, Op, Stop};
use crate::filter::run_filter::{RunFilter, Summary, SummaryRequest};
use crate::filter::sharding::{self, HASH_BITS, ask, outcomes};
use crate::filter::spec::FilterSpec;
use crate::filter::tally::Tally;
use crate::input::Survey;
use crate::key::{Answers, BlockKeys, Group, Known};
use crate::pipeline::{Batch, Prefetch};
use crate::record::LARGE_BLOCK;
use crate::terminal::{FilterFigures, Result};
use coua::shards::{Division, Shards};
use coua::{CuckooFilter, Insertion, KeyHash, KeyHasher};
use std::iter::zip;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Which of several records with the same key is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    First,
    Last,
    /// Only a record whose key no other has.
    None,
}

/// What the second pass is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    pub(crate) keep: Keep,
    /// Also how many records have the key.
    pub(crate) counts: bool,
}

/// The filters, in shards by the first bits of their keys.
#[derive(Debug)]
pub(crate) struct Copies {
    shards: Vec<Mutex<CopiesShard>>,
    division: Division,
    question: Question,
    /// After the first pass, which needs most.
    figures: OnceLock<Figures>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    items: u64,
    slots: u64,
    memory_bytes: u64,
}

#[derive(Debug)]
struct CopiesShard {
    first: CuckooFilter,
    more: Tally,
    /// What is left of `more`, where that itself must stay.
    left: Option<Tally>,
    forecast: Option<Forecast>,
    /// Keys of a block that were there.
    again: Vec<KeyHash>,
}

impl Copies {
    /// As many shards as `threads` can use.
    pub(crate) fn new(
        spec: &FilterSpec,
        inputs: &Survey,
        threads: NonZeroUsize,
        question: Question,
    ) -> Result<Self> {
        let division = Division::for_threads(threads);
        let filters = || spec.build_shards(division).map(Shards::into_filters);
        let shard = |(first, more)| {
            let forecast = Forecast::new(inputs.total_bytes);
            let (more, left, again) = (Tally::new(more), None, Vec::new());
            Mutex::new(CopiesShard { first, more, left, forecast, again })
        };
        let shards = zip(filters()?, filters()?).map(shard).collect();
        Ok(Self { shards, division, question, figures: OnceLock::new() })
    }

    /// Makes ready for the second pass. What it does not need goes.
    pub(crate) fn turn(&self) -> Result<(), NoRoom> {
        let Question { keep, counts } = self.question;
        let items = self.figures.get_or_init(|| self.sum()).items;
        for number in 0..self.shards.len() {
            let CopiesShard { first, more, left, .. } = &mut *self.shard(number);
            if keep != Keep::First {
                first.clear();
            }
            if keep == Keep::Last && counts {
                let copy = more.copied();
                *left = Some(copy.map_err(|_| NoRoom::memory(items))?);
            }
        }
        Ok(())
    }

    fn shard(&self, number: usize) -> MutexGuard<'_, CopiesShard> {
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sum(&self) -> Figures {
        let mut sum = Figures::default();
        for number in 0..self.shards.len() {
            let CopiesShard { first, more, .. } = &*self.shard(number);
            for filter in [first].into_iter().chain(more.filters()) {
                sum.items += filter.len();
                sum.slots += filter.slots();
                sum.memory_bytes += filter.memory_bytes() as u64;
            }
        }
        sum
    }

    fn figures(&self) -> FilterFigures {
        let Figures { items, slots, memory_bytes } = *self.figures.get_or_init(|| self.sum());
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

impl CopiesShard {
    fn add(&mut self, group: &mut Group, consumed: u64, question: Question) {
        let Self { first, more, forecast, again, .. } = self;
        ask(first, Op::Dedup, group);
        again.clear();
        let all = zip(&group.hashes, &group.outcomes);
        again
            .extend(all.filter(|(_, it)| **it == Insertion::AlreadyPresent).map(|(hash, _)| *hash));
        // Nothing of a pass that has found no room is used.
        let counted = match question.keep {
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

    fn ask(&mut self, group: &mut Group, question: Question) {
        let Self { first, more, left, .. } = self;
        let hashes = &group.hashes;
        if question.counts {
            group.totals.extend(more.count(hashes).into_iter().map(|again| again + 1));
        }
        let is_kept = match question.keep {
            Keep::First => first.remove_batch(hashes),
            Keep::Last => left.as_mut().unwrap_or(more).take(hashes),
            Keep::None => more.count(hashes).into_iter().map(|again| again == 0).collect(),
        };
        group.outcomes.extend(outcomes(is_kept.into_iter().map(|is_kept| !is_kept)));
    }
}

/// One of the two passes. In the second one a record that is kept is new.
#[derive(Clone, Debug)]
pub(crate) enum CopiesPass {
    First(Arc<Copies>),
    /// With keys that are counted like others, and count as seen.
    Second(Arc<Copies>, Known),
}

impl CopiesPass {
    fn copies(&self) -> &Copies {
        match self {
            Self::First(copies) | Self::Second(copies, _) => copies,
        }
    }
}

impl RunFilter for CopiesPass {
    fn hasher(&self) -> KeyHasher {
        self.copies().hasher()
    }

    fn load(&self) -> Option<f64> {
        Some(self.copies().shard(0).first.load_factor())
    }

    fn block_bytes(&self) -> usize {
        LARGE_BLOCK
    }

    fn prefetch(&self) -> Arc<dyn Prefetch> {
        Arc::new(self.clone())
    }

    fn answer(&mut self, _op: Op, batch: &mut Batch, _known: usize) -> Result<(), Stop> {
        let Batch { keys, answers, .. } = batch;
        let Copies { division, question, .. } = self.copies();
        let merged = sharding::merge(*division, keys, answers, HASH_BITS);
        if let Self::Second(_, known) = &*self {
            // Nothing was inserted, so that no shard has refused a key.
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
        self.copies().shards.len()
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
