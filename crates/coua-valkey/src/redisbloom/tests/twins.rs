//! A plain twin: the same filter again, slowly and without a trick, as `docs/peer-formats.md`
//! tells.

use coua::IfPresent::{AddCopy, Skip};
use proptest::prelude::*;

use super::super::murmur::murmur64;
use super::super::{InsertError, Limits, PeerCuckoo};

/// A cuckoo filter as lists of lists of slots.
#[derive(Clone)]
struct PlainCuckoo {
    /// Buckets of slots, by sub-filter.
    tables: Vec<Vec<Vec<u8>>>,
    max_iterations: u16,
    expansion: u64,
    items: u64,
    deletes: u64,
}

impl PlainCuckoo {
    fn new(capacity: u64, bucket_size: u16, max_iterations: u16, expansion: u16) -> Self {
        let buckets = (capacity / u64::from(bucket_size)).max(1).next_power_of_two();
        let table = vec![vec![0; usize::from(bucket_size)]; buckets as usize];
        let expansion = if expansion == 0 { 0 } else { u64::from(expansion.next_power_of_two()) };
        Self { tables: vec![table], max_iterations, expansion, items: 0, deletes: 0 }
    }

    /// The fingerprint and both buckets in a table.
    fn places(table: &[Vec<u8>], hash: u64, fingerprint: u8) -> [usize; 2] {
        let other = hash ^ (u64::from(fingerprint) * 0x5bd1_e995);
        [hash, other].map(|hash| (hash % table.len() as u64) as usize)
    }

    fn hash(item: u32) -> (u64, u8) {
        let hash = murmur64(item.to_string().as_bytes(), 0);
        (hash, (hash % 255 + 1) as u8)
    }

    /// Puts `new` where `old` is, first bucket first, first slot first.
    fn replace(table: &mut [Vec<u8>], places: [usize; 2], old: u8, new: u8) -> bool {
        for place in places {
            for slot in &mut table[place] {
                if *slot == old {
                    *slot = new;
                    return true;
                }
            }
        }
        false
    }

    fn insert(&mut self, item: u32) -> bool {
        let (hash, fingerprint) = Self::hash(item);
        for table in self.tables.iter_mut().rev() {
            let places = Self::places(table, hash, fingerprint);
            if Self::replace(table, places, 0, fingerprint) {
                self.items += 1;
                return true;
            }
        }
        let newest = self.tables.last().unwrap();
        if let Some(relocated) = Self::relocated(newest.clone(), item, self.max_iterations) {
            *self.tables.last_mut().unwrap() = relocated;
            self.items += 1;
            return true;
        }
        if self.expansion == 0 {
            return false;
        }
        let buckets = self.tables[0].len() as u64 * self.expansion.pow(self.tables.len() as u32);
        self.tables.push(vec![vec![0; newest[0].len()]; buckets as usize]);
        self.insert(item)
    }

    /// The table after relocations that made room; on a copy, so that nothing is to be taken back.
    fn relocated(mut table: Vec<Vec<u8>>, item: u32, steps: u16) -> Option<Vec<Vec<u8>>> {
        let (hash, mut fingerprint) = Self::hash(item);
        let [mut bucket, _] = Self::places(&table, hash, fingerprint);
        for step in 0..usize::from(steps) {
            let victim = step % table[bucket].len();
            fingerprint = std::mem::replace(&mut table[bucket][victim], fingerprint);
            let [_, other] = Self::places(&table, bucket as u64, fingerprint);
            bucket = other;
            if let Some(slot) = table[bucket].iter_mut().find(|slot| **slot == 0) {
                *slot = fingerprint;
                return Some(table);
            }
        }
        None
    }

    fn count(&self, item: u32) -> u64 {
        let (hash, fingerprint) = Self::hash(item);
        let mut count = 0;
        for table in &self.tables {
            let [first, second] = Self::places(table, hash, fingerprint);
            for bucket in [Some(first), Some(second).filter(|second| *second != first)] {
                let slots = bucket.map(|bucket| table[bucket].iter());
                count += slots.into_iter().flatten().filter(|slot| **slot == fingerprint).count();
            }
        }
        count as u64
    }

    fn remove(&mut self, item: u32) -> bool {
        let (hash, fingerprint) = Self::hash(item);
        let found = self.tables.iter_mut().rev().any(|table| {
            let places = Self::places(table, hash, fingerprint);
            Self::replace(table, places, fingerprint, 0)
        });
        if found {
            self.items -= 1;
            self.deletes += 1;
            if self.tables.len() > 1 && self.deletes as f64 > self.items as f64 * 0.10 {
                self.compact(AfterFailure::Stop);
            }
        }
        found
    }

    fn compact(&mut self, after: AfterFailure) {
        for index in (1..self.tables.len()).rev() {
            for bucket in 0..self.tables[index].len() {
                for slot in 0..self.tables[index][bucket].len() {
                    let fingerprint = self.tables[index][bucket][slot];
                    let moved = fingerprint != 0
                        && self.tables[..index].iter_mut().any(|table| {
                            let places = Self::places(table, bucket as u64, fingerprint);
                            Self::replace(table, places, 0, fingerprint)
                        });
                    if moved {
                        self.tables[index][bucket][slot] = 0;
                    }
                }
            }
            let is_empty = self.tables[index].iter().flatten().all(|slot| *slot == 0);
            if is_empty && index + 1 == self.tables.len() {
                self.tables.pop();
            }
            if !is_empty && after == AfterFailure::Stop {
                break;
            }
        }
        self.deletes = 0;
    }

    fn bytes(&self) -> Vec<u8> {
        self.tables.iter().flatten().flatten().copied().collect()
    }
}

/// What a compaction does once a table could not be emptied.
#[derive(Clone, Copy, PartialEq)]
enum AfterFailure {
    Stop,
    GoOn,
}

fn slots(filter: &PeerCuckoo) -> Vec<u8> {
    let (mut slots, mut position) = (Vec::new(), 1);
    while let Some(chunk) = filter.slots_from(position) {
        slots.extend_from_slice(chunk);
        position += i64::try_from(chunk.len()).unwrap();
    }
    slots
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u32),
    InsertUnique(u32),
    /// Removes an item that is there for certain, by its place in the list of those.
    Remove(usize),
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..400_u32).prop_map(Step::Insert),
        2 => (0..400_u32).prop_map(Step::InsertUnique),
        3 => any::<usize>().prop_map(Step::Remove),
        1 => Just(Step::Compact),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_cuckoo_filter_does_what_its_plain_twin_does(
        (capacity, bucket_size, iterations) in (1..200_u64, 1..9_u16, 1..60_u16),
        expansion in 0..5_u16,
        steps in prop::collection::vec(step(), 1..600),
    ) {
        let limits = &Limits { sub_filters: u32::MAX, ..Limits::default() };
        let mut filter =
            PeerCuckoo::with_capacity(capacity, bucket_size, iterations, expansion).unwrap();
        let mut plain = PlainCuckoo::new(capacity, bucket_size, iterations, expansion);
        let mut stored = Vec::new();
        for step in steps {
            match step {
                Step::Insert(item) => {
                    let inserted = filter.insert(item.to_string().as_bytes(), AddCopy, limits);
                    prop_assert_eq!(inserted.is_ok(), plain.insert(item));
                    if inserted.is_ok() {
                        stored.push(item);
                    } else {
                        prop_assert_eq!(inserted, Err(InsertError::Full));
                    }
                }
                Step::InsertUnique(item) => {
                    let is_new = plain.count(item) == 0;
                    let inserted = filter.insert(item.to_string().as_bytes(), Skip, limits);
                    prop_assert_eq!(inserted == Ok(false), !is_new);
                    if is_new && plain.insert(item) {
                        prop_assert_eq!(inserted, Ok(true));
                        stored.push(item);
                    }
                }
                Step::Remove(which) if !stored.is_empty() => {
                    let item = stored.swap_remove(which % stored.len());
                    prop_assert!(filter.remove(item.to_string().as_bytes()));
                    prop_assert!(plain.remove(item));
                }
                Step::Remove(_) => {}
                Step::Compact => {
                    filter.compact();
                    plain.compact(AfterFailure::GoOn);
                }
            }
        }
        prop_assert_eq!(slots(&filter), plain.bytes());
        prop_assert_eq!((filter.items(), filter.deletes), (plain.items, plain.deletes));
        for item in 0..500 {
            let text = item.to_string();
            prop_assert_eq!(filter.count(text.as_bytes()), plain.count(item));
            prop_assert_eq!(filter.contains(text.as_bytes()), plain.count(item) > 0);
        }
        for item in stored {
            prop_assert!(filter.contains(item.to_string().as_bytes()), "item {} is lost", item);
        }
    }
}
