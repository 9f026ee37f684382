//! Keys that count as seen from the start, whatever the filter of the run says.

use crate::key::block_keys::{BlockKeys, MissingKey, Reason, Seen};
use coua::KeyHash;
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

    /// Sets aside the keys of a block that are known: nothing else is asked about them.
    pub(super) fn set_aside(&self, keys: &mut BlockKeys) {
        for filter in &*self.0 {
            let known = filter.contains_batch(&keys.hashes);
            if known.contains(&true) {
                keys.set_aside(&known);
            }
        }
    }

    /// Notes that the known keys of a block were seen, whatever was found.
    pub(crate) fn mark(&self, keys: &BlockKeys, found: &mut [Seen]) {
        for filter in &*self.0 {
            let known = filter.contains_batch(&keys.hashes);
            let known = zip(found.iter_mut(), known).filter(|(_, is_known)| *is_known);
            known.for_each(|(found, _)| *found = Seen::Repeat);
        }
    }
}

impl BlockKeys {
    /// Takes out the keys for which this is so.
    fn set_aside(&mut self, known: &[bool]) {
        let is_out: Vec<usize> = (0..known.len()).filter(|nth| known[*nth]).collect();
        let out = is_out.iter().map(|nth| self.record_of_hash(*nth));
        let mut all: Vec<_> =
            out.map(|record| MissingKey { record, reason: Reason::Known }).collect();
        all.append(&mut self.missing_keys);
        all.sort_unstable_by_key(|it| it.record);
        self.missing_keys = all;
        let mut stays = known.iter().map(|known| !known);
        let mut next = || stays.next().unwrap_or(true);
        self.hashes.retain(|_: &KeyHash| next());
        let mut stays = known.iter().map(|known| !known);
        self.times.retain(|_| stays.next().unwrap_or(true));
        if !self.contents.ends.is_empty() {
            let before = std::mem::take(&mut self.contents);
            for (part, known) in before.iter().zip(known) {
                if !known {
                    self.contents.push(part);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::block_keys::Missing;

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
