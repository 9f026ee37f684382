//! Both buckets of a key: finding it there, putting it in, taking it out. One bucket at a time: vectors of one word.

use std::ops::Range;

use super::level::{ALTERNATE, Encoding, LevelGeometry, Place, SLOTS};
use super::vectors::{Buckets, LevelVectors, LookupResult, SlotChange};
use crate::simd::{Avx2Bucket, Isa, Vector, Word, Words};
use crate::table::{Segment, SegmentMut};

/// Whether a bucket is the alternate one.
type Mask = <Word as Vector>::Mask;

/// Both buckets of a key, read at once.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    level: LevelVectors<Words>,
    avx2: Option<&'static Avx2Bucket>,
    primary: Buckets<Word>,
    alternate: Buckets<Word>,
    place: Place,
}

impl Pair {
    #[inline(always)]
    pub(crate) fn read(
        level: &LevelGeometry,
        avx2: Option<&'static Avx2Bucket>,
        segment: &Segment,
        place: &Place,
    ) -> Self {
        let level = level.on_words();
        let bucket = |number| match avx2 {
            Some(avx2) => avx2.bucket(segment, number),
            None => level.bucket(segment, number),
        };
        let (primary, alternate) = (bucket(place.primary), bucket(place.alternate));
        Self { level, avx2, primary, alternate, place: *place }
    }

    #[inline(always)]
    fn lookup(&self, segment: &Segment) -> LookupResult<Word> {
        let Self { level, primary, alternate, place, .. } = self;
        let value = Words.splat(place.value);
        let Some(avx2) = self.avx2 else {
            return level.lookup(segment, primary, alternate, value);
        };
        let [here, there] = avx2.matches(avx2.read(segment, place), place.value);
        let in_alternate = here == 0;
        let marks = level.marks(Words.splat(u64::from(if in_alternate { there } else { here })));
        LookupResult { found: u8::from(here | there != 0), doubtful: 0, in_alternate, marks }
    }

    /// Whether one of the buckets has a free slot.
    pub(crate) fn has_free_slot(&self) -> bool {
        let buckets = [&self.primary, &self.alternate];
        buckets.into_iter().any(|bucket| self.level.free_slots(bucket).number() != 0)
    }

    /// One of the buckets, and the key's value there.
    #[inline(always)]
    fn bucket(&self, in_alternate: Mask) -> (Buckets<Word>, Word) {
        // Which it is is unpredictable: no branch on it.
        let bucket = Buckets::select(in_alternate, &self.alternate, &self.primary);
        let choice = u64::from(in_alternate) * ALTERNATE;
        (bucket, Words.splat(self.place.value | choice))
    }

    /// Whether a slot holds the key; `None` if undecided: then use [`count`](Self::count).
    #[inline(always)]
    pub(crate) fn contains(&self, segment: &Segment) -> Option<bool> {
        if self.level.codec().encoding == Encoding::Narrow {
            let value = Words.splat(self.place.value);
            let found = self.level.any_candidate(&self.primary, &self.alternate, value);
            return Some(found != 0);
        }
        let LookupResult { found, doubtful, .. } = self.lookup(segment);
        (doubtful == 0).then_some(found != 0)
    }

    /// The number of slots that hold the key.
    pub(crate) fn count(&self, segment: &Segment) -> u32 {
        let marks = [false, true].map(|in_alternate| self.matches(segment, in_alternate));
        marks.iter().map(|marks| marks.number().count_ones()).sum()
    }

    /// Marks the slots of one of the buckets that hold the key.
    fn matches(&self, segment: &Segment, in_alternate: Mask) -> Word {
        let (bucket, value) = self.bucket(in_alternate);
        self.level.slots_with(segment, &bucket, value)
    }

    /// Puts the item into a free slot of the emptier bucket; false if both buckets are full.
    #[inline(always)]
    pub(crate) fn insert(&self, segment: &mut SegmentMut<'_>) -> bool {
        let (in_alternate, free_slots) = self.level.emptier(&self.primary, &self.alternate);
        if free_slots.number() == 0 {
            return false;
        }
        self.toggle(segment, in_alternate, self.level.first_position(free_slots));
        segment.count_filled();
        true
    }

    /// Takes one copy out of its slot; `None` if undecided: then use [`remove_slow`](Self::remove_slow).
    #[inline(always)]
    pub(crate) fn remove(&self, segment: &mut SegmentMut<'_>) -> Option<bool> {
        let LookupResult { found, doubtful, in_alternate, marks } = self.lookup(segment);
        if doubtful != 0 {
            return None;
        }
        if found == 0 {
            return Some(false);
        }
        if self.level.codec().encoding == Encoding::Narrow {
            // The slot's position is not needed.
            let (bucket, _) = self.bucket(in_alternate);
            let word = self.level.cleared(&bucket, marks);
            segment.set_word_at(bucket.at.number(), word.number());
        } else {
            self.toggle(segment, in_alternate, self.level.first_position(marks));
        }
        segment.count_cleared();
        Some(true)
    }

    /// [`remove`](Self::remove) that looks at every candidate.
    pub(crate) fn remove_slow(&self, segment: &mut SegmentMut<'_>) -> bool {
        let found = [false, true].into_iter().find_map(|in_alternate| {
            let marks = self.matches(segment, in_alternate);
            (marks.number() != 0).then_some((in_alternate, marks))
        });
        let Some((in_alternate, marks)) = found else { return false };
        self.toggle(segment, in_alternate, self.level.first_position(marks));
        segment.count_cleared();
        true
    }

    /// Fills the slot at `position` with the key, or clears it if it holds the key.
    #[inline(always)]
    fn toggle(&self, segment: &mut SegmentMut<'_>, in_alternate: Mask, position: Word) {
        let (bucket, value) = self.bucket(in_alternate);
        let change = self.level.change(&bucket, position, value);
        self.level.write(segment, &change);
    }
}

impl Avx2Bucket {
    /// The bytes of both buckets of a key.
    #[inline(always)]
    fn read<'a>(&self, segment: &'a Segment, place: &Place) -> [&'a [u8]; 2] {
        let read = |bucket| segment.bytes_at(self.first_byte(bucket), self.bytes());
        [place.primary, place.alternate].map(read)
    }

    /// Reads a bucket.
    #[inline(always)]
    fn bucket(&self, segment: &Segment, number: u64) -> Buckets<Word> {
        let at = self.first_byte(number);
        let bytes = segment.bytes_at(at, self.bytes());
        let word = u64::from_le_bytes(*bytes.first_chunk().expect("more than a word"));
        Buckets { at: Words.splat(at), shift: Words.splat(0), word: Words.splat(word) }
    }

    /// Whether a slot of a key's two buckets holds the key.
    #[inline(always)]
    pub(crate) fn contains(&self, segment: &Segment, place: &Place) -> bool {
        self.any_match(self.read(segment, place), place.value)
    }
}

impl LevelGeometry {
    /// The bucket and the value of each slot of these buckets; the value of a free slot is 0.
    #[inline(always)]
    pub(crate) fn items(
        &self,
        segment: &Segment,
        buckets: Range<u64>,
    ) -> impl Iterator<Item = (u64, u64)> {
        let level = self.on_words();
        buckets.flat_map(move |number| {
            let bucket = level.bucket(segment, number);
            (0..SLOTS).map(move |position| (number, level.stored_at(segment, &bucket, position)))
        })
    }
}

impl LevelVectors<Words> {
    /// Reads a bucket.
    #[inline(always)]
    pub(crate) fn bucket(&self, segment: &Segment, number: u64) -> Buckets<Word> {
        self.read(segment, self.first_bits(Words.splat(number)))
    }

    /// The value stored at a position of a bucket.
    #[inline(always)]
    pub(crate) fn stored_at(
        &self,
        segment: &Segment,
        bucket: &Buckets<Word>,
        position: u32,
    ) -> u64 {
        self.stored(segment, bucket, Words.splat(position.into())).number()
    }

    /// Whether every used slot of a bucket has a non-zero low part, and every free slot an empty tail, as with real items.
    #[inline(always)]
    pub(crate) fn is_sound(
        &self,
        segment: &Segment,
        bucket: &Buckets<Word>,
        free_slots: Word,
    ) -> bool {
        let has_no_tail = self.codec().encoding == Encoding::Narrow
            || (0..SLOTS).all(|position| {
                let lanes = free_slots.number() >> (position * self.codec().lane_bits);
                let is_free = lanes >> (self.codec().lane_bits - 1) & 1 == 1;
                !is_free || self.stored_at(segment, bucket, position) == 0
            });
        has_no_tail && self.lanes_without(bucket, self.low_part()).number() == free_slots.number()
    }

    /// Writes the change of a slot.
    #[inline(always)]
    pub(crate) fn write(&self, segment: &mut SegmentMut<'_>, change: &SlotChange<Word>) {
        if self.codec().encoding == Encoding::Wide {
            let tail_at = change.tail_at.number();
            let tail = segment.word_at(tail_at) ^ change.tail.number();
            segment.set_word_at(tail_at, tail);
        }
        segment.set_word_at(change.at.number(), change.word.number());
    }
}

#[cfg(test)]
mod tests {
    use super::super::level::tests::{all_codecs, level_with};
    use super::*;
    use crate::table::Table;

    /// Each slot holds the wanted value, or one that differs in one bit.
    #[test]
    fn whole_buckets_are_compared_bit_by_bit() {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 20
        };
        let mut widths = 0;
        for codec in all_codecs() {
            let Some(avx2) = codec.avx2 else { continue };
            let level = level_with(codec);
            let value = random() & ((1 << codec.slot_bits) - 1) & !ALTERNATE;
            let values: Vec<u64> = (0..level.buckets * u64::from(SLOTS))
                .map(|_| value ^ (random() % 2) << (random() % u64::from(codec.slot_bits)))
                .collect();
            let mut table = Table::new(0, level.bytes()).unwrap();
            level.fill(&mut table.segment_mut(0), &values);
            let holding = |bucket: u64, value: u64| {
                let slots = &values[4 * bucket as usize..][..4];
                (0..4).map(|slot| u8::from(slots[slot] == value) << slot).sum::<u8>()
            };
            for (primary, alternate) in
                (0..level.buckets).flat_map(|one| (0..level.buckets).map(move |it| (one, it)))
            {
                let place = Place { segment: 0, primary, alternate, value };
                let expected = [holding(primary, value), holding(alternate, value | ALTERNATE)];
                let buckets = avx2.read(table.segment(0), &place);
                assert_eq!(avx2.matches(buckets, value), expected, "{codec:?}");
                assert_eq!(avx2.contains(table.segment(0), &place), expected != [0; 2]);
            }
            widths += 1;
        }
        if Avx2Bucket::of(43).is_some() {
            assert!(widths > 30, "{widths}");
        } else {
            println!("skipped: whole buckets are not compared");
        }
    }
}
