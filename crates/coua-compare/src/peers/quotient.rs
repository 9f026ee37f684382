//! Quotient filters.

use qfilter::Filter;

use super::calls::{Calls, calls};
use crate::contestant::Entry;
use crate::keys::Key;

/// Where growing filters start.
const SMALL: u64 = 1024;

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    vec![
        Entry::new("qfilter", "xxh3, power of two", 16.0)
            .fixed(|plan| boxed(Filter::new(plan.items, plan.rate)))
            .growing(|plan| {
                boxed(Filter::new_resizeable(SMALL.min(plan.items), plan.items, plan.rate))
            }),
    ]
}

fn boxed<K: Key>(filter: Result<Filter, qfilter::Error>) -> crate::contestant::Made<K> {
    filter.map(Calls::boxed).map_err(|error| error.to_string())
}

calls!(Filter, filter, key;
    add => filter.insert_duplicated(key).is_ok(),
    has => filter.contains(key),
    take => filter.remove(key),
    add_if_absent => filter.insert(key).unwrap_or(false),
);
