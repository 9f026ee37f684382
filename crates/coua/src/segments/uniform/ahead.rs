//! Vectors read ahead, before single words change the table: the buckets that the inserts or removals of a group of
//! keys will use, and the candidate moves of a group of eviction chains.
//!
//! The buckets of a group of keys are read before its first key is processed. Processing one key may change the buckets
//! of later keys, so each key first checks that its buckets are unchanged.

use super::{KeyGroup, LookAhead, Segments, Uniform, WIDTH};
use crate::kernel::{
    ALTERNATE, Buckets, Encoding, GROUP, GroupMoves, LevelGeometry, LookupResult, SLOTS, SlotCodec,
};
use crate::simd::{Isa, Vector};
use crate::table::{Segment, SegmentMut};

/// Which slot of a key's buckets a preview is to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The first free one of the emptier bucket, for an insert.
    Free,
    /// The one that holds the key, for a removal.
    Key,
}

/// Whether a mask has the bit of a key.
pub(crate) fn bit(mask: u16, number: usize) -> bool {
    mask >> number & 1 == 1
}

/// Preview of a group of keys, field by field as vectors write them; in the masks, each bit is a key's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Preview {
    /// The words of both buckets; set if a free slot is wanted.
    primary_word: [u64; WIDTH],
    alternate_word: [u64; WIDTH],
    /// The byte in which the bucket of the wanted slot begins.
    at: [u64; WIDTH],
    /// The bucket's word as it was previewed (for removals), and after the change.
    before: [u64; WIDTH],
    word: [u64; WIDTH],
    /// In wide buckets: the byte where the word with the slot's tail begins, and the bits of it that flip.
    tail_at: [u64; WIDTH],
    tail_change: [u64; WIDTH],
    /// The key is in a slot.
    pub(crate) held: u16,
    /// The key is in no slot.
    pub(crate) absent: u16,
    /// The key is in no slot, and both its buckets are full.
    pub(crate) full: u16,
    /// The key is in no slot, and one of its buckets has a free one.
    pub(crate) placeable: u16,
}

impl Preview {
    /// Whether both buckets of a key are as they were previewed.
    #[inline(always)]
    pub(crate) fn is_current(&self, keys: &KeyGroup, number: usize, segment: &Segment) -> bool {
        let primary = segment.word_at(keys.primary_bit[number] >> 3) ^ self.primary_word[number];
        let alternate =
            segment.word_at(keys.alternate_bit[number] >> 3) ^ self.alternate_word[number];
        primary | alternate == 0
    }

    /// Fills a key's slot that is free, or clears one that is not.
    #[inline(always)]
    pub(crate) fn change(&self, number: usize, codec: &SlotCodec, segment: &mut SegmentMut<'_>) {
        if codec.encoding == Encoding::Wide {
            let at = self.tail_at[number];
            segment.set_word_at(at, segment.word_at(at) ^ self.tail_change[number]);
        }
        segment.set_word_at(self.at[number], self.word[number]);
    }
}

impl Segments {
    /// Previews the buckets of a group of keys before its first key is processed; clears the preview if that does not pay.
    #[inline]
    pub(crate) fn preview(
        &self,
        level: &LevelGeometry,
        keys: &KeyGroup,
        wanted: Wanted,
        preview: &mut Preview,
    ) {
        let looks_ahead = match wanted {
            Wanted::Free => self.look_ahead(level, PreviewGroup::<true> { keys, preview }),
            Wanted::Key => self.look_ahead(level, PreviewGroup::<false> { keys, preview }),
        };
        if !looks_ahead {
            (preview.held, preview.absent, preview.full, preview.placeable) = (0, 0, 0, 0);
        }
    }

    /// Puts a key into the free slot that its preview found; false if it found none or is stale, or items of its
    /// segment are in no slot.
    #[inline(always)]
    pub(crate) fn place_previewed(
        &mut self,
        codec: &SlotCodec,
        keys: &KeyGroup,
        number: usize,
        preview: &Preview,
    ) -> bool {
        if !bit(preview.placeable, number) {
            return false;
        }
        let index = keys.segment(number);
        let segment = &mut self.table.segment_mut(index);
        let may_place = segment.overflowed() == 0 && preview.is_current(keys, number, segment);
        if may_place {
            preview.change(number, codec, segment);
            segment.count_filled();
        }
        may_place
    }

    /// Takes a copy of a key out of the slot that its preview found; `None` if the preview is stale, or the copy may
    /// lie outside of the slots.
    #[inline(always)]
    pub(crate) fn remove_previewed(
        &mut self,
        codec: &SlotCodec,
        keys: &KeyGroup,
        number: usize,
        preview: &Preview,
    ) -> Option<bool> {
        let index = keys.segment(number);
        let segment = &mut self.table.segment_mut(index);
        if segment.has_overflow() {
            return None;
        }
        // Removals bring no key back.
        if bit(preview.absent, number) {
            return Some(false);
        }
        let is_unchanged = || segment.word_at(preview.at[number]) == preview.before[number];
        if !(bit(preview.held, number) && is_unchanged()) {
            return None;
        }
        preview.change(number, codec, segment);
        segment.count_cleared();
        Some(true)
    }
}

/// `FREE`: free slots are [`Wanted`].
struct PreviewGroup<'a, const FREE: bool> {
    keys: &'a KeyGroup,
    preview: &'a mut Preview,
}

impl<const FREE: bool> LookAhead for PreviewGroup<'_, FREE> {
    #[inline(always)]
    fn look<I: Isa>(self, uniform: &Uniform<'_, I>) {
        // In registers: reading in one piece what was just written in two is slow.
        let (mut held, mut absent, mut full) = (0, 0, 0);
        for first in (0..WIDTH).step_by(I::LANES) {
            let masks = uniform.preview::<FREE>(self.keys, self.preview, first);
            held |= u16::from(masks[0]) << first;
            absent |= u16::from(masks[1]) << first;
            full |= u16::from(masks[2]) << first;
        }
        self.preview.held = held;
        self.preview.absent = absent;
        self.preview.full = absent & full;
        self.preview.placeable = absent & !full;
    }
}

impl<I: Isa> Uniform<'_, I> {
    /// Previews a vector of keys of a group, starting at key `first`. Returns three masks of keys: held, absent, and with
    /// both buckets full (if free slots are wanted).
    #[inline(always)]
    fn preview<const FREE: bool>(
        &self,
        keys: &KeyGroup,
        preview: &mut Preview,
        first: usize,
    ) -> [u8; 3] {
        let source = self.source(self.isa.load(&keys.segment[first..]));
        let primary = self.read(source, self.isa.load(&keys.primary_bit[first..]));
        let alternate = self.read(source, self.isa.load(&keys.alternate_bit[first..]));
        let value = self.isa.load(&keys.value[first..]);
        let LookupResult { found, doubtful, in_alternate, marks } =
            self.lookup(source, &primary, &alternate, value);
        let mut known = [found, !(found | doubtful), 0];
        let mut wanted = (in_alternate, marks);
        if FREE {
            primary.word.store(&mut preview.primary_word[first..]);
            alternate.word.store(&mut preview.alternate_word[first..]);
            wanted = self.emptier(&primary, &alternate);
            known[2] = I::Vector::bits(wanted.1.is_zero());
        }
        let known = known.map(|mask| mask & I::Vector::ALL);
        let (in_alternate, marks) = wanted;
        let bucket = Buckets::select(in_alternate, &alternate, &primary);
        bucket.at.store(&mut preview.at[first..]);
        if !FREE {
            bucket.word.store(&mut preview.before[first..]);
            if self.codec().encoding == Encoding::Narrow {
                self.cleared(&bucket, marks).store(&mut preview.word[first..]);
                return known;
            }
        }
        let value = I::Vector::select(in_alternate, value | self.splat(ALTERNATE), value);
        let position = self.first_position(marks);
        let change = self.change(&bucket, position, value);
        change.word.store(&mut preview.word[first..]);
        if self.codec().encoding == Encoding::Wide {
            change.tail_at.store(&mut preview.tail_at[first..]);
            change.tail.store(&mut preview.tail_change[first..]);
        }
        known
    }
}

impl Segments {
    /// Finds the moves of a group of chains; false if that does not pay.
    #[inline]
    pub(crate) fn find_moves(&self, level: &LevelGeometry, moves: &mut GroupMoves) -> bool {
        self.look_ahead(level, Moves::<true> { moves })
    }

    /// Finds out which of the found moves lead to free slots.
    #[inline]
    pub(crate) fn test_moves(&self, level: &LevelGeometry, moves: &mut GroupMoves) {
        moves.free = 0;
        self.look_ahead(level, Moves::<false> { moves });
    }
}

/// Finds the moves of a group, or tests those that were found.
struct Moves<'a, const FIND: bool> {
    moves: &'a mut GroupMoves,
}

impl<const FIND: bool> LookAhead for Moves<'_, FIND> {
    #[inline(always)]
    fn look<I: Isa>(self, uniform: &Uniform<'_, I>) {
        for first in (0..GROUP).step_by(I::LANES) {
            if FIND {
                uniform.find_moves(self.moves, first);
            } else {
                uniform.test_moves(self.moves, first);
            }
        }
    }
}

impl<I: Isa> Uniform<'_, I> {
    /// The moves of a vector of chains, the `first` of the group and those after it.
    #[inline(always)]
    fn find_moves(&self, moves: &mut GroupMoves, first: usize) {
        let source = self.source(self.isa.load(&moves.segment[first..]));
        let number = self.isa.load(&moves.from[first..]);
        let full = self.read(source, self.first_bits(number));
        for position in 0..SLOTS as usize {
            let value = self.stored(source, &full, self.splat(position as u64));
            self.alternates(number, value).store(&mut moves.bucket[position][first..]);
            (value ^ self.splat(ALTERNATE)).store(&mut moves.value[position][first..]);
        }
    }

    #[inline(always)]
    fn test_moves(&self, moves: &mut GroupMoves, first: usize) {
        let source = self.source(self.isa.load(&moves.segment[first..]));
        let (mut free, mut first_move) = (0, self.splat(0));
        for (position, buckets) in moves.bucket.iter().enumerate().rev() {
            let read = self.read(source, self.first_bits(self.isa.load(&buckets[first..])));
            let is_full = self.free_slots(&read).is_zero();
            free |= !I::Vector::bits(is_full) & I::Vector::ALL;
            first_move = I::Vector::select(is_full, first_move, self.splat(position as u64));
        }
        moves.free |= free << first;
        first_move.store(&mut moves.first[first..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{CHOICE_BITS, Place};
    use crate::segments::EvictionChain;
    use crate::simd::{Kernel, with_vectors};
    use crate::{CuckooFilter, KeyHash, WhenFull};

    /// Full buckets of a filter, as eviction chains.
    fn chains(filter: &CuckooFilter) -> Vec<EvictionChain> {
        let places = (0..filter.segments() as u32).flat_map(|segment| {
            let (level, place) =
                (filter.as_segments().level_of(segment), filter.as_segments().get(segment));
            let is_full = move |bucket: &u64| {
                let read = level.on_words().bucket(place, *bucket);
                level.on_words().free_slots(&read).number() == 0
            };
            (0..level.buckets).filter(is_full).map(move |primary| (segment, primary))
        });
        let preview = places.zip(0..).map(|((segment, primary), number)| Place {
            segment,
            primary,
            alternate: 0,
            value: number << CHOICE_BITS,
        });
        preview.map(|place| EvictionChain::new(&place)).collect()
    }

    /// Fails if vectors were compared with single words fewer times than `least`, unless they do not look ahead.
    fn check_looked_ahead(compared: usize, least: usize) {
        struct LooksAhead;
        impl Kernel for LooksAhead {
            type Output = bool;

            fn run<I: Isa>(self, _: I) -> bool {
                I::LOOKS_AHEAD
            }
        }
        if with_vectors(LooksAhead) {
            assert!(compared >= least, "{compared} comparisons, expected {least}");
        } else {
            assert_eq!(compared, 0);
            println!("skipped: words do not look ahead");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "words do not look ahead")]
    fn groups_find_the_moves_of_single_chains() {
        let (mut free, mut evicting) = (0, 0);
        for rate in [0.3, 0.01, 1e-4, 1e-9, 1e-12] {
            let filter = CuckooFilter::builder().capacity(60_000).rate(rate);
            let mut filter = filter.when_full(WhenFull::Refuse).build().unwrap();
            for number in 0..60_000u64 {
                let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                filter.insert(KeyHash::from_u64(hash ^ (hash >> 31))).unwrap();
            }
            let level = filter.as_segments().uniform().unwrap();
            let segments = filter.as_segments();
            for group in chains(&filter).as_chunks::<GROUP>().0 {
                let mut moves = GroupMoves {
                    segment: group.map(|it| it.segment.into()),
                    from: group.map(|it| it.bucket),
                    ..GroupMoves::default()
                };
                if !segments.find_moves(&level, &mut moves) {
                    continue;
                }
                segments.test_moves(&level, &mut moves);
                for (number, chain) in group.iter().enumerate() {
                    let candidate = moves.next(number, chain.victim());
                    let single = filter.as_segments().next_move(&level, chain);
                    assert_eq!(candidate, single, "{filter:?}");
                    *(if candidate.has_free_slot { &mut free } else { &mut evicting }) += 1;
                }
            }
        }
        check_looked_ahead(free, 1000);
        check_looked_ahead(evicting, 1000);
    }
}
