//! One segment: its memory as words at any bit, and its properties.

use std::ops::Deref;
use std::ptr::NonNull;

/// Bytes of one load.
pub(crate) const WORD: usize = 8;

/// An independent run of buckets: both buckets of a key are in one segment.
pub(crate) struct Segment {
    base: NonNull<u8>,
    /// The last byte that a word can be read from.
    last: usize,
    /// The hash bits that its keys share, in the most significant bits.
    prefix: u64,
    /// Slots in use.
    occupied: u32,
    /// Copies of its keys that are without a slot.
    overflowed: u32,
    /// Depth below the geometry's base depth.
    level: u8,
    has_overflow: bool,
    is_overfull: bool,
}

impl Segment {
    /// An empty segment of `bytes` bytes, starting at `base`: zeros that nothing else uses.
    pub(super) fn new(base: NonNull<u8>, bytes: usize, prefix: u64, level: u8) -> Self {
        let last = bytes.checked_sub(WORD).expect("a segment has space for a word");
        let (occupied, overflowed) = (0, 0);
        let (has_overflow, is_overfull) = (false, false);
        Self { base, last, prefix, occupied, overflowed, level, has_overflow, is_overfull }
    }

    /// The address of the segment.
    pub(crate) fn address(&self) -> *const u8 {
        self.base.as_ptr().cast_const()
    }

    /// The address of the segment. Panics if the segment has fewer than `bytes` bytes.
    #[inline(always)]
    pub(crate) fn address_of(&self, bytes: u64) -> u64 {
        assert!(self.len() as u64 >= bytes, "a shorter segment");
        self.address() as u64
    }

    /// The hash bits that its keys share, in the most significant bits.
    pub(crate) fn prefix(&self) -> u64 {
        self.prefix
    }

    /// Slots in use.
    pub(crate) fn occupied(&self) -> u32 {
        self.occupied
    }

    /// The number of splits: the depth below the base depth.
    pub(crate) fn level(&self) -> u8 {
        self.level
    }

    /// Copies of its keys without a slot, up to the maximum of a `u32`.
    #[inline(always)]
    pub(crate) fn overflowed(&self) -> u32 {
        self.overflowed
    }

    /// Whether some key of this segment may have copies outside of its slots.
    #[inline(always)]
    pub(crate) fn has_overflow(&self) -> bool {
        self.has_overflow
    }

    /// Whether an eviction failed in this segment. It then splits before the next eviction, unless the failure was likely
    /// by chance.
    pub(crate) fn is_overfull(&self) -> bool {
        self.is_overfull
    }

    /// The 8-byte word starting at this byte.
    #[inline(always)]
    #[expect(unsafe_code, reason = "an unaligned load at any byte; the bound is checked")]
    pub(crate) fn word_at(&self, byte: u64) -> u64 {
        let byte = byte as usize;
        assert!(byte <= self.last);
        // SAFETY: `base..base + last + 8` is one live, initialized allocation owned by the table, and the eight bytes
        // end within it. `&self` excludes writers.
        u64::from_le_bytes(unsafe { self.base.add(byte).cast::<[u8; 8]>().read() })
    }

    /// Prefetches the cache line that holds `bit`.
    #[inline(always)]
    pub(crate) fn prefetch(&self, bit: u64) {
        prefetch(self.base.as_ptr().wrapping_add((bit >> 3) as usize));
    }

    /// Bytes of the segment.
    pub(crate) fn len(&self) -> usize {
        self.last + WORD
    }

    /// `count` bytes, starting at this one.
    #[inline(always)]
    #[expect(unsafe_code, reason = "a part of the segment as a slice; the bound is checked")]
    pub(crate) fn bytes_at(&self, byte: u64, count: usize) -> &[u8] {
        let byte = byte as usize;
        let last = self.len().checked_sub(count).expect("a segment is long enough");
        assert!(byte <= last);
        // SAFETY: as in `word_at`.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(byte), count) }
    }
}

/// A segment to be changed. Not a `&mut Segment`: two of those could be swapped between tables, each of
/// which would then free memory that the other still uses.
pub(crate) struct SegmentMut<'a>(pub(super) &'a mut Segment);

impl Deref for SegmentMut<'_> {
    type Target = Segment;

    fn deref(&self) -> &Segment {
        self.0
    }
}

impl SegmentMut<'_> {
    /// Writes the bits that [`word_at`](Segment::word_at) reads.
    #[inline(always)]
    #[expect(unsafe_code, reason = "an unaligned store at any byte; the bound is checked")]
    pub(crate) fn set_word_at(&mut self, byte: u64, word: u64) {
        let byte = byte as usize;
        assert!(byte <= self.last);
        // SAFETY: as in `word_at`; `&mut self` excludes readers and other writers.
        unsafe { self.base.add(byte).cast::<[u8; 8]>().write(word.to_le_bytes()) };
    }

    /// The packed slots, first `len` bytes, to be filled.
    #[expect(unsafe_code, reason = "the segment's own memory as a slice")]
    pub(crate) fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= self.len());
        // SAFETY: as in `word_at`; segments never overlap, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), len) }
    }

    /// One more slot is in use.
    pub(crate) fn count_filled(&mut self) {
        self.0.occupied += 1;
    }

    /// One slot less is in use. A mapped file may have said that fewer were.
    pub(crate) fn count_cleared(&mut self) {
        self.0.occupied = self.0.occupied.saturating_sub(1);
    }

    pub(crate) fn set_occupied(&mut self, slots: u32) {
        self.0.occupied = slots;
    }

    /// Records that keys have copies in the overflow table, and adds `overflowed` copies whose eviction failed.
    pub(crate) fn add_overflow(&mut self, overflowed: u64) {
        let more = u32::try_from(overflowed).unwrap_or(u32::MAX);
        self.0.overflowed = self.0.overflowed.saturating_add(more);
        self.0.has_overflow = true;
    }

    /// Subtracts removed copies that had no slot.
    pub(crate) fn subtract_overflow(&mut self, overflowed: u64) {
        let fewer = u32::try_from(overflowed).unwrap_or(u32::MAX);
        self.0.overflowed = self.0.overflowed.saturating_sub(fewer);
    }

    /// All copies are in slots.
    pub(crate) fn clear_overflow(&mut self) {
        (self.0.overflowed, self.0.has_overflow) = (0, false);
    }

    pub(crate) fn mark_overfull(&mut self) {
        self.0.is_overfull = true;
    }

    /// Empties the segment; prefix and level stay.
    pub(crate) fn clear(&mut self) {
        self.bytes_mut(self.len()).fill(0);
        self.forget_items();
    }

    /// Begins anew; the slots hold what they held and must be written.
    pub(crate) fn forget_items(&mut self) {
        self.0.occupied = 0;
        self.0.is_overfull = false;
        self.clear_overflow();
    }

    /// Puts the segment a level further below the base.
    pub(crate) fn deepen(&mut self) {
        self.0.level += 1;
    }

    /// Copies the slots of another segment, which must not be shorter. Memory of a source without items
    /// is all zero, and is not touched here: a copy of an empty table costs address space alone.
    pub(super) fn copy_from(&mut self, source: &Segment) {
        if source.occupied > 0 {
            let bytes = self.len();
            self.bytes_mut(self.len()).copy_from_slice(source.bytes_at(0, bytes));
        }
        self.0.occupied = source.occupied;
        (self.0.overflowed, self.0.has_overflow) = (source.overflowed, source.has_overflow);
        self.0.is_overfull = source.is_overfull;
    }
}

/// Prefetches a cache line. Does nothing on processors for which stable Rust has no such instruction.
#[inline(always)]
#[cfg_attr(
    all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)),
    expect(unsafe_code, reason = "the prefetch instruction")
)]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching is a hint; no address makes it fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: prefetching is a hint; no address makes it fault.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(readonly, nostack, preserves_flags));
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    let _ = address;
}
