//! Coua itself: key by key, in batches, growing.

use coua::{CuckooFilter, CuckooFilterBuilder, WhenFull};
use coua_bench::keys::Key;

use super::{Contestant, Entry, Made, Plan};

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    vec![
        Entry { name: "coua", make: |plan| Ok(Box::new(Singles(build(fixed(plan))?))) },
        Entry { name: "coua, batches", make: |plan| Batches::boxed(fixed(plan)) },
        Entry { name: "coua growing, batches", make: |_| Batches::boxed(CuckooFilter::builder()) },
    ]
}

fn fixed(plan: Plan) -> CuckooFilterBuilder {
    CuckooFilter::builder().capacity(plan.items).rate(plan.rate).when_full(WhenFull::Refuse)
}

fn build(builder: CuckooFilterBuilder) -> Result<CuckooFilter, String> {
    builder.build().map_err(|error| error.to_string())
}

/// Single keys. Large tables are mappings, which the counting allocator does not see.
struct Singles(CuckooFilter);

impl<K: Key> Contestant<K> for Singles {
    fn insert(&mut self, keys: &[K], refused: &mut Vec<K>) {
        refused.extend(keys.iter().filter(|key| self.0.insert(*key).is_err()));
    }

    fn contains(&self, keys: &[K]) -> u64 {
        keys.iter().map(|key| u64::from(self.0.contains(key))).sum()
    }

    fn remove(&mut self, keys: &[K]) -> Option<u64> {
        Some(keys.iter().map(|key| u64::from(self.0.remove(key))).sum())
    }

    fn memory_bytes(&self) -> Option<usize> {
        Some(self.0.memory_bytes())
    }
}

/// One batch per block.
struct Batches(CuckooFilter);

impl Batches {
    fn boxed<K: Key>(builder: CuckooFilterBuilder) -> Made<K> {
        Ok(Box::new(Self(build(builder)?)))
    }
}

fn count(answers: &[bool]) -> u64 {
    answers.iter().map(|&answer| u64::from(answer)).sum()
}

impl<K: Key> Contestant<K> for Batches {
    fn insert(&mut self, keys: &[K], refused: &mut Vec<K>) {
        let mut left = keys;
        while let Err(full) = self.0.insert_batch(left) {
            refused.push(left[full.done]);
            left = &left[full.done + 1..];
        }
    }

    fn contains(&self, keys: &[K]) -> u64 {
        count(&self.0.contains_batch(keys))
    }

    fn remove(&mut self, keys: &[K]) -> Option<u64> {
        Some(count(&self.0.remove_batch(keys)))
    }

    fn memory_bytes(&self) -> Option<usize> {
        Some(self.0.memory_bytes())
    }
}
