//! Inserting one key.

use super::grow::WhenBlocked;
use super::{CuckooFilter, EvictionChain, OverflowEntry, WhenFull};
use crate::error::{Full, FullReason, Insertion};
use crate::hash::KeyHash;
use crate::kernel::{
    AnyLevel, Encoding, IfPresent, KeyGroup, LevelGeometry, Levels, Pair, Probe, Probes, has,
};

impl CuckooFilter {
    /// Only the common case is inlined, so rare cases add no register pressure.
    #[inline]
    pub(crate) fn insert_one(
        &mut self,
        hash: KeyHash,
        if_present: IfPresent,
    ) -> Result<Insertion, Full> {
        match &self.uniform {
            Some(level) if level.codec.encoding == Encoding::Narrow => {
                self.insert_at_level(level.with_encoding(Encoding::Narrow), hash, if_present)
            }
            Some(level) if level.codec.encoding == Encoding::Wide => {
                self.insert_at_level(level.with_encoding(Encoding::Wide), hash, if_present)
            }
            _ => self.insert_in_any(hash, if_present),
        }
    }

    #[inline(never)]
    fn insert_in_any(&mut self, hash: KeyHash, if_present: IfPresent) -> Result<Insertion, Full> {
        self.insert_at_level(*self.level_for(hash), hash, if_present)
    }

    #[inline(always)]
    fn insert_at_level(
        &mut self,
        level: LevelGeometry,
        hash: KeyHash,
        if_present: IfPresent,
    ) -> Result<Insertion, Full> {
        let probe = self.locate_in(&level, hash);
        match self.try_place(&level, &probe, if_present)? {
            Some(insertion) => Ok(insertion),
            None => self.insert_by_eviction(hash, probe),
        }
    }

    /// Inserts a key whose buckets are full.
    #[inline(never)]
    fn insert_by_eviction(&mut self, hash: KeyHash, probe: Probe) -> Result<Insertion, Full> {
        let reason = match self.when_blocked(probe.segment, 0) {
            WhenBlocked::Evict => {
                let chain = self.start_chain(&probe);
                self.finish_chain(chain);
                return Ok(Insertion::Inserted);
            }
            WhenBlocked::Grow if self.grow(probe.segment).is_ok() => {
                // The key is elsewhere now, and is not refused any more: the filter has changed.
                self.stored += 1;
                self.reinsert(AnyLevel, &self.locate(hash));
                return Ok(Insertion::Inserted);
            }
            WhenBlocked::Grow => FullReason::OutOfMemory,
            WhenBlocked::Refuse(reason) => reason,
        };
        // A key that is there already is not refused. But at a limit of memory, the filter would grow with a
        // higher one, and equal items are to make equal filters.
        if reason == FullReason::MemoryLimit || self.slots_holding(&probe) == 0 {
            return Err(self.full(reason));
        }
        self.add_extra_copies(&probe, 1)?;
        Ok(Insertion::Inserted)
    }

    /// Starts the eviction chain of a key that is not refused.
    pub(crate) fn start_chain(&mut self, probe: &Probe) -> EvictionChain {
        self.stored += 1;
        EvictionChain::new(probe)
    }

    /// Everything that an insert does before it has to move other items; `None` if both buckets are full, and
    /// nothing was changed yet.
    #[inline(always)]
    pub(crate) fn try_place(
        &mut self,
        levels: impl Levels,
        probe: &Probe,
        if_present: IfPresent,
    ) -> Result<Option<Insertion>, Full> {
        let level = self.level_in(levels, probe.segment);
        let is_at_limit = self.is_at_max_items();
        let segment = &mut self.table.segment_mut(probe.segment);
        let pair = Pair::read(&level.codec, segment, probe);
        let Some(is_held) = pair.contains(segment, probe) else {
            return self.try_place_carefully(*probe, if_present);
        };
        if is_held && if_present == IfPresent::Skip {
            return Ok(Some(Insertion::AlreadyPresent));
        }
        if is_held || is_at_limit || segment.has_overflow() && self.overflow.has_overflowed() {
            return self.try_place_carefully(*probe, if_present);
        }
        if !pair.insert(segment, probe) {
            return Ok(None);
        }
        self.stored += 1;
        Ok(Some(Insertion::Inserted))
    }

    /// [`try_place`](Self::try_place) for keys that may be there or have copies, and for filters at their
    /// limit.
    #[cold]
    fn try_place_carefully(
        &mut self,
        probe: Probe,
        if_present: IfPresent,
    ) -> Result<Option<Insertion>, Full> {
        let probe = &probe;
        let held = self.slots_holding(probe);
        let has_bucketful = held >= self.geometry.slots_per_bucket;
        // Most repeats are of keys with many copies: for those the overflow table need not be read.
        let is_in_overflow = || self.overflow_copies(probe) > 0;
        if if_present == IfPresent::Skip && (held > 0 || is_in_overflow()) {
            return Ok(Some(Insertion::AlreadyPresent));
        }
        let has_all_its_slots = has_bucketful || is_in_overflow();
        if !has_all_its_slots && !self.is_at_max_items() {
            if !self.place(AnyLevel, probe) {
                return Ok(None);
            }
            self.stored += 1;
            return Ok(Some(Insertion::Inserted));
        }
        // A key that is there already is not refused.
        if !has_all_its_slots && held == 0 {
            return Err(self.full(FullReason::MaxItems));
        }
        self.add_extra_copies(probe, 1)?;
        Ok(Some(Insertion::Inserted))
    }

    /// Whether one more item would exceed the stated rate, and may not.
    #[inline(always)]
    fn is_at_max_items(&self) -> bool {
        self.stored >= self.policy.max_items && self.policy.when_full != WhenFull::ExceedRate
    }

    /// Adds copies of a key that take no slots. The first of them is a new entry, which takes memory.
    pub(crate) fn add_extra_copies(&mut self, probe: &Probe, copies: u64) -> Result<(), Full> {
        if !self.has_memory_for_overflow(0) && self.overflow_copies(probe) == 0 {
            return Err(self.full(FullReason::MemoryLimit));
        }
        let entry = OverflowEntry { extra: copies, overflowed: 0 };
        self.note_overflow(self.representative(probe), entry);
        Ok(())
    }

    /// Puts a key into the free slot that its probe found; false if it found none or is stale, or items of its
    /// segment are in no slot.
    #[inline(always)]
    pub(crate) fn insert_probed(
        &mut self,
        levels: impl Levels,
        keys: &KeyGroup,
        number: usize,
        probes: &Probes,
    ) -> bool {
        if !has(probes.placeable, number) {
            return false;
        }
        let index = keys.segment(number);
        let level = self.level_in(levels, index);
        let segment = &mut self.table.segment_mut(index);
        let may_overflow = self.overflow.has_overflowed() && segment.has_overflow();
        let is_current = !may_overflow && probes.is_current(keys, number, segment);
        if is_current {
            probes.change(number, &level.codec, segment);
            segment.count_filled();
            self.stored += 1;
        }
        is_current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Different keys of the same two buckets.
    fn colliding(filter: &CuckooFilter) -> impl Iterator<Item = KeyHash> + use<'_> {
        let hashes = (0..).map(|n: u64| KeyHash::from_u64(n << 24));
        let first = filter.locate(KeyHash::from_u64(0));
        let same = move |hash: &KeyHash| {
            let probe = filter.locate(*hash);
            (probe.primary, probe.alternate) == (first.primary, first.alternate)
        };
        hashes.filter(same)
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn an_insert_that_made_the_filter_grow_is_not_refused() {
        let builder = CuckooFilter::builder().hash_bits(64).capacity(16_000);
        let mut filter = builder.max_evictions(4).build().unwrap();
        let enough = filter.overflow_limit() as usize + 500;
        let same: Vec<_> = colliding(&filter.clone()).take(enough).collect();
        let mut same = same.into_iter();
        let refused = same.find(|hash| filter.insert(*hash).is_err()).unwrap();
        let slots = filter.slots();
        // The segment has more items now than a few keys that collide.
        let others = (0..).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1);
        let others = others.map(KeyHash::from_u64);
        others.take(slots as usize / 7).for_each(|hash| filter.insert(hash).unwrap());
        assert_eq!(filter.slots(), slots);
        // More than the limit, which rises with the slots: so it may be after compaction.
        let elsewhere = filter.representative(&filter.locate(KeyHash::from_u64(u64::MAX)));
        filter.note_overflow(elsewhere, OverflowEntry { extra: 0, overflowed: 10_000 });
        filter.stored += 10_000;
        filter.insert(refused).unwrap();
        assert!(filter.slots() > slots && filter.contains(refused));
        let slots = filter.slots();
        assert!(same.any(|hash| filter.insert(hash).is_err()));
        assert_eq!(filter.slots(), slots, "a few keys that collide buy no memory");
    }
}
