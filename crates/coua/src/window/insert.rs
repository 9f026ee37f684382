//! Inserting many items, each into the generation of its time.
//!
//! A batch is cut into *stretches* in which nothing is forgotten, so that all generations can be asked
//! about a whole stretch at once; and the new items of a stretch into *runs* for one generation, which
//! that generation takes as a batch. The answers are those of one call after the other.

use std::ops::Range;

use crate::KeyHash;
use crate::error::{BatchFull, Full, Insertion};
use crate::window::change::{Change, Ledger, When};
use crate::window::stretch::Stretch;
use crate::window::{Clock, Generations};

/// Fewer items are not worth asking all generations at once.
const SHORTEST_STRETCH: usize = 16;

impl Generations {
    /// Adds the key at present if it is not remembered, and says which.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is absent and there is no room: nothing has changed then.
    ///
    /// ```
    /// use coua::{Generations, Insertion};
    /// let mut seen = Generations::default();
    /// assert_eq!(seen.insert_unique("a")?, Insertion::Inserted);
    /// assert_eq!(seen.insert_unique("a")?, Insertion::AlreadyPresent);
    /// # Ok::<(), coua::Full>(())
    /// ```
    pub fn insert_unique<K: AsRef<[u8]>>(&mut self, key: K) -> Result<Insertion, Full> {
        let (hash, mut outcomes) = (self.hasher().hash(key.as_ref()), Vec::new());
        let done = self.insert_unique_hash_batch(&[hash], When::Now, &mut outcomes, &mut ());
        done.map_err(|stopped| stopped.full).map(|()| outcomes[0])
    }

    /// Adds many keys that are hashed already, each if it is not remembered; `outcomes` is cleared and
    /// then holds one answer for each key processed.
    ///
    /// A repeat changes nothing: an item's age counts from when it was inserted, not from when it was
    /// last seen. An item too old for the window that is not remembered counts as
    /// [`Insertion::Inserted`] too, but it is not.
    ///
    /// O(keys * generations) expected, if the items come in the order of their times. If not, each item of
    /// another generation than the one before may cost O(generations^2).
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
    /// use coua::{Clock, CuckooFilter, Generations, Insertion, KeyHash, When, Window};
    /// let minute = Window::new(Clock::Given, 60_000, 6)?;
    /// let mut seen = Generations::new(minute, CuckooFilter::new());
    /// let (hashes, mut outcomes) = ([7, 7, 7].map(KeyHash::from_u64), Vec::new());
    /// let when = When::Each(&[5_000, 30_000, 90_000]);
    /// seen.insert_unique_hash_batch(&hashes, when, &mut outcomes, &mut ())?;
    /// assert_eq!(outcomes, [Insertion::Inserted, Insertion::AlreadyPresent, Insertion::Inserted]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_unique_hash_batch(
        &mut self,
        hashes: &[KeyHash],
        when: When<'_>,
        outcomes: &mut Vec<Insertion>,
        ledger: &mut impl Ledger,
    ) -> Result<(), BatchFull> {
        let when = when.part(0..hashes.len());
        if let Some(filter) = self.endless_mut() {
            let result = filter.insert_unique_hash_batch(hashes, outcomes);
            let inserted = hashes.iter().zip(&*outcomes);
            for (hash, _) in inserted.filter(|(_, what)| **what == Insertion::Inserted) {
                ledger.changed(Change::Insert, 0, *hash);
            }
            return result;
        }
        outcomes.clear();
        while outcomes.len() < hashes.len() {
            let begin = outcomes.len();
            let end = self.end_of_stretch(begin..hashes.len(), when, ledger);
            let (hashes, when) = (&hashes[begin..end], when.part(begin..end));
            outcomes.resize(end, Insertion::AlreadyPresent);
            let outcomes_of = &mut outcomes[begin..];
            let mut stretch = Stretch {
                into: self,
                hashes,
                when,
                outcomes: outcomes_of,
                ledger,
                changed: vec![],
            };
            match stretch.insert_absent() {
                Ok(processed) => outcomes.truncate(begin + processed),
                Err(BatchFull { done, full }) => {
                    outcomes.truncate(begin + done);
                    return Err(BatchFull { done: begin + done, full });
                }
            }
        }
        Ok(())
    }

    /// Adds a copy of many keys that are hashed already, but not of those too old for the window.
    /// O(keys) expected, and O(generations) wherever an item goes to another generation than the one
    /// before.
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
    /// use coua::{Generations, KeyHash, When};
    /// let mut seen = Generations::default();
    /// seen.insert_hash_batch(&[KeyHash::from_u64(1)], When::Now, &mut ())?;
    /// assert_eq!(seen.len(), 1);
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn insert_hash_batch(
        &mut self,
        hashes: &[KeyHash],
        when: When<'_>,
        ledger: &mut impl Ledger,
    ) -> Result<(), BatchFull> {
        let when = when.part(0..hashes.len());
        if self.window().is_none() {
            let filter = self.generation(0).map_err(|full| BatchFull { done: 0, full })?;
            let result = filter.insert_hash_batch(hashes);
            let done = result.as_ref().map_or_else(|stopped| stopped.done, |()| hashes.len());
            hashes[..done].iter().for_each(|hash| ledger.changed(Change::Insert, 0, *hash));
            return result;
        }
        let mut done = 0;
        while done < hashes.len() {
            let end = self.end_of_stretch(done..hashes.len(), when, ledger);
            let target = self.target(when, done);
            let room = self.room();
            let same = (done..end).take(room).take_while(|&at| self.target(when, at) == target);
            let run = &hashes[done..done + same.count()];
            done += self.insert_copies(done, target, run, ledger)?;
        }
        Ok(())
    }

    /// Adds a run of copies to one generation; gives how many items were dealt with.
    fn insert_copies(
        &mut self,
        done: usize,
        target: Option<u64>,
        run: &[KeyHash],
        ledger: &mut impl Ledger,
    ) -> Result<usize, BatchFull> {
        let Some(number) = target else {
            // They need no room.
            let items = run.len().max(1);
            self.note_outdated(items);
            return Ok(items);
        };
        if run.is_empty() {
            return Err(BatchFull { done, full: self.full() });
        }
        let filter = self.generation(number).map_err(|full| BatchFull { done, full })?;
        let result = filter.insert_hash_batch(run);
        let taken = result.as_ref().map_or_else(|stopped| stopped.done, |()| run.len());
        run[..taken].iter().for_each(|hash| ledger.changed(Change::Insert, number, *hash));
        self.count(taken, ledger);
        result.map_err(|stopped| BatchFull { done: done + stopped.done, full: stopped.full })?;
        Ok(taken)
    }

    /// Advances to the time of the first item, and gives where the first one follows that is of a later
    /// generation. Where items are the clock that cannot be foretold: then it gives a place soon after, for
    /// what follows is asked about again.
    fn end_of_stretch(
        &mut self,
        items: Range<usize>,
        when: When<'_>,
        ledger: &mut impl Ledger,
    ) -> usize {
        let Some(window) = self.window() else { return items.end };
        if window.clock() == Clock::Count {
            let soon = self.room().saturating_mul(2).max(SHORTEST_STRETCH);
            return items.end.min(items.start.saturating_add(soon));
        }
        let (When::Each(times), Clock::Given) = (when, window.clock()) else { return items.end };
        self.advance(times[items.start], ledger);
        let present = window.generation_of(self.clock());
        let is_later = |time: &u64| window.generation_of(*time) > present;
        let stretch = times[items.clone()].iter().position(is_later);
        stretch.map_or(items.end, |length| items.start + length)
    }

    /// The generation into which an item goes; none if it is too old.
    pub(super) fn target(&self, when: When<'_>, item: usize) -> Option<u64> {
        let aging = self.aging.as_ref()?;
        let time = match when {
            When::Each(times) if aging.window.clock() == Clock::Given => times[item],
            _ => aging.clock,
        };
        Some(aging.window.generation_of(time)).filter(|number| self.remembers(*number))
    }

    /// As many items may be inserted before it is to be looked again.
    pub(super) fn room(&self) -> usize {
        let left = self.limit().saturating_sub(self.len());
        let left = match &self.aging {
            Some(aging) if aging.window.clock() == Clock::Count => {
                left.min(aging.window.step() - aging.clock % aging.window.step())
            }
            _ => left,
        };
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Counts items that were inserted, where they are the clock. Whether a generation is full now.
    pub(super) fn count(&mut self, inserted: usize, ledger: &mut impl Ledger) -> bool {
        let Some(window) = self.window().filter(|window| window.clock() == Clock::Count) else {
            return false;
        };
        let before = self.clock();
        if inserted > 0 {
            self.turn(before.saturating_add(inserted as u64));
            ledger.turned(self.clock());
        }
        window.generation_of(self.clock()) > window.generation_of(before)
    }

    pub(super) fn note_outdated(&mut self, items: usize) {
        if let Some(aging) = &mut self.aging {
            aging.outdated += items as u64;
        }
    }
}

impl When<'_> {
    /// Of some of the items.
    ///
    /// # Panics
    ///
    /// If there are not as many.
    ///
    /// ```
    /// use coua::When;
    /// let when = When::Each(&[1, 2, 3]).part(1..3);
    /// assert!(matches!(when, When::Each([2, 3])));
    /// ```
    pub fn part(self, items: Range<usize>) -> Self {
        match self {
            Self::Now => Self::Now,
            Self::Each(times) => Self::Each(&times[items]),
        }
    }
}
