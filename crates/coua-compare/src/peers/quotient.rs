//! Quotient filters.

use qfilter::Filter;

use crate::contestant::{Calls, Entry, OneByOne};
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

impl<K: Key> OneByOne<K> for Filter {
    const ADDS_IF_ABSENT: bool = true;

    fn add(&mut self, key: &K) -> bool {
        self.insert_duplicated(key).is_ok()
    }

    fn has(&self, key: &K) -> bool {
        self.contains(key)
    }

    fn take(&mut self, key: &K) -> bool {
        self.remove(key)
    }

    fn add_if_absent(&mut self, key: &K) -> bool {
        self.insert(key).unwrap_or(false)
    }
}
