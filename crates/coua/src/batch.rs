//! Batches: the same answers and the same bytes as one call after the other, at the speed of memory.
//!
//! Two means. Keys are located, and their buckets asked for, [`AHEAD`] keys before they are looked
//! at. And relocations run interleaved: while one waits for its next bucket, others move on. The
//! order of all work *within a segment* stays as if done one by one, because a relocation owns its
//! segment: a key that falls there finishes it first. Segments are independent, so the bytes are
//! the same.

use std::collections::VecDeque;

use crate::KeyHash;
use crate::error::{BatchFull, Full, Insertion};
use crate::filter::CuckooFilter;
use crate::geometry::Probe;
use crate::prepared::{Accepted, Copies};
use crate::relocate::{Relocation, Room, Step};

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::arch::with_bit_instructions;

/// Other processors have one set of instructions.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn with_bit_instructions<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Keys in flight: enough to cover the latency of memory, few enough to stay in the first cache.
const AHEAD: usize = 32;
/// Relocations under way at most.
const MOST_PENDING: usize = 64;
/// Keys between two steps of a relocation, about.
const KEYS_PER_STEP: usize = 16;

/// Located keys whose buckets are on their way.
struct Lookahead<'a> {
    hashes: &'a [KeyHash],
    ring: [Probe; AHEAD],
    located: usize,
    taken: usize,
    splits: u64,
}

impl<'a> Lookahead<'a> {
    fn new(filter: &CuckooFilter, hashes: &'a [KeyHash]) -> Self {
        let mut ahead = Self {
            hashes,
            ring: [Probe::default(); AHEAD],
            located: 0,
            taken: 0,
            splits: filter.splits,
        };
        for _ in 0..AHEAD {
            ahead.locate_next(filter);
        }
        ahead
    }

    #[inline(always)]
    fn locate_next(&mut self, filter: &CuckooFilter) {
        if let Some(&hash) = self.hashes.get(self.located) {
            let probe = filter.locate(hash);
            filter.prefetch(&probe);
            self.ring[self.located % AHEAD] = probe;
            self.located += 1;
        }
    }

    /// The next key's hash and place.
    #[inline(always)]
    fn next(&mut self, filter: &CuckooFilter) -> Option<(KeyHash, Probe)> {
        let &hash = self.hashes.get(self.taken)?;
        if self.splits != filter.splits {
            // Places found before a split may name the wrong half.
            self.splits = filter.splits;
            self.located = self.taken;
            for _ in 0..AHEAD {
                self.locate_next(filter);
            }
        }
        let probe = self.ring[self.taken % AHEAD];
        self.taken += 1;
        self.locate_next(filter);
        Some((hash, probe))
    }
}

/// Relocations under way, each the owner of its segment.
struct Pending {
    queue: VecDeque<Relocation>,
}

impl Pending {
    fn new() -> Self {
        Self { queue: VecDeque::with_capacity(MOST_PENDING) }
    }

    fn start(&mut self, filter: &mut CuckooFilter, relocation: Relocation) {
        while self.queue.len() >= MOST_PENDING {
            self.step_first(filter);
        }
        filter.table.segments[relocation.segment as usize].relocating = true;
        self.queue.push_back(relocation);
    }

    #[inline(always)]
    fn step_first(&mut self, filter: &mut CuckooFilter) {
        if let Some(mut relocation) = self.queue.pop_front() {
            match filter.step(&mut relocation) {
                Step::Again => self.queue.push_back(relocation),
                Step::Done => {
                    filter.table.segments[relocation.segment as usize].relocating = false;
                }
            }
        }
    }

    /// Does a key's share of the work.
    #[inline(always)]
    fn advance(&mut self, filter: &mut CuckooFilter) {
        for _ in 0..self.queue.len() / KEYS_PER_STEP {
            self.step_first(filter);
        }
    }

    /// Finishes the relocation that owns `segment`.
    #[cold]
    fn settle(&mut self, filter: &mut CuckooFilter, segment: u32) {
        if let Some(at) = self.queue.iter().position(|pending| pending.segment == segment)
            && let Some(relocation) = self.queue.remove(at)
        {
            filter.finish(relocation);
            filter.table.segments[segment as usize].relocating = false;
        }
    }

    fn settle_all(&mut self, filter: &mut CuckooFilter) {
        while !self.queue.is_empty() {
            self.step_first(filter);
        }
    }
}

impl CuckooFilter {
    /// Puts items that are counted already into slots.
    pub(crate) fn put_back_batch(&mut self, hashes: &[KeyHash]) {
        let mut ahead = Lookahead::new(self, hashes);
        while let Some((_, probe)) = ahead.next(self) {
            self.put_back(&probe);
        }
    }

    fn hash_all<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<KeyHash> {
        keys.iter().map(|key| self.hasher.hash(key.as_ref())).collect()
    }

    /// [`contains`](Self::contains) for many keys: `present` is cleared and then holds one answer
    /// for each, in order.
    ///
    /// ```
    /// # let mut filter = coua::CuckooFilter::new();
    /// filter.insert("a")?;
    /// let mut present = Vec::new();
    /// filter.contains_batch(&["a", "b"], &mut present);
    /// assert_eq!(present, [true, false]);
    /// # Ok::<(), coua::Full>(())
    /// ```
    pub fn contains_batch<K: AsRef<[u8]>>(&self, keys: &[K], present: &mut Vec<bool>) {
        self.contains_hash_batch(&self.hash_all(keys), present);
    }

    /// [`contains_batch`](Self::contains_batch) for keys that are hashed already.
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// let mut present = Vec::new();
    /// CuckooFilter::new().contains_hash_batch(&[KeyHash::from_u64(1)], &mut present);
    /// assert_eq!(present, [false]);
    /// ```
    pub fn contains_hash_batch(&self, hashes: &[KeyHash], present: &mut Vec<bool>) {
        present.clear();
        present.reserve(hashes.len());
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.side.len() == 0
            && let Some(vectorized) = crate::arch::Vectorized::of(self)
        {
            vectorized.contains(hashes, present);
            return;
        }
        let mut ahead = Lookahead::new(self, hashes);
        while let Some((_, probe)) = ahead.next(self) {
            present.push(self.look(&probe));
        }
    }

    /// [`count`](Self::count) for many keys: `counts` is cleared and then holds one number for each.
    ///
    /// ```
    /// # let mut filter = coua::CuckooFilter::new();
    /// filter.insert_batch(&["a", "a", "b"])?;
    /// let mut counts = Vec::new();
    /// filter.count_batch(&["a", "b", "c"], &mut counts);
    /// assert_eq!(counts, [2, 1, 0]);
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn count_batch<K: AsRef<[u8]>>(&self, keys: &[K], counts: &mut Vec<u64>) {
        self.count_hash_batch(&self.hash_all(keys), counts);
    }

    /// [`count_batch`](Self::count_batch) for keys that are hashed already.
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// let mut counts = Vec::new();
    /// CuckooFilter::new().count_hash_batch(&[KeyHash::from_u64(1)], &mut counts);
    /// assert_eq!(counts, [0]);
    /// ```
    pub fn count_hash_batch(&self, hashes: &[KeyHash], counts: &mut Vec<u64>) {
        counts.clear();
        counts.reserve(hashes.len());
        let mut ahead = Lookahead::new(self, hashes);
        while let Some((_, probe)) = ahead.next(self) {
            counts.push(self.tally(&probe));
        }
    }

    /// [`insert`](Self::insert) for many keys, repeats included.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room: it tells how many are in.
    ///
    /// ```
    /// # let mut filter = coua::CuckooFilter::new();
    /// filter.insert_batch(&["a", "b"])?;
    /// assert_eq!(filter.len(), 2);
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn insert_batch<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<(), BatchFull> {
        self.insert_hash_batch(&self.hash_all(keys))
    }

    /// [`insert_batch`](Self::insert_batch) for keys that are hashed already.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room.
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// CuckooFilter::new().insert_hash_batch(&[KeyHash::from_u64(1)])?;
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> Result<(), BatchFull> {
        self.insert_each(hashes, Copies::Add, |_| ())
    }

    /// [`insert_unique`](Self::insert_unique) for many keys: of repeats inside the batch the first
    /// is inserted. `outcomes` is cleared and then holds one answer for each key processed.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room.
    ///
    /// ```
    /// # use coua::Insertion::{AlreadyPresent, Inserted};
    /// # let mut filter = coua::CuckooFilter::new();
    /// let mut outcomes = Vec::new();
    /// filter.insert_unique_batch(&["a", "b", "a"], &mut outcomes)?;
    /// assert_eq!(outcomes, [Inserted, Inserted, AlreadyPresent]);
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn insert_unique_batch<K: AsRef<[u8]>>(
        &mut self,
        keys: &[K],
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        self.insert_unique_hash_batch(&self.hash_all(keys), outcomes)
    }

    /// [`insert_unique_batch`](Self::insert_unique_batch) for keys that are hashed already.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room.
    ///
    /// ```
    /// # use coua::{CuckooFilter, Insertion, KeyHash};
    /// let mut outcomes = Vec::new();
    /// CuckooFilter::new().insert_unique_hash_batch(&[KeyHash::from_u64(1)], &mut outcomes)?;
    /// assert_eq!(outcomes, [Insertion::Inserted]);
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn insert_unique_hash_batch(
        &mut self,
        hashes: &[KeyHash],
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        outcomes.clear();
        outcomes.reserve(hashes.len());
        self.insert_each(hashes, Copies::Keep, |insertion| outcomes.push(insertion))
    }

    pub(crate) fn insert_each(
        &mut self,
        hashes: &[KeyHash],
        copies: Copies,
        each: impl FnMut(Insertion),
    ) -> Result<(), BatchFull> {
        with_bit_instructions(|| self.insert_in_order(hashes, copies, each))
    }

    #[inline(always)]
    fn insert_in_order(
        &mut self,
        hashes: &[KeyHash],
        copies: Copies,
        mut each: impl FnMut(Insertion),
    ) -> Result<(), BatchFull> {
        let mut pending = Pending::new();
        let mut ahead = Lookahead::new(self, hashes);
        while let Some((hash, probe)) = ahead.next(self) {
            if self.table.segments[probe.segment as usize].relocating {
                pending.settle(self, probe.segment);
            }
            let accepted = match self.accept(&probe, copies) {
                Ok(Accepted::Done(insertion)) => Ok(insertion),
                Ok(Accepted::NeedsRoom) => self.relocate_among(&mut pending, hash, &probe, copies),
                Err(full) => Err(full),
            };
            match accepted {
                Ok(insertion) => each(insertion),
                Err(full) => {
                    pending.settle_all(self);
                    return Err(BatchFull { done: ahead.taken - 1, full });
                }
            }
            pending.advance(self);
        }
        pending.settle_all(self);
        Ok(())
    }

    fn relocate_among(
        &mut self,
        pending: &mut Pending,
        hash: KeyHash,
        probe: &Probe,
        copies: Copies,
    ) -> Result<Insertion, Full> {
        if self.room_in(probe.segment, pending.queue.len()) == Room::Relocate {
            let relocation = self.start_relocation(probe);
            pending.start(self, relocation);
            return Ok(Insertion::Inserted);
        }
        // Splits and refusals depend on the whole filter: first all that came before.
        pending.settle_all(self);
        self.insert_one(hash, copies)
    }

    /// [`remove`](Self::remove) for many keys: `removed` is cleared and then holds one answer each.
    ///
    /// ```
    /// # let mut filter = coua::CuckooFilter::new();
    /// filter.insert("a")?;
    /// let mut removed = Vec::new();
    /// filter.remove_batch(&["a", "a"], &mut removed);
    /// assert_eq!(removed, [true, false]);
    /// # Ok::<(), coua::Full>(())
    /// ```
    pub fn remove_batch<K: AsRef<[u8]>>(&mut self, keys: &[K], removed: &mut Vec<bool>) {
        self.remove_hash_batch(&self.hash_all(keys), removed);
    }

    /// [`remove_batch`](Self::remove_batch) for keys that are hashed already.
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// let mut removed = Vec::new();
    /// CuckooFilter::new().remove_hash_batch(&[KeyHash::from_u64(1)], &mut removed);
    /// assert_eq!(removed, [false]);
    /// ```
    pub fn remove_hash_batch(&mut self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
        removed.clear();
        removed.reserve(hashes.len());
        with_bit_instructions(|| {
            let mut ahead = Lookahead::new(self, hashes);
            while let Some((_, probe)) = ahead.next(self) {
                removed.push(self.take_away(&probe));
            }
        });
    }
}
