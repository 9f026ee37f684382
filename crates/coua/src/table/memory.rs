//! The memory of a table's segments.

use std::ptr::NonNull;

use super::arena::{Arena, HUGE_PAGE};
use crate::error::OutOfMemory;

/// A growing table takes this fraction of its size at a time, in whole huge pages: so that memory has no steps above a
/// huge page or 1 %.
const GROWTH_FRACTION: usize = 100;
/// A table of fewer bytes takes this fraction: it gains little from huge pages, and one would be a large part of it.
const SMALL: usize = 4 * HUGE_PAGE;
const SMALL_GROWTH_FRACTION: usize = 32;

#[derive(Default)]
pub(super) struct Pool {
    arenas: Vec<Arena>,
    unused: Vec<Unused>,
    /// Bytes of the arenas.
    total: usize,
}

/// The unused end of an arena: zeros.
struct Unused {
    base: NonNull<u8>,
    bytes: usize,
}

impl Pool {
    /// Adds an arena.
    pub(super) fn add(&mut self, arena: Arena) {
        self.unused.push(Unused { base: arena.base_at(0), bytes: arena.len() });
        self.total += arena.len();
        self.arenas.push(arena);
    }

    /// Takes memory for a segment of `bytes` bytes, and for those after it, unless there is some.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        if self.unused.iter().any(|unused| unused.bytes >= bytes) {
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

    /// The memory for a segment, which was [reserved](Self::reserve).
    pub(super) fn alloc(&mut self, bytes: usize) -> NonNull<u8> {
        let place = self.unused.iter().position(|unused| unused.bytes >= bytes);
        let place = place.expect("memory was reserved");
        let unused = &mut self.unused[place];
        let base = unused.base;
        let rest = NonNull::new(base.as_ptr().wrapping_add(bytes));
        unused.base = rest.expect("no arena ends at address 0");
        unused.bytes -= bytes;
        if unused.bytes == 0 {
            self.unused.remove(place);
        }
        base
    }

    pub(super) fn bytes(&self) -> usize {
        self.total
    }

    /// Bytes of arenas not from the heap. O(arenas).
    pub(super) fn mapped_bytes(&self) -> usize {
        self.arenas.iter().map(Arena::mapped_bytes).sum()
    }
}
