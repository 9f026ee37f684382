//! One bucket at a time: vectors of one word.

use std::ops::Range;

use super::codec::Encoding;
use super::level::LevelGeometry;
use super::vectors::{Buckets, Change, LevelVectors};
use crate::simd::{Isa, Word, Words};
use crate::table::{Segment, SegmentMut};

impl LevelGeometry {
    /// The level, for one key at a time.
    #[inline(always)]
    pub(crate) fn on_words(&self) -> LevelVectors<Words> {
        LevelVectors::new(Words, self)
    }

    /// The bucket and the value of each of these slots; the value of a free slot is 0. Disjoint buckets are visited
    /// whole.
    #[inline(always)]
    pub(crate) fn items(
        &self,
        segment: &Segment,
        slots: Range<u64>,
    ) -> impl Iterator<Item = (u64, u64)> {
        let level = self.on_words();
        self.codec.runs(slots).flat_map(move |(number, positions)| {
            let bucket = level.bucket(segment, number);
            positions.map(move |position| level.item_at(segment, number, &bucket, position))
        })
    }
}

impl LevelVectors<Words> {
    /// Reads a bucket.
    #[inline(always)]
    pub(crate) fn bucket(&self, segment: &Segment, number: u64) -> Buckets<Word> {
        self.read(segment, self.first_bits(Words.splat(number)))
    }

    /// What is stored at a position of a bucket.
    #[inline(always)]
    pub(crate) fn stored_at(
        &self,
        segment: &Segment,
        bucket: &Buckets<Word>,
        position: u32,
    ) -> u64 {
        self.stored(segment, bucket, Words.splat(position.into())).number()
    }

    /// The bucket and the value of the item at a position of a bucket.
    #[inline(always)]
    pub(crate) fn item_at(
        &self,
        segment: &Segment,
        number: u64,
        bucket: &Buckets<Word>,
        position: u32,
    ) -> (u64, u64) {
        let position = Words.splat(position.into());
        let stored = self.stored(segment, bucket, position);
        let items = self.items_at(Words.splat(number), position, stored);
        (items.own.number(), items.value.number())
    }

    /// Whether the values of a disjoint bucket, of which these slots are free, could be those of items: none that is not
    /// free has a low part of 0, which lies in the lane.
    #[inline(always)]
    pub(crate) fn is_sound(
        &self,
        segment: &Segment,
        bucket: &Buckets<Word>,
        free_slots: Word,
    ) -> bool {
        let has_no_rest = self.codec().encoding != Encoding::Wide
            || (0..self.codec().slots).all(|position| {
                let lanes = free_slots.number() >> (position * self.codec().lane_bits);
                let is_free = lanes >> (self.codec().lane_bits - 1) & 1 == 1;
                !is_free || self.stored_at(segment, bucket, position) == 0
            });
        has_no_rest && self.lanes_without(bucket, self.low_part()).number() == free_slots.number()
    }

    /// Writes the change of a slot.
    #[inline(always)]
    pub(crate) fn write(&self, segment: &mut SegmentMut<'_>, change: &Change<Word>) {
        if self.codec().encoding == Encoding::Wide {
            let rest_at = change.rest_at.number();
            let rest = segment.word_at(rest_at) ^ change.rest.number();
            segment.set_word_at(rest_at, rest);
        }
        segment.set_word_at(change.at.number(), change.word.number());
    }
}
