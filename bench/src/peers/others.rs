//! A Bloom filter, a static filter, a hash set.

#![expect(clippy::redundant_closure_for_method_calls, reason = "calls look alike")]

use coua::KeyHasher;
use hashbrown::HashSet;
use xorf::{BinaryFuse16, Filter as _};

use super::calls::{calls, calls_and_removal};
use super::{Contestant, Entry, Made, Plan};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry { name: "fastbloom", make: fastbloom },
        Entry { name: "xorf binary fuse", make: |_| Ok(Box::new(Fuse::default())) },
        Entry { name: "hashbrown", make: hash_set },
    ]
}

fn fastbloom(plan: Plan) -> Made {
    let builder = fastbloom::BloomFilter::with_false_pos(plan.rate);
    let add = |f: &mut fastbloom::BloomFilter, k: &u64| {
        f.insert(k);
        true
    };
    calls(builder.expected_items(plan.items as usize), add, |f, k| f.contains(k))
}

fn hash_set(plan: Plan) -> Made {
    let set = HashSet::<u64>::with_capacity(plan.items as usize);
    calls_and_removal(set, |s, k| s.insert(*k), |s, k| s.contains(k), |s, k| s.remove(k))
}

/// XXH3, for crates that take hashes.
fn hash(key: u64) -> u64 {
    KeyHasher::default().hash(key).to_u64()
}

/// Built once from all keys: no later insert, no removal.
#[derive(Default)]
struct Fuse {
    hashes: Vec<u64>,
    filter: Option<BinaryFuse16>,
}

impl Contestant for Fuse {
    fn insert(&mut self, keys: &[u64], _refused: &mut Vec<u64>) {
        self.hashes.extend(keys.iter().map(|&key| hash(key)));
    }

    fn seal(&mut self) {
        // Without a filter every key counts as lost, as the table shows.
        self.filter = BinaryFuse16::try_from(&self.hashes).ok();
        self.hashes = Vec::new();
    }

    fn contains(&self, keys: &[u64]) -> u64 {
        let Some(filter) = &self.filter else {
            return 0;
        };
        keys.iter().map(|key| u64::from(filter.contains(&hash(*key)))).sum()
    }
}
