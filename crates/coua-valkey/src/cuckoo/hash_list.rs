//! A filter with few items, as a list of their hashes.
//!
//! Most filters on a server are small. A [list](super::sorted_hashes) takes a part of the memory of the smallest table.
//! A filter becomes a table when the list is full, by inserting the hashes in their order: so the same commands lead
//! to the same bytes on every server.

use coua::{CuckooFilter, IfPresent, KeyHash, KeyHasher};
use coua_image::{Hints, MOST_LISTED};

use super::cuckoo_request::{CuckooSpec, Precision, SMALL};
use super::first_change;
use super::sorted_hashes::SortedHashes;
use super::table::{Figures, VALUE_BYTES};
use crate::error::CommandError;

/// With this many hash bits or more, a table can hold [`MOST_LISTED`] items.
const LEAST_HASH_BITS: u32 = 24;

/// A filter with few items.
#[derive(Clone)]
pub(super) struct HashList {
    hash_key: [u8; 16],
    pub(super) hashes: SortedHashes,
    capacity: u16,
    pub(super) hints: Hints,
    /// Increases with every change of the filter; not saved.
    pub(super) changes: u16,
}

impl HashList {
    /// The hash bits of a filter that may begin as a list. Larger ones begin as a table, so that a request without
    /// enough memory fails at once.
    pub(super) fn bits_for(spec: &CuckooSpec) -> Option<u8> {
        let Precision::HashBits(bits) = spec.precision else { return None };
        let is_small = spec.capacity <= SMALL && spec.window.is_none();
        let has_table =
            is_small && (bits >= LEAST_HASH_BITS || table_for(spec, MOST_LISTED).has_plan());
        has_table.then_some(bits as u8)
    }

    /// A filter with these hashes, which [may be a list](Self::bits_for).
    pub(super) fn new(spec: &CuckooSpec, hashes: SortedHashes) -> Result<Self, CommandError> {
        let mut list = Self {
            hash_key: spec.hash_key,
            hashes,
            capacity: spec.capacity as u16,
            hints: spec.hints,
            changes: first_change(),
        };
        list.hashes.reserve(list.reserved())?;
        Ok(list)
    }

    /// The number of hashes with reserved memory. A filter of fixed size has it all from the start.
    fn reserved(&self) -> usize {
        if self.hints.expansion == 0 { self.capacity().max(self.len()) } else { self.len() }
    }

    pub(super) fn spec(&self) -> CuckooSpec {
        CuckooSpec {
            capacity: u64::from(self.capacity),
            hints: self.hints,
            precision: Precision::HashBits(self.hashes.bits().into()),
            hash_key: self.hash_key,
            window: None,
        }
    }

    pub(super) fn hasher(&self) -> KeyHasher {
        KeyHasher::SipHash13 { key: self.hash_key }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity.into()
    }

    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    pub(super) fn count(&self, item: &[u8]) -> u64 {
        self.count_hash(self.hasher().hash(item))
    }

    pub(super) fn count_hash(&self, hash: KeyHash) -> u64 {
        self.hashes.count(hash.to_u64()) as u64
    }

    /// Adds a hash, within a limit of the key's bytes. Returns false if the filter must become a table first.
    pub(super) fn push(&mut self, hash: KeyHash, limit: Option<u64>) -> Result<bool, CommandError> {
        if self.hints.expansion == 0 && self.len() >= self.capacity() {
            return Err(CommandError::Full);
        }
        if self.len() == MOST_LISTED {
            return Ok(false);
        }
        CommandError::check_bytes(self.key_bytes_with(1), limit)?;
        self.hashes.insert(hash.to_u64())?;
        Ok(true)
    }

    /// Adds many hashes, or the absent ones, and returns which were added. Returns `None` if they are few, or might not
    /// all fit: the caller must then add them one by one.
    pub(super) fn push_all(
        &mut self,
        hashes: &[KeyHash],
        if_present: IfPresent,
        limit: Option<u64>,
    ) -> Option<Vec<bool>> {
        /// With this many, rewriting the whole list pays off.
        const MANY: usize = 32;
        let is_fixed = self.hints.expansion == 0;
        let most = if is_fixed { self.capacity() } else { MOST_LISTED };
        if self.len() + hashes.len() > most || hashes.len() * MANY < self.len() {
            return None;
        }
        CommandError::check_bytes(self.key_bytes_with(hashes.len()), limit).ok()?;
        let wants = |is_there: bool| if_present == IfPresent::AddCopy || !is_there;
        self.hashes.insert_all(hashes, wants).ok()
    }

    /// Bytes of the key with more hashes.
    fn key_bytes_with(&self, more: usize) -> u64 {
        VALUE_BYTES + bytes_of(self.hashes.bits(), self.reserved().max(self.len() + more))
    }

    /// Removes a copy of an item, if present.
    pub(super) fn remove(&mut self, item: &[u8]) -> bool {
        let hash = self.hasher().hash(item);
        let is_fixed = self.hints.expansion == 0;
        let kept = if is_fixed { self.capacity() } else { self.len().saturating_sub(1) };
        self.hashes.remove(hash.to_u64(), kept)
    }

    /// Allocated bytes, the same in a copy.
    pub(super) fn list_bytes(&self) -> u64 {
        bytes_of(self.hashes.bits(), self.reserved())
    }

    /// Its figures, with its capacity as the number of slots.
    pub(super) fn figures(&self) -> Figures {
        let (items, slots) = (self.len() as f64, self.capacity().max(self.len()));
        let hash_bits = f64::from(self.hashes.bits());
        Figures {
            slots: slots as u64,
            rate: (items / hash_bits.exp2()).min(1.0),
            hash_bits,
            load: items / slots as f64,
            window: None,
            filters: 1,
        }
    }

    /// A copy with its own count of changes.
    pub(super) fn copy(&self) -> Self {
        Self { changes: first_change(), ..self.clone() }
    }

    /// The filter as a table.
    pub(super) fn to_table(&self) -> Result<CuckooFilter, CommandError> {
        // With room for more, because the list was full.
        let mut filter = table_for(&self.spec(), self.len() + self.len() / 2).build()?;
        let hashes: Vec<_> = self.hashes.hashes().map(KeyHash::from_u64).collect();
        let inserted = filter.insert_batch(&hashes);
        let expansion = self.hints.expansion;
        inserted.map_err(|stopped| CommandError::of_full(stopped.full.reason, expansion))?;
        Ok(filter)
    }

    /// Adds all hashes of another list, if both have the same hash key and number of bits, and a list can hold them.
    pub(super) fn merge(&mut self, other: &Self) -> Result<bool, CommandError> {
        let is_alike = (self.hash_key, self.hashes.bits()) == (other.hash_key, other.hashes.bits());
        let len = self.len() + other.len();
        if self.hints.expansion == 0 && len > self.capacity() {
            return Err(CommandError::Full);
        }
        if !is_alike || len > MOST_LISTED {
            return Ok(false);
        }
        let hashes: Vec<_> = other.hashes.hashes().map(KeyHash::from_u64).collect();
        self.hashes.insert_all(&hashes, |_| true)?;
        Ok(true)
    }
}

fn bytes_of(bits: u8, len: usize) -> u64 {
    (SortedHashes::words_for(bits, len) * size_of::<u64>()) as u64
}

/// The options of a table for these items, and for more.
fn table_for(spec: &CuckooSpec, items: usize) -> CuckooSpec {
    let grows = spec.hints.expansion > 0;
    let capacity = if grows { spec.capacity.max(items as u64) } else { spec.capacity };
    CuckooSpec { capacity, ..spec.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::cuckoo_request::CuckooRequest;

    fn list(words: &str) -> HashList {
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        let spec = CuckooRequest::of_reserve(&words).unwrap().complete([1; 16]).unwrap();
        let bits = HashList::bits_for(&spec).unwrap();
        HashList::new(&spec, SortedHashes::new(bits)).unwrap()
    }

    fn push_all(list: &mut HashList, mut hashes: impl Iterator<Item = u64>) {
        assert!(hashes.all(|hash| list.push(KeyHash::from_u64(hash), None) == Ok(true)));
    }

    #[test]
    fn every_list_can_become_a_table() {
        for words in [
            "4",
            "100",
            "4096",
            "4 HASHBITS 64",
            "4096 HASHBITS 64",
            "4096 HASHBITS 24",
            "100 HASHBITS 16",
            "1000 HASHBITS 12",
            "4 BUCKETSIZE 2 ERROR 0.9",
            "4096 EXPANSION 2 ERROR 1e-9",
        ] {
            let mut list = list(words);
            let step = (u64::MAX / MOST_LISTED as u64) | 1;
            push_all(&mut list, (0..MOST_LISTED as u64).map(|number| number * step));
            assert_eq!(list.push(KeyHash::from_u64(7), None), Ok(false), "{words}");
            assert_eq!(list.to_table().unwrap().len(), MOST_LISTED as u64, "{words}");
        }
    }

    #[test]
    fn a_rate_is_at_most_one() {
        let mut list = list("4 HASHBITS 8");
        push_all(&mut list, (0..1_000).map(|number| number << 50));
        assert_eq!(list.figures().rate.to_bits(), 1.0_f64.to_bits());
    }

    /// Copies count as items: a filter keeps its rate.
    #[test]
    fn a_list_of_fixed_size_takes_its_items_and_the_same_memory() {
        for words in ["4 EXPANSION 0", "100 EXPANSION 0", "3000 EXPANSION 0 HASHBITS 64"] {
            let mut copies = list(words);
            let mut items = copies.clone();
            let (capacity, bytes) = (copies.capacity() as u64, copies.list_bytes());
            push_all(&mut copies, (0..capacity).map(|_| 5));
            assert_eq!(copies.push(KeyHash::from_u64(5), None), Err(CommandError::Full));
            let step = (u64::MAX / capacity) | 1;
            push_all(&mut items, (0..capacity).map(|number| number * step));
            assert_eq!(items.push(KeyHash::from_u64(0), None), Err(CommandError::Full));
            assert_eq!((copies.list_bytes(), items.list_bytes()), (bytes, bytes), "{words}");
        }
    }

    #[test]
    fn a_list_of_fixed_size_takes_another_within_its_capacity() {
        let (mut fixed, mut other) = (list("4 EXPANSION 0"), list("4 EXPANSION 0"));
        push_all(&mut other, (0..3).map(|number| number << 50));
        assert_eq!(fixed.merge(&other), Ok(true));
        assert_eq!((fixed.merge(&other), fixed.len()), (Err(CommandError::Full), 3));
    }

    #[test]
    fn a_list_keeps_within_its_bytes() {
        let mut list = list("100 HASHBITS 24");
        let limit = VALUE_BYTES + 256;
        let hashes = (0..1_000).map(|number: u64| KeyHash::from_u64(number << 50));
        let pushed = hashes.take_while(|&hash| list.push(hash, Some(limit)).is_ok()).count();
        assert!((90..120).contains(&pushed) && list.list_bytes() <= 256, "{pushed}");
        let refused = Err(CommandError::KeyMemory { limit });
        assert_eq!(list.push(KeyHash::from_u64(1), Some(limit)), refused);
        assert_eq!(list.push(KeyHash::from_u64(1), Some(1 << 10)), Ok(true));
    }
}
