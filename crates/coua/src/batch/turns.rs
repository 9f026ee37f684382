//! Turns: relocations under way take their steps, a squad at a time.

use super::insert::Inserter;
use super::pending::{self, Squad};
use super::{find_ways, look_along_ways};
use crate::KeyHash;
use crate::error::Insertion;
use crate::prepared::Accepted;
use crate::relocate::{Room, Step};
use crate::shapes::{ByLevel, Shapes};
use crate::ways::SQUAD;

/// Fewer relocations than these look for their ways one after the other.
const FEW_IN_SQUAD: usize = 3;
/// Segments for each relocation that is kept under way: the more, the fewer keys must wait.
const SEGMENTS_PER_RELOCATION: usize = 4;
/// Relocations that may be under way for each turn that a squad waits between asking for memory and looking.
/// Where fewer may, the table is small enough for the caches next to the processor.
const RELOCATIONS_PER_TURN: usize = 2 * SQUAD;

impl Inserter<'_> {
    /// Relocations that may be under way.
    #[inline(always)]
    pub(super) fn most_under_way(&self) -> usize {
        (self.filter.table.segments.len() / SEGMENTS_PER_RELOCATION).min(pending::MOST)
    }

    /// Turns that a squad waits for its memory.
    #[inline(always)]
    fn turns_to_wait(&self) -> usize {
        self.most_under_way() / RELOCATIONS_PER_TURN
    }

    /// Lets a squad of relocations take a step, if there is one whose memory has come.
    #[inline(always)]
    pub(super) fn take_turn(&mut self, shapes: impl Shapes) {
        let turns = self.turns_to_wait();
        let formed = self.form_squad();
        let asking = formed.filter(|_| turns > 0);
        let taken = self.pending.take_squad(if asking.is_some() { turns } else { 0 });
        if let Some(squad) = taken {
            let squad = &mut self.pending.squads[squad];
            squad.are_open_known = squad.are_found && look_along_ways(self.filter, &mut squad.ways);
        }
        let mut asked = 0;
        if let Some(squad) = taken {
            let Squad { count, ways, are_open_known, .. } = &self.pending.squads[squad];
            let all = 0xff_u8 >> (SQUAD - count);
            let open = if *are_open_known { ways.open & all } else { 0 };
            // Those whose way is open first: the processor cannot foretell which they are.
            for mut left in [open, all & !open] {
                while left != 0 {
                    let number = left.trailing_zeros() as usize;
                    left &= left - 1;
                    // One squad asks while the other steps: in a burst, requests hold up what comes after.
                    if let Some(squad) = asking {
                        self.ask_for_ways(shapes, squad, asked);
                        asked += 1;
                    }
                    self.take_step(shapes, squad, number);
                }
            }
        }
        if let Some(squad) = asking {
            for number in asked..SQUAD {
                self.ask_for_ways(shapes, squad, number);
            }
        }
    }

    /// Forms a squad and finds its ways on, if it is worth it.
    #[inline(always)]
    fn form_squad(&mut self) -> Option<usize> {
        let number = self.pending.form_squad()?;
        let Squad { count, are_found, ways, .. } = &mut self.pending.squads[number];
        *are_found = *count >= FEW_IN_SQUAD && find_ways(self.filter, ways);
        Some(number)
    }

    /// Asks for the memory that the next step of a relocation needs.
    #[inline(always)]
    fn ask_for_ways(&self, shapes: impl Shapes, squad: usize, number: usize) {
        let Squad { count, relocations, are_found, ways, .. } = &self.pending.squads[squad];
        if number >= *count {
            return;
        }
        let relocation = &relocations[number];
        if !are_found {
            self.filter.prefetch_step(shapes, relocation);
            return;
        }
        let lanes = shapes.of(self.filter, relocation.segment).lanes;
        let segment = &self.filter.table.segments[relocation.segment as usize];
        for buckets in &ways.bucket[..lanes.ways()] {
            lanes.prefetch(segment, buckets[number]);
        }
    }

    /// Lets a relocation take a step.
    #[inline(always)]
    fn take_step(&mut self, shapes: impl Shapes, squad: usize, number: usize) {
        let squad = &self.pending.squads[squad];
        let (owner, mut relocation) = (squad.owners[number], squad.relocations[number]);
        let way = if squad.are_open_known {
            let lanes = shapes.of(self.filter, relocation.segment).lanes;
            squad.ways.of(&lanes, number, &relocation)
        } else {
            self.filter.way_on(shapes, &relocation)
        };
        match self.filter.step(shapes, &mut relocation, way) {
            Step::Again => self.pending.go_on(owner, relocation),
            Step::Done => self.serve_line(shapes, owner, relocation.segment),
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
                    self.note_inserted(waiting.number);
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
    pub(super) fn settle(&mut self, shapes: impl Shapes, segment: u32) {
        while self.filter.table.segments[segment as usize].owner != 0 {
            self.take_turn(shapes);
        }
    }

    /// Finishes all relocations, and inserts all keys that wait.
    pub(super) fn settle_all(&mut self, shapes: impl Shapes) {
        while self.pending.len() > 0 {
            self.take_turn(shapes);
        }
        if self.is_stuck {
            self.insert_waiting();
        }
    }

    /// Inserts the keys that wait, in line or left behind, one after the other in their order.
    #[cold]
    fn insert_waiting(&mut self) {
        for segment in self.pending.owned_segments() {
            self.filter.table.segments[segment as usize].owner = 0;
        }
        let mut waiting = self.pending.end_lines();
        waiting.append(&mut self.left_behind);
        waiting.sort_unstable();
        for number in waiting {
            let insertion = self.insert_now(self.hashes[number]);
            self.tell(number, insertion);
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
