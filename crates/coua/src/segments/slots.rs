//! One key in the slots of its two buckets.

use super::Segments;
use super::vectors::{KeyGroup, Preview, has};
use crate::kernel::{LevelGeometry, Levels, Pair, Place};

/// What came of placing a key that may be there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    Placed,
    /// A slot holds the key: nothing has changed.
    Held,
    /// Both its buckets are full.
    Blocked,
    /// It must be looked for more closely: nothing has changed.
    Unclear,
}

/// What to do with a key that is in no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfAbsent {
    Place,
    /// Leave it: it may be refused.
    Leave,
}

impl Segments {
    /// Whether a slot holds the key; `None` where [`copies`](Self::copies) must tell.
    #[inline(always)]
    pub(crate) fn holds(&self, level: &LevelGeometry, place: &Place) -> Option<bool> {
        let segment = self.table.segment(place.segment);
        Pair::read(level, segment, place).contains(segment)
    }

    /// How many slots hold the key.
    pub(crate) fn copies(&self, place: &Place) -> u32 {
        let segment = self.table.segment(place.segment);
        Pair::read(self.level_of(place.segment), segment, place).count(segment)
    }

    /// Puts a key that is in no slot into a free slot of the emptier of its buckets; not where items of its segment are in
    /// no slot.
    #[inline(always)]
    pub(crate) fn place_if_absent(
        &mut self,
        levels: impl Levels,
        place: &Place,
        if_absent: IfAbsent,
    ) -> Attempt {
        let level = self.level_in(levels, place.segment);
        let segment = &mut self.table.segment_mut(place.segment);
        let pair = Pair::read(&level, segment, place);
        let Some(is_held) = pair.contains(segment) else { return Attempt::Unclear };
        if is_held {
            Attempt::Held
        } else if if_absent == IfAbsent::Leave || segment.overflowed() > 0 {
            Attempt::Unclear
        } else if pair.insert(segment) {
            Attempt::Placed
        } else {
            Attempt::Blocked
        }
    }

    /// Puts an item into a free slot of the emptier of its buckets; false if both are full.
    #[inline(always)]
    pub(crate) fn place(&mut self, levels: impl Levels, place: &Place) -> bool {
        let level = self.level_in(levels, place.segment);
        let segment = &mut self.table.segment_mut(place.segment);
        Pair::read(&level, segment, place).insert(segment)
    }

    /// Takes a copy of the key out of its slot; `None` where [`take_slow`](Self::take_slow) must look.
    #[inline(always)]
    pub(crate) fn take(&mut self, levels: impl Levels, place: &Place) -> Option<bool> {
        let level = self.level_in(levels, place.segment);
        let segment = &mut self.table.segment_mut(place.segment);
        Pair::read(&level, segment, place).remove(segment)
    }

    /// [`take`](Self::take) that looks at every candidate.
    #[cold]
    pub(crate) fn take_slow(&mut self, place: Place) -> bool {
        let level = *self.level_of(place.segment);
        let segment = &mut self.table.segment_mut(place.segment);
        Pair::read(&level, segment, &place).remove_slow(segment)
    }

    /// Puts a key into the free slot that its preview found; false if it found none or is stale, or items of its
    /// segment are in no slot.
    #[inline(always)]
    pub(crate) fn place_previewed(
        &mut self,
        levels: impl Levels,
        keys: &KeyGroup,
        number: usize,
        preview: &Preview,
    ) -> bool {
        if !has(preview.placeable, number) {
            return false;
        }
        let index = keys.segment(number);
        let level = self.level_in(levels, index);
        let segment = &mut self.table.segment_mut(index);
        let may_place = segment.overflowed() == 0 && preview.is_current(keys, number, segment);
        if may_place {
            preview.change(number, &level.codec, segment);
            segment.count_filled();
        }
        may_place
    }

    /// Takes a copy of a key out of the slot that its preview found; `None` if the preview is stale, or the copy may
    /// lie outside of the slots.
    #[inline(always)]
    pub(crate) fn take_previewed(
        &mut self,
        levels: impl Levels,
        keys: &KeyGroup,
        number: usize,
        preview: &Preview,
    ) -> Option<bool> {
        let index = keys.segment(number);
        let level = self.level_in(levels, index);
        let segment = &mut self.table.segment_mut(index);
        if segment.has_overflow() {
            return None;
        }
        // Removals bring no key back.
        if has(preview.absent, number) {
            return Some(false);
        }
        if !preview.is_removable(number, segment) {
            return None;
        }
        preview.change(number, &level.codec, segment);
        segment.count_cleared();
        Some(true)
    }
}
