//! Removes many keys.

use crate::filter::{CuckooFilter, by_level};
use crate::hash::{Key, KeyHash};
use crate::kernel::{KnownLevel, LevelGeometry, with_encoding};
use crate::segments::{Prefetcher, Preview, WIDTH, Wanted};
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
        removed.resize(hashes.len(), false);
        by_level(self, hashes, removed, |filter, level, hashes, removed| {
            with_bit_instructions(Remove { filter, level, hashes, removed });
        });
    }
}

/// A batch of removals from segments of one level.
struct Remove<'a> {
    filter: &'a mut CuckooFilter,
    level: &'a LevelGeometry,
    hashes: &'a [KeyHash],
    removed: &'a mut [bool],
}

impl Kernel for Remove<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        with_encoding!(*self.level, |level| self.remove_all(level));
    }
}

impl Remove<'_> {
    #[inline(always)]
    fn remove_all(self, level: impl KnownLevel) {
        let Self { filter, hashes, removed, .. } = self;
        let mut prefetcher = Prefetcher::new(filter.as_segments(), level, hashes, 0);
        let mut preview = Preview::default();
        for removed in removed.chunks_mut(WIDTH) {
            let keys = prefetcher.group().0;
            filter.as_segments().preview(level, keys, Wanted::Key, &mut preview);
            for (number, is_removed) in removed.iter_mut().enumerate() {
                if let Some(due) = prefetcher.due() {
                    due.prefetch(&level.geometry().codec, number);
                }
                *is_removed = match filter.remove_previewed(level, keys, number, &preview) {
                    Some(is_removed) => is_removed,
                    None => filter.remove_at(level, &keys.place(number)),
                };
            }
            prefetcher.next_group(filter.as_segments(), level);
        }
    }
}
