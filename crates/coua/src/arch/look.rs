//! Looking keys up, eight at a time.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_epi64, _mm512_andnot_epi64, _mm512_cmpeq_epi64_mask,
    _mm512_loadu_si512, _mm512_lzcnt_epi64, _mm512_mask_blend_epi64, _mm512_mask_compress_epi64,
    _mm512_min_epu64, _mm512_mul_epu32, _mm512_mullo_epi64, _mm512_or_epi64, _mm512_srli_epi64,
    _mm512_srlv_epi64, _mm512_sub_epi64, _mm512_test_epi64_mask, _mm512_xor_epi64,
};

use super::{LANES, Vectorized, gather, load, locate, prefetch, shift_right, splat, store};
use crate::KeyHash;
use crate::bucket::{Form, Lane};
use crate::filter::CuckooFilter;

/// Vectors of keys whose memory is on its way: 64 keys.
const AHEAD: usize = 8;
/// Of eight buckets, those whose ends are asked for without counting: mostly no more of them lie in two
/// cache lines.
const USUALLY_APART: usize = LANES / 2;
const LINE_BYTES: u64 = 64;
/// The second line of a narrow bucket is asked for in tables above this size. In smaller ones, which lie in
/// the caches, asking costs more than waiting for it.
const CACHED_BYTES: usize = 8 << 20;

/// Where a vector of keys lies, and what is looked for there.
#[derive(Clone, Copy, Default)]
struct Places {
    primary: BucketPlaces,
    partner: BucketPlaces,
    value: [u64; LANES],
}

/// One bucket of each key.
#[derive(Clone, Copy, Default)]
struct BucketPlaces {
    /// Addresses of the bytes that the buckets begin in.
    address: [u64; LANES],
    /// Bits of those bytes that come before the buckets.
    shift: [u64; LANES],
}

/// One bucket of each key, as it was read.
#[derive(Clone, Copy)]
pub(super) struct Buckets {
    pub(super) address: __m512i,
    pub(super) shift: __m512i,
    /// The eight bytes at the address.
    pub(super) word: __m512i,
}

impl Buckets {
    /// The ones of `first` where a bit is set, else those of `second`.
    #[target_feature(enable = "avx512f")]
    pub(super) fn either(bits: u8, first: &Self, second: &Self) -> Self {
        Self {
            address: _mm512_mask_blend_epi64(bits, second.address, first.address),
            shift: _mm512_mask_blend_epi64(bits, second.shift, first.shift),
            word: _mm512_mask_blend_epi64(bits, second.word, first.word),
        }
    }

    /// The lanes, from the lowest bit on.
    #[target_feature(enable = "avx512f")]
    pub(super) fn lanes(&self) -> __m512i {
        _mm512_srlv_epi64(self.word, self.shift)
    }
}

/// What a look at eight keys came to, a bit for each.
pub(super) struct Looked {
    pub(super) found: u8,
    /// Keys whose first candidate is another key; they may have more.
    pub(super) doubtful: u8,
    /// Keys with a candidate in the primary bucket.
    pub(super) in_primary: u8,
    /// The candidates there, or else in the partner.
    pub(super) marks: __m512i,
}

impl Vectorized<'_> {
    /// Appends one answer for each hash.
    pub(crate) fn contains(&self, hashes: &[KeyHash], present: &mut Vec<bool>) {
        let (vectors, rest) = hashes.as_chunks::<LANES>();
        // SAFETY: `of` has checked that the processor has the instructions.
        unsafe { self.contains_vectors(vectors, present) };
        present.extend(rest.iter().map(|&hash| self.filter.contains(hash)));
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn contains_vectors(&self, vectors: &[[KeyHash; LANES]], present: &mut Vec<bool>) {
        let mut ring = [Places::default(); AHEAD];
        let last_bit = self.last_bit_to_ask();
        for (places, hashes) in ring.iter_mut().zip(vectors) {
            self.locate(hashes, places, last_bit);
        }
        let has_homeless = self.filter.side.has_homeless();
        for number in 0..vectors.len() {
            let places = &mut ring[number % AHEAD];
            let Looked { mut found, mut doubtful, .. } = self.look_at(places);
            if has_homeless {
                doubtful |= self.in_spilled(&vectors[number]) & !found;
            }
            if doubtful != 0 {
                found |= self.look_again(&vectors[number], doubtful);
            }
            present.extend((0..LANES).map(|lane| found >> lane & 1 == 1));
            if let Some(hashes) = vectors.get(number + AHEAD) {
                self.locate(hashes, places, last_bit);
            }
        }
    }

    /// How far behind a bucket's first bit its last line is, if that is to be asked for as well.
    fn last_bit_to_ask(&self) -> Option<u64> {
        let lanes = &self.shape.lanes;
        let is_asked = match lanes.form {
            Form::Narrow => {
                // A shard shares the caches with the others.
                let shards = 1 << self.filter.whole.depth;
                self.filter.table.memory_bytes() > CACHED_BYTES / shards
            }
            Form::Wide | Form::WideWindows => true,
        };
        lanes.last_bit.filter(|_| is_asked)
    }

    /// Finds the places of a vector of keys and asks for their memory.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn locate(&self, hashes: &[KeyHash; LANES], places: &mut Places, last_bit: Option<u64>) {
        // SAFETY: eight hashes, which are eight u64.
        let hash = unsafe { _mm512_loadu_si512(hashes.as_ptr().cast()) };
        let (_, base) = self.segments_of(hash);
        let found = locate(self.shape, hash);
        store(&mut places.value, found.value);
        for (bucket, place) in
            [(found.primary, &mut places.primary), (found.partner, &mut places.partner)]
        {
            let bit = self.first_bits(bucket);
            let address = _mm512_add_epi64(base, _mm512_srli_epi64::<3>(bit));
            let shift = _mm512_and_epi64(bit, splat(7));
            store(&mut place.address, address);
            store(&mut place.shift, shift);
            prefetch(&place.address);
            if let Some(last_bit) = last_bit {
                prefetch_ends(address, _mm512_add_epi64(shift, splat(last_bit)));
            }
        }
    }

    /// The keys whose segments have items in the side table.
    fn in_spilled(&self, hashes: &[KeyHash; LANES]) -> u8 {
        let CuckooFilter { directory, table, .. } = self.filter;
        let is_spilled = |hash| table.segments[directory.segment_of(hash) as usize].spilled;
        (0..LANES).fold(0, |bits, lane| bits | u8::from(is_spilled(hashes[lane])) << lane)
    }

    /// Those of the doubtful keys that are there.
    #[cold]
    fn look_again(&self, hashes: &[KeyHash; LANES], doubtful: u8) -> u8 {
        let is_there =
            |&lane: &usize| doubtful >> lane & 1 == 1 && self.filter.contains(hashes[lane]);
        (0..LANES).filter(is_there).fold(0, |found, lane| found | 1 << lane)
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn look_at(&self, places: &Places) -> Looked {
        let read = |place: &BucketPlaces| {
            let (address, shift) = (load(&place.address), load(&place.shift));
            // SAFETY: the places were located in this filter, which is borrowed.
            Buckets { address, shift, word: unsafe { gather(address) } }
        };
        self.look(&read(&places.primary), &read(&places.partner), load(&places.value))
    }

    /// Which keys are there, whose values in the primary bucket are given.
    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    pub(super) fn look(&self, primary: &Buckets, partner: &Buckets, value: __m512i) -> Looked {
        let partner_value = _mm512_or_epi64(value, splat(1));
        let (ones, _, _) = self.shape.lanes.patterns();
        let wanted = self.repeated(value);
        let here = self.candidates(primary, wanted);
        let there = self.candidates(partner, _mm512_or_epi64(wanted, splat(ones)));
        let in_primary = _mm512_test_epi64_mask(here, here);
        let candidates = in_primary | _mm512_test_epi64_mask(there, there);
        let marks = _mm512_mask_blend_epi64(in_primary, there, here);
        if self.shape.lanes.form == Form::Narrow || candidates == 0 {
            return Looked { found: candidates, doubtful: 0, in_primary, marks };
        }
        let bucket = Buckets::either(in_primary, primary, partner);
        let value = _mm512_mask_blend_epi64(in_primary, partner_value, value);
        let equal = self.confirms(&bucket, marks, value);
        Looked { found: candidates & equal, doubtful: candidates & !equal, in_primary, marks }
    }

    /// The lane bits of values in every lane.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn repeated(&self, value: __m512i) -> __m512i {
        let (ones, _, positions) = self.shape.lanes.patterns();
        let value = _mm512_and_epi64(value, splat(self.shape.lanes.lane().mask));
        _mm512_or_epi64(_mm512_mullo_epi64(value, splat(ones)), splat(positions))
    }

    /// Marks the slots that hold the values, as far as one word of a bucket tells.
    #[target_feature(enable = "avx512f")]
    fn candidates(&self, bucket: &Buckets, wanted: __m512i) -> __m512i {
        self.zero_lanes(_mm512_xor_epi64(bucket.lanes(), wanted))
    }

    /// Marks the free slots.
    #[target_feature(enable = "avx512f")]
    pub(super) fn empties(&self, bucket: &Buckets) -> __m512i {
        self.zero_lanes(bucket.lanes())
    }

    /// The high bit of every lane that is zero.
    #[target_feature(enable = "avx512f")]
    fn zero_lanes(&self, word: __m512i) -> __m512i {
        let (ones, high, _) = self.shape.lanes.patterns();
        let low = splat(high - ones);
        let carried = _mm512_add_epi64(_mm512_and_epi64(word, low), low);
        _mm512_andnot_epi64(_mm512_or_epi64(carried, word), splat(high))
    }

    /// The position of the first mark; the last position where there is none.
    #[target_feature(enable = "avx512f,avx512cd")]
    pub(super) fn first_position(&self, marks: __m512i) -> __m512i {
        let Lane { of_bit, first_rest, .. } = self.shape.lanes.lane();
        let lowest = _mm512_and_epi64(marks, _mm512_sub_epi64(splat(0), marks));
        let bit = _mm512_sub_epi64(splat(63), _mm512_lzcnt_epi64(lowest));
        let bit = _mm512_min_epu64(bit, splat(first_rest - 1));
        _mm512_srli_epi64::<16>(_mm512_mul_epu32(bit, splat(of_bit)))
    }

    /// One bit for each key the rest of whose value lies with its first mark. Keys without a mark
    /// read some rest of their bucket.
    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn confirms(&self, bucket: &Buckets, marks: __m512i, value: __m512i) -> u8 {
        let rest = self.rests(bucket, self.first_position(marks));
        _mm512_cmpeq_epi64_mask(rest, shift_right(value, self.shape.lanes.lane().bits))
    }

    /// The rests of the values at these positions.
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn rests(&self, bucket: &Buckets, position: __m512i) -> __m512i {
        let (word, shift) = self.rest_places(bucket.shift, position);
        let address = _mm512_add_epi64(bucket.address, _mm512_srli_epi64::<3>(word));
        // SAFETY: a rest in a bucket of a segment of this filter, which is borrowed.
        let word = unsafe { gather(address) };
        let rest = _mm512_srlv_epi64(word, shift);
        _mm512_and_epi64(rest, splat(self.shape.lanes.lane().rest_mask))
    }

    /// `Lanes::rest_place` for buckets that begin at these bits.
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn rest_places(&self, bucket: __m512i, position: __m512i) -> (__m512i, __m512i) {
        let Lane { first_rest, rest_bits, .. } = self.shape.lanes.lane();
        let whole_bytes = |bits| _mm512_and_epi64(bits, splat(!7));
        let offset = _mm512_mul_epu32(position, splat(rest_bits));
        let rest = _mm512_add_epi64(_mm512_add_epi64(bucket, splat(first_rest)), offset);
        let last = splat((self.shape.lanes.bucket_bits() + 7).wrapping_sub(64));
        let last = whole_bytes(_mm512_add_epi64(bucket, last));
        let word = _mm512_min_epu64(whole_bytes(rest), last);
        (word, _mm512_sub_epi64(rest, word))
    }
}

/// Asks for the last bytes of buckets, which begin at these addresses, that lie in another cache line than
/// the first: requests for lines that are on their way hold up others.
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
    use super::*;
    use crate::{Layout, WhenFull};

    /// `SplitMix64`.
    fn hash(n: u64) -> KeyHash {
        let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        KeyHash::from_u64(z ^ (z >> 31))
    }

    #[test]
    fn vectors_answer_as_the_portable_twin_does() {
        let (mut able, mut with_homeless) = (0, 0);
        let forms = [1, 2, 4, 8].map(|slots| (Layout::Buckets, slots));
        for (layout, slots) in forms.into_iter().chain([(Layout::Overlapping, 2)]) {
            let descriptions = [(1, 0.5), (100, 0.3), (5_000, 0.01), (200_000, 1e-4), (900, 1e-9)];
            let descriptions = descriptions.into_iter().chain([(100_000, 1e-13)]);
            for ((items, rate), most) in descriptions.flat_map(|it| [(it, 500), (it, 3)]) {
                let mut filter = CuckooFilter::builder()
                    .max_relocations(most)
                    .capacity(items)
                    .rate(rate)
                    .layout(layout)
                    .slots_per_bucket(slots)
                    .when_full(WhenFull::Refuse)
                    .build()
                    .unwrap();
                let keys: Vec<_> = (0..4 * items.max(50)).map(hash).collect();
                // After few relocations items are homeless, and the filter full before its time.
                let inserted = filter.insert_batch(&keys[..items as usize]);
                assert!(inserted.is_ok() || most == 3);
                let Some(vectorized) = Vectorized::of(&filter).filter(Vectorized::can_look) else {
                    continue;
                };
                able += 1;
                with_homeless += usize::from(filter.side.has_homeless());
                let mut present = Vec::new();
                vectorized.contains(&keys, &mut present);
                let plain: Vec<_> = keys.iter().map(|&key| filter.contains(key)).collect();
                assert!(present == plain, "{filter:?}");
            }
        }
        assert!(
            able == 0 || with_homeless > 0,
            "{able} filters, {with_homeless} with homeless items"
        );
    }

    #[test]
    fn the_second_line_of_narrow_buckets_is_asked_for_in_large_tables() {
        let build = |items, rate| CuckooFilter::with_capacity(items, rate).unwrap();
        for (items, rate, is_asked) in [
            (100_000, 0.001, false),
            (20_000_000, 0.001, true),
            // Four slots of 16 bits: no bucket lies in two lines.
            (20_000_000, 0.000_13, false),
            (100_000, 1e-9, true),
        ] {
            let mut filter = build(items, rate);
            let keys: Vec<_> = (0..2_000).map(hash).collect();
            filter.insert_batch(&keys[..1_000]).unwrap();
            let Some(vectorized) = Vectorized::of(&filter) else { return };
            assert_eq!(vectorized.last_bit_to_ask().is_some(), is_asked, "{filter:?}");
            let mut present = Vec::new();
            vectorized.contains(&keys, &mut present);
            assert!(present[..1_000].iter().all(|&is_present| is_present));
            assert!(present[1_000..].iter().filter(|&&is_present| is_present).count() < 10);
        }
    }

    #[test]
    fn shards_are_as_large_as_their_whole() {
        let mut filter = CuckooFilter::with_capacity(1_000_000, 0.001).unwrap();
        for (depth, is_asked) in [(0, false), (3, true)] {
            filter.whole.depth = depth;
            let Some(vectorized) = Vectorized::of(&filter) else { return };
            assert_eq!(vectorized.last_bit_to_ask().is_some(), is_asked, "{depth}");
        }
    }
}
