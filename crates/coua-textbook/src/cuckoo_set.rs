//! Cuckoo hashing.

use std::mem;

use crate::hash::murmur3;
use crate::{ParameterError, check_places};

/// Slots of each table that an insert tries before the tables are built anew.
const MAX_LOOP: usize = 200;

/// A set by cuckoo hashing (Pagh, Rodler 2001 and 2004, "Cuckoo hashing"), with whole keys.
///
/// There are two tables, and a hash function for each. A key is in its slot of the first table or in its slot of the
/// second, so a lookup reads two slots, always. An insert that finds its slot taken kicks the key there out, as a young
/// cuckoo does; the kicked key goes to its slot in the other table, where it may kick out the next one.
///
/// If the kicks go round in a circle, all keys get slots by two new hash functions, in tables of twice the size if the
/// tables were more than half full. Nothing is lost, because the keys are there. A filter, which threw them away, cannot
/// do that.
///
/// ```
/// let mut seen = coua_textbook::CuckooHashSet::new(100)?;
/// assert!(seen.insert("kestrel"));
/// assert!(!seen.insert("kestrel"));
/// assert!(seen.contains("kestrel") && !seen.contains("osprey"));
/// assert!(seen.remove("kestrel") && !seen.contains("kestrel"));
/// # Ok::<(), coua_textbook::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CuckooHashSet {
    tables: [Vec<Option<Vec<u8>>>; 2],
    /// The seed of the hash function of each table.
    seeds: [u32; 2],
    keys: usize,
    rehashes: usize,
}

impl CuckooHashSet {
    /// A set with this number of slots in each table.
    ///
    /// # Errors
    ///
    /// Returns an error if there are no slots, or more than 2^32.
    pub fn new(slots: usize) -> Result<Self, ParameterError> {
        check_places("slots", slots)?;
        Ok(Self { tables: empty(slots), seeds: [0, 1], keys: 0, rehashes: 0 })
    }

    /// Inserts a key. Returns whether it was absent.
    pub fn insert(&mut self, key: impl AsRef<[u8]>) -> bool {
        let key = key.as_ref();
        if self.contains(key) {
            return false;
        }
        self.keys += 1;
        if let Some(homeless) = self.place(key.to_vec()) {
            self.rehash(homeless);
        }
        true
    }

    /// Whether the key is present.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        let key = key.as_ref();
        let is_in =
            |table: usize| self.tables[table][self.slot(table, key)].as_deref() == Some(key);
        is_in(0) || is_in(1)
    }

    /// Removes a key. Returns whether it was present.
    pub fn remove(&mut self, key: impl AsRef<[u8]>) -> bool {
        let key = key.as_ref();
        for table in 0..2 {
            let slot = self.slot(table, key);
            if self.tables[table][slot].as_deref() == Some(key) {
                self.tables[table][slot] = None;
                self.keys -= 1;
                return true;
            }
        }
        false
    }

    /// The share of slots that are taken, 0 to 1.
    pub fn load(&self) -> f64 {
        self.keys as f64 / (2 * self.slots()) as f64
    }

    /// The number of slots in each table.
    pub fn slots(&self) -> usize {
        self.tables[0].len()
    }

    /// The number of times that all keys got new slots by new hash functions.
    pub fn rehashes(&self) -> usize {
        self.rehashes
    }

    fn slot(&self, table: usize, key: &[u8]) -> usize {
        (murmur3(key, self.seeds[table]) % self.slots() as u64) as usize
    }

    /// Puts a key into its slot, and the key from there into its other slot, and so on, until a slot was free. Returns
    /// the key that is without a slot after `MAX_LOOP` steps.
    fn place(&mut self, mut key: Vec<u8>) -> Option<Vec<u8>> {
        for step in 0..MAX_LOOP {
            let table = step % 2;
            let slot = self.slot(table, &key);
            key = self.tables[table][slot].replace(key)?;
        }
        Some(key)
    }

    /// Tries new hash functions, until all keys have a slot.
    ///
    /// This does not end for three keys with equal hashes by every seed, which an attacker can find.
    fn rehash(&mut self, homeless: Vec<u8>) {
        let mut slots = self.slots();
        let mut keys: Vec<_> = self.tables.iter_mut().flat_map(mem::take).flatten().collect();
        keys.push(homeless);
        if keys.len() > slots {
            slots *= 2;
        }
        loop {
            self.rehashes += 1;
            self.seeds = self.seeds.map(|seed| seed.wrapping_add(2));
            self.tables = empty(slots);
            if keys.iter().all(|key| self.place(key.clone()).is_none()) {
                return;
            }
        }
    }
}

fn empty(slots: usize) -> [Vec<Option<Vec<u8>>>; 2] {
    [vec![None; slots], vec![None; slots]]
}
