//! Cuckoo filters.

use std::hash::RandomState;

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::TOO_MANY;
use super::calls::{Calls, calls, shared_calls};
use crate::contestant::{Contestant, Entry, Made, Plan};
use crate::keys::Key;

/// The crate's default; it wants it named.
#[expect(clippy::disallowed_types, reason = "the peer is measured as it comes")]
type Sip = std::collections::hash_map::DefaultHasher;

type Plain = cuckoofilter::CuckooFilter<Sip>;
type Scalable<K> =
    scalable_cuckoo_filter::ScalableCuckooFilter<K, scalable_cuckoo_filter::DefaultHasher, StdRng>;
type Autoscale<K> = autoscale_cuckoo_filter::CuckooFilter<K>;
type Atomic = atomic_cuckoo_filter::CuckooFilter<Sip>;
type Clock = cuckoo_clock::CuckooFilter<RandomState>;

/// Where growing filters start.
const SMALL: usize = 1024;

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    vec![
        Entry::new("cuckoofilter", "8-bit fingerprints, SipHash, power of two", 3.0)
            .fixed(|plan| Ok(Calls::boxed(Plain::with_capacity(plan.items as usize)))),
        Entry::new("scalable_cuckoo_filter", "SipHash, power of two, a chain when it grows", 24.0)
            .up_to(TOO_MANY)
            .fixed(|plan| Ok(Calls::boxed(scalable::<K>(plan.items as usize, plan.rate))))
            .growing(|plan| Ok(Calls::boxed(scalable::<K>(SMALL, plan.rate)))),
        Entry::new("autoscale_cuckoo_filter", "MuseAir hash, power of two, a chain", 24.0)
            .fixed(|plan| Ok(Calls::boxed(Autoscale::<K>::new(plan.items as usize, plan.rate))))
            .growing(|plan| Ok(Calls::boxed(Autoscale::<K>::new(SMALL, plan.rate)))),
        Entry::new("autoscale_cuckoo_filter, batches", "its own batch lookup", 24.0)
            .up_to(TOO_MANY)
            .fixed(|plan| {
                Ok(Box::new(AutoscaleBatch(Autoscale::<K>::new(plan.items as usize, plan.rate))))
            })
            .batched()
            .twin(),
        Entry::new("atomic-cuckoo-filter", "8, 16 or 32 bits, SipHash, power of two, threads", 8.0)
            .fixed(atomic),
        Entry::new(
            "cuckoo-clock",
            "SipHash, a mutex for every bucket, power of two, threads",
            60.0,
        )
        .up_to(TOO_MANY)
        .fixed(clock),
    ]
}

/// The default but for its random source, which is bound to one thread: this is the same one with a
/// fixed seed.
fn scalable<K: Key>(items: usize, rate: f64) -> Scalable<K> {
    scalable_cuckoo_filter::ScalableCuckooFilterBuilder::new()
        .initial_capacity(items)
        .false_positive_probability(rate)
        .rng(StdRng::seed_from_u64(1))
        .finish()
}

/// Bits that keep `rate` with two buckets of four slots.
fn fingerprint_bits(rate: f64) -> u32 {
    (8.0 / rate).log2().ceil() as u32
}

fn atomic<K: Key>(plan: Plan) -> Made<K> {
    let wanted = fingerprint_bits(plan.rate);
    let width = [4, 8, 16, 32].into_iter().find(|&bits| bits >= wanted).unwrap_or(32);
    let filter = Atomic::builder()
        .capacity(plan.items as usize)
        .fingerprint_size(width as usize)
        .build()
        .map_err(|error| error.to_string())?;
    Ok(Calls::boxed(filter))
}

fn clock<K: Key>(plan: Plan) -> Made<K> {
    // Slots take whole bytes, so the bits up to the next byte cost nothing.
    let width = fingerprint_bits(plan.rate).next_multiple_of(8).min(32);
    let bits = (width as usize).try_into().map_err(|_| format!("no width {width}"))?;
    let configuration = cuckoo_clock::config::CuckooConfiguration::builder(plan.items as usize)
        .fingerprint_bits(bits)
        .build()
        .map_err(|error| error.to_string())?;
    Ok(Calls::boxed(Clock::new_random(configuration)))
}

calls!(Plain, filter, key;
    add => Self::add(filter, key).is_ok(),
    has => filter.contains(key),
    take => filter.delete(key),
    add_if_absent => filter.test_and_add(key).unwrap_or(false),
);

calls!(Scalable<K>, filter, key;
    add => {
        filter.insert(key);
        true
    },
    has => filter.contains(key),
    take => filter.remove(key),
    add_if_absent => !filter.insert_if_not_contained(key),
);

calls!(Autoscale<K>, filter, key;
    add => {
        Self::add(filter, key);
        true
    },
    has => filter.contains(key),
    take => filter.remove(key),
    add_if_absent => !filter.add_if_not_exist(key),
);

struct AutoscaleBatch<K: Key>(Autoscale<K>);

impl<K: Key> Contestant<K> for AutoscaleBatch<K> {
    fn insert(&mut self, keys: &[K], _refused: &mut Vec<K>) {
        for key in keys {
            self.0.add(key);
        }
    }

    fn contains(&self, keys: &[K]) -> u64 {
        let mut answers = vec![false; keys.len()];
        self.0.contains_batch_into(keys, &mut answers);
        answers.iter().map(|&answer| u64::from(answer)).sum()
    }

    fn remove(&mut self, keys: &[K]) -> Option<u64> {
        Some(keys.iter().map(|key| u64::from(self.0.remove(key))).sum())
    }
}

calls!(Atomic, filter, key;
    add => filter.insert(key).is_ok(),
    has => filter.contains(key),
    take => filter.remove(key),
    add_if_absent => filter.insert_unique(key).unwrap_or(false),
    shared => true,
);
shared_calls!(Atomic, filter, key; Self::insert(filter, key).is_ok());

// An insert that finds no room evicts some key and names its fingerprint.
calls!(Clock, filter, key;
    add => filter.insert(key).is_none(),
    has => filter.contains(key),
    take => filter.remove(key),
    shared => true,
);
shared_calls!(Clock, filter, key; Self::insert(filter, key).is_none());
