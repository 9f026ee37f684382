//! Reading and writing the slots of a bucket.

use super::codec::{Encoding, SlotCodec, WORD_BITS};
use crate::table::{Segment, SegmentMut};

/// A bucket as it was read; stale once anything is written to it or to an overlapping one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bucket {
    /// Where it begins in its segment.
    pub(super) bit: u64,
    /// The eight bytes from the byte on in which it begins.
    pub(super) word: u64,
}

impl Bucket {
    #[inline(always)]
    pub(super) fn lanes(&self) -> u64 {
        self.word >> (self.bit & 7)
    }
}

impl SlotCodec {
    /// The value stored at `position` of a bucket.
    #[inline(always)]
    pub(crate) fn stored(&self, segment: &Segment, bucket: &Bucket, position: u32) -> u64 {
        let offset = u64::from(position * self.lane_bits);
        match self.encoding {
            Encoding::Narrow => (bucket.lanes() >> offset) & self.lane_mask,
            Encoding::Wide => {
                (bucket.lanes() >> offset) & self.lane_mask | self.rest(segment, bucket, position)
            }
            Encoding::WideOverlapping => segment.load(bucket.bit + offset) & self.lane_mask,
        }
    }

    /// The rest of a value, in its place above the lane's bits.
    #[inline(always)]
    pub(super) fn rest(&self, segment: &Segment, bucket: &Bucket, position: u32) -> u64 {
        let (word, shift) = self.rest_place(bucket, position);
        ((segment.word(word) >> shift) & self.rest_mask) << self.lane_bits
    }

    /// The first bit of the word that a rest is read from, and where the rest begins in it. The word ends at
    /// the latest with the bucket: the bytes after it may lie in a cache line that was not prefetched.
    #[inline(always)]
    fn rest_place(&self, bucket: &Bucket, position: u32) -> (u64, u64) {
        let rest = bucket.bit + self.rest_bit(position);
        // The word that ends with the bucket's last byte. It begins in the bucket, for a wide bucket has more
        // than 57 bits.
        let last = (bucket.bit + self.bucket_bits - (WORD_BITS - 7)) & !7;
        let word = (rest & !7).min(last);
        (word, rest - word)
    }

    #[inline(always)]
    pub(super) fn rest_bit(&self, position: u32) -> u64 {
        u64::from(self.slots * self.lane_bits + position * self.rest_bits)
    }

    /// Reads a bucket's lanes, in one load; wide overlapping buckets are read slot by slot later.
    #[inline(always)]
    pub(crate) fn read(&self, segment: &Segment, bucket: u64) -> Bucket {
        let bit = bucket * self.bucket_bits;
        let word = if self.encoding == Encoding::WideOverlapping { 0 } else { segment.word(bit) };
        Bucket { bit, word }
    }

    /// Replaces what is stored at `position` of a bucket that was just read: `before` by `after`. A free
    /// slot stores 0.
    #[inline(always)]
    pub(crate) fn replace(
        &self,
        segment: &mut SegmentMut<'_>,
        bucket: &Bucket,
        position: u32,
        (before, after): (u64, u64),
    ) {
        let change = before ^ after;
        if self.encoding == Encoding::WideOverlapping {
            let bit = bucket.bit + u64::from(position * self.lane_bits);
            segment.set_word(bit, segment.word(bit) ^ (change << (bit & 7)));
            return;
        }
        let shift = u64::from(position * self.lane_bits) + (bucket.bit & 7);
        let mut word = bucket.word ^ ((change & self.lane_mask) << shift);
        if self.encoding == Encoding::Wide {
            let (rest, shift) = self.rest_place(bucket, position);
            let change = (change >> self.lane_bits) << shift;
            segment.set_word(rest, segment.word(rest) ^ change);
            // The two words may share bytes.
            let between = (rest - (bucket.bit & !7)) as u32;
            word ^= change.unbounded_shl(between);
        }
        segment.set_word(bucket.bit, word);
    }

    /// Puts a value into a free position of a bucket that was just read.
    #[inline(always)]
    pub(crate) fn fill(
        &self,
        segment: &mut SegmentMut<'_>,
        bucket: &Bucket,
        position: u32,
        value: u64,
    ) {
        self.replace(segment, bucket, position, (0, self.at_position(value, position)));
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
mod tests {
    use super::super::codec::tests::all_codecs;
    use super::*;
    use crate::Layout;
    use crate::kernel::{Pair, Place};
    use crate::smoke::few_in_miri;
    use crate::table::Table;

    #[test]
    fn a_word_with_a_rest_lies_within_its_bucket() {
        for (_, codec) in all_codecs().filter(|(_, codec)| codec.encoding == Encoding::Wide) {
            for number in 0..64 {
                let bit = number * codec.bucket_bits;
                let bytes = bit & !7..(bit + codec.bucket_bits).next_multiple_of(8);
                for position in 0..codec.slots {
                    let (word, shift) = codec.rest_place(&Bucket { bit, word: 0 }, position);
                    assert!(bytes.start <= word && word + 64 <= bytes.end, "{codec:?}");
                    assert_eq!(word + shift, bit + codec.rest_bit(position));
                    assert!(shift + u64::from(codec.rest_bits) <= 64, "{codec:?}");
                }
            }
        }
    }

    /// The reference implementation: slot by slot, from the values written.
    #[test]
    fn buckets_equal_plain_slots() {
        let mut state = 1u64;
        let mut random = move |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
        for (layout, codec) in all_codecs() {
            let buckets = 9;
            let slots = if layout == Layout::Overlapping { 10 } else { 9 * codec.slots as usize };
            let bytes =
                ((slots as u64 * u64::from(codec.slot_bits)).div_ceil(8) + 8).next_multiple_of(64);
            let mut table = Table::new(0, bytes).unwrap();
            let segment = &mut table.segment_mut(0);
            let stride = if layout == Layout::Overlapping { 1 } else { codec.slots as usize };
            let mut plain = vec![0u64; slots];
            // Few values, which differ in their lowest or highest bits only.
            let top = 1 << (codec.slot_bits - 1);
            let values =
                [4, 8, top | 4, top | 8].map(|value| value & !3 & codec.slot_mask_for_test());
            for _ in few_in_miri(0..400, 8) {
                let (bucket, position) = (random(buckets), random(u64::from(codec.slots)) as u32);
                let value = if random(3) == 0 { 0 } else { values[random(4) as usize] };
                let stored = if value == 0 { 0 } else { codec.at_position(value, position) };
                let read = codec.read(segment, bucket);
                let before = codec.stored(segment, &read, position);
                codec.replace(segment, &read, position, (before, stored));
                plain[bucket as usize * stride + position as usize] = stored;
                let bucket = random(buckets);
                let read = codec.read(segment, bucket);
                let here = |position: u32| plain[bucket as usize * stride + position as usize];
                let marks = |wanted: &dyn Fn(u32) -> u64| {
                    (0..codec.slots)
                        .filter(|&position| here(position) == wanted(position))
                        .collect::<Vec<_>>()
                };
                let wanted = values[random(4) as usize];
                let found = codec.matches(segment, &read, wanted);
                let expected = marks(&|position| codec.at_position(wanted, position));
                assert_eq!(found.count() as usize, expected.len(), "{codec:?}");
                assert_eq!(codec.first(found), expected.first().copied());
                // No value here is one in its alternate bucket.
                let place = Place { segment: 0, primary: bucket, alternate: bucket, value: wanted };
                let is_held = Pair::read(&codec, segment, &place).contains(segment, &place);
                assert!(is_held.is_none_or(|is_held| is_held != expected.is_empty()));
                let free_slots = codec.free_slots(segment, &read);
                assert_eq!(free_slots.count() as usize, marks(&|_| 0).len());
                assert_eq!(codec.first(free_slots), marks(&|_| 0).first().copied());
                for (left, right) in [(free_slots, found), (found, free_slots)] {
                    assert_eq!(codec.has_more(left, right), left.count() > right.count());
                }
                for position in 0..codec.slots {
                    assert_eq!(codec.stored(segment, &read, position), here(position));
                }
            }
            assert_eq!(codec.runs(0..slots as u64).map(|(_, run)| run.len()).sum::<usize>(), slots);
        }
    }

    impl SlotCodec {
        fn slot_mask_for_test(&self) -> u64 {
            (1 << self.slot_bits) - 1
        }
    }
}
