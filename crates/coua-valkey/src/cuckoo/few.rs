//! The first items of a filter, as a list of their hashes.
//!
//! Most filters on a server are small. A list takes a fraction of the memory of the smallest table, and is as
//! quick to search. A filter becomes a table when the list is full, by inserting the hashes in their order: so
//! the same commands lead to the same bytes on every server.

use coua::{CuckooFilter, KeyHash};

use super::blueprint::{Blueprint, Precision};
use crate::refusal::Refusal;

/// Hashes of a list. Searching so many takes about as long as a lookup in a table.
pub(super) const MOST: usize = 64;
/// Filters with room for more items begin as a table: whoever asks for much is told at once if there is no
/// memory for it.
const MOST_CAPACITY: u64 = 4096;
/// With as many bits of a hash, and more, a table has room for [`MOST_CAPACITY`] items.
const LEAST_HASH_BITS: u32 = 24;
/// The list's memory grows by so many hashes.
const STEP: usize = 8;

/// A filter with few items.
#[derive(Clone)]
pub(super) struct Few {
    pub(super) blueprint: Blueprint,
    hashes: Vec<u64>,
}

impl Few {
    /// Whether a filter may begin as a list: not one of fixed size, which has its memory from the start. Its
    /// table can always be built.
    pub(super) fn suits(blueprint: &Blueprint) -> bool {
        let has_bits = matches!(blueprint.precision, Precision::HashBits(LEAST_HASH_BITS..=64));
        let is_small = blueprint.hints.expansion > 0 && blueprint.capacity <= MOST_CAPACITY;
        has_bits && is_small && blueprint.window.is_none()
    }

    /// A filter with these items, of which there are at most [`MOST`].
    pub(super) fn new(blueprint: Blueprint, hashes: Vec<u64>) -> Self {
        debug_assert!(hashes.len() <= MOST);
        Self { blueprint, hashes }
    }

    /// The hashes, in the order in which they came.
    pub(super) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    pub(super) fn hash(&self, item: &[u8]) -> KeyHash {
        self.blueprint.hasher().hash(item)
    }

    pub(super) fn count(&self, hash: KeyHash) -> u64 {
        let hash = hash.to_u64();
        self.hashes.iter().map(|&it| u64::from(it == hash)).sum()
    }

    /// Adds a hash if there is room for it in the list, and the list takes no more than so many bytes.
    pub(super) fn push(&mut self, hash: KeyHash, most_bytes: u64) -> bool {
        let step_bytes = (STEP * size_of::<u64>()) as u64;
        let is_at_step = self.hashes.len().is_multiple_of(STEP);
        let has_room = self.hashes.len() < MOST
            && (!is_at_step || self.list_bytes() + step_bytes <= most_bytes)
            && (!is_at_step || self.hashes.try_reserve_exact(STEP).is_ok());
        if has_room {
            self.hashes.push(hash.to_u64());
        }
        has_room
    }

    /// Takes a copy of a hash away, if it is there.
    pub(super) fn remove(&mut self, hash: KeyHash) -> bool {
        let place = self.hashes.iter().position(|&it| it == hash.to_u64());
        if let Some(place) = place {
            self.hashes.remove(place);
            self.hashes.shrink_to(self.hashes.len().next_multiple_of(STEP));
        }
        place.is_some()
    }

    /// Bytes of memory beside its own, the same in a copy.
    pub(super) fn list_bytes(&self) -> u64 {
        (self.hashes.len().next_multiple_of(STEP) * size_of::<u64>()) as u64
    }

    /// The filter as a table.
    pub(super) fn to_table(&self) -> Result<CuckooFilter, Refusal> {
        let mut filter = self.blueprint.build()?;
        let hashes: Vec<_> = self.hashes.iter().copied().map(KeyHash::from_u64).collect();
        let inserted = filter.insert_batch(&hashes);
        inserted.map_err(|stopped| Refusal::of_full(stopped.full.reason, 1))?;
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::request::Request;

    #[test]
    fn every_list_can_become_a_table() {
        for capacity in (4..=MOST_CAPACITY).step_by(31).chain([MOST_CAPACITY]) {
            for bits in [LEAST_HASH_BITS, 31, 64] {
                let [capacity, bits] = [capacity.to_string(), bits.to_string()];
                let words = [capacity.as_bytes(), b"HASHBITS", bits.as_bytes()];
                let blueprint = Request::of_reserve(&words).unwrap().complete([1; 16]).unwrap();
                assert!(Few::suits(&blueprint));
                let hashes: Vec<u64> = (0..MOST as u64).map(|n| n << 58 | n).collect();
                let table = Few::new(blueprint, hashes).to_table().unwrap();
                assert_eq!(table.len(), MOST as u64, "{capacity} {bits}");
            }
        }
    }

    #[test]
    fn a_list_grows_and_shrinks_in_steps_within_its_bytes() {
        let words: [&[u8]; 1] = [b"100"];
        let blueprint = Request::of_reserve(&words).unwrap().complete([1; 16]).unwrap();
        let mut few = Few::new(blueprint, Vec::new());
        let hashes: Vec<_> = (0..100).map(KeyHash::from_u64).collect();
        let pushed = hashes.iter().take_while(|&&hash| few.push(hash, 128)).count();
        assert_eq!((pushed, few.list_bytes(), few.hashes.capacity()), (16, 128, 16));
        let pushed = hashes.iter().take_while(|&&hash| few.push(hash, u64::MAX)).count();
        assert_eq!((pushed, few.hashes().len()), (MOST - 16, MOST));
        assert_eq!((few.count(hashes[0]), few.count(hashes[99])), (2, 0));
        for &hash in &hashes[..40] {
            assert!(few.remove(hash));
            assert_eq!(few.hashes.capacity() as u64 * 8, few.list_bytes());
        }
        assert!(!few.remove(hashes[99]));
    }
}
