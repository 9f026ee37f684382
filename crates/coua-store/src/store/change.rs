//! Changes the filter, and logs the changes.

use std::ops::Range;

use coua::window::{Generations, When};
use coua::{BatchFull, Filter, Full, IfPresent, Insertion, Key, KeyHash, KeyHasher};

use super::{CommitMode, Store};
use crate::growth::Growth;
use crate::log::{ChangeEncoder, Kind};

impl Store {
    /// Adds a copy of the key.
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room: nothing has changed then.
    pub fn insert<K: Key>(&mut self, key: K) -> Result<(), Full> {
        self.insert_batch(&[key]).map_err(|stopped| stopped.full)
    }

    /// Adds the key if it is absent, and returns whether it was.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is absent and there is no room: nothing has changed then.
    pub fn insert_unique<K: Key>(&mut self, key: K) -> Result<Insertion, Full> {
        self.insert_unique_batch(&[key]).map(|done| done[0]).map_err(|stopped| stopped.full)
    }

    /// Removes one copy of the key. Returns false if there is none.
    pub fn remove<K: Key>(&mut self, key: K) -> bool {
        self.remove_batch(&[key])[0]
    }

    /// [`insert`](Self::insert) for many keys.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room, with the number of keys that were inserted.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<(), BatchFull> {
        self.insert_keys(keys, IfPresent::AddCopy).map(drop)
    }

    /// [`insert_unique`](Self::insert_unique) for many keys: one answer for each, in order.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room.
    pub fn insert_unique_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<Insertion>, BatchFull> {
        self.insert_keys(keys, IfPresent::Skip)
    }

    /// [`remove`](Self::remove) for many keys: one answer for each, in order.
    pub fn remove_batch<K: Key>(&mut self, keys: &[K]) -> Vec<bool> {
        let mut space = Vec::new();
        let hashes = K::hash_all(keys, self.filter.hasher(), &mut space);
        Filter::remove_batch(self, hashes)
    }

    /// Advances the clock of a filter with a window, which forgets what is too old.
    pub fn advance(&mut self, time: u64) {
        self.logging(|filter, encoder| filter.logged(encoder).advance(time));
    }

    /// Changes the filter in any other way: merge, compact, convert, clear, reserve. The next commit
    /// writes a new snapshot.
    pub fn rewrite<R>(&mut self, change: impl FnOnce(&mut Generations) -> R) -> R {
        let result = change(&mut self.filter);
        self.require_snapshot();
        result
    }

    /// Makes changes in pieces, so that the memory for uncommitted ones stays small.
    fn in_pieces(
        &mut self,
        hashes: &[KeyHash],
        mut change: impl FnMut(
            &mut Generations,
            &mut ChangeEncoder<'_>,
            Range<usize>,
        ) -> Result<(), BatchFull>,
    ) -> Result<(), BatchFull> {
        let keys = hashes.len();
        self.residence.prepare_changes(&mut self.filter, keys);
        // Keys between checks of the number of changes.
        let most = (self.options.piece / size_of::<KeyHash>()).max(1);
        for begin in (0..keys).step_by(most) {
            let end = keys.min(begin + most);
            let result = self.logging(|filter, encoder| change(filter, encoder, begin..end));
            result.map_err(|mut stopped| {
                stopped.done += begin;
                stopped
            })?;
        }
        Ok(())
    }

    /// Makes a change, and appends the changes to the log if there are many.
    fn logging<R>(
        &mut self,
        change: impl FnOnce(&mut Generations, &mut ChangeEncoder<'_>) -> R,
    ) -> R {
        let window = self.filter.window();
        let changes = (self.mode == CommitMode::Log).then_some(&mut self.changes);
        let result = change(&mut self.filter, &mut ChangeEncoder { changes, window });
        if self.changes.bytes().len() >= self.options.piece {
            self.flush_changes();
        }
        result
    }

    /// Appends a piece of the changes to the log, to limit the memory for them.
    fn flush_changes(&mut self) {
        if self.growth() != Growth::Rewrite {
            let to = self.options.target(&self.lock);
            if self.log.append(to, Kind::Changes, self.changes.bytes()).is_ok() {
                self.changes.clear();
                return;
            }
        }
        // The snapshot that is written instead reports the error.
        self.require_snapshot();
    }

    /// Lets the next commit write a snapshot, which alone can hold the changes.
    pub(super) fn require_snapshot(&mut self) {
        self.changes.clear();
        if self.mode == CommitMode::Log {
            let rolled_back = self.log.roll_back(self.options.target(&self.lock));
            self.mode =
                if rolled_back.is_ok() { CommitMode::Snapshot } else { CommitMode::Poisoned };
        }
    }
}

/// The verbs of the [filter](Store::filter); changes are logged.
impl Filter for Store {
    fn hasher(&self) -> KeyHasher {
        self.filter.hasher()
    }

    fn contains_batch(&self, hashes: &[KeyHash]) -> Vec<bool> {
        self.filter.contains_batch(hashes)
    }

    fn count_batch(&self, hashes: &[KeyHash]) -> Vec<u64> {
        self.filter.count_batch(hashes)
    }

    fn insert_each(
        &mut self,
        hashes: &[KeyHash],
        when: When<'_>,
        if_present: IfPresent,
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        let (when, mut of_piece) = (when.part(0..hashes.len()), Vec::new());
        outcomes.clear();
        let result = self.in_pieces(hashes, |filter, encoder, piece| {
            let (hashes, when) = (&hashes[piece.clone()], when.part(piece));
            let mut logged = filter.logged(encoder);
            let result = logged.insert_each(hashes, when, if_present, &mut of_piece);
            outcomes.append(&mut of_piece);
            result
        });
        outcomes.resize(hashes.len(), Insertion::Refused);
        result
    }

    fn remove_batch(&mut self, hashes: &[KeyHash]) -> Vec<bool> {
        let mut removed = Vec::new();
        let never_full = self.in_pieces(hashes, |filter, encoder, piece| {
            removed.extend(filter.logged(encoder).remove_batch(&hashes[piece]));
            Ok(())
        });
        debug_assert!(never_full.is_ok());
        removed
    }
}
