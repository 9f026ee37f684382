//! Filters whose fingerprints have no bit left to give: they grow all the same.

use coua::{CuckooFilter, CuckooFilterBuilder, FullReason, KeyHash, WhenFull};

use coua_dev::instruction_sets;
use coua_dev::random::Random;

const HASH_BITS: u32 = 20;
const ITEMS: u64 = 150_000;

fn builder() -> CuckooFilterBuilder {
    CuckooFilter::builder().hash_bits(HASH_BITS).max_items(ITEMS)
}

fn snapshot(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("written");
    bytes
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes in Miri")]
fn they_grow_to_the_items_they_are_made_for() {
    let hashes = Random::new(1).many(ITEMS as usize, KeyHash::from_u64);
    let mut filter = builder().build().unwrap();
    for (&hash, number) in hashes.iter().zip(0..) {
        let inserted = filter.insert(hash);
        assert_eq!(inserted, Ok(()), "{number} {filter:?}");
    }
    assert!(hashes.iter().all(|&hash| filter.contains(hash)));
    assert_eq!(filter.len(), ITEMS);
    let least = filter.slots() / 8;
    assert!(filter.load_factor() > 0.17 && filter.len() > least, "{filter:?}");
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes in Miri")]
fn beyond_them_they_are_refused_or_exceed_the_rate() {
    let hashes = Random::new(2).many(2 * ITEMS as usize, KeyHash::from_u64);
    let mut filter = builder().build().unwrap();
    let stopped = filter.insert_batch(&hashes).unwrap_err();
    assert_eq!(stopped.full.reason, FullReason::MaxItems, "{filter:?}");
    let mut filter = builder().when_full(WhenFull::ExceedRate).build().unwrap();
    filter.insert_batch(&hashes).unwrap();
    assert_eq!(filter.len(), 2 * ITEMS);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes in Miri")]
fn batches_leave_the_bytes_of_single_inserts() {
    let hashes = Random::new(3).many(ITEMS as usize, KeyHash::from_u64);
    for capacity in [15_000, 40_000] {
        let builder = builder().capacity(capacity);
        let [mut single, mut batch] = [(); 2].map(|()| builder.clone().build().unwrap());
        for &hash in &hashes {
            single.insert(hash).unwrap();
        }
        batch.insert_batch(&hashes).unwrap();
        assert!(snapshot(&batch) == snapshot(&single), "{single:?} {batch:?}");
    }
}

/// Somebody who knows the seed can make keys of one prefix: they buy no memory for the rest.
#[test]
fn keys_of_one_prefix_do_not_rebuild_the_filter() {
    let mut filter = builder().build().unwrap();
    let random = &mut Random::new(5);
    let hashes: Vec<_> = (0..ITEMS).map(|_| KeyHash::from_u64(random.next() >> 5)).collect();
    for &hash in &hashes {
        filter.insert(hash).unwrap();
    }
    assert!(hashes.iter().all(|&hash| filter.contains(hash)));
    assert!(filter.slots() < 16 * filter.len().max(15_000), "{filter:?}");
    // Those that find no slot take 40 bytes each.
    let most = 40 * ITEMS as usize + 16 * 15_000 * 8;
    assert!(filter.memory_bytes() < most, "{filter:?}");
}

#[test]
#[cfg_attr(miri, ignore = "runs programs")]
fn all_of_this_with_fewer_instructions() {
    instruction_sets::run_again_with_fewer("few_bits::", "all_of_this_with_fewer_instructions");
}
