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
//! filter grow first; one that cannot grow refuses once the homeless reach their limit.

use crate::error::{Full, FullReason};
use crate::filter::CuckooFilter;
use crate::geometry::{Probe, Resolution, Shape};
use crate::shapes::Shapes;
use crate::side::Aside;
use crate::table::Segment;
use crate::ways::Way;

/// A segment with less than this part of its slots in use does not split.
const LEAST_USE: u64 = 4;

/// An item on its way to `bucket`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    pub(crate) segment: u32,
    steps: u32,
    bucket: u64,
    value: u64,
}

impl Relocation {
    pub(crate) fn new(probe: &Probe) -> Self {
        Self { segment: probe.segment, steps: 0, bucket: probe.primary, value: probe.value }
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
    Refuse,
}

impl CuckooFilter {
    /// What to do in a segment both of whose buckets are full; `pending` relocations may yet fail.
    pub(crate) fn room_in(&self, segment: u32, pending: usize) -> Room {
        let no_homes = self.side.homeless() + pending as u64 >= self.homeless_limit();
        let Segment { occupied, overfull, .. } = self.table.segments[segment as usize];
        let occupied = u64::from(occupied);
        // Keys made to collide fill two buckets, not a segment: they must not buy memory.
        let is_used = occupied >= self.geometry.segment_slots() / LEAST_USE;
        let crowded = match self.geometry.resolution {
            // Of exactly planned size: splits only when it must.
            Resolution::Cells { .. } => no_homes && is_used,
            Resolution::Prefix { .. } => overfull && is_used || occupied >= self.split_at(),
        };
        if crowded && self.may_grow(segment) {
            Room::Grow
        } else if no_homes {
            Room::Refuse
        } else {
            Room::Relocate
        }
    }

    /// Homeless items that the side table takes before inserts are refused.
    fn homeless_limit(&self) -> u64 {
        16 + self.slots() / 64
    }

    /// Starts a relocation for a key that was accepted, or grows the filter: then `None`, and the
    /// key must be located again.
    pub(crate) fn make_room(&mut self, probe: &Probe) -> Result<Option<Relocation>, Full> {
        match self.room_in(probe.segment, 0) {
            Room::Refuse => Err(self.full(FullReason::NoRoom)),
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
        while self.step(shapes, &mut relocation) == Step::Again {}
    }

    /// Moves one item.
    #[inline(always)]
    pub(crate) fn step(&mut self, shapes: impl Shapes, relocation: &mut Relocation) -> Step {
        let shape = shapes.of(self, relocation.segment);
        if relocation.steps == self.policy.max_relocations {
            self.make_homeless(*relocation);
            return Step::Done;
        }
        relocation.steps += 1;
        let segment = &mut self.table.segments[relocation.segment as usize];
        if shape.make_way(segment, relocation) {
            segment.occupied += 1;
            return Step::Done;
        }
        shape.swap(segment, relocation);
        Step::Again
    }

    #[cold]
    fn make_homeless(&mut self, relocation: Relocation) {
        let segment = &mut self.table.segments[relocation.segment as usize];
        let shape = &self.shapes[segment.level as usize];
        let representative =
            shape.representative(segment.prefix, relocation.bucket, relocation.value);
        segment.overfull = true;
        segment.spilled = true;
        self.side.add(representative, Aside { extra: 0, homeless: 1 });
    }
}

impl Shape {
    /// If an item of the relocation's bucket can move to a free slot elsewhere, moves it and gives
    /// its slot to the item in hand.
    #[inline(always)]
    fn make_way(&self, segment: &mut Segment, relocation: &Relocation) -> bool {
        let Some(Way { position, bucket, value }) = self.way_out(segment, relocation.bucket) else {
            return false;
        };
        let target = self.lanes.read(segment, bucket);
        if let Some(free) = self.lanes.first(self.lanes.empties(segment, &target)) {
            self.lanes.fill(segment, &target, free, value);
            self.exchange(segment, relocation, position);
        }
        true
    }

    /// Puts the item in hand into its full bucket, and takes another one out.
    #[inline(always)]
    fn swap(&self, segment: &mut Segment, relocation: &mut Relocation) {
        let position = victim(relocation.value, relocation.steps) & (self.lanes.slots - 1);
        let stored = self.exchange(segment, relocation, position);
        let (own, evicted) = self.lanes.own_bucket(relocation.bucket, position, stored);
        (relocation.bucket, relocation.value) = self.other_place(own, evicted);
    }

    /// Puts the item in hand at `position`; returns what was stored there.
    #[inline(always)]
    fn exchange(&self, segment: &mut Segment, relocation: &Relocation, position: u32) -> u64 {
        let bucket = self.lanes.read(segment, relocation.bucket);
        let stored = self.lanes.stored(segment, &bucket, position);
        let arriving = self.lanes.at_position(relocation.value, position);
        self.lanes.replace(segment, &bucket, position, (stored, arriving));
        stored
    }
}

/// Which position gives way: a mix of the item and of how often it was tried.
#[inline]
fn victim(value: u64, step: u32) -> u32 {
    ((value + u64::from(step)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as u32
}
