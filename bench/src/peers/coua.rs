//! Coua itself: key by key, in batches, growing, and while about half of its segments are split.

use coua::{CuckooFilter, CuckooFilterBuilder, WhenFull};

use super::{Contestant, Entry, Made, Plan};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry { name: "coua", make: |plan| Ok(Box::new(Singles(build(fixed(plan))?))) },
        Entry { name: "coua, batches", make: |plan| Batches::boxed(fixed(plan)) },
        Entry {
            name: "coua, 16 bits a slot",
            make: |plan| Ok(Box::new(Singles(build(of_16_bits(plan))?))),
        },
        Entry { name: "coua growing, batches", make: |_| Batches::boxed(CuckooFilter::builder()) },
        Entry {
            name: "coua splitting",
            make: |plan| Ok(Box::new(Singles(build(splitting(plan))?))),
        },
        Entry { name: "coua splitting, batches", make: |plan| Batches::boxed(splitting(plan)) },
    ]
}

fn fixed(plan: Plan) -> CuckooFilterBuilder {
    CuckooFilter::builder().capacity(plan.items).rate(plan.rate).when_full(WhenFull::Refuse)
}

/// With all items, about half of its segments are split: they split at 1.02 to 1.06 times its capacity.
fn splitting(plan: Plan) -> CuckooFilterBuilder {
    fixed(Plan { items: plan.items * 27 / 28, ..plan }).when_full(WhenFull::ExceedRate)
}

/// Slots as wide as those of bloom-lib.
fn of_16_bits(plan: Plan) -> CuckooFilterBuilder {
    fixed(Plan { rate: 1.2e-4, ..plan })
}

fn build(builder: CuckooFilterBuilder) -> Result<CuckooFilter, String> {
    builder.build().map_err(|error| error.to_string())
}

/// Single keys. Large tables are mappings, which the counting allocator does not see.
struct Singles(CuckooFilter);

impl Contestant for Singles {
    fn insert(&mut self, keys: &[u64], refused: &mut Vec<u64>) {
        refused.extend(keys.iter().filter(|key| self.0.insert(*key).is_err()));
    }

    fn contains(&self, keys: &[u64]) -> u64 {
        keys.iter().map(|key| u64::from(self.0.contains(key))).sum()
    }

    fn remove(&mut self, keys: &[u64]) -> Option<u64> {
        Some(keys.iter().map(|key| u64::from(self.0.remove(key))).sum())
    }

    fn memory_bytes(&self) -> Option<usize> {
        Some(self.0.memory_bytes())
    }
}

/// One batch per block.
struct Batches(CuckooFilter);

impl Batches {
    fn boxed(builder: CuckooFilterBuilder) -> Made {
        Ok(Box::new(Self(build(builder)?)))
    }
}

fn count(answers: &[bool]) -> u64 {
    answers.iter().map(|&answer| u64::from(answer)).sum()
}

impl Contestant for Batches {
    fn insert(&mut self, keys: &[u64], refused: &mut Vec<u64>) {
        let mut left = keys;
        while let Err(full) = self.0.insert_batch(left) {
            refused.push(left[full.done]);
            left = &left[full.done + 1..];
        }
    }

    fn contains(&self, keys: &[u64]) -> u64 {
        count(&self.0.contains_batch(keys))
    }

    fn remove(&mut self, keys: &[u64]) -> Option<u64> {
        Some(count(&self.0.remove_batch(keys)))
    }

    fn memory_bytes(&self) -> Option<usize> {
        Some(self.0.memory_bytes())
    }
}
