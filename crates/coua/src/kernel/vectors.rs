//! The arithmetic on slots and buckets, for a vector of keys at a time. A single key is a vector of one word.
//!
//! All slots of a bucket are compared at once: XOR with the repeated value, then find the zero lanes (Warren, Hacker's
//! Delight, 6-1). A *mark* is the highest bit of a lane.

use super::codec::{Encoding, POSITION, SlotCodec};
use super::level::ALTERNATE;
use super::level::LevelGeometry;
use crate::simd::{Isa, Vector, Word, Words};
use crate::table::Segment;

/// The segments of the buckets.
pub(crate) trait Source<V>: Copy {
    /// Eight bytes of each segment, from this byte on, as little-endian numbers. Panics if they are not all there.
    fn load(self, at: V) -> V;
}

impl Source<Word> for &Segment {
    #[inline(always)]
    fn load(self, at: Word) -> Word {
        Words.splat(self.word_at(at.number()))
    }
}

/// One bucket of each key, as it was read; stale once anything is written to it or to an overlapping one.
#[derive(Clone, Copy)]
pub(crate) struct Buckets<V> {
    /// The byte of the segment in which it begins.
    pub(crate) at: V,
    /// Bits of that byte that come before the bucket.
    pub(crate) shift: V,
    /// The eight bytes from there on.
    pub(crate) word: V,
}

impl<V: Vector> Buckets<V> {
    #[inline(always)]
    pub(crate) fn select(mask: V::Mask, yes: &Self, no: &Self) -> Self {
        Self {
            at: V::select(mask, yes.at, no.at),
            shift: V::select(mask, yes.shift, no.shift),
            word: V::select(mask, yes.word, no.word),
        }
    }

    /// The lanes of a bucket, from the lowest bit on.
    #[inline(always)]
    fn lanes(&self) -> V {
        self.word.shr_each(self.shift)
    }
}

/// Items found in buckets.
pub(crate) struct Items<V> {
    /// The bucket that each belongs to, and its value there.
    pub(crate) own: V,
    pub(crate) value: V,
}

/// Places of keys.
pub(crate) struct Located<V> {
    pub(crate) primary: V,
    pub(crate) alternate: V,
    pub(crate) value: V,
}

/// The results of looking keys up, a bit for each.
pub(crate) struct LookupResult<V: Vector> {
    pub(crate) found: u8,
    /// Keys whose first candidate is another key; they may have more.
    pub(crate) doubtful: u8,
    /// Keys without a candidate in the primary bucket.
    pub(crate) in_alternate: V::Mask,
    /// The candidates in the alternate bucket for those, in the primary bucket for the others. Only the lowest mark of
    /// each is certain.
    pub(crate) marks: V,
}

/// The bytes that a change of one slot of each bucket writes.
pub(crate) struct SlotChange<V> {
    /// The byte of the segment where the bucket's word begins, and the word as it becomes.
    pub(crate) at: V,
    pub(crate) word: V,
    /// In wide buckets: the byte where the word with the slot's rest begins, and what changes in it.
    pub(crate) rest_at: V,
    pub(crate) rest: V,
}

/// A level, and the instructions to work on it.
#[derive(Clone, Copy)]
pub(crate) struct LevelVectors<I> {
    pub(crate) isa: I,
    level: LevelGeometry,
}

impl<I: Isa> LevelVectors<I> {
    #[inline(always)]
    pub(crate) fn new(isa: I, level: &LevelGeometry) -> Self {
        Self { isa, level: *level }
    }

    /// The same, with an encoding that the compiler knows.
    #[inline(always)]
    pub(crate) fn with_encoding(self, encoding: Encoding) -> Self {
        Self { level: self.level.with_encoding(encoding), ..self }
    }

    /// The bits of a slot value that are never all 0 in a slot in use.
    pub(crate) fn low_part(&self) -> u64 {
        self.level.low_part()
    }

    #[inline(always)]
    pub(crate) fn codec(&self) -> &SlotCodec {
        &self.level.codec
    }

    #[inline(always)]
    pub(crate) fn splat(&self, value: u64) -> I::Vector {
        self.isa.splat(value)
    }

    #[inline(always)]
    fn select(&self, mask: <I::Vector as Vector>::Mask, yes: u64) -> I::Vector {
        I::Vector::select(mask, self.splat(yes), self.splat(0))
    }
}

/// The places of keys.
impl<I: Isa> LevelVectors<I> {
    /// [`LevelGeometry::locate`], by products of halves.
    #[inline(always)]
    pub(crate) fn locate(&self, hash: I::Vector) -> Located<I::Vector> {
        let level = &self.level;
        let suffix = hash & self.splat(level.suffix_mask);
        let (primary, rest) = suffix.multiply_shifted(level.depth, self.splat(level.buckets));
        let top = (rest >> level.top_shift) & self.splat(level.top_mask);
        let (low, _) = rest.multiply_shifted(level.top_bits, self.splat(level.low_range));
        let fingerprint = top | (low + self.splat(1));
        let value = fingerprint << level.codec.tag_bits;
        Located { primary, alternate: self.alternate_of(primary, fingerprint), value }
    }

    /// The alternate bucket of items with these primary buckets.
    #[inline(always)]
    pub(crate) fn alternate_of(&self, primary: I::Vector, fingerprint: I::Vector) -> I::Vector {
        (primary + self.offsets(fingerprint)).wrapped(self.splat(self.level.buckets))
    }

    /// Distances from the primary to the alternate bucket: a mix of the whole fingerprint, below the number of buckets.
    #[inline(always)]
    fn offsets(&self, fingerprint: I::Vector) -> I::Vector {
        let mixed = fingerprint.multiply(self.splat(LevelGeometry::OFFSET_FACTOR));
        (mixed >> 32).multiply_small(self.splat(self.level.buckets)) >> 32
    }

    /// The other buckets of items.
    #[inline(always)]
    pub(crate) fn alternates(&self, items: &Items<I::Vector>) -> I::Vector {
        let buckets = self.splat(self.level.buckets);
        let offset = self.offsets(items.value >> self.codec().tag_bits);
        let in_primary = (items.value & self.splat(ALTERNATE)).is_zero();
        let distance = I::Vector::select(in_primary, offset, buckets - offset);
        (items.own + distance).wrapped(buckets)
    }

    /// The items that are stored in these slots. Each slot is a position of a bucket.
    #[inline(always)]
    pub(crate) fn items_at(
        &self,
        number: I::Vector,
        position: I::Vector,
        stored: I::Vector,
    ) -> Items<I::Vector> {
        if !self.codec().overlap() {
            return Items { own: number, value: stored };
        }
        let distance = (stored & self.splat(POSITION)) >> 1;
        let value = stored.and_not(self.splat(POSITION));
        Items { own: number + position - distance, value }
    }

    /// Values as they are stored at these positions of their buckets.
    #[inline(always)]
    pub(crate) fn at_position(&self, value: I::Vector, position: I::Vector) -> I::Vector {
        if self.codec().overlap() { value | (position << 1) } else { value }
    }

    /// The first bits of buckets, counted from those of their segments.
    #[inline(always)]
    pub(crate) fn first_bits(&self, bucket: I::Vector) -> I::Vector {
        bucket.multiply_small(self.splat(self.codec().bucket_bits))
    }
}

/// The content of buckets.
impl<I: Isa> LevelVectors<I> {
    /// Reads the buckets that begin at these bits of their segments.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        source: impl Source<I::Vector>,
        first_bit: I::Vector,
    ) -> Buckets<I::Vector> {
        let at = first_bit >> 3;
        Buckets { at, shift: first_bit & self.splat(7), word: source.load(at) }
    }

    /// The values that are stored at a position of each bucket.
    #[inline(always)]
    pub(crate) fn stored(
        &self,
        source: impl Source<I::Vector>,
        bucket: &Buckets<I::Vector>,
        position: I::Vector,
    ) -> I::Vector {
        let &SlotCodec { lane_bits, lane_mask, encoding, .. } = self.codec();
        let shift = bucket.shift + position.multiply_small(self.splat(lane_bits.into()));
        match encoding {
            Encoding::Narrow => bucket.word.shr_each(shift) & self.splat(lane_mask),
            Encoding::Wide => {
                let lane = bucket.word.shr_each(shift) & self.splat(lane_mask);
                lane | (self.rests(source, bucket, position) << lane_bits)
            }
            Encoding::WideOverlapping => {
                let slot = self.read(source, (bucket.at << 3) + shift);
                slot.lanes() & self.splat(lane_mask)
            }
        }
    }

    /// The rests of the values at these positions.
    #[inline(always)]
    fn rests(
        &self,
        source: impl Source<I::Vector>,
        bucket: &Buckets<I::Vector>,
        position: I::Vector,
    ) -> I::Vector {
        let (word, shift) = self.rest_places(bucket.shift, position);
        let word = source.load(bucket.at + (word >> 3));
        word.shr_each(shift) & self.splat(self.codec().rest_mask)
    }

    /// How many bits after the byte in which a bucket begins the words begin that rests are read from, and where the
    /// rests begin in them. A word ends at the latest with the bucket: the bytes after it may lie in a cache line that
    /// was not prefetched.
    #[inline(always)]
    fn rest_places(&self, shift: I::Vector, position: I::Vector) -> (I::Vector, I::Vector) {
        let codec = self.codec();
        let whole_bytes = self.splat(!7);
        let offset = position.multiply_small(self.splat(codec.rest_bits.into()));
        let rest = shift + self.splat(codec.rest_bit(0)) + offset;
        // The word that ends with the bucket's last byte. It begins in the bucket, for a wide bucket has more
        // than 57 bits.
        let last = (shift + self.splat(codec.bucket_bits - 57)) & whole_bytes;
        let word = (rest & whole_bytes).min(last);
        (word, rest - word)
    }

    /// Changes what is stored at these positions of buckets that were just read: flips the bits of `change`.
    #[inline(always)]
    pub(crate) fn change(
        &self,
        source: impl Source<I::Vector>,
        bucket: &Buckets<I::Vector>,
        position: I::Vector,
        change: I::Vector,
    ) -> SlotChange<I::Vector> {
        let &SlotCodec { lane_bits, lane_mask, encoding, .. } = self.codec();
        let shift = bucket.shift + position.multiply_small(self.splat(lane_bits.into()));
        if encoding == Encoding::WideOverlapping {
            let slot = self.read(source, (bucket.at << 3) + shift);
            let word = slot.word ^ change.shl_each(slot.shift);
            return SlotChange { at: slot.at, word, rest_at: slot.at, rest: self.splat(0) };
        }
        let lane = (change & self.splat(lane_mask)).shl_each(shift);
        let Buckets { at, word, .. } = *bucket;
        if encoding != Encoding::Wide {
            return SlotChange { at, word: word ^ lane, rest_at: at, rest: self.splat(0) };
        }
        let (rest_word, shift) = self.rest_places(bucket.shift, position);
        let rest = (change >> lane_bits).shl_each(shift);
        // The two words may share bytes.
        let word = word ^ lane ^ rest.shl_far(rest_word);
        SlotChange { at, word, rest_at: at + (rest_word >> 3), rest }
    }
}

/// All slots of buckets at once.
impl<I: Isa> LevelVectors<I> {
    /// For which keys a lane of one of their narrow buckets is equal, whichever lane that is.
    #[inline(always)]
    pub(crate) fn any_candidate(
        &self,
        primary: &Buckets<I::Vector>,
        alternate: &Buckets<I::Vector>,
        value: I::Vector,
    ) -> u8 {
        let &SlotCodec { ones, high, .. } = self.codec();
        let (here, there) = self.differences(primary, alternate, value);
        // A carry only leaves lanes that are zero, so it cannot make the lowest zero lane wrong.
        let ones = self.splat(ones);
        let zero = (here - ones).and_not(here) | (there - ones).and_not(there);
        let candidates = zero & self.splat(high);
        !I::Vector::bits(candidates.is_zero()) & I::Vector::ALL
    }

    /// Looks keys up in their buckets.
    #[inline(always)]
    pub(crate) fn lookup(
        &self,
        source: impl Source<I::Vector>,
        primary: &Buckets<I::Vector>,
        alternate: &Buckets<I::Vector>,
        value: I::Vector,
    ) -> LookupResult<I::Vector> {
        let there_value = value | self.splat(ALTERNATE);
        let (here, there) = if self.codec().encoding == Encoding::WideOverlapping {
            let here = self.slots_with(source, primary, value);
            (here, self.slots_with(source, alternate, there_value))
        } else {
            let (here, there) = self.differences(primary, alternate, value);
            (self.lowest_zero_lane(here), self.lowest_zero_lane(there))
        };
        let in_alternate = here.is_zero();
        let marks = I::Vector::select(in_alternate, there, here);
        let found = !I::Vector::bits(marks.is_zero()) & I::Vector::ALL;
        if self.codec().encoding != Encoding::Wide || found == 0 {
            return LookupResult { found, doubtful: 0, in_alternate, marks };
        }
        let bucket = Buckets::select(in_alternate, alternate, primary);
        let value = I::Vector::select(in_alternate, there_value, value);
        // For keys without a mark, some rest of their bucket is read.
        let rest = self.rests(source, &bucket, self.first_position(marks));
        let equal = I::Vector::bits(rest.equals(value >> self.codec().lane_bits));
        LookupResult { found: found & equal, doubtful: found & !equal, in_alternate, marks }
    }

    /// The lanes of both buckets, 0 where they are those of the key.
    #[inline(always)]
    fn differences(
        &self,
        primary: &Buckets<I::Vector>,
        alternate: &Buckets<I::Vector>,
        value: I::Vector,
    ) -> (I::Vector, I::Vector) {
        let here = self.repeated(value);
        // The choice bit is the lowest of a lane.
        let there = here | self.splat(self.codec().ones * ALTERNATE);
        (primary.lanes() ^ here, alternate.lanes() ^ there)
    }

    /// Each value in every lane, as each position stores it; of a wide bucket, the bits that a lane has.
    #[inline(always)]
    fn repeated(&self, value: I::Vector) -> I::Vector {
        let &SlotCodec { ones, positions, lane_mask, .. } = self.codec();
        let narrow = self.codec().encoding == Encoding::Narrow;
        let lane = if narrow { value } else { value & self.splat(lane_mask) };
        lane.multiply(self.splat(ones)) | self.splat(positions)
    }

    /// Marks the lowest lane that is zero, if there is one. Higher marks may be wrong: a carry leaves lanes that are
    /// zero.
    #[inline(always)]
    fn lowest_zero_lane(&self, lanes: I::Vector) -> I::Vector {
        let &SlotCodec { ones, high, .. } = self.codec();
        (lanes - self.splat(ones)).and_not(lanes) & self.splat(high)
    }

    /// Marks every lane that is zero. No carry leaves a lane, so the answer is exact.
    #[inline(always)]
    fn zero_lanes(&self, lanes: I::Vector) -> I::Vector {
        let &SlotCodec { low, high, .. } = self.codec();
        let low = self.splat(low);
        self.splat(high).and_not(((lanes & low) + low) | lanes)
    }

    /// Marks the slots that hold a value, exactly.
    #[inline(always)]
    pub(crate) fn slots_with(
        &self,
        source: impl Source<I::Vector>,
        bucket: &Buckets<I::Vector>,
        value: I::Vector,
    ) -> I::Vector {
        if self.codec().encoding == Encoding::Narrow {
            return self.zero_lanes(bucket.lanes() ^ self.repeated(value));
        }
        let position_bit = if self.codec().overlap() { POSITION } else { 0 };
        self.marked(source, bucket, value, position_bit)
    }

    /// Marks the slots that store a value, one by one; with the bits of their positions that are set in `position_bit`.
    /// The mark is the lowest bit of a slot. No closures: they would not be compiled for the vectors.
    #[inline(always)]
    fn marked(
        &self,
        source: impl Source<I::Vector>,
        bucket: &Buckets<I::Vector>,
        value: I::Vector,
        position_bit: u64,
    ) -> I::Vector {
        let &SlotCodec { slots, lane_bits, .. } = self.codec();
        let mut marks = self.splat(0);
        for number in 0..slots {
            let stored = self.stored(source, bucket, self.splat(number.into()));
            let wanted = value | self.splat((u64::from(number) * POSITION) & position_bit);
            let is_marked = (stored ^ wanted).is_zero();
            marks = marks | self.select(is_marked, 1 << (number * lane_bits));
        }
        marks
    }

    /// Marks the free slots.
    #[inline(always)]
    pub(crate) fn free_slots(
        &self,
        source: impl Source<I::Vector>,
        bucket: &Buckets<I::Vector>,
    ) -> I::Vector {
        if self.codec().encoding == Encoding::WideOverlapping {
            return self.marked(source, bucket, self.splat(0), 0);
        }
        self.zero_lanes(bucket.lanes())
    }

    /// Marks the lanes of the slots for which a bit is set, in buckets of four lanes of 16 bits.
    #[inline(always)]
    pub(crate) fn marks(&self, slots: I::Vector) -> I::Vector {
        // Four copies, of which each has the bit of one slot at the highest bit of its lane.
        slots.multiply(self.splat(1 << 15 | 1 << 30 | 1 << 45 | 1 << 60))
            & self.splat(self.codec().high)
    }

    /// Marks the slots whose lanes have these bits clear.
    #[inline(always)]
    pub(crate) fn lanes_without(&self, bucket: &Buckets<I::Vector>, bits: u64) -> I::Vector {
        self.zero_lanes(bucket.lanes() & self.splat(self.codec().ones * bits))
    }

    /// Whether the alternate bucket of each key has more free slots than the primary one, and the free slots of the
    /// bucket that has more.
    #[inline(always)]
    pub(crate) fn emptier(
        &self,
        source: impl Source<I::Vector>,
        primary: &Buckets<I::Vector>,
        alternate: &Buckets<I::Vector>,
    ) -> (<I::Vector as Vector>::Mask, I::Vector) {
        let here = self.free_slots(source, primary);
        let there = self.free_slots(source, alternate);
        let in_alternate = self.sum(here).is_below(self.sum(there));
        (in_alternate, I::Vector::select(in_alternate, there, here))
    }

    /// How many lanes are marked, in the place of the last lane: old processors, and Arm, have no short instruction that
    /// counts bits, and the last lane of the product is the sum of all lanes.
    #[inline(always)]
    fn sum(&self, marks: I::Vector) -> I::Vector {
        let &SlotCodec { ones, lane_bits, last_lane, encoding, .. } = self.codec();
        if encoding == Encoding::WideOverlapping {
            return (marks & self.splat(1)) + (marks >> lane_bits);
        }
        let first_bits = marks >> (lane_bits - 1);
        first_bits.multiply(self.splat(ones)) & self.splat(last_lane)
    }

    /// The position of the first mark; any position if there is none.
    #[inline(always)]
    pub(crate) fn first_position(&self, marks: I::Vector) -> I::Vector {
        let &SlotCodec { high, lane_bits, slots, lane_of_bit, .. } = self.codec();
        if let Some(bit) = marks.trailing_zeros() {
            return bit.multiply_small(self.splat(lane_of_bit.into())) >> 16;
        }
        let last = 1 << (slots * lane_bits - 1);
        let below = (marks - self.splat(1)).and_not(marks);
        self.sum(below & self.splat(high ^ last)) >> ((slots - 1) * lane_bits)
    }

    /// Clears the lowest marked lane of narrow buckets, of which each has a mark: what their words become.
    #[inline(always)]
    pub(crate) fn cleared(&self, bucket: &Buckets<I::Vector>, marks: I::Vector) -> I::Vector {
        // All bits of the lane, of which the mark is the highest.
        let highest = marks & (self.splat(0) - marks);
        let lane = (highest << 1) - (highest >> (self.codec().lane_bits - 1));
        bucket.word.and_not(lane.shl_each(bucket.shift))
    }
}

#[cfg(test)]
mod tests {
    use super::super::codec::tests::{all_codecs, level_with};
    use super::*;
    use crate::Layout;
    use crate::kernel::{Pair, Place};
    use crate::smoke::few_in_miri;
    use crate::table::Table;

    #[test]
    fn a_word_with_a_rest_lies_within_its_bucket() {
        for (_, codec) in all_codecs().filter(|(_, codec)| codec.encoding == Encoding::Wide) {
            let level = level_with(codec).on_words();
            for number in 0..64 {
                let bit = number * codec.bucket_bits;
                let bytes = bit & !7..(bit + codec.bucket_bits).next_multiple_of(8);
                for position in 0..codec.slots {
                    let [within, at] = [bit & 7, position.into()].map(|it| Words.splat(it));
                    let (word, shift) = level.rest_places(within, at);
                    let (word, shift) = ((bit & !7) + word.number(), shift.number());
                    assert!(bytes.start <= word && word + 64 <= bytes.end, "{codec:?}");
                    assert_eq!(word + shift, bit + codec.rest_bit(position));
                    assert!(shift + u64::from(codec.rest_bits) <= 64, "{codec:?}");
                }
            }
        }
    }

    /// The positions of these marks.
    fn positions(level: &LevelVectors<Words>, marks: Word) -> Vec<u64> {
        let mut left = marks.number();
        std::iter::from_fn(|| {
            let first = (left != 0).then(|| level.first_position(Words.splat(left)).number());
            left &= left.wrapping_sub(1);
            first
        })
        .collect()
    }

    /// The positions of a bucket whose values satisfy a predicate.
    type Find<'a> = dyn Fn(&dyn Fn(u32) -> u64) -> Vec<u64> + 'a;

    /// What is read of a bucket at once, beside the positions that a function finds in the plain slots.
    fn check_bucket(
        geometry: &LevelGeometry,
        source: &Segment,
        bucket: u64,
        wanted: u64,
        marks: &Find<'_>,
    ) {
        let level = geometry.on_words();
        let read = level.bucket(source, bucket);
        let at_position = |position: u32| {
            let [value, position] = [wanted, position.into()].map(|it| Words.splat(it));
            level.at_position(value, position).number()
        };
        let found = level.slots_with(source, &read, Words.splat(wanted));
        let expected = marks(&|position| at_position(position));
        assert_eq!(positions(&level, found), expected, "{geometry:?}");
        // No value here is one in its alternate bucket.
        let place = Place { segment: 0, primary: bucket, alternate: bucket, value: wanted };
        let pair = |quads| Pair::read(geometry, quads, source, &place);
        let is_held = pair(None).contains(source);
        assert!(is_held.is_none_or(|is_held| is_held != expected.is_empty()));
        if let Some(quads) = geometry.codec.quads {
            assert_eq!(pair(Some(quads)).contains(source), Some(!expected.is_empty()));
        }
        let count = pair(None).count(source);
        assert_eq!(count as usize, expected.len());
        let free_slots = level.free_slots(source, &read);
        assert_eq!(positions(&level, free_slots), marks(&|_| 0));
        let other = level.bucket(source, (bucket + 1) % 9);
        let (in_alternate, emptier) = level.emptier(source, &read, &other);
        let more = level.free_slots(source, &other).number().count_ones();
        assert_eq!(in_alternate, more > free_slots.number().count_ones());
        let chosen = if in_alternate { other } else { read };
        assert_eq!(emptier.number(), level.free_slots(source, &chosen).number());
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
            let geometry = level_with(codec);
            let level = geometry.on_words();
            let buckets = 9;
            let slots = if layout == Layout::Overlapping { 10 } else { 9 * codec.slots as usize };
            let mut table = Table::new(0, geometry.bytes()).unwrap();
            let segment = &mut table.segment_mut(0);
            let stride = if layout == Layout::Overlapping { 1 } else { codec.slots as usize };
            let mut plain = vec![0u64; slots];
            // Few values, which differ in their lowest or highest bits only.
            let top = 1 << (codec.slot_bits - 1);
            let all = (1 << codec.slot_bits) - 1;
            let values = [4, 8, top | 4, top | 8].map(|value: u64| value & !3 & all);
            let at_position = |value: u64, position: u32| {
                let [value, position] = [value, position.into()].map(|it| Words.splat(it));
                level.at_position(value, position).number()
            };
            for _ in few_in_miri(0..400, 8) {
                let (bucket, position) = (random(buckets), random(u64::from(codec.slots)) as u32);
                let value = if random(3) == 0 { 0 } else { values[random(4) as usize] };
                let stored = if value == 0 { 0 } else { at_position(value, position) };
                let read = level.bucket(segment, bucket);
                let before = level.stored_at(segment, &read, position);
                let place = Words.splat(position.into());
                let source: &Segment = segment;
                let change = level.change(source, &read, place, Words.splat(before ^ stored));
                level.write(segment, &change);
                plain[bucket as usize * stride + position as usize] = stored;
                let bucket = random(buckets);
                let (source, read): (&Segment, _) = (segment, level.bucket(segment, bucket));
                let here = |position: u32| plain[bucket as usize * stride + position as usize];
                let marks = |wanted: &dyn Fn(u32) -> u64| {
                    let fits = |&position: &u32| here(position) == wanted(position);
                    (0..codec.slots).filter(fits).map(u64::from).collect::<Vec<_>>()
                };
                let wanted = values[random(4) as usize];
                check_bucket(&geometry, source, bucket, wanted, &marks);
                for position in 0..codec.slots {
                    assert_eq!(level.stored_at(source, &read, position), here(position));
                }
            }
            assert_eq!(codec.runs(0..slots as u64).map(|(_, run)| run.len()).sum::<usize>(), slots);
        }
    }
}
