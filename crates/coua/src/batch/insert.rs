//! Inserting many keys, with relocations interleaved.
//!
//! The order of all work *within a segment* is that of single calls ([`Pending`]). Segments are
//! independent, so the bytes are the same. What depends on more than a segment (growing, refusing)
//! happens in the order of the keys, with nothing under way.

use super::pending::{self, Pending, Squad};
use super::{
    LocatedKeys, Lookahead, Outlook, WIDTH, find_ways, foresee, look_along_ways, prefetch_ways,
};
use crate::KeyHash;
use crate::error::{BatchFull, Full, Insertion};
use crate::filter::CuckooFilter;
use crate::geometry::Probe;
use crate::prepared::{Accepted, Copies};
use crate::relocate::{Room, Step};
use crate::shapes::{ByLevel, Shapes, Work, in_best_form};
use crate::ways::SQUAD;

/// In a filter of fewer segments nearly every key would meet a relocation: there each is finished at
/// once.
const FEW_SEGMENTS: usize = 4;
/// Fewer relocations than these look for their ways one after the other.
const FEW_IN_SQUAD: usize = 3;
/// Segments for each relocation that is kept under way: the more, the fewer keys must wait.
const SEGMENTS_PER_RELOCATION: usize = 4;
/// Keys of a batch that are taken together: none of them waits for longer.
const STRETCH: usize = 4096;

/// A batch of keys on its way into a filter; `each` takes the numbers of those that were inserted.
pub(super) struct Inserter<'a, E> {
    filter: &'a mut CuckooFilter,
    hashes: &'a [KeyHash],
    done: usize,
    copies: Copies,
    each: E,
    pending: Pending,
    /// Keys may overtake those that wait for a relocation: no limit is near that depends on the order.
    may_overtake: bool,
    /// Each key must see whether the filter takes one more item.
    is_near_max_items: bool,
    /// A key in line needs the filter to grow, which must wait for all keys before it.
    is_stuck: bool,
}

impl<'a, E: FnMut(usize)> Inserter<'a, E> {
    #[inline(always)]
    pub(super) fn new(
        filter: &'a mut CuckooFilter,
        hashes: &'a [KeyHash],
        copies: Copies,
        each: E,
    ) -> Self {
        let pending = Pending::default();
        Self {
            filter,
            hashes,
            done: 0,
            copies,
            each,
            pending,
            may_overtake: false,
            is_near_max_items: true,
            is_stuck: false,
        }
    }

    pub(super) fn insert_all(mut self) -> Result<(), BatchFull> {
        let mut outcome = Ok(());
        while outcome.is_ok() && self.done < self.hashes.len() {
            let only = self.filter.only_shape().copied();
            outcome = in_best_form(&mut self, only);
        }
        outcome
    }

    /// Inserts a stretch of keys, or fewer if the shapes change; none is left waiting.
    #[inline(always)]
    fn insert(&mut self, shapes: impl Shapes) -> Result<(), BatchFull> {
        let end = self.hashes.len().min(self.done + STRETCH);
        self.may_overtake = self.filter.is_far_from_limits(end - self.done);
        let mut ahead = Lookahead::new(self.filter, shapes, &self.hashes[..end], self.done);
        self.is_near_max_items = !self.filter.takes_items(end - self.done);
        let mut outlook = Outlook::default();
        let mut outcome = Ok(());
        let splits = self.filter.splits;
        while outcome.is_ok() && self.done < end && !self.is_stuck && self.filter.splits == splits {
            outcome = self.insert_group(shapes, &ahead, &mut outlook);
            ahead.next_group(self.filter, shapes);
        }
        self.settle_all(shapes);
        outcome
    }

    /// Inserts the keys of a group, or those before the first that changes the shapes.
    #[inline(always)]
    fn insert_group(
        &mut self,
        shapes: impl Shapes,
        ahead: &Lookahead,
        outlook: &mut Outlook,
    ) -> Result<(), BatchFull> {
        let (keys, numbers) = ahead.group();
        let splits = self.filter.splits;
        if numbers.len() != WIDTH || !foresee(self.filter, keys, outlook) {
            outlook.forget();
        }
        let mut left = ((1u32 << numbers.len()) - 1) << numbers.start;
        if self.copies == Copies::Keep {
            // Inserts take no key away: those are still there.
            left &= !u32::from(outlook.held);
        }
        if self.is_near_max_items {
            outlook.forget();
        }
        let start = self.done - numbers.start;
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            left &= left - 1;
            // No closures: they would not be compiled for the instructions that this loop is.
            if outlook.is_open(number) && self.is_as_seen(keys, number, outlook) {
                let segment = keys.segment[number] as u32;
                let lanes = shapes.of(self.filter, segment).lanes;
                outlook.place(number, &lanes, &mut self.filter.table.segments[segment as usize]);
                self.filter.stored += 1;
                (self.each)(start + number);
                continue;
            }
            let probe = keys.probe(number);
            let segment = &self.filter.table.segments[probe.segment as usize];
            if segment.owner != 0 {
                if self.may_overtake {
                    self.pending.wait(segment, start + number, &probe);
                    continue;
                }
                self.settle(shapes, probe.segment);
            }
            let is_full = outlook.is_full(number) && self.is_as_seen(keys, number, outlook);
            let accepted = if is_full {
                Ok(Accepted::NeedsRoom)
            } else {
                self.filter.accept(shapes, &probe, self.copies)
            };
            let outcome = match accepted {
                Ok(Accepted::Done(insertion)) => {
                    self.tell(start + number, insertion);
                    continue;
                }
                Ok(Accepted::NeedsRoom) => self.relocate(shapes, start + number, &probe),
                Err(full) => Err(full),
            };
            if let Err(full) = outcome {
                self.done = start + number;
                return Err(BatchFull { done: self.done, full });
            }
            if self.is_stuck || self.filter.splits != splits {
                self.done = start + number + 1;
                return Ok(());
            }
        }
        self.done = start + numbers.end;
        self.take_turns(shapes, 0);
        Ok(())
    }

    /// Whether a key's buckets are as they were seen, in a segment that nobody owns and where no item
    /// is homeless.
    #[inline(always)]
    fn is_as_seen(&self, keys: &LocatedKeys, number: usize, outlook: &Outlook) -> bool {
        let segment = &self.filter.table.segments[keys.segment[number] as usize];
        segment.owner == 0
            && !(self.filter.side.has_homeless() && segment.spilled)
            && outlook.is_current(keys, number, segment)
    }

    #[inline(always)]
    fn tell(&mut self, number: usize, insertion: Insertion) {
        if insertion == Insertion::Inserted {
            (self.each)(number);
        }
    }

    /// Starts a relocation for a key whose buckets are full.
    #[inline(always)]
    fn relocate(&mut self, shapes: impl Shapes, number: usize, probe: &Probe) -> Result<(), Full> {
        if self.filter.room_in(probe.segment, self.pending.len()) != Room::Relocate {
            // Splits and refusals depend on the whole filter: first all that came before.
            self.settle_all(shapes);
            let insertion = self.filter.insert_one(self.hashes[number], self.copies)?;
            self.tell(number, insertion);
            return Ok(());
        }
        (self.each)(number);
        let relocation = self.filter.start_relocation(probe);
        let segments = self.filter.table.segments.len();
        if segments < FEW_SEGMENTS {
            self.filter.finish(shapes, relocation);
            return Ok(());
        }
        self.pending.start(&mut self.filter.table.segments[probe.segment as usize], relocation);
        let most = (segments / SEGMENTS_PER_RELOCATION).min(pending::MOST);
        while self.pending.len() >= most && !self.is_stuck {
            self.take_turns(shapes, (most / SQUAD).saturating_sub(1));
        }
        Ok(())
    }

    /// Lets the relocations whose turn it is take a step; `kept` squads wait for their memory.
    #[inline(always)]
    fn take_turns(&mut self, shapes: impl Shapes, kept: usize) {
        if let Some(squad) = self.pending.form_squad() {
            self.prepare(shapes, squad, kept);
        }
        let Some(squad) = self.pending.take_squad(kept) else { return };
        let place = &mut self.pending.squads[squad];
        let count = place.count;
        let are_known = count >= FEW_IN_SQUAD && look_along_ways(self.filter, &mut place.ways);
        for number in 0..count {
            let place = &self.pending.squads[squad];
            let (owner, mut relocation) = (place.owners[number], place.relocations[number]);
            let way = if are_known {
                let lanes = shapes.of(self.filter, relocation.segment).lanes;
                place.ways.of(&lanes, number, &relocation)
            } else {
                self.filter.way_on(shapes, &relocation)
            };
            match self.filter.step(shapes, &mut relocation, way) {
                Step::Again => self.pending.go_on(owner, relocation),
                Step::Done => self.serve_line(shapes, owner, relocation.segment),
            }
        }
    }

    /// Finds the ways on for a squad, and asks for their memory unless its turn is now.
    #[inline(always)]
    fn prepare(&mut self, shapes: impl Shapes, squad: usize, kept: usize) {
        let Squad { count, relocations, ways, .. } = &mut self.pending.squads[squad];
        let are_found = *count >= FEW_IN_SQUAD && find_ways(self.filter, ways);
        if kept == 0 || are_found && prefetch_ways(self.filter, ways) {
            return;
        }
        for relocation in &relocations[..*count] {
            self.filter.prefetch_step(shapes, relocation);
        }
    }

    /// Inserts the keys that waited for a relocation, up to the first that needs another one.
    #[inline(always)]
    fn serve_line(&mut self, shapes: impl Shapes, owner: u8, segment: u32) {
        while let Some(waiting) = self.pending.first_in_line(owner) {
            if self.is_stuck {
                return;
            }
            match self.filter.accept(shapes, &waiting.probe, self.copies) {
                Ok(Accepted::Done(insertion)) => self.tell(waiting.number, insertion),
                Ok(Accepted::NeedsRoom) if self.filter.room_in(segment, 0) == Room::Relocate => {
                    self.pending.leave_line(owner);
                    (self.each)(waiting.number);
                    let relocation = self.filter.start_relocation(&waiting.probe);
                    self.pending.go_on(owner, relocation);
                    return;
                }
                _ => {
                    self.is_stuck = true;
                    return;
                }
            }
            self.pending.leave_line(owner);
        }
        self.pending.release(&mut self.filter.table.segments[segment as usize]);
    }

    /// Finishes the relocation that owns a segment.
    fn settle(&mut self, shapes: impl Shapes, segment: u32) {
        while self.filter.table.segments[segment as usize].owner != 0 {
            self.take_turns(shapes, 0);
        }
    }

    /// Finishes all relocations, and inserts all keys that wait.
    fn settle_all(&mut self, shapes: impl Shapes) {
        while self.pending.len() > 0 {
            self.take_turns(shapes, 0);
        }
        if self.is_stuck {
            self.insert_waiting();
        }
    }

    /// Inserts the keys that wait one after the other, in their order.
    #[cold]
    fn insert_waiting(&mut self) {
        for segment in self.pending.owned_segments() {
            self.filter.table.segments[segment as usize].owner = 0;
        }
        for waiting in self.pending.end_lines() {
            let insertion = self.insert_now(self.hashes[waiting.number]);
            self.tell(waiting.number, insertion);
        }
        self.is_stuck = false;
    }

    /// Inserts a key that others have overtaken, so that it can no more be refused: where there is no
    /// memory to grow, it goes in without.
    fn insert_now(&mut self, hash: KeyHash) -> Insertion {
        if let Ok(insertion) = self.filter.insert_one(hash, self.copies) {
            return insertion;
        }
        let relocation = self.filter.start_relocation(&self.filter.locate(hash));
        self.filter.finish(ByLevel, relocation);
        Insertion::Inserted
    }
}

impl<E: FnMut(usize)> Work for &mut Inserter<'_, E> {
    type Output = Result<(), BatchFull>;

    #[inline(always)]
    fn run(self, shapes: impl Shapes) -> Self::Output {
        self.insert(shapes)
    }
}
