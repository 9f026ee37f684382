//! Locating keys long before they are looked at.

use std::ops::Range;

use crate::KeyHash;
use crate::filter::CuckooFilter;
use crate::geometry::Probe;
use crate::shapes::Shapes;
use crate::table::prefetch;

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
    /// They were located by vectors, and their memory was not asked for yet.
    pub(crate) are_to_be_asked: bool,
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

    /// Asks for the memory of a key.
    #[inline(always)]
    pub(super) fn ask(&self, filter: &CuckooFilter, shapes: impl Shapes, number: usize) {
        let lanes = shapes.of(filter, self.segment[number] as u32).lanes;
        for bit in [self.primary_bit[number], self.partner_bit[number]] {
            let at = |bit: u64| (self.base[number] + (bit >> 3)) as *const u8;
            prefetch(at(bit));
            if let Some(last_bit) = lanes.last_bit {
                prefetch(at(bit + last_bit));
            }
        }
    }

    /// Asks for the memory of all keys from one on.
    #[inline(always)]
    pub(super) fn ask_from(&self, filter: &CuckooFilter, shapes: impl Shapes, first: usize) {
        for number in first..WIDTH {
            self.ask(filter, shapes, number);
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
    /// The last group in flight.
    last: usize,
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
        let mut ahead = Self { hashes, ring, taken, last: 0 };
        let group = taken / WIDTH;
        for group in group..group + AHEAD {
            ahead.locate_group(filter, shapes, group);
            ahead.ask_for_last(filter, shapes);
        }
        ahead
    }

    /// The last group in flight, whose memory is to be asked for, key by key, between the keys of the
    /// group that is served: requests that come in a burst hold up everything behind them.
    #[inline(always)]
    pub(super) fn to_be_asked(&self) -> Option<&LocatedKeys> {
        Some(&self.ring[self.last % AHEAD]).filter(|keys| keys.are_to_be_asked)
    }

    #[inline(always)]
    fn ask_for_last(&mut self, filter: &CuckooFilter, shapes: impl Shapes) {
        if let Some(keys) = self.to_be_asked() {
            keys.ask_from(filter, shapes, 0);
            self.ring[self.last % AHEAD].are_to_be_asked = false;
        }
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
            self.ask_for_last(filter, shapes);
        }
        Some((hash, probe))
    }

    #[inline(always)]
    fn locate_group(&mut self, filter: &CuckooFilter, shapes: impl Shapes, group: usize) {
        self.last = group;
        let places = &mut self.ring[group % AHEAD];
        places.are_to_be_asked = false;
        let Some(rest) = self.hashes.get(group * WIDTH..) else { return };
        // Two cache lines of hashes: among so many random accesses the processor does not see that they
        // are read from end to end.
        for line in [0, WIDTH / 2] {
            if let Some(hash) = rest.get(AHEAD * WIDTH + line) {
                prefetch(std::ptr::from_ref(hash).cast());
            }
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(hashes) = rest.first_chunk()
            && locate_vector(filter, hashes, places)
        {
            places.are_to_be_asked = true;
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
