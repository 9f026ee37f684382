//! Inserts many items, each into the generation of its time.
//!
//! A batch is divided into *chunks* in which nothing is forgotten, so that a whole chunk can be looked up in all
//! generations at once. The new items of a chunk are divided into *runs* for one generation, which
//! takes them as a batch. The answers equal those of single calls.

use std::ops::Range;

use crate::error::{BatchFull, Full, Insertion};
use crate::filter::IfPresent;
use crate::hash::Key;
use crate::window::change::{Change, ChangeLog, LoggedGenerations};
use crate::window::chunk::Chunk;
use crate::window::{Clock, Generations, Moment, When};

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

    /// [`insert_unique`](Self::insert_unique) of an item with its own time, if the clock is
    /// [`Clock::Given`]. A time later than all before becomes the present.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is absent and there is no room: only the clock has changed then.
    pub fn insert_unique_at<K: Key>(
        &mut self,
        key: K,
        time: impl Into<Moment>,
    ) -> Result<Insertion, Full> {
        let (times, mut outcomes) = ([time.into().into()], Vec::new());
        let done = self.insert_unique_batch_at(&[key], When::Each(&times), &mut outcomes);
        done.map(|()| outcomes[0]).map_err(|stopped| stopped.full)
    }

    /// [`insert_batch_at`](Self::insert_batch_at) at the present time.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<(), BatchFull> {
        self.insert_batch_at(keys, When::Now)
    }

    /// [`insert_unique_batch_at`](Self::insert_unique_batch_at) at the present time: one answer for each key, in order.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room.
    pub fn insert_unique_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<Insertion>, BatchFull> {
        let mut outcomes = Vec::new();
        self.insert_unique_batch_at(keys, When::Now, &mut outcomes).map(|()| outcomes)
    }

    /// Adds a copy of each key, except keys too old for the window. O(keys) expected, and
    /// O(generations) whenever an item goes to another generation than the one before.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room, with the number of keys before it.
    ///
    /// # Panics
    ///
    /// If [`When::Each`] has fewer times than there are keys. Nothing has changed then.
    pub fn insert_batch_at<K: Key>(&mut self, keys: &[K], when: When<'_>) -> Result<(), BatchFull> {
        self.logged(&mut ()).insert_batch(keys, when)
    }

    /// Adds each key that is not remembered. `outcomes` is cleared and then holds one answer for each key, in
    /// order, even if the batch is refused.
    ///
    /// A repeat changes nothing, unless the age of items counts from when they were
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
    /// # Panics
    ///
    /// If [`When::Each`] has fewer times than there are keys. Nothing has changed then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use coua::Insertion::{AlreadyPresent, Inserted};
    /// use coua::window::{Generations, When, Window};
    ///
    /// let minute = Window::given(Duration::from_secs(60), 6)?;
    /// let mut seen = Generations::new(minute);
    /// let (when, mut outcomes) = (When::Each(&[5_000, 30_000, 90_000]), Vec::new());
    /// seen.insert_unique_batch_at(&["a", "a", "a"], when, &mut outcomes)?;
    /// assert_eq!(outcomes, [Inserted, AlreadyPresent, Inserted]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_unique_batch_at<K: Key>(
        &mut self,
        keys: &[K],
        when: When<'_>,
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        self.logged(&mut ()).insert_unique_batch_into(keys, when, outcomes)
    }
}

impl<L: ChangeLog> LoggedGenerations<'_, L> {
    /// [`Generations::insert_unique_batch_at`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn insert_unique_batch_into<K: Key>(
        &mut self,
        keys: &[K],
        when: When<'_>,
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        outcomes.clear();
        outcomes.resize(keys.len(), Insertion::AlreadyPresent);
        let result = self.insert_all(keys, when, IfPresent::Skip, outcomes);
        if let Err(stopped) = &result {
            outcomes[stopped.done..].fill(Insertion::Refused);
        }
        result
    }

    /// [`Generations::insert_batch_at`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K], when: When<'_>) -> Result<(), BatchFull> {
        let mut outcomes = vec![Insertion::AlreadyPresent; keys.len()];
        self.insert_all(keys, when, IfPresent::AddCopy, &mut outcomes)
    }

    /// Inserts items and records which were inserted in `outcomes`, where at first all count as repeats.
    fn insert_all<K: Key>(
        &mut self,
        keys: &[K],
        when: When<'_>,
        if_present: IfPresent,
        outcomes: &mut [Insertion],
    ) -> Result<(), BatchFull> {
        let mut space = Vec::new();
        let hashes = K::hash_all(keys, self.filter.hasher(), &mut space);
        let when = when.part(0..hashes.len());
        if let Some(filter) = self.filter.unbounded_mut() {
            let result = filter.insert_all(hashes, if_present, outcomes);
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
