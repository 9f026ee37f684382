//! Making room: moving fingerprints to their partner buckets.
//!
//! A relocation is a small state machine, one bucket a step, so that a batch can keep many of them
//! going at once and none waits for memory. It owns its segment while it runs: the item in hand is
//! in no bucket. Victims are chosen by the item's value and the step number, so the same inserts
//! always give the same bytes.
//!
//! A relocation never fails its caller: after `max_relocations` steps the item in hand becomes
//! *homeless* and is kept, exactly, in the side table. The next insert without room splits the
//! segment first; a filter that cannot split refuses once the homeless reach their limit.

use crate::error::{Full, FullReason};
use crate::filter::CuckooFilter;
use crate::geometry::{Probe, Resolution};
use crate::side::Aside;

/// An item on its way to `bucket`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    pub(crate) segment: u32,
    steps: u32,
    bucket: u64,
    value: u64,
}

/// What one step of a relocation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Done,
    Again,
}

/// What an insert without a free slot has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Relocate,
    Split,
    Refuse,
}

impl CuckooFilter {
    /// What to do in a segment both of whose buckets are full; `pending` relocations may yet fail.
    pub(crate) fn room_in(&self, segment: u32, pending: usize) -> Room {
        let no_homes = self.side.homeless() + pending as u64 >= self.homeless_limit();
        let crowded = match self.geometry.resolution {
            // Of exactly planned size: splits only when it must.
            Resolution::Cells { .. } => no_homes,
            Resolution::Prefix { .. } => {
                let segment = &self.table.segments[segment as usize];
                segment.overfull || u64::from(segment.occupied) >= self.split_at()
            }
        };
        if crowded && self.may_split(segment) {
            Room::Split
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

    /// Starts a relocation for a key that was accepted, or splits its segment: then `None`, and the
    /// key must be located again.
    pub(crate) fn make_room(&mut self, probe: &Probe) -> Result<Option<Relocation>, Full> {
        match self.room_in(probe.segment, 0) {
            Room::Refuse => Err(self.full(FullReason::NoRoom)),
            Room::Relocate => Ok(Some(self.start_relocation(probe))),
            Room::Split => {
                self.split(probe.segment).map_err(|_| self.full(FullReason::OutOfMemory))?;
                Ok(None)
            }
        }
    }

    pub(crate) fn start_relocation(&mut self, probe: &Probe) -> Relocation {
        self.counters.stored += 1;
        self.counters.len += 1;
        self.put_in_hand(probe)
    }

    /// A relocation of an item that is counted already.
    pub(crate) fn put_in_hand(&self, probe: &Probe) -> Relocation {
        Relocation { segment: probe.segment, steps: 0, bucket: probe.primary, value: probe.value }
    }

    /// Runs a relocation to its end.
    pub(crate) fn finish(&mut self, mut relocation: Relocation) {
        while self.step(&mut relocation) == Step::Again {}
    }

    /// Moves one item, and asks for the memory that the next step needs.
    #[inline]
    pub(crate) fn step(&mut self, relocation: &mut Relocation) -> Step {
        let Relocation { segment, bucket, value, .. } = *relocation;
        let segment = &mut self.table.segments[segment as usize];
        let shape = &self.shapes[segment.level as usize];
        let lanes = &shape.lanes;
        if let Some((slot, position)) = lanes.first(bucket, lanes.empties(segment, bucket)) {
            lanes.put(segment, slot, lanes.at_position(value, position));
            segment.occupied += 1;
            return Step::Done;
        }
        if relocation.steps == self.policy.max_relocations {
            self.make_homeless(*relocation);
            return Step::Done;
        }
        relocation.steps += 1;
        let position = victim(value, relocation.steps) & (lanes.slots - 1);
        let slot = lanes.first_slot(bucket) + u64::from(position);
        let (own, evicted) = lanes.own_bucket(slot, lanes.stored(segment, slot));
        lanes.put(segment, slot, lanes.at_position(value, position));
        if lanes.stride < lanes.slots
            && let Some((slot, position)) = lanes.first(own, lanes.empties(segment, own))
        {
            lanes.put(segment, slot, lanes.at_position(evicted, position));
            segment.occupied += 1;
            return Step::Done;
        }
        (relocation.bucket, relocation.value) = shape.other_place(own, evicted);
        segment.prefetch(lanes.bit(lanes.first_slot(relocation.bucket)));
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
