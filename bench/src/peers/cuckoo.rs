//! Cuckoo filters and a quotient filter.

#![expect(clippy::redundant_closure_for_method_calls, reason = "calls look alike")]

use coua_bench::keys::Key;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::calls::calls_and_removal as calls;
use super::{Entry, Made, Plan};

/// The hasher type that these crates require.
#[expect(clippy::disallowed_types, reason = "that of the peers' users")]
type Sip = std::collections::hash_map::DefaultHasher;

type Scalable<K> =
    scalable_cuckoo_filter::ScalableCuckooFilter<K, scalable_cuckoo_filter::DefaultHasher, StdRng>;

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    vec![
        Entry { name: "bloom-lib", make: bloom_lib },
        Entry { name: "cuckoofilter", make: cuckoofilter },
        Entry { name: "scalable_cuckoo_filter", make: scalable },
        Entry { name: "autoscale_cuckoo_filter", make: autoscale },
        Entry { name: "atomic-cuckoo-filter", make: atomic },
        Entry { name: "qfilter", make: qfilter },
    ]
}

fn bloom_lib<K: Key>(plan: Plan) -> Made<K> {
    let filter = bloom_lib::CuckooFilter::<K>::new(plan.items as usize);
    let filter = filter.map_err(|error| error.to_string())?;
    calls(filter, |f, k| f.insert(k).is_ok(), |f, k| f.contains(k), |f, k| f.remove(k))
}

fn cuckoofilter<K: Key>(plan: Plan) -> Made<K> {
    let filter = cuckoofilter::CuckooFilter::<Sip>::with_capacity(plan.items as usize);
    calls(filter, |f, k| f.add(k).is_ok(), |f, k| f.contains(k), |f, k| f.delete(k))
}

/// The default, except that its random source, which is bound to one thread, is replaced by the same one with a fixed
/// seed.
fn scalable<K: Key>(plan: Plan) -> Made<K> {
    let filter: Scalable<K> = scalable_cuckoo_filter::ScalableCuckooFilterBuilder::new()
        .initial_capacity(plan.items as usize)
        .false_positive_probability(plan.rate)
        .rng(StdRng::seed_from_u64(1))
        .finish();
    let add = |f: &mut Scalable<K>, k: &K| {
        f.insert(k);
        true
    };
    calls(filter, add, |f, k| f.contains(k), |f, k| f.remove(k))
}

fn autoscale<K: Key>(plan: Plan) -> Made<K> {
    type Filter<K> = autoscale_cuckoo_filter::CuckooFilter<K>;
    let add = |f: &mut Filter<K>, k: &K| {
        f.add(k);
        true
    };
    let filter = Filter::<K>::new(plan.items as usize, plan.rate);
    calls(filter, add, |f, k| f.contains(k), |f, k| f.remove(k))
}

/// The crate has widths of 4, 8, 16 and 32 bits.
fn atomic<K: Key>(plan: Plan) -> Made<K> {
    let wanted = (8.0 / plan.rate).log2().ceil() as usize;
    let width = [4, 8, 16, 32].into_iter().find(|&bits| bits >= wanted).unwrap_or(32);
    let builder = atomic_cuckoo_filter::CuckooFilter::<Sip>::builder();
    let filter = builder.capacity(plan.items as usize).fingerprint_size(width).build();
    let filter = filter.map_err(|error| error.to_string())?;
    calls(filter, |f, k| f.insert(k).is_ok(), |f, k| f.contains(k), |f, k| f.remove(k))
}

fn qfilter<K: Key>(plan: Plan) -> Made<K> {
    let filter = qfilter::Filter::new(plan.items, plan.rate).map_err(|error| error.to_string())?;
    calls(filter, |f, k| f.insert_duplicated(k).is_ok(), |f, k| f.contains(k), |f, k| f.remove(k))
}
