//! Eight keys at a time, with AVX-512.
//!
//! The same arithmetic as [`Shape::locate`] and [`Lanes::matches`](crate::bucket::Lanes::matches),
//! lane by lane; a property test holds the two to each other. Chosen at run time where the processor
//! has the instructions, for filters whose segments all have one depth (those of planned size).

#![expect(unsafe_code, reason = "vector instructions; this is the only file with them")]

use crate::KeyHash;
use crate::batch::{LocatedKeys, WIDTH, Work};
use crate::bucket::{Form, Lane};
use crate::filter::CuckooFilter;
use crate::geometry::Shape;
use crate::table::Segment;
use std::arch::x86_64::{
    __m512i, _mm_cvtsi64_si128, _mm512_add_epi64, _mm512_and_epi64, _mm512_andnot_epi64,
    _mm512_cmpeq_epi64_mask, _mm512_cvtepu32_epi64, _mm512_i64gather_epi32, _mm512_i64gather_epi64,
    _mm512_loadu_si512, _mm512_lzcnt_epi64, _mm512_mask_blend_epi64, _mm512_min_epu64,
    _mm512_mul_epu32, _mm512_mullo_epi64, _mm512_or_epi64, _mm512_set1_epi64, _mm512_sll_epi64,
    _mm512_slli_epi64, _mm512_srl_epi64, _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_storeu_si512,
    _mm512_sub_epi64, _mm512_test_epi64_mask, _mm512_xor_epi64,
};

/// Runs `work` compiled for processors that count and find bits in one instruction (x86-64-v2 and
/// BMI), if this is one.
#[inline]
pub(crate) fn with_bit_instructions<W: Work>(work: W) -> W::Output {
    #[target_feature(enable = "popcnt,bmi1,bmi2,lzcnt")]
    fn compiled_for_them<W: Work>(work: W) -> W::Output {
        work.run()
    }
    let able = is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt");
    if able {
        // SAFETY: the processor has the instructions.
        unsafe { compiled_for_them(work) }
    } else {
        work.run()
    }
}

/// Finds the places of eight keys and asks for their memory; false if the processor lacks the
/// instructions or the filter's segments are of several depths: then nothing is done.
#[inline]
pub(crate) fn locate_vector(
    filter: &CuckooFilter,
    hashes: &[KeyHash; LANES],
    places: &mut LocatedKeys,
) -> bool {
    let Some(vectorized) = Vectorized::of(filter) else {
        return false;
    };
    // SAFETY: `of` has checked that the processor has the instructions.
    unsafe { vectorized.locate_keys(hashes, places) };
    true
}

/// Keys in a vector.
const LANES: usize = WIDTH;
/// Vectors of keys whose memory is on its way: 64 keys.
const AHEAD: usize = 8;

/// A filter whose lookups can be vectorized.
pub(crate) struct Vectorized<'a> {
    filter: &'a CuckooFilter,
    shape: &'a Shape,
}

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

impl<'a> Vectorized<'a> {
    /// `None` if the processor lacks the instructions or the filter's segments are of several depths.
    #[inline]
    pub(crate) fn of(filter: &'a CuckooFilter) -> Option<Self> {
        let able = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512cd");
        Some(Self { filter, shape: filter.only_shape().filter(|_| able)? })
    }

    /// Whether a bucket's slots can be compared in one word, wide ones by their low bits.
    pub(crate) fn can_look(&self) -> bool {
        self.shape.lanes.form != Form::WideWindows
    }

    /// Appends one answer for each hash; keys of the side table excepted, which are not seen here.
    pub(crate) fn contains(&self, hashes: &[KeyHash], present: &mut Vec<bool>) {
        let (vectors, rest) = hashes.as_chunks::<LANES>();
        // SAFETY: `of` has checked that the processor has the instructions.
        unsafe { self.contains_vectors(vectors, present) };
        present.extend(rest.iter().map(|&hash| self.filter.contains_hash(hash)));
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn contains_vectors(&self, vectors: &[[KeyHash; LANES]], present: &mut Vec<bool>) {
        let mut ring = [Places::default(); AHEAD];
        for (places, hashes) in ring.iter_mut().zip(vectors) {
            self.locate(hashes, places);
        }
        for number in 0..vectors.len() {
            let places = &mut ring[number % AHEAD];
            let Looked { mut found, doubtful } = self.look(places);
            if doubtful != 0 {
                found |= self.look_again(&vectors[number], doubtful);
            }
            present.extend((0..LANES).map(|lane| found >> lane & 1 == 1));
            if let Some(hashes) = vectors.get(number + AHEAD) {
                self.locate(hashes, places);
            }
        }
    }

    /// Finds the places of a vector of keys and asks for their memory.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn locate(&self, hashes: &[KeyHash; LANES], places: &mut Places) {
        // SAFETY: eight hashes, which are eight u64.
        let hash = unsafe { _mm512_loadu_si512(hashes.as_ptr().cast()) };
        let base = self.segment_bases(self.segments_of(hash));
        let found = locate(self.shape, hash);
        store(&mut places.value, found.value);
        for (bucket, place) in
            [(found.primary, &mut places.primary), (found.partner, &mut places.partner)]
        {
            let bit = self.first_bits(bucket);
            store(&mut place.address, _mm512_add_epi64(base, _mm512_srli_epi64::<3>(bit)));
            store(&mut place.shift, _mm512_and_epi64(bit, splat(7)));
            prefetch(&place.address);
            self.prefetch_ends(base, bit);
        }
    }

    /// Asks for the last bytes of wide buckets, which may lie in another cache line than the first.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn prefetch_ends(&self, base: __m512i, bit: __m512i) {
        if self.shape.lanes.form != Form::Narrow {
            let mut addresses = [0; LANES];
            let last = _mm512_add_epi64(bit, splat(self.shape.lanes.last_bit()));
            store(&mut addresses, _mm512_add_epi64(base, _mm512_srli_epi64::<3>(last)));
            prefetch(&addresses);
        }
    }

    /// [`locate`](Self::locate) for work that is done key by key.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn locate_keys(&self, hashes: &[KeyHash; LANES], places: &mut LocatedKeys) {
        // SAFETY: eight hashes, which are eight u64.
        let hash = unsafe { _mm512_loadu_si512(hashes.as_ptr().cast()) };
        let segments = self.segments_of(hash);
        let base = self.segment_bases(segments);
        let found = locate(self.shape, hash);
        store(&mut places.segment, segments);
        store(&mut places.primary, found.primary);
        store(&mut places.partner, found.partner);
        store(&mut places.value, found.value);
        let mut addresses = [0; LANES];
        for bucket in [found.primary, found.partner] {
            let bit = self.first_bits(bucket);
            store(&mut addresses, _mm512_add_epi64(base, _mm512_srli_epi64::<3>(bit)));
            prefetch(&addresses);
            self.prefetch_ends(base, bit);
        }
    }

    /// Where buckets begin in their segments.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn first_bits(&self, bucket: __m512i) -> __m512i {
        _mm512_mullo_epi64(bucket, splat(self.shape.lanes.bucket_bits()))
    }

    /// The numbers of the segments that the hashes lie in.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn segments_of(&self, hash: __m512i) -> __m512i {
        let (bits, entries) = self.filter.directory.entries();
        let index = shift_right(_mm512_srli_epi64::<1>(hash), 63 - bits);
        // SAFETY: `index` has `bits` bits, and there are 2^bits entries.
        let segment = unsafe { _mm512_i64gather_epi32::<4>(index, entries.as_ptr().cast()) };
        _mm512_cvtepu32_epi64(segment)
    }

    /// The addresses of segments.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn segment_bases(&self, segments: __m512i) -> __m512i {
        let offset = _mm512_mullo_epi64(segments, splat(size_of::<Segment>() as u64));
        let bases = self.filter.table.segments.as_ptr().wrapping_byte_add(Segment::BASE_OFFSET);
        // SAFETY: every entry of the directory names a segment of the table.
        unsafe { _mm512_i64gather_epi64::<1>(offset, bases.cast()) }
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn look(&self, places: &Places) -> Looked {
        let value = load(&places.value);
        let partner_value = _mm512_or_epi64(value, splat(1));
        let here = self.candidates(&places.primary, value);
        let there = self.candidates(&places.partner, partner_value);
        let in_primary = _mm512_test_epi64_mask(here, here);
        let candidates = in_primary | _mm512_test_epi64_mask(there, there);
        if self.shape.lanes.form == Form::Narrow || candidates == 0 {
            return Looked { found: candidates, doubtful: 0 };
        }
        let select = |primary, partner| _mm512_mask_blend_epi64(in_primary, partner, primary);
        let (primary, partner) = (&places.primary, &places.partner);
        let place = (
            select(load(&primary.address), load(&partner.address)),
            select(load(&primary.shift), load(&partner.shift)),
        );
        let equal = self.confirms(place, select(here, there), select(value, partner_value));
        Looked { found: candidates & equal, doubtful: candidates & !equal }
    }

    /// Those of the doubtful keys that are there.
    #[cold]
    fn look_again(&self, hashes: &[KeyHash; LANES], doubtful: u8) -> u8 {
        let is_there =
            |&lane: &usize| doubtful >> lane & 1 == 1 && self.filter.contains_hash(hashes[lane]);
        (0..LANES).filter(is_there).fold(0, |found, lane| found | 1 << lane)
    }

    /// Marks the slots that hold the values, as far as one word of a bucket tells.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn candidates(&self, place: &BucketPlaces, value: __m512i) -> __m512i {
        let (ones, high, positions) = self.shape.lanes.patterns();
        // SAFETY: the places were located in this filter, which is borrowed: a bucket's bits lie in
        // its segment, whose tail lets every load read eight bytes.
        let word = unsafe { _mm512_i64gather_epi64::<1>(load(&place.address), std::ptr::null()) };
        let value = _mm512_and_epi64(value, splat(self.shape.lanes.lane().mask));
        let wanted = _mm512_or_epi64(_mm512_mullo_epi64(value, splat(ones)), splat(positions));
        let difference = _mm512_xor_epi64(_mm512_srlv_epi64(word, load(&place.shift)), wanted);
        let low = splat(high - ones);
        let carried = _mm512_add_epi64(_mm512_and_epi64(difference, low), low);
        _mm512_andnot_epi64(_mm512_or_epi64(carried, difference), splat(high))
    }

    /// One bit for each key the rest of whose value lies with its first mark. Keys without a mark
    /// read some word of their bucket.
    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn confirms(&self, (address, shift): (__m512i, __m512i), marks: __m512i, value: __m512i) -> u8 {
        let Lane { bits, of_bit, first_rest, rest_bits, rest_mask, .. } = self.shape.lanes.lane();
        let lowest = _mm512_and_epi64(marks, _mm512_sub_epi64(splat(0), marks));
        // A bit of the last lane where there is no mark.
        let bit = _mm512_sub_epi64(splat(63), _mm512_lzcnt_epi64(lowest));
        let bit = _mm512_min_epu64(bit, splat(first_rest - 1));
        let position = _mm512_srli_epi64::<16>(_mm512_mul_epu32(bit, splat(of_bit)));
        let offset = _mm512_add_epi64(shift, splat(first_rest));
        let offset = _mm512_add_epi64(offset, _mm512_mul_epu32(position, splat(rest_bits)));
        let address = _mm512_add_epi64(address, _mm512_srli_epi64::<3>(offset));
        // SAFETY: as in `candidates`.
        let word = unsafe { _mm512_i64gather_epi64::<1>(address, std::ptr::null()) };
        let rest = _mm512_srlv_epi64(word, _mm512_and_epi64(offset, splat(7)));
        let rest = _mm512_and_epi64(rest, splat(rest_mask));
        _mm512_cmpeq_epi64_mask(rest, shift_right(value, bits))
    }
}

/// What a look at eight keys came to, a bit for each.
struct Looked {
    found: u8,
    /// Keys whose first candidate is another key; they may have more.
    doubtful: u8,
}

struct Located {
    primary: __m512i,
    partner: __m512i,
    value: __m512i,
}

/// [`Shape::locate`], eight times.
#[target_feature(enable = "avx512f,avx512dq")]
fn locate(shape: &Shape, hash: __m512i) -> Located {
    let buckets = splat(shape.buckets);
    let suffix = shift_left(_mm512_and_epi64(hash, splat(shape.hash_mask)), shape.depth);
    let (primary, rest) = multiply(suffix, buckets);
    let top = shift_right(_mm512_srli_epi64::<1>(rest), 63 - shape.top_bits);
    let (low, _) = multiply(shift_left(rest, shape.top_bits), splat(shape.low_range));
    let low = _mm512_add_epi64(low, splat(1));
    let fingerprint = _mm512_or_epi64(shift_left(top, shape.low_bits), low);
    let mixed = _mm512_mullo_epi64(fingerprint, splat(Shape::OFFSET_FACTOR));
    let offset = _mm512_srli_epi64::<32>(_mm512_mul_epu32(_mm512_srli_epi64::<32>(mixed), buckets));
    let partner = _mm512_add_epi64(primary, offset);
    // The smaller of the two, for what is not below `buckets` wraps when that is taken off.
    let partner = _mm512_min_epu64(partner, _mm512_sub_epi64(partner, buckets));
    Located { primary, partner, value: shift_left(fingerprint, shape.lanes.tag_bits) }
}

/// 64 by 32 bits: the product's bits from 64 on, and below.
#[target_feature(enable = "avx512f")]
fn multiply(wide: __m512i, narrow: __m512i) -> (__m512i, __m512i) {
    let low = _mm512_mul_epu32(wide, narrow);
    let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(wide), narrow);
    let middle = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(low));
    let below =
        _mm512_or_epi64(_mm512_slli_epi64::<32>(middle), _mm512_and_epi64(low, splat(0xffff_ffff)));
    (_mm512_srli_epi64::<32>(middle), below)
}

/// Asks for the cache lines at these addresses.
#[inline(always)]
fn prefetch(addresses: &[u64; LANES]) {
    for &address in addresses {
        crate::table::prefetch(address as *const u8);
    }
}

#[target_feature(enable = "avx512f")]
fn splat(value: u64) -> __m512i {
    _mm512_set1_epi64(value.cast_signed())
}

#[target_feature(enable = "avx512f")]
fn shift_left(value: __m512i, bits: u32) -> __m512i {
    _mm512_sll_epi64(value, _mm_cvtsi64_si128(i64::from(bits)))
}

#[target_feature(enable = "avx512f")]
fn shift_right(value: __m512i, bits: u32) -> __m512i {
    _mm512_srl_epi64(value, _mm_cvtsi64_si128(i64::from(bits)))
}

#[target_feature(enable = "avx512f")]
fn load(values: &[u64; LANES]) -> __m512i {
    // SAFETY: eight values are there.
    unsafe { _mm512_loadu_si512(values.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn store(values: &mut [u64; LANES], vector: __m512i) {
    // SAFETY: there is room for eight values.
    unsafe { _mm512_storeu_si512(values.as_mut_ptr().cast(), vector) };
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
        let (mut able, mut compared) = (0, 0);
        let forms = [1, 2, 4, 8].map(|slots| (Layout::Buckets, slots));
        for (layout, slots) in forms.into_iter().chain([(Layout::Windows, 2)]) {
            let descriptions = [(1, 0.5), (100, 0.3), (5_000, 0.01), (200_000, 1e-4), (900, 1e-9)];
            for (items, rate) in descriptions.into_iter().chain([(100_000, 1e-13)]) {
                let mut filter = CuckooFilter::builder()
                    .capacity(items)
                    .rate(rate)
                    .layout(layout)
                    .slots_per_bucket(slots)
                    .when_full(WhenFull::Refuse)
                    .build()
                    .unwrap();
                let keys: Vec<_> = (0..4 * items.max(50)).map(hash).collect();
                filter.insert_hash_batch(&keys[..items as usize]).unwrap();
                let Some(vectorized) = Vectorized::of(&filter).filter(Vectorized::can_look) else {
                    continue;
                };
                able += 1;
                if filter.side.len() > 0 {
                    continue;
                }
                let mut present = Vec::new();
                vectorized.contains(&keys, &mut present);
                let plain: Vec<_> =
                    keys.iter().map(|&key| filter.look(&filter.locate(key))).collect();
                assert!(present == plain, "{filter:?}");
                compared += 1;
            }
        }
        assert!(compared * 2 > able || able == 0, "{compared} of {able}");
    }
}
