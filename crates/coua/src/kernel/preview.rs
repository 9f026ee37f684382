//! Precomputed preview: what the inserts or removals of a group of keys will find.
//!
//! Vectors of buckets are looked at before the first key of a group is served. Serving one key may change
//! what the later ones find, so each first makes sure that its buckets are still as they were.

use super::codec::{Encoding, SlotCodec};
use super::level::LevelGeometry;
use super::place::Place;
use crate::hash::KeyHash;
use crate::table::{Directory, Segment, SegmentMut, Table, prefetch};

/// Keys of a group: two vectors of them, so that one's latency covers the other's.
pub(crate) const WIDTH: usize = 16;

/// A table whose segments all have one level.
#[derive(Clone, Copy)]
pub(crate) struct UniformTable<'a> {
    pub(crate) table: &'a Table,
    pub(crate) directory: &'a Directory,
    pub(crate) level: &'a LevelGeometry,
}

impl UniformTable<'_> {
    /// Whether all slots of a bucket are compared at once, in the lanes of a word.
    pub(super) fn has_lanes(&self) -> bool {
        self.level.codec.encoding != Encoding::WideOverlapping
    }
}

/// What an insert does with a key that is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfPresent {
    AddCopy,
    Skip,
}

/// Keys to be looked up.
pub(crate) struct Lookups<'a, F> {
    pub(crate) hashes: &'a [KeyHash],
    /// Whether some items are in no slot.
    pub(crate) has_overflowed: bool,
    /// Equally large tables that share the processor's caches, this one included.
    pub(crate) tables: usize,
    /// Looks one key up, wherever it may be.
    pub(crate) contains: F,
}

/// The places of a group of keys, field by field as vectors write them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyGroup {
    pub(super) segment: [u64; WIDTH],
    pub(super) primary: [u64; WIDTH],
    pub(super) alternate: [u64; WIDTH],
    pub(super) value: [u64; WIDTH],
    /// Where each segment begins in memory. Only a hint, for prefetching.
    pub(super) base: [u64; WIDTH],
    /// Where the buckets begin in it; set by vectors.
    pub(super) primary_bit: [u64; WIDTH],
    pub(super) alternate_bit: [u64; WIDTH],
}

impl KeyGroup {
    pub(crate) fn segment(&self, number: usize) -> u32 {
        self.segment[number] as u32
    }

    #[inline(always)]
    pub(crate) fn place(&self, number: usize) -> Place {
        Place {
            segment: self.segment(number),
            primary: self.primary[number],
            alternate: self.alternate[number],
            value: self.value[number],
        }
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, number: usize, place: &Place) {
        self.segment[number] = u64::from(place.segment);
        self.primary[number] = place.primary;
        self.alternate[number] = place.alternate;
        self.value[number] = place.value;
    }

    /// Prefetches the buckets of a key that vectors have located.
    #[inline(always)]
    pub(crate) fn prefetch(&self, codec: &SlotCodec, number: usize) {
        for bit in [self.primary_bit[number], self.alternate_bit[number]] {
            let at = |bit: u64| (self.base[number] + (bit >> 3)) as *const u8;
            prefetch(at(bit));
            if let Some(last_bit) = codec.last_bit {
                prefetch(at(bit + last_bit));
            }
        }
    }
}

/// Which slot of a key's buckets its place is to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The first free one of the emptier bucket, for an insert.
    Free,
    /// The one that holds the key, for a removal.
    Key,
}

/// Whether a mask has the bit of a key.
pub(crate) fn has(mask: u16, number: usize) -> bool {
    mask >> number & 1 == 1
}

/// Preview of a group of keys, field by field as vectors write them; in the masks, each bit is a key's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Preview {
    /// The words of both buckets; set where a free slot is wanted.
    pub(super) primary_word: [u64; WIDTH],
    pub(super) alternate_word: [u64; WIDTH],
    /// Where the bucket of the slot that is wanted begins.
    pub(super) bit: [u64; WIDTH],
    /// The bucket's word as it was previewed (for removals), and after the change.
    pub(super) before: [u64; WIDTH],
    pub(super) word: [u64; WIDTH],
    /// In wide buckets: where the word with the slot's rest begins, and what changes in it.
    pub(super) rest_word: [u64; WIDTH],
    pub(super) rest_change: [u64; WIDTH],
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
    /// Nothing is known any more.
    pub(crate) fn forget(&mut self) {
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
        has(self.held, number) && segment.word(self.bit[number]) == self.before[number]
    }

    /// Fills a key's slot that is free, or clears one that is not.
    #[inline(always)]
    pub(crate) fn change(&self, number: usize, codec: &SlotCodec, segment: &mut SegmentMut<'_>) {
        if codec.encoding == Encoding::Wide {
            let word = self.rest_word[number];
            segment.set_word(word, segment.word(word) ^ self.rest_change[number]);
        }
        segment.set_word(self.bit[number], self.word[number]);
    }
}
