//! Groups of keys and of eviction chains, in vectors, while all segments have one level.

use super::uniform::{self, KeyGroup, Lookups, Preview, WIDTH, Wanted};
use super::{EvictionChain, Segments};
use crate::hash::KeyHash;
use crate::kernel::{GroupMoves, Levels, Place};

impl Segments {
    /// Looks up many keys, with one answer each. Returns false, without answers, if vectors are not possible.
    pub(crate) fn contains_in_vectors<F: Fn(KeyHash) -> bool>(
        &self,
        lookups: &Lookups<'_, F>,
        present: &mut [bool],
    ) -> bool {
        let Some(table) = self.uniform_table() else { return false };
        uniform::contains(table, lookups, present);
        true
    }

    /// Locates a group of keys; false if that cannot be done in vectors.
    #[inline(always)]
    pub(crate) fn locate_group(&self, hashes: &[KeyHash; WIDTH], keys: &mut KeyGroup) -> bool {
        let table = self.uniform_table();
        table.is_some_and(|table| {
            uniform::locate(table, hashes, keys);
            true
        })
    }

    /// Locates a key with the levels known in a loop, and prefetches its buckets.
    #[inline(always)]
    pub(crate) fn locate_and_prefetch(&self, levels: impl Levels, hash: KeyHash) -> Place {
        let place = self.locate_by(levels, hash);
        let level = self.level_in(levels, place.segment);
        let segment = self.table.segment(place.segment);
        level.codec.prefetch(segment, place.primary);
        level.codec.prefetch(segment, place.alternate);
        place
    }

    /// Prefetches the buckets of one key of a group.
    #[inline(always)]
    pub(crate) fn prefetch_key(&self, levels: impl Levels, keys: &KeyGroup, number: usize) {
        keys.prefetch(&self.level_in(levels, keys.segment(number)).codec, number);
    }

    /// Previews the buckets of a group of `count` keys before its first key is processed; clears the preview if that does
    /// not pay, as in groups that are not full.
    #[inline(always)]
    pub(crate) fn preview(
        &self,
        keys: &KeyGroup,
        count: usize,
        wanted: Wanted,
        preview: &mut Preview,
    ) {
        if let Some(table) = self.uniform_table()
            && count == WIDTH
            && uniform::preview(table, keys, wanted, preview)
        {
            return;
        }
        preview.forget();
    }

    /// Finds the moves of a group of chains; false if that does not pay.
    #[inline(always)]
    pub(crate) fn find_moves(&self, moves: &mut GroupMoves) -> bool {
        self.uniform_table().is_some_and(|table| uniform::find_moves(table, moves))
    }

    /// Finds out which of the found moves lead to free slots.
    #[inline(always)]
    pub(crate) fn test_moves(&self, moves: &mut GroupMoves) {
        if let Some(table) = self.uniform_table() {
            uniform::test_moves(table, moves);
        }
    }

    /// Prefetches all buckets that the items of a chain's bucket could move to; `moves` are those that were found.
    #[inline(always)]
    pub(crate) fn prefetch_moves(
        &self,
        levels: impl Levels,
        chain: &EvictionChain,
        moves: Option<(&GroupMoves, usize)>,
    ) {
        let level = self.level_in(levels, chain.segment);
        let segment = self.table.segment(chain.segment);
        match moves {
            Some((moves, number)) => moves.prefetch(&level.codec, segment, number),
            None => level.on_words().prefetch_moves(segment, chain.bucket),
        }
    }
}
