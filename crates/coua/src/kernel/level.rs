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

use super::codec::{CHOICE_BITS, Encoding, SlotCodec};
use crate::simd::Avx2Bucket;

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

    /// This level, with an encoding that the compiler knows: a loop compiled for it has no branches on the encoding.
    #[inline(always)]
    pub(crate) fn with_encoding(self, encoding: Encoding) -> Self {
        Self { codec: self.codec.with_encoding(encoding), ..self }
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
        self.0.with_encoding(if WIDE { Encoding::Wide } else { Encoding::Narrow })
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
