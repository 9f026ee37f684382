//! `SharedCuckooFilter`: one answer for every interleaving of threads.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use coua::window::When;
use coua::{
    CuckooFilter, CuckooFilterBuilder, Filter, FullReason, IfPresent, Insertion, KeyHash,
    KeyHasher, Load, SharedCuckooFilter, WhenFull,
};

use coua_dev::random::{Random, nth};

/// The n-th of a row of distinct uniform hashes.
fn hash(n: u64) -> KeyHash {
    KeyHash::from_u64(nth(n))
}

const THREADS: u64 = 8;

fn hashes(numbers: std::ops::Range<u64>) -> Vec<KeyHash> {
    numbers.map(hash).collect()
}

fn bytes_of(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    bytes
}

/// Fixed, growing, exceeding, wide and narrow slots, with and without a limit.
fn builders(items: u64) -> Vec<CuckooFilterBuilder> {
    let builder = CuckooFilter::builder;
    vec![
        builder(),
        builder().hash_bits(36),
        builder().hash_bits(40),
        builder().capacity(items).rate(0.01),
        builder().capacity(items).rate(0.01).when_full(WhenFull::Refuse),
        builder().capacity(items).rate(1e-6),
        builder().capacity(items / 10).rate(1e-4).max_items(items),
        builder().capacity(items / 10).rate(0.001).when_full(WhenFull::ExceedRate),
    ]
}

#[test]
fn threads_that_insert_the_same_keys_are_told_inserted_once_each() {
    let keys = 100_000;
    for builder in builders(keys) {
        let seen = builder.build_shared().unwrap();
        let firsts: Vec<AtomicU64> = (0..keys).map(|_| AtomicU64::new(0)).collect();
        thread::scope(|scope| {
            for number in 0..THREADS {
                let (seen, firsts) = (&seen, &firsts);
                scope.spawn(move || insert_all(seen, number, firsts));
            }
        });
        // Another key's fingerprint may stand for a key, at the filter's own rate.
        let missed = firsts.iter().filter(|first| first.load(Ordering::Relaxed) == 0).count();
        let expected = keys as f64 * seen.false_positive_rate();
        assert!(missed as f64 <= expected + 5.0 * expected.sqrt() + 1.0, "{seen:?}: {missed}");
        assert!(firsts.iter().all(|first| first.load(Ordering::Relaxed) <= 1), "{seen:?}");
        assert_eq!(seen.len(), keys - missed as u64);
        let plain = seen.snapshot().unwrap();
        assert!((0..keys).all(|key| plain.contains(hash(key))), "{plain:?}");
    }
}

/// Half of the threads one by one, half in batches, each from another key on.
fn insert_all(mut seen: &SharedCuckooFilter, thread: u64, firsts: &[AtomicU64]) {
    let keys = firsts.len() as u64;
    let order = |n: u64| (n + thread * keys / THREADS) % keys;
    let mut outcomes = Vec::new();
    let mut from = 0;
    while from < keys {
        let some: Vec<u64> = (from..keys.min(from + 3000)).map(order).collect();
        from += some.len() as u64;
        let hashes: Vec<_> = some.iter().map(|&key| hash(key)).collect();
        if thread.is_multiple_of(2) {
            seen.insert_each(&hashes, When::Now, IfPresent::Skip, &mut outcomes).unwrap();
        } else {
            outcomes.clear();
            outcomes.extend(hashes.iter().map(|&hash| seen.insert_unique(hash).unwrap()));
        }
        for (key, outcome) in some.into_iter().zip(&outcomes) {
            let first = u64::from(*outcome == Insertion::Inserted);
            firsts[key as usize].fetch_add(first, Ordering::Relaxed);
        }
    }
}

/// Every thread has keys of its own and keys that all use; the counts of all must add up.
#[test]
fn counts_add_up_after_any_interleaving() {
    let (own, common) = (20_000, 50u64);
    for builder in builders(THREADS * own * 2) {
        let seen = builder.build_shared().unwrap();
        let models: Vec<HashMap<u64, i64>> = thread::scope(|scope| {
            let work = |thread| {
                let seen = &seen;
                scope.spawn(move || churn(seen, thread, own, common))
            };
            let threads: Vec<_> = (0..THREADS).map(work).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut model: HashMap<u64, i64> = HashMap::new();
        for (key, count) in models.into_iter().flatten() {
            *model.entry(key).or_default() += count;
        }
        assert_eq!(seen.len().cast_signed(), model.values().sum::<i64>(), "{seen:?}");
        let (keys, held): (Vec<u64>, Vec<i64>) = model.into_iter().unzip();
        let hashes: Vec<_> = keys.iter().map(|&key| hash(key)).collect();
        let counts = seen.count_batch(&hashes);
        assert!(
            counts.iter().zip(&held).all(|(&count, &held)| count.cast_signed() >= held),
            "{seen:?}"
        );
        let plain = seen.snapshot().unwrap();
        let same = hashes.iter().zip(&counts).all(|(&hash, &count)| plain.count(hash) == count);
        assert!(same, "{plain:?}");
    }
}

/// Inserts own keys and copies of common ones, removes some of what this thread inserted.
fn churn(seen: &SharedCuckooFilter, thread: u64, own: u64, common: u64) -> HashMap<u64, i64> {
    let mut model: HashMap<u64, i64> = HashMap::new();
    let first = common + thread * own;
    for from in (first..first + own).step_by(1000) {
        let mut keys: Vec<u64> = (from..from + 1000).collect();
        keys.extend((0..common).map(|n| (n * 7 + from) % common));
        let batch: Vec<_> = keys.iter().map(|&key| hash(key)).collect();
        seen.insert_batch(&batch).unwrap();
        let gone = &batch[500..1025];
        let removed = seen.remove_batch(gone);
        assert!(removed.iter().all(|&removed| removed), "own copies are there to be removed");
        seen.insert(batch[500]).unwrap();
        assert!(seen.remove(batch[0]));
        for (place, &key) in keys.iter().enumerate() {
            let kept = i64::from(!(500..1025).contains(&place)) + i64::from(place == 500)
                - i64::from(place == 0);
            *model.entry(key).or_default() += kept;
        }
    }
    model
}

/// Readers look at keys that stay, while writers evict them: by filling to the last place, by
/// growing, and by inserting and removing at full load.
#[test]
fn a_stable_key_is_never_missed_while_others_move_it() {
    let stable = 20_000;
    let full = 400_000;
    let builder = CuckooFilter::builder;
    for (builder, last) in [
        (builder().capacity(full).rate(0.001).when_full(WhenFull::Refuse), full),
        (builder().capacity(full).rate(0.01), full),
        (builder().hash_bits(40), 2 * full),
    ] {
        let seen = builder.build_shared().unwrap();
        seen.insert_batch(&hashes(0..stable)).unwrap();
        let writing = AtomicBool::new(true);
        thread::scope(|scope| {
            for thread in 0..2 {
                let (seen, writing) = (&seen, &writing);
                scope.spawn(move || look_for(seen, stable, thread, writing));
            }
            let writers: Vec<_> = (0..2)
                .map(|thread| {
                    let seen = &seen;
                    scope.spawn(move || fill_and_churn(seen, stable..last, thread))
                })
                .collect();
            let results: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            writing.store(false, Ordering::Relaxed);
            assert!(results.iter().all(Result::is_ok));
        });
        assert_eq!(seen.len(), last);
    }
}

fn look_for(seen: &SharedCuckooFilter, stable: u64, thread: u64, writing: &AtomicBool) {
    let keys = hashes(0..stable);
    while writing.load(Ordering::Relaxed) {
        if thread == 0 {
            let present = seen.contains_batch(&keys);
            assert!(present.iter().all(|&present| present));
        } else {
            assert!(keys.iter().all(|&key| seen.contains(key)));
            assert!(keys[..100].iter().all(|&key| seen.count(key) > 0));
        }
    }
}

fn fill_and_churn(seen: &SharedCuckooFilter, keys: std::ops::Range<u64>, thread: u64) {
    let mine: Vec<_> = keys.filter(|n| n % 2 == thread).map(hash).collect();
    for part in mine.chunks(5000) {
        seen.insert_batch(part).unwrap();
    }
    for part in mine[..100_000].chunks(2000) {
        seen.remove_batch(part);
        seen.insert_batch(part).unwrap();
    }
}

#[test]
fn bytes_are_those_of_the_plain_filter() {
    // Large enough that the plain filter has as many segments to start with.
    let items = 4_200_000;
    let builder = CuckooFilter::builder().capacity(items).rate(0.01);
    let (mut plain, shared) = (builder.clone().build().unwrap(), builder.build_shared().unwrap());
    let keys = hashes(0..items);
    plain.insert_batch(&keys).unwrap();
    shared.insert_batch(&keys[..items as usize / 2]).unwrap();
    for &key in &keys[items as usize / 2..] {
        shared.insert(key).unwrap();
    }
    // Copies of a key, and keys that are taken for one, may need no slot: there is room for more.
    let (mut refused, mut next) = (None, items);
    while refused.is_none() {
        refused = plain.insert(hash(next)).err();
        assert_eq!(shared.insert(hash(next)).err(), refused);
        next += 1;
    }
    assert_eq!(refused.unwrap().reason, FullReason::MaxItems);
    // A copy of a key that is there takes no room.
    plain.insert(keys[0]).unwrap();
    shared.insert(keys[0]).unwrap();
    assert_eq!(shared.memory_bytes() / 100_000, plain.memory_bytes() / 100_000);
    assert!(bytes_of(&shared.snapshot().unwrap()) == bytes_of(&plain));
}

#[test]
fn cutting_and_joining_changes_nothing() {
    for builder in builders(300_000) {
        let shared = builder.build_shared().unwrap();
        shared.insert_batch(&hashes(0..300_000 - 100)).unwrap();
        for key in (0..50).chain([0; 30]) {
            shared.insert(hash(key)).unwrap();
        }
        let joined = shared.snapshot().unwrap();
        assert_eq!(joined.len(), shared.len());
        let again = SharedCuckooFilter::from_filter(&joined).unwrap();
        assert!(bytes_of(&again.snapshot().unwrap()) == bytes_of(&joined), "{joined:?}");
        let read = Load::new().bytes::<CuckooFilter>(&bytes_of(&joined)).unwrap();
        assert_eq!(read.count(hash(0)), shared.count(hash(0)));
        assert!(bytes_of(&read) == bytes_of(&shared.snapshot().unwrap()));
    }
}

#[test]
fn a_plain_filter_becomes_a_shared_one() {
    for builder in builders(200_000) {
        let mut plain = builder.hasher(KeyHasher::Xxh3 { seed: 9 }).build().unwrap();
        for key in 0..100_000u64 {
            plain.insert(key.to_le_bytes()).unwrap();
        }
        for _ in 0..20 {
            plain.insert("again").unwrap();
        }
        let shared = SharedCuckooFilter::from_filter(&plain).unwrap();
        assert_eq!(shared.len(), plain.len());
        assert_eq!(shared.hash_bits().to_bits(), plain.hash_bits().to_bits());
        assert!((0..100_000u64).all(|key| shared.contains(key.to_le_bytes())));
        assert_eq!((shared.count("again"), shared.hasher()), (20, plain.hasher()));
        for _ in 0..20 {
            assert!(shared.remove("again"));
        }
        let same = |key: u64| shared.contains(hash(key)) == plain.contains(hash(key));
        assert!((0..200_000).all(same), "{plain:?} {shared:?}");
    }
}

#[test]
fn one_by_one_and_in_batches_give_the_same_bytes() {
    for size in [1, 7, 1000, 16_384, 16_385, 50_000] {
        let single = CuckooFilter::builder().hash_bits(40).build_shared().unwrap();
        let batch = CuckooFilter::builder().hash_bits(40).build_shared().unwrap();
        let mut verbs = &batch;
        let keys: Vec<_> = (0..150_000).map(|n| hash(n * n % 90_001)).collect();
        let one_by_one: Vec<_> =
            keys.iter().map(|&key| single.insert_unique(key).unwrap()).collect();
        let (mut outcomes, mut all) = (Vec::new(), Vec::new());
        for part in keys.chunks(size) {
            verbs.insert_each(part, When::Now, IfPresent::Skip, &mut outcomes).unwrap();
            all.append(&mut outcomes);
        }
        assert!(all == one_by_one, "batches of {size}");
        let mut all = Vec::new();
        for part in keys.chunks(size) {
            let removed = batch.remove_batch(part);
            all.extend(removed);
        }
        let one_by_one: Vec<_> = keys.iter().map(|&key| single.remove(key)).collect();
        assert!(all == one_by_one, "batches of {size}");
        assert!(bytes_of(&single.snapshot().unwrap()) == bytes_of(&batch.snapshot().unwrap()));
    }
}

#[test]
fn batches_of_keys_are_single_keys() {
    check_batches_of_keys!(
        |builder: CuckooFilterBuilder| builder.build_shared().unwrap(),
        |seen: &SharedCuckooFilter| bytes_of(&seen.snapshot().unwrap())
    );
}

#[test]
fn a_full_filter_tells_the_first_key_that_it_refused() {
    let seen = CuckooFilter::builder().capacity(1000).rate(1e-6).build_shared().unwrap();
    seen.insert_batch(&hashes(0..900)).unwrap();
    let refused = seen.insert_unique_batch(&hashes(500..1500)).unwrap_err();
    assert_eq!((refused.done, seen.len()), (500, 1000));
    seen.clear();
    let (mut verbs, mut outcomes) = (&seen, Vec::new());
    seen.insert_batch(&hashes(0..900)).unwrap();
    let if_present = IfPresent::Skip;
    let stopped = verbs.insert_each(&hashes(500..1500), When::Now, if_present, &mut outcomes);
    assert_eq!(stopped.unwrap_err().done, 500);
    assert_eq!((refused.full.items, refused.full.reason), (1000, FullReason::MaxItems));
    let expected = [(Insertion::AlreadyPresent, 400), (Insertion::Inserted, 100)];
    let expected = expected.into_iter().chain([(Insertion::Refused, 500)]);
    assert!(expected.flat_map(|(outcome, times)| vec![outcome; times]).eq(outcomes));
    assert!(refused.to_string().contains("after 500 keys of the batch"), "{refused}");
    assert!(seen.remove(hash(0)));
    assert_eq!(seen.insert_unique(hash(1400)), Ok(Insertion::Inserted));
    assert!(seen.insert(hash(0)).is_err());
    seen.clear();
    seen.insert_batch(&hashes(0..1000)).unwrap();
    assert_eq!(seen.insert_batch(&hashes(998..1003)).unwrap_err().done, 2);
}

/// All threads insert the same keys, as many as there is room for: none may be refused, though each
/// asks for room that it then does not need.
#[test]
fn the_last_places_are_given_out_exactly() {
    let keys = 200_000;
    for when_full in [WhenFull::Grow, WhenFull::Refuse] {
        let builder = CuckooFilter::builder().capacity(keys).rate(1e-7).when_full(when_full);
        let seen = builder.build_shared().unwrap();
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let mut seen = &seen;
                scope.spawn(move || {
                    let mut outcomes = Vec::new();
                    let mut order = hashes(0..keys);
                    order.rotate_left((thread * keys / THREADS) as usize);
                    for part in order.chunks(9000) {
                        seen.insert_each(part, When::Now, IfPresent::Skip, &mut outcomes).unwrap();
                    }
                });
            }
        });
        let one_wrong_at_most = keys - 1..=keys;
        assert!(one_wrong_at_most.contains(&seen.len()), "{seen:?}");
    }
}

/// Keys that all fall to one shard are held, and can be saved and read.
#[test]
fn keys_with_one_prefix_cannot_make_an_unreadable_filter() {
    let seen = SharedCuckooFilter::new();
    let stored = 400_000;
    for n in 0..stored {
        seen.insert(KeyHash::from_u64(hash(n).to_u64() >> 20)).unwrap();
    }
    let bytes = bytes_of(&seen.snapshot().unwrap());
    let read = Load::new().bytes::<CuckooFilter>(&bytes).unwrap();
    assert_eq!(read.len(), stored);
    assert!((0..stored).all(|n| read.contains(KeyHash::from_u64(hash(n).to_u64() >> 20))));
}

/// Many keys that share a prefix of the hash lie in more segments than they have in a new filter of 64 parts.
#[test]
fn a_filter_that_took_its_keys_can_be_shared() {
    for (hash_bits, shared_bits) in [(24, 12), (40, 12), (64, 12), (40, 20), (64, 20)] {
        let mut plain = CuckooFilter::builder().hash_bits(hash_bits).build().unwrap();
        let mut random = Random::new(hash_bits.into());
        let mut hashes: Vec<_> =
            (0..30_000).map(|_| KeyHash::from_u64(random.next() >> shared_bits)).collect();
        hashes.retain(|&hash| plain.insert(hash).is_ok());
        let shared = SharedCuckooFilter::from_filter(&plain)
            .unwrap_or_else(|error| panic!("{error}: {hash_bits} {shared_bits} {plain:?}"));
        assert_eq!(shared.len(), plain.len());
        assert!(hashes.iter().all(|&hash| shared.count(hash) == plain.count(hash)));
        let mut joined = shared.snapshot().unwrap();
        assert!(hashes.iter().all(|&hash| joined.remove(hash)));
        assert!(joined.is_empty());
    }
}

#[test]
fn items_from_before_count_against_the_limit() {
    let mut plain = CuckooFilter::with_capacity(1_000, 0.001).unwrap();
    plain.insert_batch(&hashes(0..900)).unwrap();
    let shared = SharedCuckooFilter::from_filter(&plain).unwrap();
    let refused = shared.insert_batch(&hashes(900..1_100)).unwrap_err();
    assert_eq!((refused.done, shared.len()), (100, 1_000));
    assert_eq!(refused.full.reason, FullReason::MaxItems);
}
