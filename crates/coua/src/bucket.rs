//! How slots sit in a word: pure functions on the bits of one bucket.
//!
//! A slot value is `fingerprint << tag_bits | position | choice`; 0 is an empty slot. Disjoint
//! buckets need no position. In overlapping windows the slot alone does not tell which window its
//! item belongs to, so it stores its position in that window (one bit, for windows of two).
//!
//! Where a bucket fits into one 8-byte load, all its slots ("lanes") are compared at once: XOR with
//! the repeated value, then find the zero lanes (Warren, Hacker's Delight, 6-1, in its exact form).
//! Wider buckets take one unaligned load a slot.

use crate::geometry::{Layout, MAX_SLOT_BITS, MIN_FINGERPRINT_BITS};
use crate::table::Segment;

/// The lane arithmetic of one slot width.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    pub(crate) slots: u32,
    /// Slots from one bucket to the next.
    pub(crate) stride: u32,
    pub(crate) slot_bits: u32,
    /// Choice bit, and position bit in windows.
    pub(crate) tag_bits: u32,
    /// The whole bucket is read by one load.
    pub(crate) one_load: bool,
    pub(crate) slot_mask: u64,
    ones: u64,
    high: u64,
    positions: u64,
    /// 2^16 / slot_bits, rounded up: turns a bit number into a lane number.
    lane_of_bit: u32,
}

/// Position bit of a slot value in a window.
const POSITION: u64 = 2;

impl Lanes {
    /// `None` if such a slot is too narrow or too wide.
    pub(crate) fn new(layout: Layout, slots: u32, fingerprint_bits: u32) -> Option<Self> {
        let (tag_bits, stride) = match layout {
            Layout::Buckets => (1, slots),
            Layout::Windows => (2, 1),
        };
        let slot_bits = fingerprint_bits + tag_bits;
        if fingerprint_bits < MIN_FINGERPRINT_BITS || slot_bits > MAX_SLOT_BITS {
            return None;
        }
        let bucket_bits = slots * slot_bits;
        let offsets = (stride * slot_bits) % 8;
        // The worst misalignment of a bucket within its first byte, by the step between buckets.
        let misaligned = if offsets == 0 { 0 } else { 8 - (1 << offsets.trailing_zeros()) };
        let one_load = bucket_bits + misaligned <= 64;
        let lanes = if one_load { slots } else { 1 };
        let ones = (0..lanes).fold(0, |ones, lane| ones | 1u64 << (lane * slot_bits));
        Some(Self {
            slots,
            stride,
            slot_bits,
            tag_bits,
            one_load,
            slot_mask: (1 << slot_bits) - 1,
            ones,
            high: ones << (slot_bits - 1),
            lane_of_bit: (1u32 << 16).div_ceil(slot_bits),
            positions: if tag_bits == 2 && lanes == 2 { POSITION << slot_bits } else { 0 },
        })
    }

    /// Bit offset of a slot in its segment.
    #[inline(always)]
    pub(crate) fn bit(&self, slot: u64) -> u64 {
        slot * u64::from(self.slot_bits)
    }

    /// Number of a bucket's first slot.
    #[inline(always)]
    pub(crate) fn first_slot(&self, bucket: u64) -> u64 {
        bucket * u64::from(self.stride)
    }

    /// The value as it is stored at `position` of its bucket.
    #[inline(always)]
    pub(crate) fn at_position(&self, value: u64, position: u32) -> u64 {
        if self.tag_bits == 2 { value | (u64::from(position) * POSITION) } else { value }
    }

    /// The value without its position, and the bucket it belongs to.
    #[inline(always)]
    pub(crate) fn own_bucket(&self, slot: u64, stored: u64) -> (u64, u64) {
        if self.tag_bits == 2 {
            (slot - u64::from(stored & POSITION != 0), stored & !POSITION)
        } else {
            // The number of slots is a power of two.
            (slot >> self.slots.trailing_zeros(), stored)
        }
    }

    /// Whether the bucket that a stored value belongs to is one of `buckets`.
    pub(crate) fn has_bucket(&self, slot: u64, stored: u64, buckets: u64) -> bool {
        let before_first = self.tag_bits == 2 && slot == 0 && stored & POSITION != 0;
        !before_first && self.own_bucket(slot, stored).0 < buckets
    }

    /// The value stored in a slot.
    #[inline(always)]
    pub(crate) fn stored(&self, segment: &Segment, slot: u64) -> u64 {
        segment.load(self.bit(slot)) & self.slot_mask
    }

    #[inline(always)]
    pub(crate) fn put(&self, segment: &mut Segment, slot: u64, stored: u64) {
        segment.store(self.bit(slot), self.slot_mask, stored);
    }

    /// The positions of `bucket` that hold `value`.
    #[inline(always)]
    pub(crate) fn matches(&self, segment: &Segment, bucket: u64, value: u64) -> Marks {
        let first = self.first_slot(bucket);
        if self.one_load {
            Marks(self.matching_lanes(segment.load(self.bit(first)), value))
        } else {
            self.marked(first, |position, slot| {
                self.stored(segment, slot) == self.at_position(value, position)
            })
        }
    }

    /// The free positions of `bucket`.
    #[inline(always)]
    pub(crate) fn empties(&self, segment: &Segment, bucket: u64) -> Marks {
        let first = self.first_slot(bucket);
        if self.one_load {
            Marks(self.zero_lanes(segment.load(self.bit(first))))
        } else {
            self.marked(first, |_, slot| self.stored(segment, slot) == 0)
        }
    }

    #[inline(always)]
    fn marked(&self, first: u64, is_marked: impl Fn(u32, u64) -> bool) -> Marks {
        Marks((0..self.slots).fold(0, |marks, position| {
            let slot = first + u64::from(position);
            marks | u64::from(is_marked(position, slot)) << position
        }))
    }

    /// The slot of the first marked position of `bucket`, and the position.
    #[inline(always)]
    pub(crate) fn first(&self, bucket: u64, marks: Marks) -> Option<(u64, u32)> {
        if marks.0 == 0 {
            return None;
        }
        let bit = marks.0.trailing_zeros();
        let position = if self.one_load { (bit * self.lane_of_bit) >> 16 } else { bit };
        Some((self.first_slot(bucket) + u64::from(position), position))
    }

    /// High bit of every lane of `word` that holds `value` (in its position).
    #[inline(always)]
    fn matching_lanes(&self, word: u64, value: u64) -> u64 {
        self.zero_lanes(word ^ (value.wrapping_mul(self.ones) | self.positions))
    }

    /// High bit of every lane that is zero. No carry leaves a lane, so the answer is exact.
    #[inline(always)]
    fn zero_lanes(&self, word: u64) -> u64 {
        let low = self.high - self.ones;
        !(((word & low) + low) | word) & self.high
    }
}

/// Some of a bucket's positions, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marks(u64);

impl Marks {
    #[inline(always)]
    pub(crate) fn count(self) -> u32 {
        self.0.count_ones()
    }

    #[inline(always)]
    pub(crate) fn any(self) -> bool {
        self.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_load_never_reads_past_its_word() {
        for slots in [1u32, 2, 4, 8] {
            for fingerprint_bits in MIN_FINGERPRINT_BITS..=56 {
                let lanes = Lanes::new(Layout::Buckets, slots, fingerprint_bits).unwrap();
                for bucket in 0..64u64 {
                    let bit = lanes.bit(lanes.first_slot(bucket)) % 8;
                    let end = bit + u64::from(slots * lanes.slot_bits);
                    assert!(!lanes.one_load || end <= 64, "{slots} x {}", lanes.slot_bits);
                }
            }
        }
    }

    #[test]
    fn lane_tricks_equal_the_plain_loop() {
        let mut state = 1u64;
        for slots in [1u32, 2, 4, 8] {
            for fingerprint_bits in 3..=31 {
                let lanes = Lanes::new(Layout::Buckets, slots, fingerprint_bits).unwrap();
                if !lanes.one_load {
                    continue;
                }
                for _ in 0..200 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    // Small values, so that equal and empty lanes are common.
                    let word = state & state.rotate_left(17) & state.rotate_left(31);
                    let slot = |lane: u32| (word >> (lane * lanes.slot_bits)) & lanes.slot_mask;
                    let value = slot((state >> 60) as u32 % slots);
                    let plain = |wanted: u64| {
                        (0..slots).filter(|&lane| slot(lane) == wanted).fold(0u64, |marks, lane| {
                            marks | 1 << (lane * lanes.slot_bits + lanes.slot_bits - 1)
                        })
                    };
                    assert_eq!(lanes.matching_lanes(word, value), plain(value));
                    assert_eq!(lanes.zero_lanes(word), plain(0));
                }
            }
        }
    }
}
