//! Changing generations, and noting the changes in a log.

use std::ops::Range;

use crate::error::{BatchFull, Full, Insertion};
use crate::filter::CuckooFilter;
use crate::hash::{Key, KeyHash};
use crate::window::generations::Live;
use crate::window::{Clock, Generations, Window};

/// What was done with a key's hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A copy was added.
    Insert,
    /// A copy was taken away.
    Remove,
}

/// Receives what changed, in an order in which [`Generations::set_clock`] and [`Generations::replay`] can
/// repeat it. `()` ignores it.
pub trait ChangeLog {
    /// The clock was set to this.
    fn clock_set(&mut self, clock: u64);
    /// A key's hash was put into a generation, or taken out of it.
    fn changed(&mut self, change: Change, generation: u64, hash: KeyHash);
    /// The window has left these filters. Whoever overrides this may drop them elsewhere: to give much memory back
    /// takes a while.
    fn forgotten(&mut self, filters: Vec<CuckooFilter>) {
        drop(filters);
    }
}

impl ChangeLog for () {
    fn clock_set(&mut self, _clock: u64) {}
    fn changed(&mut self, _change: Change, _generation: u64, _hash: KeyHash) {}
}

/// The times of a batch's items.
#[derive(Clone, Copy, Debug)]
pub enum When<'a> {
    /// At present.
    Now,
    /// One time for each item. With a clock other than [`Clock::Given`] this is the same as `Now`.
    Each(&'a [u64]),
}

impl When<'_> {
    /// The times of some of the items.
    ///
    /// # Panics
    ///
    /// If there are fewer times.
    pub fn part(self, items: Range<usize>) -> Self {
        match self {
            Self::Now => Self::Now,
            Self::Each(times) => Self::Each(&times[items]),
        }
    }
}

/// Generations whose changes are noted in a log, made by [`Generations::logged`].
pub struct Logged<'a, L> {
    pub(super) filter: &'a mut Generations,
    pub(super) log: &'a mut L,
}

impl Generations {
    /// Changes from here on are noted in `log`.
    pub fn logged<'a, L: ChangeLog>(&'a mut self, log: &'a mut L) -> Logged<'a, L> {
        Logged { filter: self, log }
    }

    /// Tells the time. Generations that the window has left are dropped, and their memory is given back. An
    /// earlier time changes nothing; nor does any time where items are the clock. O(generations).
    pub fn advance(&mut self, time: u64) {
        self.logged(&mut ()).advance(time);
    }

    /// Adds a copy of the key at present.
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room: nothing has changed then.
    pub fn insert<K: Key>(&mut self, key: K) -> Result<(), Full> {
        self.insert_batch(&[key]).map_err(|stopped| stopped.full)
    }

    /// Adds the key at present if it is not remembered, and says which.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is absent and there is no room: nothing has changed then.
    pub fn insert_unique<K: Key>(&mut self, key: K) -> Result<Insertion, Full> {
        self.insert_unique_batch(&[key]).map(|done| done[0]).map_err(|stopped| stopped.full)
    }

    /// Takes one copy of the key away, the oldest; false if there is none.
    pub fn remove<K: Key>(&mut self, key: K) -> bool {
        self.remove_batch(&[key])[0]
    }

    /// [`Logged::insert_batch`] at present, without a log.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<(), BatchFull> {
        self.logged(&mut ()).insert_batch(keys, When::Now)
    }

    /// [`Logged::insert_unique_batch_into`] at present, without a log: one answer for each key, in
    /// order.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room.
    pub fn insert_unique_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<Insertion>, BatchFull> {
        let mut outcomes = Vec::new();
        let done = self.logged(&mut ()).insert_unique_batch_into(keys, When::Now, &mut outcomes);
        done.map(|()| outcomes)
    }

    /// [`Logged::remove_batch`] without a log.
    pub fn remove_batch<K: Key>(&mut self, keys: &[K]) -> Vec<bool> {
        self.logged(&mut ()).remove_batch(keys)
    }

    /// Whether this clock may come next in a [`ChangeLog`].
    pub fn can_set_clock(&self, clock: u64) -> bool {
        let is_place =
            |window: Window| window.clock() == Clock::Count || clock.is_multiple_of(window.step());
        clock >= self.clock() && self.window().is_some_and(is_place)
    }

    /// Sets the clock to a time from a [`ChangeLog`], or to the beginning of its generation. It never goes back.
    /// O(generations).
    pub fn set_clock(&mut self, clock: u64) {
        self.forget_until(clock);
    }

    fn forget_until(&mut self, clock: u64) -> Vec<CuckooFilter> {
        let Some(aging) = &mut self.aging else { return Vec::new() };
        let window = aging.window;
        let counts = window.clock() == Clock::Count;
        let begin = if counts { clock } else { window.generation_of(clock) * window.step() };
        aging.clock = aging.clock.max(begin);
        let oldest =
            window.generation_of(aging.clock).saturating_sub(u64::from(window.generations()));
        let left = self.live.partition_point(|live| live.number < oldest);
        let filters: Vec<_> = self.live.drain(..left).map(|live| live.filter).collect();
        let items = filters.iter().map(CuckooFilter::len);
        aging.forgotten = items.fold(aging.forgotten, u64::saturating_add);
        filters
    }

    /// Whether the window reaches a generation.
    pub fn remembers(&self, generation: u64) -> bool {
        self.aging.as_ref().map_or(generation == 0, |aging| {
            let present = aging.window.generation_of(aging.clock);
            let length = u64::from(aging.window.generations());
            generation <= present && generation.saturating_add(length) >= present
        })
    }

    /// Repeats what a [`ChangeLog`] contains. Changes of generations that the window has left are skipped.
    /// O(keys) expected.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] if a generation refuses. One that took the same keys before does not.
    pub fn replay(
        &mut self,
        change: Change,
        generation: u64,
        hashes: &[KeyHash],
    ) -> Result<(), BatchFull> {
        if !self.remembers(generation) {
            return Ok(());
        }
        let filter = self.generation(generation);
        let filter = filter.map_err(|full| BatchFull { done: 0, full })?;
        match change {
            Change::Insert => filter.insert_batch(hashes),
            Change::Remove => {
                filter.remove_batch(hashes);
                Ok(())
            }
        }
    }
}

impl<L: ChangeLog> Logged<'_, L> {
    /// [`Generations::advance`].
    pub fn advance(&mut self, time: u64) {
        let is_later = |window: Window| {
            window.clock() != Clock::Count
                && window.generation_of(time) > window.generation_of(self.filter.clock())
        };
        if self.filter.window().is_some_and(is_later) {
            self.set_clock(time);
        }
    }

    pub(super) fn set_clock(&mut self, clock: u64) {
        let forgotten = self.filter.forget_until(clock);
        self.log.clock_set(self.filter.clock());
        if !forgotten.is_empty() {
            self.log.forgotten(forgotten);
        }
    }

    /// Takes the oldest copy of each key away, so that another key of the same cell is remembered as long as
    /// before. One answer for each key, in order. O(keys * generations).
    pub fn remove_batch<K: Key>(&mut self, keys: &[K]) -> Vec<bool> {
        let mut space = Vec::new();
        let hashes = K::hash_all(keys, self.filter.hasher(), &mut space);
        let mut removed = vec![false; hashes.len()];
        let mut places: Vec<usize> = (0..hashes.len()).collect();
        for Live { number, filter } in &mut self.filter.live {
            if places.is_empty() {
                break;
            }
            let wanted: Vec<KeyHash> = places.iter().map(|&place| hashes[place]).collect();
            let answers = filter.remove_batch(&wanted);
            for (&place, _) in places.iter().zip(answers).filter(|(_, answer)| *answer) {
                removed[place] = true;
                self.log.changed(Change::Remove, *number, hashes[place]);
            }
            places.retain(|&place| !removed[place]);
        }
        removed
    }
}
