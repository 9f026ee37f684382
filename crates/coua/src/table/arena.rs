//! Large zeroed memory, in huge pages where the system has them, and files mapped into memory.
//!
//! Random access to a large table is bound by address translation as much as by the memory itself;
//! 2 MiB pages halve its cost.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
#[cfg(feature = "mmap")]
use std::{
    fs::File,
    io::{self, ErrorKind},
    ops::Range,
};

#[cfg(feature = "mmap")]
use memmap2::{MmapMut, MmapOptions, MmapRaw};

use crate::error::OutOfMemory;

/// A huge page. Arenas of at least this size are mapped, smaller ones come from the heap.
pub(super) const HUGE_PAGE: usize = 2 << 20;
/// Arenas from the heap have this many bytes, or a multiple.
const CACHE_LINE: usize = 64;

/// A mapping of a file starts at a multiple of this: the largest page size in use, and the mapping unit of Windows.
/// So a mapping starts with a page, and advice about it affects nothing else.
#[cfg(feature = "mmap")]
const FILE_STEP: u64 = 64 << 10;

/// Owned zeroed memory; its address never changes while it lives. Segments keep pointers into it, so it is never
/// borrowed as a slice.
pub(super) struct Arena {
    start: NonNull<u8>,
    len: usize,
    memory: Backing,
}

/// The owner of an arena's bytes, which frees them.
enum Backing {
    Heap(Layout),
    #[cfg(feature = "mmap")]
    #[cfg_attr(
        not(target_family = "wasm"),
        expect(dead_code, reason = "it only unmaps what it maps")
    )]
    Mapped(MmapRaw),
}

impl Drop for Arena {
    #[expect(unsafe_code, reason = "frees the heap arena")]
    fn drop(&mut self) {
        match self.memory {
            // SAFETY: allocated with this layout in `Arena::new`, and freed only here.
            Backing::Heap(layout) => unsafe { dealloc(self.start.as_ptr(), layout) },
            #[cfg(feature = "mmap")]
            Backing::Mapped(_) => {}
        }
    }
}

impl Arena {
    /// Zeroed memory of at least `bytes` bytes.
    #[expect(
        unsafe_code,
        reason = "zeroed memory of this alignment, and an error where there is none"
    )]
    pub(super) fn new(bytes: usize) -> Result<Self, OutOfMemory> {
        #[cfg(feature = "mmap")]
        if bytes >= HUGE_PAGE && !cfg!(any(miri, target_family = "wasm")) {
            return Self::mapped(bytes);
        }
        let refused = OutOfMemory { bytes: bytes as u64 };
        let len = bytes.max(1).checked_next_multiple_of(CACHE_LINE).ok_or(refused)?;
        let layout = Layout::from_size_align(len, CACHE_LINE).map_err(|_| refused)?;
        // SAFETY: the layout is not empty.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(refused)?;
        Ok(Self { start, len, memory: Backing::Heap(layout) })
    }

    #[cfg(feature = "mmap")]
    fn mapped(bytes: usize) -> Result<Self, OutOfMemory> {
        let refused = OutOfMemory { bytes: bytes as u64 };
        let pages = bytes.checked_next_multiple_of(HUGE_PAGE).ok_or(refused)?;
        let (map, begin) = map_aligned(pages).ok_or(refused)?;
        #[cfg(target_os = "linux")]
        {
            use memmap2::Advice;
            let rest = bytes / HUGE_PAGE * HUGE_PAGE;
            // Advice only: without huge pages the table is slower, not wrong. The rest that does not fill a
            // huge page declines them, because some systems give them unrequested.
            drop(map.advise_range(Advice::HugePage, begin, rest));
            drop(map.advise_range(Advice::NoHugePage, begin + rest, pages - rest));
        }
        Ok(Self::of_mapping(map, begin, bytes))
    }

    /// `len` bytes of a mapping, starting at `begin`. The mapping ends with a whole page.
    #[cfg(feature = "mmap")]
    fn of_mapping(map: MmapRaw, begin: usize, len: usize) -> Self {
        assert!(begin + len <= map.len());
        let start = NonNull::new(map.as_mut_ptr().wrapping_add(begin));
        let start = start.expect("no mapping begins at address 0");
        Self { start, len, memory: Backing::Mapped(map) }
    }

    /// These bytes of a file, as private memory: what is written here never reaches the file, and only the pages
    /// that are touched are read.
    #[cfg(feature = "mmap")]
    #[expect(unsafe_code, reason = "maps a file")]
    pub(super) fn of_file(file: &File, bytes: &Range<u64>) -> io::Result<Self> {
        let from = bytes.start / FILE_STEP * FILE_STEP;
        let length = |from| usize::try_from(bytes.end - from).map_err(|_| ErrorKind::OutOfMemory);
        let (len, mapped) = (length(bytes.start)?, length(from)?);
        let mut options = MmapOptions::new();
        options.offset(from).len(mapped).no_reserve_swap();
        // SAFETY: the mapping is private, so this process's writes stay its own. Snapshots are
        // replaced by renaming and never changed in place; a process that breaks this rule can make
        // answers wrong, or end this process where it cuts the file off, but no access leads out of
        // the mapping: every load and store checks its bound, and no value of the bytes is trusted.
        let map = unsafe { options.map_copy(file) }?;
        // Advice only: keys are spread, so reading the neighbors of a page does not pay.
        #[cfg(unix)]
        drop(map.advise(memmap2::Advice::Random));
        Ok(Self::of_mapping(map.into(), mapped - len, len))
    }

    #[expect(unsafe_code, reason = "cuts a segment from an arena")]
    pub(super) fn base_at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset <= self.len);
        // SAFETY: the offset lies within the allocation.
        unsafe { self.start.add(offset) }
    }

    /// Bytes not from the heap.
    pub(super) fn mapped_bytes(&self) -> usize {
        if matches!(self.memory, Backing::Heap(_)) { 0 } else { self.len }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }
}

/// A new mapping, and the offset of its first huge page, which `bytes` bytes follow. Before Linux 6.7, a mapping of whole
/// huge pages may begin between two: it gets room for one more.
#[cfg(feature = "mmap")]
fn map_aligned(bytes: usize) -> Option<(MmapRaw, usize)> {
    let (room, page) = if cfg!(target_os = "linux") { (HUGE_PAGE, HUGE_PAGE) } else { (0, 1) };
    let map = MmapRaw::from(MmapMut::map_anon(bytes.checked_add(room)?).ok()?);
    let begin = (map.as_ptr() as usize).wrapping_neg() % page;
    Some((map, begin))
}

#[cfg(test)]
#[cfg(all(feature = "mmap", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn arenas_begin_with_a_huge_page() {
        for bytes in [HUGE_PAGE, 3 * HUGE_PAGE, 3 * HUGE_PAGE + 5] {
            let arena = Arena::new(bytes).unwrap();
            assert_eq!(arena.base_at(0).as_ptr() as usize % HUGE_PAGE, 0);
        }
    }
}
