//! What is known about the keys of a block.

use crate::key::parts::{Missing, Parts};
use crate::record::Header;
use coua::KeyHash;
use coua::window::When;

/// The keys of a block's records. Of most records the hash is all that is known.
#[derive(Debug, Default)]
pub(crate) struct BlockKeys {
    /// The hashes of the records that have a key, in their order.
    pub(crate) hashes: Vec<KeyHash>,
    /// The keys of the same records, where they are wanted.
    pub(crate) contents: Parts,
    /// The times of the same records, where records have times.
    pub(crate) times: Vec<u64>,
    /// The records without a key, in their order.
    pub(crate) missing_keys: Vec<MissingKey>,
}

/// A record without a key.
#[derive(Clone, Debug)]
pub(crate) struct MissingKey {
    /// The record's place in the block.
    pub(crate) record: usize,
    pub(crate) reason: Reason,
}

/// Why a record has no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Header(Header),
    Missing(Missing),
    /// It has one, but is another run's (`--shard`).
    OtherShard,
}

impl BlockKeys {
    pub(crate) fn clear(&mut self) {
        self.hashes.clear();
        self.contents.clear();
        self.times.clear();
        self.missing_keys.clear();
    }

    /// When the records happened from the `nth` one with a key (from 0) on.
    pub(crate) fn when_from(&self, nth: usize) -> When<'_> {
        if self.times.is_empty() { When::Now } else { When::Each(&self.times[nth..]) }
    }

    /// The place of the record that has the `nth` hash (from 0).
    pub(crate) fn record_of_hash(&self, nth: usize) -> usize {
        self.missing_keys.iter().fold(nth, |place, it| place + usize::from(it.record <= place))
    }

    /// How many of the records before this place have a key.
    pub(crate) fn hashes_before(&self, place: usize) -> usize {
        place - self.missing_keys.iter().take_while(|it| it.record < place).count()
    }

    /// Spreads answers over all records: those with a key have theirs in order; the others what `without`
    /// says. Ends early where the answers do.
    pub(crate) fn spread(
        &self,
        answers: impl IntoIterator<Item = bool>,
        without: impl Fn(&Reason) -> bool,
        all: &mut Vec<bool>,
    ) {
        all.clear();
        let mut answers = answers.into_iter();
        for exception in &self.missing_keys {
            while all.len() < exception.record {
                let Some(answer) = answers.next() else { return };
                all.push(answer);
            }
            all.push(without(&exception.reason));
        }
        all.extend(answers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys_without(records: &[usize]) -> BlockKeys {
        let reason = Reason::Missing(Missing::Match);
        let missing = records.iter().map(|&record| MissingKey { record, reason: reason.clone() });
        BlockKeys { missing_keys: missing.collect(), ..BlockKeys::default() }
    }

    #[test]
    fn answers_are_spread_over_the_records_with_a_key() {
        let mut all = Vec::new();
        keys_without(&[]).spread([true, false], |_| true, &mut all);
        assert_eq!(all, [true, false]);
        keys_without(&[0, 2, 3]).spread([true, true], |_| false, &mut all);
        assert_eq!(all, [false, true, false, false, true]);
        keys_without(&[1, 3]).spread([true], |_| false, &mut all);
        assert_eq!(all, [true, false], "ends with the answers");
    }

    #[test]
    fn hashes_know_their_records() {
        let keys = keys_without(&[0, 2, 3]);
        assert_eq!([0, 1, 2].map(|nth| keys.record_of_hash(nth)), [1, 4, 5]);
    }
}
