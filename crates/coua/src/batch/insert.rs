//! Inserting many keys, with relocations interleaved.
//!
//! The order of all work *within a segment* stays as if done one by one, because a relocation owns
//! its segment: a key that falls there finishes it first. Segments are independent, so the bytes are
//! the same.

use std::collections::VecDeque;

use super::{Lookahead, Outlook, WIDTH, foresee};
use crate::KeyHash;
use crate::error::{BatchFull, Full, Insertion};
use crate::filter::CuckooFilter;
use crate::geometry::Probe;
use crate::prepared::{Accepted, Copies};
use crate::relocate::{Relocation, Room, Step};
use crate::shapes::{Shapes, Work, in_best_form};

/// Relocations under way at most.
const MOST_PENDING: usize = 64;
/// In a filter of fewer segments nearly every key would meet a relocation: there each is finished at
/// once.
const FEW_SEGMENTS: usize = 4;
/// Keys between two steps of a relocation, about.
const KEYS_PER_STEP: usize = 4;

/// A batch of keys on its way into a filter; `each` takes what became of each.
pub(super) struct Inserter<'a, E> {
    filter: &'a mut CuckooFilter,
    hashes: &'a [KeyHash],
    done: usize,
    copies: Copies,
    each: E,
    /// Relocations under way, each the owner of its segment.
    pending: VecDeque<Relocation>,
}

impl<'a, E: FnMut(Insertion)> Inserter<'a, E> {
    #[inline(always)]
    pub(super) fn new(
        filter: &'a mut CuckooFilter,
        hashes: &'a [KeyHash],
        copies: Copies,
        each: E,
    ) -> Self {
        let pending = VecDeque::with_capacity(MOST_PENDING);
        Self { filter, hashes, done: 0, copies, each, pending }
    }

    pub(super) fn insert_all(mut self) -> Result<(), BatchFull> {
        let mut outcome = Ok(());
        while outcome.is_ok() && self.done < self.hashes.len() {
            let only = self.filter.only_shape().copied();
            outcome = in_best_form(&mut self, only);
        }
        outcome
    }

    /// Inserts keys until all are in, or the shapes have changed; no relocation is left under way.
    #[inline(always)]
    fn insert(&mut self, shapes: impl Shapes) -> Result<(), BatchFull> {
        let splits = self.filter.splits;
        let mut ahead = Lookahead::new(self.filter, shapes, self.hashes, self.done);
        let (mut outlook, mut is_foreseen) = (Outlook::default(), false);
        let mut outcome = Ok(());
        while outcome.is_ok() && self.filter.splits == splits {
            if let Some(keys) = ahead.new_group() {
                is_foreseen = foresee(self.filter, keys, &mut outlook);
            }
            let number = ahead.taken % WIDTH;
            let Some((hash, probe)) = ahead.next(self.filter, shapes) else {
                break;
            };
            if self.filter.table.segments[probe.segment as usize].relocating {
                self.settle(shapes, probe.segment);
            }
            let foreseen = is_foreseen
                .then(|| outlook.insert(self.filter, shapes, (number, &probe), self.copies))
                .flatten();
            let inserted = match foreseen {
                Some(insertion) => Ok(insertion),
                None => self.insert_next(shapes, hash, &probe),
            };
            match inserted {
                Ok(insertion) => (self.each)(insertion),
                Err(full) => outcome = Err(BatchFull { done: ahead.taken - 1, full }),
            }
            // A key's share of the relocations' work.
            for _ in 0..self.pending.len() / KEYS_PER_STEP {
                self.step_first(shapes);
            }
        }
        self.settle_all(shapes);
        self.done = ahead.taken;
        outcome
    }

    #[inline(always)]
    fn insert_next(
        &mut self,
        shapes: impl Shapes,
        hash: KeyHash,
        probe: &Probe,
    ) -> Result<Insertion, Full> {
        match self.filter.accept(shapes, probe, self.copies)? {
            Accepted::Done(insertion) => Ok(insertion),
            Accepted::NeedsRoom => self.relocate(shapes, hash, probe),
        }
    }

    /// Starts a relocation for a key whose buckets are full.
    #[inline(always)]
    fn relocate(
        &mut self,
        shapes: impl Shapes,
        hash: KeyHash,
        probe: &Probe,
    ) -> Result<Insertion, Full> {
        if self.filter.room_in(probe.segment, self.pending.len()) == Room::Relocate {
            while self.pending.len() >= MOST_PENDING {
                self.step_first(shapes);
            }
            let relocation = self.filter.start_relocation(probe);
            if self.filter.table.segments.len() < FEW_SEGMENTS {
                self.filter.finish(shapes, relocation);
                return Ok(Insertion::Inserted);
            }
            self.filter.table.segments[probe.segment as usize].relocating = true;
            self.await_memory(shapes, relocation);
            return Ok(Insertion::Inserted);
        }
        // Splits and refusals depend on the whole filter: first all that came before.
        self.settle_all(shapes);
        self.filter.insert_one(hash, self.copies)
    }

    #[inline(always)]
    fn step_first(&mut self, shapes: impl Shapes) {
        if let Some(mut relocation) = self.pending.pop_front() {
            match self.filter.step(shapes, &mut relocation) {
                Step::Again => self.await_memory(shapes, relocation),
                Step::Done => self.release(relocation.segment),
            }
        }
    }

    #[inline(always)]
    fn await_memory(&mut self, shapes: impl Shapes, relocation: Relocation) {
        self.filter.prefetch_step(shapes, &relocation);
        self.pending.push_back(relocation);
    }

    fn release(&mut self, segment: u32) {
        self.filter.table.segments[segment as usize].relocating = false;
    }

    /// Finishes the relocation that owns `segment`.
    #[inline(always)]
    fn settle(&mut self, shapes: impl Shapes, segment: u32) {
        if let Some(at) = self.pending.iter().position(|pending| pending.segment == segment)
            && let Some(relocation) = self.pending.remove(at)
        {
            self.filter.finish(shapes, relocation);
            self.release(segment);
        }
    }

    fn settle_all(&mut self, shapes: impl Shapes) {
        while !self.pending.is_empty() {
            self.step_first(shapes);
        }
    }
}

impl<E: FnMut(Insertion)> Work for &mut Inserter<'_, E> {
    type Output = Result<(), BatchFull>;

    #[inline(always)]
    fn run(self, shapes: impl Shapes) -> Self::Output {
        self.insert(shapes)
    }
}

/// A batch of items that are counted already on their way into slots.
pub(super) struct Restorer<'a> {
    pub(super) filter: &'a mut CuckooFilter,
    pub(super) hashes: &'a [KeyHash],
}

impl Work for Restorer<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, shapes: impl Shapes) {
        let mut ahead = Lookahead::new(self.filter, shapes, self.hashes, 0);
        while let Some((_, probe)) = ahead.next(self.filter, shapes) {
            self.filter.put_back(shapes, &probe);
        }
    }
}
