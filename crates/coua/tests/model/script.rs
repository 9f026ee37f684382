//! A random sequence of every operation.

use std::rc::Rc;

use coua::{ConvertError, CuckooFilter, FullReason, KeyHash, Load, MergeError, WhenFull};

use super::case::{Case, Size};
use super::counts::{Counts, Event};
use super::reference::{Reference, bytes_of};
use coua_dev::random::Random;

/// Runs a case; returns what happened: nothing if there is no such filter.
pub(crate) fn run(case: &Case) -> Counts {
    let Some(filter) = case.build() else { return Counts::default() };
    let mut random = Random::new(!case.seed);
    let pool = Rc::new(case.hashes(&mut random));
    let mut reference = Reference::new(filter, pool);
    let mut script = Script { case, random, inserting: 80 };
    let checks = [120, 300, 1_000][case.size as usize];
    for step in 1..=case.steps {
        script.step(&mut reference);
        if step % checks == 0 {
            reference.check_all();
        }
    }
    reference.check_all();
    Script::empty(&mut reference);
    reference.counts
}

struct Script<'a> {
    case: &'a Case,
    random: Random,
    /// Of 100 changes, how many insert: it swings, so that the filter fills up and drains.
    inserting: u64,
}

impl Script<'_> {
    fn step(&mut self, reference: &mut Reference) {
        if self.random.once_in(100) {
            self.inserting = self.random.pick(&[20, 50, 80, 100]);
        }
        let rare = [100, 150, 400][self.case.size as usize];
        if self.random.once_in(rare) {
            self.whole(reference);
        } else if self.random.once_in(2) && self.case.size == Size::Small {
            self.one(reference);
        } else {
            self.batch(reference);
        }
        reference.note_growth();
    }

    /// A key of the pool; some keys are drawn again and again.
    fn key(&mut self, reference: &Reference) -> usize {
        let pool = reference.pool.len() as u64;
        let hot = self.random.once_in(10);
        self.random.below(if hot { pool.min(5) } else { pool }) as usize
    }

    fn one(&mut self, reference: &mut Reference) {
        let key = self.key(reference);
        if self.random.below(100) >= self.inserting {
            if reference.may_remove(key) {
                reference.remove(key);
            }
        } else if self.random.once_in(2) {
            reference.insert(key);
        } else {
            reference.insert_unique(key);
        }
    }

    fn batch(&mut self, reference: &mut Reference) {
        let most = [60, 1_500, 6_000][self.case.size as usize];
        let count = self.random.magnitude(most);
        let keys: Vec<usize> = (0..count).map(|_| self.key(reference)).collect();
        if self.random.below(100) >= self.inserting {
            reference.remove_batch(&keys);
        } else if self.random.once_in(2) {
            reference.insert_batch(&keys);
        } else {
            reference.insert_unique_batch(&keys);
        }
    }

    /// An operation on the whole filter.
    fn whole(&mut self, reference: &mut Reference) {
        match self.random.below(16) {
            0 => {
                reference.filter.clear();
                reference.forget_all();
            }
            1..4 => self.reserve(reference),
            4..7 => self.merge(reference),
            7..10 => {
                let slots = reference.filter.slots();
                reference.filter.compact().expect("memory");
                assert!(reference.filter.slots() <= slots, "compacting took more room");
                reference
                    .counts
                    .add(Event::Compaction, u64::from(reference.filter.slots() < slots));
            }
            10..12 => self.convert(reference),
            12..15 => self.reload(reference),
            _ => {
                let copy = reference.filter.try_clone().expect("memory");
                assert!(bytes_of(&copy) == bytes_of(&reference.filter), "a copy is another filter");
                reference.replace(copy);
            }
        }
        reference.counts.add(Event::Whole, 1);
        reference.check_all();
    }

    fn reserve(&mut self, reference: &mut Reference) {
        let additional = self.random.magnitude(2 * reference.pool.len() as u64);
        let before = bytes_of(&reference.filter);
        match reference.filter.reserve(additional) {
            Ok(()) => {
                // A filter of whole hash bits can be rebuilt to any size.
                let room = reference.filter.hash_bits().fract() > 0.0
                    || reference.filter.capacity() >= additional.min(reference.filter.max_items());
                assert!(room, "{additional} reserved: {:?}", reference.filter);
            }
            Err(full) => {
                let expected = match full.reason {
                    FullReason::MaxItems => reference.filter.when_full() != WhenFull::ExceedRate,
                    FullReason::NoRoom => reference.filter.when_full() == WhenFull::Refuse,
                    _ => false,
                };
                assert!(expected, "{full}");
                assert!(
                    before == bytes_of(&reference.filter),
                    "a refused reserve changed the filter"
                );
            }
        }
    }

    /// Merges a filter of some of the same keys, and some copies of them.
    fn merge(&mut self, reference: &mut Reference) {
        let Some(mut other) = self.case.build() else {
            return;
        };
        let items = self.random.magnitude(self.case.pool as u64);
        let keys: Vec<usize> = (0..items).map(|_| self.key(reference)).collect();
        let hashes: Vec<KeyHash> = keys.iter().map(|&key| reference.pool[key]).collect();
        let done = match other.insert_batch(&hashes) {
            Ok(()) => keys.len(),
            Err(stopped) => stopped.done,
        };
        assert_eq!(other.len(), done as u64);
        let before = bytes_of(&reference.filter);
        let unique = self.random.once_in(2);
        let merged = if unique {
            reference.filter.merge_unique(&other)
        } else {
            reference.filter.merge(&other)
        };
        let event = match merged {
            Ok(()) => {
                if unique {
                    reference.absorb_unique(&keys[..done]);
                } else {
                    reference.absorb(&keys[..done]);
                }
                Event::Merge
            }
            Err(MergeError::Full(_)) => {
                assert!(
                    before == bytes_of(&reference.filter),
                    "a refused merge changed the filter"
                );
                Event::RefusedMerge
            }
            Err(error) => panic!("{error}"),
        };
        reference.counts.add(event, 1);
        reference.counts.add(Event::Change, items);
    }

    fn convert(&mut self, reference: &mut Reference) {
        let bits = reference.filter.hash_bits();
        let rate = reference.filter.false_positive_rate().max(1e-9);
        let rate = rate * f64::from(self.random.below(16) as u32 + 1) / 2.0;
        match reference.filter.convert(rate) {
            Ok(filter) => {
                assert!(filter.hash_bits() <= bits, "{rate}");
                assert!(filter.false_positive_rate() <= rate, "{rate} {filter:?}");
                reference.replace(filter);
                reference.counts.add(Event::Conversion, 1);
            }
            Err(ConvertError::Finer { .. } | ConvertError::Full(_)) => {}
            Err(ConvertError::Build(_)) => assert!(rate >= 1.0),
            Err(error) => panic!("{error}"),
        }
    }

    /// Takes everything out again.
    fn empty(reference: &mut Reference) {
        while reference.len > 0 {
            let held: Vec<usize> =
                (0..reference.pool.len()).filter(|&key| reference.copies[key] > 0).collect();
            reference.remove_batch(&held);
        }
        assert!(reference.filter.is_empty());
        reference.filter.compact().expect("memory");
        reference.check_all();
    }

    /// Saved and loaded, a filter is the same to the byte, and stays so whatever is done to both.
    fn reload(&mut self, reference: &mut Reference) {
        let bytes = bytes_of(&reference.filter);
        let loaded = match Load::new().bytes::<CuckooFilter>(&bytes) {
            Ok(loaded) => loaded,
            Err(error) => panic!("{error}"),
        };
        assert!(bytes == bytes_of(&loaded), "a loaded filter writes other bytes");
        let mut pair =
            [loaded.try_clone().expect("memory"), reference.filter.try_clone().expect("memory")];
        for _ in 0..3 {
            let count = self.random.magnitude(self.case.capacity.min(5_000));
            let keys: Vec<usize> = (0..count).map(|_| self.key(reference)).collect();
            let hashes: Vec<KeyHash> = keys.iter().map(|&key| reference.pool[key]).collect();
            let [left, right] = &mut pair;
            assert_eq!(left.insert_batch(&hashes), right.insert_batch(&hashes));
            for &hash in &hashes[..hashes.len() / 4] {
                assert_eq!(left.remove(hash), right.remove(hash));
            }
        }
        let [left, right] = pair.map(|filter| bytes_of(&filter));
        assert!(left == right, "a loaded filter goes on otherwise");
        reference.replace(loaded);
        reference.counts.add(Event::Reload, 1);
    }
}
