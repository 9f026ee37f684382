//! Keys that count as seen from the start (`--known`).

use crate::key::block_keys::{BlockKeys, MissingKey, Reason, Seen};
use coua::window::Generations;
use std::iter::zip;
use std::sync::Arc;

/// Filters of such keys, all of which hash as the run does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known(Arc<[Generations]>);

impl Known {
    pub(crate) fn new(filters: Vec<Generations>) -> Self {
        Self(filters.into())
    }

    /// How many new records are expected to count as seen, if `new` others did not.
    pub(crate) fn expected_wrongly_found(&self, new: u64) -> f64 {
        let passed: f64 = self.0.iter().map(|filter| 1.0 - filter.false_positive_rate()).product();
        if new == 0 { 0.0 } else { new as f64 * (1.0 - passed) / passed }
    }

    /// Sets aside the keys of a block that are known, so that they are not looked up elsewhere.
    pub(super) fn set_aside(&self, keys: &mut BlockKeys) {
        for filter in &*self.0 {
            let known = filter.contains_batch(&keys.hashes);
            if known.contains(&true) {
                keys.set_aside(&known);
            }
        }
    }

    /// Marks the known keys of a block as seen, whatever was found.
    pub(crate) fn mark(&self, keys: &BlockKeys, found: &mut [Seen]) {
        for filter in &*self.0 {
            let known = filter.contains_batch(&keys.hashes);
            let known = zip(found.iter_mut(), known).filter(|(_, is_known)| *is_known);
            known.for_each(|(found, _)| *found = Seen::Repeat);
        }
    }
}

impl BlockKeys {
    /// Removes the known keys.
    fn set_aside(&mut self, known: &[bool]) {
        let mut missing = std::mem::take(&mut self.missing_keys).into_iter().peekable();
        let mut record = 0;
        for is_known in known {
            while let Some(it) = missing.next_if(|it| it.record == record) {
                self.missing_keys.push(it);
                record += 1;
            }
            if *is_known {
                self.missing_keys.push(MissingKey { record, reason: Reason::Known });
            }
            record += 1;
        }
        self.missing_keys.extend(missing);
        keep_others(&mut self.hashes, known);
        keep_others(&mut self.times, known);
        if !self.contents.ends.is_empty() {
            let before = std::mem::take(&mut self.contents);
            let others = zip(before.iter(), known).filter(|(_, is_known)| !**is_known);
            others.for_each(|(part, _)| self.contents.push(part));
        }
    }
}

fn keep_others<T>(all: &mut Vec<T>, known: &[bool]) {
    let mut known = known.iter();
    all.retain(|_| !known.next().unwrap_or(&false));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::block_keys::Missing;
    use coua::KeyHash;

    /// A block may have as many records without a key as known ones.
    #[test]
    fn records_without_a_key_cost_nothing_each() {
        let (count, reason) = (400_000, Reason::Missing(Missing::Match));
        let missing = |n| MissingKey { record: 2 * n, reason: reason.clone() };
        let hashes = vec![KeyHash::from_u64(7); count];
        let missing_keys = (0..count).map(missing).collect();
        let mut keys = BlockKeys { hashes, missing_keys, ..BlockKeys::default() };
        keys.set_aside(&vec![true; count]);
        assert!(keys.hashes.is_empty());
        assert!(keys.missing_keys.iter().map(|it| it.record).eq(0..2 * count));
    }

    #[test]
    fn what_is_set_aside_leaves_the_others_in_order() {
        let hash = |n| KeyHash::from_u64(n);
        let missing = MissingKey { record: 1, reason: Reason::Missing(Missing::Match) };
        let mut keys = BlockKeys {
            hashes: [10, 12, 13, 14].map(hash).to_vec(),
            times: vec![0, 2, 3, 4],
            missing_keys: vec![missing],
            ..BlockKeys::default()
        };
        for part in [b"a", b"c", b"d", b"e"] {
            keys.contents.push(part);
        }
        keys.set_aside(&[true, false, true, false]);
        assert_eq!(keys.hashes, [12, 14].map(hash));
        assert_eq!(keys.times, [2, 4]);
        assert_eq!(keys.contents.iter().collect::<Vec<_>>(), [b"c", b"e"]);
        let records: Vec<_> = keys.missing_keys.iter().map(|it| it.record).collect();
        assert_eq!(records, [0, 1, 3]);
        assert_eq!([0, 1].map(|nth| keys.record_of_hash(nth)), [2, 4]);
    }
}
