//! What the inserts or removals of a group of keys will find, seen before the first of them.
//!
//! Vectors of buckets are looked at with a few instructions. A change for one key of the group may
//! change what the later ones find, so each first makes sure that its buckets are as they were seen.

use super::{LocatedKeys, WIDTH};
use crate::bucket::{Form, Lanes};
use crate::side::Side;
use crate::table::Segment;

/// A slot of each key that is to be filled or cleared, field by field as vectors write them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slots {
    /// Where the slot's bucket begins.
    pub(crate) bit: [u64; WIDTH],
    /// The bucket's word when that is done.
    pub(crate) word: [u64; WIDTH],
    /// In wide buckets: where the word with the slot's rest begins, and what changes in it.
    pub(crate) rest_word: [u64; WIDTH],
    pub(crate) rest_change: [u64; WIDTH],
}

impl Slots {
    /// Fills a key's slot that is free, or clears one that is not.
    #[inline(always)]
    fn turn(&self, number: usize, lanes: &Lanes, segment: &mut Segment) {
        if lanes.form == Form::Wide {
            let word = self.rest_word[number];
            segment.set_word(word, segment.word(word) ^ self.rest_change[number]);
        }
        segment.set_word(self.bit[number], self.word[number]);
    }
}

/// What was seen of a group of keys that are to be inserted; of the marks, each bit is a key's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outlook {
    pub(crate) primary_word: [u64; WIDTH],
    pub(crate) partner_word: [u64; WIDTH],
    /// The first free slot of the emptier bucket.
    pub(crate) free: Slots,
    /// The key is in a slot.
    pub(crate) held: u16,
    /// The key is in no slot, and both its buckets are full.
    pub(crate) full: u16,
    /// The key is in no slot, and one of its buckets has a free one.
    pub(crate) open: u16,
    /// Those of them that go in first: no key before them in the group is of the same segment and not open.
    pub(crate) ready: u16,
}

impl Outlook {
    /// Nothing is known.
    #[inline(always)]
    pub(crate) fn forget(&mut self) {
        (self.held, self.full, self.open, self.ready) = (0, 0, 0, 0);
    }

    /// Those of the keys left that may go in before all others.
    #[inline(always)]
    pub(super) fn ready(&self, left: u32) -> u32 {
        left & u32::from(self.ready)
    }

    /// The first of the keys left, as far as they are open.
    #[inline(always)]
    pub(super) fn run(&self, left: u32) -> u32 {
        let shut = left & !u32::from(self.open);
        // The bits below the lowest, or all.
        left & !shut & (shut ^ shut.wrapping_sub(1))
    }

    #[inline(always)]
    pub(super) fn is_full(&self, number: usize) -> bool {
        self.full >> number & 1 == 1
    }

    /// Whether a key's buckets are as they were seen, in a segment that nobody owns and where no item
    /// is homeless.
    #[inline(always)]
    pub(super) fn holds_for(
        &self,
        keys: &LocatedKeys,
        number: usize,
        segment: &Segment,
        side: &Side,
    ) -> bool {
        let primary = segment.word(keys.primary_bit[number]) ^ self.primary_word[number];
        let partner = segment.word(keys.partner_bit[number]) ^ self.partner_word[number];
        segment.owner == 0 && !(side.has_homeless() && segment.spilled) && primary | partner == 0
    }

    /// Puts a key into its free slot.
    #[inline(always)]
    pub(super) fn place(&self, number: usize, lanes: &Lanes, segment: &mut Segment) {
        self.free.turn(number, lanes, segment);
        segment.occupied += 1;
    }
}

/// What was seen of a group of keys that are to be removed; of the marks, each bit is a key's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Finds {
    /// The slot that holds the key, and its bucket's word.
    pub(crate) slot: Slots,
    pub(crate) word: [u64; WIDTH],
    pub(crate) found: u16,
    /// The key is in no slot.
    pub(crate) absent: u16,
}

impl Finds {
    /// Nothing is known.
    #[inline(always)]
    pub(crate) fn forget(&mut self) {
        (self.found, self.absent) = (0, 0);
    }

    #[inline(always)]
    pub(super) fn is_absent(&self, number: usize) -> bool {
        self.absent >> number & 1 == 1
    }

    /// Whether a key was found in a bucket that nobody has touched since.
    #[inline(always)]
    pub(super) fn is_current(&self, number: usize, segment: &Segment) -> bool {
        self.found >> number & 1 == 1 && segment.word(self.slot.bit[number]) == self.word[number]
    }

    /// Takes a key out of its slot.
    #[inline(always)]
    pub(super) fn take(&self, number: usize, lanes: &Lanes, segment: &mut Segment) {
        self.slot.turn(number, lanes, segment);
        // A mapped file may have said less than is there.
        segment.occupied = segment.occupied.saturating_sub(1);
    }
}
