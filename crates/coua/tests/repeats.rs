//! Streams in which keys come again and again, beside a plain count of each key.

use std::collections::HashMap;

use coua::{CuckooFilter, CuckooFilterBuilder, KeyHash, Load, SharedCuckooFilter, WhenFull};

use coua_dev::random::{Random, nth};

/// Filters in which copies take slots or are counted, and which remember so much that no key is taken for another.
fn builders() -> impl Iterator<Item = CuckooFilterBuilder> {
    // Slots of fewer bits than those whose copies are counted, and of more.
    let planned = [38, 46, 64].map(|bits| CuckooFilter::builder().hash_bits(bits).capacity(60_000));
    let few_steps = CuckooFilter::builder().max_evictions(2);
    [CuckooFilter::builder()].into_iter().chain(planned).chain([few_steps])
}

/// Keys of which the first are hot: a tenth of all that are drawn are among the first ten.
fn stream(random: &mut Random, count: usize, keys: u64) -> Vec<KeyHash> {
    let key = |random: &mut Random| match random.below(4) {
        0 => random.below(keys),
        _ => random.magnitude(keys) - 1,
    };
    (0..count).map(|_| KeyHash::from_u64(nth(key(random)))).collect()
}

fn bytes_of(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("memory takes every byte");
    bytes
}

/// The model: how often each key is in.
#[derive(Default)]
struct Copies(HashMap<KeyHash, u64>);

impl Copies {
    fn add(&mut self, stream: &[KeyHash]) {
        for &key in stream {
            *self.0.entry(key).or_default() += 1;
        }
    }

    /// Keys that are in, as often as they may be removed; some, not all.
    fn draw(&self, random: &mut Random) -> Vec<KeyHash> {
        let mut all: Vec<_> = self.0.iter().map(|(&key, &copies)| (key, copies)).collect();
        all.sort_unstable_by_key(|(key, _)| key.to_u64());
        let some = all.into_iter().filter(|_| random.once_in(3)).collect::<Vec<_>>();
        some.into_iter()
            .flat_map(|(key, copies)| {
                let some = random.below(copies.min(20) + 1);
                let count = if random.once_in(4) { copies } else { some };
                (0..count).map(move |_| key)
            })
            .collect()
    }

    fn remove(&mut self, keys: &[KeyHash]) {
        for key in keys {
            *self.0.get_mut(key).expect("it is in") -= 1;
        }
    }

    fn check(&self, filter: &CuckooFilter) {
        let keys: Vec<_> = self.0.keys().copied().collect();
        let counts = filter.count_batch(&keys);
        for (key, count) in keys.iter().zip(counts) {
            assert_eq!(count, self.0[key], "{key:?} {filter:?}");
            assert_eq!(filter.contains(key), count > 0);
        }
        assert_eq!(filter.len(), self.0.values().sum::<u64>());
    }
}

/// A split may leave slots so narrow that copies take them: from the key that causes it on, also in a batch.
#[test]
fn copies_take_the_narrow_slots_that_a_split_leaves() {
    for (seed, bits) in (0..).zip([42, 43, 44, 43, 44, 43]) {
        let random = &mut Random::new(seed);
        let builder = CuckooFilter::builder();
        let builder = builder.hash_bits(bits).capacity(30_000).max_evictions(seed as u32 / 3);
        let (mut batched, mut single) =
            (builder.clone().build().unwrap(), builder.build().unwrap());
        let stream = stream(random, 60_000, 60_000);
        for chunk in stream.chunks(19_001) {
            batched.insert_batch(chunk).unwrap();
            for &key in chunk {
                single.insert(key).unwrap();
            }
            assert!(bytes_of(&batched) == bytes_of(&single), "{bits} {batched:?}");
        }
    }
}

/// Whatever the order of inserts, removals, and whichever way they go in: as many copies of each key as the model has,
/// and in batches, one by one and in shards the same bytes.
#[test]
fn every_copy_is_counted() {
    for (seed, builder) in (0..).zip(builders()) {
        let random = &mut Random::new(seed);
        let (mut batched, mut single) =
            (builder.clone().build().unwrap(), builder.build().unwrap());
        let mut copies = Copies::default();
        for round in 0..5 {
            let stream = stream(random, 50_000, 40_000);
            for chunk in stream.chunks(9_001) {
                batched.insert_batch(chunk).unwrap();
            }
            for &key in &stream {
                single.insert(key).unwrap();
            }
            copies.add(&stream);
            copies.check(&batched);
            assert!(bytes_of(&batched) == bytes_of(&single), "{batched:?}");
            let removed = copies.draw(random);
            assert!(batched.remove_batch(&removed).into_iter().all(|is_removed| is_removed));
            assert!(removed.iter().all(|&key| single.remove(key)));
            copies.remove(&removed);
            copies.check(&single);
            assert!(bytes_of(&batched) == bytes_of(&single), "{batched:?}");
            match round {
                1 => batched = Load::new().bytes(&bytes_of(&batched)).unwrap(),
                2 => {
                    batched.compact().unwrap();
                    single.compact().unwrap();
                }
                3 => {
                    batched.reserve(100_000).unwrap();
                    single.reserve(100_000).unwrap();
                }
                _ => {}
            }
        }
    }
}

#[test]
fn threads_count_every_copy() {
    let shared = SharedCuckooFilter::new();
    let streams = [1, 2, 3].map(|seed| stream(&mut Random::new(seed), 80_000, 30_000));
    std::thread::scope(|scope| {
        for stream in &streams {
            let shared = &shared;
            scope.spawn(move || {
                for chunk in stream.chunks(3000) {
                    shared.insert_batch(chunk).unwrap();
                }
            });
        }
    });
    let mut copies = Copies::default();
    for stream in &streams {
        copies.add(stream);
    }
    copies.check(&shared.snapshot().unwrap());
}

/// A filter that may not grow refuses keys, but never a further copy of a key that takes its slot; and then holds what
/// it took.
#[test]
fn full_filters_count_further_copies() {
    for bits in [40, 64] {
        let builder = CuckooFilter::builder().hash_bits(bits).capacity(20_000).max_items(20_000);
        let mut filter = builder.when_full(WhenFull::Refuse).build().unwrap();
        let (mut copies, mut refused) = (Copies::default(), 0);
        let stream = stream(&mut Random::new(bits.into()), 200_000, 60_000);
        let mut left = &stream[..];
        while !left.is_empty() {
            let batch = &left[..left.len().min(5000)];
            let done = match filter.insert_batch(batch) {
                Ok(()) => batch.len(),
                Err(stopped) => {
                    assert!(!filter.contains(batch[stopped.done]), "{stopped:?}");
                    refused += 1;
                    copies.add(&batch[..stopped.done]);
                    left = &left[stopped.done + 1..];
                    continue;
                }
            };
            copies.add(&batch[..done]);
            left = &left[done..];
        }
        assert!(refused > 100, "{filter:?}");
        copies.check(&filter);
    }
}

/// Most keys of the stream come several times: such a filter is hardly larger than one with each key once.
#[test]
fn copies_take_little_memory() {
    let stream = stream(&mut Random::new(5), 1_000_000, 300_000);
    let (mut all, mut once) = (CuckooFilter::new(), CuckooFilter::new());
    for chunk in stream.chunks(10_000) {
        all.insert_batch(chunk).unwrap();
        once.insert_unique_batch(chunk).unwrap();
    }
    assert_eq!(all.slots(), once.slots(), "{all:?}");
    let repeated = stream.len() as u64 - once.len();
    assert!(repeated > 500_000, "{repeated}");
    let more = all.memory_bytes() - once.memory_bytes();
    assert!(more as u64 <= 17 * once.len(), "{more} {all:?}");
}
