//! What a set must keep: nothing lost, unions, batches, bytes, errors.

use std::thread;

use coua::Insertion::{AlreadyPresent, Inserted};
use coua::bloom::{
    BlockedBloomFilter, BloomBuildError, BloomFilter, BloomLoadError, BloomMergeError,
};
use coua::sizing::bloom::{BlockedBloomPlan, BloomPlan};
use coua::{Insertion, Key, KeyHash, KeyHasher};

use coua_dev::instruction_sets;

fn hashes(range: std::ops::Range<u64>) -> Vec<KeyHash> {
    range.map(|number| KeyHasher::default().hash(number)).collect()
}

#[test]
fn a_hundred_threads_lose_nothing() {
    let shared = BloomFilter::with_capacity(100_000, 0.01).unwrap();
    thread::scope(|scope| {
        for thread in 0..100_u64 {
            let shared = &shared;
            scope.spawn(move || {
                // Every key is inserted by two threads, once alone and once in a batch.
                let keys = hashes(thread * 1_000..(thread + 2) * 1_000);
                let (alone, batch) = keys.split_at(1_000);
                for &hash in alone {
                    shared.insert_unique(hash);
                }
                shared.insert_unique_batch(batch);
            });
        }
    });
    let alone = BloomFilter::with_capacity(100_000, 0.01).unwrap();
    alone.insert_unique_batch(&hashes(0..101_000));
    assert!(shared == alone);
}

#[test]
fn of_racing_threads_one_at_least_is_told_that_a_key_is_new() {
    // Sparse, so that no key is present through others.
    let filter = BloomFilter::with_bits(1 << 22, 7).unwrap();
    let keys = hashes(0..2_000);
    let outcomes: Vec<Vec<Insertion>> = thread::scope(|scope| {
        let run = || keys.iter().map(|&hash| filter.insert_unique(hash)).collect();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for key in 0..keys.len() {
        assert!(outcomes.iter().any(|outcome| outcome[key] == Inserted));
    }
}

#[test]
fn inserted_keys_are_found_at_any_fill() {
    let keys = hashes(0..5_000);
    let bloom = BloomFilter::with_bits(7_919, 5).unwrap();
    let mut blocked = BlockedBloomFilter::with_blocks(31).unwrap();
    for (index, &hash) in keys.iter().enumerate() {
        let (before, blocked_before) = (bloom.contains(hash), blocked.contains(hash));
        let outcome = |present| if present { AlreadyPresent } else { Inserted };
        assert_eq!(bloom.insert_unique(hash), outcome(before));
        assert_eq!(blocked.insert_unique(hash), outcome(blocked_before));
        if index % 500 == 0 {
            let present = &keys[..=index];
            assert!(present.iter().all(|&hash| bloom.contains(hash)));
            assert!(present.iter().all(|&hash| blocked.contains(hash)));
        }
    }
}

#[test]
fn keys_and_their_hashes_are_the_same_keys() {
    for hasher in [KeyHasher::default(), KeyHasher::siphash13(*b"sixteen  letters")] {
        let bloom = BloomFilter::from_plan(BloomPlan::new(4_001, 6).unwrap(), hasher).unwrap();
        let plan = BlockedBloomPlan::new(17).unwrap();
        let mut blocked = BlockedBloomFilter::from_plan(plan, hasher).unwrap();
        for key in ["", "wren", "\0", "a key that is longer than the short paths of a hash"] {
            let hash = hasher.hash(key.as_bytes());
            assert_eq!(bloom.insert_unique(key), Inserted);
            assert_eq!(blocked.insert_unique(key.as_bytes()), Inserted);
            assert!(bloom.contains(hash) && blocked.contains(hash));
        }
    }
}

/// The filters that take batches, in one form.
trait Batches: Clone + PartialEq {
    /// Made for so many keys that batches of `size` meet empty, half full and full filters.
    fn made_for(size: u64) -> Self;
    fn one(&mut self, key: &[u8]) -> Insertion;
    fn is_there(&self, key: &[u8]) -> bool;
    fn many<K: Key>(&mut self, keys: &[K]) -> Vec<Insertion>;
    fn are_there<K: Key>(&self, keys: &[K]) -> Vec<bool>;
}

macro_rules! batches {
    ($filter:ident) => {
        impl Batches for $filter {
            fn made_for(size: u64) -> Self {
                Self::with_capacity(size / 4, 0.2).unwrap()
            }
            fn one(&mut self, key: &[u8]) -> Insertion {
                self.insert_unique(key)
            }
            fn is_there(&self, key: &[u8]) -> bool {
                self.contains(key)
            }
            fn many<K: Key>(&mut self, keys: &[K]) -> Vec<Insertion> {
                self.insert_unique_batch(keys)
            }
            fn are_there<K: Key>(&self, keys: &[K]) -> Vec<bool> {
                self.contains_batch(keys)
            }
        }
    };
}

batches!(BloomFilter);
batches!(BlockedBloomFilter);

fn hashed(keys: &[[u8; 8]]) -> Vec<KeyHash> {
    keys.iter().map(|key| KeyHasher::default().hash(key)).collect()
}

/// Two batches of every size, of which the second meets what the first has left. Many keys repeat
/// earlier ones, some within the same block; half of the questions are about absent keys.
fn check_batches<F: Batches>() {
    let mut answers = [0_u64; 2];
    for size in 0..=1_000_u64 {
        let mut one = F::made_for(size);
        let (mut many, mut many_hashes) = (one.clone(), one.clone());
        for start in [0, size / 3] {
            let key = |i: u64| (start + i * i % (size / 2 + 1)).to_le_bytes();
            let batch: Vec<[u8; 8]> = (0..size).map(key).collect();
            let expected: Vec<Insertion> = batch.iter().map(|key| one.one(key)).collect();
            assert!(many.many(&batch) == expected && one == many, "size {size}");
            let outcomes = many_hashes.many(&hashed(&batch));
            assert!(outcomes == expected && one == many_hashes, "size {size}, hashed");

            let questions: Vec<[u8; 8]> = (0..size).map(|i| (2 * i).to_le_bytes()).collect();
            let there: Vec<bool> = questions.iter().map(|key| one.is_there(key)).collect();
            assert_eq!(many.are_there(&questions), there, "size {size}");
            assert_eq!(many.are_there(&hashed(&questions)), there, "size {size}, hashed");
            for there in there {
                answers[usize::from(there)] += 1;
            }
        }
    }
    assert!(answers.iter().all(|&count| count > 100_000), "both were met: {answers:?}");
}

#[test]
fn bloom_batches_of_every_size_are_single_operations_in_order() {
    check_batches::<BloomFilter>();
}

#[test]
fn blocked_batches_of_every_size_are_single_operations_in_order() {
    check_batches::<BlockedBloomFilter>();
}

#[test]
fn extending_is_inserting_one_by_one() {
    let keys: Vec<[u8; 8]> = (0..1_000_u64).map(|i| (i * i % 501).to_le_bytes()).collect();
    let mut bloom = BloomFilter::with_bits(600, 3).unwrap();
    let mut blocked = BlockedBloomFilter::with_blocks(3).unwrap();
    let (bloom_one, mut blocked_one) = (bloom.clone(), blocked.clone());
    bloom.extend(&keys);
    blocked.extend(&keys);
    for key in &keys {
        bloom_one.insert_unique(key);
        blocked_one.insert_unique(key);
    }
    assert!(bloom == bloom_one && blocked == blocked_one);
}

#[test]
fn union_is_inserting_both() {
    let (left_keys, right_keys) = (hashes(0..3_000), hashes(2_000..6_000));
    let bloom = || BloomFilter::with_bits(50_021, 6).unwrap();
    let (left, right, both) = (bloom(), bloom(), bloom());
    left.insert_unique_batch(&left_keys);
    right.insert_unique_batch(&right_keys);
    both.insert_unique_batch(&hashes(0..6_000));
    let mut common = left.clone();
    common.intersect(&right).unwrap();
    left.merge(&right).unwrap();
    assert!(left == both && (&common | &both).unwrap() == both);
    assert!(hashes(2_000..3_000).iter().all(|&hash| common.contains(hash)));
    assert!(common.false_positive_rate() < right.false_positive_rate());

    let blocked = || BlockedBloomFilter::with_blocks(211).unwrap();
    let (mut left, mut right, mut both) = (blocked(), blocked(), blocked());
    left.insert_unique_batch(&left_keys);
    right.insert_unique_batch(&right_keys);
    both.insert_unique_batch(&hashes(0..6_000));
    let mut common = left.clone();
    common.intersect(&right).unwrap();
    left.merge(&right).unwrap();
    assert!(left == both && (&common | &both).unwrap() == both);
    assert!(hashes(2_000..3_000).iter().all(|&hash| common.contains(hash)));
    assert!(common.false_positive_rate() < right.false_positive_rate());
}

#[test]
fn filters_that_differ_are_not_combined() {
    let base = BloomFilter::with_bits(1_000, 3).unwrap();
    base.insert_unique("wren");
    let mut unchanged = base.clone();
    let seeded = BloomFilter::from_plan(BloomPlan::new(1_000, 3).unwrap(), KeyHasher::xxh3(1));
    for (other, error) in [
        (BloomFilter::with_bits(999, 3), BloomMergeError::Bits { left: 1_000, right: 999 }),
        (BloomFilter::with_bits(1_000, 4), BloomMergeError::Probes { left: 3, right: 4 }),
        (seeded, BloomMergeError::Hash),
    ] {
        let other = other.unwrap();
        assert_eq!(unchanged.merge(&other), Err(error.clone()));
        assert_eq!(unchanged.intersect(&other), Err(error));
        assert!(unchanged == base);
    }

    let mut blocked = BlockedBloomFilter::with_blocks(4).unwrap();
    let other = BlockedBloomFilter::with_blocks(5).unwrap();
    let error = BloomMergeError::Bits { left: 1_024, right: 1_280 };
    assert_eq!(blocked.merge(&other), Err(error.clone()));
    assert_eq!(blocked.intersect(&other), Err(error));
}

#[test]
fn bits_of_a_key_are_a_promise() {
    // XXH3 gives 0x6bae977bebad4e60 and 0x28096ab919df4690: bits 42, 99, 28 and 15, 36, 62.
    let filter = BloomFilter::with_bits(100, 3).unwrap();
    filter.insert_unique("kestrel");
    filter.insert_unique("wren");
    let bytes = [0, 128, 0, 16, 16, 4, 0, 64, 0, 0, 0, 0, 8, 0, 0, 0];
    assert_eq!(filter.to_bytes(), bytes);

    let mut blocked = BlockedBloomFilter::with_blocks(2).unwrap();
    blocked.insert_unique("kestrel");
    let mut bytes = vec![0; 64];
    for (byte, value) in [(1, 64), (5, 8), (11, 32), (13, 16), (19, 2), (21, 16), (24, 32), (29, 2)]
    {
        bytes[byte] = value;
    }
    assert_eq!(blocked.to_bytes(), bytes);
}

#[test]
fn a_bit_set_of_parquet_is_read_and_written() {
    // Written by parquet-mr for the strings a0 to a9; a fixture of the parquet crate of arrow-rs.
    const WRITTEN: [u8; 32] = [
        200, 1, 80, 20, 64, 68, 8, 109, 6, 37, 4, 67, 144, 80, 96, 32, 8, 132, 43, 33, 0, 5, 99,
        65, 2, 0, 224, 44, 64, 78, 96, 4,
    ];
    // XXH64, seed 0, of these strings: the hash of the Parquet format.
    const HASHES: [u64; 10] = [
        0xf095_e781_a712_5e70,
        0xfbe5_503c_b106_ea90,
        0xa00c_ac98_0a7d_134b,
        0x4a74_6963_01aa_2dd9,
        0xd2a1_705a_1932_7639,
        0x92ac_73a4_cd78_f47c,
        0xbf42_2495_5bef_1ae7,
        0x4068_9862_8bb0_1dd2,
        0xf9b2_6498_849f_68e5,
        0xf1e2_f8e0_d324_8d35,
    ];
    let read = BlockedBloomFilter::from_bytes(&WRITTEN, KeyHasher::default()).unwrap();
    let mut own = BlockedBloomFilter::with_blocks(1).unwrap();
    for hash in HASHES.map(KeyHash::from_u64) {
        assert!(read.contains(hash));
        own.insert_unique(hash);
    }
    assert_eq!(own.to_bytes(), WRITTEN);
    assert!(own == read);
}

#[test]
fn bytes_of_another_length_are_refused() {
    let bytes = vec![0; 200];
    for length in 0..200 {
        let blocked = BlockedBloomFilter::from_bytes(&bytes[..length], KeyHasher::default());
        let whole = length > 0 && length % 32 == 0;
        let error = BloomLoadError::Blocks { found: length as u64 };
        assert_eq!(blocked.err(), (!whole).then_some(error));
        let plan = BloomPlan::new(700, 3).unwrap();
        let bits = BloomFilter::from_bytes(plan, KeyHasher::default(), &bytes[..length]);
        let error = BloomLoadError::Length { found: length as u64, expected: 88 };
        assert_eq!(bits.err(), (length != 88).then_some(error));
    }
    // A plan that lies about 2^60 bytes is found out before anything is allocated.
    let huge = BloomPlan::new(1 << 63, 3).unwrap();
    assert!(BloomFilter::from_bytes(huge, KeyHasher::default(), &bytes).is_err());
    let plan = BloomPlan::new(700, 3).unwrap();
    let stray = BloomFilter::from_bytes(plan, KeyHasher::default(), &[255; 88]);
    assert_eq!(stray.err(), Some(BloomLoadError::StrayBits { bits: 700 }));
}

#[test]
fn impossible_filters_are_errors() {
    for rate in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::NEG_INFINITY] {
        let is_rate = |error| matches!(error, Some(BloomBuildError::Rate { .. }));
        assert!(is_rate(BloomFilter::with_capacity(10, rate).err()));
        assert!(is_rate(BlockedBloomFilter::with_capacity(10, rate).err()));
    }
    assert!(BloomFilter::with_capacity(0, 0.01).unwrap().insert_unique("wren") == Inserted);
    assert_eq!(BloomFilter::with_bits(0, 3).err(), Some(BloomBuildError::NoBits));
    let none = Some(BloomBuildError::Probes { probes: 0 });
    assert_eq!(BloomFilter::with_bits(10, 0).err(), none);
    assert_eq!(BlockedBloomFilter::with_blocks(0).err(), Some(BloomBuildError::NoBits));
    // Beyond any machine: refused, not aborted.
    assert!(BloomFilter::with_bits(u64::MAX, 3).is_err());
    assert!(BloomFilter::with_capacity(u64::MAX, 0.5).is_err());
    assert!(BloomFilter::with_capacity(1 << 58, 0.1).is_err());
    assert!(BlockedBloomFilter::with_blocks(u64::MAX).is_err());
    assert!(BlockedBloomFilter::with_capacity(u64::MAX, 0.5).is_err());
}

#[test]
fn summaries_and_messages_are_for_people() {
    let secret = KeyHasher::siphash13([0xab; 16]);
    let filter = BloomFilter::from_plan(BloomPlan::new(100, 3).unwrap(), secret).unwrap();
    let text = format!("{filter:?}");
    assert!(text.contains("bits: 100") && !text.contains("171") && text.len() < 200, "{text}");
    let error = BloomFilter::with_capacity(10, 2.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a false-positive rate of 2 is not possible; use one above 0 and below 1, such as 0.01"
    );
    let error = BloomFilter::with_bits(10, 65).unwrap_err().to_string();
    assert_eq!(error, "65 probes per key are not possible; use 1 to 64");
}

#[test]
fn cleared_filters_are_empty() {
    let bloom = BloomFilter::with_bits(100, 3).unwrap();
    bloom.insert_unique("wren");
    bloom.clear();
    assert!(bloom == BloomFilter::with_bits(100, 3).unwrap());
    let mut blocked = BlockedBloomFilter::with_blocks(3).unwrap();
    blocked.insert_unique("wren");
    blocked.clear();
    assert!(blocked == BlockedBloomFilter::with_blocks(3).unwrap());
}

#[test]
#[cfg_attr(miri, ignore = "runs programs")]
fn all_of_this_with_fewer_instructions() {
    instruction_sets::run_again_with_fewer("bloom_sets::", "all_of_this_with_fewer_instructions");
}

fn saved(filter: &BloomFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("written");
    bytes
}

#[test]
fn a_saved_filter_tells_its_size_and_its_hash() {
    let key = *b"sixteen  letters";
    for hasher in [KeyHasher::xxh3(5), KeyHasher::siphash13(key)] {
        let filter = BloomFilter::from_plan(BloomPlan::new(700, 3).unwrap(), hasher).unwrap();
        filter.insert_unique_batch(&hashes(0..100));
        let bytes = saved(&filter);
        assert_eq!(bytes.len(), 64 + 88);
        assert!(BloomFilter::load(&bytes, Some(key)).unwrap() == filter);
    }
}

/// With another value in a field of the header (docs/format.md), and checksums that fit.
fn forged(mut bytes: Vec<u8>, at: usize, value: u32) -> Vec<u8> {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    let sum = KeyHasher::default().hash(&bytes[..56]).to_u64();
    bytes[56..64].copy_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn fields_of_the_header_that_no_filter_has_are_refused() {
    let bytes = saved(&BloomFilter::with_bits(700, 3).unwrap());
    let key = Some([7; 16]);
    for (at, name, values) in [
        (20, "hash algorithm", &[0, 3, u32::MAX][..]),
        (40, "probes", &[0, 65, u32::MAX]),
        (12, "header length", &[63, 128]),
    ] {
        for value in values {
            let error = BloomFilter::load(&forged(bytes.clone(), at, *value), key).unwrap_err();
            let words =
                format!("filter is damaged: its {name} field holds {value}, which is impossible");
            assert_eq!(error.to_string(), words);
        }
    }
    // The seed of this filter is no sign of the key.
    let error = BloomFilter::load(&forged(bytes.clone(), 20, 2), key).unwrap_err();
    assert_eq!(error.to_string(), "wrong secret hash key for this filter");
    assert!(BloomFilter::load(&forged(bytes, 20, 1), key).is_ok());
}

#[test]
fn damaged_and_foreign_filters_are_refused() {
    let hasher = KeyHasher::siphash13(*b"sixteen  letters");
    let secret = BloomFilter::from_plan(BloomPlan::new(700, 3).unwrap(), hasher).unwrap();
    let load = |bytes: &[u8], key| BloomFilter::load(bytes, key).unwrap_err().to_string();
    assert_eq!(load(&saved(&secret), None), "filter cannot be read without its secret hash key");
    let other = load(&saved(&secret), Some([7; 16]));
    assert_eq!(other, "wrong secret hash key for this filter");

    let filter = BloomFilter::with_bits(700, 3).unwrap();
    let bytes = saved(&filter);
    for length in 0..bytes.len() {
        assert!(BloomFilter::load(&bytes[..length], None).is_err(), "{length} bytes");
    }
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(BloomFilter::load(&damaged, None).is_err(), "bit {bit}");
    }
    assert!(BloomFilter::load(&[&bytes[..], &[0]].concat(), None).is_err());

    let mut cuckoo = Vec::new();
    coua::CuckooFilter::new().write_to(&mut cuckoo).unwrap();
    assert_eq!(load(&cuckoo, None), "not a Bloom filter but a cuckoo filter");
    let large = saved(&BloomFilter::with_bits(70_000, 3).unwrap());
    let error = coua::Load::new().bytes::<coua::CuckooFilter>(&large).unwrap_err();
    assert_eq!(error.to_string(), "not a cuckoo filter but a Bloom filter");
}
