//! Looking keys up, eight at a time.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_epi64, _mm512_andnot_epi64, _mm512_cmpeq_epi64_mask,
    _mm512_lzcnt_epi64, _mm512_mask_blend_epi64, _mm512_mask_compress_epi64, _mm512_min_epu64,
    _mm512_mul_epu32, _mm512_mullo_epi64, _mm512_or_epi64, _mm512_srli_epi64, _mm512_srlv_epi64,
    _mm512_sub_epi64, _mm512_test_epi64_mask, _mm512_xor_epi64,
};

use super::{
    Buckets, LANES, Vectors, gather, load, load_hashes, locate_eight, prefetch, shift_right, splat,
    store,
};
use crate::hash::KeyHash;
use crate::kernel::codec::{Encoding, SlotCodec};
use crate::kernel::probe::ALTERNATE;
use crate::kernel::probes::{Lookups, UniformTable};
use crate::table::Table;

/// Vectors of keys that are prefetched: 64 keys.
const PREFETCH_DISTANCE: usize = 8;
/// Of eight buckets, those whose second lines are prefetched without counting: mostly no more of them lie in
/// two cache lines.
const USUALLY_APART: usize = LANES / 2;
const LINE_BYTES: u64 = 64;
/// The second line of a narrow bucket is prefetched in tables above this size. A smaller one lies in the
/// caches, and prefetching costs more than waiting.
const CACHED_BYTES: usize = 8 << 20;

/// Looks keys up, and appends one answer for each.
#[inline]
pub(crate) fn contains(
    table: UniformTable<'_>,
    lookups: &Lookups<'_, impl Fn(KeyHash) -> bool>,
    present: &mut Vec<bool>,
) -> bool {
    let Some(vectors) = Vectors::on_lanes(table) else {
        return false;
    };
    let (eights, rest) = lookups.hashes.as_chunks::<LANES>();
    let cached_bytes = CACHED_BYTES / lookups.tables;
    let batch =
        Batch { last_bit: last_bit_to_prefetch(table, cached_bytes), table: table.table, vectors };
    // SAFETY: `Vectors` has checked that the processor has the instructions.
    unsafe { batch.contains(eights, lookups, present) };
    present.extend(rest.iter().map(|&hash| (lookups.contains)(hash)));
    true
}

/// How far after a bucket's first bit the last one is, if its line is prefetched as well.
fn last_bit_to_prefetch(table: UniformTable<'_>, cached_bytes: usize) -> Option<u64> {
    let codec = &table.level.codec;
    let is_prefetched =
        codec.encoding != Encoding::Narrow || table.table.memory_bytes() > cached_bytes;
    codec.last_bit.filter(|_| is_prefetched)
}

/// Eight keys that were located in a table: their values, and where their buckets are.
#[derive(Clone, Copy)]
struct Located {
    primary: BucketPlaces,
    alternate: BucketPlaces,
    value: [u64; LANES],
}

/// One bucket of each key.
#[derive(Clone, Copy)]
struct BucketPlaces {
    /// Addresses of the bytes that the buckets begin in.
    address: [u64; LANES],
    /// Bits of those bytes that come before the buckets.
    shift: [u64; LANES],
}

/// What a lookup of eight keys came to, a bit for each.
pub(super) struct LookupResult {
    pub(super) found: u8,
    /// Keys whose first candidate is another key; they may have more.
    pub(super) doubtful: u8,
    /// Keys with a candidate in the primary bucket.
    pub(super) in_primary: u8,
    /// The candidates there, or else in the alternate bucket.
    pub(super) marks: __m512i,
}

/// Lookups of many keys in one table.
struct Batch<'a> {
    vectors: Vectors<'a>,
    table: &'a Table,
    last_bit: Option<u64>,
}

impl Batch<'_> {
    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn contains(
        &self,
        eights: &[[KeyHash; LANES]],
        lookups: &Lookups<'_, impl Fn(KeyHash) -> bool>,
        present: &mut Vec<bool>,
    ) {
        let Some(first) = eights.first() else { return };
        let first = self.locate(first);
        let mut ring = [first; PREFETCH_DISTANCE];
        for (located, hashes) in ring.iter_mut().zip(eights).skip(1) {
            *located = self.locate(hashes);
        }
        for (number, hashes) in eights.iter().enumerate() {
            let located = &mut ring[number % PREFETCH_DISTANCE];
            let LookupResult { mut found, mut doubtful, .. } = self.lookup(located);
            if lookups.has_overflowed {
                doubtful |= self.in_overflowing_segments(hashes) & !found;
            }
            if doubtful != 0 {
                found |= lookup_again(lookups, hashes, doubtful);
            }
            present.extend((0..LANES).map(|lane| found >> lane & 1 == 1));
            if let Some(hashes) = eights.get(number + PREFETCH_DISTANCE) {
                *located = self.locate(hashes);
            }
        }
    }

    /// Locates eight keys and prefetches their buckets.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn locate(&self, hashes: &[KeyHash; LANES]) -> Located {
        let hash = load_hashes(hashes);
        let (_, base) = self.vectors.segments_of(hash);
        let located = locate_eight(self.vectors.level, hash);
        let mut value = [0; LANES];
        store(&mut value, located.value);
        let primary = self.place(base, located.primary);
        Located { primary, alternate: self.place(base, located.alternate), value }
    }

    #[target_feature(enable = "avx512f,avx512dq")]
    fn place(&self, base: __m512i, bucket: __m512i) -> BucketPlaces {
        let first_bit = self.vectors.first_bits(bucket);
        let address = self.vectors.addresses_of(base, first_bit);
        let shift = _mm512_and_epi64(first_bit, splat(7));
        let mut place = BucketPlaces { address: [0; LANES], shift: [0; LANES] };
        store(&mut place.address, address);
        store(&mut place.shift, shift);
        prefetch(&place.address);
        if let Some(last_bit) = self.last_bit {
            prefetch_ends(address, _mm512_add_epi64(shift, splat(last_bit)));
        }
        place
    }

    /// The keys whose segments have items in the overflow table.
    fn in_overflowing_segments(&self, hashes: &[KeyHash; LANES]) -> u8 {
        let segment = |hash| self.table.segment(self.vectors.directory.segment_of(hash));
        (0..LANES)
            .fold(0, |bits, lane| bits | u8::from(segment(hashes[lane]).has_overflow()) << lane)
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn lookup(&self, located: &Located) -> LookupResult {
        let read = |place: &BucketPlaces| {
            let (address, shift) = (load(&place.address), load(&place.shift));
            // SAFETY: `place` has checked that there are such buckets in the table, which is borrowed.
            Buckets { address, shift, word: unsafe { gather(address) } }
        };
        let (primary, alternate) = (read(&located.primary), read(&located.alternate));
        self.vectors.lookup(&primary, &alternate, load(&located.value))
    }
}

/// Those of the doubtful keys that are there.
#[cold]
fn lookup_again(
    lookups: &Lookups<'_, impl Fn(KeyHash) -> bool>,
    hashes: &[KeyHash; LANES],
    doubtful: u8,
) -> u8 {
    let is_there = |&lane: &usize| doubtful >> lane & 1 == 1 && (lookups.contains)(hashes[lane]);
    (0..LANES).filter(is_there).fold(0, |found, lane| found | 1 << lane)
}

impl Vectors<'_> {
    /// Looks eight keys up in their buckets.
    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    pub(super) fn lookup(
        &self,
        primary: &Buckets,
        alternate: &Buckets,
        value: __m512i,
    ) -> LookupResult {
        let alternate_value = _mm512_or_epi64(value, splat(ALTERNATE));
        let wanted = self.repeated(value);
        let here = self.candidates(primary, wanted);
        let there = self
            .candidates(alternate, _mm512_or_epi64(wanted, splat(self.codec().ones * ALTERNATE)));
        let in_primary = _mm512_test_epi64_mask(here, here);
        let candidates = in_primary | _mm512_test_epi64_mask(there, there);
        let marks = _mm512_mask_blend_epi64(in_primary, there, here);
        if self.codec().encoding == Encoding::Narrow || candidates == 0 {
            return LookupResult { found: candidates, doubtful: 0, in_primary, marks };
        }
        let bucket = Buckets::either(in_primary, primary, alternate);
        let value = _mm512_mask_blend_epi64(in_primary, alternate_value, value);
        let equal = self.confirms(&bucket, marks, value);
        LookupResult { found: candidates & equal, doubtful: candidates & !equal, in_primary, marks }
    }

    /// Each value in every lane, as each position stores it.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn repeated(&self, value: __m512i) -> __m512i {
        let &SlotCodec { ones, positions, lane_mask, .. } = self.codec();
        let value = _mm512_and_epi64(value, splat(lane_mask));
        _mm512_or_epi64(_mm512_mullo_epi64(value, splat(ones)), splat(positions))
    }

    /// Marks the slots whose lanes are the wanted ones.
    #[target_feature(enable = "avx512f")]
    fn candidates(&self, bucket: &Buckets, wanted: __m512i) -> __m512i {
        self.zero_lanes(_mm512_xor_epi64(bucket.lanes(), wanted))
    }

    /// Marks the free slots.
    #[target_feature(enable = "avx512f")]
    pub(super) fn free_slots(&self, bucket: &Buckets) -> __m512i {
        self.zero_lanes(bucket.lanes())
    }

    /// The high bit of every lane that is zero.
    #[target_feature(enable = "avx512f")]
    fn zero_lanes(&self, word: __m512i) -> __m512i {
        let &SlotCodec { low, high, .. } = self.codec();
        let low = splat(low);
        let carried = _mm512_add_epi64(_mm512_and_epi64(word, low), low);
        _mm512_andnot_epi64(_mm512_or_epi64(carried, word), splat(high))
    }

    /// The position of the first mark; the last position where there is none.
    #[target_feature(enable = "avx512f,avx512cd")]
    pub(super) fn first_position(&self, marks: __m512i) -> __m512i {
        let first_rest = self.codec().rest_bit(0);
        let lowest = _mm512_and_epi64(marks, _mm512_sub_epi64(splat(0), marks));
        let bit = _mm512_sub_epi64(splat(63), _mm512_lzcnt_epi64(lowest));
        let bit = _mm512_min_epu64(bit, splat(first_rest - 1));
        _mm512_srli_epi64::<16>(_mm512_mul_epu32(bit, splat(self.codec().lane_of_bit.into())))
    }

    /// A bit for each key whose rest lies with its first mark. For keys without a mark, some rest of their
    /// bucket is read.
    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn confirms(&self, bucket: &Buckets, marks: __m512i, value: __m512i) -> u8 {
        let rest = self.rests(bucket, self.first_position(marks));
        _mm512_cmpeq_epi64_mask(rest, shift_right(value, self.codec().lane_bits))
    }

    /// The rests of the values at these positions.
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn rests(&self, bucket: &Buckets, position: __m512i) -> __m512i {
        let (word, shift) = self.rest_places(bucket.shift, position);
        let address = _mm512_add_epi64(bucket.address, _mm512_srli_epi64::<3>(word));
        // SAFETY: the rest is a part of a bucket that `read_at` has checked.
        let word = unsafe { gather(address) };
        let rest = _mm512_srlv_epi64(word, shift);
        _mm512_and_epi64(rest, splat(self.codec().rest_mask))
    }

    /// `SlotCodec::rest_place`, eight times.
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn rest_places(&self, bucket: __m512i, position: __m512i) -> (__m512i, __m512i) {
        let (first_rest, rest_bits) = (self.codec().rest_bit(0), u64::from(self.codec().rest_bits));
        let whole_bytes = |bits| _mm512_and_epi64(bits, splat(!7));
        let offset = _mm512_mul_epu32(position, splat(rest_bits));
        let rest = _mm512_add_epi64(_mm512_add_epi64(bucket, splat(first_rest)), offset);
        let last = splat((self.codec().bucket_bits + 7).wrapping_sub(64));
        let last = whole_bytes(_mm512_add_epi64(bucket, last));
        let word = _mm512_min_epu64(whole_bytes(rest), last);
        (word, _mm512_sub_epi64(rest, word))
    }
}

/// Prefetches the second cache lines of those buckets that lie in two: a prefetch of a line that is on its
/// way already would delay others.
#[target_feature(enable = "avx512f")]
fn prefetch_ends(first: __m512i, last_bit: __m512i) {
    let last = _mm512_add_epi64(first, _mm512_srli_epi64::<3>(last_bit));
    let apart = _mm512_test_epi64_mask(_mm512_xor_epi64(first, last), splat(!(LINE_BYTES - 1)));
    let mut lines = [0; LANES];
    store(&mut lines, _mm512_mask_compress_epi64(first, apart, last));
    prefetch(&lines[..USUALLY_APART]);
    if apart.count_ones() as usize > USUALLY_APART {
        prefetch(&lines[USUALLY_APART..]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::random_hash;
    use super::*;
    use crate::kernel::instructions::check_compared;
    use crate::{CuckooFilter, Layout, WhenFull};

    fn lookups<'a>(
        filter: &'a CuckooFilter,
        hashes: &'a [KeyHash],
    ) -> Lookups<'a, impl Fn(KeyHash) -> bool> {
        let has_overflowed = filter.overflow().has_overflowed();
        let contains = |hash| filter.contains(hash);
        Lookups { hashes, has_overflowed, tables: 1, contains }
    }

    #[test]
    fn vectors_answer_as_portable_code_does() {
        let (mut compared, mut with_overflow) = (0, 0);
        let layouts = [1, 2, 4, 8].map(|slots| (Layout::Buckets, slots));
        for (layout, slots) in layouts.into_iter().chain([(Layout::Overlapping, 2)]) {
            let descriptions = [(1, 0.5), (100, 0.3), (5_000, 0.01), (200_000, 1e-4), (900, 1e-9)];
            let descriptions = descriptions.into_iter().chain([(100_000, 1e-13)]);
            for ((items, rate), most) in descriptions.flat_map(|it| [(it, 500), (it, 3)]) {
                let mut filter = CuckooFilter::builder()
                    .max_evictions(most)
                    .capacity(items)
                    .rate(rate)
                    .layout(layout)
                    .slots_per_bucket(slots)
                    .when_full(WhenFull::Refuse)
                    .build()
                    .unwrap();
                let keys: Vec<_> = (0..4 * items.max(50)).map(random_hash).collect();
                // After few evictions items overflow, and the filter is full before its time.
                let inserted = filter.insert_batch(&keys[..items as usize]);
                assert!(inserted.is_ok() || most == 3);
                let mut present = Vec::new();
                let table = filter.uniform_table().unwrap();
                if contains(table, &lookups(&filter, &keys), &mut present) {
                    compared += 1;
                    with_overflow += usize::from(filter.overflow().has_overflowed());
                    let plain: Vec<_> = keys.iter().map(|&key| filter.contains(key)).collect();
                    assert!(present == plain, "{filter:?}");
                }
            }
        }
        check_compared(compared, 50);
        assert!(compared == 0 || with_overflow > 0, "{with_overflow} with overflowed items");
    }

    #[test]
    fn the_second_line_of_narrow_buckets_is_prefetched_in_large_tables() {
        for (items, rate, tables, is_prefetched) in [
            (100_000, 0.001, 1, false),
            (20_000_000, 0.001, 1, true),
            // A shard shares the caches with the others.
            (1_000_000, 0.001, 1, false),
            (1_000_000, 0.001, 8, true),
            // Four slots of 16 bits: no bucket lies in two lines.
            (20_000_000, 0.000_13, 1, false),
            (100_000, 1e-9, 1, true),
        ] {
            let filter = CuckooFilter::with_capacity(items, rate).unwrap();
            let table = filter.uniform_table().unwrap();
            let last_bit = last_bit_to_prefetch(table, CACHED_BYTES / tables);
            assert_eq!(last_bit.is_some(), is_prefetched, "{tables} {filter:?}");
        }
    }

    #[test]
    #[should_panic(expected = "no such segment")]
    fn segments_that_do_not_exist_are_not_read() {
        let filter = CuckooFilter::new();
        let Some(vectors) = Vectors::new(filter.uniform_table().unwrap()) else {
            println!("skipped: no AVX-512 to compare with portable code");
            panic!("no such segment");
        };
        // SAFETY: `new` has checked that the processor has the instructions.
        unsafe { vectors.segment_bases(splat(filter.segments() as u64)) };
    }
}
