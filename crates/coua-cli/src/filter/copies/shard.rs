//! One shard of the keys.

use super::hash_spool::{HashSpool, nothing_printed};
use crate::filter::op::NoRoom;
use crate::filter::sharding::{outcomes, stop_at_refusal};
use crate::key::Group;
use crate::terminal::{Result, caught_signal};
use coua::window::When;
use coua::{CuckooFilter, Filter, IfPresent, Insertion, KeyHash, KeyHasher};
use std::iter::zip;
use std::mem;

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

/// The keys of a shard.
#[derive(Debug)]
pub(super) struct CopiesShard {
    first: CuckooFilter,
    /// The records of each key but the first.
    more: CuckooFilter,
    /// The initial filter.
    empty: CuckooFilter,
    /// Keys of a block that were already present.
    again: Vec<KeyHash>,
    /// The keys of all records, if the last ones are to be found.
    records: HashSpool,
    last: LastRecords,
}

/// The records of a shard that are the last of their keys.
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

/// The figures of a shard, or of all shards together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub(super) keys: u64,
    /// With copies.
    pub(super) items: u64,
    /// The slots for keys.
    pub(super) slots: u64,
    /// The memory of `first`.
    pub(super) first_bytes: u64,
    /// The other memory.
    pub(super) other_bytes: u64,
}

impl Figures {
    /// The sum over all shards, which are about equal, if `at_once` of them have their `first` in memory at a time.
    pub(super) fn sum(all: &[Self], at_once: usize) -> Self {
        let sum = |figure: fn(&Self) -> u64| all.iter().map(figure).sum::<u64>();
        let largest = all.iter().map(|it| it.first_bytes).max().unwrap_or(0);
        Self {
            keys: sum(|it| it.keys),
            items: sum(|it| it.items),
            slots: sum(|it| it.slots),
            first_bytes: sum(|it| it.first_bytes).min(largest * at_once as u64),
            other_bytes: sum(|it| it.other_bytes),
        }
    }
}

impl CopiesShard {
    pub(super) fn new(first: CuckooFilter, mut empty: CuckooFilter) -> Self {
        let (records, last) = (HashSpool::default(), LastRecords::default());
        empty.compact();
        let more = empty.clone();
        Self { first, more, empty, again: Vec::new(), records, last }
    }

    pub(super) fn hasher(&self) -> KeyHasher {
        self.first.hasher()
    }

    /// Stores the keys of a block for `find_last`.
    pub(super) fn append(&mut self, hashes: &[KeyHash]) -> Result<()> {
        self.records.append(hashes)
    }

    /// Frees the memory of the keys, if the second pass does not need them.
    pub(super) fn forget_keys(&mut self) {
        self.first.clear();
    }

    /// Inserts the keys of a block in the first pass.
    pub(super) fn add(&mut self, group: &mut Group, plan: SecondPassPlan) {
        let Self { first, more, again, .. } = self;
        group.items_before = first.len();
        let result =
            first.insert_each(&group.hashes, When::Now, IfPresent::Skip, &mut group.outcomes);
        stop_at_refusal(group, result);
        again.clear();
        let all = zip(&group.hashes, &group.outcomes);
        again
            .extend(all.filter(|(_, it)| **it == Insertion::AlreadyPresent).map(|(hash, _)| *hash));
        // A pass that found no room has no usable results.
        let counted = match plan.keep {
            Keep::Last if !plan.counts => Ok(()),
            Keep::None if !plan.counts => more.insert_unique_batch(again).map(drop),
            _ => more.insert_batch(again),
        };
        group.stopped = group.stopped.or(counted.err());
        if group.stopped.is_some() {
            group.outcomes.clear();
        }
    }

    /// Inserts all records from the last to the first, and sets the bits of the last ones of their keys.
    pub(super) fn find_last(&mut self, plan: SecondPassPlan) -> Result<Figures> {
        let records = mem::take(&mut self.records);
        let (mut left, mut group) = (records.len(), Group::default());
        let mut last = LastRecords::with_room(left).map_err(|it| nothing_printed(&it))?;
        let spooled = records.memory_bytes();
        records.read_backwards(|hashes| {
            if caught_signal().is_some() {
                return Ok(());
            }
            group.clear();
            group.hashes.extend(hashes);
            self.add(&mut group, plan);
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
        figures.other_bytes += spooled as u64;
        // Frees its memory.
        let empty = self.empty.try_clone();
        self.first = empty.map_err(|_| nothing_printed(&NoRoom::memory(figures.items)))?;
        Ok(figures)
    }

    /// Answers for a block in the second pass.
    pub(super) fn ask(&mut self, group: &mut Group, plan: SecondPassPlan) {
        let Self { first, more, last, .. } = self;
        let hashes = &group.hashes;
        if plan.counts {
            group.totals.extend(more.count_batch(hashes).into_iter().map(|again| again + 1));
        }
        let is_kept = match plan.keep {
            Keep::First => first.remove_batch(hashes),
            Keep::Last => hashes.iter().map(|_| last.is_next()).collect(),
            Keep::None => more.contains_batch(hashes).into_iter().map(|again| !again).collect(),
        };
        group.outcomes.extend(outcomes(is_kept.into_iter().map(|is_kept| !is_kept)));
    }

    pub(super) fn figures(&self) -> Figures {
        let Self { first, more, last, .. } = self;
        let other = last.bits.len() * 8 + more.memory_bytes();
        Figures {
            keys: first.len(),
            items: first.len() + more.len(),
            slots: first.slots(),
            first_bytes: first.memory_bytes() as u64,
            other_bytes: other as u64,
        }
    }
}
