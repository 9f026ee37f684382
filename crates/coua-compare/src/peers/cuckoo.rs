//! Cuckoo filters and a quotient filter.

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::calls::{Calls, calls};
use crate::contestant::{Entry, Made, Plan};
use crate::keys::Key;

/// The hasher that these crates want named.
type Sip = std::collections::hash_map::DefaultHasher;

type Plain = cuckoofilter::CuckooFilter<Sip>;
type Scalable<K> =
    scalable_cuckoo_filter::ScalableCuckooFilter<K, scalable_cuckoo_filter::DefaultHasher, StdRng>;
type Autoscale<K> = autoscale_cuckoo_filter::CuckooFilter<K>;
type Atomic = atomic_cuckoo_filter::CuckooFilter<Sip>;
type BloomLib<K> = bloom_lib::CuckooFilter<K>;

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    vec![
        Entry {
            name: "bloom-lib",
            make: |plan| {
                let filter = BloomLib::<K>::new(plan.items as usize);
                Ok(Calls::boxed(filter.map_err(|error| error.to_string())?))
            },
        },
        Entry {
            name: "cuckoofilter",
            make: |plan| Ok(Calls::boxed(Plain::with_capacity(plan.items as usize))),
        },
        Entry { name: "scalable_cuckoo_filter", make: scalable },
        Entry {
            name: "autoscale_cuckoo_filter",
            make: |plan| Ok(Calls::boxed(Autoscale::<K>::new(plan.items as usize, plan.rate))),
        },
        Entry { name: "atomic-cuckoo-filter", make: atomic },
        Entry {
            name: "qfilter",
            make: |plan| {
                let filter = qfilter::Filter::new(plan.items, plan.rate);
                Ok(Calls::boxed(filter.map_err(|error| error.to_string())?))
            },
        },
    ]
}

/// The default but for its random source, which is bound to one thread: the same one with a fixed seed.
fn scalable<K: Key>(plan: Plan) -> Made<K> {
    let filter: Scalable<K> = scalable_cuckoo_filter::ScalableCuckooFilterBuilder::new()
        .initial_capacity(plan.items as usize)
        .false_positive_probability(plan.rate)
        .rng(StdRng::seed_from_u64(1))
        .finish();
    Ok(Calls::boxed(filter))
}

/// It has widths of 4, 8, 16 and 32 bits.
fn atomic<K: Key>(plan: Plan) -> Made<K> {
    let wanted = (8.0 / plan.rate).log2().ceil() as usize;
    let width = [4, 8, 16, 32].into_iter().find(|&bits| bits >= wanted).unwrap_or(32);
    let builder = Atomic::builder().capacity(plan.items as usize).fingerprint_size(width);
    Ok(Calls::boxed(builder.build().map_err(|error| error.to_string())?))
}

calls!(BloomLib<K>, filter, key;
    add => Self::insert(filter, key).is_ok(),
    has => filter.contains(key),
    take => filter.remove(key),
);

calls!(Plain, filter, key;
    add => Self::add(filter, key).is_ok(),
    has => filter.contains(key),
    take => filter.delete(key),
);

calls!(Scalable<K>, filter, key;
    add => {
        filter.insert(key);
        true
    },
    has => filter.contains(key),
    take => filter.remove(key),
);

calls!(Autoscale<K>, filter, key;
    add => {
        Self::add(filter, key);
        true
    },
    has => filter.contains(key),
    take => filter.remove(key),
);

calls!(Atomic, filter, key;
    add => filter.insert(key).is_ok(),
    has => filter.contains(key),
    take => filter.remove(key),
);

calls!(qfilter::Filter, filter, key;
    add => filter.insert_duplicated(key).is_ok(),
    has => filter.contains(key),
    take => filter.remove(key),
);
