//! The parameters of the peer's cuckoo filter, the places of fingerprints, and one of its tables of
//! buckets of 8-bit fingerprints.

use std::iter::successors;

use super::bytes::{copied, zeroed};
use super::errors::{LoadError, OutOfMemory, number};
use super::murmur::murmur64;

/// The seed of filters without a stored seed.
pub(super) const DEFAULT_SEED: u64 = 0;
/// The peer computes places with 32 bits: beyond this many slots it loses fingerprints.
const MAX_SUB_FILTER_BYTES: u64 = 1 << 32;
const MAX_EXPANSION: u64 = 1 << 15;
/// The number of different fingerprints.
pub(super) const FINGERPRINTS: f64 = 255.0;

/// The checked parameters of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Buckets of the first sub-filter; a power of two, as the partner rule needs.
    pub(super) buckets: u64,
    /// Slots of a bucket, a byte each.
    pub(super) bucket_size: u16,
    pub(super) max_iterations: u16,
    /// The ratio of each sub-filter's buckets to the one before; 0: there is only one.
    pub(super) expansion: u16,
    pub(super) seed: u64,
}

/// The size of a sub-filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Slots of all older sub-filters.
    pub(super) start: u64,
    /// A power of two.
    pub(super) buckets: u64,
    pub(super) bytes: u64,
}

impl Size {
    /// Slots of all sub-filters up to this one.
    pub(super) fn end(&self) -> u64 {
        self.start + self.bytes
    }
}

/// Where an item belongs, for any number of buckets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) hash: u64,
    /// Never 0, which marks an empty slot.
    pub(super) fingerprint: u8,
}

impl Shape {
    pub(super) fn check(&self) -> Result<(), LoadError> {
        number("bucket size", self.bucket_size, |n| (1..=255).contains(&n), "1 to 255")?;
        number("number of buckets", self.buckets, u64::is_power_of_two, "a power of two")?;
        number("max iterations", self.max_iterations, |n| n > 0, "1 to 65535")?;
        let is_stated = |n: u64| n == 0 || n <= MAX_EXPANSION && n.is_power_of_two();
        number("expansion", self.expansion, is_stated, "0, or a power of two up to 32768")
    }

    /// The most sub-filters. Each item is looked for in all of them: with more, a command would stall the server.
    pub(super) fn most_sub_filters(&self) -> u64 {
        if self.expansion == 0 { 1 } else { (1 << 13) / u64::from(self.bucket_size).max(64) }
    }

    /// The sizes of sub-filters, from the oldest on, as far as the layout permits.
    pub(super) fn sizes(&self) -> impl Iterator<Item = Size> {
        successors(self.size(0, self.buckets), |&last| self.size_after(last))
    }

    /// The size of the sub-filter after one of this size; `None` if the layout does not permit it.
    pub(super) fn size_after(&self, last: Size) -> Option<Size> {
        self.size(last.end(), last.buckets.checked_mul(self.expansion.into())?)
    }

    fn size(&self, start: u64, buckets: u64) -> Option<Size> {
        let bytes = buckets.checked_mul(self.bucket_size.into())?;
        (1..=MAX_SUB_FILTER_BYTES).contains(&bytes).then_some(Size { start, buckets, bytes })
    }

    pub(super) fn place(&self, item: &[u8]) -> Place {
        let hash = murmur64(item, self.seed);
        Place { hash, fingerprint: (hash % 255 + 1) as u8 }
    }
}

impl Place {
    /// A place with the same buckets for the fingerprint in other sub-filters that have no more buckets: a bucket's
    /// number is the low bits of the hash.
    pub(super) fn of_slot(bucket: u64, fingerprint: u8) -> Self {
        Self { hash: bucket, fingerprint }
    }

    pub(super) fn partner(self) -> u64 {
        partner(self.hash, self.fingerprint)
    }
}

/// The other bucket of a fingerprint. Applied twice, it gives the first one again, because the number of buckets is
/// a power of two.
pub(super) fn partner(bucket: u64, fingerprint: u8) -> u64 {
    bucket ^ (u64::from(fingerprint) * 0x5bd1_e995)
}

const EMPTY: u8 = 0;

/// A sub-filter.
#[derive(Debug)]
pub(super) struct SubFilter {
    pub(super) size: Size,
    slots: Vec<u8>,
    /// Slots with a fingerprint.
    used: u64,
    bucket_size: usize,
}

impl SubFilter {
    /// A sub-filter with these slots, whose number must fit the size.
    pub(super) fn over(shape: &Shape, size: Size, slots: Vec<u8>) -> Self {
        debug_assert_eq!(size.bytes, slots.len() as u64);
        let used = count_used(&slots);
        Self { size, slots, used, bucket_size: shape.bucket_size.into() }
    }

    /// An empty sub-filter. Its slots are not read, because the system would have to provide all their memory.
    pub(super) fn empty(shape: &Shape, size: Size) -> Result<Self, OutOfMemory> {
        let slots = zeroed(size.bytes)?;
        Ok(Self { size, slots, used: 0, bucket_size: shape.bucket_size.into() })
    }

    pub(super) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self { slots: copied(&self.slots)?, ..*self })
    }

    /// Slots with a fingerprint.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Slots in use, 0 to 1.
    pub(super) fn load_factor(&self) -> f64 {
        self.used as f64 / self.slots.len() as f64
    }

    pub(super) fn slots(&self) -> &[u8] {
        &self.slots
    }

    /// Returns the slots, because freeing them may take the system a while.
    pub(super) fn into_slots(self) -> Vec<u8> {
        self.slots
    }

    /// Overwrites a part of the slots. Returns `None`, and changes nothing, if it has not so many, or none.
    pub(super) fn load(&mut self, slot: usize, bytes: &[u8]) -> Option<()> {
        let part =
            self.slots.get_mut(slot..)?.get_mut(..bytes.len()).filter(|it| !it.is_empty())?;
        self.used = self.used - count_used(part) + count_used(bytes);
        part.copy_from_slice(bytes);
        Some(())
    }

    pub(super) fn contains(&self, place: Place) -> bool {
        self.find(place, place.fingerprint).is_some()
    }

    /// Copies of the fingerprint. A bucket that is its own partner is counted once.
    pub(super) fn count(&self, place: Place) -> u64 {
        let copies = |bucket| {
            self.bucket(bucket)
                .iter()
                .map(|slot| u64::from(*slot == place.fingerprint))
                .sum::<u64>()
        };
        let (first, second) = (place.hash & self.mask(), place.partner() & self.mask());
        copies(first) + if first == second { 0 } else { copies(second) }
    }

    /// Puts the fingerprint into an empty slot of its two buckets, if there is one.
    pub(super) fn place(&mut self, place: Place) -> bool {
        self.replace(place, EMPTY, place.fingerprint)
    }

    /// Removes one copy of the fingerprint, if present.
    pub(super) fn take(&mut self, place: Place) -> bool {
        self.replace(place, place.fingerprint, EMPTY)
    }

    /// Makes room by relocating at most `max_steps` fingerprints of full buckets as the peer does: from the
    /// first bucket on, with victims from each slot in turn. On failure the steps are undone.
    pub(super) fn relocate(&mut self, place: Place, max_steps: u16) -> bool {
        let mut bucket = place.hash & self.mask();
        let mut fingerprint = place.fingerprint;
        let mut slot = 0;
        for _ in 0..max_steps {
            self.swap(bucket, slot, &mut fingerprint);
            bucket = partner(bucket, fingerprint) & self.mask();
            if let Some(empty) = self.find_in(bucket, EMPTY) {
                self.slots[empty] = fingerprint;
                self.used += 1;
                return true;
            }
            slot = (slot + 1) % self.bucket_size;
        }
        for _ in 0..max_steps {
            slot = (slot + self.bucket_size - 1) % self.bucket_size;
            bucket = partner(bucket, fingerprint) & self.mask();
            self.swap(bucket, slot, &mut fingerprint);
        }
        false
    }

    /// Moves the fingerprint of a slot into the `older` sub-filters, which have no more buckets than this
    /// one, if there is room. Returns whether the slot had one.
    pub(super) fn move_into(&mut self, older: &mut [Self], slot: usize) -> bool {
        let place = Place::of_slot((slot / self.bucket_size) as u64, self.slots[slot]);
        let is_used = place.fingerprint != EMPTY;
        if is_used && older.iter_mut().any(|older| older.place(place)) {
            self.slots[slot] = EMPTY;
            self.used -= 1;
        }
        is_used
    }

    fn replace(&mut self, place: Place, old: u8, new: u8) -> bool {
        let found = self.find(place, old);
        if let Some(slot) = found {
            self.slots[slot] = new;
            self.used = self.used - u64::from(old != EMPTY) + u64::from(new != EMPTY);
        }
        found.is_some()
    }

    fn find(&self, place: Place, content: u8) -> Option<usize> {
        self.find_in(place.hash, content).or_else(|| self.find_in(place.partner(), content))
    }

    fn find_in(&self, bucket: u64, content: u8) -> Option<usize> {
        let slot = self.bucket(bucket).iter().position(|slot| *slot == content)?;
        Some(self.start(bucket) + slot)
    }

    fn swap(&mut self, bucket: u64, slot: usize, fingerprint: &mut u8) {
        let slot = self.start(bucket) + slot;
        std::mem::swap(&mut self.slots[slot], fingerprint);
    }

    fn bucket(&self, bucket: u64) -> &[u8] {
        let start = self.start(bucket);
        &self.slots[start..start + self.bucket_size]
    }

    /// One less than the number of buckets, a power of two.
    fn mask(&self) -> u64 {
        self.size.buckets - 1
    }

    fn start(&self, bucket: u64) -> usize {
        (bucket & self.mask()) as usize * self.bucket_size
    }
}

fn count_used(slots: &[u8]) -> u64 {
    slots.iter().map(|slot| u64::from(*slot != EMPTY)).sum()
}
