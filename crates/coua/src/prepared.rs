//! Prepare and prepared: [`CuckooFilter::locate`] finds a key's place, the rest works on it.
//!
//! Single calls do the one after the other; batches locate many keys before they touch the first.

use crate::KeyHash;
use crate::error::{Full, FullReason, Insertion};
use crate::filter::{CuckooFilter, WhenFull};
use crate::geometry::{Probe, Shape};
use crate::relocate::Step;
use crate::side::{Aside, Taken};

/// Whether an insert adds a copy of a key that is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    Add,
    Keep,
}

/// How far an insert came without moving anything.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Accepted {
    Done(Insertion),
    /// Both buckets are full; nothing was changed yet.
    NeedsRoom,
}

impl CuckooFilter {
    #[inline(always)]
    pub(crate) fn locate(&self, hash: KeyHash) -> Probe {
        let segment = self.directory.segment_of(hash);
        self.shape_of(segment).locate(hash, segment)
    }

    #[inline(always)]
    pub(crate) fn shape_of(&self, segment: u32) -> &Shape {
        &self.shapes[self.table.segments[segment as usize].level as usize]
    }

    /// The shape of all segments, if they have the same depth.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn only_shape(&self) -> Option<&Shape> {
        self.directory.is_even(self.table.segments.len()).then(|| self.shape_of(0))
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, probe: &Probe) {
        let segment = &self.table.segments[probe.segment as usize];
        let lanes = &self.shapes[segment.level as usize].lanes;
        lanes.prefetch(segment, probe.primary);
        lanes.prefetch(segment, probe.partner);
    }

    #[inline(always)]
    pub(crate) fn look(&self, probe: &Probe) -> bool {
        let segment = &self.table.segments[probe.segment as usize];
        let lanes = &self.shapes[segment.level as usize].lanes;
        let here = lanes.matches(segment, probe.primary, probe.value).any();
        let there = lanes.matches(segment, probe.partner, probe.partner_value()).any();
        (here | there) || (segment.spilled && self.side_copies(probe) > 0)
    }

    pub(crate) fn tally(&self, probe: &Probe) -> u64 {
        self.side_copies(probe).saturating_add(u64::from(self.slots_holding(probe)))
    }

    pub(crate) fn slots_holding(&self, probe: &Probe) -> u32 {
        let segment = &self.table.segments[probe.segment as usize];
        let lanes = &self.shapes[segment.level as usize].lanes;
        lanes.matches(segment, probe.primary, probe.value).count()
            + lanes.matches(segment, probe.partner, probe.partner_value()).count()
    }

    pub(crate) fn side_copies(&self, probe: &Probe) -> u64 {
        if self.table.segments[probe.segment as usize].spilled {
            self.side.copies(self.representative(probe))
        } else {
            0
        }
    }

    pub(crate) fn representative(&self, probe: &Probe) -> KeyHash {
        let segment = &self.table.segments[probe.segment as usize];
        self.shapes[segment.level as usize].representative(
            segment.prefix,
            probe.primary,
            probe.value,
        )
    }

    #[inline]
    pub(crate) fn insert_one(&mut self, hash: KeyHash, copies: Copies) -> Result<Insertion, Full> {
        loop {
            let probe = self.locate(hash);
            if let Accepted::Done(insertion) = self.accept(&probe, copies)? {
                return Ok(insertion);
            }
            match self.make_room(&probe) {
                Ok(Some(relocation)) => {
                    self.finish(relocation);
                    return Ok(Insertion::Inserted);
                }
                Ok(None) => {}
                // A key that is there already is never refused.
                Err(_) if self.slots_holding(&probe) > 0 => {
                    self.set_aside(&probe, 1);
                    return Ok(Insertion::Inserted);
                }
                Err(full) => return Err(full),
            }
        }
    }

    /// Everything an insert does before it has to move other items.
    #[inline(always)]
    pub(crate) fn accept(&mut self, probe: &Probe, copies: Copies) -> Result<Accepted, Full> {
        let segment = &self.table.segments[probe.segment as usize];
        let lanes = &self.shapes[segment.level as usize].lanes;
        let here = lanes.matches(segment, probe.primary, probe.value);
        let there = lanes.matches(segment, probe.partner, probe.partner_value());
        let is_held = here.any() | there.any();
        if is_held && copies == Copies::Keep {
            return Ok(Accepted::Done(Insertion::AlreadyPresent));
        }
        let held = if is_held { here.count() + there.count() } else { 0 };
        if (held >= lanes.slots || segment.spilled)
            && let Some(insertion) = self.accept_aside(probe, copies, held)
        {
            return Ok(Accepted::Done(insertion));
        }
        if self.is_at_limit() {
            return self.accept_at_limit(probe, held);
        }
        if self.place(probe) == Step::Again {
            return Ok(Accepted::NeedsRoom);
        }
        self.stored += 1;
        Ok(Accepted::Done(Insertion::Inserted))
    }

    /// Whether one more item would exceed the stated rate, and may not.
    #[inline(always)]
    fn is_at_limit(&self) -> bool {
        self.stored >= self.policy.max_items && self.policy.when_full != WhenFull::ExceedRate
    }

    /// A key that is there already is never refused.
    #[cold]
    fn accept_at_limit(&mut self, probe: &Probe, held: u32) -> Result<Accepted, Full> {
        if held == 0 {
            return Err(self.full(FullReason::MaxItems));
        }
        self.set_aside(probe, 1);
        Ok(Accepted::Done(Insertion::Inserted))
    }

    /// The part of `accept` that concerns the side table: further copies of a key go there.
    #[cold]
    fn accept_aside(&mut self, probe: &Probe, copies: Copies, held: u32) -> Option<Insertion> {
        let aside = self.side_copies(probe);
        if aside > 0 && copies == Copies::Keep {
            return Some(Insertion::AlreadyPresent);
        }
        if aside == 0 && held < self.geometry.slots_per_bucket {
            return None;
        }
        self.set_aside(probe, 1);
        Some(Insertion::Inserted)
    }

    /// Adds copies without slots.
    pub(crate) fn set_aside(&mut self, probe: &Probe, copies: u64) {
        self.side.add(self.representative(probe), Aside { extra: copies, homeless: 0 });
        self.table.segments[probe.segment as usize].spilled = true;
    }

    /// Takes one copy away, from the side table first: slots are the cheaper place.
    #[inline(always)]
    pub(crate) fn take_away(&mut self, probe: &Probe) -> bool {
        if self.table.segments[probe.segment as usize].spilled && self.take_aside(probe) {
            return true;
        }
        let segment = &mut self.table.segments[probe.segment as usize];
        let lanes = &self.shapes[segment.level as usize].lanes;
        for (bucket, value) in
            [(probe.primary, probe.value), (probe.partner, probe.partner_value())]
        {
            let found = lanes.matches(segment, bucket, value);
            if let Some(position) = lanes.first(found) {
                lanes.put(segment, bucket, position, 0);
                segment.occupied -= 1;
                self.stored -= 1;
                return true;
            }
        }
        false
    }

    #[cold]
    fn take_aside(&mut self, probe: &Probe) -> bool {
        let Some(taken) = self.side.take(self.representative(probe)) else {
            return false;
        };
        self.stored -= u64::from(taken == Taken::Homeless);
        true
    }

    #[cold]
    pub(crate) fn full(&self, reason: FullReason) -> Full {
        Full { items: self.len(), max_items: self.policy.max_items, reason }
    }
}
