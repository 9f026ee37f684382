//! Inserts many items, each into the generation of its time.
//!
//! A batch is divided into *chunks* in which nothing is forgotten, so that a whole chunk can be looked up in all
//! generations at once. The new items of a chunk are divided into *runs* for one generation, which
//! takes them as a batch. The answers equal those of single calls.

use std::ops::Range;

use crate::error::{BatchFull, Full, Insertion};
use crate::filter::IfPresent;
use crate::hash::{Key, KeyHash, KeyHasher};
use crate::verbs::{Filter, When, own_verbs};
use crate::window::change::{Change, ChangeLog, LoggedGenerations};
use crate::window::chunk::Chunk;
use crate::window::{Clock, Generations};

/// Shorter chunks are not worth looking up in all generations at once.
const SHORTEST_CHUNK: usize = 16;

impl Generations {
    /// Adds a copy of the key at the present time.
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room: nothing has changed then.
    pub fn insert<K: Key>(&mut self, key: K) -> Result<(), Full> {
        match self.unbounded_mut() {
            Some(plain) => plain.insert(key),
            None => self.insert_batch(&[key]).map_err(|stopped| stopped.full),
        }
    }

    /// Adds the key at the present time if it is not remembered, and returns whether it was added. As with
    /// [`CuckooFilter::insert_unique`](crate::CuckooFilter::insert_unique), nothing is stored for a false positive.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is absent and there is no room: nothing has changed then.
    pub fn insert_unique<K: Key>(&mut self, key: K) -> Result<Insertion, Full> {
        if let Some(plain) = self.unbounded_mut() {
            return plain.insert_unique(key);
        }
        self.insert_unique_batch(&[key]).map(|done| done[0]).map_err(|stopped| stopped.full)
    }

    /// [`insert`](Self::insert) for many keys: adds a copy of each. O(keys) expected.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room, with the number of keys before it.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<(), BatchFull> {
        self.insert_keys(keys, IfPresent::AddCopy).map(drop)
    }

    /// [`insert_unique`](Self::insert_unique) for many keys: one answer for each, in order.
    /// [`Filter::insert_each`] is the same for items with their own times.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room.
    pub fn insert_unique_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<Insertion>, BatchFull> {
        self.insert_keys(keys, IfPresent::Skip)
    }
}

impl Filter for Generations {
    own_verbs!(Self);

    /// Inserts items with their own times, except those too old for the window.
    ///
    /// A repeat changes nothing, unless copies are added, or the age of items counts from when they were
    /// [last seen](crate::window::AgeFrom::LastSeen): then it moves to the generation of its time, if that is newer.
    /// An item older than the window is not inserted, and no repeat: the answer is [`Insertion::Inserted`], even if the
    /// window holds a younger copy.
    ///
    /// O(keys * generations) expected, if the items are in the order of their times. Otherwise each item of
    /// another generation than the one before may cost O(generations^2).
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room, or at the first repeat without room to move, which stays
    /// in its generation. The answers of that key and of all later ones are [`Insertion::Refused`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use coua::Insertion::{AlreadyPresent, Inserted};
    /// use coua::window::{Generations, When, Window};
    /// use coua::{Filter, IfPresent};
    ///
    /// let mut seen = Generations::new(Window::given(Duration::from_secs(60), 6)?);
    /// let (hashes, mut outcomes) = ([seen.hasher().hash("a"); 3], Vec::new());
    /// let when = When::Each(&[5_000, 30_000, 90_000]);
    /// seen.insert_each(&hashes, when, IfPresent::Skip, &mut outcomes)?;
    /// assert_eq!(outcomes, [Inserted, AlreadyPresent, Inserted]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn insert_each(
        &mut self,
        hashes: &[KeyHash],
        when: When<'_>,
        if_present: IfPresent,
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        self.logged(&mut ()).insert_each(hashes, when, if_present, outcomes)
    }
}

impl<L: ChangeLog> LoggedGenerations<'_, L> {
    /// Inserts items and records which were inserted in `outcomes`, where at first all count as repeats.
    pub(super) fn insert_all(
        &mut self,
        hashes: &[KeyHash],
        when: When<'_>,
        if_present: IfPresent,
        outcomes: &mut [Insertion],
    ) -> Result<(), BatchFull> {
        let when = when.part(0..hashes.len());
        if let Some(filter) = self.filter.unbounded_mut() {
            let result = filter.insert_all(hashes, if_present, outcomes, None);
            for (hash, _) in hashes.iter().zip(outcomes).filter(|(_, what)| what.is_new()) {
                self.log.changed(Change::Insert, 0, *hash);
            }
            return result;
        }
        let mut done = 0;
        while done < hashes.len() {
            let end = self.end_of_chunk(done..hashes.len(), when);
            let (hashes, when) = (&hashes[done..end], when.part(done..end));
            let (into, outcomes) = (&mut *self, &mut outcomes[done..end]);
            let (found, changed) = (vec![], vec![]);
            let chunk = Chunk { into, hashes, when, if_present, outcomes, found, changed };
            let processed = chunk.insert();
            done +=
                processed.map_err(|stopped| BatchFull { done: done + stopped.done, ..stopped })?;
        }
        Ok(())
    }

    /// Advances to the time of the first item, and returns the index of the first item of a later generation.
    /// If items are the clock, that is not known yet: then it returns an index soon after, and the caller calls
    /// again.
    fn end_of_chunk(&mut self, items: Range<usize>, when: When<'_>) -> usize {
        let Some(window) = self.filter.window() else { return items.end };
        if window.clock() == Clock::Count {
            let soon = self.filter.room().saturating_mul(2).max(SHORTEST_CHUNK);
            return items.end.min(items.start.saturating_add(soon));
        }
        let (When::Each(times), Clock::Given) = (when, window.clock()) else { return items.end };
        self.advance(times[items.start]);
        let present = window.generation_of(self.filter.clock());
        let is_later = |time: &u64| window.generation_of(*time) > present;
        let length = times[items.clone()].iter().position(is_later);
        length.map_or(items.end, |length| items.start + length)
    }
}
