//! From a key's hash to its place, and from a place back to a hash. [`LevelGeometry`] has the idea.

#[cfg(test)]
use std::hint::select_unpredictable;

use super::codec::CHOICE_BITS;
use super::level::{ALTERNATE, LevelGeometry, Place};
use super::vectors::LevelVectors;
use crate::hash::KeyHash;
use crate::simd::{Isa, Words};

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
