//! The second pass of inserts: runs of deferred keys with interleaved eviction chains.
//!
//! A segment has at most one active chain: the chain's item is in no bucket, and the bytes must be
//! those of single calls. So each active chain belongs to a different run. Chains step in groups: while one group waits
//! for its memory, the others step.

use std::mem::take;

use super::deferred::Deferred;
use crate::error::{BatchFull, Full, FullReason, Insertion};
use crate::filter::{CuckooFilter, Decision, IfPresent, Repeat};
use crate::hash::KeyHash;
use crate::kernel::{GROUP, GroupMoves, KnownLevel, Place};
use crate::segments::EvictionChain;

/// Fewer chains than this find their moves one after the other.
const FEW_IN_GROUP: usize = 3;
/// Runs that are prefetched before they begin.
const RUNS_AHEAD: usize = 8;

/// Groups of active chains.
pub(super) const GROUPS: usize = 4;
/// Active chains in all groups.
pub(super) const MOST_CHAINS: usize = GROUPS * GROUP;
/// An active chain, and the number of its run.
pub(super) type Active = (EvictionChain, usize);

/// Chains that step together: the first `count`, each of a different run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChainGroup {
    pub(super) count: usize,
    pub(super) chains: [Active; GROUP],
    /// Vectors have found the candidate moves.
    pub(super) are_moves_found: bool,
    pub(super) moves: GroupMoves,
}

/// All active chains.
#[derive(Debug, Default)]
pub(super) struct Chains {
    /// The number of active chains.
    pub(super) active: usize,
    /// Chains whose candidate buckets are being prefetched; empty before the first run.
    pub(super) groups: Vec<ChainGroup>,
    /// The other chains.
    pub(super) arrived: Vec<Active>,
    /// Steps that groups have taken.
    pub(super) group_steps: usize,
    /// Runs that were begun.
    pub(super) begun: usize,
}

impl Chains {
    /// Forms a group of arrived chains, unless they are few and may wait for those of another group.
    #[inline(always)]
    pub(super) fn form_group(&mut self, number: usize) -> Option<&mut ChainGroup> {
        let count = self.arrived.len().min(GROUP);
        if count == 0 || count < GROUP && self.groups.iter().any(|group| group.count > 0) {
            return None;
        }
        let group = &mut self.groups[number];
        (group.count, group.are_moves_found) = (count, false);
        for (place, active) in self.arrived.drain(self.arrived.len() - count..).enumerate() {
            group.chains[place] = active;
        }
        for place in 0..GROUP {
            // Unused places repeat the first chain.
            let (chain, _) = &group.chains[if place < count { place } else { 0 }];
            group.moves.segment[place] = chain.segment.into();
            group.moves.from[place] = chain.bucket;
        }
        Some(group)
    }
}

/// The keys that a batch refused.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// The numbers of the keys in the batch, ascending.
    pub(crate) keys: Vec<usize>,
    /// Why the last one was refused.
    pub(crate) reason: Option<FullReason>,
}

impl Refusals {
    /// Records that key `number` was refused, or returns the error that ends the batch.
    #[cold]
    pub(super) fn record(
        refusals: Option<&mut Self>,
        number: usize,
        full: Full,
    ) -> Result<(), BatchFull> {
        let Some(refusals) = refusals else { return Err(BatchFull { done: number, full }) };
        refusals.keys.push(number);
        refusals.reason = Some(full.reason);
        Ok(())
    }
}

/// A batch of keys that is being inserted.
pub(super) struct InsertBatch<'a> {
    pub(super) filter: &'a mut CuckooFilter,
    pub(super) hashes: &'a [KeyHash],
    /// The number of keys that were inserted or deferred.
    pub(super) done: usize,
    pub(super) if_present: IfPresent,
    /// One per key, or empty if outcomes are not wanted.
    pub(super) outcomes: &'a mut [Insertion],
    /// The list of refused keys. Without one, the batch stops at the first.
    pub(super) refusals: Option<&'a mut Refusals>,
    pub(super) deferred: Deferred,
    /// Copies that take no slot.
    pub(super) repeats: Vec<Repeat>,
    pub(super) chains: Chains,
    /// Segments refuse keys that find no slot.
    pub(super) can_refuse: bool,
}

/// Both passes of a batch, in segments of one level.
pub(super) struct Passes<'a, 'b, L> {
    pub(super) batch: &'a mut InsertBatch<'b>,
    pub(super) level: L,
}

impl InsertBatch<'_> {
    #[inline(always)]
    pub(super) fn note(&mut self, number: usize, insertion: Insertion) {
        if insertion == Insertion::Inserted
            && let Some(outcome) = self.outcomes.get_mut(number)
        {
            *outcome = insertion;
        }
    }

    /// Records one more copy of a key that has its slot. It is counted at the end of the pass: then many entries are
    /// prefetched, and no decision depends on the count.
    #[inline(always)]
    pub(super) fn count_repeat(&mut self, place: &Place, number: usize) {
        let segments = self.filter.as_segments();
        let representative = segments.representative_of(self.hashes[number], place);
        self.repeats.push(Repeat { number, segment: place.segment, representative });
        self.note(number, Insertion::Inserted);
    }
}

impl<L: KnownLevel> Passes<'_, '_, L> {
    /// Whether a key that is present is inserted by counting it.
    #[inline(always)]
    pub(super) fn counts_repeats(&self) -> bool {
        self.batch.if_present == IfPresent::AddCopy
            && CuckooFilter::slots_for_copies(&self.level.geometry()) == 1
    }

    /// Does the part of an insert before other items must move. Returns false if they must.
    #[inline(always)]
    pub(super) fn try_place(&mut self, place: &Place, number: usize) -> Result<bool, Full> {
        let is_counted = self.counts_repeats();
        let if_present = if is_counted { IfPresent::Skip } else { self.batch.if_present };
        match self.batch.filter.try_place(self.level, place, if_present)? {
            Some(Insertion::AlreadyPresent) if is_counted => self.batch.count_repeat(place, number),
            Some(insertion) => self.batch.note(number, insertion),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Processes the runs until all have begun and at most `few` chains are active. If a run needs its segment to
    /// split, its keys stay in it.
    #[inline(always)]
    pub(super) fn insert_runs(&mut self, few: usize) {
        let mut chains = take(&mut self.batch.chains);
        // A segment has at most one active chain.
        let groups = self.batch.filter.segments().div_ceil(GROUP).min(GROUPS);
        chains.groups.resize(groups, ChainGroup::default());
        while chains.active > few || chains.begun < self.batch.deferred.runs() {
            let current = chains.group_steps % groups;
            self.step_group(&mut chains, current, (current + groups - 1) % groups);
            self.form_group(&mut chains, current);
            chains.group_steps += 1;
        }
        self.batch.chains = chains;
    }

    /// Forms a group of arrived chains and the chains of further runs, and finds their moves. Few chains wait for those
    /// of another group.
    #[inline(always)]
    fn form_group(&mut self, chains: &mut Chains, number: usize) {
        while chains.arrived.len() < GROUP
            && let Some(active) = self.begin_run(&mut chains.begun)
        {
            chains.active += 1;
            chains.arrived.push(active);
        }
        let Some(group) = chains.form_group(number).filter(|group| group.count >= FEW_IN_GROUP)
        else {
            return;
        };
        group.are_moves_found =
            self.batch.filter.as_segments().find_moves(&self.level.geometry(), &mut group.moves);
    }

    /// Begins the next run that has a chain.
    #[inline(always)]
    fn begin_run(&mut self, begun: &mut usize) -> Option<Active> {
        while *begun < self.batch.deferred.runs() {
            let run = *begun;
            *begun += 1;
            if let Some(number) = self.batch.deferred.first(run + RUNS_AHEAD) {
                self.batch.filter.as_segments().prefetch(self.level, self.batch.hashes[number]);
            }
            // Nothing has changed in its segment since the first key found both buckets full.
            let chain = self.chain_of_first(run).or_else(|| self.next_chain(run));
            if let Some(chain) = chain {
                return Some((chain, run));
            }
        }
        None
    }

    /// Starts the chain of a run's first key, unless it may be in the overflow table or its segment must split.
    #[inline(always)]
    fn chain_of_first(&mut self, run: usize) -> Option<EvictionChain> {
        let number = self.batch.deferred.first(run)?;
        let place =
            self.batch.filter.as_segments().locate_by(self.level, self.batch.hashes[number]);
        // Extra copies always have one in a slot.
        let may_be_there = self.batch.filter.as_segments().get(place.segment).overflowed() > 0;
        if may_be_there || self.when_blocked(place.segment) != Some(Decision::Evict) {
            return None;
        }
        self.batch.deferred.pop(run);
        self.batch.note(number, Insertion::Inserted);
        Some(self.batch.filter.start_chain(&place))
    }

    /// Inserts the keys of a run up to the next one that starts a chain; `None` if all are in, which ends the
    /// run, or one needs its segment to split.
    #[inline(always)]
    fn next_chain(&mut self, run: usize) -> Option<EvictionChain> {
        while let Some(number) = self.batch.deferred.first(run) {
            let place =
                self.batch.filter.as_segments().locate_by(self.level, self.batch.hashes[number]);
            match self.try_place(&place, number) {
                Ok(true) => {}
                Err(_) => return self.wait(),
                Ok(false) => match self.when_blocked(place.segment) {
                    Some(Decision::Evict) => {
                        self.batch.deferred.pop(run);
                        self.batch.note(number, Insertion::Inserted);
                        return Some(self.batch.filter.start_chain(&place));
                    }
                    Some(Decision::Overflow) => {
                        let chain = self.batch.filter.start_chain(&place);
                        self.batch.filter.overflow_chain(chain);
                        self.batch.note(number, Insertion::Inserted);
                    }
                    _ => return self.wait(),
                },
            }
            self.batch.deferred.pop(run);
        }
        self.batch.deferred.end(run);
        None
    }

    /// The decision for a key whose buckets are full; none if it depends on keys of other segments, which may not be
    /// inserted yet.
    #[inline(always)]
    fn when_blocked(&self, segment: u32) -> Option<Decision> {
        let level = self.level.geometry();
        let is_known = !self.batch.filter.depends_on_region(&level, segment);
        is_known.then(|| self.batch.filter.when_blocked(segment))
    }

    /// Lets the remaining keys of a run wait until all others are inserted.
    #[cold]
    fn wait(&mut self) -> Option<EvictionChain> {
        self.batch.deferred.stuck += 1;
        None
    }

    /// Lets each chain of a group take a step, and prefetches what the next step of the last group needs: one
    /// chain at a time, because a burst of prefetches delays what comes after.
    #[inline(always)]
    fn step_group(&mut self, chains: &mut Chains, number: usize, last: usize) {
        let Chains { groups, arrived, active, .. } = chains;
        let count = take(&mut groups[number].count);
        let group = &mut groups[number];
        let all = ((1u16 << count) - 1) as u8;
        let mut free = 0;
        if count > 0 && group.are_moves_found {
            self.batch.filter.as_segments().test_moves(&self.level.geometry(), &mut group.moves);
            free = group.moves.free & all;
        }
        let mut prefetched = 0;
        // Chains with a free slot come first, without an unpredictable branch per chain.
        for mut left in [free, all & !free] {
            while left != 0 {
                let place = left.trailing_zeros() as usize;
                left &= left - 1;
                self.prefetch_moves(&groups[last], prefetched);
                prefetched += 1;
                match self.step_chain(&groups[number], place) {
                    Some(next) => arrived.push(next),
                    None => *active -= 1,
                }
            }
        }
        for place in prefetched..groups[last].count {
            self.prefetch_moves(&groups[last], place);
        }
    }

    /// Lets a chain take a step. After its last step, its run continues with the next chain.
    #[inline(always)]
    fn step_chain(&mut self, group: &ChainGroup, place: usize) -> Option<Active> {
        let (mut chain, run) = group.chains[place];
        let segments = self.batch.filter.as_segments();
        let candidate = if group.are_moves_found {
            group.moves.next(place, chain.victim())
        } else {
            segments.next_move(self.level, &chain)
        };
        if self.batch.filter.step_chain(self.level, &mut chain, &candidate) {
            return Some((chain, run));
        }
        self.next_chain(run).map(|chain| (chain, run))
    }

    /// Prefetches what the next step of a chain needs.
    #[inline(always)]
    fn prefetch_moves(&self, group: &ChainGroup, place: usize) {
        if place >= group.count {
            return;
        }
        let (chain, _) = &group.chains[place];
        let moves = group.are_moves_found.then_some((&group.moves, place));
        self.batch.filter.as_segments().prefetch_moves(self.level, chain, moves);
    }
}
