//! Large zeroed memory, in huge pages where the system has them, and files mapped into memory.
//!
//! Random access to a large table is bound by address translation as much as by the memory itself;
//! 2 MiB pages halve its cost.

#[cfg(feature = "mmap")]
use std::fs::File;
#[cfg(feature = "mmap")]
use std::io;
use std::ptr::NonNull;
#[cfg(feature = "mmap")]
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(feature = "mmap")]
use memmap2::{MmapMut, MmapOptions, MmapRaw};

use crate::error::OutOfMemory;

/// A huge page. Arenas from this size on are mapped, smaller ones come from the heap.
pub(super) const HUGE_PAGE: usize = 2 << 20;
/// Memory is given back in pieces of this size.
#[cfg(all(unix, feature = "mmap"))]
const DISCARD_STEP: usize = 4 * HUGE_PAGE;

/// A multiple of the page size.
#[cfg(all(unix, feature = "mmap"))]
const LARGEST_PAGE: usize = if cfg!(target_arch = "x86_64") { 4 << 10 } else { 64 << 10 };

/// Whether mapped arenas ask for huge pages.
#[cfg(feature = "mmap")]
static HUGE_PAGES: AtomicBool = AtomicBool::new(true);

/// Places the cuckoo filters that this process makes or enlarges from now on in pages of the usual size: for
/// servers, where the slowest operation matters more than throughput.
///
/// In huge pages, the default on Linux, operations on large filters are up to a quarter faster. But the
/// system clears 2 MiB when a huge page is first touched: 0.2 ms, and 5 ms in a virtual machine that does
/// not have the memory yet. A batch of inserts into a new filter touches one with nearly every key.
#[cfg(feature = "mmap")]
pub fn avoid_huge_pages() {
    HUGE_PAGES.store(false, Ordering::Relaxed);
}

/// Owned zeroed memory; its address never changes while it lives.
#[derive(Debug)]
pub(super) enum Arena {
    /// A box, held as a pointer: segments keep pointers into it, which a `Box` would forbid.
    Heap(NonNull<[CacheLine]>),
    /// `len` bytes of a mapping from `begin` on. It ends with a whole page. Like the box, it is never
    /// borrowed as a slice.
    #[cfg(feature = "mmap")]
    Mapped { map: MmapRaw, begin: usize, len: usize },
}

impl Drop for Arena {
    #[expect(unsafe_code, reason = "frees the heap arena")]
    fn drop(&mut self) {
        match self {
            // SAFETY: it came from `Box::leak` in `Arena::new` and is dropped only here.
            Self::Heap(lines) => drop(unsafe { Box::from_raw(lines.as_ptr()) }),
            #[cfg(feature = "mmap")]
            Self::Mapped { .. } => {}
        }
    }
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct CacheLine(
    #[expect(dead_code, reason = "reached through the arena's pointer")] [u8; 64],
);

impl Arena {
    /// Zeroed memory of at least so many bytes.
    pub(super) fn new(bytes: usize) -> Result<Self, OutOfMemory> {
        #[cfg(feature = "mmap")]
        if bytes >= HUGE_PAGE && !cfg!(any(miri, target_family = "wasm")) {
            return Self::mapped(bytes);
        }
        let mut lines = Vec::new();
        let refused = OutOfMemory { bytes: bytes as u64 };
        lines.try_reserve_exact(bytes.div_ceil(64)).map_err(|_| refused)?;
        lines.resize(bytes.div_ceil(64), CacheLine([0; 64]));
        Ok(Self::Heap(NonNull::from(Box::leak(lines.into_boxed_slice()))))
    }

    #[cfg(feature = "mmap")]
    fn mapped(bytes: usize) -> Result<Self, OutOfMemory> {
        let refused = OutOfMemory { bytes: bytes as u64 };
        let pages = bytes.checked_next_multiple_of(HUGE_PAGE).ok_or(refused)?;
        let (map, begin) = map_aligned(pages).ok_or(refused)?;
        #[cfg(target_os = "linux")]
        {
            use memmap2::Advice;
            let huge = HUGE_PAGES.load(Ordering::Relaxed);
            let rest = if huge { bytes / HUGE_PAGE * HUGE_PAGE } else { 0 };
            // Advice only: without huge pages the table is slower, not wrong. The rest that does not fill a
            // huge page declines them, for some systems give them without being asked.
            drop(map.advise_range(Advice::HugePage, begin, rest));
            drop(map.advise_range(Advice::NoHugePage, begin + rest, pages - rest));
        }
        Ok(Self::Mapped { map, begin, len: bytes })
    }

    /// Bytes of a file from `begin` on, as private memory: what is written here never reaches the file,
    /// and only the pages that are touched are read.
    #[cfg(feature = "mmap")]
    #[expect(unsafe_code, reason = "maps a file")]
    pub(super) fn of_file(file: &File, begin: u64, bytes: usize) -> io::Result<Self> {
        let mut options = MmapOptions::new();
        options.offset(begin).len(bytes).no_reserve_swap();
        // SAFETY: the mapping is private, so this process's writes stay its own. Snapshots are
        // replaced by renaming and never changed in place; a process that breaks this rule can make
        // answers wrong, or end this process where it cuts the file off, but no access leads out of
        // the mapping: every load and store checks its bound, and no value of the bytes is trusted.
        let map = unsafe { options.map_copy(file) }?;
        #[cfg(unix)]
        {
            // Advice only: keys are spread, so reading the neighbors of a page does not pay.
            drop(map.advise(memmap2::Advice::Random));
        }
        Ok(Self::Mapped { map: map.into(), begin: 0, len: bytes })
    }

    /// Gives back whole huge pages before `address`, if it lies in this arena. Pages before them are given
    /// back again, which costs little.
    #[cfg(all(unix, feature = "mmap"))]
    #[expect(unsafe_code, reason = "tells the system that memory is not used any more")]
    pub(super) fn discard_before(&mut self, address: *const u8) {
        let Self::Mapped { map, begin, len } = self else { return };
        let used = (address as usize).wrapping_sub(map.as_ptr() as usize + *begin);
        if used < *len {
            let pages = used / DISCARD_STEP * DISCARD_STEP;
            let last = pages.saturating_sub(DISCARD_STEP);
            // SAFETY: the range lies in the mapping, which is private, and holds only segments that
            // the caller does not read again. Failure leaves the memory as it is.
            unsafe {
                let from = *begin + last;
                map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, pages - last)
            }
            .ok();
        }
    }

    /// Gives back the whole pages of a part, where that can be done; what they hold is lost then. Tells how many
    /// bytes they are.
    #[cfg(all(unix, feature = "mmap"))]
    #[expect(unsafe_code, reason = "tells the system that memory is not used any more")]
    pub(super) fn discard(&mut self, address: *const u8, bytes: usize) -> usize {
        let Self::Mapped { map, .. } = self else { return 0 };
        let begin = address as usize - map.as_ptr() as usize;
        let from = begin.next_multiple_of(LARGEST_PAGE);
        let length = ((begin + bytes) / LARGEST_PAGE * LARGEST_PAGE).saturating_sub(from);
        // SAFETY: the range lies in the mapping, which is private, and in the part that the caller does not use
        // any more; a mapping begins with a page. Failure leaves the memory as it is.
        let discarded =
            unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, length) };
        discarded.map_or(0, |()| length)
    }

    #[cfg(not(all(unix, feature = "mmap")))]
    #[expect(clippy::unused_self, reason = "only mapped memory can be given back in part")]
    pub(super) fn discard(&mut self, _address: *const u8, _bytes: usize) -> usize {
        0
    }

    /// Whether an address lies in this arena.
    pub(super) fn holds(&self, address: *const u8) -> bool {
        let start = match self {
            Self::Heap(lines) => lines.cast::<u8>().as_ptr() as usize,
            #[cfg(feature = "mmap")]
            Self::Mapped { map, begin, .. } => map.as_ptr() as usize + begin,
        };
        (address as usize).wrapping_sub(start) < self.len()
    }

    #[cfg(not(all(unix, feature = "mmap")))]
    #[expect(clippy::unused_self, reason = "only mapped memory can be given back in part")]
    pub(super) fn discard_before(&mut self, _address: *const u8) {}

    #[expect(unsafe_code, reason = "cuts a segment from an arena")]
    pub(super) fn base_at(&mut self, offset: usize) -> NonNull<u8> {
        assert!(offset <= self.len());
        let (start, begin) = match self {
            Self::Heap(lines) => (lines.cast(), 0),
            #[cfg(feature = "mmap")]
            Self::Mapped { map, begin, .. } => {
                (NonNull::new(map.as_mut_ptr()).expect("no mapping begins at address 0"), *begin)
            }
        };
        // SAFETY: the offset lies within the allocation, and what is used of a mapping begins there.
        unsafe { start.add(begin + offset) }
    }

    /// Bytes that do not come from the heap.
    pub(super) fn mapped_bytes(&self) -> usize {
        match self {
            Self::Heap(_) => 0,
            #[cfg(feature = "mmap")]
            Self::Mapped { len, .. } => *len,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Heap(lines) => lines.len() * 64,
            #[cfg(feature = "mmap")]
            Self::Mapped { len, .. } => *len,
        }
    }
}

/// A new mapping, and where in it as many bytes as wanted begin with a huge page. Linux lets mappings of
/// whole huge pages begin with one from 6.7 on; before, they need room to begin later.
#[cfg(feature = "mmap")]
fn map_aligned(bytes: usize) -> Option<(MmapRaw, usize)> {
    let map = MmapRaw::from(MmapMut::map_anon(bytes).ok()?);
    if cfg!(not(target_os = "linux")) || first_page(&map) == 0 {
        return Some((map, 0));
    }
    // Both at once may be more than there is.
    drop(map);
    map_with_room(bytes)
}

/// [`map_aligned`] wherever the mapping comes to lie.
#[cfg(feature = "mmap")]
fn map_with_room(bytes: usize) -> Option<(MmapRaw, usize)> {
    let map = MmapRaw::from(MmapMut::map_anon(bytes.checked_add(HUGE_PAGE)?).ok()?);
    let begin = first_page(&map);
    Some((map, begin))
}

/// Where a mapping's first whole huge page begins.
#[cfg(feature = "mmap")]
fn first_page(map: &MmapRaw) -> usize {
    (map.as_ptr() as usize).wrapping_neg() % HUGE_PAGE
}

#[cfg(all(test, feature = "mmap", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn arenas_begin_with_a_huge_page() {
        let mut arena = Arena::new(3 * HUGE_PAGE + 5).unwrap();
        assert_eq!(arena.base_at(0).as_ptr() as usize % HUGE_PAGE, 0);
        // Mappings may begin with one by themselves, or by chance.
        for bytes in [HUGE_PAGE, 3 * HUGE_PAGE] {
            let (map, begin) = map_with_room(bytes).unwrap();
            let len = map.len();
            let mut arena = Arena::Mapped { map, begin, len: bytes };
            assert_eq!(arena.base_at(0).as_ptr() as usize % HUGE_PAGE, 0);
            assert!(begin + bytes <= len);
        }
    }

    #[test]
    fn memory_is_given_back_wherever_the_mapping_begins() {
        let mut map = MmapMut::map_anon(3 * DISCARD_STEP).unwrap();
        map.fill(1);
        let begin = HUGE_PAGE;
        let mut arena = Arena::Mapped { map: map.into(), begin, len: 3 * DISCARD_STEP - begin };
        let address = arena.base_at(DISCARD_STEP).as_ptr();
        arena.discard_before(address);
        let Arena::Mapped { map, .. } = &arena else { panic!("it is mapped") };
        #[expect(unsafe_code, reason = "a mapping is not lent otherwise")]
        // SAFETY: all of it is there, and nobody writes any more.
        let map = unsafe { std::slice::from_raw_parts(map.as_ptr(), map.len()) };
        let given_back = cfg!(target_os = "linux");
        assert!(map[..begin].iter().all(|byte| *byte == 1), "what lies before is not its own");
        assert!(map[begin..begin + DISCARD_STEP].iter().all(|byte| (*byte == 0) == given_back));
        assert!(map[begin + DISCARD_STEP..].iter().all(|byte| *byte == 1));
    }
}
