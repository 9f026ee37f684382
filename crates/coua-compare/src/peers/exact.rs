//! Hash sets of the keys themselves: no wrong answers.

use hashbrown::HashSet;

use super::calls::{Calls, calls};
use crate::contestant::Entry;
use crate::keys::Key;

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    vec![Entry {
        name: "hashbrown",
        make: |plan| Ok(Calls::boxed(HashSet::<K>::with_capacity(plan.items as usize))),
    }]
}

// A short string lies in the set itself, as in a set of small strings.
calls!(HashSet<K>, set, key;
    add => Self::insert(set, *key),
    has => set.contains(key),
    take => set.remove(key),
);
