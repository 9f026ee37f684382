//! Hash sets: of the keys themselves, and of their 64-bit hashes as line tools keep them.

use std::hash::{BuildHasherDefault, Hasher};

use coua::KeyHasher;
use hashbrown::HashSet;

use super::calls::{Calls, calls};
use crate::contestant::Entry;
use crate::keys::Key;

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    // A string takes its box, an allocation and its own bytes.
    let peak = if K::NAME == u64::NAME { 24.0 } else { 120.0 };
    vec![
        Entry::new("hashbrown, exact keys", "foldhash; no wrong answers", peak)
            .fixed(|plan| Ok(Calls::boxed(Exact::<K>(HashSet::with_capacity(plan.items as usize)))))
            .growing(|_| Ok(Calls::boxed(Exact::<K>(HashSet::new())))),
        Entry::new("hashbrown, 64-bit hashes", "xxh3", 24.0)
            .fixed(|plan| {
                let set = HashSet::with_capacity_and_hasher(plan.items as usize, Taken::default());
                Ok(Calls::boxed(Hashes(set)))
            })
            .growing(|_| Ok(Calls::boxed(Hashes(HashSet::default())))),
    ]
}

struct Exact<K: Key>(HashSet<K::Exact>);

calls!(Exact<K>, set, key;
    add => set.0.insert(key.exact()),
    has => set.0.contains(key),
    take => set.0.remove(key),
    // Strings are copied only where they are new.
    add_if_absent => !set.0.contains(key) && set.0.insert(key.exact()),
);

/// The key is a good hash already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0 << 8 | u64::from(byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

type Taken = BuildHasherDefault<AsIs>;

struct Hashes(HashSet<u64, Taken>);

calls!(Hashes, set, key;
    add => set.0.insert(key.hashed(KeyHasher::default()).to_u64()),
    has => set.0.contains(&key.hashed(KeyHasher::default()).to_u64()),
    take => set.0.remove(&key.hashed(KeyHasher::default()).to_u64()),
    add_if_absent => set.0.insert(key.hashed(KeyHasher::default()).to_u64()),
);
