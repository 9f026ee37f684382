//! Static filters, built once from all keys: no later insert, no removal.

use coua::KeyHasher;
use xorf::{BinaryFuse8, BinaryFuse16, BinaryFuse32, Filter};

use crate::contestant::{Contestant, Entry, Plan};
use crate::keys::Key;

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    vec![
        Entry::new(
            "xorf binary fuse",
            "8, 16 or 32 bits, static; keys hashed by xxh3 outside",
            40.0,
        )
        .fixed(|plan| Ok(boxed(plan))),
    ]
}

fn boxed<K: Key>(plan: Plan) -> Box<dyn Contestant<K>> {
    // A static filter answers wrongly with probability 2^-width.
    match -plan.rate.log2() {
        ..=8.0 => Box::new(Fuse::<BinaryFuse8>::new(plan)),
        ..=16.0 => Box::new(Fuse::<BinaryFuse16>::new(plan)),
        _ => Box::new(Fuse::<BinaryFuse32>::new(plan)),
    }
}

struct Fuse<F> {
    hashes: Vec<u64>,
    filter: Option<F>,
}

impl<F> Fuse<F> {
    fn new(plan: Plan) -> Self {
        Self { hashes: Vec::with_capacity(plan.items as usize), filter: None }
    }
}

impl<K: Key, F> Contestant<K> for Fuse<F>
where
    F: Filter<u64> + for<'a> TryFrom<&'a Vec<u64>> + Send + Sync,
{
    fn insert(&mut self, keys: &[K], _refused: &mut Vec<K>) {
        let hasher = KeyHasher::default();
        self.hashes.extend(keys.iter().map(|key| key.hashed(hasher).to_u64()));
    }

    fn seal(&mut self) {
        // Without a filter every key counts as lost, which the table shows.
        self.filter = F::try_from(&self.hashes).ok();
        self.hashes = Vec::new();
    }

    fn contains(&self, keys: &[K]) -> u64 {
        let Some(filter) = &self.filter else {
            return 0;
        };
        let hasher = KeyHasher::default();
        keys.iter().map(|key| u64::from(filter.contains(&key.hashed(hasher).to_u64()))).sum()
    }
}
