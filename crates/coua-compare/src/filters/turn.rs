//! One contestant's turn in one round: it is built, filled, asked, emptied.

use std::fmt;
use std::hint::black_box;
use std::ops::Range;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::contestant::{Contestant, Entry, Made, Plan};
use crate::generate::Order;
use crate::host;
use crate::keys::{Key, Row};
use crate::measure::{thread_time, timed_in, timed_threads};
use crate::warmth::Warmth;

/// What a turn consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Insert to the stated capacity, look up, remove; memory, rate, lost keys.
    Life,
    /// Insert if absent.
    Unique,
    /// Several threads at once, and building from all keys at once.
    Threads,
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// All items, from empty to the stated capacity.
    Insert,
    /// The last of them: where all make 95 % load, those from 90 % on.
    LastStretch,
    /// Lookups of all that was inserted.
    Present,
    /// Lookups of strangers.
    Absent,
    /// Lookups of one or the other at random.
    Half,
    /// Removal of all items.
    Remove,
    /// Insert if absent: a stream of which 57 in 100 are repeats.
    UniqueMixed,
    /// Insert if absent: new keys only.
    UniqueNew,
    /// Insert if absent: nothing new.
    UniqueRepeats,
    /// Inserts by several threads at once.
    InsertThreads,
    /// Lookups of strangers by several threads at once.
    AbsentThreads,
    /// All keys at once, with all threads.
    Build,
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Insert => "insert",
            Self::LastStretch => "its last 5 of 95",
            Self::Present => "present",
            Self::Absent => "absent",
            Self::Half => "half",
            Self::Remove => "remove",
            Self::UniqueMixed => "unique, 57 % repeats",
            Self::UniqueNew => "unique, new",
            Self::UniqueRepeats => "unique, repeats",
            Self::InsertThreads => "insert, threads",
            Self::AbsentThreads => "absent, threads",
            Self::Build => "all keys at once, threads",
        })
    }
}

/// What is counted rather than timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// Bytes allocated when all items are in.
    pub(crate) bytes: usize,
    /// By how much the process grew.
    pub(crate) resident_bytes: u64,
    /// The share of strangers taken for members.
    pub(crate) rate: f64,
    /// Inserts that the contestant says it refused.
    pub(crate) refused: u64,
    /// Keys it took, and then says are absent.
    pub(crate) lost: u64,
    /// Keys it holds by its own word, and then cannot remove.
    pub(crate) not_removed: u64,
}

/// Makes a contestant in memory that is warm: where that comes from is not what is compared.
type Warm<'a, K> = &'a dyn Fn(Plan) -> Made<K>;

/// What one turn yields.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// Nanoseconds a key.
    pub(crate) times: Vec<(Step, f64)>,
    /// Counts.
    pub(crate) facts: Facts,
}

impl Turn {
    /// Plays it.
    pub(crate) fn play<K: Key>(
        entry: &Entry<K>,
        plan: Plan,
        parts: &[Part],
        threads: u64,
    ) -> Result<Self, String> {
        let make = entry.fixed.ok_or("it only grows")?;
        let make = &move |plan| {
            Warmth::default().begin(entry, plan);
            make(plan)
        };
        let mut turn = Self::default();
        if parts.contains(&Part::Life) {
            turn.whole_life(make, plan)?;
        }
        if parts.contains(&Part::Unique) {
            turn.unique(make, plan)?;
        }
        if parts.contains(&Part::Threads) {
            turn.build(make, plan, threads)?;
            if threads > 1 {
                turn.threads(make, plan, threads)?;
            }
        }
        Ok(turn)
    }

    fn whole_life<K: Key>(&mut self, make: Warm<'_, K>, plan: Plan) -> Result<(), String> {
        let before = (host::allocated(), host::resident().unwrap_or(0));
        let mut contestant = make(plan)?;
        let refused = self.fill(contestant.as_mut(), plan);
        let bytes = host::allocated().saturating_sub(before.0);
        self.facts.bytes = contestant.memory_bytes().unwrap_or(bytes);
        self.facts.resident_bytes = host::resident().unwrap_or(0).saturating_sub(before.1);
        self.facts.refused = refused.len() as u64;
        let missing = plan.items - self.ask(contestant.as_ref(), plan);
        let rightly = self.facts.refused - contestant.contains(&refused);
        self.facts.lost = missing.saturating_sub(rightly);
        self.empty(contestant.as_mut(), plan.items - missing);
        Ok(())
    }

    /// Inserts everything; the keys that were refused come back.
    fn fill<K: Key>(&mut self, contestant: &mut dyn Contestant<K>, plan: Plan) -> Vec<K> {
        let mut refused = Vec::new();
        let size = contestant.block();
        let mut insert = |range: Range<u64>| {
            let count = (range.end - range.start) as f64;
            let work = |block: &[K]| contestant.insert(block, &mut refused);
            (count, timed_in(size, Row::Present.keys(range), work))
        };
        let stretch = plan.items * 90 / 95;
        let (first, last) = (insert(0..stretch), insert(stretch..plan.items));
        let insert = (first.0 * first.1 + last.0 * last.1) / plan.items as f64;
        // Filters that are built at once take their time here.
        let start = thread_time();
        contestant.seal();
        let seal = thread_time().saturating_sub(start).as_secs_f64() * 1e9 / plan.items as f64;
        self.times.push((Step::Insert, insert + seal));
        self.times.push((Step::LastStretch, last.1));
        refused
    }

    /// Looks up members, strangers and both; how many members were found.
    fn ask<K: Key>(&mut self, contestant: &dyn Contestant<K>, plan: Plan) -> u64 {
        let size = contestant.block();
        let mut lookups = |step, row: Row, keys: u64| {
            let mut found = 0;
            let time = timed_in(size, row.keys(0..keys), |block| {
                found += contestant.contains(block);
            });
            self.times.push((step, time));
            found
        };
        // Enough strangers for a rate within a few hundredths, and no more.
        let strangers = (plan.items * 4).min(20_000_000);
        let members = lookups(Step::Present, Row::Present, plan.items);
        let wrong = lookups(Step::Absent, Row::Absent, strangers);
        lookups(Step::Half, Row::Half, strangers.min(plan.items));
        self.facts.rate = wrong as f64 / strangers as f64;
        members
    }

    fn empty<K: Key>(&mut self, contestant: &mut dyn Contestant<K>, members: u64) {
        if contestant.remove(&[]).is_none() {
            return;
        }
        let size = contestant.block();
        let mut removed = 0;
        // As many removals as members; those of keys that it never had would take strangers away.
        let time = timed_in(size, Row::Present.keys(0..members), |block| {
            removed += contestant.remove(block).unwrap_or(0);
        });
        self.times.push((Step::Remove, time));
        self.facts.not_removed = members - removed;
    }

    fn unique<K: Key>(&mut self, make: Warm<'_, K>, plan: Plan) -> Result<(), String> {
        let mut contestant = make(plan)?;
        if contestant.insert_unique(&[]).is_none() {
            return Ok(());
        }
        let size = contestant.block();
        for step in [Step::UniqueNew, Step::UniqueRepeats] {
            let time = timed_in(size, Row::Present.keys(0..plan.items), |block| {
                black_box(contestant.insert_unique(block));
            });
            self.times.push((step, time));
        }
        drop(contestant);
        let mut contestant = make(plan)?;
        let stream = Order::new(1, plan.items * 100 / 43, plan.items * 100 / 43 - plan.items);
        let time = timed_in(size, stream.map(K::nth), |block| {
            black_box(contestant.insert_unique(block));
        });
        self.times.push((Step::UniqueMixed, time));
        Ok(())
    }

    fn build<K: Key>(&mut self, make: Warm<'_, K>, plan: Plan, threads: u64) -> Result<(), String> {
        let mut contestant = make(plan)?;
        if contestant.build(&[], 1).is_none() {
            return Ok(());
        }
        let keys: Vec<K> = Row::Present.keys(0..plan.items).collect();
        let start = Instant::now();
        let refused = contestant.build(&keys, threads as usize).unwrap_or(0);
        let time = start.elapsed().as_secs_f64() * 1e9 / plan.items as f64;
        self.times.push((Step::Build, time));
        let found: u64 = keys.chunks(K::BLOCK).map(|block| contestant.contains(block)).sum();
        self.facts.lost += plan.items.saturating_sub(found + refused);
        self.facts.refused = self.facts.refused.max(refused);
        Ok(())
    }

    fn threads<K: Key>(
        &mut self,
        make: Warm<'_, K>,
        plan: Plan,
        threads: u64,
    ) -> Result<(), String> {
        let mut contestant = make(plan)?;
        let size = contestant.block();
        if let Some(shared) = contestant.shared() {
            let (time, _) = timed_threads(threads, size, Row::Present, plan.items, |block| {
                shared.insert(block)
            });
            self.times.push((Step::InsertThreads, time));
        } else {
            let mut refused = Vec::new();
            timed_in(size, Row::Present.keys(0..plan.items), |block| {
                contestant.insert(block, &mut refused);
            });
            contestant.seal();
        }
        let strangers = plan.items.min(20_000_000);
        let (time, _) = timed_threads(threads, size, Row::Absent, strangers, |block| {
            contestant.contains(block)
        });
        self.times.push((Step::AbsentThreads, time));
        Ok(())
    }
}
