//! Making room: moving fingerprints to their partner buckets.
//!
//! A relocation is a small state machine, so that a batch can keep many of them going at once and
//! none waits for memory. Each step looks at a full bucket and at the other buckets of all its items:
//! if one of these has a free slot, that item moves there and the item in hand takes its place. If
//! not, the item in hand displaces one of them, which then looks for a place in its other bucket. A
//! relocation owns its segment while it runs: the item in hand is in no bucket. Victims are chosen by
//! the item's value and the step number, so the same inserts always give the same bytes.
//!
//! A relocation never fails its caller: after `max_relocations` steps the item in hand becomes
//! *homeless* and is kept, exactly, in the side table. The next insert without room makes the
//! filter grow first, unless chance explains it in a filter that holds no more than it was planned for; one
//! that cannot grow refuses once the homeless reach their limit.

use crate::error::{Full, FullReason};
use crate::filter::{CuckooFilter, WhenFull};
use crate::geometry::{Probe, Shape};
use crate::shapes::Shapes;
use crate::side::{Aside, ENTRY_BYTES};
use crate::table::Segment;
use crate::ways::Way;

/// A segment with less than this part of its slots in use does not split, nor a filter double.
pub(crate) const LEAST_USE: u64 = 4;
/// Entries of the side table that chance may give a segment which holds what it is planned for. With more, its
/// keys have many copies.
const MOST_ENTRIES_BY_CHANCE: usize = 4;

/// An item on its way to `bucket`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Relocation {
    pub(crate) segment: u32,
    steps: u32,
    pub(crate) bucket: u64,
    value: u64,
}

impl Relocation {
    pub(crate) fn new(probe: &Probe) -> Self {
        Self { segment: probe.segment, steps: 0, bucket: probe.primary, value: probe.value }
    }

    /// Which item gives way where none can move, modulo the slots of a bucket: a mix of the item in
    /// hand and of how often this was tried.
    #[inline(always)]
    pub(crate) fn victim(&self) -> u32 {
        let step = u64::from(self.steps) + 1;
        ((self.value + step).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as u32
    }
}

/// What one step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Done,
    Again,
}

/// What an insert without a free slot has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Relocate,
    Grow,
    Refuse(FullReason),
}

impl CuckooFilter {
    /// What to do in a segment both of whose buckets are full; `pending` relocations may yet fail.
    pub(crate) fn room_in(&self, segment: u32, pending: usize) -> Room {
        let no_homes = self.side.homeless() + pending as u64 >= self.homeless_limit();
        let crowded = no_homes && self.is_used(segment) || self.is_crowded(segment);
        if crowded && self.may_grow(segment) {
            let is_within_limit = self.growth_bytes(segment) <= self.memory_left();
            return if is_within_limit {
                Room::Grow
            } else {
                Room::Refuse(FullReason::MemoryLimit)
            };
        }
        if no_homes {
            let may_not_grow = self.policy.when_full == WhenFull::Refuse;
            let reason = if may_not_grow { FullReason::NoRoom } else { FullReason::Crowded };
            return Room::Refuse(reason);
        }
        // Beyond what its memory was planned for, an item may come to need an entry of the side table.
        if !self.has_entries_left(pending) && self.stored >= self.capacity() {
            return Room::Refuse(FullReason::MemoryLimit);
        }
        Room::Relocate
    }

    /// Whether memory is left for an entry of the side table, if so many relocations come to need one first.
    pub(crate) fn has_entries_left(&self, pending: usize) -> bool {
        self.memory_left() >= (pending as u64 + 1) * ENTRY_BYTES as u64
    }

    /// Keys made to collide fill two buckets, not a segment: they must not buy memory.
    fn is_used(&self, segment: u32) -> bool {
        let occupied = self.table.segments[segment as usize].occupied;
        u64::from(occupied) >= self.geometry.segment_slots() / LEAST_USE
    }

    /// Whether a segment shall grow before it relocates, if it may, although homes are left: never while the
    /// filter holds no more than it was planned for, whatever segments chance gave that to.
    pub(crate) fn is_crowded(&self, segment: u32) -> bool {
        let Segment { occupied, overfull, .. } = self.table.segments[segment as usize];
        // Of exactly planned size: splits only when it must.
        self.is_resizable()
            && (u64::from(occupied) >= self.split_at() || overfull && self.is_used(segment))
            && !self.is_as_planned(segment)
    }

    /// Whether a segment holds no more than chance gives it while the filter holds what it was planned for. In a
    /// small filter this is seen from the whole; in others, which may be cut, from the segment alone.
    #[cold]
    fn is_as_planned(&self, segment: u32) -> bool {
        if self.is_small() {
            return self.stored < self.capacity();
        }
        let Segment { occupied, level, prefix, .. } = self.table.segments[segment as usize];
        let entries = || self.side.under(prefix, self.geometry.base_depth);
        level == 0
            && u64::from(occupied) < self.most_by_chance()
            && entries().nth(MOST_ENTRIES_BY_CHANCE).is_none()
    }

    /// Whether so many inserts meet no limit of the whole filter, whatever their order: neither that of
    /// items nor that of the homeless, of which each may make one more, nor that of memory; and none makes
    /// the whole filter grow, which moves all that is in.
    pub(crate) fn is_far_from_limits(&self, inserts: usize) -> bool {
        self.takes_items(inserts)
            && !self.may_double()
            && self.side.homeless() + (inserts as u64) < self.homeless_limit()
            && self.is_far_from_memory_limit(inserts)
    }

    /// Whether the filter may hold so many more items.
    pub(crate) fn takes_items(&self, inserts: usize) -> bool {
        self.policy.when_full == WhenFull::ExceedRate
            || self.stored.saturating_add(inserts as u64) <= self.policy.max_items
    }

    /// Homeless items that the side table takes before inserts are refused.
    pub(crate) fn homeless_limit(&self) -> u64 {
        16 + self.slots() / 64 + self.whole.spare_homes
    }

    /// Starts a relocation for a key that was accepted, or grows the filter: then `None`, and the
    /// key must be located again.
    pub(crate) fn make_room(&mut self, probe: &Probe) -> Result<Option<Relocation>, Full> {
        match self.room_in(probe.segment, 0) {
            Room::Refuse(reason) => Err(self.full(reason)),
            Room::Relocate => Ok(Some(self.start_relocation(probe))),
            Room::Grow => {
                self.grow(probe.segment).map_err(|_| self.full(FullReason::OutOfMemory))?;
                Ok(None)
            }
        }
    }

    pub(crate) fn start_relocation(&mut self, probe: &Probe) -> Relocation {
        self.stored += 1;
        Relocation::new(probe)
    }

    /// Asks for the memory that the next step needs.
    #[inline(always)]
    pub(crate) fn prefetch_step(&self, shapes: impl Shapes, relocation: &Relocation) {
        let shape = shapes.of(self, relocation.segment);
        shape.prefetch_others(&self.table.segments[relocation.segment as usize], relocation.bucket);
    }

    /// Runs a relocation to its end.
    #[inline(always)]
    pub(crate) fn finish(&mut self, shapes: impl Shapes, mut relocation: Relocation) {
        loop {
            let way = self.way_on(shapes, &relocation);
            if self.step(shapes, &mut relocation, way) == Step::Done {
                break;
            }
        }
    }

    /// The way on from the full bucket that a relocation stands at.
    #[inline(always)]
    pub(crate) fn way_on(&self, shapes: impl Shapes, relocation: &Relocation) -> Way {
        let segment = &self.table.segments[relocation.segment as usize];
        let shape = shapes.of(self, relocation.segment);
        let victim = relocation.victim() & (shape.lanes.slots - 1);
        shape.way_on(segment, relocation.bucket, victim)
    }

    /// Moves one item.
    #[inline(always)]
    pub(crate) fn step(
        &mut self,
        shapes: impl Shapes,
        relocation: &mut Relocation,
        way: Way,
    ) -> Step {
        let shape = shapes.of(self, relocation.segment);
        if relocation.steps == self.policy.max_relocations {
            self.make_homeless(*relocation);
            return Step::Done;
        }
        relocation.steps += 1;
        let segment = &mut self.table.segments[relocation.segment as usize];
        if !way.is_open {
            shape.exchange(segment, relocation, &way);
            (relocation.bucket, relocation.value) = (way.bucket, way.value);
            return Step::Again;
        }
        let target = shape.lanes.read(segment, way.bucket);
        if let Some(free) = shape.lanes.first(shape.lanes.empties(segment, &target)) {
            shape.lanes.fill(segment, &target, free, way.value);
            shape.exchange(segment, relocation, &way);
            segment.occupied += 1;
        }
        Step::Done
    }

    #[cold]
    pub(crate) fn make_homeless(&mut self, relocation: Relocation) {
        let Relocation { segment, bucket, value, .. } = relocation;
        let segment = &mut self.table.segments[segment as usize];
        segment.overfull = true;
        let shape = &self.shapes[segment.level as usize];
        // In a forged table it may be an item that no hash leads to. The side table has none of those: it
        // becomes a copy of the one that its hash leads to.
        let hash = shape.representative(segment.prefix, bucket, value);
        let probe = self.locate(hash);
        self.side.add(self.representative(&probe), Aside { extra: 0, homeless: 1 });
        self.table.segments[probe.segment as usize].spilled = true;
    }
}

impl Shape {
    /// Puts the item in hand into the slot of the one that goes.
    #[inline(always)]
    fn exchange(&self, segment: &mut Segment, relocation: &Relocation, way: &Way) {
        let bucket = self.lanes.read(segment, relocation.bucket);
        let stored = self.lanes.stored(segment, &bucket, way.position);
        let arriving = self.lanes.at_position(relocation.value, way.position);
        self.lanes.replace(segment, &bucket, way.position, (stored, arriving));
    }
}
