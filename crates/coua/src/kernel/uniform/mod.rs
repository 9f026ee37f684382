//! Work on a table whose segments all have one level, a vector of keys or eviction chains at a time.
//!
//! The arithmetic is that of [`LevelGeometry`] and [`SlotCodec`], number by number; tests hold the two to each
//! other. Places in memory are computed here from segment and bucket numbers, which are checked against the
//! table. So no caller can make these functions read elsewhere.

#![expect(unsafe_code, reason = "reading at computed addresses")]

mod lookup;
mod moves;
mod probes;

use super::codec::{Encoding, SlotCodec};
use super::level::LevelGeometry;
use super::probes::{KeyGroup, UniformTable, WIDTH};
use super::vector::{Isa, Kernel, MOST_LANES, Vector, with_vectors};
use crate::hash::KeyHash;
use crate::table::{Addresses, Directory};

pub(crate) use lookup::contains;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) use moves::overlapping_items;
pub(super) use moves::{Items, alternates};
pub(crate) use moves::{find_moves, test_moves};
pub(crate) use probes::{probe_inserts, probe_removals};

/// Locates a group of keys. Their buckets are to be prefetched next.
#[inline]
pub(crate) fn locate(table: UniformTable<'_>, hashes: &[KeyHash; WIDTH], keys: &mut KeyGroup) {
    with_vectors(Locate { table, hashes, keys });
}

struct Locate<'a> {
    table: UniformTable<'a>,
    hashes: &'a [KeyHash; WIDTH],
    keys: &'a mut KeyGroup,
}

impl Kernel for Locate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        Uniform::new(isa, self.table).locate_group(self.hashes, self.keys);
    }
}

/// A table of one level, and the instructions to work on it.
struct Uniform<'a, I> {
    isa: I,
    directory: &'a Directory,
    addresses: Addresses,
    level: LevelGeometry,
    /// No bucket begins at or after this bit of a segment.
    end_of_buckets: u64,
}

/// One bucket of each key, as it was read.
#[derive(Clone, Copy)]
struct Buckets<V> {
    address: V,
    /// Bits of the first byte that come before the bucket.
    shift: V,
    /// The eight bytes at the address.
    word: V,
}

impl<V: Vector> Buckets<V> {
    #[inline(always)]
    fn select(mask: V::Mask, yes: &Self, no: &Self) -> Self {
        Self {
            address: V::select(mask, yes.address, no.address),
            shift: V::select(mask, yes.shift, no.shift),
            word: V::select(mask, yes.word, no.word),
        }
    }

    /// The lanes of a bucket, from the lowest bit on.
    #[inline(always)]
    fn lanes(&self) -> V {
        self.word.shr_each(self.shift)
    }
}

/// Places of keys.
struct Located<V> {
    primary: V,
    alternate: V,
    value: V,
}

impl<'a, I: Isa> Uniform<'a, I> {
    #[inline(always)]
    fn new(isa: I, table: UniformTable<'a>) -> Self {
        let UniformTable { table, directory, level } = table;
        let addresses = table.addresses();
        // What is read of a bucket ends with a word that begins in it.
        let end_of_buckets =
            (8 * addresses.least_bytes + 1).saturating_sub(level.codec.bucket_bits + 64);
        Self { isa, directory, addresses, level: *level, end_of_buckets }
    }

    #[inline(always)]
    fn codec(&self) -> &SlotCodec {
        &self.level.codec
    }

    #[inline(always)]
    fn splat(&self, value: u64) -> I::Vector {
        self.isa.splat(value)
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

    /// [`LevelGeometry::locate`].
    #[inline(always)]
    fn locate(&self, hash: I::Vector) -> Located<I::Vector> {
        let level = &self.level;
        let suffix = hash & self.splat(level.suffix_mask);
        let (primary, rest) = suffix.multiply_shifted(level.depth, level.buckets);
        let top = (rest >> level.top_shift) & self.splat(level.top_mask);
        let (low, _) = rest.multiply_shifted(level.top_bits, level.low_range);
        let fingerprint = top | (low + self.splat(1));
        let alternate = primary + self.offsets(level, fingerprint);
        Located {
            primary,
            alternate: alternate.wrapped(self.splat(level.buckets)),
            value: fingerprint << level.codec.tag_bits,
        }
    }

    /// [`LevelGeometry::offset`].
    #[inline(always)]
    fn offsets(&self, level: &LevelGeometry, fingerprint: I::Vector) -> I::Vector {
        moves::offsets(self.isa, level, fingerprint)
    }

    /// Where buckets begin in their segments.
    #[inline(always)]
    fn first_bits(&self, bucket: I::Vector) -> I::Vector {
        bucket.multiply_halves(self.splat(self.codec().bucket_bits))
    }

    /// The numbers of the segments that the hashes lie in, and where these begin in memory.
    #[inline(always)]
    fn segments_of(&self, hash: I::Vector) -> (I::Vector, I::Vector) {
        let (bits, entries) = self.directory.entries();
        // Two shifts, because a shift by 64 (one segment) is not defined.
        let index = (hash >> 1) >> (63 - bits);
        if self.addresses.spacing.is_some() {
            return (index, self.segment_bases(index));
        }
        let mut places = [0; MOST_LANES];
        index.store(&mut places);
        let segments = self.isa.collect(|lane| entries[places[lane] as usize].into());
        (segments, self.segment_bases(segments))
    }

    /// Where segments begin in memory. Panics if the table has no such segments.
    #[inline(always)]
    fn segment_bases(&self, segments: I::Vector) -> I::Vector {
        let Addresses { segments: count, first_base, base_step, spacing, .. } = self.addresses;
        let exist = segments.is_below(self.splat(count));
        assert!(I::Vector::bits(exist) == I::Vector::ALL, "no such segment");
        if let Some(spacing) = spacing {
            let distance = segments.multiply_halves(self.splat(spacing.step.into()));
            return distance + self.splat(spacing.first);
        }
        let offset = segments.multiply_halves(self.splat(base_step));
        // SAFETY: the table has these segments, and each has its base there.
        unsafe { self.gather_numbers(offset + self.splat(first_base)) }
    }

    /// Numbers as this processor stores them.
    ///
    /// # Safety
    ///
    /// As [`Isa::gather`].
    #[inline(always)]
    unsafe fn gather_numbers(&self, address: I::Vector) -> I::Vector {
        let mut addresses = [0; MOST_LANES];
        address.store(&mut addresses);
        // SAFETY: the caller's promise.
        self.isa.collect(|lane| unsafe { (addresses[lane] as *const u64).read_unaligned() })
    }

    /// Reads the buckets that begin at these bits of segments. Panics if there are no such buckets.
    #[inline(always)]
    fn read_at(&self, base: I::Vector, first_bit: I::Vector) -> Buckets<I::Vector> {
        let address = self.addresses_of(base, first_bit);
        // SAFETY: the bytes are in a segment of the table, which is borrowed.
        let word = unsafe { self.gather(address) };
        Buckets { address, shift: first_bit & self.splat(7), word }
    }

    /// The addresses of the bytes that buckets begin in. Panics if there are no such buckets.
    #[inline(always)]
    fn addresses_of(&self, base: I::Vector, first_bit: I::Vector) -> I::Vector {
        let within = first_bit.is_below(self.splat(self.end_of_buckets));
        assert!(I::Vector::bits(within) == I::Vector::ALL, "no such bucket");
        base + (first_bit >> 3)
    }

    /// Eight bytes at each address.
    ///
    /// # Safety
    ///
    /// As [`Isa::gather`].
    #[inline(always)]
    unsafe fn gather(&self, address: I::Vector) -> I::Vector {
        let mut addresses = [0; MOST_LANES];
        address.store(&mut addresses);
        // SAFETY: the caller's promise.
        unsafe { self.isa.gather(&addresses) }
    }

    /// Each value in every lane, as each position stores it.
    #[inline(always)]
    fn repeated(&self, value: I::Vector) -> I::Vector {
        let &SlotCodec { ones, positions, lane_mask, .. } = self.codec();
        let narrow = self.codec().encoding == Encoding::Narrow;
        let lane = if narrow { value } else { value & self.splat(lane_mask) };
        lane.multiply(self.splat(ones)) | self.splat(positions)
    }

    /// The high bit of every lane that is zero.
    #[inline(always)]
    fn zero_lanes(&self, word: I::Vector) -> I::Vector {
        let &SlotCodec { low, high, .. } = self.codec();
        let low = self.splat(low);
        self.splat(high).and_not(((word & low) + low) | word)
    }

    /// Marks the free slots.
    #[inline(always)]
    fn free_slots(&self, bucket: &Buckets<I::Vector>) -> I::Vector {
        self.zero_lanes(bucket.lanes())
    }

    /// How many lanes are marked.
    #[inline(always)]
    fn count(&self, marks: I::Vector) -> I::Vector {
        let &SlotCodec { ones, lane_bits, lane_mask, slots, .. } = self.codec();
        // The highest lane of the product is the sum of all.
        let sums = (marks >> (lane_bits - 1)).multiply(self.splat(ones));
        (sums >> ((slots - 1) * lane_bits)) & self.splat(lane_mask)
    }

    /// The position of the first mark; the last position where there is none.
    #[inline(always)]
    fn first_position(&self, marks: I::Vector) -> I::Vector {
        let &SlotCodec { high, lane_bits, slots, .. } = self.codec();
        let last = 1 << (slots * lane_bits - 1);
        let below = (marks - self.splat(1)).and_not(marks);
        self.count(below & self.splat(high ^ last))
    }

    /// The rests of the values at these positions.
    #[inline(always)]
    fn rests(&self, bucket: &Buckets<I::Vector>, position: I::Vector) -> I::Vector {
        let (word, shift) = self.rest_places(bucket.shift, position);
        let address = bucket.address + (word >> 3);
        // SAFETY: the rest is a part of a bucket that `read_at` has checked.
        let word = unsafe { self.gather(address) };
        word.shr_each(shift) & self.splat(self.codec().rest_mask)
    }

    /// [`SlotCodec::rest_place`].
    #[inline(always)]
    fn rest_places(&self, bucket: I::Vector, position: I::Vector) -> (I::Vector, I::Vector) {
        let codec = self.codec();
        let (first_rest, rest_bits) = (codec.rest_bit(0), u64::from(codec.rest_bits));
        let whole_bytes = self.splat(!7);
        let offset = position.multiply_halves(self.splat(rest_bits));
        let rest = bucket + self.splat(first_rest) + offset;
        // A wide bucket has more than 57 bits.
        let last = (bucket + self.splat(codec.bucket_bits - 57)) & whole_bytes;
        let word = (rest & whole_bytes).min(last);
        (word, rest - word)
    }
}

/// Fails if vectors were compared with single words fewer times than `least`, unless they do not look ahead.
#[cfg(test)]
fn check_looked_ahead(compared: usize, least: usize) {
    struct LooksAhead;
    impl Kernel for LooksAhead {
        type Output = bool;

        fn run<I: Isa>(self, _: I) -> bool {
            I::LOOKS_AHEAD
        }
    }
    if with_vectors(LooksAhead) {
        assert!(compared >= least, "{compared} comparisons, expected {least}");
    } else {
        assert_eq!(compared, 0);
        println!("skipped: words do not look ahead");
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

    struct ReadSegment<'a>(UniformTable<'a>, u64);
    impl Kernel for ReadSegment<'_> {
        type Output = ();

        fn run<I: Isa>(self, isa: I) {
            Uniform::new(isa, self.0).segment_bases(isa.splat(self.1));
        }
    }

    #[test]
    #[should_panic(expected = "no such segment")]
    fn segments_that_do_not_exist_are_not_read() {
        let filter = CuckooFilter::new();
        let table = filter.uniform_table().unwrap();
        with_vectors(ReadSegment(table, filter.segments() as u64));
    }

    /// [`LevelGeometry::locate`] is the reference implementation.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn groups_are_located_as_single_keys_are() {
        for bits in [24, 40, 56, 64] {
            for capacity in [100, 50_000, 300_000] {
                let filter = CuckooFilter::builder().hash_bits(bits).capacity(capacity);
                let filter = filter.build().unwrap();
                for group in 0..1000u64 {
                    let hashes =
                        std::array::from_fn(|number| random_hash(group << 8 | number as u64));
                    let mut keys = KeyGroup::default();
                    locate(filter.uniform_table().unwrap(), &hashes, &mut keys);
                    for (number, &hash) in hashes.iter().enumerate() {
                        let (found, single) = (keys.probe(number), filter.locate(hash));
                        assert_eq!(format!("{found:?}"), format!("{single:?}"));
                    }
                }
            }
        }
    }
}
