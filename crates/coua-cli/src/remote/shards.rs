//! The keys of a filter on a server, and which of them holds an item.
//!
//! This is a promise: every process, of any version, must find an item in the same shard.

use coua::KeyHash;

/// Slots of a cluster.
const SLOTS: u16 = 16_384;

/// The keys that a filter is spread over.
#[derive(Clone, Debug)]
pub(super) struct Shards {
    keys: Vec<String>,
}

impl Shards {
    /// `name` alone, or `{name:0}` to `{name:N-1}`: each a hash tag of its own, so that a cluster
    /// spreads them over all of its slots.
    pub(super) fn new(name: &str, shards: Option<u32>) -> Self {
        let keys = match shards {
            None => vec![name.to_owned()],
            Some(shards) => (0..shards).map(|number| key(name, number)).collect(),
        };
        Self { keys }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The shard of an item by its hash, which is XXH3-64 with seed 0: as `--shard` divides records.
    pub(super) fn of(&self, hash: KeyHash) -> usize {
        hash.shard(self.keys.len() as u32) as usize
    }
}

/// The key of a shard.
pub(super) fn key(name: &str, number: u32) -> String {
    format!("{{{name}:{number}}}")
}

/// The slot of a key in a cluster: that of its hash tag, if it has one.
pub(super) fn slot(key: &str) -> u16 {
    let tag = key.strip_prefix('{').and_then(|key| key.strip_suffix('}'));
    crc16::State::<crc16::XMODEM>::calculate(tag.unwrap_or(key).as_bytes()) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::shard::Shard;
    use coua::KeyHasher;

    #[test]
    fn golden_shards() {
        let shards = Shards::new("seen", Some(64));
        let of = |item: &str| shards.of(KeyHasher::default().hash(item.as_bytes()));
        let found = ["", "a", "b", "https://example.org/", "coua"].map(of);
        assert_eq!(found, [48, 7, 15, 18, 51]);
    }

    /// One partition for runs that share the records out, and for filters on servers.
    #[test]
    fn shards_are_those_of_runs() {
        let hashes = (0..1000_u64).map(|item| KeyHasher::default().hash(item.to_le_bytes()));
        for hash in hashes {
            for count in [1, 2, 3, 64, 16_384] {
                let number = Shards::new("seen", Some(count)).of(hash) + 1;
                let shard = Shard::parse(&format!("{number}/{count}")).unwrap();
                assert!(shard.has(hash), "{number} of {count}");
            }
        }
    }

    #[test]
    fn keys_and_their_slots() {
        assert_eq!(Shards::new("seen", None).keys(), ["seen"]);
        let shards = Shards::new("seen", Some(2));
        assert_eq!(shards.keys(), ["{seen:0}", "{seen:1}"]);
        // As CLUSTER KEYSLOT answers.
        assert_eq!(
            ["123456789", "{seen:0}", "seen:0", "seen"].map(slot),
            [12739, 2055, 2055, 4229]
        );
    }
}
