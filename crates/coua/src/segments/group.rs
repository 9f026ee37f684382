//! Groups of keys and of eviction chains, in vectors; their segments have one level.

use super::uniform::{self, KeyGroup, LevelTable, Lookups, Preview, WIDTH, Wanted};
use super::{EvictionChain, Segments};
use crate::hash::KeyHash;
use crate::kernel::{GroupMoves, KnownLevel, LevelGeometry};

impl Segments {
    /// The segments of a level, as vectors read them.
    #[inline(always)]
    pub(super) fn table_of<'a>(&'a self, level: &'a LevelGeometry) -> LevelTable<'a> {
        LevelTable { table: &self.table, directory: &self.directory, level }
    }

    /// Looks up many keys whose segments have this level, with one answer each.
    pub(crate) fn contains<F: Fn(KeyHash) -> bool>(
        &self,
        level: &LevelGeometry,
        lookups: &Lookups<'_, F>,
        present: &mut [bool],
    ) {
        uniform::contains(self.table_of(level), lookups, present);
    }

    /// Locates a group of keys.
    #[inline(always)]
    pub(crate) fn locate_group(
        &self,
        level: &LevelGeometry,
        hashes: &[KeyHash; WIDTH],
        keys: &mut KeyGroup,
    ) {
        uniform::locate(self.table_of(level), hashes, keys);
    }

    /// Prefetches the buckets of a key.
    #[inline(always)]
    pub(crate) fn prefetch(&self, level: impl KnownLevel, hash: KeyHash) {
        let place = self.locate_by(level, hash);
        let segment = self.table.segment(place.segment);
        for bucket in [place.primary, place.alternate] {
            level.geometry().codec.prefetch(segment, bucket);
        }
    }

    /// Previews the buckets of a group of keys before its first key is processed; clears the preview if that does not pay.
    #[inline(always)]
    pub(crate) fn preview(
        &self,
        level: impl KnownLevel,
        keys: &KeyGroup,
        wanted: Wanted,
        preview: &mut Preview,
    ) {
        if !uniform::preview(self.table_of(&level.geometry()), keys, wanted, preview) {
            preview.forget();
        }
    }

    /// Finds the moves of a group of chains; false if that does not pay.
    #[inline(always)]
    pub(crate) fn find_moves(&self, level: impl KnownLevel, moves: &mut GroupMoves) -> bool {
        uniform::find_moves(self.table_of(&level.geometry()), moves)
    }

    /// Finds out which of the found moves lead to free slots.
    #[inline(always)]
    pub(crate) fn test_moves(&self, level: impl KnownLevel, moves: &mut GroupMoves) {
        uniform::test_moves(self.table_of(&level.geometry()), moves);
    }

    /// Prefetches all buckets that the items of a chain's bucket could move to; `moves` are those that were found.
    #[inline(always)]
    pub(crate) fn prefetch_moves(
        &self,
        level: impl KnownLevel,
        chain: &EvictionChain,
        moves: Option<(&GroupMoves, usize)>,
    ) {
        let level = level.geometry();
        let segment = self.table.segment(chain.segment);
        match moves {
            Some((moves, number)) => moves.prefetch(&level.codec, segment, number),
            None => level.on_words().prefetch_moves(segment, chain.bucket),
        }
    }
}
