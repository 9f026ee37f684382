//! Changes of generations, with or without a log.

use crate::error::{BatchFull, Insertion};
use crate::filter::{CuckooFilter, IfPresent, WhenFull};
use crate::hash::{Key, KeyHash, KeyHasher};
use crate::verbs::{Filter, When, with_outcomes};
use crate::window::generations::Live;
use crate::window::{AgeFrom, Clock, Generations, Moment, Window};

/// A change of a key's copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A copy was added.
    Insert,
    /// A copy was removed.
    Remove,
}

/// Receives changes, in an order in which [`Generations::set_clock`] and [`Generations::replay`] can
/// repeat them. `()` ignores them.
pub trait ChangeLog {
    /// The clock was set.
    fn clock_set(&mut self, clock: u64);
    /// A key's hash was inserted into a generation, or removed from it.
    fn changed(&mut self, change: Change, generation: u64, hash: KeyHash);
    /// The window has left these filters. They free much memory, which takes a while, so they may be dropped elsewhere.
    fn forgotten(&mut self, filters: Vec<CuckooFilter>) {
        drop(filters);
    }
}

impl ChangeLog for () {
    fn clock_set(&mut self, _clock: u64) {}
    fn changed(&mut self, _change: Change, _generation: u64, _hash: KeyHash) {}
}

/// Generations whose changes go to a log, created by [`Generations::logged`].
pub struct LoggedGenerations<'a, L> {
    pub(super) filter: &'a mut Generations,
    pub(super) log: &'a mut L,
}

impl Generations {
    /// Advances the clock to a time. Drops generations that the window has left. Does nothing if the time is earlier
    /// than the clock, or if items are the clock. O(generations), and O(slots) for generations of which three quarters
    /// of the items have [moved on](AgeFrom::LastSeen).
    pub fn advance(&mut self, time: impl Into<Moment>) {
        self.logged(&mut ()).advance(time);
    }

    /// Removes one copy of the key, the oldest. Returns false if there is none. As with
    /// [`CuckooFilter::remove`], remove only what was inserted.
    pub fn remove<K: Key>(&mut self, key: K) -> bool {
        match self.unbounded_mut() {
            Some(plain) => plain.remove(key),
            None => self.remove_batch(&[key])[0],
        }
    }

    /// Removes the oldest copy of each key, so that another key of the same cell is not forgotten
    /// earlier. One answer for each key, in order. O(keys * generations).
    pub fn remove_batch<K: Key>(&mut self, keys: &[K]) -> Vec<bool> {
        let mut space = Vec::new();
        let hashes = K::hash_all(keys, self.hasher(), &mut space);
        self.logged(&mut ()).remove_batch(hashes)
    }

    /// Writes further changes to `log`.
    #[doc(hidden)]
    pub fn logged<'a, L: ChangeLog>(&'a mut self, log: &'a mut L) -> LoggedGenerations<'a, L> {
        LoggedGenerations { filter: self, log }
    }

    /// Sets the clock to a time from a [`ChangeLog`], or to the beginning of its generation; never backwards.
    /// O(generations).
    #[doc(hidden)]
    pub fn set_clock(&mut self, clock: u64) {
        self.forget_until(clock);
    }

    fn forget_until(&mut self, clock: u64) -> Vec<CuckooFilter> {
        let Some(state) = &mut self.state else { return Vec::new() };
        let window = state.window;
        let counts = window.clock() == Clock::Count;
        let begin = if counts { clock } else { window.generation_of(clock) * window.step() };
        let before = window.generation_of(state.clock);
        state.clock = state.clock.max(begin);
        let is_new = window.generation_of(state.clock) > before;
        let oldest =
            window.generation_of(state.clock).saturating_sub(u64::from(window.generations()));
        let left = self.live.partition_point(|live| live.number < oldest);
        let filters: Vec<_> = self.live.drain(..left).map(|live| live.filter).collect();
        let items = filters.iter().map(CuckooFilter::len);
        state.forgotten = items.fold(state.forgotten, u64::saturating_add);
        if is_new && window.age_from() == AgeFrom::LastSeen {
            self.compact_emptied();
        }
        filters
    }

    /// Frees most memory of generations whose items have moved on. This happens when a generation ends, so that
    /// the replay of a log does it at the same place.
    fn compact_emptied(&mut self) {
        let is_resizable = self.template().policy().when_full != WhenFull::Refuse;
        for Live { filter, .. } in self.live.iter_mut().filter(|_| is_resizable) {
            if filter.len() < filter.capacity() / 4 {
                filter.compact().ok();
            }
        }
    }

    /// Whether the window reaches a generation.
    #[doc(hidden)]
    pub fn remembers(&self, generation: u64) -> bool {
        self.state.as_ref().map_or(generation == 0, |state| {
            let present = state.window.generation_of(state.clock);
            let length = u64::from(state.window.generations());
            generation <= present && generation.saturating_add(length) >= present
        })
    }

    /// Replays changes from a [`ChangeLog`]. Skips changes of generations that the window has left.
    /// O(keys) expected.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] if a generation refuses a key. One that took the same keys before does not.
    #[doc(hidden)]
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

impl<L: ChangeLog> LoggedGenerations<'_, L> {
    /// [`Generations::advance`].
    pub fn advance(&mut self, time: impl Into<Moment>) {
        let time = time.into().0;
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

    /// Removes a copy of each hash from a generation. One answer for each, in order.
    pub(super) fn remove_from(&mut self, number: u64, hashes: &[KeyHash]) -> Vec<bool> {
        let place = self.filter.live.binary_search_by_key(&number, |live| live.number);
        let Ok(place) = place else { return vec![false; hashes.len()] };
        let removed = self.filter.live[place].filter.remove_batch(hashes);
        for (hash, _) in hashes.iter().zip(&removed).filter(|(_, removed)| **removed) {
            self.log.changed(Change::Remove, number, *hash);
        }
        removed
    }
}

impl<L: ChangeLog> Filter for LoggedGenerations<'_, L> {
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
        with_outcomes(hashes.len(), outcomes, |it| self.insert_all(hashes, when, if_present, it))
    }

    fn remove_batch(&mut self, hashes: &[KeyHash]) -> Vec<bool> {
        let mut removed = vec![false; hashes.len()];
        let mut places: Vec<usize> = (0..hashes.len()).collect();
        let numbers: Vec<u64> = self.filter.live.iter().map(|live| live.number).collect();
        for number in numbers {
            if places.is_empty() {
                break;
            }
            let wanted: Vec<KeyHash> = places.iter().map(|&place| hashes[place]).collect();
            for (&place, answer) in places.iter().zip(self.remove_from(number, &wanted)) {
                removed[place] = answer;
            }
            places.retain(|&place| !removed[place]);
        }
        removed
    }
}
