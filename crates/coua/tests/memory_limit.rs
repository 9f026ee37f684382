//! A filter with a limit of memory: it keeps it and uses it, and what needs no memory goes on.

use coua::{CuckooFilter, FullReason, Insertion, KeyHash, Load};

use crate::layouts::LAYOUTS;
use coua_dev::cases::{few_usual_or_all, sample};
use coua_dev::random::{Random, nth};

/// The last takes as long as the others together.
fn limits() -> impl Iterator<Item = u64> {
    let all = [10_000, 100_000, 1_000_000, 2_150_000, 6_000_000, 12_000_000];
    all.into_iter().take(few_usual_or_all([3, 4, 6]))
}

fn growing(hash_bits: u32) -> CuckooFilter {
    CuckooFilter::builder().capacity(1024).hash_bits(hash_bits).build().expect("a good description")
}

fn snapshot(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("written");
    bytes
}

/// Inserts keys until some hundreds in a row are refused; those that are in.
fn fill(filter: &mut CuckooFilter, random: &mut Random) -> Vec<KeyHash> {
    let (mut keys, mut refused) = (Vec::new(), 0);
    while refused < 500 {
        let key = KeyHash::from_u64(random.next());
        match filter.insert(key) {
            Ok(()) => {
                keys.push(key);
                refused = 0;
            }
            Err(full) => {
                assert_eq!(full.reason, FullReason::MemoryLimit);
                refused += 1;
            }
        }
    }
    keys
}

#[test]
fn the_limit_is_kept_and_used() {
    for (seed, limit) in (0..).zip(limits()) {
        for hash_bits in [30, 64] {
            let mut filter = growing(hash_bits);
            filter.set_memory_limit(Some(limit));
            let keys = fill(&mut filter, &mut Random::new(seed));
            let bytes = filter.memory_bytes() as u64;
            assert!(bytes <= limit, "{bytes} of {limit}");
            // Small filters double.
            let least = if limit < 1_000_000 { limit / 3 } else { limit - limit / 16 };
            assert!(bytes >= least, "{bytes} of {limit}");
            assert!(filter.load_factor() > 0.9, "{limit}: {filter:?}");
            assert!(keys.iter().all(|&key| filter.contains(key)));
        }
    }
}

#[test]
fn what_needs_no_memory_is_not_refused() {
    for limit in limits() {
        let mut filter = growing(64);
        filter.set_memory_limit(Some(limit));
        let random = &mut Random::new(limit);
        let keys = fill(&mut filter, random);
        for &key in &keys {
            assert_eq!(filter.insert_unique(key), Ok(Insertion::AlreadyPresent));
        }
        // Many are gone, and others take their place.
        let gone = keys.len() * 9 / 10;
        assert!(keys[..gone].iter().all(|&key| filter.remove(key)));
        for _ in 0..gone / 2 {
            filter.insert(KeyHash::from_u64(random.next())).unwrap();
        }
        // And what is larger than a new limit may be used all the same.
        filter.set_memory_limit(Some(1));
        let key = keys[keys.len() - 1];
        assert!(filter.remove(key));
        assert_eq!(filter.insert_unique(key), Ok(Insertion::Inserted));
    }
}

/// As a replica, which is told what went in and has no limit of its own.
#[test]
fn the_items_that_went_in_make_the_same_filter_without_the_limit() {
    for (seed, limit) in sample((0..).zip(limits()), [2, 2]) {
        let random = &mut Random::new(seed);
        let mut limited = growing(64);
        limited.set_memory_limit(Some(limit));
        let mut free = growing(64);
        let (mut keys, mut refused) = (Vec::new(), 0);
        for _ in 0..limit / 4 {
            let key = match random.below(3) {
                0 if !keys.is_empty() => keys[random.below(keys.len() as u64) as usize],
                _ => KeyHash::from_u64(random.next()),
            };
            if limited.insert(key).is_ok() {
                free.insert(key).unwrap();
                keys.push(key);
            } else {
                refused += 1;
            }
        }
        assert!(refused > 0, "{limit}: {limited:?}");
        assert!(snapshot(&limited) == snapshot(&free), "{limit}");
        // Beyond it are only items without a slot that the memory was planned for, 16 in any filter.
        let most = limit + limit / 100 + 16 * 40;
        assert!(limited.memory_bytes() as u64 <= most, "{limit}: {limited:?}");
    }
}

#[test]
fn batches_are_single_inserts_at_the_limit() {
    for (seed, limit) in (0..).zip(limits()) {
        let random = &mut Random::new(seed);
        let (mut batch, mut single) = (growing(64), growing(64));
        batch.set_memory_limit(Some(limit));
        single.set_memory_limit(Some(limit));
        for _ in 0..12 {
            let keys: Vec<_> = (0..limit / 50).map(|_| KeyHash::from_u64(random.next())).collect();
            let result = batch.insert_batch(&keys);
            let refused = keys.iter().position(|&key| single.insert(key).is_err());
            assert_eq!(result.err().map(|stopped| stopped.done), refused);
            assert!(snapshot(&batch) == snapshot(&single), "{limit}");
        }
    }
}

/// Each key with more copies than its buckets hold takes an entry of the overflow table.
#[test]
fn repeats_keep_the_limit() {
    let limit = 1_000_000;
    let mut filter = growing(64);
    filter.set_memory_limit(Some(limit));
    let keys: Vec<_> = (0..100_000).map(|n| KeyHash::from_u64(nth(n))).collect();
    let mut inserted = vec![0u64; keys.len()];
    for _ in 0..8 {
        for (&key, inserted) in keys.iter().zip(&mut inserted) {
            *inserted += u64::from(filter.insert(key).is_ok());
        }
    }
    assert!(filter.memory_bytes() as u64 <= limit, "{filter:?}");
    assert!(keys.iter().zip(&inserted).all(|(&key, &copies)| filter.count(key) == copies));
    // A key that has an entry may have any number of copies.
    let (&most, _) = keys.iter().zip(&inserted).max_by_key(|(_, copies)| **copies).unwrap();
    for _ in 0..1000 {
        filter.insert(most).unwrap();
    }
}

#[test]
fn room_is_reserved_within_the_limit() {
    let mut filter = growing(64);
    filter.set_memory_limit(Some(1_000_000));
    let full = filter.reserve(1_000_000).unwrap_err();
    assert_eq!(full.reason, FullReason::MemoryLimit);
    filter.reserve(50_000).unwrap();
    filter.set_memory_limit(None);
    filter.reserve(1_000_000).unwrap();
}

/// As a replica does, which has no limit of its own, and is told to do the same.
#[test]
fn a_limit_changes_no_bytes_of_what_is_compacted() {
    for copies in [1, 3, 4] {
        let mut free = growing(64);
        for _ in 0..copies {
            (0..60_000).for_each(|n| free.insert(KeyHash::from_u64(nth(n))).unwrap());
        }
        let mut limited = free.clone();
        limited.set_memory_limit(Some(1));
        free.compact();
        limited.compact();
        assert!(snapshot(&limited) == snapshot(&free), "{copies} copies");
    }
}

#[test]
fn a_limit_refuses_a_merge_or_changes_none_of_its_bytes() {
    let [one, two] = [0..90_000, 40_000..138_000].map(|numbers| {
        let mut filter = growing(64);
        let hashes = numbers.map(|n| KeyHash::from_u64(nth(n)));
        for hash in hashes {
            filter.insert_unique(hash).unwrap();
        }
        filter
    });
    let merges = [CuckooFilter::merge, CuckooFilter::merge_unique];
    for merge in merges {
        let mut free = one.clone();
        merge(&mut free, &two).unwrap();
        let (mut accepted, mut refused) = (0, 0);
        for limit in sample((800..2_400).step_by(4), [31, 7]) {
            let mut limited = one.clone();
            limited.set_memory_limit(Some(limit << 10));
            if merge(&mut limited, &two).is_ok() {
                assert!(snapshot(&limited) == snapshot(&free), "{limit} KiB");
                accepted += 1;
            } else {
                refused += 1;
            }
        }
        assert!(accepted > 0 && refused > 0, "{accepted} {refused}");
    }
}

/// One copy more of a key than there are slots for takes memory, as does an item that ends without a slot: a batch
/// must not decide about the one while it does not know of the other.
#[test]
#[cfg_attr(miri, ignore = "takes minutes in Miri")]
fn batches_of_copies_are_refused_where_single_calls_are() {
    // Where slots are wide, copies from the second on take none; in others, those beyond a bucket's slots.
    for ((layout, slots), (bits, copies)) in
        LAYOUTS.into_iter().flat_map(|it| [(it, (64, 1)), (it, (40, it.1))])
    {
        let random = &mut Random::new(slots.into());
        let builder = CuckooFilter::builder().layout(layout).slots_per_bucket(slots);
        let builder = builder.hash_bits(bits).capacity(400_000).max_evictions(1);
        let mut prepared = builder.build().unwrap();
        let bytes = prepared.memory_bytes();
        prepared.set_memory_limit(Some(bytes as u64 + 2_000));
        let held = random.many(500, KeyHash::from_u64);
        prepared.insert_batch(&held.repeat(copies as usize)).unwrap();
        while prepared.memory_bytes() < bytes + 1_000 {
            prepared.insert(KeyHash::from_u64(random.next())).unwrap();
        }
        let mixed =
            held.iter().flat_map(|&it| random.many(20, KeyHash::from_u64).into_iter().chain([it]));
        let keys: Vec<_> = mixed.collect();
        for entries in sample(1..100, [20, 1]) {
            let limit = prepared.memory_bytes() + 40 * entries;
            let [mut single, mut batched] = [(); 2].map(|()| {
                let mut filter = prepared.clone();
                filter.set_memory_limit(Some(limit as u64));
                filter
            });
            let stopped = batched.insert_batch(&keys).err();
            let refused = keys.iter().position(|&key| single.insert(key).is_err());
            assert!(refused.is_some(), "{limit} {single:?}");
            assert_eq!(stopped.map(|it| it.done), refused, "{limit} {single:?}");
            assert!(snapshot(&single) == snapshot(&batched), "{limit} {single:?}");
        }
    }
}

/// Where memory is just enough for the items that a filter is made for, they go in, each of them: with and
/// without the limit it does not grow for them.
#[test]
#[cfg_attr(miri, ignore = "takes minutes in Miri")]
fn a_filter_that_just_fits_takes_its_items() {
    let sizes = [(100, 200), (300, 200), (600, 200), (1_000, 200), (3_000, 60), (15_000, 20)];
    let sizes = sizes.into_iter().chain([(17_000, 20), (100_000, 3), (500_000, 1)]);
    for ((capacity, rounds), (layout, slots)) in
        sample(sizes.flat_map(|size| LAYOUTS.map(|layout| (size, layout))), [7, 1])
    {
        for (seed, hash_bits) in (0..rounds).flat_map(|seed| [(seed, 44), (seed, 64)]) {
            let builder = CuckooFilter::builder().layout(layout).slots_per_bucket(slots);
            let mut free = builder.capacity(capacity).hash_bits(hash_bits).build().unwrap();
            let mut limited = free.clone();
            limited.set_memory_limit(Some(limited.memory_bytes() as u64));
            let slots = free.slots();
            for hash in
                Random::new(seed << 32 | capacity).many(capacity as usize, KeyHash::from_u64)
            {
                free.insert(hash).unwrap();
                let refused = limited.insert(hash);
                assert_eq!(refused, Ok(()), "{capacity} {hash_bits} {seed} {limited:?}");
            }
            assert_eq!(free.slots(), slots, "{capacity} {hash_bits} {free:?}");
            assert!(snapshot(&limited) == snapshot(&free), "{capacity} {free:?}");
        }
    }
}

/// The same for the room that is reserved, in a filter that holds items already.
#[test]
#[cfg_attr(miri, ignore = "takes minutes in Miri")]
fn reserved_room_is_for_as_many_items() {
    for (seed, items) in (0..100).flat_map(|seed| [(seed, 1_000), (seed, 5_000)]) {
        let hashes = Random::new(seed).many(2 * items, KeyHash::from_u64);
        let mut filter = CuckooFilter::builder().capacity(100).build().unwrap();
        filter.insert_batch(&hashes[..items]).unwrap();
        filter.reserve(items as u64).unwrap();
        let slots = filter.slots();
        filter.insert_batch(&hashes[items..]).unwrap();
        assert_eq!(filter.slots(), slots, "{items} {filter:?}");
    }
}

/// What fits the limit as it is fits it when it is read or copied.
#[test]
fn what_is_read_or_copied_takes_no_more_than_the_original() {
    let mut filter = CuckooFilter::new();
    for key in 0..if cfg!(miri) { 2_000u32 } else { 300_000 } {
        filter.insert(key.to_le_bytes()).unwrap();
        if key.is_power_of_two() || key % 50_000 == 0 {
            let mut bytes = Vec::new();
            filter.write_to(&mut bytes).unwrap();
            let most = filter.memory_bytes();
            let (read, copy) = (Load::new().bytes::<CuckooFilter>(&bytes).unwrap(), filter.clone());
            assert!(read.memory_bytes() <= most, "{key}: {} and {most}", read.memory_bytes());
            assert!(copy.memory_bytes() <= most, "{key}: {} and {most}", copy.memory_bytes());
        }
    }
}
