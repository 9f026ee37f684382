//! Locating keys long before they are looked at.

use crate::KeyHash;
use crate::filter::CuckooFilter;
use crate::geometry::Probe;

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::arch::locate_vector;

/// Keys located at once.
pub(crate) const WIDTH: usize = 8;
/// Groups in flight, 64 keys: enough to cover the latency of memory, few enough to stay in the first
/// cache.
const AHEAD: usize = 8;

/// The places of a group of keys, field by field as vectors write them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LocatedKeys {
    pub(crate) segment: [u64; WIDTH],
    pub(crate) primary: [u64; WIDTH],
    pub(crate) partner: [u64; WIDTH],
    pub(crate) value: [u64; WIDTH],
}

impl LocatedKeys {
    #[inline(always)]
    fn probe(&self, number: usize) -> Probe {
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

/// The keys of a batch, in order, with their places; their buckets are on their way.
pub(super) struct Lookahead<'a> {
    hashes: &'a [KeyHash],
    ring: [LocatedKeys; AHEAD],
    pub(super) taken: usize,
    splits: u64,
}

impl<'a> Lookahead<'a> {
    #[inline(always)]
    pub(super) fn new(filter: &CuckooFilter, hashes: &'a [KeyHash]) -> Self {
        let ring = [LocatedKeys::default(); AHEAD];
        let mut ahead = Self { hashes, ring, taken: 0, splits: filter.splits };
        ahead.locate_all(filter);
        ahead
    }

    pub(super) fn is_done(&self) -> bool {
        self.taken == self.hashes.len()
    }

    /// The next key's hash and place.
    #[inline(always)]
    pub(super) fn next(&mut self, filter: &CuckooFilter) -> Option<(KeyHash, Probe)> {
        let &hash = self.hashes.get(self.taken)?;
        if self.splits != filter.splits {
            // Places found before a split may name the wrong half.
            self.splits = filter.splits;
            self.locate_all(filter);
        }
        let number = self.taken % WIDTH;
        let group = self.taken / WIDTH;
        let probe = self.ring[group % AHEAD].probe(number);
        self.taken += 1;
        if number == WIDTH - 1 {
            self.locate_group(filter, group + AHEAD);
        }
        Some((hash, probe))
    }

    #[cold]
    fn locate_all(&mut self, filter: &CuckooFilter) {
        let group = self.taken / WIDTH;
        for group in group..group + AHEAD {
            self.locate_group(filter, group);
        }
    }

    #[inline(always)]
    fn locate_group(&mut self, filter: &CuckooFilter, group: usize) {
        let Some(rest) = self.hashes.get(group * WIDTH..) else { return };
        let places = &mut self.ring[group % AHEAD];
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(hashes) = rest.first_chunk()
            && locate_vector(filter, hashes, places)
        {
            return;
        }
        for (number, &hash) in rest.iter().take(WIDTH).enumerate() {
            let probe = filter.locate(hash);
            filter.prefetch(&probe);
            places.set(number, &probe);
        }
    }
}
