//! Relocations under way, and the keys that wait for them.
//!
//! A relocation owns its segment while it runs: the item in hand is in no bucket, and the bytes must be
//! those of single calls. A key that falls into the segment waits in line, and so does the next one;
//! when the relocation has ended they go in, in their order. Keys of other segments overtake them, which
//! changes nothing: segments are independent.

use crate::geometry::Probe;
use crate::relocate::Relocation;
use crate::table::Segment;
use crate::ways::{SQUAD, Ways};

/// Relocations under way at most.
pub(super) const MOST: usize = 32;
/// Squads in line at most.
const SQUADS: usize = MOST / SQUAD;
/// The end of a line.
const END: u32 = u32::MAX;

/// A key that waits, by its number in the batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) number: usize,
    pub(super) probe: Probe,
    /// Who is next in the same line.
    next: u32,
}

/// Relocations that take a step together: the first `count`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Squad {
    pub(super) count: usize,
    pub(super) owners: [u8; SQUAD],
    pub(super) relocations: [Relocation; SQUAD],
    /// The ways on were found, and it is known which are open.
    pub(super) are_found: bool,
    pub(super) are_open_known: bool,
    pub(super) ways: Ways,
}

/// A relocation, and who waits for it to end.
#[derive(Clone, Copy, Debug)]
struct Owner {
    relocation: Relocation,
    first: u32,
    last: u32,
}

/// Relocations under way, each the owner of its segment.
#[derive(Debug, Default)]
pub(super) struct Pending {
    owners: Vec<Owner>,
    /// Owners whose relocation has ended.
    free: Vec<u8>,
    /// Owners whose ways have not been asked for yet.
    arrived: Vec<u8>,
    /// A ring of those whose have.
    pub(super) squads: Vec<Squad>,
    /// The squad whose turn is next, and how many there are.
    next: usize,
    formed: usize,
    /// Relocations that will take further steps.
    count: usize,
    /// All lines, linked.
    lines: Vec<Waiting>,
}

impl Pending {
    /// Relocations that will take further steps.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Starts a relocation, which owns the segment from now on.
    #[inline(always)]
    pub(super) fn start(&mut self, segment: &mut Segment, relocation: Relocation) {
        let owner = Owner { relocation, first: END, last: END };
        let number = self.free.pop().unwrap_or(self.owners.len() as u8);
        match self.owners.get_mut(usize::from(number)) {
            Some(place) => *place = owner,
            None => self.owners.push(owner),
        }
        segment.owner = number + 1;
        self.arrived.push(number);
        self.count += 1;
    }

    /// Forms a squad of relocations that have not asked for their ways, if they are enough or at most one
    /// other waits for its turn; its number.
    #[inline(always)]
    pub(super) fn form_squad(&mut self) -> Option<usize> {
        let count = self.arrived.len().min(SQUAD);
        if count == 0 || self.formed == SQUADS || count < SQUAD && self.formed > 1 {
            return None;
        }
        if self.squads.is_empty() {
            self.squads.resize(SQUADS, Squad::default());
        }
        let number = (self.next + self.formed) % SQUADS;
        self.formed += 1;
        let squad = &mut self.squads[number];
        squad.count = count;
        for (place, &owner) in self.arrived[self.arrived.len() - count..].iter().enumerate() {
            let relocation = self.owners[usize::from(owner)].relocation;
            squad.owners[place] = owner;
            squad.relocations[place] = relocation;
            squad.ways.segment[place] = relocation.segment.into();
            squad.ways.from[place] = relocation.bucket;
        }
        for place in count..SQUAD {
            squad.ways.segment[place] = squad.ways.segment[0];
            squad.ways.from[place] = squad.ways.from[0];
        }
        self.arrived.truncate(self.arrived.len() - count);
        Some(number)
    }

    /// The squad whose turn it is, if more than `kept` are in line. Its relocations take no more turns
    /// until they [go on](Self::go_on).
    #[inline(always)]
    pub(super) fn take_squad(&mut self, kept: usize) -> Option<usize> {
        if self.formed <= kept {
            return None;
        }
        let number = self.next;
        self.next = (self.next + 1) % SQUADS;
        self.formed -= 1;
        self.count -= self.squads[number].count;
        Some(number)
    }

    /// Lets an owner take turns again, with the same or another relocation in its segment.
    #[inline(always)]
    pub(super) fn go_on(&mut self, number: u8, relocation: Relocation) {
        self.owners[usize::from(number)].relocation = relocation;
        self.arrived.push(number);
        self.count += 1;
    }

    /// Puts a key into the line of the segment's owner.
    #[inline(always)]
    pub(super) fn wait(&mut self, segment: &Segment, number: usize, probe: &Probe) {
        let owner = &mut self.owners[usize::from(segment.owner - 1)];
        let place = self.lines.len() as u32;
        self.lines.push(Waiting { number, probe: *probe, next: END });
        if owner.first == END {
            owner.first = place;
        } else {
            self.lines[owner.last as usize].next = place;
        }
        owner.last = place;
    }

    /// Who is first in an owner's line.
    #[inline(always)]
    pub(super) fn first_in_line(&self, number: u8) -> Option<Waiting> {
        let first = self.owners[usize::from(number)].first;
        (first != END).then(|| self.lines[first as usize])
    }

    /// The first in line has been served.
    #[inline(always)]
    pub(super) fn leave_line(&mut self, number: u8) {
        let owner = &mut self.owners[usize::from(number)];
        owner.first = self.lines[owner.first as usize].next;
    }

    /// The segment is its own again; nobody may be in line.
    #[inline(always)]
    pub(super) fn release(&mut self, segment: &mut Segment) {
        self.free.push(segment.owner - 1);
        segment.owner = 0;
        if self.free.len() == self.owners.len() {
            self.lines.clear();
        }
    }

    /// The segments that have owners, perhaps with others that have had.
    pub(super) fn owned_segments(&self) -> impl Iterator<Item = u32> {
        self.owners.iter().map(|owner| owner.relocation.segment)
    }

    /// Ends all lines; the numbers of all keys that were in one. No relocation may be under way.
    pub(super) fn end_lines(&mut self) -> Vec<usize> {
        let mut all = Vec::new();
        for owner in self.owners.drain(..) {
            let mut next = owner.first;
            while let Some(&waiting) = self.lines.get(next as usize) {
                all.push(waiting.number);
                next = waiting.next;
            }
        }
        self.free.clear();
        self.lines.clear();
        all
    }
}
