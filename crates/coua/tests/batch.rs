//! One by one or in batches: the same answers and the same bytes, whatever the batch size.

use coua::window::When;
use coua::{CuckooFilter, CuckooFilterBuilder, Filter, IfPresent, Insertion, KeyHash, WhenFull};

use coua_dev::cases::{few_usual_or_all, sample};
use coua_dev::instruction_sets;
use coua_dev::random::Random;

/// The same filter twice: one takes keys singly, the other in batches.
struct Pair {
    single: CuckooFilter,
    batched: CuckooFilter,
    refused: u64,
}

/// After so many refusals the rest of a batch is left out: each of them looks it up again.
const MOST_REFUSALS: u64 = 30;

impl Pair {
    fn new(builder: &CuckooFilterBuilder) -> Self {
        let build = || builder.clone().build().expect("a valid description");
        Self { single: build(), batched: build(), refused: 0 }
    }

    /// After a refusal both go on with the key after the refused one.
    fn insert(&mut self, keys: &[KeyHash]) {
        let (mut left, most) = (keys, self.refused + MOST_REFUSALS);
        while !left.is_empty() {
            let (done, full) = match self.batched.insert_batch(left) {
                Ok(()) => (left.len(), None),
                Err(stopped) => (stopped.done, Some(stopped.full)),
            };
            for &key in &left[..done] {
                assert_eq!(self.single.insert(key), Ok(()));
            }
            left = &left[done..];
            if let Some(full) = full {
                assert_eq!(self.single.insert(left[0]), Err(full));
                self.refused += 1;
                left = if self.refused < most { &left[1..] } else { &[] };
            }
        }
    }

    fn insert_unique(&mut self, keys: &[KeyHash]) {
        let (mut left, most) = (keys, self.refused + MOST_REFUSALS);
        let mut outcomes = Vec::new();
        while !left.is_empty() {
            let full =
                self.batched.insert_each(left, When::Now, IfPresent::Skip, &mut outcomes).err();
            let done = full.map_or(left.len(), |stopped| stopped.done);
            assert_eq!(outcomes.len(), left.len());
            assert!(outcomes[done..].iter().all(|outcome| *outcome == Insertion::Refused));
            for (&key, &outcome) in left[..done].iter().zip(&outcomes) {
                assert_eq!(self.single.insert_unique(key), Ok(outcome));
            }
            left = &left[done..];
            if let Some(stopped) = full {
                assert_eq!(self.single.insert_unique(left[0]), Err(stopped.full));
                self.refused += 1;
                left = if self.refused < most { &left[1..] } else { &[] };
            }
        }
    }

    fn remove(&mut self, keys: &[KeyHash]) {
        let removed = self.batched.remove_batch(keys);
        assert_eq!(removed.len(), keys.len());
        for (&key, &removed) in keys.iter().zip(&removed) {
            assert_eq!(self.single.remove(key), removed);
        }
    }

    fn look(&self, keys: &[KeyHash]) {
        let present = self.batched.contains_batch(keys);
        let counts = self.batched.count_batch(keys);
        assert_eq!((present.len(), counts.len()), (keys.len(), keys.len()));
        for (at, &key) in keys.iter().enumerate() {
            assert_eq!(self.single.contains(key), present[at]);
            assert_eq!(self.single.count(key), counts[at]);
        }
    }

    fn compare(&self) {
        assert_eq!(self.single.len(), self.batched.len());
        let same = bytes_of(&self.single) == bytes_of(&self.batched);
        assert!(same, "other bytes: {:?}", self.batched);
    }
}

fn bytes_of(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("memory takes every byte");
    bytes
}

/// A batch of this size: new keys, old ones, and repeats inside the batch.
fn batch(random: &mut Random, size: usize, old: &[KeyHash]) -> Vec<KeyHash> {
    let mut keys: Vec<KeyHash> = Vec::with_capacity(size);
    for _ in 0..size {
        let key = match random.below(10) {
            0 if !keys.is_empty() => random.pick(&keys),
            1 if !old.is_empty() => random.pick(old),
            _ => KeyHash::from_u64(random.next()),
        };
        keys.push(key);
    }
    keys
}

/// Fills a filter with batches of one size, and drains it a little; compares at the end.
fn run(builder: &CuckooFilterBuilder, size: usize, items: usize) -> Pair {
    let mut pair = Pair::new(builder);
    let random = &mut Random::new(size as u64);
    let mut held = Vec::new();
    let mut done = 0;
    while done < items {
        let keys = batch(random, size, &held);
        match random.below(8) {
            0..4 => pair.insert(&keys),
            4..7 => pair.insert_unique(&keys),
            _ => pair.remove(&batch(random, size, &held)),
        }
        if random.once_in(4) {
            pair.look(&keys);
        }
        held.extend(keys.iter().step_by(3));
        done += size;
    }
    pair.compare();
    pair
}

/// Every size, in one of three tests or in each of them; with fewer instructions a sample.
fn sizes(test: usize) -> impl Iterator<Item = usize> {
    let first = few_usual_or_all([test, test, 1]);
    sample(first..=1000, if instruction_sets::are_fewer() { [201, 21] } else { [51, 3] })
}

#[test]
fn every_batch_size_while_a_filter_grows() {
    for size in sizes(1) {
        let bits = [64, 40, 24, 12][size % 4];
        let pair = run(&CuckooFilter::builder().capacity(1).hash_bits(bits), size, 6_000);
        assert!(pair.refused == 0 || bits == 12);
    }
}

#[test]
fn every_batch_size_to_refusal_at_a_capacity() {
    for size in sizes(2) {
        let builder = refusing(size).capacity(1_500).rate(0.001);
        assert!(run(&builder, size, 4_000).refused > 0);
    }
}

#[test]
fn every_batch_size_to_refusal_with_few_hash_bits() {
    for size in sizes(3) {
        let builder = refusing(size).capacity(1_500).hash_bits(32);
        assert!(run(&builder, size, 5_000).refused > 0);
    }
}

fn refusing(size: usize) -> CuckooFilterBuilder {
    let builder = CuckooFilter::builder();
    builder.max_evictions([500, 20, 1, 0][size % 4]).when_full(WhenFull::Refuse)
}

/// Many segments, so that many eviction chains are active at once; every size after the other.
#[test]
fn every_batch_size_in_many_segments() {
    let few = CuckooFilter::builder().capacity(430_000 / 3).hash_bits(50);
    let many = CuckooFilter::builder().capacity(430_000);
    let builders = [
        (many.clone().hash_bits(64).max_evictions(3), 32),
        (few, 1),
        (many.clone().hash_bits(30).when_full(WhenFull::Refuse), 32),
        (many.clone().hash_bits(40).when_full(WhenFull::Refuse), 32),
        (many.hash_bits(32), 32),
    ];
    for (builder, least_segments) in sample(builders, [3, 1]) {
        let mut pair = Pair::new(&builder);
        assert!(pair.single.segments() >= least_segments);
        let random = &mut Random::new(17);
        for size in 1..=1000 {
            let keys = batch(random, size, &[]);
            if size % 2 == 0 {
                pair.insert(&keys);
            } else {
                pair.insert_unique(&keys);
            }
            if size % 100 == 0 {
                pair.remove(&keys[..size / 10]);
                pair.look(&keys);
                pair.compare();
            }
        }
    }
}

#[test]
#[ignore = "slow: run with ./test --all"]
fn large_filters_to_refusal_and_through_growth() {
    for (size, max_evictions) in [(4096, 500), (100_000, 20), (997, 2)] {
        let builder = CuckooFilter::builder();
        let builder = builder.max_evictions(max_evictions);
        let fixed = builder.clone().capacity(3_000_000).hash_bits(50);
        run(&fixed.when_full(WhenFull::Refuse), size, 4_500_000);
        run(&builder.capacity(100_000).hash_bits(64), size, 4_000_000);
    }
}

#[test]
fn batches_of_keys_are_single_keys() {
    check_batches_of_keys!(|builder: CuckooFilterBuilder| builder.build().unwrap(), bytes_of);
}

#[test]
fn empty_batches_do_nothing() {
    let mut filter = CuckooFilter::new();
    let mut outcomes = vec![Insertion::Inserted];
    let none: [KeyHash; 0] = [];
    filter.insert_batch(&none).unwrap();
    filter.insert_each(&none, When::Now, IfPresent::Skip, &mut outcomes).unwrap();
    assert!(filter.remove_batch(&none).is_empty() && filter.contains_batch(&none).is_empty());
    assert!(outcomes.is_empty() && filter.count_batch(&none).is_empty() && filter.is_empty());
}

#[test]
#[cfg_attr(miri, ignore = "runs programs")]
fn all_of_this_with_fewer_instructions() {
    instruction_sets::run_again_with_fewer("batch::", "all_of_this_with_fewer_instructions");
}
