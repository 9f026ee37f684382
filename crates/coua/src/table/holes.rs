//! Memory between segments: where segments were that are gone.

use std::ptr::NonNull;

use super::arena::Arena;

/// Unused parts of arenas.
#[derive(Debug, Default)]
pub(super) struct Holes {
    list: Vec<Hole>,
    /// Bytes of their pages that were given back.
    discarded: usize,
}

#[derive(Debug)]
struct Hole {
    base: NonNull<u8>,
    bytes: usize,
    /// Of them, those of pages that were given back.
    discarded: usize,
}

impl Holes {
    /// Adds a part that nothing uses any more. Without memory for the list it is lost until its arena goes.
    pub(super) fn add(&mut self, base: NonNull<u8>, bytes: usize, discarded: usize) {
        if self.list.try_reserve(1).is_ok() {
            self.discarded += discarded;
            self.list.push(Hole { base, bytes, discarded });
        }
    }

    fn find(&self, bytes: usize) -> Option<usize> {
        self.list.iter().position(|hole| hole.bytes >= bytes)
    }

    /// Whether a segment of so many bytes fits into one.
    pub(super) fn have(&self, bytes: usize) -> bool {
        self.find(bytes).is_some()
    }

    /// The memory of a hole for a segment of so many bytes; what is in it is not defined. The rest is lost
    /// until its arena goes.
    pub(super) fn take(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let hole = self.list.swap_remove(self.find(bytes)?);
        self.discarded -= hole.discarded;
        Some(hole.base)
    }

    /// Removes those of an arena that goes.
    pub(super) fn forget(&mut self, arena: &Arena) {
        self.list.retain(|hole| !arena.holds(hole.base.as_ptr()));
        self.discarded = self.list.iter().map(|hole| hole.discarded).sum();
    }

    /// Bytes that lie in arenas and were given back.
    pub(super) fn discarded(&self) -> usize {
        self.discarded
    }
}
