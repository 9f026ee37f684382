//! Whole buckets written one after the other.
//!
//! Putting a value into its slot reads and changes up to three words. If all values are known
//! beforehand, every bit is written once, in its order, and none is read.

use super::codec::{Encoding, LOAD_BITS, SlotCodec};
use crate::table::SegmentMut;

impl SlotCodec {
    /// Writes the slots of an empty segment from the first on: `values` has what is stored in each, 0 in a
    /// free one.
    #[inline(always)]
    pub(crate) fn pack(&self, segment: &mut SegmentMut<'_>, values: &[u64]) {
        let mut stream = Stream { segment, bit: 0, word: 0 };
        match self.slots {
            4 => self.pack_buckets(&mut stream, values.as_chunks::<4>().0),
            8 => self.pack_buckets(&mut stream, values.as_chunks::<8>().0),
            2 if self.encoding == Encoding::Wide => {
                self.pack_buckets(&mut stream, values.as_chunks::<2>().0);
            }
            _ => values.iter().for_each(|&value| stream.append(value, self.slot_bits)),
        }
    }

    #[inline(always)]
    fn pack_buckets<const SLOTS: usize>(
        &self,
        stream: &mut Stream<'_, '_>,
        buckets: &[[u64; SLOTS]],
    ) {
        for values in buckets {
            let mut lanes = 0;
            for (lane, value) in values.iter().enumerate() {
                lanes |= (value & self.lane_mask) << (lane as u32 * self.lane_bits);
            }
            stream.append(lanes, SLOTS as u32 * self.lane_bits);
            if self.encoding == Encoding::Wide {
                self.append_rests(stream, values);
            }
            if self.bucket_bits.is_multiple_of(8) {
                stream.skip_to_byte();
            }
        }
    }

    /// Two at a time where one load reaches both.
    #[inline(always)]
    fn append_rests<const SLOTS: usize>(&self, stream: &mut Stream<'_, '_>, values: &[u64; SLOTS]) {
        let rest = |value: u64| value >> self.lane_bits;
        if 2 * self.rest_bits > LOAD_BITS {
            for &value in values {
                stream.append(rest(value), self.rest_bits);
            }
            return;
        }
        for pair in values.as_chunks::<2>().0 {
            stream.append(rest(pair[0]) | rest(pair[1]) << self.rest_bits, 2 * self.rest_bits);
        }
    }
}

/// Bits on their way into a segment.
struct Stream<'a, 'table> {
    segment: &'a mut SegmentMut<'table>,
    /// How many are written.
    bit: u64,
    /// The bits of the byte that is not full yet.
    word: u64,
}

impl Stream<'_, '_> {
    /// Goes on at the next byte, unless it is at one.
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
        for (_, codec) in all_codecs() {
            let values: Vec<u64> = (0..37 * codec.slots)
                .map(|_| if random() % 4 == 0 { 0 } else { random() >> (64 - codec.slot_bits) })
                .collect();
            let level = LevelGeometry { buckets: 37 * u64::from(codec.slots), ..level_with(codec) };
            let (bytes, level) = (level.bytes(), level.on_words());
            let [mut filled, mut packed] = [(); 2].map(|()| Table::new(0, bytes).unwrap());
            let places = codec.runs(0..values.len() as u64);
            let places = places.flat_map(|(bucket, run)| run.map(move |at| (bucket, at)));
            for ((bucket, position), &value) in places.zip(&values) {
                let segment = filled.segment(0);
                let [place, value] = [position.into(), value].map(|it| Words.splat(it));
                let change = level.change(segment, &level.bucket(segment, bucket), place, value);
                level.write(&mut filled.segment_mut(0), &change);
            }
            codec.pack(&mut packed.segment_mut(0), &values);
            let all = bytes as usize;
            assert!(filled.segment(0).bytes(all) == packed.segment(0).bytes(all), "{codec:?}");
        }
    }
}
