//! Changing the filter, and noting what was changed.

use std::mem;
use std::ops::Range;

use coua::{BatchFull, Full, Generations, Insertion, KeyHash, When};

use crate::changes::Notes;
use crate::log::Kind;
use crate::store::{Need, Store};

impl Store {
    /// Adds a copy of the key.
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room: nothing has changed then.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// store.insert("a")?;
    /// assert_eq!(store.filter().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert<K: AsRef<[u8]>>(&mut self, key: K) -> Result<(), Full> {
        let hash = self.filter.hasher().hash(key.as_ref());
        self.insert_hash_batch(&[hash]).map_err(|stopped| stopped.full)
    }

    /// Adds the key if it is absent, and says which.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is absent and there is no room: nothing has changed then.
    ///
    /// ```
    /// # use coua::{CuckooFilter, Insertion};
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// assert_eq!(store.insert_unique("a")?, Insertion::Inserted);
    /// assert_eq!(store.insert_unique("a")?, Insertion::AlreadyPresent);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_unique<K: AsRef<[u8]>>(&mut self, key: K) -> Result<Insertion, Full> {
        let hash = self.filter.hasher().hash(key.as_ref());
        let mut outcomes = Vec::new();
        let done = self.insert_unique_hash_batch(&[hash], &mut outcomes);
        done.map_err(|stopped| stopped.full)?;
        Ok(outcomes[0])
    }

    /// Takes one copy of the key away; false if there is none.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// assert!(store.remove("a"));
    /// assert!(!store.remove("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove<K: AsRef<[u8]>>(&mut self, key: K) -> bool {
        let hash = self.filter.hasher().hash(key.as_ref());
        let mut removed = Vec::new();
        self.remove_hash_batch(&[hash], &mut removed);
        removed[0]
    }

    /// [`insert`](Self::insert) for many keys that are hashed already.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room: it tells how many are in.
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// store.insert_hash_batch(&[KeyHash::from_u64(1), KeyHash::from_u64(1)])?;
    /// assert_eq!(store.filter().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> Result<(), BatchFull> {
        self.insert_hash_batch_at(hashes, When::Now)
    }

    /// [`insert_hash_batch`](Self::insert_hash_batch) for keys that may have times of their own.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room.
    ///
    /// # Panics
    ///
    /// If [`When::Each`] has fewer times than there are keys. Nothing has changed then.
    ///
    /// ```
    /// # use coua::{Clock, CuckooFilter, Generations, KeyHash, When, Window};
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let minute = Window::new(Clock::Given, 60_000, 6)?;
    /// let mut store = Store::create(&path, || Generations::new(minute, CuckooFilter::new()))?;
    /// let hashes = [1, 2].map(KeyHash::from_u64);
    /// store.insert_hash_batch_at(&hashes, When::Each(&[5_000, 90_000]))?;
    /// assert!(!store.filter().contains_hash(hashes[0]) && store.filter().contains_hash(hashes[1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_hash_batch_at(
        &mut self,
        hashes: &[KeyHash],
        when: When<'_>,
    ) -> Result<(), BatchFull> {
        let when = when.part(0..hashes.len());
        self.in_pieces(hashes, |filter, notes, piece| {
            filter.insert_hash_batch(&hashes[piece.clone()], when.part(piece), notes)
        })
    }

    /// [`insert_unique`](Self::insert_unique) for many keys that are hashed already; `outcomes` is
    /// cleared and then holds one answer for each key processed.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room.
    ///
    /// ```
    /// # use coua::{CuckooFilter, Insertion, KeyHash};
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// let mut outcomes = Vec::new();
    /// store.insert_unique_hash_batch(&[7, 7].map(KeyHash::from_u64), &mut outcomes)?;
    /// assert_eq!(outcomes, [Insertion::Inserted, Insertion::AlreadyPresent]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_unique_hash_batch(
        &mut self,
        hashes: &[KeyHash],
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        self.insert_unique_hash_batch_at(hashes, When::Now, outcomes)
    }

    /// [`insert_unique_hash_batch`](Self::insert_unique_hash_batch) for keys that may have times of
    /// their own.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room.
    ///
    /// # Panics
    ///
    /// If [`When::Each`] has fewer times than there are keys. Nothing has changed then.
    ///
    /// ```
    /// # use coua::{Clock, CuckooFilter, Generations, Insertion, KeyHash, When, Window};
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let minute = Window::new(Clock::Given, 60_000, 6)?;
    /// let mut store = Store::create(&path, || Generations::new(minute, CuckooFilter::new()))?;
    /// let (hashes, mut outcomes) = ([7, 7, 7].map(KeyHash::from_u64), Vec::new());
    /// let when = When::Each(&[5_000, 30_000, 90_000]);
    /// store.insert_unique_hash_batch_at(&hashes, when, &mut outcomes)?;
    /// assert_eq!(outcomes, [Insertion::Inserted, Insertion::AlreadyPresent, Insertion::Inserted]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_unique_hash_batch_at(
        &mut self,
        hashes: &[KeyHash],
        when: When<'_>,
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        let when = when.part(0..hashes.len());
        outcomes.clear();
        let mut of_piece = Vec::new();
        self.in_pieces(hashes, |filter, notes, piece| {
            let (hashes, when) = (&hashes[piece.clone()], when.part(piece));
            let result = filter.insert_unique_hash_batch(hashes, when, &mut of_piece, notes);
            outcomes.append(&mut of_piece);
            result
        })
    }

    /// [`remove`](Self::remove) for many keys that are hashed already; `removed` is cleared and then
    /// holds one answer each.
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// let (hash, mut removed) = (KeyHash::from_u64(7), Vec::new());
    /// store.insert_hash_batch(&[hash])?;
    /// store.remove_hash_batch(&[hash, hash], &mut removed);
    /// assert_eq!(removed, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_hash_batch(&mut self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
        removed.clear();
        let mut of_piece = Vec::new();
        let never_full = self.in_pieces(hashes, |filter, notes, piece| {
            filter.remove_hash_batch(&hashes[piece], &mut of_piece, notes);
            removed.append(&mut of_piece);
            Ok(())
        });
        debug_assert!(never_full.is_ok());
    }

    /// Tells a filter that forgets the time: what its window has left goes.
    ///
    /// ```
    /// # use coua::{Clock, CuckooFilter, Generations, Window};
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let minute = Window::new(Clock::Arrival, 60_000, 6)?;
    /// let mut store = Store::create(&path, || Generations::new(minute, CuckooFilter::new()))?;
    /// store.insert("a")?;
    /// store.advance(70_000);
    /// assert!(!store.filter().contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn advance(&mut self, time: u64) {
        let window = self.filter.window();
        let changes = (self.need == Need::Log).then_some(&mut self.changes);
        self.filter.advance(time, &mut Notes { changes, window });
    }

    /// Changes the filter in any other way: merge, compact, convert, clear, reserve. The next commit
    /// writes a new snapshot.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// store.rewrite(|filter| filter.endless_mut().map(CuckooFilter::clear));
    /// assert!(store.filter().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rewrite<R>(&mut self, change: impl FnOnce(&mut Generations) -> R) -> R {
        let result = change(&mut self.filter);
        self.outgrow();
        result
    }

    /// Makes changes in pieces, so that the log, which is handed on after each, stays small.
    fn in_pieces(
        &mut self,
        hashes: &[KeyHash],
        mut change: impl FnMut(&mut Generations, &mut Notes<'_>, Range<usize>) -> Result<(), BatchFull>,
    ) -> Result<(), BatchFull> {
        self.memory.touch(&mut self.filter, hashes);
        let keys = hashes.len();
        let most = (self.options.piece / size_of::<KeyHash>()).max(1);
        for begin in (0..keys).step_by(most) {
            let window = self.filter.window();
            let changes = (self.need == Need::Log).then_some(&mut self.changes);
            let mut notes = Notes { changes, window };
            let end = keys.min(begin + most);
            let result = change(&mut self.filter, &mut notes, begin..end);
            if self.changes.bytes().len() >= self.options.piece {
                self.hand_on();
            }
            result.map_err(|mut stopped| {
                stopped.done += begin;
                stopped
            })?;
        }
        Ok(())
    }

    /// Appends a piece of the changes to the log, which bounds the memory for them.
    fn hand_on(&mut self) {
        let mut changes = mem::take(&mut self.changes);
        let is_written = !self.is_outgrown_by(changes.bytes()) && self.take_over().is_ok() && {
            let (log, to) = self.log_target();
            log.append(to, Kind::Changes, changes.bytes()).is_ok()
        };
        changes.clear();
        self.changes = changes;
        if !is_written {
            // Whatever the reason: the snapshot that is written instead will meet it again and say.
            self.outgrow();
        }
    }

    /// Whether the log with these changes would be larger than it may be: than its limit; or, where a
    /// snapshot is made in the background meanwhile, than the filter and what opening repeats in some seconds.
    pub(crate) fn is_outgrown_by(&self, changes: &[u8]) -> bool {
        let is_beyond = || self.log_with(changes) >= self.largest().max(self.options.most_waiting);
        self.is_at_limit(changes) && (!self.works_in_background() || is_beyond())
    }

    /// Bytes of the log with these changes.
    pub(crate) fn log_with(&self, changes: &[u8]) -> u64 {
        self.log.bytes() + changes.len() as u64
    }

    /// From here on only a new snapshot can hold the changes.
    pub(crate) fn outgrow(&mut self) {
        self.changes.clear();
        if self.need != Need::Log {
            return;
        }
        self.need = Need::Snapshot;
        let (log, to) = self.log_target();
        if log.take_back(to).is_err() {
            self.need = Need::Reopening;
        }
    }
}
