//! What is done to a twin: a random sequence of every operation.

use std::rc::Rc;

use coua::{
    Conversion, ConvertError, CuckooFilter, FullReason, KeyHash, Layout, Load, MergeError, WhenFull,
};

use crate::case::{Case, Size};
use crate::counts::{Counts, Event};
use crate::random::Random;
use crate::twin::{Twin, bytes_of};

/// Runs a case; returns what happened: nothing if there is no such filter.
pub(crate) fn run(case: &Case) -> Counts {
    let Some(filter) = case.build() else { return Counts::default() };
    let mut random = Random::new(!case.seed);
    let pool = Rc::new(case.hashes(&mut random));
    let mut twin = Twin::new(filter, pool);
    let mut script = Script { case, random, inserting: 80 };
    let checks = [120, 300, 1_000][case.size as usize];
    for step in 1..=case.steps {
        script.step(&mut twin);
        if step % checks == 0 {
            twin.check_all();
        }
    }
    twin.check_all();
    Script::empty(&mut twin);
    twin.counts
}

struct Script<'a> {
    case: &'a Case,
    random: Random,
    /// Of 100 changes, how many insert: it swings, so that the filter fills up and drains.
    inserting: u64,
}

impl Script<'_> {
    fn step(&mut self, twin: &mut Twin) {
        if self.random.once_in(100) {
            self.inserting = self.random.pick(&[20, 50, 80, 100]);
        }
        let rare = [100, 150, 400][self.case.size as usize];
        if self.random.once_in(rare) {
            self.whole(twin);
        } else if self.random.once_in(2) && self.case.size == Size::Small {
            self.one(twin);
        } else {
            self.batch(twin);
        }
        twin.note_growth();
    }

    /// A key of the pool; some keys are drawn again and again.
    fn key(&mut self, twin: &Twin) -> usize {
        let pool = twin.pool.len() as u64;
        let hot = self.random.once_in(10);
        self.random.below(if hot { pool.min(5) } else { pool }) as usize
    }

    fn one(&mut self, twin: &mut Twin) {
        let key = self.key(twin);
        if self.random.below(100) >= self.inserting {
            if twin.may_remove(key) {
                twin.remove(key);
            }
        } else if self.random.once_in(2) {
            twin.insert(key);
        } else {
            twin.insert_unique(key);
        }
    }

    fn batch(&mut self, twin: &mut Twin) {
        let most = [60, 1_500, 6_000][self.case.size as usize];
        let count = self.random.magnitude(most);
        let keys: Vec<usize> = (0..count).map(|_| self.key(twin)).collect();
        if self.random.below(100) >= self.inserting {
            twin.remove_batch(&keys);
        } else if self.random.once_in(2) {
            twin.insert_batch(&keys);
        } else {
            twin.insert_unique_batch(&keys);
        }
    }

    /// An operation on the whole filter.
    fn whole(&mut self, twin: &mut Twin) {
        match self.random.below(16) {
            0 => {
                twin.filter.clear();
                twin.forget_all();
            }
            1..4 => self.reserve(twin),
            4..7 => self.merge(twin),
            7..10 => {
                let slots = twin.filter.slots();
                twin.filter.compact();
                assert!(twin.filter.slots() <= slots, "compacting took more room");
                twin.counts.add(Event::Compaction, u64::from(twin.filter.slots() < slots));
            }
            10..12 => self.convert(twin),
            12..15 => self.reload(twin),
            _ => {
                let copy = twin.filter.try_clone().expect("memory");
                assert!(bytes_of(&copy) == bytes_of(&twin.filter), "a copy is another filter");
                twin.replace(copy);
            }
        }
        twin.counts.add(Event::Whole, 1);
        twin.check_all();
    }

    fn reserve(&mut self, twin: &mut Twin) {
        let additional = self.random.magnitude(2 * twin.pool.len() as u64);
        let before = bytes_of(&twin.filter);
        match twin.filter.reserve(additional) {
            Ok(()) => {
                let room = !twin.filter.is_resizable()
                    || twin.filter.capacity() >= additional.min(twin.filter.max_items());
                assert!(room, "{additional} reserved: {:?}", twin.filter);
            }
            Err(full) => {
                let expected = match full.reason {
                    FullReason::MaxItems => twin.filter.when_full() != WhenFull::ExceedRate,
                    FullReason::NoRoom => twin.filter.when_full() == WhenFull::Refuse,
                    _ => false,
                };
                assert!(expected, "{full}");
                assert!(before == bytes_of(&twin.filter), "a refused reserve changed the filter");
            }
        }
    }

    /// Merges a filter of some of the same keys, and some copies of them.
    fn merge(&mut self, twin: &mut Twin) {
        let Some(mut other) = self.case.build() else {
            return;
        };
        let items = self.random.magnitude(self.case.pool as u64);
        let keys: Vec<usize> = (0..items).map(|_| self.key(twin)).collect();
        let hashes: Vec<KeyHash> = keys.iter().map(|&key| twin.pool[key]).collect();
        let done = match other.insert_batch(&hashes) {
            Ok(()) => keys.len(),
            Err(stopped) => stopped.done,
        };
        assert_eq!(other.len(), done as u64);
        let before = bytes_of(&twin.filter);
        let unique = self.random.once_in(2);
        let merged =
            if unique { twin.filter.merge_unique(&other) } else { twin.filter.merge(&other) };
        let event = match merged {
            Ok(()) => {
                if unique {
                    twin.absorb_unique(&keys[..done]);
                } else {
                    twin.absorb(&keys[..done]);
                }
                Event::Merge
            }
            Err(MergeError::Full(_)) => {
                assert!(before == bytes_of(&twin.filter), "a refused merge changed the filter");
                Event::RefusedMerge
            }
            Err(error) => panic!("{error}"),
        };
        twin.counts.add(event, 1);
        twin.counts.add(Event::Change, items);
    }

    fn convert(&mut self, twin: &mut Twin) {
        let bits = twin.filter.hash_bits();
        let (layout, slots_per_bucket) = self.random.pick(&[
            (Layout::Buckets, 1),
            (Layout::Buckets, 2),
            (Layout::Buckets, 4),
            (Layout::Buckets, 8),
            (Layout::Overlapping, 2),
        ]);
        let to = match self.random.below(3) {
            0 => Conversion::Layout { layout, slots_per_bucket },
            1 => Conversion::HashBits((bits as u32 - self.random.below(3) as u32).max(8)),
            _ => Conversion::Rate(twin.filter.false_positive_rate().max(1e-9) * 4.0),
        };
        match twin.filter.convert(to) {
            Ok(filter) => {
                assert!(filter.hash_bits() <= bits, "{to:?}");
                if let Conversion::Rate(rate) = to {
                    assert!(filter.false_positive_rate() <= rate, "{to:?} {filter:?}");
                }
                twin.replace(filter);
                twin.counts.add(Event::Conversion, 1);
            }
            Err(
                ConvertError::Finer { .. }
                | ConvertError::FinerRate { .. }
                | ConvertError::FixedSize { .. }
                | ConvertError::Full(_),
            ) => {}
            Err(ConvertError::Build(_)) => assert!(matches!(to, Conversion::Rate(r) if r >= 1.0)),
            Err(error) => panic!("{error}"),
        }
    }

    /// Takes everything out again.
    fn empty(twin: &mut Twin) {
        while twin.len > 0 {
            let held: Vec<usize> =
                (0..twin.pool.len()).filter(|&key| twin.copies[key] > 0).collect();
            twin.remove_batch(&held);
        }
        assert!(twin.filter.is_empty());
        twin.filter.compact();
        twin.check_all();
    }

    /// Saved and loaded, a filter is the same to the byte, and stays so whatever is done to both.
    fn reload(&mut self, twin: &mut Twin) {
        let bytes = bytes_of(&twin.filter);
        let loaded = match Load::new().bytes::<CuckooFilter>(&bytes) {
            Ok(loaded) => loaded,
            Err(error) => panic!("{error}"),
        };
        assert!(bytes == bytes_of(&loaded), "a loaded filter writes other bytes");
        let mut pair =
            [loaded.try_clone().expect("memory"), twin.filter.try_clone().expect("memory")];
        for _ in 0..3 {
            let count = self.random.magnitude(self.case.capacity.min(5_000));
            let keys: Vec<usize> = (0..count).map(|_| self.key(twin)).collect();
            let hashes: Vec<KeyHash> = keys.iter().map(|&key| twin.pool[key]).collect();
            let [left, right] = &mut pair;
            assert_eq!(left.insert_batch(&hashes), right.insert_batch(&hashes));
            for &hash in &hashes[..hashes.len() / 4] {
                assert_eq!(left.remove(hash), right.remove(hash));
            }
        }
        let [left, right] = pair.map(|filter| bytes_of(&filter));
        assert!(left == right, "a loaded filter goes on otherwise");
        twin.replace(loaded);
        twin.counts.add(Event::Reload, 1);
    }
}
