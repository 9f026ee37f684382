//! The arithmetic on slots and buckets, for a vector of keys at a time. A single key is a vector of one word.
//!
//! All slots of a bucket are compared at once: XOR with the repeated value, then find the zero lanes (Warren, Hacker's
//! Delight, 6-1). A *mark* is the highest bit of a lane.

#[cfg(test)]
use std::hint::select_unpredictable;

use super::level::{ALTERNATE, CHOICE_BITS, Encoding, LevelGeometry, Place, SLOTS, SlotCodec};
use crate::hash::KeyHash;
use crate::simd::{Isa, Vector, Word, Words};
use crate::table::Segment;

/// The segments of the buckets.
pub(crate) trait Source<V>: Copy {
    /// The eight bytes of each segment starting at byte `at`, as little-endian numbers. Panics if they are not all there.
    fn load(self, at: V) -> V;
}

impl Source<Word> for &Segment {
    #[inline(always)]
    fn load(self, at: Word) -> Word {
        Words.splat(self.word_at(at.number()))
    }
}

/// One bucket of each key, as it was read; stale once anything is written to it.
#[derive(Clone, Copy)]
pub(crate) struct Buckets<V> {
    /// The byte of the segment in which the bucket begins.
    pub(crate) at: V,
    /// Bits of that byte that come before the bucket.
    pub(crate) shift: V,
    /// The eight bytes starting at that byte.
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

    /// The lanes of a bucket, starting at the lowest bit.
    #[inline(always)]
    fn lanes(&self) -> V {
        self.word.shr_each(self.shift)
    }
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
    /// The byte of the segment where the bucket's word begins, and the new word.
    pub(crate) at: V,
    pub(crate) word: V,
    /// In wide buckets: the byte where the word with the slot's tail begins, and the bits of it that flip.
    pub(crate) tail_at: V,
    pub(crate) tail: V,
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

    /// The bits of a slot value that are never all 0 in a slot in use.
    pub(crate) fn low_part(&self) -> u64 {
        self.level.low_part()
    }

    /// Buckets of a segment.
    #[inline(always)]
    pub(crate) fn buckets(&self) -> u64 {
        self.level.buckets
    }

    #[inline(always)]
    pub(crate) fn codec(&self) -> &SlotCodec {
        &self.level.codec
    }

    #[inline(always)]
    pub(crate) fn splat(&self, value: u64) -> I::Vector {
        self.isa.splat(value)
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
        let value = fingerprint << CHOICE_BITS;
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

    /// The other buckets of items that have these values in these buckets.
    #[inline(always)]
    pub(crate) fn alternates(&self, bucket: I::Vector, value: I::Vector) -> I::Vector {
        let buckets = self.splat(self.level.buckets);
        let offset = self.offsets(value >> CHOICE_BITS);
        let in_primary = (value & self.splat(ALTERNATE)).is_zero();
        let distance = I::Vector::select(in_primary, offset, buckets - offset);
        (bucket + distance).wrapped(buckets)
    }

    /// The first bits of buckets, counted from the first bit of the segment.
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
        let lane = bucket.word.shr_each(shift) & self.splat(lane_mask);
        match encoding {
            Encoding::Narrow => lane,
            Encoding::Wide => lane | (self.tails(source, bucket, position) << lane_bits),
        }
    }

    /// The tails of the values at these positions.
    #[inline(always)]
    fn tails(
        &self,
        source: impl Source<I::Vector>,
        bucket: &Buckets<I::Vector>,
        position: I::Vector,
    ) -> I::Vector {
        let (word, shift) = self.tail_places(bucket.shift, position);
        let word = source.load(bucket.at + (word >> 3));
        word.shr_each(shift) & self.splat(self.codec().tail_mask)
    }

    /// The bit offset of the word with each tail, from the first byte of the bucket, and the shift of the tail in that
    /// word. No word ends after its bucket: later bytes may lie in a cache line that was not prefetched.
    #[inline(always)]
    fn tail_places(&self, shift: I::Vector, position: I::Vector) -> (I::Vector, I::Vector) {
        let codec = self.codec();
        let whole_bytes = self.splat(!7);
        let offset = position.multiply_small(self.splat(codec.tail_bits.into()));
        let tail = shift + self.splat((SLOTS * codec.lane_bits).into()) + offset;
        // The word that ends with the bucket's last byte. It begins in the bucket, for a wide bucket has more
        // than 57 bits.
        let last = (shift + self.splat(codec.bucket_bits - 57)) & whole_bytes;
        let word = (tail & whole_bytes).min(last);
        (word, tail - word)
    }

    /// Flips the bits of `change` in the slots at these positions of buckets that were just read.
    #[inline(always)]
    pub(crate) fn change(
        &self,
        bucket: &Buckets<I::Vector>,
        position: I::Vector,
        change: I::Vector,
    ) -> SlotChange<I::Vector> {
        let &SlotCodec { lane_bits, lane_mask, encoding, .. } = self.codec();
        let shift = bucket.shift + position.multiply_small(self.splat(lane_bits.into()));
        let lane = (change & self.splat(lane_mask)).shl_each(shift);
        let Buckets { at, word, .. } = *bucket;
        if encoding == Encoding::Narrow {
            return SlotChange { at, word: word ^ lane, tail_at: at, tail: self.splat(0) };
        }
        let (tail_word, shift) = self.tail_places(bucket.shift, position);
        let tail = (change >> lane_bits).shl_each(shift);
        // The two words may share bytes.
        let word = word ^ lane ^ tail.shl_far(tail_word);
        SlotChange { at, word, tail_at: at + (tail_word >> 3), tail }
    }
}

/// All slots of buckets at once.
impl<I: Isa> LevelVectors<I> {
    /// The keys for which some lane of one of their narrow buckets is equal: a bit for each.
    #[inline(always)]
    pub(crate) fn any_candidate(
        &self,
        primary: &Buckets<I::Vector>,
        alternate: &Buckets<I::Vector>,
        value: I::Vector,
    ) -> u8 {
        let &SlotCodec { ones, high, .. } = self.codec();
        let (here, there) = self.differences(primary, alternate, value);
        // The inverse of `(lanes - ones).and_not(lanes)`: without an instruction for `and_not` it is shorter. A carry only
        // leaves lanes that are zero, so it cannot make the lowest zero lane wrong.
        let (below, high) = (self.splat(ones - 1), self.splat(high));
        let unequal = (here | (below - here)) & (there | (below - there)) & high;
        !I::Vector::bits(unequal.equals(high)) & I::Vector::ALL
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
        let (here, there) = self.differences(primary, alternate, value);
        let (here, there) = (self.lowest_zero_lane(here), self.lowest_zero_lane(there));
        let in_alternate = here.is_zero();
        let marks = I::Vector::select(in_alternate, there, here);
        let found = !I::Vector::bits(marks.is_zero()) & I::Vector::ALL;
        if self.codec().encoding == Encoding::Narrow || found == 0 {
            return LookupResult { found, doubtful: 0, in_alternate, marks };
        }
        let bucket = Buckets::select(in_alternate, alternate, primary);
        let value = I::Vector::select(in_alternate, there_value, value);
        // For a key without a mark, the tail of any position is read.
        let tail = self.tails(source, &bucket, self.first_position(marks));
        let equal = I::Vector::bits(tail.equals(value >> self.codec().lane_bits));
        LookupResult { found: found & equal, doubtful: found & !equal, in_alternate, marks }
    }

    /// The lanes of both buckets, 0 where a lane equals that of the key.
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

    /// Each value in every lane; of a wide bucket, the bits that a lane has.
    #[inline(always)]
    fn repeated(&self, value: I::Vector) -> I::Vector {
        let &SlotCodec { ones, lane_mask, encoding, .. } = self.codec();
        let is_narrow = encoding == Encoding::Narrow;
        let lane = if is_narrow { value } else { value & self.splat(lane_mask) };
        lane.multiply(self.splat(ones))
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
        let mut marks = self.splat(0);
        // No closures: they would not be compiled for the vectors.
        for number in 0..SLOTS {
            let stored = self.stored(source, bucket, self.splat(number.into()));
            let mark = self.splat(1 << ((number + 1) * self.codec().lane_bits - 1));
            marks = marks | I::Vector::select(stored.equals(value), mark, self.splat(0));
        }
        marks
    }

    /// Marks the free slots.
    #[inline(always)]
    pub(crate) fn free_slots(&self, bucket: &Buckets<I::Vector>) -> I::Vector {
        self.zero_lanes(bucket.lanes())
    }

    /// Marks the lanes of the slots for which a bit is set, in buckets whose lanes have 16 bits.
    #[inline(always)]
    pub(crate) fn marks(&self, slots: I::Vector) -> I::Vector {
        // Four copies: each has the bit of one slot at the highest bit of the slot's lane.
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
        primary: &Buckets<I::Vector>,
        alternate: &Buckets<I::Vector>,
    ) -> (<I::Vector as Vector>::Mask, I::Vector) {
        let (here, there) = (self.free_slots(primary), self.free_slots(alternate));
        let in_alternate = self.sum(here).is_below(self.sum(there));
        (in_alternate, I::Vector::select(in_alternate, there, here))
    }

    /// The number of marked lanes, shifted to the last lane. The last lane of the product is the sum of all lanes: old
    /// processors, and Arm, have no short instruction that counts bits.
    #[inline(always)]
    fn sum(&self, marks: I::Vector) -> I::Vector {
        let &SlotCodec { ones, lane_bits, last_lane, .. } = self.codec();
        let first_bits = marks >> (lane_bits - 1);
        first_bits.multiply(self.splat(ones)) & self.splat(last_lane)
    }

    /// The position of the first mark; any position if there is none.
    #[inline(always)]
    pub(crate) fn first_position(&self, marks: I::Vector) -> I::Vector {
        let &SlotCodec { high, lane_bits, lane_of_bit, .. } = self.codec();
        if let Some(bit) = marks.trailing_zeros() {
            return bit.multiply_small(self.splat(lane_of_bit.into())) >> 16;
        }
        let last = 1 << (SLOTS * lane_bits - 1);
        let below = (marks - self.splat(1)).and_not(marks);
        self.sum(below & self.splat(high ^ last)) >> ((SLOTS - 1) * lane_bits)
    }

    /// The words of narrow buckets with the lowest marked lane cleared; each bucket has a mark.
    #[inline(always)]
    pub(crate) fn cleared(&self, bucket: &Buckets<I::Vector>, marks: I::Vector) -> I::Vector {
        // All bits of the lane; the mark is the highest.
        let highest = marks & (self.splat(0) - marks);
        let lane = (highest << 1) - (highest >> (self.codec().lane_bits - 1));
        bucket.word.and_not(lane.shl_each(bucket.shift))
    }
}

#[inline(always)]
fn multiply_high(a: u64, b: u64) -> (u64, u64) {
    let wide = u128::from(a) * u128::from(b);
    ((wide >> 64) as u64, wide as u64)
}

impl LevelGeometry {
    /// The level, for one key at a time.
    #[inline(always)]
    pub(crate) fn on_words(&self) -> LevelVectors<Words> {
        LevelVectors::new(Words, self)
    }

    /// From hash to buckets and slot value. The caller has found the segment.
    #[inline(always)]
    pub(crate) fn locate(&self, hash: KeyHash, segment: u32) -> Place {
        let suffix = hash.to_u64() & self.suffix_mask;
        let (primary, rest) = multiply_high(suffix, self.scaled_buckets);
        // The fingerprint is top * 2^g + low + 1, and the cell's number in its bucket is top * (2^g - 1) + low.
        let (top, _) = multiply_high(rest, self.top_factor);
        let (cell, _) = multiply_high(rest, self.scaled_low_range);
        let fingerprint = cell + top + 1;
        let [at, mixed] = [primary, fingerprint].map(|number| Words.splat(number));
        let alternate = self.on_words().alternate_of(at, mixed).number();
        Place { segment, primary, alternate, value: fingerprint << CHOICE_BITS }
    }

    /// The smallest hash of the cell that `value` in `bucket` represents; `prefix` is the segment's
    /// hash prefix, in the most significant bits.
    pub(crate) fn representative(&self, prefix: u64, bucket: u64, value: u64) -> KeyHash {
        let primary = if value & ALTERNATE == 0 {
            bucket
        } else {
            self.on_words().other_bucket(bucket, value)
        };
        let fingerprint = value >> CHOICE_BITS;
        let range = u128::from(self.low_range);
        let top = fingerprint >> self.low_bits;
        let low = (fingerprint & self.low_range).saturating_sub(1);
        let cell = u128::from((primary << self.top_bits) | top) * range + u128::from(low);
        let cells = (u128::from(self.buckets) << self.top_bits) * range;
        // The builder keeps cells * 2^depth <= 2^64, or suffix_bits <= 63 where it is more.
        let suffix = ((cell << self.suffix_bits).div_ceil(cells)) as u64;
        let below_prefix = 64 - self.depth - self.suffix_bits;
        KeyHash::from_u64(prefix | (suffix << below_prefix))
    }
}

impl LevelVectors<Words> {
    /// The other bucket of an item that has this value in `bucket`.
    #[inline(always)]
    pub(crate) fn other_bucket(&self, bucket: u64, value: u64) -> u64 {
        self.alternates(Words.splat(bucket), Words.splat(value)).number()
    }
}

/// The reference implementation of a split, item by item.
#[cfg(test)]
impl LevelGeometry {
    /// The primary bucket and the value of an item after a split. The buckets of both children are numbered
    /// consecutively.
    pub(crate) fn in_children(&self, bucket: u64, value: u64) -> (u64, u64) {
        let other = self.on_words().other_bucket(bucket, value);
        let primary = select_unpredictable(value & ALTERNATE == 0, bucket, other);
        // Bucket and top bits together are one number in the order of the hash: the first of the top bits goes to
        // the bucket.
        let first = self.codec.slot_bits - 1;
        ((primary << 1) | (value >> first), value & ((1 << first) - 1) & !ALTERNATE)
    }

    /// The alternate bucket of an item in two children of this level, numbered as in
    /// [`in_children`](Self::in_children).
    pub(crate) fn alternate_in_children(&self, primary: u64, value: u64) -> u64 {
        let first = select_unpredictable(primary >= self.buckets, self.buckets, 0);
        let fingerprint = Words.splat(value >> CHOICE_BITS);
        let in_child = Words.splat(primary - first);
        first + self.on_words().alternate_of(in_child, fingerprint).number()
    }
}

#[cfg(test)]
mod tests {
    use super::super::level::tests::{all_codecs, level_with};
    use super::*;
    use crate::kernel::Pair;
    use crate::smoke::few_in_miri;
    use crate::table::Table;

    #[test]
    fn a_word_with_a_tail_lies_within_its_bucket() {
        for codec in all_codecs().filter(|codec| codec.encoding == Encoding::Wide) {
            let level = level_with(codec).on_words();
            for number in 0..64 {
                let bit = number * codec.bucket_bits;
                let bytes = bit & !7..(bit + codec.bucket_bits).next_multiple_of(8);
                for position in 0..SLOTS {
                    let tail_bit = u64::from(SLOTS * codec.lane_bits + position * codec.tail_bits);
                    let [within, at] = [bit & 7, position.into()].map(|it| Words.splat(it));
                    let (word, shift) = level.tail_places(within, at);
                    let (word, shift) = ((bit & !7) + word.number(), shift.number());
                    assert!(bytes.start <= word && word + 64 <= bytes.end, "{codec:?}");
                    assert_eq!(word + shift, bit + tail_bit);
                    assert!(shift + u64::from(codec.tail_bits) <= 64, "{codec:?}");
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

    /// The positions of a bucket that hold a value.
    type Find<'a> = dyn Fn(u64) -> Vec<u64> + 'a;

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
        let found = level.slots_with(source, &read, Words.splat(wanted));
        let expected = marks(wanted);
        assert_eq!(positions(&level, found), expected, "{geometry:?}");
        // No value here is one in its alternate bucket.
        let place = Place { segment: 0, primary: bucket, alternate: bucket, value: wanted };
        let pair = |avx2| Pair::read(geometry, avx2, source, &place);
        let is_held = pair(None).contains(source);
        assert!(is_held.is_none_or(|is_held| is_held != expected.is_empty()));
        if geometry.codec.avx2.is_some() {
            assert_eq!(pair(geometry.codec.avx2).contains(source), Some(!expected.is_empty()));
        }
        let count = pair(None).count(source);
        assert_eq!(count as usize, expected.len());
        let free_slots = level.free_slots(&read);
        assert_eq!(positions(&level, free_slots), marks(0));
        let other = level.bucket(source, (bucket + 1) % 9);
        let (in_alternate, emptier) = level.emptier(&read, &other);
        let more = level.free_slots(&other).number().count_ones();
        assert_eq!(in_alternate, more > free_slots.number().count_ones());
        let chosen = if in_alternate { other } else { read };
        assert_eq!(emptier.number(), level.free_slots(&chosen).number());
    }

    /// The reference implementation: slot by slot, from the values written.
    #[test]
    fn buckets_equal_plain_slots() {
        let mut state = 1u64;
        let mut random = move |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
        for codec in all_codecs() {
            let geometry = level_with(codec);
            let level = geometry.on_words();
            let buckets = 9;
            let mut table = Table::new(0, geometry.bytes()).unwrap();
            let segment = &mut table.segment_mut(0);
            let mut plain = [0u64; 9 * SLOTS as usize];
            // Few values, which differ in their lowest or highest bits only.
            let top = 1 << (codec.slot_bits - 1);
            let all = (1 << codec.slot_bits) - 1;
            let values = [4, 8, top | 4, top | 8].map(|value: u64| value & !3 & all);
            for _ in few_in_miri(0..400, 8) {
                let (bucket, position) = (random(buckets), random(u64::from(SLOTS)) as u32);
                let stored = if random(3) == 0 { 0 } else { values[random(4) as usize] };
                let read = level.bucket(segment, bucket);
                let before = level.stored_at(segment, &read, position);
                let place = Words.splat(position.into());
                let change = level.change(&read, place, Words.splat(before ^ stored));
                level.write(segment, &change);
                plain[bucket as usize * SLOTS as usize + position as usize] = stored;
                let bucket = random(buckets);
                let (source, read): (&Segment, _) = (segment, level.bucket(segment, bucket));
                let here =
                    |position: u32| plain[bucket as usize * SLOTS as usize + position as usize];
                let marks = |wanted: u64| {
                    let fits = |&position: &u32| here(position) == wanted;
                    (0..SLOTS).filter(fits).map(u64::from).collect::<Vec<_>>()
                };
                let wanted = values[random(4) as usize];
                check_bucket(&geometry, source, bucket, wanted, &marks);
                for position in 0..SLOTS {
                    assert_eq!(level.stored_at(source, &read, position), here(position));
                }
            }
        }
    }
}
