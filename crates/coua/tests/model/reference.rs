//! A filter and its model, moved together and compared after every call.

use std::collections::HashMap;
use std::rc::Rc;

use coua::window::When;
use coua::{
    BatchFull, CuckooFilter, Filter, Full, FullReason, IfPresent, Insertion, KeyHash, Load,
    WhenFull,
};

use super::counts::{Counts, Event};

/// Slots of a bucket: so many copies of a key in each of its buckets, further ones are counted.
const SLOTS_PER_BUCKET: u64 = 4;

/// A call that inserts one key.
type Insert = fn(&mut CuckooFilter, KeyHash) -> Result<Insertion, Full>;

const ANY: Insert = |filter, hash| filter.insert(hash).map(|()| Insertion::Inserted);
const UNIQUE: Insert = CuckooFilter::insert_unique;

/// The filter and what it must answer for each key of a pool.
pub(crate) struct Reference {
    pub(crate) filter: CuckooFilter,
    pub(crate) pool: Rc<Vec<KeyHash>>,
    /// Number of each key's cell, counted densely.
    cell: Vec<u32>,
    /// Copies in each cell.
    in_cell: Vec<u64>,
    /// Copies of each key.
    pub(crate) copies: Vec<u64>,
    pub(crate) len: u64,
    pub(crate) counts: Counts,
    /// Slots and segments that the filter had at the most.
    largest: (u64, usize),
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

impl Reference {
    pub(crate) fn new(filter: CuckooFilter, pool: Rc<Vec<KeyHash>>) -> Self {
        let (cell, cells) = number_cells(&pool, cells_of(&filter));
        let copies = vec![0; pool.len()];
        let largest = (filter.slots(), filter.segments());
        let counts = Counts::default();
        Self { filter, pool, cell, in_cell: vec![0; cells], copies, len: 0, counts, largest }
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
        self.largest.0 = self.largest.0.max(filter.slots());
        self.largest.1 = self.largest.1.max(filter.segments());
        self.filter = filter;
    }

    /// Counts growth since the last time.
    pub(crate) fn note_growth(&mut self) {
        let (slots, segments) = (self.filter.slots(), self.filter.segments());
        self.counts.add(Event::Growth, u64::from(slots > self.largest.0));
        self.counts.add(Event::Split, u64::from(segments > self.largest.1));
        self.largest = (slots.max(self.largest.0), segments.max(self.largest.1));
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
        self.counts.add(Event::Copy, u64::from(self.expected(key) > 0));
        self.in_cell[self.cell[key] as usize] += 1;
        self.copies[key] += 1;
        self.len += 1;
    }

    fn take(&mut self, key: usize) {
        self.in_cell[self.cell[key] as usize] -= 1;
        self.copies[key] -= 1;
        self.len -= 1;
        self.counts.add(Event::Removal, 1);
    }

    pub(crate) fn insert(&mut self, key: usize) {
        self.counts.add(Event::Change, 1);
        let before = self.bytes_if_nearly_full(1);
        match self.filter.insert(self.hash(key)) {
            Ok(()) => self.add(key),
            Err(full) => self.check_refusal(full, &[key], before, ANY),
        }
        self.check_one(key);
    }

    pub(crate) fn insert_unique(&mut self, key: usize) {
        self.counts.add(Event::Change, 1);
        let before = self.bytes_if_nearly_full(1);
        let present = self.expected(key) > 0;
        match self.filter.insert_unique(self.hash(key)) {
            Ok(Insertion::Inserted) => {
                assert!(!present, "a key that is present was inserted again");
                self.add(key);
            }
            Ok(outcome) => {
                assert_eq!(outcome, Insertion::AlreadyPresent);
                assert!(present, "an absent key is said to be present");
            }
            Err(full) => {
                assert!(!present, "a key that is present needs no room");
                self.check_refusal(full, &[key], before, UNIQUE);
            }
        }
        self.check_one(key);
    }

    /// Removes a key for which [`may_remove`](Self::may_remove) holds.
    pub(crate) fn remove(&mut self, key: usize) {
        self.counts.add(Event::Change, 1);
        let removed = self.filter.remove(self.hash(key));
        assert_eq!(removed, self.expected(key) > 0, "remove");
        if removed {
            self.take(key);
        }
        self.check_one(key);
    }

    /// One key's answers, and the length.
    pub(crate) fn check_one(&mut self, key: usize) {
        let (hash, expected) = (self.hash(key), self.expected(key));
        self.counts.add(Event::Lookup, 2);
        self.counts.add(Event::CountedCopies, u64::from(expected > 1));
        assert!(expected >= self.copies[key], "the model itself");
        assert_eq!(self.filter.count(hash), expected, "count");
        assert_eq!(self.filter.contains(hash), expected > 0, "contains");
        assert_eq!(self.filter.len(), self.len, "len");
    }

    fn hashes(&self, keys: &[usize]) -> Vec<KeyHash> {
        keys.iter().map(|&key| self.hash(key)).collect()
    }

    pub(crate) fn insert_batch(&mut self, keys: &[usize]) {
        let before = self.bytes_if_nearly_full(keys.len());
        let result = self.filter.insert_batch(&self.hashes(keys));
        for &key in &keys[..done_of(keys, result)] {
            self.add(key);
        }
        self.check_batch(keys, result, before, ANY);
    }

    pub(crate) fn insert_unique_batch(&mut self, keys: &[usize]) {
        let before = self.bytes_if_nearly_full(keys.len());
        let mut outcomes = vec![Insertion::Inserted];
        let result =
            self.filter.insert_each(&self.hashes(keys), When::Now, IfPresent::Skip, &mut outcomes);
        let done = done_of(keys, result);
        assert_eq!(outcomes.len(), keys.len(), "one answer for each key");
        assert!(outcomes[done..].iter().all(|outcome| *outcome == Insertion::Refused));
        for (&key, outcome) in keys[..done].iter().zip(outcomes) {
            assert_eq!(outcome == Insertion::AlreadyPresent, self.expected(key) > 0, "outcome");
            if outcome.is_new() {
                self.add(key);
            }
        }
        self.check_batch(keys, result, before, UNIQUE);
    }

    /// A batch's refusal, and the answers after it.
    fn check_batch(
        &mut self,
        keys: &[usize],
        result: Result<(), BatchFull>,
        before: Option<Vec<u8>>,
        insert: Insert,
    ) {
        let done = done_of(keys, result);
        self.counts.add(Event::Change, done as u64);
        if let Err(stopped) = result {
            assert!(done < keys.len(), "a batch stopped after its end");
            self.check_refusal(stopped.full, &keys[..=done], before, insert);
        }
        self.check_some(keys);
    }

    /// Removes keys; those that would take a stranger's copy are left out.
    pub(crate) fn remove_batch(&mut self, keys: &[usize]) {
        let (mut held, mut answers) = (Vec::new(), Vec::new());
        for &key in keys {
            if self.may_remove(key) {
                held.push(key);
                answers.push(self.expected(key) > 0);
                if self.expected(key) > 0 {
                    self.take(key);
                }
            }
        }
        let removed = self.filter.remove_batch(&self.hashes(&held));
        assert_eq!(removed, answers, "remove in a batch");
        self.counts.add(Event::Change, held.len() as u64);
        self.check_some(&held);
    }

    /// Some keys' answers in a batch, and the length.
    pub(crate) fn check_some(&mut self, keys: &[usize]) {
        let hashes = self.hashes(keys);
        let expected: Vec<u64> = keys.iter().map(|&key| self.expected(key)).collect();
        let present: Vec<bool> = expected.iter().map(|&copies| copies > 0).collect();
        let counts = self.filter.count_batch(&hashes);
        assert_eq!(counts, expected, "count in a batch");
        let answers = self.filter.contains_batch(&hashes);
        assert_eq!(answers, present, "contains in a batch");
        assert_eq!(self.filter.len(), self.len, "len");
        self.counts.add(Event::Lookup, 2 * keys.len() as u64);
        let many = expected.iter().filter(|&&copies| copies > 1).count();
        self.counts.add(Event::CountedCopies, many as u64);
    }

    /// Every answer, and everything the filter says about itself.
    pub(crate) fn check_all(&mut self) {
        self.check_some(&(0..self.pool.len()).collect::<Vec<_>>());
        let occupied = self.in_cell.iter().filter(|&&copies| copies > 0).count() as f64;
        let stored: u64 = self.in_cell.iter().map(|&copies| copies.min(SLOTS_PER_BUCKET)).sum();
        let cells = cells_of(&self.filter) as f64;
        let rate = self.filter.false_positive_rate();
        assert!(rate >= (occupied / cells).min(1.0) * 0.999_999, "{rate} {occupied} {cells}");
        assert!(rate <= stored as f64 / cells * 1.000_001, "{rate} {stored} {cells}");
        assert!((0.0..=1.0).contains(&self.filter.load_factor()), "{}", self.filter.load_factor());
        assert_eq!(self.filter.is_empty(), self.len == 0);
        if self.filter.when_full() != WhenFull::ExceedRate {
            assert!(rate <= self.filter.max_items() as f64 / cells * 1.000_001);
        }
    }

    /// The filter's bytes, if they are few and it may refuse one of so many inserts; for every fourth
    /// refusal, which is often enough.
    fn bytes_if_nearly_full(&self, inserts: usize) -> Option<Vec<u8>> {
        let filter = &self.filter;
        let items = self.len + inserts as u64;
        // From these loads on no place may be found.
        let load = if filter.when_full() == WhenFull::Refuse { 0.35 } else { 0.7 };
        let nearly_full = items > filter.max_items() || items as f64 > load * filter.slots() as f64;
        let fourth = self.counts.of(Event::Refusal).is_multiple_of(4);
        (fourth && nearly_full && filter.memory_bytes() < 20_000).then(|| bytes_of(filter))
    }

    /// The last of these keys was refused, and the refusal says the truth.
    fn check_refusal(
        &mut self,
        full: Full,
        keys: &[usize],
        before: Option<Vec<u8>>,
        insert: Insert,
    ) {
        self.counts.add(Event::Refusal, 1);
        assert_eq!(full.items, self.len);
        assert_eq!(full.max_items, self.filter.max_items());
        match full.reason {
            FullReason::MaxItems => {
                assert!(self.len >= self.filter.max_items());
                assert_ne!(self.filter.when_full(), WhenFull::ExceedRate);
            }
            FullReason::NoRoom => {
                assert_eq!(self.filter.when_full(), WhenFull::Refuse);
                assert!(self.filter.load_factor() > 0.0);
            }
            _ => panic!("{full}"),
        }
        if let Some(before) = before {
            self.check_untouched(before, keys, insert, full);
        }
    }

    /// Of these keys all but the last were taken. The filter must be as if they had been inserted one
    /// by one into the one of `before`, and must not change by one byte when it refuses the last again.
    fn check_untouched(&mut self, before: Vec<u8>, keys: &[usize], insert: Insert, full: Full) {
        let [taken @ .., refused] = keys else { panic!("no key was refused") };
        let mut wanted = before;
        if !taken.is_empty() {
            let mut copy = Load::new().bytes::<CuckooFilter>(&wanted).expect("what a filter wrote");
            for &key in taken {
                insert(&mut copy, self.hash(key)).expect("a batch took it");
            }
            wanted = bytes_of(&copy);
        }
        assert!(wanted == bytes_of(&self.filter), "a refused insert changed the filter");
        let refused = self.hash(*refused);
        assert_eq!(insert(&mut self.filter, refused), Err(full));
        assert!(wanted == bytes_of(&self.filter), "refusing again changed the filter");
        self.counts.add(Event::Untouched, 1);
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

/// How many keys of a batch were processed.
fn done_of(keys: &[usize], result: Result<(), BatchFull>) -> usize {
    result.map_or_else(|stopped| stopped.done, |()| keys.len())
}

pub(crate) fn bytes_of(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("memory takes every byte");
    bytes
}
