//! The first items of a filter, as a list of their hashes.
//!
//! Most filters on a server are small. A list takes a fraction of the memory of the smallest table,
//! and is as quick to search. A filter becomes a table when the list is full, by inserting the
//! hashes in their order: so the same commands lead to the same bytes on every server.

use coua::{CuckooFilter, KeyHash};

use super::cuckoo_request::{CuckooSpec, Precision};
use crate::error::CommandError;

/// Hashes of a list. Searching so many takes about as long as a lookup in a table.
pub(super) const MOST: usize = 64;
/// Filters with room for more items begin as a table: a request for much is refused at once if
/// there is no memory for it.
const MOST_CAPACITY: u64 = 4096;
/// With as many bits of a hash, and more, a table has room for [`MOST_CAPACITY`] items.
const LEAST_HASH_BITS: u32 = 24;
/// The list's memory grows by so many hashes.
const STEP: usize = 8;

/// A filter with few items.
#[derive(Clone)]
pub(super) struct HashList {
    pub(super) spec: CuckooSpec,
    hashes: Vec<u64>,
}

impl HashList {
    /// Whether a filter may begin as a list: not one of fixed size, which has its memory from the
    /// start. Its table can always be built.
    pub(super) fn suits(spec: &CuckooSpec) -> bool {
        let has_bits = matches!(spec.precision, Precision::HashBits(LEAST_HASH_BITS..=64));
        let is_small = spec.hints.expansion > 0 && spec.capacity <= MOST_CAPACITY;
        has_bits && is_small && spec.window.is_none()
    }

    /// A filter with these items, of which there are at most [`MOST`].
    pub(super) fn new(spec: CuckooSpec, hashes: Vec<u64>) -> Self {
        debug_assert!(hashes.len() <= MOST);
        Self { spec, hashes }
    }

    /// The hashes, in the order in which they came.
    pub(super) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    pub(super) fn hash(&self, item: &[u8]) -> KeyHash {
        self.spec.hasher().hash(item)
    }

    pub(super) fn count(&self, hash: KeyHash) -> u64 {
        let hash = hash.to_u64();
        self.hashes.iter().map(|&it| u64::from(it == hash)).sum()
    }

    /// Adds a hash if there is room for it in the list, and the list takes no more than so many
    /// bytes.
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
    pub(super) fn to_table(&self) -> Result<CuckooFilter, CommandError> {
        let mut filter = self.spec.build()?;
        let hashes: Vec<_> = self.hashes.iter().copied().map(KeyHash::from_u64).collect();
        let inserted = filter.insert_batch(&hashes);
        inserted.map_err(|stopped| CommandError::of_full(stopped.full.reason, 1))?;
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::cuckoo_request::CuckooRequest;

    #[test]
    fn every_list_can_become_a_table() {
        for capacity in (4..=MOST_CAPACITY).step_by(31).chain([MOST_CAPACITY]) {
            for bits in [LEAST_HASH_BITS, 31, 64] {
                let [capacity, bits] = [capacity.to_string(), bits.to_string()];
                let words = [capacity.as_bytes(), b"HASHBITS", bits.as_bytes()];
                let spec = CuckooRequest::of_reserve(&words).unwrap().complete([1; 16]).unwrap();
                assert!(HashList::suits(&spec));
                let hashes: Vec<u64> = (0..MOST as u64).map(|n| n << 58 | n).collect();
                let table = HashList::new(spec, hashes).to_table().unwrap();
                assert_eq!(table.len(), MOST as u64, "{capacity} {bits}");
            }
        }
    }

    #[test]
    fn a_list_grows_and_shrinks_in_steps_within_its_bytes() {
        let words: [&[u8]; 1] = [b"100"];
        let spec = CuckooRequest::of_reserve(&words).unwrap().complete([1; 16]).unwrap();
        let mut list = HashList::new(spec, Vec::new());
        let hashes: Vec<_> = (0..100).map(KeyHash::from_u64).collect();
        let pushed = hashes.iter().take_while(|&&hash| list.push(hash, 128)).count();
        assert_eq!((pushed, list.list_bytes(), list.hashes.capacity()), (16, 128, 16));
        let pushed = hashes.iter().take_while(|&&hash| list.push(hash, u64::MAX)).count();
        assert_eq!((pushed, list.hashes().len()), (MOST - 16, MOST));
        assert_eq!((list.count(hashes[0]), list.count(hashes[99])), (2, 0));
        for &hash in &hashes[..40] {
            assert!(list.remove(hash));
            assert_eq!(list.hashes.capacity() as u64 * 8, list.list_bytes());
        }
        assert!(!list.remove(hashes[99]));
    }
}
