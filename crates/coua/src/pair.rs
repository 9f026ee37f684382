//! Both buckets of a key: finding it there, putting it in, taking it out.

use std::hint::select_unpredictable;

use crate::bucket::{Bucket, Form, Lanes, Marks};
use crate::geometry::{PARTNER, Probe};
use crate::relocate::Step;
use crate::table::Segment;

/// The slot of a key.
struct Found {
    in_partner: bool,
    position: u32,
}

/// Both buckets of a key, read at once.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    lanes: Lanes,
    primary: Bucket,
    partner: Bucket,
}

impl Pair {
    #[inline(always)]
    pub(crate) fn read(lanes: Lanes, segment: &Segment, probe: &Probe) -> Self {
        let primary = lanes.read(segment, probe.primary);
        let partner = lanes.read(segment, probe.partner);
        Self { lanes, primary, partner }
    }

    /// The slots that hold the key, in the primary bucket and in the partner.
    fn matches(&self, segment: &Segment, probe: &Probe) -> (Marks, Marks) {
        let here = self.lanes.matches(segment, &self.primary, probe.value);
        let there = self.lanes.matches(segment, &self.partner, probe.partner_value());
        (here, there)
    }

    /// The slots that hold the key as far as the lanes tell.
    #[inline(always)]
    fn candidates(&self, segment: &Segment, probe: &Probe) -> (Marks, Marks) {
        self.lanes.candidates_of_pair(segment, (&self.primary, &self.partner), probe)
    }

    /// The first slot that holds the key, in the primary bucket or else in the partner.
    #[inline(always)]
    fn find(&self, segment: &Segment, probe: &Probe) -> Option<Found> {
        let (here, there) = self.candidates(segment, probe);
        if !(here.any() | there.any()) {
            return None;
        }
        // Which bucket it is cannot be foretold: no branch on it.
        let in_partner = !here.any();
        let candidates = select_unpredictable(in_partner, there, here);
        let position = self.lanes.first(candidates)?;
        let bucket = select_unpredictable(in_partner, self.partner, self.primary);
        let value = probe.value | (u64::from(in_partner) * PARTNER);
        if self.lanes.confirms(segment, &bucket, (position, value)) {
            Some(Found { in_partner, position })
        } else {
            self.find_among_many(segment, *probe)
        }
    }

    /// `find` where the first candidate is another key. Takes copies: were it lent them, those that call
    /// it would have to keep them in memory.
    #[cold]
    fn find_among_many(self, segment: &Segment, probe: Probe) -> Option<Found> {
        let (here, there) = self.matches(segment, &probe);
        let in_partner = !here.any();
        let position = self.lanes.first(if in_partner { there } else { here })?;
        Some(Found { in_partner, position })
    }

    #[inline(always)]
    pub(crate) fn holds(&self, segment: &Segment, probe: &Probe) -> bool {
        if self.lanes.form == Form::Wide {
            return self.find(segment, probe).is_some();
        }
        let (here, there) = self.candidates(segment, probe);
        here.any() | there.any()
    }

    pub(crate) fn copies(&self, segment: &Segment, probe: &Probe) -> u32 {
        let (here, there) = self.matches(segment, probe);
        here.count() + there.count()
    }

    /// Puts the item into the emptier of the buckets; `Again` if both are full.
    #[inline(always)]
    pub(crate) fn place(&self, segment: &mut Segment, probe: &Probe) -> Step {
        let primary = self.lanes.empties(segment, &self.primary);
        let partner = self.lanes.empties(segment, &self.partner);
        // Which bucket is emptier cannot be foretold: no branch on it.
        let to_partner = partner.count() > primary.count();
        let empties = select_unpredictable(to_partner, partner, primary);
        let bucket = select_unpredictable(to_partner, self.partner, self.primary);
        let Some(position) = self.lanes.first(empties) else {
            return Step::Again;
        };
        let value = probe.value | (u64::from(to_partner) * PARTNER);
        self.lanes.fill(segment, &bucket, position, value);
        segment.occupied += 1;
        Step::Done
    }

    /// Takes one copy out of its slot.
    #[inline(always)]
    pub(crate) fn take(&self, segment: &mut Segment, probe: &Probe) -> bool {
        let Some(Found { in_partner, position }) = self.find(segment, probe) else {
            return false;
        };
        let bucket = select_unpredictable(in_partner, self.partner, self.primary);
        let value = probe.value | (u64::from(in_partner) * PARTNER);
        let stored = self.lanes.at_position(value, position);
        self.lanes.replace(segment, &bucket, position, (stored, 0));
        // A mapped file may have said less than is there.
        segment.occupied = segment.occupied.saturating_sub(1);
        true
    }
}
