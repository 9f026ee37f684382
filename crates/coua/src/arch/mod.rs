//! Eight keys at a time, with AVX-512: locating them, looking them up, foreseeing their inserts and removals,
//! finding the ways of their relocations, and their places when segments split.
//!
//! The same arithmetic as [`Shape::locate`] and [`Lanes::matches`](crate::bucket::Lanes::matches),
//! lane by lane; a property test holds the two to each other. Chosen at run time where the processor
//! has the instructions; all but the last for filters whose segments all have one depth (those of planned
//! size, and growing ones most of the time).
//!
//! Also the doors to portable loops that are compiled for more than the least x86-64 has.

#![expect(unsafe_code, reason = "vector instructions; this is the only module with them")]

mod fields;
mod foresee;
mod look;
mod split;
mod ways;

use crate::KeyHash;
use crate::batch::{LocatedKeys, WIDTH};
use crate::bloom::burst::Burst;
use crate::bucket::Form;
use crate::filter::CuckooFilter;
use crate::geometry::Shape;
use crate::shapes::{ByLevel, Work, in_form};
use crate::table::{Row, Segment};
use std::arch::x86_64::{
    __m512i, _mm_cvtsi64_si128, _mm512_add_epi64, _mm512_and_epi64, _mm512_cvtepu32_epi64,
    _mm512_i64gather_epi32, _mm512_loadu_si512, _mm512_min_epu64, _mm512_mul_epu32,
    _mm512_mullo_epi64, _mm512_or_epi64, _mm512_set1_epi64, _mm512_sll_epi64, _mm512_slli_epi64,
    _mm512_srl_epi64, _mm512_srli_epi64, _mm512_storeu_si512, _mm512_sub_epi64,
};

/// Runs `work` compiled for processors that count and find bits in one instruction (x86-64-v2 and
/// BMI), if this is one.
#[inline]
pub(crate) fn with_bit_instructions<W: Work>(work: W, only: Option<Shape>) -> W::Output {
    #[target_feature(enable = "popcnt,bmi1,bmi2,lzcnt")]
    fn compiled_for_them<W: Work>(work: W, only: Option<Shape>) -> W::Output {
        in_form(work, only)
    }
    let able = is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt");
    if able {
        // SAFETY: the processor has the instructions.
        unsafe { compiled_for_them(work, only) }
    } else {
        // For processors of before 2013 one form is enough: the others would double the code.
        work.run(ByLevel)
    }
}

/// Runs `burst` compiled for vectors of 256 bits, if this processor has them.
#[inline]
pub(crate) fn with_block_vectors<B: Burst>(burst: B) -> B::Output {
    #[target_feature(enable = "avx2")]
    fn compiled_for_them<B: Burst>(burst: B) -> B::Output {
        burst.run()
    }
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        unsafe { compiled_for_them(burst) }
    } else {
        burst.run()
    }
}

/// Finds the places of a group of keys and asks for their memory; false if the processor lacks the
/// instructions or the filter's segments are of several depths: then nothing is done.
#[inline]
pub(crate) fn locate_vector(
    filter: &CuckooFilter,
    hashes: &[KeyHash; WIDTH],
    places: &mut LocatedKeys,
) -> bool {
    let Some(vectorized) = Vectorized::of(filter) else {
        return false;
    };
    // SAFETY: `of` has checked that the processor has the instructions.
    unsafe { vectorized.locate_keys(hashes, places) };
    true
}

pub(crate) use foresee::{find, foresee};
pub(crate) use split::{divide_vectors, keep_vectors, pack_vectors};
pub(crate) use ways::{find_ways, look_along_ways};

/// Keys in a vector.
const LANES: usize = 8;
/// A filter whose lookups can be vectorized.
pub(crate) struct Vectorized<'a> {
    filter: &'a CuckooFilter,
    shape: &'a Shape,
}

impl<'a> Vectorized<'a> {
    /// `None` if the processor lacks the instructions or the filter's segments are of several depths.
    #[inline]
    pub(crate) fn of(filter: &'a CuckooFilter) -> Option<Self> {
        Self::with_shape(filter, filter.only_shape.as_ref()?)
    }

    /// For work on segments of this shape; `None` if the processor lacks the instructions.
    #[inline]
    fn with_shape(filter: &'a CuckooFilter, shape: &'a Shape) -> Option<Self> {
        let able = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512cd");
        able.then_some(Self { filter, shape })
    }

    /// Whether a bucket's slots can be compared in one word, wide ones by their low bits.
    pub(crate) fn can_look(&self) -> bool {
        self.shape.lanes.form != Form::WideWindows
    }

    /// [`locate`](Self::locate) for work that is done key by key.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn locate_keys(&self, hashes: &[KeyHash; WIDTH], places: &mut LocatedKeys) {
        for (part, hashes) in hashes.as_chunks().0.iter().enumerate() {
            self.locate_part(hashes, places, part);
        }
    }

    #[target_feature(enable = "avx512f,avx512dq")]
    fn locate_part(&self, hashes: &[KeyHash; LANES], places: &mut LocatedKeys, part: usize) {
        // SAFETY: eight hashes, which are eight u64.
        let hash = unsafe { _mm512_loadu_si512(hashes.as_ptr().cast()) };
        let (segments, base) = self.segments_of(hash);
        let found = locate(self.shape, hash);
        store(part_of(&mut places.segment, part), segments);
        store(part_of(&mut places.primary, part), found.primary);
        store(part_of(&mut places.partner, part), found.partner);
        store(part_of(&mut places.value, part), found.value);
        store(part_of(&mut places.base, part), base);
        store(part_of(&mut places.primary_bit, part), self.first_bits(found.primary));
        store(part_of(&mut places.partner_bit, part), self.first_bits(found.partner));
    }

    /// Where buckets begin in their segments.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn first_bits(&self, bucket: __m512i) -> __m512i {
        _mm512_mul_epu32(bucket, splat(self.shape.lanes.bucket_bits()))
    }

    /// The numbers of the segments that the hashes lie in, and their addresses.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn segments_of(&self, hash: __m512i) -> (__m512i, __m512i) {
        let (bits, entries) = self.filter.directory.entries();
        let index = shift_right(_mm512_srli_epi64::<1>(hash), 63 - bits);
        if let Some(row) = self.filter.table.row() {
            return (index, bases_in_row(&row, index));
        }
        // SAFETY: `index` has `bits` bits, and there are 2^bits entries.
        let segment = unsafe { _mm512_i64gather_epi32::<4>(index, entries.as_ptr().cast()) };
        let segment = _mm512_cvtepu32_epi64(segment);
        (segment, self.segment_bases(segment))
    }

    /// The addresses of segments.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn segment_bases(&self, segments: __m512i) -> __m512i {
        if let Some(row) = self.filter.table.row() {
            return bases_in_row(&row, segments);
        }
        let offset = _mm512_mul_epu32(segments, splat(size_of::<Segment>() as u64));
        let bases = self.filter.table.segments.as_ptr().wrapping_byte_add(Segment::BASE_OFFSET);
        // SAFETY: every entry of the directory names a segment of the table, whose bases are eight bytes.
        unsafe { gather(_mm512_add_epi64(offset, splat(bases as u64))) }
    }
}

/// The addresses of the segments of these numbers.
#[target_feature(enable = "avx512f")]
fn bases_in_row(row: &Row, segments: __m512i) -> __m512i {
    let distance = _mm512_mul_epu32(segments, splat(row.step.into()));
    _mm512_add_epi64(distance, splat(row.first))
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
    let suffix = shift_left(_mm512_and_epi64(hash, splat(shape.suffix_mask)), shape.depth);
    let (primary, rest) = multiply(suffix, buckets);
    let top = _mm512_and_epi64(shift_right(rest, shape.top_shift), splat(shape.top_mask));
    let (low, _) = multiply(shift_left(rest, shape.top_bits), splat(shape.low_range));
    let low = _mm512_add_epi64(low, splat(1));
    let fingerprint = _mm512_or_epi64(top, low);
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

/// A vector's share of a group of keys.
#[inline(always)]
fn part_of(values: &mut [u64; WIDTH], part: usize) -> &mut [u64; LANES] {
    &mut values.as_chunks_mut().0[part]
}

/// Asks for the cache lines at these addresses.
#[inline(always)]
fn prefetch(addresses: &[u64]) {
    for &address in addresses {
        crate::table::prefetch(address as *const u8);
    }
}

/// Eight bytes at each address. Eight loads: no slower than the instruction that gathers, and on some
/// processors faster.
///
/// # Safety
///
/// Eight bytes may be read at each: the bytes in borrowed segments that buckets' bits lie in, for the
/// tail of a segment lets every load read as many, or numbers in a borrowed slice.
#[target_feature(enable = "avx512f")]
unsafe fn gather(address: __m512i) -> __m512i {
    let mut words = [0; LANES];
    store(&mut words, address);
    for word in &mut words {
        // SAFETY: the caller's promise.
        *word = unsafe { (*word as *const u64).read_unaligned() };
    }
    load(&words)
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
