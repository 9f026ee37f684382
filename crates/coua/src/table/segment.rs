//! One segment: its memory as words at any bit, and what is known about all of it.

use std::ptr::NonNull;

/// Bytes of one load.
pub(crate) const WORD: usize = 8;

/// An independent run of buckets: both buckets of a key lie in one segment.
#[derive(Debug)]
pub(crate) struct Segment {
    base: NonNull<u8>,
    /// The last byte that eight can be read from. With those, at least what the segment's shape needs.
    last: usize,
    /// The hash bits that its keys share, in the most significant bits.
    pub(crate) prefix: u64,
    /// Slots in use.
    pub(crate) occupied: u32,
    /// Depth below the geometry's base depth.
    pub(crate) level: u8,
    /// Some key of this segment has copies in the side table.
    pub(crate) spilled: bool,
    /// A relocation failed here: split before the next one, unless chance explains it.
    pub(crate) overfull: bool,
    /// The relocation of a batch that is under way here and owns the segment: its number and 1, or 0.
    pub(crate) owner: u8,
}

impl Segment {
    /// An empty segment of `bytes` bytes from `base` on: zeros that nothing else uses.
    pub(super) fn new(base: NonNull<u8>, bytes: usize, prefix: u64, level: u8) -> Self {
        let last = bytes.checked_sub(WORD).expect("a segment has room for a word");
        Self { base, last, prefix, occupied: 0, level, spilled: false, overfull: false, owner: 0 }
    }

    /// Where its memory begins.
    pub(super) fn address(&self) -> *const u8 {
        self.base.as_ptr().cast_const()
    }

    /// Where the address of a segment's memory lies in this struct.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const BASE_OFFSET: usize = std::mem::offset_of!(Self, base);

    /// The bits from `bit` on; at least 57 of them.
    #[inline(always)]
    pub(crate) fn load(&self, bit: u64) -> u64 {
        self.word(bit) >> (bit & 7)
    }

    /// The eight bytes from the one on that holds `bit`.
    #[inline(always)]
    #[expect(unsafe_code, reason = "an unaligned load at any byte; the bound is checked")]
    pub(crate) fn word(&self, bit: u64) -> u64 {
        let byte = (bit >> 3) as usize;
        assert!(byte <= self.last);
        // SAFETY: `base..base + last + 8` is one live, initialised allocation owned by the table, and
        // the eight bytes end within it. `&self` excludes writers.
        u64::from_le_bytes(unsafe { self.base.add(byte).cast::<[u8; 8]>().read() })
    }

    /// Writes what [`word`](Self::word) reads.
    #[inline(always)]
    #[expect(unsafe_code, reason = "an unaligned store at any byte; the bound is checked")]
    pub(crate) fn set_word(&mut self, bit: u64, word: u64) {
        let byte = (bit >> 3) as usize;
        assert!(byte <= self.last);
        // SAFETY: as in `word`; `&mut self` excludes readers and other writers.
        unsafe { self.base.add(byte).cast::<[u8; 8]>().write(word.to_le_bytes()) };
    }

    /// Asks for the cache line that holds `bit`, without waiting for it.
    #[inline(always)]
    pub(crate) fn prefetch(&self, bit: u64) {
        prefetch(self.base.as_ptr().wrapping_add((bit >> 3) as usize));
    }

    /// Bytes of the segment.
    pub(super) fn len(&self) -> usize {
        self.last + WORD
    }

    /// The packed slots, first `len` bytes.
    #[expect(unsafe_code, reason = "the segment's own memory as a slice")]
    pub(crate) fn bytes(&self, len: usize) -> &[u8] {
        assert!(len <= self.len());
        // SAFETY: initialised, owned by the table, not written while `&self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), len) }
    }

    /// The packed slots, first `len` bytes, to be filled.
    #[expect(unsafe_code, reason = "the segment's own memory as a slice")]
    pub(crate) fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= self.len());
        // SAFETY: as in `bytes`; segments never overlap, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), len) }
    }

    /// All of its bytes.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn all_bytes(&self) -> &[u8] {
        self.bytes(self.len())
    }

    /// All of its bytes, to be filled.
    pub(crate) fn all_bytes_mut(&mut self) -> &mut [u8] {
        self.bytes_mut(self.len())
    }

    /// Empties the segment; place and depth stay.
    pub(crate) fn clear(&mut self) {
        self.all_bytes_mut().fill(0);
        self.occupied = 0;
        self.spilled = false;
        self.overfull = false;
    }
}

/// Asks for a cache line. Nothing on processors for which stable Rust has no such instruction.
#[inline(always)]
#[cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "the prefetch instruction")
)]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching is a hint; no address makes it fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
