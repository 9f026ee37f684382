//! Changing the filter, and noting what was changed.

use std::mem;

use coua::{BatchFull, CuckooFilter, Full, Insertion, KeyHash};

use crate::journal::Journal;
use crate::log::Change;
use crate::store::{Need, Store};

impl Store {
    /// Adds a copy of the key.
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room: nothing has changed then.
    pub fn insert<K: AsRef<[u8]>>(&mut self, key: K) -> Result<(), Full> {
        let hash = self.filter.hasher().hash(key.as_ref());
        self.insert_hash_batch(&[hash]).map_err(|stopped| stopped.full)
    }

    /// Adds the key if it is absent, and says which.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is absent and there is no room: nothing has changed then.
    pub fn insert_unique<K: AsRef<[u8]>>(&mut self, key: K) -> Result<Insertion, Full> {
        let hash = self.filter.hasher().hash(key.as_ref());
        let mut outcomes = Vec::new();
        let done = self.insert_unique_hash_batch(&[hash], &mut outcomes);
        done.map_err(|stopped| stopped.full)?;
        Ok(outcomes[0])
    }

    /// Takes one copy of the key away; false if there is none.
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
    pub fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> Result<(), BatchFull> {
        self.memory.touch(&mut self.filter, hashes.len());
        let result = self.filter.insert_hash_batch(hashes);
        let done = result.as_ref().map_or_else(|stopped| stopped.done, |()| hashes.len());
        self.note(Change::Insert, hashes[..done].iter().copied());
        result
    }

    /// [`insert_unique`](Self::insert_unique) for many keys that are hashed already; `outcomes` is
    /// cleared and then holds one answer for each key processed.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room.
    pub fn insert_unique_hash_batch(
        &mut self,
        hashes: &[KeyHash],
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        self.memory.touch(&mut self.filter, hashes.len());
        let result = self.filter.insert_unique_hash_batch(hashes, outcomes);
        // A key that is absent is inserted in the same way as any copy.
        let inserted = hashes.iter().zip(&*outcomes);
        let inserted = inserted.filter(|(_, outcome)| **outcome == Insertion::Inserted);
        self.note(Change::Insert, inserted.map(|(hash, _)| *hash));
        result
    }

    /// [`remove`](Self::remove) for many keys that are hashed already; `removed` is cleared and then
    /// holds one answer each.
    pub fn remove_hash_batch(&mut self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
        self.memory.touch(&mut self.filter, hashes.len());
        self.filter.remove_hash_batch(hashes, removed);
        let taken = hashes.iter().zip(&*removed).filter(|(_, removed)| **removed);
        self.note(Change::Remove, taken.map(|(hash, _)| *hash));
    }

    /// Changes the filter in any other way: merge, compact, convert, clear, reserve. The next commit
    /// writes a new snapshot.
    pub fn rewrite<R>(&mut self, change: impl FnOnce(&mut CuckooFilter) -> R) -> R {
        let result = change(&mut self.filter);
        self.outgrow();
        result
    }

    fn note(&mut self, change: Change, hashes: impl Iterator<Item = KeyHash>) {
        if self.need != Need::Journal {
            return;
        }
        for hash in hashes {
            self.log.push(change, hash);
            if self.log.bytes().len() >= self.options.piece && self.hand_on() == Need::Snapshot {
                return;
            }
        }
    }

    /// Hands a piece of the log to the journal, which bounds the memory for it.
    fn hand_on(&mut self) -> Need {
        let mut log = mem::take(&mut self.log);
        let is_written = !self.is_outgrown_by(log.bytes())
            && self.journal().is_ok()
            && self
                .journal
                .as_mut()
                .is_some_and(|journal| journal.append(&*self.options.disk, log.bytes()).is_ok());
        log.clear();
        self.log = log;
        if !is_written {
            // Whatever the reason: the snapshot that is written instead will meet it again and say.
            self.outgrow();
        }
        self.need
    }

    /// Whether the journal with these changes would be larger than it may be.
    pub(crate) fn is_outgrown_by(&self, changes: &[u8]) -> bool {
        let so_far = self.journal.as_ref().map_or(0, Journal::bytes);
        let limit = self.options.journal_limit(self.snapshot.identity.bytes);
        so_far + changes.len() as u64 >= limit
    }

    /// From now on only a new snapshot can hold the changes.
    pub(crate) fn outgrow(&mut self) {
        self.log.clear();
        if self.need != Need::Journal {
            return;
        }
        self.need = Need::Snapshot;
        if let Some(journal) = &mut self.journal
            && journal.take_back(&*self.options.disk).is_err()
        {
            self.need = Need::Reopening;
        }
    }
}
