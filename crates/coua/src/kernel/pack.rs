//! Whole buckets written one after the other.
//!
//! Putting a value into its slot reads and changes up to three words. If all values are known
//! beforehand, every bit is written once, in its order, and none is read.

use super::codec::{Encoding, LOAD_BITS, SLOTS, SlotCodec};
use crate::table::SegmentMut;

impl SlotCodec {
    /// Fills an empty segment. `values` has a value for each slot, 0 for a free one.
    #[inline(always)]
    pub(crate) fn pack(&self, segment: &mut SegmentMut<'_>, values: &[u64]) {
        let mut stream = Stream { segment, bit: 0, word: 0 };
        for values in values.as_chunks::<{ SLOTS as usize }>().0 {
            let mut lanes = 0;
            for (lane, value) in values.iter().enumerate() {
                lanes |= (value & self.lane_mask) << (lane as u32 * self.lane_bits);
            }
            stream.append(lanes, SLOTS * self.lane_bits);
            if self.encoding == Encoding::Wide {
                self.append_tails(&mut stream, values);
            }
            if self.bucket_bits.is_multiple_of(8) {
                stream.skip_to_byte();
            }
        }
    }

    /// Appends the tails of a wide bucket, two at a time where one load reaches both.
    #[inline(always)]
    fn append_tails(&self, stream: &mut Stream<'_, '_>, values: &[u64; SLOTS as usize]) {
        let tails = values.map(|value| value >> self.lane_bits);
        if 2 * self.tail_bits > LOAD_BITS {
            for tail in tails {
                stream.append(tail, self.tail_bits);
            }
            return;
        }
        for pair in tails.as_chunks::<2>().0 {
            stream.append(pair[0] | pair[1] << self.tail_bits, 2 * self.tail_bits);
        }
    }
}

/// Bits on their way into a segment.
struct Stream<'a, 'table> {
    segment: &'a mut SegmentMut<'table>,
    /// The number of bits that are written.
    bit: u64,
    /// The bits of the byte that is not full yet.
    word: u64,
}

impl Stream<'_, '_> {
    /// Continues at the next byte, unless the stream is at one.
    #[inline(always)]
    fn skip_to_byte(&mut self) {
        (self.bit, self.word) = (self.bit.next_multiple_of(8), 0);
    }

    /// Writes a field that ends within the word in whose first byte it begins.
    #[inline(always)]
    fn append(&mut self, field: u64, bits: u32) {
        let word = self.word | field << (self.bit & 7);
        self.segment.set_word(self.bit, word);
        let full_bytes = ((self.bit & 7) + u64::from(bits)) / 8;
        // In two steps, because a shift by 64 is not defined.
        self.word = word >> (4 * full_bytes) >> (4 * full_bytes);
        self.bit += u64::from(bits);
    }
}

#[cfg(test)]
mod tests {
    use super::super::codec::SLOTS;
    use super::super::codec::tests::{all_codecs, level_with};
    use crate::kernel::LevelGeometry;
    use crate::simd::{Isa, Words};
    use crate::table::Table;

    #[test]
    fn packed_buckets_are_those_filled_slot_by_slot() {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state ^ (state >> 31)
        };
        for codec in all_codecs() {
            let values: Vec<u64> = (0..37 * SLOTS)
                .map(|_| if random() % 4 == 0 { 0 } else { random() >> (64 - codec.slot_bits) })
                .collect();
            let level = LevelGeometry { buckets: 37, ..level_with(codec) };
            let (bytes, level) = (level.bytes(), level.on_words());
            let [mut filled, mut packed] = [(); 2].map(|()| Table::new(0, bytes).unwrap());
            for (slot, &value) in (0..).zip(&values) {
                let (bucket, position) = (slot / u64::from(SLOTS), slot % u64::from(SLOTS));
                let segment = filled.segment(0);
                let [place, value] = [position, value].map(|it| Words.splat(it));
                let change = level.change(&level.bucket(segment, bucket), place, value);
                level.write(&mut filled.segment_mut(0), &change);
            }
            codec.pack(&mut packed.segment_mut(0), &values);
            let all = bytes as usize;
            assert!(filled.segment(0).bytes(all) == packed.segment(0).bytes(all), "{codec:?}");
        }
    }
}
