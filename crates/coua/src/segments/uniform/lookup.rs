//! Looking many keys up.

use super::{Segments, Uniform, WIDTH};
use crate::hash::KeyHash;
use crate::kernel::{
    Buckets, Encoding, KnownLevel, LevelGeometry, LookupResult, Source, with_encoding,
};
use crate::simd::{Isa, Kernel, MOST_LANES, Vector, with_vectors};

/// Groups of keys that are prefetched: 64 keys.
const PREFETCH_DISTANCE: usize = 4;
/// One lane in this number gets its second cache line prefetched without a check. Usually no more of a vector's buckets
/// span two lines.
const USUALLY_APART: usize = 2;
const LINE_BYTES: u64 = 64;
/// The second line of a narrow bucket is prefetched in tables above this size. A smaller one lies in the
/// caches, and prefetching costs more than waiting.
const CACHED_BYTES: usize = 8 << 20;

/// Keys to be looked up.
pub(crate) struct Lookups<'a, F> {
    pub(crate) hashes: &'a [KeyHash],
    /// Whether some items are in no slot.
    pub(crate) has_overflowed: bool,
    /// Equally large tables that share the processor's caches, this one included.
    pub(crate) tables: usize,
    /// Looks one key up, wherever it may be.
    pub(crate) contains: F,
}

impl Segments {
    /// Looks up keys whose segments have this level, and writes an answer for each.
    pub(crate) fn contains<F: Fn(KeyHash) -> bool>(
        &self,
        level: &LevelGeometry,
        lookups: &Lookups<'_, F>,
        present: &mut [bool],
    ) {
        let last_bit = self.last_bit_to_prefetch(level, CACHED_BYTES / lookups.tables);
        let whole_groups = lookups.hashes.len() / WIDTH * WIDTH;
        let (whole, rest) = present.split_at_mut(whole_groups);
        with_vectors(Contains { segments: self, level, last_bit, lookups, present: whole });
        for (present, &hash) in rest.iter_mut().zip(&lookups.hashes[whole_groups..]) {
            *present = (lookups.contains)(hash);
        }
    }

    /// The distance from a bucket's first bit to its last one, if the line of that is prefetched as well.
    fn last_bit_to_prefetch(&self, level: &LevelGeometry, cached_bytes: usize) -> Option<u64> {
        let is_wide = level.codec.encoding == Encoding::Wide;
        let is_prefetched = is_wide || self.table.memory_bytes() > cached_bytes;
        level.codec.last_bit.filter(|_| is_prefetched)
    }
}

/// Looking whole groups of keys up.
struct Contains<'a, 'b, F> {
    segments: &'a Segments,
    level: &'a LevelGeometry,
    last_bit: Option<u64>,
    lookups: &'a Lookups<'b, F>,
    present: &'a mut [bool],
}

impl<F: Fn(KeyHash) -> bool> Kernel for Contains<'_, '_, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        with_encoding!(*self.level, |level| {
            let uniform = Uniform::new(isa, self.segments, &level.geometry());
            // In each of these the compiler knows whether second lines are prefetched.
            match self.last_bit {
                None => self.look_up(&uniform, None),
                last_bit => self.look_up(&uniform, last_bit),
            }
        });
    }
}

/// A group of keys that were located: their values, and where their buckets are.
#[derive(Clone, Copy, Default)]
struct LocatedGroup {
    primary: BucketPlaces,
    alternate: BucketPlaces,
    value: [u64; WIDTH],
}

/// One bucket of each key.
#[derive(Clone, Copy, Default)]
struct BucketPlaces {
    /// The addresses of the bytes that the buckets begin in.
    address: [u64; WIDTH],
    /// Bits of those bytes that come before the buckets.
    shift: [u64; WIDTH],
}

impl<F: Fn(KeyHash) -> bool> Contains<'_, '_, F> {
    #[inline(always)]
    fn look_up<I: Isa>(self, uniform: &Uniform<'_, I>, last_bit: Option<u64>) {
        let Self { segments, lookups, present, .. } = self;
        let groups = lookups.hashes.as_chunks::<WIDTH>().0;
        let mut ring = [LocatedGroup::default(); PREFETCH_DISTANCE];
        for (group, hashes) in ring.iter_mut().zip(groups) {
            uniform.locate_and_prefetch(hashes, group, last_bit);
        }
        for (number, present) in present.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
            let group = &mut ring[number % PREFETCH_DISTANCE];
            let hashes = &groups[number];
            for first in (0..WIDTH).step_by(I::LANES) {
                let (mut found, mut doubtful) = uniform.find(group, first);
                let hashes = &hashes[first..first + I::LANES];
                if lookups.has_overflowed {
                    doubtful |= in_overflowing_segments(segments, hashes) & !found;
                }
                if doubtful != 0 {
                    found |= lookup_again(lookups, hashes, doubtful);
                }
                for (lane, present) in present[first..first + I::LANES].iter_mut().enumerate() {
                    *present = found >> lane & 1 == 1;
                }
            }
            if let Some(hashes) = groups.get(number + PREFETCH_DISTANCE) {
                uniform.locate_and_prefetch(hashes, group, last_bit);
            }
        }
    }
}

/// The keys whose segments have items in the overflow table.
#[inline(always)]
fn in_overflowing_segments(segments: &Segments, hashes: &[KeyHash]) -> u8 {
    let segment = |hash| segments.get(segments.segment_of(hash));
    let has_overflow = hashes.iter().map(|&hash| u8::from(segment(hash).overflowed() > 0));
    has_overflow.enumerate().fold(0, |bits, (lane, bit)| bits | bit << lane)
}

/// The doubtful keys that are present.
#[cold]
fn lookup_again(
    lookups: &Lookups<'_, impl Fn(KeyHash) -> bool>,
    hashes: &[KeyHash],
    doubtful: u8,
) -> u8 {
    let is_there = |&lane: &usize| doubtful >> lane & 1 == 1 && (lookups.contains)(hashes[lane]);
    (0..hashes.len()).filter(is_there).fold(0, |found, lane| found | 1 << lane)
}

/// Buckets by their addresses in memory.
#[derive(Clone, Copy)]
struct Addresses<I>(I);

impl<I: Isa> Addresses<I> {
    /// # Safety
    ///
    /// Nothing is loaded through it but words of buckets that [`Uniform::check`] has seen, in a table that is borrowed.
    #[inline(always)]
    unsafe fn new(isa: I) -> Self {
        Self(isa)
    }
}

impl<I: Isa> Source<I::Vector> for Addresses<I> {
    #[inline(always)]
    fn load(self, at: I::Vector) -> I::Vector {
        let mut addresses = [0; MOST_LANES];
        at.store(&mut addresses);
        // SAFETY: the promise at `new`.
        unsafe { self.0.gather(&addresses) }
    }
}

impl<I: Isa> Uniform<'_, I> {
    /// Panics if a bucket that begins at one of these bits of a segment does not end in it. The bits are below 2^63, as
    /// `is_below` needs: each is the product of two numbers below 2^32, a bucket and the bits of a bucket (at most 256).
    #[inline(always)]
    fn check(&self, first_bit: I::Vector) {
        let within = first_bit.is_below(self.splat(self.end_of_buckets));
        assert!(I::Vector::bits(within) == I::Vector::ALL, "no such bucket");
    }

    /// Locates a group of keys and prefetches their buckets.
    #[inline(always)]
    fn locate_and_prefetch(
        &self,
        hashes: &[KeyHash; WIDTH],
        group: &mut LocatedGroup,
        last_bit: Option<u64>,
    ) {
        for first in (0..WIDTH).step_by(I::LANES) {
            let hash = self.load_hashes(&hashes[first..]);
            let (_, base) = self.segments_of(hash);
            let located = self.locate(hash);
            located.value.store(&mut group.value[first..]);
            for (bucket, places) in
                [(located.primary, &mut group.primary), (located.alternate, &mut group.alternate)]
            {
                let first_bit = self.first_bits(bucket);
                self.check(first_bit);
                let (address, shift) = (base + (first_bit >> 3), first_bit & self.splat(7));
                address.store(&mut places.address[first..]);
                shift.store(&mut places.shift[first..]);
                prefetch(&places.address[first..first + I::LANES]);
                if let Some(last_bit) = last_bit {
                    self.prefetch_ends(address, shift + self.splat(last_bit));
                }
            }
        }
    }

    /// Prefetches the second cache lines of those buckets that lie in two: a prefetch of a line that is on its
    /// way already would delay others.
    #[inline(always)]
    fn prefetch_ends(&self, first: I::Vector, last_bit: I::Vector) {
        let last = first + (last_bit >> 3);
        let apart = self.splat(0).is_below((first ^ last) & self.splat(!(LINE_BYTES - 1)));
        let mut lines = [0; MOST_LANES];
        last.compress(apart).store(&mut lines);
        let usually_apart = I::LANES.div_ceil(USUALLY_APART);
        prefetch(&lines[..usually_apart]);
        if I::Vector::bits(apart).count_ones() as usize > usually_apart {
            prefetch(&lines[usually_apart..I::LANES]);
        }
    }

    /// Which keys of a located group are present, and which are doubtful: a bit for each.
    #[inline(always)]
    fn find(&self, group: &LocatedGroup, first: usize) -> (u8, u8) {
        // SAFETY: `locate_and_prefetch` has checked the buckets, in segments of the table, which is borrowed.
        let source = unsafe { Addresses::new(self.isa) };
        let primary = self.read_places(&group.primary, first);
        let alternate = self.read_places(&group.alternate, first);
        let value = self.isa.load(&group.value[first..]);
        if self.codec().encoding == Encoding::Narrow {
            return (self.any_candidate(&primary, &alternate, value), 0);
        }
        let LookupResult { found, doubtful, .. } = self.lookup(source, &primary, &alternate, value);
        (found, doubtful)
    }

    #[inline(always)]
    fn read_places(&self, places: &BucketPlaces, first: usize) -> Buckets<I::Vector> {
        let address = &places.address[first..];
        let shift = self.isa.load(&places.shift[first..]);
        // SAFETY: as said in `find`.
        let word = unsafe { self.isa.gather(address) };
        Buckets { at: self.isa.load(address), shift, word }
    }
}

/// Prefetches the cache lines at these addresses.
#[inline(always)]
fn prefetch(addresses: &[u64]) {
    for &address in addresses {
        crate::table::prefetch(address as *const u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segments::uniform::random_hash;
    use crate::smoke::few_in_miri;
    use crate::{CuckooFilter, WhenFull};

    fn lookups<'a>(
        filter: &'a CuckooFilter,
        hashes: &'a [KeyHash],
    ) -> Lookups<'a, impl Fn(KeyHash) -> bool> {
        let has_overflowed = filter.overflow().has_overflowed();
        let contains = |hash| filter.contains(hash);
        Lookups { hashes, has_overflowed, tables: 1, contains }
    }

    #[test]
    fn batches_answer_as_single_calls_do() {
        let mut with_overflow = 0;
        let descriptions = [(60, 0.3), (1, 0.5), (5_000, 0.01), (200_000, 1e-4), (100, 1e-9)];
        let descriptions = few_in_miri(descriptions.into_iter(), 4);
        let descriptions = descriptions.chain([(if cfg!(miri) { 50 } else { 100_000 }, 1e-13)]);
        for ((items, rate), most) in descriptions.flat_map(|it| [(it, 500), (it, 3)]) {
            let mut filter = CuckooFilter::builder()
                .max_evictions(most)
                .capacity(items)
                .rate(rate)
                .when_full(WhenFull::Refuse)
                .build()
                .unwrap();
            let keys: Vec<_> = (0..4 * items.max(50)).map(random_hash).collect();
            // After few evictions items overflow, and the filter is full before its time.
            let inserted = filter.insert_batch(&keys[..items as usize]);
            assert!(inserted.is_ok() || most == 3);
            let mut present = vec![false; keys.len()];
            let level = filter.as_segments().uniform().unwrap();
            filter.as_segments().contains(&level, &lookups(&filter, &keys), &mut present);
            with_overflow += usize::from(filter.overflow().has_overflowed());
            let plain: Vec<_> = keys.iter().map(|&key| filter.contains(key)).collect();
            assert!(present == plain, "{filter:?}");
        }
        assert!(with_overflow > 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn the_second_line_of_narrow_buckets_is_prefetched_in_large_tables() {
        for (items, rate, tables, is_prefetched) in [
            (100_000, 0.001, 1, false),
            (20_000_000, 0.001, 1, true),
            // A shard shares the caches with the others.
            (1_000_000, 0.001, 1, false),
            (1_000_000, 0.001, 8, true),
            // Four slots of 16 bits: no bucket spans two lines.
            (20_000_000, 0.000_13, 1, false),
            (100_000, 1e-9, 1, true),
        ] {
            let filter = CuckooFilter::with_capacity(items, rate).unwrap();
            let level = filter.as_segments().uniform().unwrap();
            let segments = filter.as_segments();
            let last_bit = segments.last_bit_to_prefetch(&level, CACHED_BYTES / tables);
            assert_eq!(last_bit.is_some(), is_prefetched, "{tables} {filter:?}");
        }
    }
}
