//! Work on a table whose segments all have one level, a vector of keys or eviction chains at a time.
//!
//! Places in memory are computed here from segment and bucket numbers, which are checked against the
//! table. So no caller can make these functions read elsewhere.

#![expect(unsafe_code, reason = "reading at computed addresses")]

mod compare;
mod level;
mod lookup;
mod moves;
mod preview;

use std::ops::Deref;

use super::preview::{KeyGroup, UniformTable, WIDTH};
use super::vector::{Isa, Kernel, MOST_LANES, Vector, with_vectors};
use crate::hash::KeyHash;
use crate::table::{Directory, Table};
use level::Buckets;

pub(super) use level::{Items, LevelVectors, SegmentSlots};
pub(crate) use lookup::contains;
pub(crate) use moves::{find_moves, test_moves};
pub(crate) use preview::preview;

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
    table: &'a Table,
    directory: &'a Directory,
    vectors: LevelVectors<I>,
}

impl<I> Deref for Uniform<'_, I> {
    type Target = LevelVectors<I>;

    fn deref(&self) -> &LevelVectors<I> {
        &self.vectors
    }
}

impl<'a, I: Isa> Uniform<'a, I> {
    #[inline(always)]
    fn new(isa: I, table: UniformTable<'a>) -> Self {
        let UniformTable { table, directory, level } = table;
        let vectors = LevelVectors::new(isa, level, table.least_bytes());
        Self { table, directory, vectors }
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

    /// The numbers of the segments that the hashes lie in, and where these begin in memory.
    #[inline(always)]
    fn segments_of(&self, hash: I::Vector) -> (I::Vector, I::Vector) {
        let (bits, entries) = self.directory.entries();
        // Two shifts, because a shift by 64 (one segment) is not defined.
        let index = (hash >> 1) >> (63 - bits);
        if self.table.spacing().is_some() {
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
        if let Some(spacing) = self.table.spacing() {
            let exist = segments.is_below(self.splat(self.table.len() as u64));
            assert!(I::Vector::bits(exist) == I::Vector::ALL, "no such segment");
            let distance = segments.multiply_halves(self.splat(spacing.step.into()));
            return distance + self.splat(spacing.first);
        }
        let mut numbers = [0; MOST_LANES];
        segments.store(&mut numbers);
        self.isa.collect(|lane| self.table.segment(numbers[lane] as u32).address() as u64)
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
        let table = filter.as_segments().uniform_table().unwrap();
        with_vectors(ReadSegment(table, filter.segments() as u64));
    }

    /// [`LevelGeometry::locate`] is the reference implementation.
    #[test]
    fn groups_are_located_as_single_keys_are() {
        for bits in [24, 40, 56, 64] {
            for capacity in [100, 50_000, 300_000] {
                let filter = CuckooFilter::builder().hash_bits(bits).capacity(capacity);
                let filter = filter.build().unwrap();
                for group in few_in_miri(0..1000u64, 300) {
                    let hashes =
                        std::array::from_fn(|number| random_hash(group << 8 | number as u64));
                    let mut keys = KeyGroup::default();
                    locate(filter.as_segments().uniform_table().unwrap(), &hashes, &mut keys);
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
