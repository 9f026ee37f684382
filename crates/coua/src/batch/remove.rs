//! Removes many keys.

use crate::filter::CuckooFilter;
use crate::hash::{Key, KeyHash};
use crate::kernel::{Levels, with_levels};
use crate::segments::{Prefetcher, Preview, Wanted};
use crate::simd::{Isa, Kernel, with_bit_instructions};

impl CuckooFilter {
    /// [`remove`](Self::remove) for many keys: one answer for each, in order. O(keys).
    pub fn remove_batch<K: Key>(&mut self, keys: &[K]) -> Vec<bool> {
        let mut removed = Vec::new();
        self.remove_hashes(K::hash_all(keys, self.hasher(), &mut Vec::new()), &mut removed);
        removed
    }

    /// `removed` is cleared, then holds an answer for each key.
    pub(crate) fn remove_hashes(&mut self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
        removed.clear();
        removed.reserve(hashes.len());
        with_bit_instructions(Remove { filter: self, hashes, removed });
    }
}

/// A batch of removals.
struct Remove<'a> {
    filter: &'a mut CuckooFilter,
    hashes: &'a [KeyHash],
    removed: &'a mut Vec<bool>,
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
