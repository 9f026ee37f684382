//! Counts of keys, in binary: a filter for each bit, with the keys whose count has the bit set.
//!
//! A single filter would use a slot for each copy. Here a key uses a slot for each set bit, and one more copy changes
//! two filters on average.

use coua::{BatchFull, CuckooFilter, Full, FullReason, KeyHash, OutOfMemory};

/// The counts of keys, which are 0 for nearly all.
#[derive(Debug)]
pub(super) struct Tally {
    bits: Vec<CuckooFilter>,
    /// The initial filter of each bit.
    empty: CuckooFilter,
}

/// The records of one key in a block.
#[derive(Clone, Copy, Debug)]
struct KeyRecords {
    key: KeyHash,
    records: u64,
}

impl Tally {
    pub(super) fn new(mut empty: CuckooFilter) -> Self {
        empty.compact();
        Self { bits: Vec::new(), empty }
    }

    pub(super) fn filters(&self) -> impl Iterator<Item = &CuckooFilter> {
        self.bits.iter()
    }

    /// Creates the filter for one more bit.
    pub(super) fn empty(&self) -> Result<CuckooFilter, OutOfMemory> {
        self.empty.try_clone()
    }

    /// The count of each key.
    pub(super) fn count(&self, keys: &[KeyHash]) -> Vec<u64> {
        let mut counts = vec![0; keys.len()];
        for (bit, filter) in self.bits.iter().enumerate() {
            for (count, is_set) in counts.iter_mut().zip(filter.contains_batch(keys)) {
                *count |= u64::from(is_set) << bit;
            }
        }
        counts
    }

    /// Sets the count of keys to 1.
    pub(super) fn mark(&mut self, keys: &[KeyHash]) -> Result<(), BatchFull> {
        self.filter_of(0)?.insert_unique_batch(keys).map(drop)
    }

    /// Adds 1 to the count of each key, for each of its occurrences.
    pub(super) fn add(&mut self, keys: &[KeyHash]) -> Result<(), BatchFull> {
        let groups = groups(keys);
        let keys: Vec<_> = groups.iter().map(|group| group.key).collect();
        let old = self.count(&keys);
        let new = old.iter().zip(&groups).map(|(count, group)| count + group.records);
        self.change(&keys, &old, &new.collect::<Vec<_>>())
    }

    /// Changes the counts of distinct keys from `old` to `new`.
    fn change(&mut self, keys: &[KeyHash], old: &[u64], new: &[u64]) -> Result<(), BatchFull> {
        let most = new.iter().chain(old).copied().max().unwrap_or(0);
        for bit in 0..(u64::BITS - most.leading_zeros()) as usize {
            let [mut set, mut cleared] = [Vec::new(), Vec::new()];
            for ((key, old), new) in keys.iter().zip(old).zip(new) {
                match (old >> bit & 1, new >> bit & 1) {
                    (0, 1) => set.push(*key),
                    (1, 0) => cleared.push(*key),
                    _ => {}
                }
            }
            let filter = self.filter_of(bit)?;
            filter.remove_batch(&cleared);
            filter.insert_unique_batch(&set)?;
        }
        Ok(())
    }

    fn filter_of(&mut self, bit: usize) -> Result<&mut CuckooFilter, BatchFull> {
        while self.bits.len() <= bit {
            let empty = self.empty();
            self.bits.push(empty.map_err(|_| self.no_memory())?);
        }
        Ok(&mut self.bits[bit])
    }

    fn no_memory(&self) -> BatchFull {
        let items = self.filters().map(CuckooFilter::len).sum();
        let reason = FullReason::OutOfMemory;
        BatchFull { done: 0, full: Full { items, max_items: u64::MAX, reason } }
    }
}

/// The distinct keys of a block.
fn groups(keys: &[KeyHash]) -> Vec<KeyRecords> {
    let mut all: Vec<u64> = keys.iter().map(|key| key.to_u64()).collect();
    all.sort_unstable();
    let group =
        |same: &[u64]| KeyRecords { key: KeyHash::from_u64(same[0]), records: same.len() as u64 };
    all.chunk_by(|left, right| left == right).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua_dev::random::Random;
    use std::collections::HashMap;

    #[test]
    fn numbers_are_those_of_a_map() {
        let mut random = Random::new(3);
        let (mut tally, mut model) = (Tally::new(CuckooFilter::new()), HashMap::new());
        let mut keys = |most: u64| -> Vec<KeyHash> {
            let key = |number: u64| KeyHash::from_u64(coua_dev::random::nth(number));
            (0..500).map(|_| key(random.magnitude(most))).collect()
        };
        for _ in 0..50 {
            let batch = keys(10_000);
            tally.add(&batch).unwrap();
            for key in &batch {
                *model.entry(key.to_u64()).or_insert(0_u64) += 1;
            }
            let batch = keys(10_000);
            let number = |key: &KeyHash| model.get(&key.to_u64()).copied().unwrap_or(0);
            assert_eq!(tally.count(&batch), batch.iter().map(number).collect::<Vec<_>>());
        }
    }
}
