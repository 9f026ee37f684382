//! Filters on a primary and on a replica that receives its commands, each reloaded now and then: both always have the
//! same bytes.

use coua_dev::random::Random;

use crate::cuckoo::{CuckooRequest, NativeCuckoo, Outcome};
use crate::redisbloom::CompactionPosition;
use coua::IfPresent;

fn image(native: &NativeCuckoo) -> Vec<u8> {
    let mut image = Vec::new();
    native.write(&mut image).unwrap();
    image
}

fn loaded(native: &NativeCuckoo) -> NativeCuckoo {
    let image = image(native);
    let (magic, mut rest) = image.split_first_chunk().unwrap();
    NativeCuckoo::read(*magic, &mut rest).unwrap()
}

/// A filter on both servers.
struct Pair {
    primary: NativeCuckoo,
    replica: NativeCuckoo,
    /// Where a compaction continues.
    next: Option<CompactionPosition>,
    time: u64,
}

impl Pair {
    fn of(words: &str, number: u64) -> Self {
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        let spec = CuckooRequest::of_reserve(&words).unwrap();
        let key = u128::from(number).to_le_bytes();
        let make = || NativeCuckoo::of(spec.complete(key).unwrap()).unwrap();
        Self { primary: make(), replica: make(), next: None, time: 0 }
    }

    fn insert(&mut self, items: &[&[u8]], if_present: IfPresent, limit: Option<u64>) {
        let outcomes = self.primary.insert(items, if_present, limit);
        let sent = items.iter().zip(&outcomes).filter(|(_, it)| **it == Outcome::Inserted);
        let sent: Vec<&[u8]> = sent.map(|(item, _)| *item).collect();
        let outcomes = self.replica.insert(&sent, if_present, None);
        assert!(outcomes.iter().all(|it| *it == Outcome::Inserted), "{outcomes:?}");
    }

    fn remove(&mut self, items: &[&[u8]]) {
        let removed = self.primary.remove(items);
        let sent = items.iter().zip(removed).filter(|(_, removed)| *removed);
        let sent: Vec<&[u8]> = sent.map(|(item, _)| *item).collect();
        assert!(self.replica.remove(&sent).into_iter().all(|removed| removed));
    }

    fn compact(&mut self, at: CompactionPosition) {
        let compaction = self.primary.compact(at).unwrap();
        if compaction.has_changed {
            self.replica.compact(at).unwrap();
        }
        self.next = compaction.next;
    }

    fn merge(&mut self, other: &Self) {
        let merged = |into: &NativeCuckoo, other: &NativeCuckoo| {
            let mut union = into.try_clone().unwrap();
            union.merge(other, None).map(|()| union)
        };
        let primary = merged(&self.primary, &other.primary);
        let replica = merged(&self.replica, &other.replica);
        match (primary, replica) {
            (Ok(primary), Ok(replica)) => (self.primary, self.replica) = (primary, replica),
            (Err(_), Err(_)) => {}
            (one, other) => {
                panic!("only one of them can be merged: {:?}", one.err().or(other.err()))
            }
        }
    }

    /// A random action of a client, a timer or an operator.
    fn step(&mut self, random: &mut Random, items: u64) {
        let first = random.below(items) as u32;
        let most = [1, 3, 200, 2_000][random.below(4) as usize];
        let keys = first..first + 1 + random.below(most) as u32;
        let keys: Vec<_> = keys.map(u32::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(<[u8; 4]>::as_slice).collect();
        let limit = Some(random.below(1 << 20)).filter(|limit| limit % 4 == 0);
        match random.below(12) {
            0..=2 => self.insert(&keys, IfPresent::AddCopy, limit),
            3..=4 => self.insert(&keys, IfPresent::Skip, limit),
            5..=7 => self.remove(&keys),
            8 => self.compact(self.next.unwrap_or_default()),
            9 => self.primary = loaded(&self.primary),
            10 => self.replica = loaded(&self.replica),
            _ => {
                self.time += random.below(4_000);
                let moved = self.primary.advance(self.time);
                assert_eq!(self.replica.advance(self.time), moved);
            }
        }
    }
}

const KINDS: [&str; 6] = [
    "100",
    "5000 HASHBITS 64",
    "1000 ERROR 0.1",
    "3000 EXPANSION 0",
    "100 WINDOW 10s GENERATIONS 4",
    "100 WINDOWITEMS 5000 GENERATIONS 4",
];

fn run(seed: u64, steps: u32, items: u64) {
    let mut random = Random::new(seed);
    for (number, words) in (0..).zip(KINDS) {
        let mut pairs = [Pair::of(words, seed), Pair::of(words, seed)];
        for step in 0..steps {
            let [one, other] = &mut pairs;
            match random.below(40) {
                0 => one.merge(other),
                1 => other.merge(one),
                2 => {
                    one.primary = other.primary.try_clone().unwrap();
                    one.replica = other.replica.try_clone().unwrap();
                }
                place => pairs[place as usize % 2].step(&mut random, items),
            }
            for (place, pair) in pairs.iter().enumerate() {
                let is_same = image(&pair.primary) == image(&pair.replica);
                assert!(is_same, "seed {seed}, kind {number}, step {step}, filter {place}");
            }
        }
    }
}

#[test]
fn filters_that_were_loaded_do_as_those_that_were_not() {
    run(0, 300, 3_000);
    // Here a filter that is rebuilt has as many slots as before.
    run(3, 80, 30_000);
}

#[test]
#[ignore = "takes minutes"]
fn many_filters_that_were_loaded_do_as_those_that_were_not() {
    for (seed, items) in (2..32).zip([3_000, 30_000, 300_000].into_iter().cycle()) {
        run(seed, 500, items);
    }
}
