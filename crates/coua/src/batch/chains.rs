//! Steps of the active eviction chains, a group at a time.

use super::active::{self, ChainGroup};
use super::insert::InsertBatch;
use crate::cuckoo::{Placement, Step, WhenBlocked};
use crate::error::Insertion;
use crate::hash::KeyHash;
use crate::kernel::{AnyLevel, GROUP, Levels, uniform};

/// Fewer chains than these find their moves one after the other.
const FEW_IN_GROUP: usize = 3;
/// Segments for each active chain: the more, the fewer keys must be deferred.
const SEGMENTS_PER_CHAIN: usize = 4;
/// Active chains for each step that a group waits between prefetching and looking. Where fewer can be active,
/// the table is small enough for the caches next to the processor.
const CHAINS_PER_STEP: usize = 2 * GROUP;

impl InsertBatch<'_> {
    /// Chains that may be active.
    #[inline(always)]
    pub(super) fn most_active(&self) -> usize {
        (self.filter.segments() / SEGMENTS_PER_CHAIN).min(active::MOST)
    }

    /// Steps of other groups that a group waits for its memory.
    #[inline(always)]
    fn steps_to_wait(&self) -> usize {
        self.most_active() / CHAINS_PER_STEP
    }

    /// Lets a group of chains take a step, if there is one whose memory has come.
    #[inline(always)]
    pub(super) fn step_group(&mut self, levels: impl Levels) {
        let wait = self.steps_to_wait();
        let formed = self.form_group();
        let prefetched = formed.filter(|_| wait > 0);
        let taken = self.active.take_group(if prefetched.is_some() { wait } else { 0 });
        let mut done = 0;
        if let Some(group) = taken {
            self.test_moves(group);
            let ChainGroup { count, moves, are_moves_tested, .. } = &self.active.groups[group];
            let all = 0xff_u8 >> (GROUP - count);
            let free = if *are_moves_tested { moves.free() & all } else { 0 };
            // Those with a free slot first: which they are is unpredictable.
            for mut left in [free, all & !free] {
                while left != 0 {
                    let number = left.trailing_zeros() as usize;
                    left &= left - 1;
                    // One group prefetches while the other steps: a burst of prefetches delays what comes after.
                    if let Some(group) = prefetched {
                        self.prefetch_moves(levels, group, done);
                        done += 1;
                    }
                    self.step_chain(levels, group, number);
                }
            }
        }
        if let Some(group) = prefetched {
            for number in done..GROUP {
                self.prefetch_moves(levels, group, number);
            }
        }
    }

    /// Forms a group and finds its moves, if that is worth it.
    #[inline(always)]
    fn form_group(&mut self) -> Option<usize> {
        let number = self.active.form_group()?;
        let table = self.filter.uniform_table();
        let ChainGroup { count, are_moves_found, moves, .. } = &mut self.active.groups[number];
        *are_moves_found =
            *count >= FEW_IN_GROUP && table.is_some_and(|table| uniform::find_moves(table, moves));
        Some(number)
    }

    /// Finds out which moves of a group lead to free slots.
    #[inline(always)]
    fn test_moves(&mut self, group: usize) {
        let table = self.filter.uniform_table();
        let group = &mut self.active.groups[group];
        group.are_moves_tested = group.are_moves_found && table.is_some();
        if let Some(table) = table.filter(|_| group.are_moves_found) {
            uniform::test_moves(table, &mut group.moves);
        }
    }

    /// Prefetches what the next step of a chain needs.
    #[inline(always)]
    fn prefetch_moves(&self, levels: impl Levels, group: usize, number: usize) {
        let ChainGroup { count, chains, are_moves_found, moves, .. } = &self.active.groups[group];
        if number >= *count {
            return;
        }
        let chain = &chains[number];
        if !are_moves_found {
            self.filter.prefetch_step(levels, chain);
            return;
        }
        let level = self.filter.level_in(levels, chain.segment());
        moves.prefetch(level.codec(), self.filter.segment(chain.segment()), number);
    }

    /// Lets a chain take a step.
    #[inline(always)]
    fn step_chain(&mut self, levels: impl Levels, group: usize, number: usize) {
        let group = &self.active.groups[group];
        let (slot, mut chain) = (group.slots[number], group.chains[number]);
        let candidate = if group.are_moves_tested {
            let level = self.filter.level_in(levels, chain.segment());
            let codec = level.codec();
            group.moves.next(codec, number, chain.victim(codec.slots()))
        } else {
            self.filter.next_move(levels, &chain)
        };
        match self.filter.step(levels, &mut chain, candidate) {
            Step::Again => self.active.go_on(slot, chain),
            Step::Done => self.insert_deferred(levels, slot, chain.segment()),
        }
    }

    /// Inserts the keys that were deferred for a chain, up to the first that needs another one.
    #[inline(always)]
    fn insert_deferred(&mut self, levels: impl Levels, slot: u8, segment: u32) {
        while let Some(deferred) = self.active.first_deferred(slot) {
            if self.is_blocked {
                return;
            }
            match self.filter.try_place(levels, &deferred.probe, self.if_present) {
                Ok(Placement::Done(insertion)) => self.note(deferred.number, insertion),
                Ok(Placement::BucketsFull)
                    if self.filter.when_blocked(segment, 0) == WhenBlocked::Evict =>
                {
                    self.active.pop_deferred(slot);
                    self.note(deferred.number, Insertion::Inserted);
                    let chain = self.filter.start_chain(&deferred.probe);
                    self.active.go_on(slot, chain);
                    return;
                }
                _ => {
                    self.is_blocked = true;
                    return;
                }
            }
            self.active.pop_deferred(slot);
        }
        self.active.end(slot);
    }

    /// Ends the chain of a busy segment, and inserts its queue.
    pub(super) fn finish_segment(&mut self, levels: impl Levels, segment: u32) {
        while self.active.is_busy(segment) {
            self.step_group(levels);
        }
    }

    /// Ends all chains, and inserts all deferred keys.
    pub(super) fn finish_all(&mut self, levels: impl Levels) {
        while self.active.len() > 0 {
            self.step_group(levels);
        }
        if self.is_blocked {
            self.insert_in_order();
        }
    }

    /// Inserts the keys that are still deferred, one after the other in their order.
    #[cold]
    fn insert_in_order(&mut self) {
        let mut numbers = self.active.drain_deferred();
        numbers.append(&mut self.deferred);
        numbers.sort_unstable();
        for number in numbers {
            let insertion = self.insert_accepted(self.hashes[number]);
            self.note(number, insertion);
        }
        self.is_blocked = false;
    }

    /// Inserts a key that later ones have gone in before, so that it cannot be refused any more: without
    /// memory to grow, it goes in by eviction.
    fn insert_accepted(&mut self, hash: KeyHash) -> Insertion {
        if let Ok(insertion) = self.filter.insert_one(hash, self.if_present) {
            return insertion;
        }
        let chain = self.filter.start_chain(&self.filter.locate(hash));
        self.filter.finish_chain(AnyLevel, chain);
        Insertion::Inserted
    }
}
