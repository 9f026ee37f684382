//! A filter and its model, moved together and compared after every call.

use std::collections::HashMap;
use std::rc::Rc;

use coua::{BatchFull, CuckooFilter, Full, FullReason, Insertion, KeyHash, WhenFull};

/// The filter and what it must answer for each key of a pool.
pub(crate) struct Twin {
    pub(crate) filter: CuckooFilter,
    pub(crate) pool: Rc<Vec<KeyHash>>,
    /// Number of each key's cell, counted densely.
    cell: Vec<u32>,
    /// Copies in each cell.
    in_cell: Vec<u64>,
    /// Copies of each key.
    pub(crate) copies: Vec<u64>,
    pub(crate) len: u64,
    pub(crate) operations: u64,
}

/// Number of hashes that a filter tells apart, exactly: buckets times fingerprints has few
/// significant bits, so the rounding of the logarithm can be undone.
fn cells_of(filter: &CuckooFilter) -> u128 {
    let rough = filter.hash_bits().exp2();
    let unit = (rough.log2().floor() - 30.0).max(0.0).exp2();
    ((rough / unit).round() * unit) as u128
}

/// The dense numbers of the cells that the hashes fall into.
fn number_cells(pool: &[KeyHash], cells: u128) -> (Vec<u32>, usize) {
    let mut numbers = HashMap::new();
    let number = |hash: &KeyHash| {
        let cell = multiply_high(hash.to_u64(), cells);
        let next = numbers.len() as u32;
        *numbers.entry(cell).or_insert(next)
    };
    let cell = pool.iter().map(number).collect();
    (cell, numbers.len())
}

/// floor(hash * cells / 2^64), for up to 2^64 cells.
fn multiply_high(hash: u64, cells: u128) -> u64 {
    let low = u128::from(hash) * (cells & u128::from(u64::MAX));
    let high = u128::from(hash) * (cells >> 64);
    ((low >> 64) + high) as u64
}

impl Twin {
    pub(crate) fn new(filter: CuckooFilter, pool: Rc<Vec<KeyHash>>) -> Self {
        let (cell, cells) = number_cells(&pool, cells_of(&filter));
        let copies = vec![0; pool.len()];
        Self { filter, pool, cell, in_cell: vec![0; cells], copies, len: 0, operations: 0 }
    }

    /// Takes another filter for the same items, which may tell fewer hashes apart.
    pub(crate) fn replace(&mut self, filter: CuckooFilter) {
        if cells_of(&filter) != cells_of(&self.filter) {
            let (cell, cells) = number_cells(&self.pool, cells_of(&filter));
            self.cell = cell;
            self.in_cell = vec![0; cells];
            for (key, &copies) in self.copies.iter().enumerate() {
                self.in_cell[self.cell[key] as usize] += copies;
            }
        }
        self.filter = filter;
    }

    pub(crate) fn expected(&self, key: usize) -> u64 {
        self.in_cell[self.cell[key] as usize]
    }

    /// Whether removing the key takes its own copy, or finds nothing, rather than a stranger's.
    pub(crate) fn may_remove(&self, key: usize) -> bool {
        self.copies[key] > 0 || self.expected(key) == 0
    }

    fn hash(&self, key: usize) -> KeyHash {
        self.pool[key]
    }

    fn add(&mut self, key: usize) {
        self.in_cell[self.cell[key] as usize] += 1;
        self.copies[key] += 1;
        self.len += 1;
    }

    fn take(&mut self, key: usize) {
        self.in_cell[self.cell[key] as usize] -= 1;
        self.copies[key] -= 1;
        self.len -= 1;
    }

    pub(crate) fn insert(&mut self, key: usize) {
        self.operations += 1;
        match self.filter.insert_hash(self.hash(key)) {
            Ok(()) => self.add(key),
            Err(full) => self.check_refusal(key, full),
        }
        self.check_one(key);
    }

    pub(crate) fn insert_unique(&mut self, key: usize) {
        self.operations += 1;
        let present = self.expected(key) > 0;
        match self.filter.insert_unique_hash(self.hash(key)) {
            Ok(Insertion::Inserted) => {
                assert!(!present, "a key that is present was inserted again");
                self.add(key);
            }
            Ok(Insertion::AlreadyPresent) => {
                assert!(present, "an absent key is said to be present");
            }
            Err(full) => {
                assert!(!present, "a key that is present needs no room");
                self.check_refusal(key, full);
            }
        }
        self.check_one(key);
    }

    /// Removes a key for which [`may_remove`](Self::may_remove) holds.
    pub(crate) fn remove(&mut self, key: usize) {
        self.operations += 1;
        let removed = self.filter.remove_hash(self.hash(key));
        assert_eq!(removed, self.expected(key) > 0, "remove");
        if removed {
            self.take(key);
        }
        self.check_one(key);
    }

    /// One key's answers, and the length.
    pub(crate) fn check_one(&mut self, key: usize) {
        self.operations += 2;
        let (hash, expected) = (self.hash(key), self.expected(key));
        assert!(expected >= self.copies[key], "the model itself");
        assert_eq!(self.filter.count_hash(hash), expected, "count");
        assert_eq!(self.filter.contains_hash(hash), expected > 0, "contains");
        assert_eq!(self.filter.len(), self.len, "len");
    }

    fn hashes(&self, keys: &[usize]) -> Vec<KeyHash> {
        keys.iter().map(|&key| self.hash(key)).collect()
    }

    pub(crate) fn insert_batch(&mut self, keys: &[usize]) {
        let result = self.filter.insert_hash_batch(&self.hashes(keys));
        let done = self.check_batch(keys, result);
        for &key in &keys[..done] {
            self.add(key);
        }
        self.check_some(keys);
    }

    pub(crate) fn insert_unique_batch(&mut self, keys: &[usize]) {
        let mut outcomes = vec![Insertion::Inserted];
        let result = self.filter.insert_unique_hash_batch(&self.hashes(keys), &mut outcomes);
        let done = self.check_batch(keys, result);
        assert_eq!(outcomes.len(), done, "one answer for each key processed");
        for (&key, outcome) in keys.iter().zip(outcomes) {
            assert_eq!(outcome == Insertion::AlreadyPresent, self.expected(key) > 0, "outcome");
            if outcome == Insertion::Inserted {
                self.add(key);
            }
        }
        self.check_some(keys);
    }

    /// How many keys a batch has processed, after a look at its refusal.
    fn check_batch(&mut self, keys: &[usize], result: Result<(), BatchFull>) -> usize {
        let done = match result {
            Ok(()) => keys.len(),
            Err(stopped) => {
                assert!(stopped.done < keys.len(), "a batch stopped after its end");
                stopped.done
            }
        };
        self.operations += done as u64;
        done
    }

    /// Removes keys; those that would take a stranger's copy are left out.
    pub(crate) fn remove_batch(&mut self, keys: &[usize]) {
        let mut held = Vec::new();
        let mut answers = Vec::new();
        for &key in keys {
            if self.may_remove(key) {
                held.push(key);
                answers.push(self.expected(key) > 0);
                if self.expected(key) > 0 {
                    self.take(key);
                }
            }
        }
        let mut removed = vec![true];
        self.filter.remove_hash_batch(&self.hashes(&held), &mut removed);
        assert_eq!(removed, answers, "remove in a batch");
        self.operations += held.len() as u64;
        self.check_some(&held);
    }

    /// Some keys' answers in a batch, and the length.
    pub(crate) fn check_some(&mut self, keys: &[usize]) {
        let hashes = self.hashes(keys);
        let expected: Vec<u64> = keys.iter().map(|&key| self.expected(key)).collect();
        let present: Vec<bool> = expected.iter().map(|&copies| copies > 0).collect();
        let mut counts = vec![7];
        self.filter.count_hash_batch(&hashes, &mut counts);
        assert_eq!(counts, expected, "count in a batch");
        let mut answers = vec![true];
        self.filter.contains_hash_batch(&hashes, &mut answers);
        assert_eq!(answers, present, "contains in a batch");
        assert_eq!(self.filter.len(), self.len, "len");
        self.operations += 2 * keys.len() as u64;
    }

    /// Every answer, and everything the filter says about itself.
    pub(crate) fn check_all(&mut self) {
        self.check_some(&(0..self.pool.len()).collect::<Vec<_>>());
        let most = u64::from(self.filter.slots_per_bucket());
        let occupied = self.in_cell.iter().filter(|&&copies| copies > 0).count() as f64;
        let stored: u64 = self.in_cell.iter().map(|&copies| copies.min(most)).sum();
        let cells = cells_of(&self.filter) as f64;
        let rate = self.filter.false_positive_rate();
        assert!(rate >= (occupied / cells).min(1.0) * 0.999_999, "{rate} {occupied} {cells}");
        assert!(rate <= stored as f64 / cells * 1.000_001, "{rate} {stored} {cells}");
        assert!((0.0..=1.0).contains(&self.filter.load()), "{}", self.filter.load());
        assert_eq!(self.filter.is_empty(), self.len == 0);
        if self.filter.when_full() != WhenFull::ExceedRate {
            assert!(rate <= self.filter.max_items() as f64 / cells * 1.000_001);
        }
    }

    /// A refusal says the truth, and refusing again changes not one byte.
    fn check_refusal(&mut self, key: usize, full: Full) {
        assert_eq!(full.items, self.len);
        assert_eq!(full.max_items, self.filter.max_items());
        match full.reason {
            FullReason::MaxItems => {
                assert!(self.len >= self.filter.max_items());
                assert_ne!(self.filter.when_full(), WhenFull::ExceedRate);
            }
            FullReason::NoRoom => assert!(self.filter.load() > 0.0),
            _ => panic!("{full}"),
        }
        if self.filter.memory_bytes() < 20_000 {
            let before = bytes_of(&self.filter);
            assert_eq!(self.filter.insert_hash(self.hash(key)), Err(full));
            assert!(before == bytes_of(&self.filter), "a refused insert changed the snapshot");
        }
    }

    /// Adds the keys of a filter that was merged into this one.
    pub(crate) fn absorb(&mut self, keys: &[usize]) {
        for &key in keys {
            self.add(key);
        }
    }

    /// As [`absorb`](Self::absorb), but only what is absent.
    pub(crate) fn absorb_unique(&mut self, keys: &[usize]) {
        for &key in keys {
            if self.expected(key) == 0 {
                self.add(key);
            }
        }
    }

    pub(crate) fn forget_all(&mut self) {
        self.in_cell.fill(0);
        self.copies.fill(0);
        self.len = 0;
    }
}

pub(crate) fn bytes_of(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("memory takes every byte");
    bytes
}
