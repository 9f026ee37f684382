//! What the inserts of a group of keys will find, seen before the first of them.
//!
//! Vectors of buckets are looked at with a few instructions. An insert among the group may
//! change what the later ones find, so each insert first makes sure that its two buckets are as they
//! were seen.

use super::{LocatedKeys, WIDTH};
use crate::bucket::{Bucket, Form, Lanes};
use crate::table::Segment;

/// What was seen of a group of keys, field by field as vectors write them; of the single words, each
/// bit is a key's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outlook {
    pub(crate) primary_word: [u64; WIDTH],
    pub(crate) partner_word: [u64; WIDTH],
    /// Where the emptier bucket begins.
    pub(crate) bit: [u64; WIDTH],
    /// Its first free position.
    pub(crate) position: [u64; WIDTH],
    /// What is stored there.
    pub(crate) value: [u64; WIDTH],
    /// Its word after that, if its slots fit into one.
    pub(crate) word: [u64; WIDTH],
    /// The key is in a slot.
    pub(crate) held: u16,
    /// The key is in no slot, and both its buckets are full.
    pub(crate) full: u16,
    /// The key is in no slot, and one of its buckets has a free one.
    pub(crate) open: u16,
}

impl Outlook {
    /// Nothing is known.
    #[inline(always)]
    pub(super) fn forget(&mut self) {
        (self.held, self.full, self.open) = (0, 0, 0);
    }

    #[inline(always)]
    pub(super) fn is_open(&self, number: usize) -> bool {
        self.open >> number & 1 == 1
    }

    #[inline(always)]
    pub(super) fn is_full(&self, number: usize) -> bool {
        self.full >> number & 1 == 1
    }

    /// Whether nobody has touched a key's buckets since they were seen.
    #[inline(always)]
    pub(super) fn is_current(&self, keys: &LocatedKeys, number: usize, segment: &Segment) -> bool {
        let primary = segment.word(keys.primary_bit[number]) ^ self.primary_word[number];
        let partner = segment.word(keys.partner_bit[number]) ^ self.partner_word[number];
        primary | partner == 0
    }

    /// Puts a key into its free slot.
    #[inline(always)]
    pub(super) fn place(&self, number: usize, lanes: &Lanes, segment: &mut Segment) {
        let bit = self.bit[number];
        if lanes.form == Form::Narrow {
            segment.set_word(bit, self.word[number]);
        } else {
            let bucket = Bucket::seen(bit, segment.word(bit));
            lanes.replace(segment, &bucket, self.position[number] as u32, (0, self.value[number]));
        }
        segment.occupied += 1;
    }
}
