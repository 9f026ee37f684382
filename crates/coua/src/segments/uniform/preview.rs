//! Previews of the buckets that the inserts or removals of a group of keys will use.
//!
//! The buckets of a group are read in vectors before its first key is processed. Processing one key may change the
//! buckets of later keys, so each key first checks that its buckets are unchanged.

use super::{KeyGroup, LookAhead, Segments, Uniform, WIDTH};
use crate::kernel::{ALTERNATE, Buckets, Encoding, KnownLevel, LookupResult, SlotCodec};
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
    /// Clears what is known of all keys.
    fn forget(&mut self) {
        (self.held, self.absent, self.full, self.placeable) = (0, 0, 0, 0);
    }

    /// Whether both buckets of a key are as they were previewed.
    #[inline(always)]
    pub(crate) fn is_current(&self, keys: &KeyGroup, number: usize, segment: &Segment) -> bool {
        let primary = segment.word(keys.primary_bit[number]) ^ self.primary_word[number];
        let alternate = segment.word(keys.alternate_bit[number]) ^ self.alternate_word[number];
        primary | alternate == 0
    }

    /// Whether a key was found in a bucket that has not changed since.
    #[inline(always)]
    pub(crate) fn is_removable(&self, number: usize, segment: &Segment) -> bool {
        bit(self.held, number) && segment.word_at(self.at[number]) == self.before[number]
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
        level: impl KnownLevel,
        keys: &KeyGroup,
        wanted: Wanted,
        preview: &mut Preview,
    ) {
        let level = &level.geometry();
        let looks_ahead = match wanted {
            Wanted::Free => self.look_ahead(level, PreviewGroup::<true> { keys, preview }),
            Wanted::Key => self.look_ahead(level, PreviewGroup::<false> { keys, preview }),
        };
        if !looks_ahead {
            preview.forget();
        }
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
