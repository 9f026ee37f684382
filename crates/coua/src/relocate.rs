//! Making room: moving fingerprints to their partner buckets.
//!
//! A relocation is a small state machine, one bucket a step, so that a batch can keep many of them
//! going at once and none waits for memory. It owns its segment while it runs: the item in hand is
//! in no bucket. Victims are chosen by the item's value and the step number, so the same inserts
//! always give the same bytes.
//!
//! A relocation never fails its caller: after `max_relocations` steps the item in hand becomes
//! *homeless* and is kept, exactly, in the side table. The next insert without room makes the
//! filter grow first; one that cannot grow refuses once the homeless reach their limit.

use crate::error::{Full, FullReason};
use crate::filter::CuckooFilter;
use crate::geometry::{PARTNER, Probe, Resolution};
use crate::side::Aside;
use crate::table::Segment;

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

    /// Puts an item into the emptier of its buckets; `Again` if both are full.
    #[inline(always)]
    pub(crate) fn place(&mut self, probe: &Probe) -> Step {
        let segment = &mut self.table.segments[probe.segment as usize];
        let lanes = &self.shapes[segment.level as usize].lanes;
        let primary = lanes.empties(segment, probe.primary);
        let partner = lanes.empties(segment, probe.partner);
        // Branch-free: which bucket is emptier cannot be foretold.
        let to_partner = u64::from(partner.count() > primary.count());
        let empties = if to_partner == 1 { partner } else { primary };
        let bucket = probe.primary ^ ((probe.primary ^ probe.partner) & to_partner.wrapping_neg());
        let value = probe.value | (to_partner * PARTNER);
        let Some(position) = lanes.first(empties) else {
            return Step::Again;
        };
        lanes.put(segment, bucket, position, lanes.at_position(value, position));
        segment.occupied += 1;
        Step::Done
    }

    /// Runs a relocation to its end.
    pub(crate) fn finish(&mut self, mut relocation: Relocation) {
        while self.step(&mut relocation) == Step::Again {}
    }

    /// Moves one item, and asks for the memory that the next step needs.
    #[inline(always)]
    pub(crate) fn step(&mut self, relocation: &mut Relocation) -> Step {
        let Relocation { segment, bucket, value, .. } = *relocation;
        let segment = &mut self.table.segments[segment as usize];
        let shape = &self.shapes[segment.level as usize];
        let lanes = &shape.lanes;
        if let Some(position) = lanes.first(lanes.empties(segment, bucket)) {
            lanes.put(segment, bucket, position, lanes.at_position(value, position));
            segment.occupied += 1;
            return Step::Done;
        }
        if relocation.steps == self.policy.max_relocations {
            self.make_homeless(*relocation);
            return Step::Done;
        }
        relocation.steps += 1;
        let position = victim(value, relocation.steps) & (lanes.slots - 1);
        let evicted = lanes.stored(segment, bucket, position);
        let (own, evicted) = lanes.own_bucket(bucket, position, evicted);
        lanes.put(segment, bucket, position, lanes.at_position(value, position));
        if lanes.overlap()
            && let Some(position) = lanes.first(lanes.empties(segment, own))
        {
            lanes.put(segment, own, position, lanes.at_position(evicted, position));
            segment.occupied += 1;
            return Step::Done;
        }
        (relocation.bucket, relocation.value) = shape.other_place(own, evicted);
        lanes.prefetch(segment, relocation.bucket);
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

/// Which position gives way: a mix of the item and of how often it was tried.
#[inline]
fn victim(value: u64, step: u32) -> u32 {
    ((value + u64::from(step)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as u32
}
