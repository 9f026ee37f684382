//! The keys of a filter on a server, and which of them holds an item.
//!
//! This is a promise: every process, of any version, must find an item in the same shard.

use coua::KeyHash;

/// Slots of a cluster.
const SLOTS: u16 = 16_384;

/// The keys that a filter is spread over.
#[derive(Clone, Debug)]
pub(crate) struct Shards {
    keys: Vec<String>,
}

impl Shards {
    /// `name` alone, or `{name:0}` to `{name:N-1}`: each a hash tag of its own, so that a cluster
    /// spreads them over all of its slots.
    pub(crate) fn new(name: &str, shards: Option<u32>) -> Self {
        let keys = match shards {
            None => vec![name.to_owned()],
            Some(shards) => (0..shards).map(|number| key(name, number)).collect(),
        };
        Self { keys }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The shard of an item by its hash, which is XXH3-64 with seed 0: as `--shard` divides records.
    pub(crate) fn of(&self, hash: KeyHash) -> usize {
        hash.share(self.keys.len() as u32) as usize
    }
}

/// The key of a shard.
pub(crate) fn key(name: &str, number: u32) -> String {
    format!("{{{name}:{number}}}")
}

/// The slot of a key in a cluster: that of its hash tag, if it has one.
pub(crate) fn slot(key: &str) -> u16 {
    let tag = key.strip_prefix('{').and_then(|key| key.strip_suffix('}'));
    crc16::State::<crc16::XMODEM>::calculate(tag.unwrap_or(key).as_bytes()) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua::KeyHasher;

    #[test]
    fn golden_shards() {
        let shards = Shards::new("seen", Some(64));
        let of = |item: &str| shards.of(KeyHasher::default().hash(item.as_bytes()));
        let found = ["", "a", "b", "https://example.org/", "coua"].map(of);
        assert_eq!(found, [48, 7, 15, 18, 51]);
    }

    /// As `coua dedup --shard` and Python divide keys: one partition for all.
    #[test]
    fn shards_are_those_of_the_library() {
        for hash in (0..1000_u64).map(|item| KeyHasher::default().hash(item.to_le_bytes())) {
            for count in [1, 2, 3, 64, 16_384] {
                let found = Shards::new("seen", Some(count)).of(hash);
                assert_eq!(found, hash.share(count) as usize, "of {count}");
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
