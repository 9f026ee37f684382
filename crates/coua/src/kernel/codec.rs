//! How slots are encoded in words. [`LevelVectors`](super::LevelVectors) read and write them.
//!
//! A slot value is `fingerprint << tag_bits | position | choice`; 0 is an empty slot. Disjoint buckets
//! need no position. Where buckets overlap, the slot alone does not determine the bucket of its item,
//! so it stores its position in that bucket: one bit, for buckets of two.
//!
//! A bucket that fits into one 8-byte load is `b` values side by side. A wider one begins with the low
//! bits of all its values, as many as fit into one load. The rests of the values follow, and zeros up to a whole
//! byte, where these are at most 3 % of the bucket (`docs/decisions/0019-wide-buckets.md`):
//!
//! ```text
//! narrow   value 0 | value 1 | value 2 | value 3
//! wide     low 0 | low 1 | low 2 | low 3 | rest 0 | rest 1 | rest 2 | rest 3 | zeros
//! ```
//!
//! The part of a slot in one load is its *lane*. All lanes of a bucket are compared at once
//! ([`LevelVectors::lookup`](super::LevelVectors::lookup)); a rest is read only where its lane fits. The low bits of a value are
//! never all 0, so empty slots show in the lanes alone. Wide buckets that overlap cannot be laid out like
//! that: they take one load a slot.

use std::ops::Range;

use crate::simd::Quads;
use crate::table::{Segment, WORD};

/// How slots are shared between buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Disjoint buckets of 1, 2, 4 or 8 slots: the fewest evictions, the default.
    Buckets,
    /// Overlapping buckets of two slots (Schmitz, Zentgraf, Rahmann 2025, arXiv 2505.05847):
    /// about one bit an item smaller at the same rate, more evictions per insert.
    Overlapping,
}

/// Widest slot of all. Vectors compare values as signed numbers.
const MAX_SLOT_BITS: u32 = 63;
/// Bits of the fingerprint's scaled low part; also the narrowest fingerprint that can still split.
pub(crate) const LOW_BITS: u32 = 6;
/// Narrowest fingerprint of all.
pub(crate) const MIN_FINGERPRINT_BITS: u32 = 3;

/// How the slots of one layout and width are encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotCodec {
    /// Slots of a bucket.
    pub(crate) slots: u32,
    pub(crate) slot_bits: u32,
    /// The choice bit, and the position bit where buckets overlap.
    pub(crate) tag_bits: u32,
    /// 2^`tag_bits`: in portable code a multiplication takes fewer instructions than a shift by a variable.
    pub(super) tag_factor: u64,
    pub(crate) encoding: Encoding,
    /// Bits from one bucket to the next.
    pub(crate) bucket_bits: u64,
    /// Distance from a bucket's first bit to its last, or to the last byte of the load that reads it, which
    /// may lie in the next cache line even if the bucket does not. `None` where every bucket lies in one line.
    pub(crate) last_bit: Option<u64>,
    pub(super) lane_bits: u32,
    pub(super) lane_mask: u64,
    pub(super) rest_bits: u32,
    pub(super) rest_mask: u64,
    /// The lowest bit of every lane.
    pub(super) ones: u64,
    /// The highest bit of every lane.
    pub(super) high: u64,
    /// All bits of every lane but the highest.
    pub(super) low: u64,
    /// All bits of the last lane.
    pub(super) last_lane: u64,
    /// The position bit of every lane, as it is stored there.
    pub(super) positions: u64,
    /// 2^16 / `lane_bits`, rounded up: turns a bit number into a lane number.
    pub(super) lane_of_bit: u32,
    /// Compares the slots of a bucket with a single key, if the processor and the buckets are of that kind.
    pub(crate) quads: Option<&'static Quads>,
}

/// How a bucket is laid out in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// One load reads all slots.
    Narrow,
    /// One load reads the lanes; the rests follow.
    Wide,
    /// One load reads one slot.
    WideOverlapping,
}

/// Position bit of a slot value where buckets overlap.
pub(crate) const POSITION: u64 = 2;
/// Bits of a cache line; segments begin with one.
const LINE_BITS: u64 = 512;
/// Bits of a word.
pub(super) const WORD_BITS: u64 = 8 * WORD as u64;
/// Bits that one load reaches whatever its misalignment within the first byte.
pub(super) const LOAD_BITS: u32 = 57;
/// A wide bucket begins at a byte if it is at least this many times as long as the bits that this adds.
const LEAST_PER_PADDING: u32 = 34;

/// Bits of a slot that are not its fingerprint's.
fn tag_bits(layout: Layout) -> u32 {
    match layout {
        Layout::Buckets => 1,
        Layout::Overlapping => 2,
    }
}

/// Widest fingerprint in such buckets. One load reads a whole slot, but where the slots of a bucket are cut in two.
pub(crate) fn max_fingerprint_bits(layout: Layout, slots: u32) -> u32 {
    let is_cut = layout == Layout::Buckets && slots > 1;
    let slot_bits = if is_cut { MAX_SLOT_BITS } else { LOAD_BITS };
    slot_bits - tag_bits(layout)
}

impl SlotCodec {
    /// `None` if such a slot is too narrow or too wide.
    pub(crate) fn new(layout: Layout, slots: u32, fingerprint_bits: u32) -> Option<Self> {
        let tag_bits = tag_bits(layout);
        let stride = if layout == Layout::Overlapping { 1 } else { slots };
        if !(MIN_FINGERPRINT_BITS..=max_fingerprint_bits(layout, slots)).contains(&fingerprint_bits)
        {
            return None;
        }
        let slot_bits = fingerprint_bits + tag_bits;
        let encoding = match layout {
            _ if slots * slot_bits + worst_misalignment(stride * slot_bits) <= 64 => {
                Encoding::Narrow
            }
            Layout::Buckets => Encoding::Wide,
            Layout::Overlapping => Encoding::WideOverlapping,
        };
        let packed_bits = stride * slot_bits;
        let padding = packed_bits.next_multiple_of(8) - packed_bits;
        let begins_at_byte =
            encoding == Encoding::Wide && padding * LEAST_PER_PADDING <= packed_bits;
        let bucket_bits = packed_bits + if begins_at_byte { padding } else { 0 };
        let lane_bits = match encoding {
            Encoding::Wide if begins_at_byte => WORD_BITS as u32 / slots,
            Encoding::Wide => LOAD_BITS / slots,
            _ => slot_bits,
        };
        debug_assert!(encoding != Encoding::Wide || (LOW_BITS + 1..slot_bits).contains(&lane_bits));
        let lanes = if encoding == Encoding::WideOverlapping { 1 } else { slots };
        let ones = (0..lanes).fold(0, |ones, lane| ones | 1u64 << (lane * lane_bits));
        let lane_mask = (1 << lane_bits) - 1;
        let rest_bits = slot_bits - lane_bits;
        let bucket_bits = u64::from(bucket_bits);
        let last_bit = u64::from(slots * slot_bits - 1).max(WORD_BITS - 8);
        let may_cross = last_bit >= bucket_bits || !LINE_BITS.is_multiple_of(bucket_bits);
        Some(Self {
            slots,
            slot_bits,
            tag_bits,
            tag_factor: 1 << tag_bits,
            encoding,
            bucket_bits,
            last_bit: may_cross.then_some(last_bit),
            lane_bits,
            lane_mask,
            rest_bits,
            rest_mask: (1 << rest_bits) - 1,
            ones,
            high: ones << (lane_bits - 1),
            low: (ones << (lane_bits - 1)) - ones,
            last_lane: lane_mask << ((lanes - 1) * lane_bits),
            positions: if layout == Layout::Overlapping { POSITION << slot_bits } else { 0 },
            lane_of_bit: (1u32 << 16).div_ceil(lane_bits),
            quads: if begins_at_byte && slots == 4 { Quads::of(slot_bits) } else { None },
        })
    }

    /// The same, with an encoding that the compiler knows.
    #[inline(always)]
    pub(super) fn with_encoding(self, encoding: Encoding) -> Self {
        debug_assert_eq!(self.encoding, encoding);
        // Overlapping buckets are narrow, or have an encoding of their own.
        let tag_bits = if encoding == Encoding::Wide { 1 } else { self.tag_bits };
        debug_assert_eq!(self.tag_bits, tag_bits);
        let tag_factor = if encoding == Encoding::Wide { 2 } else { self.tag_factor };
        Self { tag_bits, tag_factor, encoding, ..self }
    }

    /// The same, with the compile-time properties of buckets with [`quads`](Self::quads).
    #[inline(always)]
    pub(super) fn with_quads(self) -> Self {
        let known = Self { slots: 4, lane_bits: 16, lane_of_bit: 1 << 12, ..self };
        known.with_encoding(Encoding::Wide)
    }

    /// Each of these slots of a segment once: buckets, each with positions in it. Disjoint buckets come
    /// whole.
    #[inline(always)]
    pub(crate) fn runs(
        &self,
        slots: Range<u64>,
    ) -> impl Iterator<Item = (u64, Range<u32>)> + use<> {
        let positions = if self.overlap() { 1 } else { self.slots };
        let buckets = slots.start / u64::from(positions)..slots.end / u64::from(positions);
        buckets.map(move |bucket| (bucket, 0..positions))
    }

    /// Where the rest of a position begins in its bucket.
    #[inline(always)]
    pub(super) fn rest_bit(&self, position: u32) -> u64 {
        u64::from(self.slots * self.lane_bits + position * self.rest_bits)
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

    /// Whether a bucket's slots may hold items of another bucket.
    pub(crate) fn overlap(&self) -> bool {
        self.tag_bits == 2
    }

    /// How many moves each full bucket has: every item can go to its other bucket, and where buckets
    /// overlap to another slot of its own.
    #[inline(always)]
    pub(crate) fn candidate_moves(&self) -> usize {
        (self.slots << u32::from(self.overlap())) as usize
    }
}

/// The most bits that come before a bucket in its first byte, if buckets are `step` bits apart.
fn worst_misalignment(step: u32) -> u32 {
    match step % 8 {
        0 => 0,
        odd => 8 - (1 << odd.trailing_zeros()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::kernel::{Geometry, LevelGeometry, Resolution};
    use crate::smoke::few_in_miri;

    pub(in crate::kernel) fn all_codecs() -> impl Iterator<Item = (Layout, SlotCodec)> {
        let disjoint = [1u32, 2, 4, 8].map(|slots| (Layout::Buckets, slots));
        disjoint.into_iter().chain([(Layout::Overlapping, 2)]).flat_map(|(layout, slots)| {
            few_in_miri(3..=62, 9)
                .filter_map(move |bits| Some((layout, SlotCodec::new(layout, slots, bits)?)))
        })
    }

    /// A level whose slots are so encoded.
    pub(in crate::kernel) fn level_with(codec: SlotCodec) -> LevelGeometry {
        let resolution = Resolution::Cells { top_bits: 4 };
        let like = Geometry { buckets: 9, resolution, ..Geometry::of_buckets(Layout::Buckets, 4) };
        LevelGeometry { codec, ..like.level(0).unwrap() }
    }

    #[test]
    fn one_load_never_reads_past_its_word() {
        for (_, codec) in all_codecs().filter(|(_, codec)| codec.encoding == Encoding::Narrow) {
            for bucket in 0..64u64 {
                let end = bucket * codec.bucket_bits % 8 + u64::from(codec.slots * codec.slot_bits);
                assert!(end <= 64, "{} x {}", codec.slots, codec.slot_bits);
            }
        }
    }
}
