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

/// Where a key was found.
enum Sought {
    Nowhere,
    At(Found),
    /// The first candidate is another key, and there may be more: seldom, and so left to code that is out
    /// of the way of all others.
    Unclear,
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
        self.lanes.candidates_of_pair(segment, &self.primary, &self.partner, probe)
    }

    /// The first slot that holds the key, in the primary bucket or else in the partner.
    #[inline(always)]
    fn find(&self, segment: &Segment, probe: &Probe) -> Sought {
        let (here, there) = self.candidates(segment, probe);
        // Which bucket it is cannot be foretold: no branch on it.
        let in_partner = !here.any();
        let candidates = select_unpredictable(in_partner, there, here);
        let Some(position) = self.lanes.first(candidates) else {
            return Sought::Nowhere;
        };
        let bucket = select_unpredictable(in_partner, self.partner, self.primary);
        let value = probe.value | (u64::from(in_partner) * PARTNER);
        if self.lanes.confirms(segment, &bucket, position, value) {
            Sought::At(Found { in_partner, position })
        } else {
            Sought::Unclear
        }
    }

    /// Whether a slot holds the key; `None` as [`Sought::Unclear`].
    #[inline(always)]
    pub(crate) fn holds(&self, segment: &Segment, probe: &Probe) -> Option<bool> {
        if self.lanes.form == Form::Wide {
            return match self.find(segment, probe) {
                Sought::Nowhere => Some(false),
                Sought::At(_) => Some(true),
                Sought::Unclear => None,
            };
        }
        if self.lanes.form == Form::Narrow {
            return Some(self.lanes.any_candidate(&self.primary, &self.partner, probe.value));
        }
        let (here, there) = self.candidates(segment, probe);
        Some(here.any() | there.any())
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

    /// Takes one copy out of its slot; `None` as [`Sought::Unclear`].
    #[inline(always)]
    pub(crate) fn take(&self, segment: &mut Segment, probe: &Probe) -> Option<bool> {
        match self.find(segment, probe) {
            Sought::Nowhere => Some(false),
            Sought::At(found) => {
                self.clear(segment, probe, &found);
                Some(true)
            }
            Sought::Unclear => None,
        }
    }

    /// [`take`](Self::take), asking every candidate.
    pub(crate) fn take_from_many(&self, segment: &mut Segment, probe: &Probe) -> bool {
        let (here, there) = self.matches(segment, probe);
        let in_partner = !here.any();
        let position = self.lanes.first(if in_partner { there } else { here });
        if let Some(position) = position {
            self.clear(segment, probe, &Found { in_partner, position });
        }
        position.is_some()
    }

    #[inline(always)]
    fn clear(&self, segment: &mut Segment, probe: &Probe, found: &Found) {
        let &Found { in_partner, position } = found;
        let bucket = select_unpredictable(in_partner, self.partner, self.primary);
        let value = probe.value | (u64::from(in_partner) * PARTNER);
        let stored = self.lanes.at_position(value, position);
        self.lanes.replace(segment, &bucket, position, (stored, 0));
        // A mapped file may have said less than is there.
        segment.occupied = segment.occupied.saturating_sub(1);
    }
}
