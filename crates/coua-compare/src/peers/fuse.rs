//! A static filter, built once from all keys: no later insert, no removal.

use coua::KeyHasher;
use xorf::{BinaryFuse16, Filter};

use crate::contestant::{Contestant, Entry};
use crate::keys::Key;

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    vec![Entry { name: "xorf binary fuse", make: |_| Ok(Box::new(Fuse::default())) }]
}

/// It takes hashes: those of XXH3.
#[derive(Default)]
struct Fuse {
    hashes: Vec<u64>,
    filter: Option<BinaryFuse16>,
}

fn hash(key: &impl Key) -> u64 {
    KeyHasher::default().hash(key).to_u64()
}

impl<K: Key> Contestant<K> for Fuse {
    fn insert(&mut self, keys: &[K], _refused: &mut Vec<K>) {
        self.hashes.extend(keys.iter().map(hash));
    }

    fn seal(&mut self) {
        // Without a filter every key counts as lost, which the table shows.
        self.filter = BinaryFuse16::try_from(&self.hashes).ok();
        self.hashes = Vec::new();
    }

    fn contains(&self, keys: &[K]) -> u64 {
        let Some(filter) = &self.filter else {
            return 0;
        };
        keys.iter().map(|key| u64::from(filter.contains(&hash(key)))).sum()
    }
}
