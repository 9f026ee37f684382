//! Removes many keys.

use crate::filter::{CuckooFilter, by_level};
use crate::hash::{Key, KeyHash};
use crate::kernel::{KnownLevel, with_encoding};
use crate::segments::{Prefetcher, Preview, WIDTH, Wanted};
use crate::simd::with_bit_instructions;

impl CuckooFilter {
    /// [`remove`](Self::remove) for many keys: one answer for each, in order. O(keys).
    pub fn remove_batch<K: Key>(&mut self, keys: &[K]) -> Vec<bool> {
        self.remove_hashes(K::hash_all(keys, self.hasher(), &mut Vec::new()))
    }

    pub(crate) fn remove_hashes(&mut self, hashes: &[KeyHash]) -> Vec<bool> {
        let mut removed = vec![false; hashes.len()];
        by_level(self, hashes, &mut removed, |filter, level, hashes, removed| {
            with_bit_instructions(
                #[inline(always)]
                || with_encoding!(*level, |level| filter.remove_in_level(level, hashes, removed)),
            );
        });
        removed
    }

    /// Removes keys whose segments have this level.
    #[inline(always)]
    fn remove_in_level(
        &mut self,
        level: impl KnownLevel,
        hashes: &[KeyHash],
        removed: &mut [bool],
    ) {
        let mut prefetcher = Prefetcher::new(self.as_segments(), level, hashes, 0);
        let mut preview = Preview::default();
        for removed in removed.chunks_mut(WIDTH) {
            let keys = prefetcher.group().0;
            self.as_segments().preview(&level.geometry(), keys, Wanted::Key, &mut preview);
            for (number, is_removed) in removed.iter_mut().enumerate() {
                if let Some(due) = prefetcher.due() {
                    due.prefetch(&level.geometry().codec, number);
                }
                *is_removed =
                    match self.remove_previewed(&level.geometry().codec, keys, number, &preview) {
                        Some(is_removed) => is_removed,
                        None => self.remove_at(level, &keys.place(number)),
                    };
            }
            prefetcher.next_group(self.as_segments());
        }
    }
}
