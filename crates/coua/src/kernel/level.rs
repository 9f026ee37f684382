//! From a key's hash to its buckets and slot value, in the segments of one depth.
//!
//! The hash is read like a fraction in [0, 1), most significant bits first:
//!
//! ```text
//! hash   ddd|rrrrrrrrrrrrrrrrrrrrrrrrr     d: prefix = segment (found through the directory)
//! r * m  bucket . ttttt | lllll            t: top bits of the fingerprint, l: scaled to 2^g - 1
//! ```
//!
//! Every step preserves order, so a slot represents one *cell*, an interval of hashes. The smallest hash
//! of that interval, its [`LevelGeometry::representative`], finds the same cell again. All rebuilding
//! (compaction, merging, conversion) is "take the representative, insert it"; a split does the same on the
//! cell's number.
//!
//! The fingerprint's low part runs over 1..=2^g - 1. So no fingerprint is 0 = empty, every cell has exactly
//! the same size, and the law `FPR(n) = n / cells` is exact.
//!
//! Each slot also holds a *choice bit*: 0 in the primary bucket, 1 in the alternate bucket. It is compared
//! with the fingerprint, so it costs no rate, and it makes a slot's cell unambiguous.
//!
//! # Encoding
//!
//! How slots are encoded in words. [`LevelVectors`](super::LevelVectors) read and write them.
//!
//! A slot value is `fingerprint << 1 | choice`; 0 is an empty slot.
//!
//! A bucket that fits into one 8-byte load is four values side by side. A wider one begins with the low
//! bits of all its values, as many as fit into one load. The tails of the values follow, and zeros up to a whole
//! byte, where these are at most 3 % of the bucket. So a bucket begins at a byte, and one key is compared with whole
//! buckets:
//!
//! ```text
//! narrow   value 0 | value 1 | value 2 | value 3
//! wide     low 0 | low 1 | low 2 | low 3 | tail 0 | tail 1 | tail 2 | tail 3 | zeros
//! ```
//!
//! The part of a slot in one load is its *lane*. All lanes of a bucket are compared at once
//! ([`LevelVectors::lookup`](super::LevelVectors::lookup)); a tail is read only where its lane fits. The low bits of a value are
//! never all 0, so empty slots show in the lanes alone.

use crate::simd::Avx2Bucket;
use crate::table::{Segment, WORD};

/// Choice bit of a slot value: 0 in the primary bucket, 1 in the alternate bucket.
pub(crate) const ALTERNATE: u64 = 1;

/// The place of a key, and the slot value that represents it there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub(crate) segment: u32,
    pub(crate) primary: u64,
    pub(crate) alternate: u64,
    /// The slot value in the primary bucket; in the alternate bucket, the choice bit is set.
    pub(crate) value: u64,
}

/// Geometry of the segments of one depth, ready for use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelGeometry {
    /// Buckets of a segment.
    pub(crate) buckets: u64,
    /// Bits of the hash that choose a segment.
    pub(crate) depth: u32,
    /// The bits of a hash after the segment's prefix, as far as the filter distinguishes them.
    pub(crate) suffix_mask: u64,
    /// `buckets << depth`: the suffix lies `depth` bits below the top of a word.
    pub(super) scaled_buckets: u64,
    /// Bits of the hash after the prefix: the resolution of a representative within the segment.
    pub(super) suffix_bits: u32,
    pub(super) top_bits: u32,
    pub(super) low_bits: u32,
    /// Values of the fingerprint's low part, 2^`low_bits` - 1.
    pub(super) low_range: u64,
    /// Shifts the first bits of a word to the place of the fingerprint's top bits.
    pub(super) top_shift: u32,
    /// The bits of a fingerprint that are not its low part.
    pub(super) top_mask: u64,
    /// 2^`top_bits`.
    pub(super) top_factor: u64,
    /// Fingerprints of a bucket: `low_range`, `top_bits` places higher.
    pub(super) scaled_low_range: u64,
    /// How slots are encoded.
    pub(crate) codec: SlotCodec,
}

impl LevelGeometry {
    /// The bits of a slot value that are never all 0 in a slot in use.
    pub(crate) fn low_part(&self) -> u64 {
        self.low_range << CHOICE_BITS
    }

    /// Spreads a fingerprint over the upper half of a word (2^64 divided by the golden ratio).
    pub(crate) const OFFSET_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Bytes of a segment, with the tail that lets every load read eight bytes.
    pub(crate) fn bytes(&self) -> u64 {
        ((self.buckets * self.codec.bucket_bits).div_ceil(8) + 8).next_multiple_of(64)
    }
}

/// The level of all segments that a loop touches, and what the compiler knows of it: a loop that asks at every step
/// whether buckets are narrow or wide takes a quarter more instructions than one that knows.
pub(crate) trait KnownLevel: Copy {
    fn geometry(self) -> LevelGeometry;

    /// The comparison of single keys with whole buckets, if known.
    #[inline(always)]
    fn avx2(self) -> Option<&'static Avx2Bucket> {
        None
    }
}

/// A level about which the compiler knows nothing.
impl KnownLevel for &LevelGeometry {
    #[inline(always)]
    fn geometry(self) -> LevelGeometry {
        *self
    }
}

/// A level whose buckets are wide or narrow.
pub(crate) struct WithEncoding<const WIDE: bool>(pub(crate) LevelGeometry);

impl<const WIDE: bool> KnownLevel for &WithEncoding<WIDE> {
    #[inline(always)]
    fn geometry(self) -> LevelGeometry {
        // A constant: a loop compiled for it has no branches on the encoding.
        let encoding = if WIDE { Encoding::Wide } else { Encoding::Narrow };
        LevelGeometry { codec: self.0.codec.with_encoding(encoding), ..self.0 }
    }
}

/// A level, and what compares single keys with its buckets.
pub(crate) struct WithAvx2(LevelGeometry, &'static Avx2Bucket);

impl WithAvx2 {
    /// A level that has [`avx2`](super::SlotCodec::avx2).
    #[inline(always)]
    pub(crate) fn of(level: &LevelGeometry) -> Self {
        Self(*level, level.codec.avx2.expect("buckets of that kind"))
    }
}

impl KnownLevel for &WithAvx2 {
    #[inline(always)]
    fn geometry(self) -> LevelGeometry {
        LevelGeometry { codec: self.0.codec.with_avx2(), ..self.0 }
    }

    #[inline(always)]
    fn avx2(self) -> Option<&'static Avx2Bucket> {
        Some(self.1)
    }
}

/// Compiles a loop for each encoding of the level of all segments that it touches.
macro_rules! with_encoding {
    ($geometry:expr, |$level:ident| $work:expr) => {
        match $geometry {
            geometry if geometry.codec.encoding == $crate::kernel::Encoding::Narrow => {
                let $level = &$crate::kernel::WithEncoding::<false>(geometry);
                $work
            }
            geometry => {
                let $level = &$crate::kernel::WithEncoding::<true>(geometry);
                $work
            }
        }
    };
}

/// Does work on one key, compiled for what is known of the level of its segment. Only the common cases are inlined, so
/// the others add no register pressure.
macro_rules! with_level {
    ($segments:expr, $hash:expr, |$level:ident| $work:expr) => {
        if let Some(avx2) = $segments.avx2() {
            avx2.run(
                #[inline(always)]
                move || {
                    let $level = &$crate::kernel::WithAvx2::of($segments.level_for($hash));
                    $work
                },
            )
        } else if let Some(&level) = $segments.uniform_narrow() {
            let $level = &$crate::kernel::WithEncoding::<false>(level);
            $work
        } else {
            $crate::kernel::out_of_line(move || {
                $crate::kernel::with_encoding!(*$segments.level_for($hash), |$level| $work)
            })
        }
    };
}

#[inline(never)]
pub(crate) fn out_of_line<T>(work: impl FnOnce() -> T) -> T {
    work()
}

pub(crate) use {with_encoding, with_level};

/// Slots of a bucket.
pub(crate) const SLOTS: u32 = 4;
/// Widest slot of all. Vectors compare values as signed numbers.
const MAX_SLOT_BITS: u32 = 63;
/// Widest slot of a narrow bucket.
const MAX_NARROW_BITS: u32 = WORD_BITS as u32 / SLOTS;
/// Bits of a slot that are not its fingerprint's: the choice bit.
pub(crate) const CHOICE_BITS: u32 = 1;
/// Bits of the fingerprint's scaled low part; also the narrowest fingerprint that can still split.
pub(crate) const LOW_BITS: u32 = 6;
/// Narrowest fingerprint of all.
pub(crate) const MIN_FINGERPRINT_BITS: u32 = 3;
/// Widest fingerprint of all.
pub(crate) const MAX_FINGERPRINT_BITS: u32 = MAX_SLOT_BITS - CHOICE_BITS;

/// How the slots of one width are encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotCodec {
    pub(crate) slot_bits: u32,
    pub(crate) encoding: Encoding,
    /// Bits from one bucket to the next.
    pub(crate) bucket_bits: u64,
    /// Distance from a bucket's first bit to its last, or to the last byte of the load that reads it, which
    /// may lie in the next cache line even if the bucket does not. `None` where every bucket lies in one line.
    pub(crate) last_bit: Option<u64>,
    pub(super) lane_bits: u32,
    pub(super) lane_mask: u64,
    pub(super) tail_bits: u32,
    pub(super) tail_mask: u64,
    /// The lowest bit of every lane.
    pub(super) ones: u64,
    /// The highest bit of every lane.
    pub(super) high: u64,
    /// All bits of every lane but the highest.
    pub(super) low: u64,
    /// All bits of the last lane.
    pub(super) last_lane: u64,
    /// 2^16 / `lane_bits`, rounded up: turns a bit number into a lane number.
    pub(super) lane_of_bit: u32,
    /// Compares the slots of a bucket with a single key, if the processor and the buckets are of that kind.
    pub(crate) avx2: Option<&'static Avx2Bucket>,
}

/// How a bucket is laid out in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// One load reads all slots.
    Narrow,
    /// One load reads the lanes; the tails follow.
    Wide,
}

/// Bits of a cache line; segments begin with one.
const LINE_BITS: u64 = 512;
/// Bits of a word.
pub(super) const WORD_BITS: u64 = 8 * WORD as u64;
/// Bits that one load reaches whatever its misalignment within the first byte.
pub(super) const LOAD_BITS: u32 = 57;
/// A wide bucket begins at a byte if it is at least this many times as long as the bits that this adds.
const LEAST_PER_PADDING: u32 = 34;

impl SlotCodec {
    /// `None` if such a slot is too narrow or too wide.
    pub(crate) fn new(fingerprint_bits: u32) -> Option<Self> {
        if !(MIN_FINGERPRINT_BITS..=MAX_FINGERPRINT_BITS).contains(&fingerprint_bits) {
            return None;
        }
        let slot_bits = fingerprint_bits + CHOICE_BITS;
        let is_narrow = slot_bits <= MAX_NARROW_BITS;
        let packed_bits = SLOTS * slot_bits;
        let padding = packed_bits.next_multiple_of(8) - packed_bits;
        let begins_at_byte = !is_narrow && padding * LEAST_PER_PADDING <= packed_bits;
        let lane_bits = match (is_narrow, begins_at_byte) {
            (true, _) => slot_bits,
            (false, true) => WORD_BITS as u32 / SLOTS,
            (false, false) => LOAD_BITS / SLOTS,
        };
        let ones = (0..SLOTS).fold(0, |ones, lane| ones | 1u64 << (lane * lane_bits));
        let lane_mask = (1 << lane_bits) - 1;
        let tail_bits = slot_bits - lane_bits;
        let bucket_bits = u64::from(packed_bits + if begins_at_byte { padding } else { 0 });
        let last_bit = u64::from(packed_bits - 1).max(WORD_BITS - 8);
        let may_cross = last_bit >= bucket_bits || !LINE_BITS.is_multiple_of(bucket_bits);
        Some(Self {
            slot_bits,
            encoding: if is_narrow { Encoding::Narrow } else { Encoding::Wide },
            bucket_bits,
            last_bit: may_cross.then_some(last_bit),
            lane_bits,
            lane_mask,
            tail_bits,
            tail_mask: (1 << tail_bits) - 1,
            ones,
            high: ones << (lane_bits - 1),
            low: (ones << (lane_bits - 1)) - ones,
            last_lane: lane_mask << ((SLOTS - 1) * lane_bits),
            lane_of_bit: (1u32 << 16).div_ceil(lane_bits),
            avx2: if begins_at_byte { Avx2Bucket::of(slot_bits) } else { None },
        })
    }

    /// This codec, with an encoding that the compiler knows.
    #[inline(always)]
    fn with_encoding(self, encoding: Encoding) -> Self {
        debug_assert_eq!(self.encoding, encoding);
        Self { encoding, ..self }
    }

    /// This codec, with the compile-time properties of buckets with [`avx2`](Self::avx2).
    #[inline(always)]
    fn with_avx2(self) -> Self {
        Self { lane_bits: 16, lane_of_bit: 1 << 12, ..self }.with_encoding(Encoding::Wide)
    }

    /// Prefetches a bucket.
    #[inline(always)]
    pub(crate) fn prefetch(&self, segment: &Segment, bucket: u64) {
        let bit = bucket * self.bucket_bits;
        segment.prefetch(bit);
        if let Some(last_bit) = self.last_bit {
            segment.prefetch(bit + last_bit);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::kernel::{Geometry, Resolution};
    use crate::simd::{Isa, Words};
    use crate::smoke::few_in_miri;
    use crate::table::SegmentMut;

    pub(in crate::kernel) fn all_codecs() -> impl Iterator<Item = SlotCodec> {
        few_in_miri(MIN_FINGERPRINT_BITS..=MAX_FINGERPRINT_BITS, 9).filter_map(SlotCodec::new)
    }

    impl LevelGeometry {
        /// Fills an empty segment: `values` has a value for each slot, 0 for a free one.
        pub(in crate::kernel) fn fill(&self, segment: &mut SegmentMut<'_>, values: &[u64]) {
            let level = self.on_words();
            for (slot, &value) in (0..).zip(values) {
                let (bucket, position) = (slot / u64::from(SLOTS), slot % u64::from(SLOTS));
                let [position, value] = [position, value].map(|it| Words.splat(it));
                let change = level.change(&level.bucket(segment, bucket), position, value);
                level.write(segment, &change);
            }
        }
    }

    /// A level whose slots are so encoded.
    pub(in crate::kernel) fn level_with(codec: SlotCodec) -> LevelGeometry {
        let resolution = Resolution::Cells { top_bits: 4 };
        let like = Geometry { buckets: 9, resolution, ..Geometry::ONE_BUCKET };
        LevelGeometry { codec, ..like.level(0).unwrap() }
    }

    #[test]
    fn one_load_never_reads_past_its_word() {
        for codec in all_codecs().filter(|codec| codec.encoding == Encoding::Narrow) {
            for bucket in 0..64u64 {
                let end = bucket * codec.bucket_bits % 8 + u64::from(SLOTS * codec.slot_bits);
                assert!(end <= 64, "{}", codec.slot_bits);
            }
        }
    }
}
