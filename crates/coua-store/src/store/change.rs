//! Changes the filter, and logs the changes.

use std::ops::Range;

use coua::window::{Change, ChangeLog, Generations, When};
use coua::{BatchFull, Full, Insertion, Key, KeyHash};

use super::{Need, Store};
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
        self.insert_batch_at(keys, When::Now)
    }

    /// [`insert_batch`](Self::insert_batch) for keys that may have their own times.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room.
    ///
    /// # Panics
    ///
    /// If [`When::Each`] has fewer times than there are keys. Nothing has changed then.
    pub fn insert_batch_at<K: Key>(&mut self, keys: &[K], when: When<'_>) -> Result<(), BatchFull> {
        let when = when.part(0..keys.len());
        let mut space = Vec::new();
        let hashes = K::hash_all(keys, self.filter.hasher(), &mut space);
        self.in_pieces(hashes, |filter, encoder, piece| {
            filter.logged(encoder).insert_batch(&hashes[piece.clone()], when.part(piece))
        })
    }

    /// [`insert_unique`](Self::insert_unique) for many keys: one answer for each, in order.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room.
    pub fn insert_unique_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<Insertion>, BatchFull> {
        let mut outcomes = Vec::new();
        self.insert_unique_batch_at(keys, When::Now, &mut outcomes).map(|()| outcomes)
    }

    /// [`insert_unique_batch`](Self::insert_unique_batch) for keys that may have their own times;
    /// `outcomes` is cleared and then holds one answer for each key, even if the batch is refused.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room: from there on all answers are
    /// [`Insertion::Refused`].
    ///
    /// # Panics
    ///
    /// If [`When::Each`] has fewer times than there are keys. Nothing has changed then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use coua::Insertion;
    /// use coua::window::{Generations, When, Window};
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let minute = Window::given(Duration::from_secs(60), 6)?;
    /// let mut store = Store::create(&path, || Generations::new(minute))?;
    /// let mut outcomes = Vec::new();
    /// let when = When::Each(&[5_000, 30_000, 90_000]);
    /// store.insert_unique_batch_at(&["a", "a", "a"], when, &mut outcomes)?;
    /// assert_eq!(outcomes, [Insertion::Inserted, Insertion::AlreadyPresent, Insertion::Inserted]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_unique_batch_at<K: Key>(
        &mut self,
        keys: &[K],
        when: When<'_>,
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        let when = when.part(0..keys.len());
        let (mut space, mut of_piece) = (Vec::new(), Vec::new());
        let hashes = K::hash_all(keys, self.filter.hasher(), &mut space);
        outcomes.clear();
        let result = self.in_pieces(hashes, |filter, encoder, piece| {
            let (hashes, when) = (&hashes[piece.clone()], when.part(piece));
            let result =
                filter.logged(encoder).insert_unique_batch_into(hashes, when, &mut of_piece);
            outcomes.append(&mut of_piece);
            result
        });
        outcomes.resize(keys.len(), Insertion::Refused);
        result
    }

    /// [`remove`](Self::remove) for many keys: one answer for each, in order.
    pub fn remove_batch<K: Key>(&mut self, keys: &[K]) -> Vec<bool> {
        let (mut space, mut removed) = (Vec::new(), Vec::new());
        let hashes = K::hash_all(keys, self.filter.hasher(), &mut space);
        let never_full = self.in_pieces(hashes, |filter, encoder, piece| {
            removed.extend(filter.logged(encoder).remove_batch(&hashes[piece]));
            Ok(())
        });
        debug_assert!(never_full.is_ok());
        removed
    }

    /// Advances the clock of a filter with a window, which forgets what is too old.
    pub fn advance(&mut self, time: u64) {
        let window = self.filter.window();
        let changes = (self.need == Need::Log).then_some(&mut self.changes);
        self.filter.logged(&mut ChangeEncoder { changes, window }).advance(time);
    }

    /// Changes the filter in any other way: merge, compact, convert, clear, reserve. The next commit
    /// writes a new snapshot.
    pub fn rewrite<R>(&mut self, change: impl FnOnce(&mut Generations) -> R) -> R {
        self.join();
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
        self.join();
        self.residence.fetch_to_change(&mut self.filter, hashes);
        let keys = hashes.len();
        let most = self.keys_in_a_piece();
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

    /// Logs those keys of a batch that a [divided](Self::divide) filter has inserted or removed.
    pub fn note_changes(
        &mut self,
        change: Change,
        hashes: &[KeyHash],
        is_changed: impl Fn(usize) -> bool,
    ) {
        let most = self.keys_in_a_piece();
        for (piece, hashes) in hashes.chunks(most).enumerate() {
            if self.need != Need::Log {
                return;
            }
            self.logging(|_, encoder| {
                let changed =
                    hashes.iter().enumerate().filter(|(nth, _)| is_changed(piece * most + nth));
                changed.for_each(|(_, hash)| encoder.changed(change, 0, *hash));
            });
        }
    }

    /// Keys that are changed between checks of the number of changes.
    fn keys_in_a_piece(&self) -> usize {
        (self.options.piece / size_of::<KeyHash>()).max(1)
    }

    /// Makes a change, and appends the changes to the log if there are many.
    pub(crate) fn logging<R>(
        &mut self,
        change: impl FnOnce(&mut Generations, &mut ChangeEncoder<'_>) -> R,
    ) -> R {
        let window = self.filter.window();
        let changes = (self.need == Need::Log).then_some(&mut self.changes);
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

    /// From now on, only a new snapshot can hold the changes.
    pub(super) fn require_snapshot(&mut self) {
        self.changes.clear();
        if self.need == Need::Log {
            let rolled_back = self.log.roll_back(self.options.target(&self.lock));
            self.need = if rolled_back.is_ok() { Need::Snapshot } else { Need::Poisoned };
        }
    }
}
