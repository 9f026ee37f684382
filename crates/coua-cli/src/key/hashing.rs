//! The keys of whole blocks. Some are set aside: those that count as seen (`--known`), and those that an interrupted run
//! has done (`--resume`).

use crate::key::block_keys::{BlockKeys, Missing, MissingKey, Reason, Seen};
use crate::key::{Finder, Keys};
use crate::record::{Block, BlockEnd, Header, RecordFormat, no_memory, unmarked};
use crate::terminal::Failure;
use coua::window::Generations;
use coua::{KeyHash, KeyHasher};
use serde::Serialize;
use std::iter::zip;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// From this size of a record on, allocating memory for its key may fail, and the memory is freed afterwards.
const GIANT: usize = 16 << 20;

/// What to do with a record whose key, or a part of it, is missing: absent, empty or unreadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OnMissing {
    /// Print it as new, and count it.
    Keep,
    /// Drop it, and count it.
    Drop,
    /// Stop with exit code 2.
    Error,
    /// What is absent or empty is an empty value; keep an unreadable record.
    Value,
}

/// Finds and hashes the keys of a block's records.
#[derive(Clone, Debug)]
pub(crate) struct Hashing {
    pub(crate) format: RecordFormat,
    pub(crate) keys: Keys,
    pub(crate) hasher: KeyHasher,
    pub(crate) on_missing: Option<OnMissing>,
    pub(crate) shard: Option<Shard>,
    pub(crate) wanted: Wanted,
    pub(crate) known: Known,
    /// The records of each input that are done, from the first.
    pub(crate) done: Arc<[Done]>,
    /// Records that begin like this are comments.
    pub(crate) comment: Option<Arc<[u8]>>,
}

/// What the filter needs of every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Its hash: all that a filter here needs.
    Hash,
    /// The key itself as well: a server computes its own hashes.
    Key,
}

impl Hashing {
    /// Hashes the keys of all records of the block, and sets aside those that are done or known.
    pub(crate) fn hash(&mut self, block: &mut Block, keys: &mut BlockKeys) {
        self.hash_all(block, keys);
        self.set_done_aside(block, keys);
        self.known.set_aside(keys);
    }

    /// Sets aside the keys of records that are done, so that they are not looked up, and nothing is written.
    fn set_done_aside(&self, block: &Block, keys: &mut BlockKeys) {
        let Some(done) = self.done.get(block.input) else { return };
        let until = done.before_end_of(block, &self.format);
        keys.done = block.len().min(until.saturating_sub(block.records_before) as usize);
        if keys.done > 0 {
            let done = keys.hashes_before(keys.done);
            let is_done: Vec<_> = (0..keys.hashes.len()).map(|nth| nth < done).collect();
            keys.set_aside(&is_done, &Reason::Done);
        }
    }

    fn hash_all(&mut self, block: &mut Block, keys: &mut BlockKeys) {
        keys.clear();
        if self.shard.is_none() && self.comment.is_none() && self.keys.is_whole_record() {
            self.hash_records(block, keys);
            return;
        }
        // Restores the finder afterwards, to free the memory that a giant record took.
        let before = (block.size() >= GIANT).then(|| self.keys.clone());
        if before.is_some() {
            self.make_room(block);
        }
        if let Some((place, missing)) = self.hash_keys(block, keys) {
            let what = format_args!("record {}: {missing}", block.record_number(place));
            block.failure = Some(Failure::at(&block.name, what));
            block.cut(place);
        }
        if let Some(keys) = before {
            self.keys = keys;
        }
    }

    /// Hashes all records, which are their own keys.
    fn hash_records(&self, block: &Block, keys: &mut BlockKeys) {
        let key = |record| unmarked(self.format.content(record));
        keys.hashes.extend(block.records().map(|record| self.hasher.hash(key(record))));
        if self.wanted == Wanted::Key {
            block.records().for_each(|record| keys.contents.push(key(record)));
        }
    }

    /// Ends the block before a giant record for whose key there is no memory.
    fn make_room(&mut self, block: &mut Block) {
        let lengths = block.records().map(<[u8]>::len).enumerate();
        let lacks = lengths
            .filter(|(_, bytes)| *bytes >= GIANT)
            .find(|(_, bytes)| self.keys.make_room(*bytes).is_err());
        if let Some((place, bytes)) = lacks {
            block.failure = Some(no_memory(&block.name, bytes - 1));
            block.cut(place);
        }
    }

    /// Finds and hashes the keys of all records. If missing keys are errors, stops at the first, and returns its place
    /// and the reason.
    fn hash_keys(&mut self, block: &Block, keys: &mut BlockKeys) -> Option<(usize, Missing)> {
        // Comments before a header belong to it.
        let mut before_header = 0;
        if let Finder::Csv(columns) = &mut self.keys.finder {
            columns.use_places(block.columns.as_ref());
            let has_header = columns.need_header() || block.header_again.is_some();
            before_header = if has_header { block.leading } else { 0 };
        }
        if let Some(times) = &mut self.keys.times {
            times.look_up();
        }
        let comment = self.comment.clone();
        let BlockKeys { hashes, contents, times, missing_keys, .. } = keys;
        for (place, record) in block.records().enumerate() {
            let content = unmarked(self.format.content(record));
            let hash = || self.keys.hash(content, self.hasher).map_err(Reason::Missing);
            let comment = comment.as_deref().filter(|_| place >= before_header);
            let reason = why_missing(block, place, content, comment);
            let found = reason.map_or_else(hash, Err);
            let key = found.as_ref().ok().map(|(hash, _)| *hash);
            let reason = match found {
                _ if self.shard.is_some_and(|shard| !shard.has(key)) => Reason::OtherShard,
                Ok((hash, time)) => {
                    hashes.push(hash);
                    times.extend(time);
                    if self.wanted == Wanted::Key {
                        contents.push(&self.keys.key);
                    }
                    continue;
                }
                Err(Reason::Missing(missing)) if self.on_missing == Some(OnMissing::Error) => {
                    return Some((place, missing));
                }
                Err(reason) => reason,
            };
            missing_keys.push(MissingKey { record: place, reason });
        }
        None
    }
}

/// The reason why the record at this place, with this content, has no key, whatever a finder would find in it.
fn why_missing(
    block: &Block,
    place: usize,
    content: &[u8],
    comment: Option<&[u8]>,
) -> Option<Reason> {
    if comment.is_some_and(|comment| content.starts_with(comment)) {
        return Some(Reason::Comment);
    }
    if place < block.leading {
        return Some(Reason::Header(block.header));
    }
    if block.header_again.as_deref() == Some(content) {
        return Some(Reason::Header(Header::Repeated));
    }
    let is_open = block.ending == BlockEnd::OpenQuote && place + 1 == block.len();
    is_open.then_some(Reason::Missing(Missing::OpenQuote))
}

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

    /// Whether a record whose key has this hash is in this shard. Records without a key are in the first.
    pub(crate) fn has(self, hash: Option<KeyHash>) -> bool {
        hash.map_or(0, |hash| hash.share(self.of)) + 1 == self.number
    }
}

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
