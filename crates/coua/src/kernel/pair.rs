//! Both buckets of a key: finding it there, putting it in, taking it out.

use super::codec::Encoding;
use super::level::LevelGeometry;
use super::level::{ALTERNATE, Place};
use super::vectors::{Buckets, LevelVectors, LookupResult};
use crate::simd::{Isa, Vector, Word, Words};
use crate::table::{Segment, SegmentMut};

/// Whether it is the alternate bucket.
type Mask = <Word as Vector>::Mask;

/// Both buckets of a key, read at once.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    level: LevelVectors<Words>,
    primary: Buckets<Word>,
    alternate: Buckets<Word>,
    /// The slot value in the primary bucket.
    value: Word,
}

impl Pair {
    #[inline(always)]
    pub(crate) fn read(level: &LevelGeometry, segment: &Segment, place: &Place) -> Self {
        let level = level.on_words();
        let bucket = |bucket: u64| level.read(segment, level.first_bits(Words.splat(bucket)));
        let (primary, alternate) = (bucket(place.primary), bucket(place.alternate));
        Self { level, primary, alternate, value: Words.splat(place.value) }
    }

    #[inline(always)]
    fn lookup(&self, segment: &Segment) -> LookupResult<Word> {
        self.level.lookup(segment, &self.primary, &self.alternate, self.value)
    }

    /// One of the buckets, and the key's value there.
    #[inline(always)]
    fn bucket(&self, in_alternate: Mask) -> (Buckets<Word>, Word) {
        // Which it is is unpredictable: no branch on it.
        let bucket = Buckets::select(in_alternate, &self.alternate, &self.primary);
        let choice = u64::from(in_alternate) * ALTERNATE;
        (bucket, Words.splat(self.value.number() | choice))
    }

    /// Whether a slot holds the key; `None` where [`count`](Self::count) must tell.
    #[inline(always)]
    pub(crate) fn contains(&self, segment: &Segment) -> Option<bool> {
        if self.level.codec().encoding == Encoding::Narrow {
            let found = self.level.any_candidate(&self.primary, &self.alternate, self.value);
            return Some(found != 0);
        }
        let LookupResult { found, doubtful, .. } = self.lookup(segment);
        (doubtful == 0).then_some(found != 0)
    }

    /// How many slots hold the key.
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
        let source: &Segment = segment;
        let (in_alternate, free_slots) = self.level.emptier(source, &self.primary, &self.alternate);
        if free_slots.number() == 0 {
            return false;
        }
        self.toggle(segment, in_alternate, self.level.first_position(free_slots));
        segment.count_filled();
        true
    }

    /// Takes one copy out of its slot; `None` where [`remove_slow`](Self::remove_slow) must look.
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
        let stored = self.level.at_position(value, position);
        let source: &Segment = segment;
        let change = self.level.change(source, &bucket, position, stored);
        self.level.write(segment, &change);
    }
}
