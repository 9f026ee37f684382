//! The memory of a table's segments: arenas, and the holes in them that removed segments have left.

use std::mem;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use super::arena::{Arena, HUGE_PAGE};
use super::segment::Segment;
use crate::error::OutOfMemory;

/// A growing table takes this fraction of its size at a time, in whole huge pages: so that memory has no steps above a
/// huge page or 1 %.
const GROWTH_FRACTION: usize = 100;
/// A table of fewer bytes takes this fraction: it gains little from huge pages, and one would be a large part of it.
const SMALL: usize = 4 * HUGE_PAGE;
const SMALL_GROWTH_FRACTION: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Pool {
    /// The parts of a table that was split share its arenas. Each has segments of its own there, and takes new ones
    /// from arenas of its own.
    arenas: Vec<Arc<Arena>>,
    /// Unused bytes at the end of the last arena.
    free: usize,
    holes: Vec<Hole>,
    /// Bytes of the arenas, or of a part's segments, without freed memory.
    total: usize,
}

/// Where a segment was.
#[derive(Debug)]
struct Hole {
    base: NonNull<u8>,
    bytes: usize,
    /// Bytes of those pages that were freed.
    discarded: usize,
}

impl Pool {
    /// Adds an arena. All later segments are taken from it.
    pub(super) fn add(&mut self, arena: Arena) {
        self.free = arena.len();
        self.total += arena.len();
        #[expect(
            clippy::arc_with_non_send_sync,
            reason = "tables are `Send`, for the reasons given there"
        )]
        self.arenas.push(Arc::new(arena));
    }

    fn hole_for(&self, bytes: usize) -> Option<usize> {
        self.holes.iter().position(|hole| hole.bytes >= bytes)
    }

    /// Takes memory for a segment of `bytes` bytes, and for those after it, unless there is some.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        if self.free >= bytes || self.hole_for(bytes).is_some() {
            return Ok(());
        }
        let pages = (self.total / GROWTH_FRACTION / HUGE_PAGE).max(1);
        let step = if self.total < SMALL {
            // A whole number of segments.
            self.total / SMALL_GROWTH_FRACTION / bytes.max(1) * bytes
        } else {
            pages * HUGE_PAGE
        };
        self.add(Arena::new(bytes.max(step))?);
        Ok(())
    }

    /// The memory for a segment, which was [reserved](Self::reserve); and whether it was used before, and is not
    /// zero.
    pub(super) fn alloc(&mut self, bytes: usize) -> (NonNull<u8>, bool) {
        if let Some(place) = self.hole_for(bytes) {
            let Hole { base, bytes: all, discarded } = self.holes.swap_remove(place);
            self.total += discarded;
            // The list has space for the rest.
            self.add_hole(base, bytes..all);
            return (base, true);
        }
        let arena = self.arenas.last().expect("memory was reserved");
        let base = arena.base_at(arena.len() - self.free);
        self.free -= bytes;
        (base, false)
    }

    /// Gives a segment's memory back: the arena that none of `others` lies in, or its pages, and a hole for the
    /// next segment that fits.
    pub(super) fn give_back(&mut self, segment: &Segment, others: &[Segment]) {
        let holder = self.arenas.iter().position(|arena| arena.holds(segment.address()));
        let Some(holder) = holder else { return };
        // Other parts of a divided table may be in the same arena.
        let Some(arena) = Arc::get_mut(&mut self.arenas[holder]) else { return };
        if others.iter().any(|other| arena.holds(other.address())) {
            // Without memory for the list it is lost until its arena goes.
            if self.holes.try_reserve(1).is_ok() {
                let (base, bytes) = (segment.base(), segment.len());
                let discarded = arena.discard(segment.address(), bytes);
                self.total -= discarded;
                self.holes.push(Hole { base, bytes, discarded });
            }
            return;
        }
        for hole in self.holes.extract_if(.., |hole| arena.holds(hole.base.as_ptr())) {
            self.total += hole.discarded;
        }
        self.total -= arena.len();
        if holder + 1 == self.arenas.len() {
            self.free = 0;
        }
        self.arenas.remove(holder);
    }

    /// The memory of a part of the table, with `total` bytes of segments. The first part gets the unused memory.
    pub(super) fn part(&mut self, total: usize) -> Self {
        self.leave_arena();
        let holes = mem::take(&mut self.holes);
        let unused: usize = holes.iter().map(|hole| hole.bytes - hole.discarded).sum();
        Self { arenas: self.arenas.clone(), free: 0, holes, total: total + unused }
    }

    /// The end of the last arena becomes a hole.
    fn leave_arena(&mut self) {
        let free = mem::take(&mut self.free);
        if let Some(arena) = self.arenas.last() {
            let base = arena.base_at(arena.len() - free);
            self.add_hole(base, 0..free);
        }
    }

    /// Adds a part of what begins at `base`. Without memory for the list it is lost until its arena goes.
    fn add_hole(&mut self, base: NonNull<u8>, part: Range<usize>) {
        let base = NonNull::new(base.as_ptr().wrapping_add(part.start));
        if let Some(base) = base.filter(|_| !part.is_empty())
            && self.holes.try_reserve(1).is_ok()
        {
            self.holes.push(Hole { base, bytes: part.len(), discarded: 0 });
        }
    }

    /// Adds the memory of another part or table.
    pub(super) fn join(&mut self, mut other: Self) {
        self.leave_arena();
        other.leave_arena();
        self.arenas.extend(other.arenas);
        self.arenas.sort_unstable_by_key(Arc::as_ptr);
        self.arenas.dedup_by(|one, other| Arc::ptr_eq(one, other));
        self.holes.extend(other.holes);
        self.total += other.total;
    }

    /// Frees the memory before an address in its arena, if mapped.
    pub(super) fn discard_before(&mut self, address: *const u8) {
        for arena in self.arenas.iter_mut().filter_map(Arc::get_mut) {
            arena.discard_before(address);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.total
    }

    /// Bytes of arenas not from the heap. O(arenas).
    pub(super) fn mapped_bytes(&self) -> usize {
        let mapped: usize = self.arenas.iter().map(|arena| arena.mapped_bytes()).sum();
        mapped - self.holes.iter().map(|hole| hole.discarded).sum::<usize>()
    }
}
