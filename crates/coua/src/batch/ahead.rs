//! Locating keys long before they are looked at.

use std::ops::Range;

use crate::KeyHash;
use crate::filter::CuckooFilter;
use crate::geometry::Probe;
use crate::shapes::Shapes;

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::arch::locate_vector;

/// Keys located at once: two vectors of them, so that one's latency covers the other's.
pub(crate) const WIDTH: usize = 16;
/// Groups in flight, 64 keys: enough to cover the latency of memory, few enough to stay in the first
/// cache.
const AHEAD: usize = 4;

/// The places of a group of keys, field by field as vectors write them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LocatedKeys {
    pub(crate) segment: [u64; WIDTH],
    pub(crate) primary: [u64; WIDTH],
    pub(crate) partner: [u64; WIDTH],
    pub(crate) value: [u64; WIDTH],
    /// Where the segment begins in memory, and the buckets in it: set by vectors, for vectors.
    pub(crate) base: [u64; WIDTH],
    pub(crate) primary_bit: [u64; WIDTH],
    pub(crate) partner_bit: [u64; WIDTH],
}

impl LocatedKeys {
    #[inline(always)]
    pub(super) fn probe(&self, number: usize) -> Probe {
        Probe {
            segment: self.segment[number] as u32,
            primary: self.primary[number],
            partner: self.partner[number],
            value: self.value[number],
        }
    }

    #[inline(always)]
    fn set(&mut self, number: usize, probe: &Probe) {
        self.segment[number] = u64::from(probe.segment);
        self.primary[number] = probe.primary;
        self.partner[number] = probe.partner;
        self.value[number] = probe.value;
    }
}

/// The keys of a batch from one on, in order, with their places; their buckets are on their way. Right
/// until a segment splits: a place found before may name the wrong half.
pub(super) struct Lookahead<'a> {
    hashes: &'a [KeyHash],
    ring: [LocatedKeys; AHEAD],
    taken: usize,
}

impl<'a> Lookahead<'a> {
    #[inline(always)]
    pub(super) fn new(
        filter: &CuckooFilter,
        shapes: impl Shapes,
        hashes: &'a [KeyHash],
        taken: usize,
    ) -> Self {
        let ring = [LocatedKeys::default(); AHEAD];
        let mut ahead = Self { hashes, ring, taken };
        let group = taken / WIDTH;
        for group in group..group + AHEAD {
            ahead.locate_group(filter, shapes, group);
        }
        ahead
    }

    /// The places of the group that the next key belongs to, and which of them are left: from that key
    /// to the end of the group or the batch.
    #[inline(always)]
    pub(super) fn group(&self) -> (&LocatedKeys, Range<usize>) {
        let first = self.taken % WIDTH;
        let left = self.hashes.len() - self.taken;
        (&self.ring[self.taken / WIDTH % AHEAD], first..WIDTH.min(first + left))
    }

    /// Goes on to the next group.
    #[inline(always)]
    pub(super) fn next_group(&mut self, filter: &CuckooFilter, shapes: impl Shapes) {
        let group = self.taken / WIDTH;
        self.taken = (group + 1) * WIDTH;
        self.locate_group(filter, shapes, group + AHEAD);
    }

    /// The next key's hash and place.
    #[inline(always)]
    pub(super) fn next(
        &mut self,
        filter: &CuckooFilter,
        shapes: impl Shapes,
    ) -> Option<(KeyHash, Probe)> {
        let &hash = self.hashes.get(self.taken)?;
        let number = self.taken % WIDTH;
        let group = self.taken / WIDTH;
        let probe = self.ring[group % AHEAD].probe(number);
        self.taken += 1;
        if number == WIDTH - 1 {
            self.locate_group(filter, shapes, group + AHEAD);
        }
        Some((hash, probe))
    }

    #[inline(always)]
    fn locate_group(&mut self, filter: &CuckooFilter, shapes: impl Shapes, group: usize) {
        let Some(rest) = self.hashes.get(group * WIDTH..) else { return };
        let places = &mut self.ring[group % AHEAD];
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(hashes) = rest.first_chunk()
            && locate_vector(filter, hashes, places)
        {
            return;
        }
        for (number, &hash) in rest.iter().take(WIDTH).enumerate() {
            let segment = filter.directory.segment_of(hash);
            let shape = shapes.of(filter, segment);
            let probe = shape.locate(hash, segment);
            shape.lanes.prefetch_pair(&filter.table.segments[segment as usize], &probe);
            places.set(number, &probe);
        }
    }
}
