//! Which of several runs a key belongs to.

use coua::KeyHash;
use serde::Serialize;

/// One of the equal shares that keys are divided into by their hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Shard {
    /// From 1.
    number: u32,
    of: u32,
}

impl Shard {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(number, of)| {
            let shard = Self { number: number.parse().ok()?, of: of.parse().ok()? };
            (1..=shard.of).contains(&shard.number).then_some(shard)
        });
        parsed.ok_or_else(|| "expected I/N with I from 1 to N, such as 2/8".to_owned())
    }

    /// Whether this is the shard that has what no key assigns to any.
    pub(crate) fn is_first(self) -> bool {
        self.number == 1
    }

    /// Filters place keys by the first bits of their hashes, and must not find all alike: the last decide
    /// here.
    pub(crate) fn has(self, hash: KeyHash) -> bool {
        let share = u128::from(hash.to_u64().swap_bytes()) * u128::from(self.of);
        (share >> 64) as u32 + 1 == self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua::KeyHasher;

    #[test]
    fn each_key_is_in_one_shard_and_shards_are_alike() {
        for of in [1, 2, 3, 8, 1000] {
            let mut keys = vec![0; of as usize];
            for number in 0..100_000 {
                let hash = KeyHasher::default().hash(number);
                let mut shards = (1..=of).filter(|&number| Shard { number, of }.has(hash));
                keys[shards.next().unwrap() as usize - 1] += 1;
                assert_eq!(shards.next(), None);
            }
            let mean = 100_000.0 / f64::from(of);
            let far = |keys: &i32| (f64::from(*keys) - mean).abs() > 6.0 * mean.sqrt();
            assert!(!keys.iter().any(far), "{of}: {keys:?}");
        }
    }

    #[test]
    fn shards_are_the_same_on_every_machine() {
        let of_hash = |hash| {
            let hash = KeyHash::from_u64(hash);
            (1..=5).find(|&number| Shard { number, of: 5 }.has(hash))
        };
        let hashes = [0, 0x33, 0x34, 0x9999_9999_9999_9999, 0x1234_5678_9abc_deff, u64::MAX];
        assert_eq!(hashes.map(of_hash), [1, 1, 2, 3, 5, 5].map(Some));
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        for text in
            ["", "1", "0/4", "5/4", "1/0", "/4", "1/", "a/b", "1/4/2", "-1/4", "1/99999999999"]
        {
            assert!(Shard::parse(text).is_err(), "{text}");
        }
        assert_eq!(Shard::parse("3/4"), Ok(Shard { number: 3, of: 4 }));
    }
}
