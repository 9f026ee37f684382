//! Inserting many keys, with eviction chains interleaved.
//!
//! The order of all work *within a segment* is that of single calls ([`ActiveChains`]). Segments are
//! independent, so the bytes are the same. Growth and refusal depend on more than a segment and follow key
//! order, with no chain active; such a key and the rest of its group are deferred.

use std::ops::Range;

use super::active::ActiveChains;
use crate::cuckoo::{CuckooFilter, Placement, Prefetcher, WhenBlocked};
use crate::error::{BatchFull, Full, Insertion};
use crate::hash::KeyHash;
use crate::kernel::{
    IfPresent, InsertProbes, KeyGroup, Levels, Probe, Task, WIDTH, dispatch, uniform,
};

/// In a filter of fewer segments nearly every key would meet a busy one: there each chain is finished at
/// once.
const FEW_SEGMENTS: usize = 4;
/// Keys of a batch that are taken together: none of them is deferred for longer.
const CHUNK: usize = 4096;

/// A batch of keys on its way into a filter.
pub(super) struct InsertBatch<'a> {
    pub(super) filter: &'a mut CuckooFilter,
    pub(super) hashes: &'a [KeyHash],
    done: usize,
    pub(super) if_present: IfPresent,
    /// One for each key, or none where nobody asks.
    outcomes: &'a mut [Insertion],
    pub(super) active: ActiveChains,
    /// Keys may go in before earlier ones of other segments: no limit is near that depends on the order.
    may_reorder: bool,
    /// Each key must see whether the filter takes one more item.
    is_near_max_items: bool,
    /// A key needs the filter to grow, which must wait for all keys before it.
    pub(super) is_blocked: bool,
    /// That key and the rest of its group.
    pub(super) deferred: Vec<usize>,
}

/// A group of keys that is being inserted.
#[derive(Clone, Copy)]
struct Group<'a> {
    keys: &'a KeyGroup,
    probes: &'a InsertProbes,
    /// The number in the batch of the key that would be the group's first.
    start: usize,
}

impl<'a> InsertBatch<'a> {
    #[inline(always)]
    pub(super) fn new(
        filter: &'a mut CuckooFilter,
        hashes: &'a [KeyHash],
        if_present: IfPresent,
        outcomes: &'a mut [Insertion],
    ) -> Self {
        Self {
            filter,
            hashes,
            done: 0,
            if_present,
            outcomes,
            active: ActiveChains::default(),
            may_reorder: false,
            is_near_max_items: true,
            is_blocked: false,
            deferred: Vec::new(),
        }
    }

    pub(super) fn insert_all(mut self) -> Result<(), BatchFull> {
        let mut outcome = Ok(());
        while outcome.is_ok() && self.done < self.hashes.len() {
            let uniform = self.filter.uniform();
            outcome = dispatch(&mut self, uniform);
        }
        outcome
    }

    /// Inserts a chunk of keys, or fewer if a segment splits; none is deferred beyond it.
    #[inline(always)]
    fn insert_chunk(&mut self, levels: impl Levels) -> Result<(), BatchFull> {
        let end = self.hashes.len().min(self.done + CHUNK);
        self.may_reorder = self.filter.is_far_from_limits(end - self.done);
        let mut prefetcher = Prefetcher::new(self.filter, levels, &self.hashes[..end], self.done);
        let policy = self.filter.policy();
        self.is_near_max_items = !policy.allows(self.filter.stored(), (end - self.done) as u64);
        let mut probes = InsertProbes::default();
        let mut outcome = Ok(());
        let splits = self.filter.splits();
        while outcome.is_ok()
            && self.done < end
            && !self.is_blocked
            && self.filter.splits() == splits
        {
            outcome = self.insert_group(levels, &prefetcher, &mut probes);
            prefetcher.next_group(self.filter, levels);
        }
        self.finish_all(levels);
        outcome
    }

    /// Inserts the keys of a group, or those up to the first that makes a segment split.
    #[inline(always)]
    fn insert_group(
        &mut self,
        levels: impl Levels,
        prefetcher: &Prefetcher,
        probes: &mut InsertProbes,
    ) -> Result<(), BatchFull> {
        let (keys, numbers) = prefetcher.group();
        let splits = self.filter.splits();
        let mut left = self.probe_group(keys, &numbers, probes);
        let start = self.done - numbers.start;
        let group = Group { keys, probes, start };
        let mut due = Due { keys: prefetcher.due(), prefetched: 0 };
        let mut next = if self.may_reorder { probes.ready(left) } else { probes.leading(left) };
        loop {
            left &= !self.place_or_defer(levels, group, next, &mut due);
            if left == 0 {
                break;
            }
            let number = left.trailing_zeros() as usize;
            left &= left - 1;
            due.prefetch_next(self.filter, levels);
            if let Err(full) = self.insert_next(levels, group, number) {
                if !self.may_reorder {
                    self.done = start + number;
                    return Err(BatchFull { done: self.done, full });
                }
                self.block(start + number);
            }
            if self.filter.splits() != splits {
                self.done = start + number + 1;
                return Ok(());
            }
            if self.is_blocked {
                let rest = numbers.clone().filter(|it| left >> it & 1 == 1);
                self.deferred.extend(rest.map(|it| start + it));
                break;
            }
            next = probes.leading(left);
        }
        due.prefetch_rest(self.filter, levels);
        self.done = start + numbers.end;
        if self.active.len() > 0 {
            self.step_group(levels);
        }
        Ok(())
    }

    /// Inserts a key for which no free slot was found beforehand, or defers it if its segment is busy.
    #[inline(always)]
    fn insert_next(
        &mut self,
        levels: impl Levels,
        group: Group<'_>,
        number: usize,
    ) -> Result<(), Full> {
        let probe = group.keys.probe(number);
        if self.active.is_busy(probe.segment) {
            if self.may_reorder {
                self.active.defer(group.start + number, &probe);
                return Ok(());
            }
            self.finish_segment(levels, probe.segment);
        }
        let active = self.active.len();
        if !self.may_reorder && active > 0 && !self.filter.has_memory_for_overflow(active) {
            // Each chain may fail, and take the memory that a copy of this key would take.
            self.finish_all(levels);
        }
        let placement = if self.filter.is_still_full(group.keys, number, group.probes) {
            Placement::BucketsFull
        } else {
            self.filter.try_place(levels, &probe, self.if_present)?
        };
        match placement {
            Placement::Done(insertion) => self.note(group.start + number, insertion),
            Placement::BucketsFull => self.evict(levels, group.start + number, &probe)?,
        }
        Ok(())
    }

    /// Probes the buckets of a group as they are now. A bit for each key that is to be inserted.
    #[inline(always)]
    fn probe_group(
        &self,
        keys: &KeyGroup,
        numbers: &Range<usize>,
        probes: &mut InsertProbes,
    ) -> u32 {
        let table = self.filter.uniform_table().filter(|_| numbers.len() == WIDTH);
        let if_present = self.if_present;
        if !table.is_some_and(|table| uniform::probe_inserts(table, keys, probes)) {
            probes.forget();
        }
        let mut left = ((1u32 << numbers.len()) - 1) << numbers.start;
        if if_present == IfPresent::Skip {
            // Inserts take no key away: those are still there.
            left &= !probes.held();
        }
        if self.is_near_max_items {
            probes.forget();
        }
        left
    }

    /// Puts some keys of a group into the free slots that were found for them, and defers those of busy
    /// segments, up to the first whose probe is stale. A bit for each key that is served.
    #[inline(always)]
    fn place_or_defer(
        &mut self,
        levels: impl Levels,
        group: Group<'_>,
        some: u32,
        due: &mut Due,
    ) -> u32 {
        let mut left = some;
        while left != 0 {
            left = self.place_probed(&levels, group, left, due);
            if left == 0 {
                break;
            }
            let number = left.trailing_zeros() as usize;
            if !(self.may_reorder && self.active.is_busy(group.keys.segment(number))) {
                break;
            }
            self.active.defer(group.start + number, &group.keys.probe(number));
            left &= left - 1;
        }
        some & !left
    }

    /// [`place_or_defer`](Self::place_or_defer) up to the first key that cannot go in at once. A bit for each
    /// key that is left.
    ///
    /// A function of its own that calls no other: inlined, its loop would not fit into the processor's
    /// registers.
    #[inline(never)]
    fn place_probed(
        &mut self,
        levels: &impl Levels,
        group: Group<'_>,
        mut left: u32,
        due: &mut Due,
    ) -> u32 {
        let Group { keys, probes, start } = group;
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            if self.active.is_busy(keys.segment(number))
                || !self.filter.insert_probed(*levels, keys, number, probes)
            {
                break;
            }
            due.prefetch_next(self.filter, *levels);
            self.note(start + number, Insertion::Inserted);
            left &= left - 1;
        }
        left
    }

    #[inline(always)]
    pub(super) fn note(&mut self, number: usize, insertion: Insertion) {
        if insertion == Insertion::Inserted
            && let Some(outcome) = self.outcomes.get_mut(number)
        {
            *outcome = insertion;
        }
    }

    /// Defers a key until all that came before it are in: later ones of other segments are in already.
    fn block(&mut self, number: usize) {
        self.deferred.push(number);
        self.is_blocked = true;
    }

    /// Starts an eviction chain for a key whose buckets are full.
    #[inline(always)]
    fn evict(&mut self, levels: impl Levels, number: usize, probe: &Probe) -> Result<(), Full> {
        if self.filter.when_blocked(probe.segment, self.active.len()) != WhenBlocked::Evict {
            if self.may_reorder {
                self.block(number);
                return Ok(());
            }
            // Splits and refusals depend on the whole filter: first all that came before.
            self.finish_all(levels);
            let insertion = self.filter.insert_one(self.hashes[number], self.if_present)?;
            self.note(number, insertion);
            return Ok(());
        }
        self.note(number, Insertion::Inserted);
        let chain = self.filter.start_chain(probe);
        let segments = self.filter.segments();
        if segments < FEW_SEGMENTS {
            self.filter.finish_chain(levels, chain);
            return Ok(());
        }
        self.active.start(chain, segments);
        while self.active.len() >= self.most_active() && !self.is_blocked {
            self.step_group(levels);
        }
        Ok(())
    }
}

/// The last group in flight, and how many of its keys were prefetched.
struct Due<'a> {
    keys: Option<&'a KeyGroup>,
    prefetched: usize,
}

impl Due<'_> {
    #[inline(always)]
    fn prefetch_next(&mut self, filter: &CuckooFilter, levels: impl Levels) {
        if let Some(keys) = self.keys {
            filter.prefetch_key(levels, keys, self.prefetched);
            self.prefetched += 1;
        }
    }

    #[inline(always)]
    fn prefetch_rest(&self, filter: &CuckooFilter, levels: impl Levels) {
        if let Some(keys) = self.keys {
            filter.prefetch_from(levels, keys, self.prefetched);
        }
    }
}

impl Task for &mut InsertBatch<'_> {
    type Output = Result<(), BatchFull>;

    #[inline(always)]
    fn run(self, levels: impl Levels) -> Self::Output {
        self.insert_chunk(levels)
    }
}
