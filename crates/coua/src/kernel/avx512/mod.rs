//! Eight keys, eviction chains or slots at a time, with AVX-512.
//!
//! The arithmetic of [`LevelGeometry`], [`Pair`](super::pair::Pair) and [`SlotCodec`], lane by lane; tests hold
//! the two to each other. Chosen at run time where the processor has the instructions. Where a function
//! returns false it did nothing: the instructions are lacking, or the encoding does not suit them.
//!
//! Places in memory are computed here from segment and bucket numbers, which are checked against the table.
//! So no caller can make these functions read elsewhere.

#![expect(unsafe_code, reason = "vector instructions, and reading at computed addresses")]

mod fields;
mod lookup;
mod moves;
mod probes;
mod split;

use std::arch::x86_64::{
    __m512i, _mm_cvtsi64_si128, _mm512_add_epi64, _mm512_and_epi64, _mm512_cmple_epu64_mask,
    _mm512_cmplt_epu64_mask, _mm512_cvtepu32_epi64, _mm512_i64gather_epi32, _mm512_loadu_si512,
    _mm512_mask_blend_epi64, _mm512_min_epu64, _mm512_mul_epu32, _mm512_mullo_epi64,
    _mm512_or_epi64, _mm512_set1_epi64, _mm512_sll_epi64, _mm512_slli_epi64, _mm512_srl_epi64,
    _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi64,
};

use super::codec::{Encoding, SlotCodec};
use super::instructions::has_avx512;
use super::level::LevelGeometry;
use super::probes::{KeyGroup, UniformTable, WIDTH};
use crate::hash::KeyHash;
use crate::table::{Addresses, Directory};

pub(crate) use lookup::contains;
pub(crate) use moves::{find_moves, test_moves};
pub(crate) use probes::{probe_inserts, probe_removals};
pub(crate) use split::{divide, keep, pack};

/// Numbers in a vector.
const LANES: usize = 8;

/// Locates a group of keys. Their buckets are to be prefetched next.
#[inline]
pub(crate) fn locate(
    table: UniformTable<'_>,
    hashes: &[KeyHash; WIDTH],
    keys: &mut KeyGroup,
) -> bool {
    let Some(vectors) = Vectors::new(table) else {
        return false;
    };
    // SAFETY: `new` has checked that the processor has the instructions.
    unsafe { vectors.locate_keys(hashes, keys) };
    true
}

/// Work on a table of one level, by a processor that has AVX-512.
struct Vectors<'a> {
    directory: &'a Directory,
    addresses: Addresses,
    level: &'a LevelGeometry,
    /// No bucket begins after this bit of a segment.
    last_first_bit: u64,
}

/// One bucket of each key, as it was read.
#[derive(Clone, Copy)]
struct Buckets {
    address: __m512i,
    /// Bits of the first byte that come before the bucket.
    shift: __m512i,
    /// The eight bytes at the address.
    word: __m512i,
}

impl Buckets {
    /// The ones of `first` where a bit is set, else those of `second`.
    #[target_feature(enable = "avx512f")]
    fn either(bits: u8, first: &Self, second: &Self) -> Self {
        Self {
            address: _mm512_mask_blend_epi64(bits, second.address, first.address),
            shift: _mm512_mask_blend_epi64(bits, second.shift, first.shift),
            word: _mm512_mask_blend_epi64(bits, second.word, first.word),
        }
    }

    /// The lanes of a bucket, from the lowest bit on.
    #[target_feature(enable = "avx512f")]
    fn lanes(&self) -> __m512i {
        _mm512_srlv_epi64(self.word, self.shift)
    }
}

impl<'a> Vectors<'a> {
    /// `None` if the processor lacks the instructions.
    #[inline(always)]
    fn new(table: UniformTable<'a>) -> Option<Self> {
        let UniformTable { table, directory, level } = table;
        let addresses = table.addresses();
        // What is read of a bucket ends with a word that begins in it.
        let last_first_bit =
            (8 * addresses.least_bytes).saturating_sub(level.codec.bucket_bits + 64);
        has_avx512().then_some(Self { directory, addresses, level, last_first_bit })
    }

    /// [`new`](Self::new) for work on lanes, which wide overlapping buckets do not have.
    #[inline(always)]
    fn on_lanes(table: UniformTable<'a>) -> Option<Self> {
        Self::new(table).filter(|it| it.codec().encoding != Encoding::WideOverlapping)
    }

    #[inline(always)]
    fn codec(&self) -> &'a SlotCodec {
        &self.level.codec
    }

    #[target_feature(enable = "avx512f,avx512dq")]
    fn locate_keys(&self, hashes: &[KeyHash; WIDTH], keys: &mut KeyGroup) {
        for (part, hashes) in hashes.as_chunks().0.iter().enumerate() {
            let hash = load_hashes(hashes);
            let (segments, base) = self.segments_of(hash);
            let located = locate_eight(self.level, hash);
            store(part_of(&mut keys.segment, part), segments);
            store(part_of(&mut keys.primary, part), located.primary);
            store(part_of(&mut keys.alternate, part), located.alternate);
            store(part_of(&mut keys.value, part), located.value);
            store(part_of(&mut keys.base, part), base);
            store(part_of(&mut keys.primary_bit, part), self.first_bits(located.primary));
            store(part_of(&mut keys.alternate_bit, part), self.first_bits(located.alternate));
        }
    }

    /// Where buckets begin in their segments.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn first_bits(&self, bucket: __m512i) -> __m512i {
        _mm512_mul_epu32(bucket, splat(self.codec().bucket_bits))
    }

    /// The numbers of the segments that the hashes lie in, and where these begin in memory.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn segments_of(&self, hash: __m512i) -> (__m512i, __m512i) {
        let (bits, entries) = self.directory.entries();
        let index = shift_right(_mm512_srli_epi64::<1>(hash), 63 - bits);
        if self.addresses.spacing.is_some() {
            return (index, self.segment_bases(index));
        }
        // SAFETY: `index` has `bits` bits, and a directory has 2^bits entries.
        let segment = unsafe { _mm512_i64gather_epi32::<4>(index, entries.as_ptr().cast()) };
        let segment = _mm512_cvtepu32_epi64(segment);
        (segment, self.segment_bases(segment))
    }

    /// Where segments begin in memory. Panics if the table has no such segments.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn segment_bases(&self, segments: __m512i) -> __m512i {
        let Addresses { segments: count, first_base, base_step, spacing, .. } = self.addresses;
        assert!(_mm512_cmplt_epu64_mask(segments, splat(count)) == u8::MAX, "no such segment");
        if let Some(spacing) = spacing {
            let distance = _mm512_mul_epu32(segments, splat(spacing.step.into()));
            return _mm512_add_epi64(distance, splat(spacing.first));
        }
        let offset = _mm512_mul_epu32(segments, splat(base_step));
        // SAFETY: the table has these segments, and each has its base there.
        unsafe { gather(_mm512_add_epi64(offset, splat(first_base))) }
    }

    /// Reads the buckets that begin at these bits of segments. Panics if there are no such buckets.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn read_at(&self, base: __m512i, first_bit: __m512i) -> Buckets {
        let address = self.addresses_of(base, first_bit);
        // SAFETY: the bytes are in a segment of the table, which is borrowed.
        let word = unsafe { gather(address) };
        Buckets { address, shift: _mm512_and_epi64(first_bit, splat(7)), word }
    }

    /// The addresses of the bytes that buckets begin in. Panics if there are no such buckets.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn addresses_of(&self, base: __m512i, first_bit: __m512i) -> __m512i {
        let within = _mm512_cmple_epu64_mask(first_bit, splat(self.last_first_bit));
        assert!(within == u8::MAX, "no such bucket");
        _mm512_add_epi64(base, _mm512_srli_epi64::<3>(first_bit))
    }
}

/// Places of eight keys.
struct LocatedEight {
    primary: __m512i,
    alternate: __m512i,
    value: __m512i,
}

/// [`LevelGeometry::locate`], eight times.
#[target_feature(enable = "avx512f,avx512dq")]
fn locate_eight(level: &LevelGeometry, hash: __m512i) -> LocatedEight {
    let buckets = splat(level.buckets);
    let suffix = shift_left(_mm512_and_epi64(hash, splat(level.suffix_mask)), level.depth);
    let (primary, rest) = multiply(suffix, buckets);
    let top = _mm512_and_epi64(shift_right(rest, level.top_shift), splat(level.top_mask));
    let (low, _) = multiply(shift_left(rest, level.top_bits), splat(level.low_range));
    let low = _mm512_add_epi64(low, splat(1));
    let fingerprint = _mm512_or_epi64(top, low);
    let mixed = _mm512_mullo_epi64(fingerprint, splat(LevelGeometry::OFFSET_FACTOR));
    let offset = _mm512_srli_epi64::<32>(_mm512_mul_epu32(_mm512_srli_epi64::<32>(mixed), buckets));
    let alternate = _mm512_add_epi64(primary, offset);
    // A bucket below `buckets` wraps to a large number.
    let alternate = _mm512_min_epu64(alternate, _mm512_sub_epi64(alternate, buckets));
    LocatedEight { primary, alternate, value: shift_left(fingerprint, level.codec.tag_bits) }
}

/// 64 by 32 bits: the product's bits from 64 on, and those below.
#[target_feature(enable = "avx512f")]
fn multiply(wide: __m512i, narrow: __m512i) -> (__m512i, __m512i) {
    let low = _mm512_mul_epu32(wide, narrow);
    let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(wide), narrow);
    let middle = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(low));
    let below =
        _mm512_or_epi64(_mm512_slli_epi64::<32>(middle), _mm512_and_epi64(low, splat(0xffff_ffff)));
    (_mm512_srli_epi64::<32>(middle), below)
}

/// A vector's part of a group of keys.
#[inline(always)]
fn part_of(values: &mut [u64; WIDTH], part: usize) -> &mut [u64; LANES] {
    &mut values.as_chunks_mut().0[part]
}

/// Prefetches the cache lines at these addresses.
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
/// Eight bytes may be read at each, of something that is borrowed.
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
fn load_hashes(hashes: &[KeyHash; LANES]) -> __m512i {
    load(&hashes.map(KeyHash::to_u64))
}

#[target_feature(enable = "avx512f")]
fn store(values: &mut [u64; LANES], vector: __m512i) {
    // SAFETY: there is space for eight values.
    unsafe { _mm512_storeu_si512(values.as_mut_ptr().cast(), vector) };
}

/// `SplitMix64`.
#[cfg(test)]
fn random_hash(n: u64) -> KeyHash {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    KeyHash::from_u64(z ^ (z >> 31))
}
