//! Inserting one key.

use super::{CuckooFilter, Decision, IfPresent, WhenFull};
use crate::error::{Full, FullReason, Insertion};
use crate::hash::{Key, KeyHash};
use crate::kernel::{KnownLevel, Place, SlotCodec, with_level};
use crate::segments::{Attempt, EvictionChain, IfAbsent, KeyGroup, Preview};

impl CuckooFilter {
    /// Adds a copy of the key. O(1) expected. Occasionally splits one segment, or doubles a small
    /// filter, which takes up to about 2 ms, and more if the system must provide new memory. A filter of few
    /// hash bits, whose fingerprints have no bit left for a split, is rebuilt each time it doubles: O(slots).
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room: nothing has changed then.
    #[inline]
    pub fn insert<K: Key>(&mut self, key: K) -> Result<(), Full> {
        self.insert_one(key.hash_with(self.hasher), IfPresent::AddCopy).map(drop)
    }

    /// Adds the key if it is absent, and returns whether it was. O(1) expected.
    ///
    /// Nothing is stored for a false positive, a key that looks like another one. When the other one is
    /// [removed](Self::remove), both are absent. So if keys are removed from a set at a rate, add each key
    /// once, with [`insert`](Self::insert); with 64 hash bits this does not happen.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is absent and there is no room: nothing has changed then.
    #[inline]
    pub fn insert_unique<K: Key>(&mut self, key: K) -> Result<Insertion, Full> {
        self.insert_one(key.hash_with(self.hasher), IfPresent::Skip)
    }

    #[inline]
    pub(crate) fn insert_one(
        &mut self,
        hash: KeyHash,
        if_present: IfPresent,
    ) -> Result<Insertion, Full> {
        with_level!(self.segments, hash, |level| {
            let place = self.segments.locate_by(level, hash);
            match self.try_place(level, &place, if_present)? {
                Some(insertion) => Ok(insertion),
                None => self.insert_blocked(hash, place),
            }
        })
    }

    /// Inserts a key whose buckets are full.
    #[inline(never)]
    fn insert_blocked(&mut self, hash: KeyHash, place: Place) -> Result<Insertion, Full> {
        let grown = match self.when_blocked(place.segment) {
            Decision::Evict => {
                let chain = self.start_chain(&place);
                self.finish_chain(chain);
                return Ok(Insertion::Inserted);
            }
            Decision::Overflow => {
                let chain = self.start_chain(&place);
                self.overflow_chain(chain);
                return Ok(Insertion::Inserted);
            }
            Decision::Split => self.split(place.segment).map_err(|_| FullReason::OutOfMemory),
            Decision::Rebuild => {
                let larger = self.rebuilt_in(self.doubled());
                larger.map(|larger| *self = larger).map_err(|_| FullReason::OutOfMemory)
            }
            Decision::Refuse => Err(FullReason::NoRoom),
        };
        match grown {
            Ok(()) => {
                // The filter has grown: the key has another place, and is not refused.
                self.stored += 1;
                self.reinsert(&self.segments.locate(hash));
            }
            // A key that is present is not refused.
            Err(_) if self.segments.copies(&place) > 0 => self.add_copies(&place, 1),
            Err(reason) => return Err(self.full(reason)),
        }
        Ok(Insertion::Inserted)
    }

    /// Starts the eviction chain of a key that is not refused.
    pub(crate) fn start_chain(&mut self, place: &Place) -> EvictionChain {
        self.stored += 1;
        EvictionChain::new(place)
    }

    /// The part of an insert before other items must move. Returns `None`, and changes nothing, if both buckets are full.
    #[inline(always)]
    pub(crate) fn try_place(
        &mut self,
        level: impl KnownLevel,
        place: &Place,
        if_present: IfPresent,
    ) -> Result<Option<Insertion>, Full> {
        let if_absent = if self.is_at_max_items() { IfAbsent::Leave } else { IfAbsent::Place };
        match self.segments.place_if_absent(level, place, if_absent) {
            Attempt::Placed => {
                self.stored += 1;
                Ok(Some(Insertion::Inserted))
            }
            Attempt::Held if if_present == IfPresent::Skip => Ok(Some(Insertion::AlreadyPresent)),
            Attempt::Blocked => Ok(None),
            Attempt::Held | Attempt::Unclear => self.try_place_slow(*place, if_present),
        }
    }

    /// [`try_place`](Self::try_place) for keys that may be there or have copies, and for filters at their
    /// limit.
    #[cold]
    fn try_place_slow(
        &mut self,
        place: Place,
        if_present: IfPresent,
    ) -> Result<Option<Insertion>, Full> {
        let place = &place;
        let held = self.segments.copies(place);
        let has_slots = held >= Self::slots_for_copies(self.segments.level_of(place.segment));
        // Most repeats are of keys with many copies, for which the overflow table need not be read.
        let is_in_overflow = || self.overflow_copies(place) > 0;
        if if_present == IfPresent::Skip && (held > 0 || is_in_overflow()) {
            return Ok(Some(Insertion::AlreadyPresent));
        }
        let has_all_its_slots = has_slots || is_in_overflow();
        if !has_all_its_slots && !self.is_at_max_items() {
            if !self.segments.place(place) {
                return Ok(None);
            }
            self.stored += 1;
            return Ok(Some(Insertion::Inserted));
        }
        // A key that is present is not refused.
        if !has_all_its_slots && held == 0 {
            return Err(self.full(FullReason::MaxItems));
        }
        self.add_copies(place, 1);
        Ok(Some(Insertion::Inserted))
    }

    /// Whether one more item would exceed the stated rate, which is not allowed.
    #[inline(always)]
    fn is_at_max_items(&self) -> bool {
        self.stored >= self.policy.max_items && self.policy.when_full != WhenFull::ExceedRate
    }

    /// Puts a key into the free slot that its preview found. Returns false if it found none or is stale, or items of its
    /// segment have no slot.
    #[inline(always)]
    pub(crate) fn insert_previewed(
        &mut self,
        codec: &SlotCodec,
        keys: &KeyGroup,
        number: usize,
        preview: &Preview,
    ) -> bool {
        let is_placed = self.segments.place_previewed(codec, keys, number, preview);
        self.stored += u64::from(is_placed);
        is_placed
    }
}
