//! Groups of keys and of eviction chains, a vector at a time; their segments have one level.
//!
//! Places in memory are computed here from segment and bucket numbers, which are checked against the
//! table. So no caller can make these functions read elsewhere.

#![expect(unsafe_code, reason = "reading at computed addresses")]

mod ahead;
mod lookup;

use std::ops::{Deref, Range};

use super::Segments;
use crate::hash::KeyHash;
use crate::kernel::{
    KnownLevel, LevelGeometry, LevelVectors, Place, SlotCodec, Source, with_encoding,
};
use crate::simd::{Isa, Kernel, MOST_LANES, Vector, with_vectors};
use crate::table::{Spacing, prefetch};

pub(crate) use ahead::{Preview, Wanted, bit};
pub(crate) use lookup::Lookups;

/// Keys of a group: two vectors, so that the latency of one covers that of the other.
pub(crate) const WIDTH: usize = 16;

/// The places of a group of keys, field by field as vectors write them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyGroup {
    pub(super) segment: [u64; WIDTH],
    pub(super) primary: [u64; WIDTH],
    pub(super) alternate: [u64; WIDTH],
    pub(super) value: [u64; WIDTH],
    /// The address of each segment. Only a hint, for prefetching.
    pub(super) base: [u64; WIDTH],
    /// The first bit of each bucket in its segment.
    pub(super) primary_bit: [u64; WIDTH],
    pub(super) alternate_bit: [u64; WIDTH],
}

impl KeyGroup {
    pub(crate) fn segment(&self, number: usize) -> u32 {
        self.segment[number] as u32
    }

    #[inline(always)]
    pub(crate) fn place(&self, number: usize) -> Place {
        Place {
            segment: self.segment(number),
            primary: self.primary[number],
            alternate: self.alternate[number],
            value: self.value[number],
        }
    }

    /// Prefetches the buckets of a key.
    #[inline(always)]
    pub(crate) fn prefetch(&self, codec: &SlotCodec, number: usize) {
        for bit in [self.primary_bit[number], self.alternate_bit[number]] {
            let at = |bit: u64| (self.base[number] + (bit >> 3)) as *const u8;
            prefetch(at(bit));
            if let Some(last_bit) = codec.last_bit {
                prefetch(at(bit + last_bit));
            }
        }
    }
}

impl Segments {
    /// Locates a group of keys, whose segments have this level. Their buckets are to be prefetched next.
    #[inline]
    pub(super) fn locate_group(
        &self,
        level: &LevelGeometry,
        hashes: &[KeyHash; WIDTH],
        keys: &mut KeyGroup,
    ) {
        with_vectors(Locate { segments: self, level, hashes, keys });
    }

    /// Does work in segments of this level if it is worth it; false if not.
    #[inline(always)]
    fn look_ahead(&self, level: &LevelGeometry, work: impl LookAhead) -> bool {
        with_vectors(Ahead { segments: self, level, work })
    }
}

struct Locate<'a> {
    segments: &'a Segments,
    level: &'a LevelGeometry,
    hashes: &'a [KeyHash; WIDTH],
    keys: &'a mut KeyGroup,
}

impl Kernel for Locate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        Uniform::new(isa, self.segments, self.level).locate_group(self.hashes, self.keys);
    }
}

/// Work on a group that is worth its cost only in vectors that are wide enough to look ahead.
trait LookAhead {
    fn look<I: Isa>(self, uniform: &Uniform<'_, I>);
}

struct Ahead<'a, W> {
    segments: &'a Segments,
    level: &'a LevelGeometry,
    work: W,
}

impl<W: LookAhead> Kernel for Ahead<'_, W> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        if I::LOOKS_AHEAD {
            with_encoding!(*self.level, |level| {
                self.work.look(&Uniform::new(isa, self.segments, &level.geometry()));
            });
        }
        I::LOOKS_AHEAD
    }
}

/// Segments of one level, and the instructions to read them.
struct Uniform<'a, I> {
    segments: &'a Segments,
    spacing: Option<Spacing>,
    level: LevelVectors<I>,
    /// Bytes of a segment of the level.
    bytes: u64,
    /// No bucket begins at or after this bit of a segment.
    end_of_buckets: u64,
}

impl<I> Deref for Uniform<'_, I> {
    type Target = LevelVectors<I>;

    fn deref(&self) -> &LevelVectors<I> {
        &self.level
    }
}

/// Segments of a vector of keys, in the table, which is borrowed.
#[derive(Clone, Copy)]
struct SegmentsOf<I: Isa> {
    isa: I,
    /// The address of each segment.
    base: I::Vector,
    /// A word may begin before this byte of a segment: it then ends within the bytes of the level.
    end: u64,
}

impl<I: Isa> Source<I::Vector> for SegmentsOf<I> {
    #[inline(always)]
    fn load(self, at: I::Vector) -> I::Vector {
        let within = at.is_below(self.isa.splat(self.end));
        assert!(I::Vector::bits(within) == I::Vector::ALL, "no such bucket");
        let mut addresses = [0; MOST_LANES];
        (self.base + at).store(&mut addresses);
        // SAFETY: the eight bytes starting there are in a segment of the table, which is borrowed. `is_below` compares
        // signed numbers in AVX2, which is right here: `at` is a sum of at most two numbers of bits, each divided by 8,
        // so it is below 2^62.
        unsafe { self.isa.gather(&addresses) }
    }
}

impl<'a, I: Isa> Uniform<'a, I> {
    #[inline(always)]
    fn new(isa: I, segments: &'a Segments, level: &LevelGeometry) -> Self {
        let bytes = level.bytes();
        // The last word that is read of a bucket begins in the bucket.
        let end_of_buckets = (8 * bytes + 1).saturating_sub(level.codec.bucket_bits + 64);
        // Every segment that is read has at least the bytes of the level.
        let spacing = segments.table.spacing().filter(|spacing| spacing.least_bytes >= bytes);
        let level = LevelVectors::new(isa, level);
        Self { segments, spacing, level, bytes, end_of_buckets }
    }

    #[inline(always)]
    fn locate_group(&self, hashes: &[KeyHash; WIDTH], keys: &mut KeyGroup) {
        for (part, hashes) in hashes.chunks_exact(I::LANES).enumerate() {
            let hash = self.load_hashes(hashes);
            let (segment, base) = self.segments_of(hash);
            let located = self.locate(hash);
            let first = part * I::LANES;
            segment.store(&mut keys.segment[first..]);
            located.primary.store(&mut keys.primary[first..]);
            located.alternate.store(&mut keys.alternate[first..]);
            located.value.store(&mut keys.value[first..]);
            base.store(&mut keys.base[first..]);
            self.first_bits(located.primary).store(&mut keys.primary_bit[first..]);
            self.first_bits(located.alternate).store(&mut keys.alternate_bit[first..]);
        }
    }

    #[inline(always)]
    fn load_hashes(&self, hashes: &[KeyHash]) -> I::Vector {
        let hashes = &hashes[..I::LANES];
        self.isa.collect(|lane| hashes[lane].to_u64())
    }

    /// The numbers of the hashes' segments, and where these begin in memory.
    #[inline(always)]
    fn segments_of(&self, hash: I::Vector) -> (I::Vector, I::Vector) {
        let (bits, entries) = self.segments.directory.entries();
        // Two shifts, because a shift by 64 (one segment) is not defined.
        let index = (hash >> 1) >> (63 - bits);
        if self.spacing.is_some() {
            return (index, self.bases(index));
        }
        let mut places = [0; MOST_LANES];
        index.store(&mut places);
        let segments = self.isa.collect(|lane| entries[places[lane] as usize].into());
        (segments, self.bases(segments))
    }

    /// Segments by their numbers.
    #[inline(always)]
    fn source(&self, numbers: I::Vector) -> SegmentsOf<I> {
        SegmentsOf { isa: self.isa, base: self.bases(numbers), end: self.bytes - 7 }
    }

    /// The addresses of segments. Panics if the table has no such segment, or the segment is shorter than the level's.
    #[inline(always)]
    fn bases(&self, segments: I::Vector) -> I::Vector {
        if let Some(spacing) = self.spacing {
            let exist = segments.is_below(self.splat(self.segments.len() as u64));
            assert!(I::Vector::bits(exist) == I::Vector::ALL, "no such segment");
            let distance = segments.multiply_halves(self.splat(spacing.step.into()));
            return distance + self.splat(spacing.first);
        }
        let mut numbers = [0; MOST_LANES];
        segments.store(&mut numbers);
        self.isa.collect(|lane| self.segments.get(numbers[lane] as u32).address_of(self.bytes))
    }
}

/// Groups in flight, 64 keys: enough to cover the latency of memory, few enough to stay in the first
/// cache.
const PREFETCH_DISTANCE: usize = 4;

impl Segments {
    /// Prefetches the buckets of a key.
    #[inline(always)]
    pub(crate) fn prefetch(&self, level: impl KnownLevel, hash: KeyHash) {
        let place = self.locate_by(level, hash);
        let segment = self.table.segment(place.segment);
        for bucket in [place.primary, place.alternate] {
            level.geometry().codec.prefetch(segment, bucket);
        }
    }
}

/// The next keys of a batch, in order, with their places; their buckets are being prefetched. The segments of all keys have
/// one level. Valid until a segment splits: a place found before may name the wrong half.
pub(crate) struct Prefetcher<'a, L> {
    level: L,
    hashes: &'a [KeyHash],
    ring: [KeyGroup; PREFETCH_DISTANCE],
    taken: usize,
    /// The last group in flight, unless its buckets are prefetched already.
    last: Option<usize>,
}

impl<'a, L: KnownLevel> Prefetcher<'a, L> {
    #[inline(always)]
    pub(crate) fn new(segments: &Segments, level: L, hashes: &'a [KeyHash], taken: usize) -> Self {
        let ring = [KeyGroup::default(); PREFETCH_DISTANCE];
        let mut prefetcher = Self { level, hashes, ring, taken, last: None };
        let group = taken / WIDTH;
        for group in group..group + PREFETCH_DISTANCE {
            prefetcher.locate_group(segments, group);
            prefetcher.prefetch_last();
        }
        prefetcher
    }

    /// The last group in flight, whose buckets are to be prefetched, key by key, between the keys of the
    /// group that is processed: a burst of prefetches delays everything after it.
    #[inline(always)]
    pub(crate) fn due(&self) -> Option<&KeyGroup> {
        self.last.map(|group| &self.ring[group % PREFETCH_DISTANCE])
    }

    #[inline(always)]
    fn prefetch_last(&self) {
        if let Some(keys) = self.due() {
            (0..WIDTH).for_each(|number| keys.prefetch(&self.level.geometry().codec, number));
        }
    }

    /// The places of the next key's group, and the numbers of its remaining keys, up to the end of the group or the
    /// batch.
    #[inline(always)]
    pub(crate) fn group(&self) -> (&KeyGroup, Range<usize>) {
        let first = self.taken % WIDTH;
        let left = self.hashes.len() - self.taken;
        (&self.ring[self.taken / WIDTH % PREFETCH_DISTANCE], first..WIDTH.min(first + left))
    }

    /// Goes on to the next group.
    #[inline(always)]
    pub(crate) fn next_group(&mut self, segments: &Segments) {
        let group = self.taken / WIDTH;
        self.taken = (group + 1) * WIDTH;
        self.locate_group(segments, group + PREFETCH_DISTANCE);
    }

    /// The next key's place.
    #[inline(always)]
    pub(crate) fn next(&mut self, segments: &Segments) -> Option<Place> {
        self.hashes.get(self.taken)?;
        let number = self.taken % WIDTH;
        let place = self.group().0.place(number);
        if number == WIDTH - 1 {
            self.next_group(segments);
            self.prefetch_last();
        } else {
            self.taken += 1;
        }
        Some(place)
    }

    #[inline(always)]
    fn locate_group(&mut self, segments: &Segments, group: usize) {
        let level = &self.level.geometry();
        self.last = None;
        let Some(rest) = self.hashes.get(group * WIDTH..) else { return };
        let keys = &mut self.ring[group % PREFETCH_DISTANCE];
        // Two cache lines of hashes: among many random accesses the processor does not see that the hashes are read from
        // end to end.
        for line in [0, WIDTH / 2] {
            if let Some(hash) = rest.get(PREFETCH_DISTANCE * WIDTH + line) {
                prefetch(std::ptr::from_ref(hash).cast());
            }
        }
        match (rest.first_chunk(), rest.last()) {
            (Some(hashes), _) => segments.locate_group(level, hashes, keys),
            (None, Some(&last)) => {
                // The last key fills the group.
                let hash = |number| rest.get(number).copied().unwrap_or(last);
                segments.locate_group(level, &std::array::from_fn(hash), keys);
            }
            (None, None) => return,
        }
        self.last = Some(group);
    }
}

/// `SplitMix64`.
#[cfg(test)]
fn random_hash(n: u64) -> KeyHash {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    KeyHash::from_u64(z ^ (z >> 31))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CuckooFilter;
    use crate::smoke::few_in_miri;

    struct ReadSegment<'a>(&'a CuckooFilter, &'a LevelGeometry);
    impl Kernel for ReadSegment<'_> {
        type Output = ();

        fn run<I: Isa>(self, isa: I) {
            let uniform = Uniform::new(isa, self.0.as_segments(), self.1);
            uniform.bases(isa.splat(self.0.segments() as u64));
        }
    }

    #[test]
    #[should_panic(expected = "no such segment")]
    fn segments_that_do_not_exist_are_not_read() {
        let filter = CuckooFilter::new();
        let level = filter.as_segments().uniform().unwrap();
        with_vectors(ReadSegment(&filter, &level));
    }

    /// [`LevelGeometry::locate`] is the reference implementation.
    #[test]
    fn groups_are_located_as_single_keys_are() {
        for bits in [24, 40, 56, 64] {
            for capacity in [100, 50_000, 300_000] {
                let filter = CuckooFilter::builder().hash_bits(bits).capacity(capacity);
                let filter = filter.build().unwrap();
                let level = filter.as_segments().uniform().unwrap();
                for group in few_in_miri(0..1000u64, 300) {
                    let hashes =
                        std::array::from_fn(|number| random_hash(group << 8 | number as u64));
                    let mut keys = KeyGroup::default();
                    filter.as_segments().locate_group(&level, &hashes, &mut keys);
                    for (number, &hash) in hashes.iter().enumerate() {
                        let (found, single) =
                            (keys.place(number), filter.as_segments().locate(hash));
                        assert_eq!(format!("{found:?}"), format!("{single:?}"));
                    }
                }
            }
        }
    }
}
