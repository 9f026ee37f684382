//! Time going on, removing, and doing noted changes again.

use crate::KeyHash;
use crate::cuckoo::CuckooFilter;
use crate::error::{BatchFull, Full, FullReason};
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

/// Takes note of what changed, in an order in which it can be done again:
/// [`turn`](Generations::turn) and [`repeat`](Generations::repeat). `()` takes none.
pub trait Ledger {
    /// The clock stands here now.
    fn turned(&mut self, clock: u64);
    /// A key's hash was put into a generation, or taken out of it.
    fn changed(&mut self, change: Change, generation: u64, hash: KeyHash);
}

impl Ledger for () {
    fn turned(&mut self, _clock: u64) {}
    fn changed(&mut self, _change: Change, _generation: u64, _hash: KeyHash) {}
}

/// When the items of a batch happened.
#[derive(Clone, Copy, Debug)]
pub enum When<'a> {
    /// At present.
    Now,
    /// Each at a time of its own; these are as many as the items. They count where the clock is
    /// [`Clock::Given`]; otherwise it is as with `Now`.
    Each(&'a [u64]),
}

impl Generations {
    /// Tells the time. What the window has left is forgotten whole: no item is looked at, and the memory is
    /// given back. A time before the present changes nothing; nor does one where items are counted.
    /// O(generations).
    ///
    /// ```
    /// # use coua::{Clock, CuckooFilter, Generations, Window};
    /// # let window = Window::new(Clock::Arrival, 60_000, 6)?;
    /// let mut seen = Generations::new(window, CuckooFilter::new());
    /// seen.insert_unique("a")?;
    /// seen.advance(70_000, &mut ());
    /// assert!(!seen.contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn advance(&mut self, time: u64, ledger: &mut impl Ledger) {
        let Some(window) = self.window().filter(|window| window.clock() != Clock::Count) else {
            return;
        };
        let begin = window.generation_of(time) * window.step();
        if begin > self.clock() {
            self.turn(begin);
            ledger.turned(begin);
        }
    }

    /// Whether a [`Ledger`] may have noted this clock next.
    ///
    /// ```
    /// # use coua::{Clock, CuckooFilter, Generations, Window};
    /// # let window = Window::new(Clock::Arrival, 60_000, 6)?;
    /// let seen = Generations::new(window, CuckooFilter::new());
    /// assert!(seen.can_turn(20_000) && !seen.can_turn(20_001));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn can_turn(&self, clock: u64) -> bool {
        let is_place =
            |window: Window| window.clock() == Clock::Count || clock.is_multiple_of(window.step());
        clock >= self.clock() && self.window().is_some_and(is_place)
    }

    /// Sets the clock as a [`Ledger`] noted it, or to the beginning of that generation; it never goes back.
    /// O(generations).
    ///
    /// ```
    /// # use coua::{Clock, CuckooFilter, Generations, Window};
    /// # let window = Window::new(Clock::Arrival, 60_000, 6)?;
    /// let mut seen = Generations::new(window, CuckooFilter::new());
    /// seen.turn(20_000);
    /// assert_eq!(seen.clock(), 20_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn turn(&mut self, clock: u64) {
        let Some(aging) = &mut self.aging else { return };
        let window = aging.window;
        let counts = window.clock() == Clock::Count;
        let begin = if counts { clock } else { window.generation_of(clock) * window.step() };
        aging.clock = aging.clock.max(begin);
        let oldest =
            window.generation_of(aging.clock).saturating_sub(u64::from(window.generations()));
        let left = self.live.partition_point(|live| live.number < oldest);
        let items = self.live.drain(..left).map(|live| live.filter.len());
        aging.forgotten = items.fold(aging.forgotten, u64::saturating_add);
    }

    /// Whether the window reaches a generation.
    ///
    /// ```
    /// # use coua::{Clock, CuckooFilter, Generations, Window};
    /// # let window = Window::new(Clock::Arrival, 60_000, 6)?;
    /// let mut seen = Generations::new(window, CuckooFilter::new());
    /// seen.turn(70_000);
    /// assert!(seen.remembers(1) && !seen.remembers(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remembers(&self, generation: u64) -> bool {
        self.aging.as_ref().map_or(generation == 0, |aging| {
            let present = aging.window.generation_of(aging.clock);
            let length = u64::from(aging.window.generations());
            generation <= present && generation.saturating_add(length) >= present
        })
    }

    /// Does again what a [`Ledger`] noted. A generation that the window does not reach needs no
    /// changes, and gets none. O(keys) expected.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] if a generation refuses, which one that took them before does not.
    ///
    /// ```
    /// use coua::{Change, Generations, KeyHash};
    /// let mut seen = Generations::default();
    /// seen.repeat(Change::Insert, 0, &[KeyHash::from_u64(1)])?;
    /// assert_eq!(seen.len(), 1);
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn repeat(
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
            Change::Insert => filter.insert_hash_batch(hashes),
            Change::Remove => {
                filter.remove_hash_batch(hashes, &mut Vec::new());
                Ok(())
            }
        }
    }

    /// Takes one copy of each key away, the oldest: one that the filters cannot tell from it is remembered as
    /// long as before. `removed` is cleared and then holds one answer each. O(keys * generations).
    ///
    /// ```
    /// let mut removed = Vec::new();
    /// let mut seen = coua::Generations::default();
    /// seen.remove_hash_batch(&[coua::KeyHash::from_u64(1)], &mut removed, &mut ());
    /// assert_eq!(removed, [false]);
    /// ```
    pub fn remove_hash_batch(
        &mut self,
        hashes: &[KeyHash],
        removed: &mut Vec<bool>,
        ledger: &mut impl Ledger,
    ) {
        if let Some(filter) = self.endless_mut() {
            filter.remove_hash_batch(hashes, removed);
            for (hash, _) in hashes.iter().zip(&*removed).filter(|(_, removed)| **removed) {
                ledger.changed(Change::Remove, 0, *hash);
            }
            return;
        }
        removed.clear();
        removed.resize(hashes.len(), false);
        let mut places: Vec<usize> = (0..hashes.len()).collect();
        let (mut wanted, mut answers) = (Vec::new(), Vec::new());
        for Live { number, filter } in &mut self.live {
            if places.is_empty() {
                return;
            }
            wanted.clear();
            wanted.extend(places.iter().map(|&place| hashes[place]));
            filter.remove_hash_batch(&wanted, &mut answers);
            for (&place, _) in places.iter().zip(&answers).filter(|(_, answer)| **answer) {
                removed[place] = true;
                ledger.changed(Change::Remove, *number, hashes[place]);
            }
            places.retain(|&place| !removed[place]);
        }
    }

    /// The filter of a generation that the window reaches, which may have to be made.
    pub(super) fn generation(&mut self, number: u64) -> Result<&mut CuckooFilter, Full> {
        let place = match (self.live.binary_search_by_key(&number, |live| live.number), &self.aging)
        {
            (Ok(place), _) => place,
            (Err(place), Some(aging)) => {
                let copy = aging.mould.try_clone();
                let reason = FullReason::OutOfMemory;
                let filter = copy.map_err(|_| Full { reason, ..self.full() })?;
                self.live.insert(place, Live { number, filter });
                place
            }
            // Without a window there is nothing but the first one.
            (Err(_), None) => 0,
        };
        Ok(&mut self.live[place].filter)
    }
}
