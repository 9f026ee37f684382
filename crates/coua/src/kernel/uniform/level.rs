//! The arithmetic of [`LevelGeometry`] and [`SlotCodec`] on vectors, number by number; tests hold the two to each
//! other.

use crate::kernel::codec::{Encoding, POSITION, SlotCodec};
use crate::kernel::level::LevelGeometry;
use crate::kernel::place::ALTERNATE;
use crate::kernel::vector::{Isa, MOST_LANES, Vector};
use crate::table::Segment;

/// One bucket of each key, as it was read.
#[derive(Clone, Copy)]
pub(super) struct Buckets<V> {
    pub(super) address: V,
    /// Bits of the first byte that come before the bucket.
    pub(super) shift: V,
    /// The eight bytes at the address.
    pub(super) word: V,
}

impl<V: Vector> Buckets<V> {
    #[inline(always)]
    pub(super) fn select(mask: V::Mask, yes: &Self, no: &Self) -> Self {
        Self {
            address: V::select(mask, yes.address, no.address),
            shift: V::select(mask, yes.shift, no.shift),
            word: V::select(mask, yes.word, no.word),
        }
    }

    /// The lanes of a bucket, from the lowest bit on.
    #[inline(always)]
    pub(super) fn lanes(&self) -> V {
        self.word.shr_each(self.shift)
    }
}

/// Items found in buckets.
pub(in crate::kernel) struct Items<V> {
    /// The bucket that each belongs to, and its value there.
    pub(in crate::kernel) own: V,
    pub(in crate::kernel) value: V,
}

/// Places of keys.
pub(super) struct Located<V> {
    pub(super) primary: V,
    pub(super) alternate: V,
    pub(super) value: V,
}

/// A level, and the instructions to work on it.
pub(in crate::kernel) struct LevelVectors<I> {
    pub(super) isa: I,
    pub(super) level: LevelGeometry,
    /// No bucket begins at or after this bit of a segment.
    end_of_buckets: u64,
}

impl<I: Isa> LevelVectors<I> {
    /// For segments of at least so many bytes.
    #[inline(always)]
    pub(in crate::kernel) fn new(isa: I, level: &LevelGeometry, bytes: u64) -> Self {
        // What is read of a bucket ends with a word that begins in it.
        let end_of_buckets = (8 * bytes + 1).saturating_sub(level.codec.bucket_bits + 64);
        Self { isa, level: *level, end_of_buckets }
    }

    /// The same, with an encoding that the compiler knows.
    #[inline(always)]
    pub(super) fn with_encoding(self, encoding: Encoding) -> Self {
        Self { level: self.level.with_encoding(encoding), ..self }
    }

    pub(super) fn codec(&self) -> &SlotCodec {
        &self.level.codec
    }

    #[inline(always)]
    pub(super) fn splat(&self, value: u64) -> I::Vector {
        self.isa.splat(value)
    }

    /// [`LevelGeometry::locate`].
    #[inline(always)]
    pub(super) fn locate(&self, hash: I::Vector) -> Located<I::Vector> {
        let level = &self.level;
        let suffix = hash & self.splat(level.suffix_mask);
        let (primary, rest) = suffix.multiply_shifted(level.depth, self.splat(level.buckets));
        let top = (rest >> level.top_shift) & self.splat(level.top_mask);
        let (low, _) = rest.multiply_shifted(level.top_bits, self.splat(level.low_range));
        let fingerprint = top | (low + self.splat(1));
        let alternate = primary + self.offsets(fingerprint);
        Located {
            primary,
            alternate: alternate.wrapped(self.splat(level.buckets)),
            value: fingerprint << level.codec.tag_bits,
        }
    }

    /// [`LevelGeometry::offset`].
    #[inline(always)]
    fn offsets(&self, fingerprint: I::Vector) -> I::Vector {
        let mixed = fingerprint.multiply(self.splat(LevelGeometry::OFFSET_FACTOR));
        (mixed >> 32).multiply_halves(self.splat(self.level.buckets)) >> 32
    }

    /// [`LevelGeometry::alternate`]: the buckets.
    #[inline(always)]
    pub(in crate::kernel) fn alternates(&self, items: &Items<I::Vector>) -> I::Vector {
        let buckets = self.splat(self.level.buckets);
        let offset = self.offsets(items.value >> self.codec().tag_bits);
        let in_primary = (items.value & self.splat(ALTERNATE)).is_zero();
        let distance = I::Vector::select(in_primary, offset, buckets - offset);
        (items.own + distance).wrapped(buckets)
    }

    /// [`SlotCodec::own_bucket`]: the items that are stored in these slots. Each slot is a position of a bucket.
    #[inline(always)]
    pub(super) fn items_at(
        &self,
        number: I::Vector,
        position: I::Vector,
        stored: I::Vector,
    ) -> Items<I::Vector> {
        if !self.codec().overlap() {
            return Items { own: number, value: stored };
        }
        let distance = (stored & self.splat(POSITION)) >> 1;
        let value = stored.and_not(self.splat(POSITION));
        Items { own: number + position - distance, value }
    }

    /// Where buckets begin in their segments.
    #[inline(always)]
    pub(super) fn first_bits(&self, bucket: I::Vector) -> I::Vector {
        bucket.multiply_halves(self.splat(self.codec().bucket_bits))
    }

    /// Reads the buckets that begin at these bits of segments. Panics if there are no such buckets.
    #[inline(always)]
    pub(super) fn read_at(&self, base: I::Vector, first_bit: I::Vector) -> Buckets<I::Vector> {
        let address = self.addresses_of(base, first_bit);
        // SAFETY: the bytes are in a segment of the table, which is borrowed.
        let word = unsafe { self.gather(address) };
        Buckets { address, shift: first_bit & self.splat(7), word }
    }

    /// The addresses of the bytes that buckets begin in. Panics if there are no such buckets.
    #[inline(always)]
    pub(super) fn addresses_of(&self, base: I::Vector, first_bit: I::Vector) -> I::Vector {
        let within = first_bit.is_below(self.splat(self.end_of_buckets));
        assert!(I::Vector::bits(within) == I::Vector::ALL, "no such bucket");
        base + (first_bit >> 3)
    }

    /// Eight bytes at each address.
    ///
    /// # Safety
    ///
    /// As [`Isa::gather`].
    #[inline(always)]
    unsafe fn gather(&self, address: I::Vector) -> I::Vector {
        let mut addresses = [0; MOST_LANES];
        address.store(&mut addresses);
        // SAFETY: the caller's promise.
        unsafe { self.isa.gather(&addresses) }
    }

    /// [`SlotCodec::stored`], at a position of each bucket.
    #[inline(always)]
    pub(super) fn stored(&self, bucket: &Buckets<I::Vector>, position: I::Vector) -> I::Vector {
        let &SlotCodec { lane_bits, lane_mask, encoding, .. } = self.codec();
        let offset = position.multiply_halves(self.splat(lane_bits.into()));
        let stored = bucket.word.shr_each(bucket.shift + offset) & self.splat(lane_mask);
        if encoding == Encoding::Wide {
            return stored | (self.rests(bucket, position) << lane_bits);
        }
        stored
    }

    /// The rests of the values at these positions.
    #[inline(always)]
    pub(super) fn rests(&self, bucket: &Buckets<I::Vector>, position: I::Vector) -> I::Vector {
        let (word, shift) = self.rest_places(bucket.shift, position);
        let address = bucket.address + (word >> 3);
        // SAFETY: the rest is a part of a bucket that `read_at` has checked.
        let word = unsafe { self.gather(address) };
        word.shr_each(shift) & self.splat(self.codec().rest_mask)
    }

    /// [`SlotCodec::rest_place`].
    #[inline(always)]
    pub(super) fn rest_places(
        &self,
        bucket: I::Vector,
        position: I::Vector,
    ) -> (I::Vector, I::Vector) {
        let codec = self.codec();
        let (first_rest, rest_bits) = (codec.rest_bit(0), u64::from(codec.rest_bits));
        let whole_bytes = self.splat(!7);
        let offset = position.multiply_halves(self.splat(rest_bits));
        let rest = bucket + self.splat(first_rest) + offset;
        // A wide bucket has more than 57 bits.
        let last = (bucket + self.splat(codec.bucket_bits - 57)) & whole_bytes;
        let word = (rest & whole_bytes).min(last);
        (word, rest - word)
    }
}

/// The slots of one segment, a vector of them at a time.
pub(in crate::kernel) struct SegmentSlots<'a, I> {
    vectors: LevelVectors<I>,
    segment: &'a Segment,
}

impl<'a, I: Isa> SegmentSlots<'a, I> {
    #[inline(always)]
    pub(in crate::kernel) fn new(isa: I, level: &LevelGeometry, segment: &'a Segment) -> Self {
        Self { vectors: LevelVectors::new(isa, level, segment.len() as u64), segment }
    }

    /// What is in the slots from `first` on; the value of a free slot is 0, and so is that of one at `end` or after.
    #[inline(always)]
    pub(in crate::kernel) fn items(&self, first: u64, end: u64) -> Items<I::Vector> {
        let Self { vectors, segment } = self;
        let splat = |value| vectors.splat(value);
        let wanted = splat(first) + vectors.isa.collect(|lane| lane as u64);
        let slot = wanted.min(splat(end - 1));
        let codec = vectors.codec();
        let slots = if codec.overlap() { 1 } else { codec.slots };
        let (number, position) = (slot >> slots.ilog2(), slot & splat(u64::from(slots) - 1));
        let base = splat(segment.address() as u64);
        let stored = vectors.stored(&vectors.read_at(base, vectors.first_bits(number)), position);
        let stored = I::Vector::select(wanted.is_below(splat(end)), stored, splat(0));
        vectors.items_at(number, position, stored)
    }
}
