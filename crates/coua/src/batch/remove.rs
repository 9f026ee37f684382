//! Removing many keys.

use crate::filter::CuckooFilter;
use crate::hash::KeyHash;
use crate::kernel::{Levels, with_levels};
use crate::segments::{Prefetcher, Preview, Wanted};
use crate::simd::{Isa, Kernel};

/// A batch of keys to be taken out of a filter.
pub(super) struct Remove<'a> {
    pub(super) filter: &'a mut CuckooFilter,
    pub(super) hashes: &'a [KeyHash],
    pub(super) removed: &'a mut Vec<bool>,
}

impl Remove<'_> {
    /// Removes the keys of a group.
    #[inline(always)]
    fn remove_group(
        &mut self,
        levels: impl Levels,
        prefetcher: &Prefetcher,
        preview: &mut Preview,
    ) {
        let (keys, numbers) = prefetcher.group();
        self.filter.as_segments().preview(keys, numbers.len(), Wanted::Key, preview);
        let due = prefetcher.due();
        for number in numbers {
            if let Some(due) = due {
                self.filter.as_segments().prefetch_key(levels, due, number);
            }
            let is_removed = match self.filter.remove_previewed(levels, keys, number, preview) {
                Some(is_removed) => is_removed,
                None => self.filter.remove_at(levels, &keys.place(number)),
            };
            self.removed.push(is_removed);
        }
    }
}

impl Kernel for Remove<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        with_levels!(self.filter.as_segments().uniform().copied(), |levels| self
            .remove_all(levels));
    }
}

impl Remove<'_> {
    #[inline(always)]
    fn remove_all(mut self, levels: impl Levels) {
        let mut prefetcher = Prefetcher::new(self.filter.as_segments(), levels, self.hashes, 0);
        let mut preview = Preview::default();
        while self.removed.len() < self.hashes.len() {
            self.remove_group(levels, &prefetcher, &mut preview);
            prefetcher.next_group(self.filter.as_segments(), levels);
        }
    }
}
