//! Inserts many keys, a chunk at a time, in two passes.
//!
//! The first pass puts keys into free slots, in their order. A key that finds none *blocks* its segment, and is
//! deferred; so are all later keys of that segment. The second pass takes the deferred keys segment by segment, with
//! many eviction chains active ([`chains`](super::chains)). So the order within a segment is that of single calls, and
//! because segments are independent, so are the bytes.
//!
//! Keys that make a segment split come last, in the order of the keys. Near a limit of the whole filter all keys are
//! inserted in order, one by one. In a filter that may not grow, so is a key that its segment may refuse.

use std::mem::take;

use super::chains::{Chains, InsertBatch, MOST_CHAINS, Passes, Refusals};
use super::deferred::Deferred;
use crate::error::{BatchFull, Insertion};
use crate::filter::{CuckooFilter, GroupedKeys, IfPresent, WhenFull};
use crate::hash::{Key, KeyHash};
use crate::kernel::{KnownLevel, LevelGeometry, Place, with_encoding};
use crate::segments::{Prefetcher, Preview, Wanted, bit};
use crate::simd::with_bit_instructions;

/// Fewer keys are inserted one by one: two passes would cost more than they save.
const SHORTEST_BATCH: usize = 8;
/// Keys that are inserted between checks of the filter's limits.
const CHUNK: usize = 4096;
/// Keys that are inserted between checks near a limit.
const SHORT_CHUNK: usize = 256;
/// The first pass ends when one segment in this number is blocked. A higher number defers fewer keys, but leaves
/// fewer chains to interleave.
const SEGMENTS_PER_RUN: usize = 4;
/// The fewest deferred keys per chain that can be active: in a full filter nearly all segments are
/// blocked soon, and with fewer keys few chains would be active.
const KEYS_PER_CHAIN: usize = 4;
/// The second pass ends when at most 1 / `FEW` of the chains is active. These continue after the next first
/// pass; at the end of a chunk all are finished.
const FEW: usize = 2;

#[cfg(test)]
thread_local! {
    /// Keys that batches of this thread have looked up before inserting them in order.
    pub(crate) static LOOKUPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl CuckooFilter {
    /// [`insert`](Self::insert) for many keys, repeats included. O(keys) expected, growth included.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room, with the number of keys inserted before it.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<(), BatchFull> {
        let mut space = Vec::new();
        let hashes = K::hash_all(keys, self.hasher(), &mut space);
        self.insert_all(hashes, IfPresent::AddCopy, &mut [], None)
    }

    /// [`insert_unique`](Self::insert_unique) for many keys: one answer for each, in order. Of equal keys
    /// in the batch the first is inserted. O(keys) expected, growth included.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room: the keys before it were processed. To get
    /// their answers, use [`Filter::insert_each`](crate::Filter::insert_each).
    ///
    /// ```
    /// use coua::Insertion::{AlreadyPresent, Inserted};
    /// let mut filter = coua::CuckooFilter::new();
    /// assert_eq!(filter.insert_unique_batch(&["a", "b", "a"])?, [Inserted, Inserted, AlreadyPresent]);
    /// assert_eq!(filter.contains_batch(&["a", "b", "c"]), [true, true, false]);
    /// assert_eq!(filter.remove_batch(&["a", "a"]), [true, false]);
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn insert_unique_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<Insertion>, BatchFull> {
        let mut outcomes = vec![Insertion::AlreadyPresent; keys.len()];
        let mut space = Vec::new();
        let hashes = K::hash_all(keys, self.hasher(), &mut space);
        self.insert_all(hashes, IfPresent::Skip, &mut outcomes, None).map(|()| outcomes)
    }

    /// Inserts keys, and records which were inserted, unless `outcomes` is empty. Stops at the first that is refused, unless
    /// refusals are recorded: then it returns no error.
    pub(crate) fn insert_all(
        &mut self,
        hashes: &[KeyHash],
        if_present: IfPresent,
        outcomes: &mut [Insertion],
        refusals: Option<&mut Refusals>,
    ) -> Result<(), BatchFull> {
        if hashes.len() < SHORTEST_BATCH {
            return self.insert_one_by_one(hashes, if_present, outcomes, refusals);
        }
        let mut batch = InsertBatch {
            can_refuse: self.when_full() == WhenFull::Refuse,
            filter: self,
            hashes,
            done: 0,
            if_present,
            outcomes,
            refusals,
            deferred: Deferred::default(),
            repeats: Vec::new(),
            chains: Chains::default(),
        };
        while batch.done < hashes.len() {
            let left = hashes.len() - batch.done;
            let mut chunks = [CHUNK, SHORT_CHUNK].into_iter().map(|chunk| left.min(chunk));
            // Passes by level refuse no key.
            let may_pass = !batch.can_refuse || batch.filter.as_segments().uniform().is_some();
            match chunks.find(|&keys| may_pass && batch.filter.is_far_from_limits(keys)) {
                Some(keys) => {
                    batch.insert_in_passes(batch.done + keys);
                    if batch.deferred.may_be_refused {
                        batch.insert_in_order(1)?;
                    }
                }
                None => batch.insert_in_order(left.min(SHORT_CHUNK))?,
            }
        }
        Ok(())
    }

    fn insert_one_by_one(
        &mut self,
        hashes: &[KeyHash],
        if_present: IfPresent,
        outcomes: &mut [Insertion],
        mut refusals: Option<&mut Refusals>,
    ) -> Result<(), BatchFull> {
        for (number, hash) in hashes.iter().enumerate() {
            match self.insert_one(*hash, if_present) {
                Err(full) => Refusals::record(refusals.as_deref_mut(), number, full)?,
                Ok(insertion) => {
                    if let Some(outcome) = outcomes.get_mut(number) {
                        *outcome = insertion;
                    }
                }
            }
        }
        Ok(())
    }
}

impl InsertBatch<'_> {
    /// Inserts the next `keys` keys one after the other; each may be refused.
    fn insert_in_order(&mut self, keys: usize) -> Result<(), BatchFull> {
        // Inserts remove no key, so these answers stay valid. Keys to be added are looked up too, which fetches their
        // buckets.
        let hashes = &self.hashes[self.done..self.done + keys];
        let present = self.filter.contains_hashes(hashes);
        #[cfg(test)]
        LOOKUPS.with(|lookups| lookups.set(lookups.get() + keys));
        for is_present in present {
            let number = self.done;
            if self.if_present == IfPresent::AddCopy || !is_present {
                match self.filter.insert_one(self.hashes[number], self.if_present) {
                    Ok(insertion) => self.note(number, insertion),
                    Err(full) => Refusals::record(self.refusals.as_deref_mut(), number, full)?,
                }
            }
            self.done += 1;
        }
        Ok(())
    }

    /// Inserts keys that cannot be refused, up to number `end` or up to one that may be refused. Keys that make a segment
    /// split come last.
    fn insert_in_passes(&mut self, end: usize) {
        let waiting = match self.filter.as_segments().uniform() {
            Some(level) => self.run_passes(&level, end),
            None => self.run_passes_by_level(end),
        };
        for number in waiting {
            let insertion = self.insert_certainly(self.hashes[number]);
            self.note(number, insertion);
        }
    }

    /// Both passes, in segments of this level. Returns the numbers of the keys that make a segment split, and of all later
    /// ones in these segments, in order.
    fn run_passes(&mut self, level: &LevelGeometry, end: usize) -> Vec<usize> {
        self.deferred.begin_chunk(self.done, self.filter.segments());
        with_bit_instructions(
            #[inline(always)]
            || with_encoding!(*level, |level| Passes { batch: self, level }.run(end)),
        )
    }

    /// [`run_passes`](Self::run_passes) for each level, with keys that cannot be refused.
    fn run_passes_by_level(&mut self, end: usize) -> Vec<usize> {
        let first = self.done;
        let (mut waiting, mut divided) = (Vec::new(), GroupedKeys::default());
        divided.divide_by_level(self.filter.as_segments(), &self.hashes[first..end]);
        for (level, hashes, numbers) in divided.groups() {
            let wanted = if self.outcomes.is_empty() { 0 } else { hashes.len() };
            let mut outcomes = vec![Insertion::AlreadyPresent; wanted];
            let level = self.filter.as_segments().levels()[level];
            let mut batch = InsertBatch {
                filter: self.filter,
                hashes,
                done: 0,
                outcomes: &mut outcomes,
                refusals: None,
                deferred: take(&mut self.deferred),
                repeats: take(&mut self.repeats),
                chains: take(&mut self.chains),
                if_present: self.if_present,
                can_refuse: self.can_refuse,
            };
            let left = batch.run_passes(&level, hashes.len());
            let number = |number: usize| first + numbers[number] as usize;
            waiting.extend(left.into_iter().map(number));
            let InsertBatch { deferred, repeats, chains, .. } = batch;
            (self.deferred, self.repeats, self.chains) = (deferred, repeats, chains);
            for (place, outcome) in outcomes.into_iter().enumerate() {
                self.note(number(place), outcome);
            }
        }
        self.done = end;
        waiting.sort_unstable();
        waiting
    }

    /// Inserts a key after later ones, so that it can no longer be refused: without
    /// memory to grow, it is inserted by eviction.
    fn insert_certainly(&mut self, hash: KeyHash) -> Insertion {
        if let Ok(insertion) = self.filter.insert_one(hash, self.if_present) {
            return insertion;
        }
        let chain = self.filter.start_chain(&self.filter.as_segments().locate(hash));
        self.filter.finish_chain(chain);
        Insertion::Inserted
    }
}

impl<L: KnownLevel> Passes<'_, '_, L> {
    /// Rounds of both passes, up to key number `end`. Returns the numbers of the keys that wait.
    #[inline(always)]
    fn run(&mut self, end: usize) -> Vec<usize> {
        let level = self.level;
        let hashes = &self.batch.hashes[..end];
        let segments = self.batch.filter.as_segments();
        let mut prefetcher = Prefetcher::new(segments, level, hashes, self.batch.done);
        let mut preview = Preview::default();
        let segments = self.batch.filter.segments();
        let most_runs = (segments / SEGMENTS_PER_RUN).max(1);
        let least_keys = KEYS_PER_CHAIN * segments.min(MOST_CHAINS);
        let mut is_ending = false;
        while !is_ending {
            let mut has_enough = self.batch.deferred.may_be_refused;
            while self.batch.done < end && !has_enough {
                self.place_group(&prefetcher, &mut preview);
                prefetcher.next_group(self.batch.filter.as_segments());
                let deferred = &self.batch.deferred;
                has_enough = deferred.may_be_refused
                    || deferred.blocked - deferred.stuck >= most_runs
                        && deferred.waiting >= least_keys;
            }
            is_ending = self.batch.done == end || self.batch.deferred.may_be_refused;
            let few = self.batch.deferred.blocked.min(MOST_CHAINS) / FEW;
            self.insert_runs(if is_ending { 0 } else { few });
        }
        self.batch.chains.begun = 0;
        // Splits may leave slots so narrow that copies take them.
        let mut waiting = self.batch.deferred.take_later(&mut self.batch.repeats);
        self.batch.filter.count_repeats(&mut self.batch.repeats);
        waiting.extend(self.batch.deferred.drain());
        waiting.sort_unstable();
        waiting
    }

    /// Inserts the keys of a group, or defers them. Stops at one that may be refused.
    #[inline(always)]
    fn place_group(&mut self, prefetcher: &Prefetcher<L>, preview: &mut Preview) {
        let (keys, numbers) = prefetcher.group();
        let due = prefetcher.due();
        let segments = self.batch.filter.as_segments();
        segments.preview(&self.level.geometry(), keys, Wanted::Free, preview);
        // Inserts remove no key, so keys that were found are still present.
        let is_counted = self.counts_repeats();
        let held =
            if is_counted || self.batch.if_present == IfPresent::Skip { preview.held } else { 0 };
        let first = self.batch.done - numbers.start;
        self.batch.done = first + numbers.end;
        for number in numbers {
            if let Some(due) = due {
                due.prefetch(&self.level.geometry().codec, number);
            }
            if bit(held, number) {
                if is_counted {
                    self.batch.count_repeat(&keys.place(number), first + number);
                }
                continue;
            }
            let segment = keys.segment(number);
            let is_done = if self.batch.deferred.is_blocked(segment) || bit(preview.full, number) {
                self.defer(first + number, segment)
            } else if self.batch.filter.insert_previewed(
                &self.level.geometry().codec,
                keys,
                number,
                preview,
            ) {
                self.batch.note(first + number, Insertion::Inserted);
                true
            } else {
                self.place_or_defer(&keys.place(number), first + number)
            };
            if !is_done {
                self.batch.done = first + number;
                return;
            }
        }
    }

    /// Inserts one key, or defers it. Returns false if it may be refused.
    #[inline(always)]
    fn place_or_defer(&mut self, place: &Place, number: usize) -> bool {
        self.try_place(place, number).unwrap_or(false) || self.defer(number, place.segment)
    }

    /// Defers a key. Returns false if its segment may refuse it.
    #[inline(always)]
    fn defer(&mut self, number: usize, segment: u32) -> bool {
        if self.batch.can_refuse && self.may_be_refused(segment) {
            self.batch.deferred.may_be_refused = true;
            return false;
        }
        self.batch.deferred.push(number, segment);
        true
    }

    /// Whether a segment may refuse a key: each deferred key may need the overflow table, and so may one whose chain is
    /// active.
    #[inline(always)]
    fn may_be_refused(&self, segment: u32) -> bool {
        self.batch.deferred.waiting_in(segment) + 1 >= self.batch.filter.overflow_left(segment)
    }
}
