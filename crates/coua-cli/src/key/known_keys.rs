//! Keys that are set aside: those that count as seen from the start (`--known`), and those that an interrupted run has
//! done (`--resume`).

use crate::key::block_keys::{BlockKeys, MissingKey, Reason, Seen};
use crate::record::{Block, RecordFormat};
use coua::KeyHasher;
use coua::window::Generations;
use std::iter::zip;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Filters of such keys, all of which hash as the run does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known(pub(crate) Arc<[KnownFilter]>);

/// One of these filters.
#[derive(Debug)]
pub(crate) struct KnownFilter {
    filter: Generations,
    /// What to say if no key is in it.
    hint: Option<String>,
    has_some: AtomicBool,
}

impl KnownFilter {
    pub(crate) fn new(filter: Generations, hint: Option<String>) -> Self {
        Self { filter, hint, has_some: AtomicBool::new(false) }
    }

    /// Which keys of a block are in it.
    fn find(&self, keys: &BlockKeys) -> Vec<bool> {
        let known = self.filter.contains_batch(&keys.hashes);
        if known.contains(&true) {
            self.has_some.store(true, Relaxed);
        }
        known
    }
}

impl Known {
    /// The hints of the filters in which no key was found.
    pub(crate) fn hints(&self) -> impl Iterator<Item = &str> {
        let unused = self.0.iter().filter(|it| !it.has_some.load(Relaxed));
        unused.filter_map(|it| it.hint.as_deref())
    }

    /// How many new records are expected to count as seen, if `new` others did not.
    pub(crate) fn expected_wrongly_found(&self, new: u64) -> f64 {
        let passed: f64 = self.0.iter().map(|it| 1.0 - it.filter.false_positive_rate()).product();
        if new == 0 { 0.0 } else { new as f64 * (1.0 - passed) / passed }
    }

    /// Sets aside the keys of a block that are known, so that they are not looked up elsewhere.
    pub(super) fn set_aside(&self, keys: &mut BlockKeys) {
        for filter in &*self.0 {
            let known = filter.find(keys);
            if known.contains(&true) {
                keys.set_aside(&known, &Reason::Known);
            }
        }
    }

    /// Marks the known keys of a block as seen, whatever was found.
    pub(crate) fn mark(&self, keys: &BlockKeys, found: &mut [Seen]) {
        for filter in &*self.0 {
            let known = filter.find(keys);
            let known = zip(found.iter_mut(), known).filter(|(_, is_known)| *is_known);
            known.for_each(|(found, _)| *found = Seen::Repeat);
        }
    }
}

/// The records of an input, from its first, that are done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) records: u64,
    /// The [`mark`](Self::mark) of the last one, if it had no separator. If it has grown, it is a new record.
    pub(crate) unended: Option<u64>,
}

impl Done {
    /// A checksum of a record's content, which is not 0.
    pub(crate) fn mark(record: &[u8], format: &RecordFormat) -> u64 {
        KeyHasher::default().hash(format.content(record)).to_u64().max(1)
    }

    /// The number of these records before the end of a block.
    pub(crate) fn before_end_of(self, block: &Block, format: &RecordFormat) -> u64 {
        let (Some(unended), Some(last)) = (self.unended, self.records.checked_sub(1)) else {
            return self.records;
        };
        let place = last.checked_sub(block.records_before);
        let record = place.and_then(|place| block.record(place as usize));
        let has_grown = |record| Self::mark(record, format) != unended;
        if record.is_some_and(has_grown) { last } else { self.records }
    }
}

/// The records of all inputs that are done.
#[derive(Clone, Debug, Default)]
pub(crate) struct DoneRecords(pub(crate) Arc<[Done]>);

impl DoneRecords {
    /// Sets aside the keys of records that are done, so that they are not looked up, and nothing is written.
    pub(super) fn set_aside(&self, block: &Block, format: &RecordFormat, keys: &mut BlockKeys) {
        let until = self.0.get(block.input).map_or(0, |done| done.before_end_of(block, format));
        keys.done = block.len().min(until.saturating_sub(block.records_before) as usize);
        if keys.done > 0 {
            let done = keys.hashes_before(keys.done);
            let is_done: Vec<_> = (0..keys.hashes.len()).map(|nth| nth < done).collect();
            keys.set_aside(&is_done, &Reason::Done);
        }
    }
}

impl BlockKeys {
    /// Removes the keys with `true`, for this reason.
    fn set_aside(&mut self, known: &[bool], reason: &Reason) {
        let mut missing = std::mem::take(&mut self.missing_keys).into_iter().peekable();
        let mut record = 0;
        for is_known in known {
            while let Some(it) = missing.next_if(|it| it.record == record) {
                self.missing_keys.push(it);
                record += 1;
            }
            if *is_known {
                self.missing_keys.push(MissingKey { record, reason: reason.clone() });
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
        keys.set_aside(&vec![true; count], &Reason::Known);
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
        keys.set_aside(&[true, false, true, false], &Reason::Known);
        assert_eq!(keys.hashes, [12, 14].map(hash));
        assert_eq!(keys.times, [2, 4]);
        assert_eq!(keys.contents.iter().collect::<Vec<_>>(), [b"c", b"e"]);
        let records: Vec<_> = keys.missing_keys.iter().map(|it| it.record).collect();
        assert_eq!(records, [0, 1, 3]);
        assert_eq!([0, 1].map(|nth| keys.record_of_hash(nth)), [2, 4]);
    }
}
