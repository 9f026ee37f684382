//! How slots sit in a word, and how the words of one bucket are read and written.
//!
//! A slot value is `fingerprint << tag_bits | position | choice`; 0 is an empty slot. Disjoint
//! buckets need no position. In overlapping buckets the slot alone does not tell which window its
//! item belongs to, so it stores its position in that window (one bit, for windows of two).
//!
//! A bucket that fits into one 8-byte load is `b` values side by side. A wider one begins with the
//! low bits of all its values, as many as fit into one load, and the rests of the values follow:
//!
//! ```text
//! narrow   value 0 | value 1 | value 2 | value 3
//! wide     low 0 | low 1 | low 2 | low 3 | rest 0 | rest 1 | rest 2 | rest 3
//! ```
//!
//! So all slots ("lanes") are compared at once in either case ([`Marks`]); a rest is read only where its
//! lane fits. The low bits of a value are never all 0, so empty slots show in the lanes alone.
//! Wide windows overlap and cannot be cut like that: they take one load a slot.

mod marks;
mod pack;

use std::ops::Range;

use crate::geometry::{LOW_BITS, Layout, MAX_SLOT_BITS, MIN_FINGERPRINT_BITS, Probe};
use crate::table::{Segment, WORD};
pub(crate) use marks::Marks;

/// The lane arithmetic of one slot width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    pub(crate) slots: u32,
    pub(crate) slot_bits: u32,
    /// Choice bit, and position bit in windows.
    pub(crate) tag_bits: u32,
    pub(crate) form: Form,
    /// Bits from one bucket to the next.
    bucket_bits: u64,
    /// Distance from a bucket's first bit to its last, or to the last byte of the load that reads it, which may lie in
    /// the next cache line even if the bucket does not. `None` where all buckets lie in one line.
    pub(crate) last_bit: Option<u64>,
    lane_bits: u32,
    lane_mask: u64,
    rest_bits: u32,
    rest_mask: u64,
    ones: u64,
    high: u64,
    /// All of a lane's bits but the highest, of every lane.
    low: u64,
    positions: u64,
    /// 2^16 / `lane_bits`, rounded up: turns a bit number into a lane number.
    lane_of_bit: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Narrow,
    Wide,
    WideWindows,
}

/// Position bit of a slot value in a window.
pub(crate) const POSITION: u64 = 2;
/// Bits of a cache line, on which segments begin.
const LINE_BITS: u64 = 512;
/// Bytes of one load.
const LANE_BYTES: u64 = WORD as u64;
/// Bits that one load reaches whatever its misalignment within the first byte.
const LOAD_BITS: u32 = MAX_SLOT_BITS;

impl Lanes {
    /// `None` if such a slot is too narrow or too wide.
    pub(crate) fn new(layout: Layout, slots: u32, fingerprint_bits: u32) -> Option<Self> {
        let (tag_bits, stride) = match layout {
            Layout::Buckets => (1, slots),
            Layout::Overlapping => (2, 1),
        };
        let slot_bits = fingerprint_bits + tag_bits;
        if fingerprint_bits < MIN_FINGERPRINT_BITS || slot_bits > MAX_SLOT_BITS {
            return None;
        }
        let form = match layout {
            _ if slots * slot_bits + worst_misalignment(stride * slot_bits) <= 64 => Form::Narrow,
            Layout::Buckets => Form::Wide,
            Layout::Overlapping => Form::WideWindows,
        };
        let lane_bits = if form == Form::Wide { LOAD_BITS / slots } else { slot_bits };
        debug_assert!(form != Form::Wide || lane_bits > LOW_BITS);
        let lanes = if form == Form::WideWindows { 1 } else { slots };
        let ones = (0..lanes).fold(0, |ones, lane| ones | 1u64 << (lane * lane_bits));
        let rest_bits = slot_bits - lane_bits;
        let bucket_bits = u64::from(stride * slot_bits);
        let last_bit = u64::from(slots * slot_bits - 1).max(8 * (LANE_BYTES - 1));
        let may_cross = last_bit >= bucket_bits || !LINE_BITS.is_multiple_of(bucket_bits);
        Some(Self {
            slots,
            slot_bits,
            tag_bits,
            form,
            bucket_bits,
            last_bit: may_cross.then_some(last_bit),
            lane_bits,
            lane_mask: (1 << lane_bits) - 1,
            rest_bits,
            rest_mask: (1 << rest_bits) - 1,
            ones,
            high: ones << (lane_bits - 1),
            low: (ones << (lane_bits - 1)) - ones,
            positions: if layout == Layout::Overlapping { POSITION << slot_bits } else { 0 },
            lane_of_bit: (1u32 << 16).div_ceil(lane_bits),
        })
    }

    /// The same, where the compiler knows the form.
    #[inline(always)]
    pub(crate) fn in_form(self, form: Form) -> Self {
        debug_assert_eq!(self.form, form);
        // Windows are narrow, or have a form of their own.
        let tag_bits = if form == Form::Wide { 1 } else { self.tag_bits };
        debug_assert_eq!(self.tag_bits, tag_bits);
        Self { tag_bits, form, ..self }
    }

    /// Where lanes and rests lie in a wide bucket.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn lane(&self) -> Lane {
        Lane {
            bits: self.lane_bits,
            mask: self.lane_mask,
            of_bit: u64::from(self.lane_of_bit),
            first_rest: self.rest_bit(0),
            rest_bits: u64::from(self.rest_bits),
            rest_mask: self.rest_mask,
        }
    }

    /// Bits from one bucket to the next.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn bucket_bits(&self) -> u64 {
        self.bucket_bits
    }

    /// The lowest and the highest bit of every lane, and the position bits of a window.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn patterns(&self) -> (u64, u64, u64) {
        (self.ones, self.high, self.positions)
    }

    /// Bits of a segment with this many slots.
    pub(crate) fn segment_bits(&self, slots: u64) -> u64 {
        slots * u64::from(self.slot_bits)
    }

    /// Each of these slots of a segment once: buckets that they lie in, each with positions there. Where
    /// buckets do not overlap, the slots are of whole ones.
    #[inline(always)]
    pub(crate) fn runs(
        &self,
        slots: Range<u64>,
    ) -> impl Iterator<Item = (u64, Range<u32>)> + use<> {
        let positions = if self.overlap() { 1 } else { self.slots };
        let buckets = slots.start / u64::from(positions)..slots.end / u64::from(positions);
        buckets.map(move |bucket| (bucket, 0..positions))
    }

    /// The value as it is stored at `position` of its bucket.
    #[inline(always)]
    pub(crate) fn at_position(&self, value: u64, position: u32) -> u64 {
        if self.tag_bits == 2 { value | (u64::from(position) * POSITION) } else { value }
    }

    /// The bucket that a stored value belongs to, and the value without its position.
    #[inline(always)]
    pub(crate) fn own_bucket(&self, bucket: u64, position: u32, stored: u64) -> (u64, u64) {
        if self.tag_bits == 2 {
            let slot = bucket + u64::from(position);
            (slot.wrapping_sub((stored & POSITION) / POSITION), stored & !POSITION)
        } else {
            (bucket, stored)
        }
    }

    /// Whether items of another bucket may lie in a bucket's slots.
    #[inline(always)]
    pub(crate) fn overlap(&self) -> bool {
        self.tag_bits == 2
    }

    /// Ways on from a full bucket: each item can go to its other bucket, in windows also to its own.
    #[inline(always)]
    pub(crate) fn ways(&self) -> usize {
        (self.slots << u32::from(self.overlap())) as usize
    }

    /// The value stored at `position` of a bucket.
    #[inline(always)]
    pub(crate) fn stored(&self, segment: &Segment, bucket: &Bucket, position: u32) -> u64 {
        let offset = u64::from(position * self.lane_bits);
        match self.form {
            Form::Narrow => (bucket.lanes() >> offset) & self.lane_mask,
            Form::Wide => {
                (bucket.lanes() >> offset) & self.lane_mask | self.rest(segment, bucket, position)
            }
            Form::WideWindows => segment.load(bucket.bit + offset) & self.lane_mask,
        }
    }

    /// The rest of a value, in its place above the lane's bits.
    #[inline(always)]
    fn rest(&self, segment: &Segment, bucket: &Bucket, position: u32) -> u64 {
        let (word, shift) = self.rest_place(bucket, position);
        ((segment.word(word) >> shift) & self.rest_mask) << self.lane_bits
    }

    /// The first bit of the word that a rest is read from, and where the rest begins in it. The word ends with the
    /// bucket at the latest: what lies behind may be in a cache line that nobody has asked for.
    #[inline(always)]
    fn rest_place(&self, bucket: &Bucket, position: u32) -> (u64, u64) {
        let rest = bucket.bit + self.rest_bit(position);
        // Where the word begins that ends with the bucket's last byte: not before the bucket, for a wide one
        // has more than 57 bits.
        let last = (bucket.bit + self.bucket_bits - (8 * LANE_BYTES - 7)) & !7;
        let word = (rest & !7).min(last);
        (word, rest - word)
    }

    #[inline(always)]
    fn rest_bit(&self, position: u32) -> u64 {
        u64::from(self.slots * self.lane_bits + position * self.rest_bits)
    }

    /// The bucket's lanes, in one load; wide windows have none and are read slot by slot.
    #[inline(always)]
    pub(crate) fn read(&self, segment: &Segment, bucket: u64) -> Bucket {
        let bit = bucket * self.bucket_bits;
        let word = if self.form == Form::WideWindows { 0 } else { segment.word(bit) };
        Bucket { bit, word }
    }

    /// Replaces what is stored at `position` of a bucket that was just read: `before` by `after`, 0
    /// where the slot is free.
    #[inline(always)]
    pub(crate) fn replace(
        &self,
        segment: &mut Segment,
        bucket: &Bucket,
        position: u32,
        (before, after): (u64, u64),
    ) {
        let change = before ^ after;
        if self.form == Form::WideWindows {
            let bit = bucket.bit + u64::from(position * self.lane_bits);
            segment.set_word(bit, segment.word(bit) ^ (change << (bit & 7)));
            return;
        }
        let shift = u64::from(position * self.lane_bits) + (bucket.bit & 7);
        let mut word = bucket.word ^ ((change & self.lane_mask) << shift);
        if self.form == Form::Wide {
            let (rest, shift) = self.rest_place(bucket, position);
            let change = (change >> self.lane_bits) << shift;
            segment.set_word(rest, segment.word(rest) ^ change);
            // The two words may share bytes.
            let between = (rest - (bucket.bit & !7)) as u32;
            word ^= change.checked_shl(between).unwrap_or(0);
        }
        segment.set_word(bucket.bit, word);
    }

    /// Puts a value into a free position of a bucket that was just read.
    #[inline(always)]
    pub(crate) fn fill(&self, segment: &mut Segment, bucket: &Bucket, position: u32, value: u64) {
        self.replace(segment, bucket, position, (0, self.at_position(value, position)));
    }

    /// Asks for the memory of both buckets of a key.
    #[inline(always)]
    pub(crate) fn prefetch_pair(&self, segment: &Segment, probe: &Probe) {
        self.prefetch(segment, probe.primary);
        self.prefetch(segment, probe.partner);
    }

    /// Asks for the memory of a bucket.
    #[inline(always)]
    pub(crate) fn prefetch(&self, segment: &Segment, bucket: u64) {
        let bit = bucket * self.bucket_bits;
        segment.prefetch(bit);
        if let Some(last_bit) = self.last_bit {
            segment.prefetch(bit + last_bit);
        }
    }
}

/// The furthest that a bucket can begin after a byte's first bit, if buckets are `step` bits apart.
fn worst_misalignment(step: u32) -> u32 {
    match step % 8 {
        0 => 0,
        odd => 8 - (1 << odd.trailing_zeros()),
    }
}

/// The lanes of a wide bucket, for vectors of buckets.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Lane {
    pub(crate) bits: u32,
    pub(crate) mask: u64,
    /// 2^16 / `bits`, rounded up: turns a bit number into a lane number.
    pub(crate) of_bit: u64,
    /// Where the first rest begins in a bucket, in bits.
    pub(crate) first_rest: u64,
    pub(crate) rest_bits: u64,
    pub(crate) rest_mask: u64,
}

/// A bucket as it was read; stale once anything is written to it or to an overlapping one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bucket {
    /// Where it begins in its segment.
    bit: u64,
    /// The eight bytes from the byte on in which it begins.
    word: u64,
}

impl Bucket {
    #[inline(always)]
    fn lanes(&self) -> u64 {
        self.word >> (self.bit & 7)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;

    pub(super) fn all_lanes() -> impl Iterator<Item = (Layout, Lanes)> {
        let disjoint = [1u32, 2, 4, 8].map(|slots| (Layout::Buckets, slots));
        disjoint.into_iter().chain([(Layout::Overlapping, 2)]).flat_map(|(layout, slots)| {
            (3..=56).filter_map(move |bits| Some((layout, Lanes::new(layout, slots, bits)?)))
        })
    }

    #[test]
    fn one_load_never_reads_past_its_word() {
        for (_, lanes) in all_lanes().filter(|(_, lanes)| lanes.form == Form::Narrow) {
            for bucket in 0..64u64 {
                let end = bucket * lanes.bucket_bits % 8 + u64::from(lanes.slots * lanes.slot_bits);
                assert!(end <= 64, "{} x {}", lanes.slots, lanes.slot_bits);
            }
        }
    }

    #[test]
    fn a_word_with_a_rest_lies_within_its_bucket() {
        for (_, lanes) in all_lanes().filter(|(_, lanes)| lanes.form == Form::Wide) {
            for number in 0..64 {
                let bit = number * lanes.bucket_bits;
                let bytes = bit & !7..(bit + lanes.bucket_bits).next_multiple_of(8);
                for position in 0..lanes.slots {
                    let (word, shift) = lanes.rest_place(&Bucket { bit, word: 0 }, position);
                    assert!(bytes.start <= word && word + 64 <= bytes.end, "{lanes:?}");
                    assert_eq!(word + shift, bit + lanes.rest_bit(position));
                    assert!(shift + u64::from(lanes.rest_bits) <= 64, "{lanes:?}");
                }
            }
        }
    }

    /// The plain twin: slot by slot, from the values written.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn buckets_equal_plain_slots() {
        let mut state = 1u64;
        let mut random = move |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
        for (layout, lanes) in all_lanes() {
            let buckets = 9;
            let slots = if layout == Layout::Overlapping { 10 } else { 9 * lanes.slots as usize };
            let bytes = (lanes.segment_bits(slots as u64).div_ceil(8) + 8).next_multiple_of(64);
            let mut table = Table::new(0, bytes).unwrap();
            let segment = &mut table.segments[0];
            let stride = if layout == Layout::Overlapping { 1 } else { lanes.slots as usize };
            let mut plain = vec![0u64; slots];
            // Few values, which differ in their lowest or highest bits only.
            let top = 1 << (lanes.slot_bits - 1);
            let values =
                [4, 8, top | 4, top | 8].map(|value| value & !3 & lanes.slot_mask_for_test());
            for _ in 0..400 {
                let (bucket, position) = (random(buckets), random(u64::from(lanes.slots)) as u32);
                let value = if random(3) == 0 { 0 } else { values[random(4) as usize] };
                let stored = if value == 0 { 0 } else { lanes.at_position(value, position) };
                let read = lanes.read(segment, bucket);
                let before = lanes.stored(segment, &read, position);
                lanes.replace(segment, &read, position, (before, stored));
                plain[bucket as usize * stride + position as usize] = stored;
                let bucket = random(buckets);
                let read = lanes.read(segment, bucket);
                let here = |position: u32| plain[bucket as usize * stride + position as usize];
                let marks = |wanted: &dyn Fn(u32) -> u64| {
                    (0..lanes.slots)
                        .filter(|&position| here(position) == wanted(position))
                        .collect::<Vec<_>>()
                };
                let wanted = values[random(4) as usize];
                let found = lanes.matches(segment, &read, wanted);
                let expected = marks(&|position| lanes.at_position(wanted, position));
                assert_eq!(found.count() as usize, expected.len(), "{lanes:?}");
                assert_eq!(lanes.first(found), expected.first().copied());
                if lanes.form == Form::Narrow {
                    // No value here is one in its partner.
                    assert_eq!(lanes.any_candidate(&read, &read, wanted), !expected.is_empty());
                }
                let empties = lanes.empties(segment, &read);
                assert_eq!(empties.count() as usize, marks(&|_| 0).len());
                assert_eq!(lanes.first(empties), marks(&|_| 0).first().copied());
                for position in 0..lanes.slots {
                    assert_eq!(lanes.stored(segment, &read, position), here(position));
                }
            }
            assert_eq!(lanes.runs(0..slots as u64).map(|(_, run)| run.len()).sum::<usize>(), slots);
        }
    }

    impl Lanes {
        fn slot_mask_for_test(&self) -> u64 {
            (1 << self.slot_bits) - 1
        }
    }
}
