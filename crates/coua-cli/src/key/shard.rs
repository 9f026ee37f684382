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
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let parsed = text.split_once('/').and_then(|(number, of)| {
            let shard = Self { number: number.parse().ok()?, of: of.parse().ok()? };
            (1..=shard.of).contains(&shard.number).then_some(shard)
        });
        parsed.ok_or("expected I/N with I from 1 to N, such as 2/8")
    }

    /// Whether a record whose key has this hash is its own. The first one has those without a key.
    pub(crate) fn has(self, hash: Option<KeyHash>) -> bool {
        hash.map_or(0, |hash| hash.share(self.of)) + 1 == self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_shard_is_refused() {
        for text in
            ["", "1", "0/4", "5/4", "1/0", "/4", "1/", "a/b", "1/4/2", "-1/4", "1/99999999999"]
        {
            assert!(Shard::parse(text).is_err(), "{text}");
        }
        assert_eq!(Shard::parse("3/4"), Ok(Shard { number: 3, of: 4 }));
    }

    /// As Python and filters on servers divide keys: one partition for all.
    #[test]
    fn shards_are_those_of_the_library() {
        for hash in (0..1000_u64).map(|item| coua::KeyHasher::default().hash(item.to_le_bytes())) {
            for of in [1, 2, 3, 64, 16_384] {
                let numbers =
                    (1..=of).filter(|number| Shard { number: *number, of }.has(Some(hash)));
                assert!(numbers.eq([hash.share(of) + 1]), "of {of}");
            }
        }
    }
}
