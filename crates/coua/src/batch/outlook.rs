//! What the inserts of a group of keys will find, seen before the first of them.
//!
//! Vectors of buckets are looked at with a few instructions. An insert among the group may
//! change what the later ones find, so each insert first makes sure that its two buckets are as they
//! were seen.

use std::hint::select_unpredictable;

use super::WIDTH;
use crate::bucket::Bucket;
use crate::error::Insertion;
use crate::filter::CuckooFilter;
use crate::geometry::{PARTNER, Probe};
use crate::prepared::Accepted;
use crate::shapes::Shapes;

/// What was seen of a group of keys, field by field as vectors write them; of the single words, each
/// bit is a key's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outlook {
    pub(crate) primary_bit: [u64; WIDTH],
    pub(crate) primary_word: [u64; WIDTH],
    pub(crate) partner_bit: [u64; WIDTH],
    pub(crate) partner_word: [u64; WIDTH],
    /// The first free position of the emptier bucket.
    pub(crate) position: [u64; WIDTH],
    /// The partner is the emptier bucket.
    pub(crate) to_partner: u16,
    /// The key is in a slot.
    pub(crate) held: u16,
    /// Both buckets are full.
    pub(crate) full: u16,
    /// The key must be looked for more closely.
    pub(crate) doubtful: u16,
}

impl Outlook {
    /// [`CuckooFilter::accept`] for a key that is absent, if all is as foreseen and needs no further
    /// care; else changes nothing.
    #[inline(always)]
    pub(super) fn insert(
        &self,
        filter: &mut CuckooFilter,
        shapes: impl Shapes,
        (number, probe): (usize, &Probe),
    ) -> Option<Accepted> {
        let is_at_limit = filter.is_at_limit();
        let lanes = shapes.of(filter, probe.segment).lanes;
        let segment = &mut filter.table.segments[probe.segment as usize];
        let primary = Bucket::seen(self.primary_bit[number], self.primary_word[number]);
        let partner = Bucket::seen(self.partner_bit[number], self.partner_word[number]);
        let is_as_seen = primary.is_current(segment) & partner.is_current(segment);
        let needs_care = (self.doubtful | self.held) >> number & 1 == 1;
        let may_be_aside = segment.spilled && filter.side.has_homeless();
        if needs_care || !is_as_seen || may_be_aside || is_at_limit {
            return None;
        }
        if self.full >> number & 1 == 1 {
            return Some(Accepted::NeedsRoom);
        }
        let to_partner = self.to_partner >> number & 1 == 1;
        let bucket = select_unpredictable(to_partner, partner, primary);
        let value = probe.value | (u64::from(to_partner) * PARTNER);
        lanes.fill(segment, &bucket, self.position[number] as u32, value);
        segment.occupied += 1;
        filter.stored += 1;
        Some(Accepted::Done(Insertion::Inserted))
    }
}
