//! The keys of whole blocks.

use crate::key::Keys;
use crate::key::block_keys::{BlockKeys, Missing, MissingKey, Reason};
use crate::key::finder::Finder;
use crate::key::known_keys::{DoneRecords, Known};
use crate::record::{Block, BlockEnd, Header, RecordFormat, no_memory, unmarked};
use crate::terminal::Failure;
use coua::{KeyHash, KeyHasher};
use serde::Serialize;
use std::sync::Arc;

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
    pub(crate) done: DoneRecords,
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
        self.done.set_aside(block, &self.format, keys);
        self.known.set_aside(keys);
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
        if let (Some(places), Finder::Csv(columns)) = (&block.columns, &mut self.keys.finder) {
            columns.use_places(places);
        }
        if let Some(times) = &mut self.keys.times {
            times.look_up();
        }
        let comment = self.comment.clone();
        let BlockKeys { hashes, contents, times, missing_keys, .. } = keys;
        for (place, record) in block.records().enumerate() {
            let content = unmarked(self.format.content(record));
            let hash = || self.keys.hash(content, self.hasher).map_err(Reason::Missing);
            let reason = why_missing(block, place, content, comment.as_deref());
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
    let is_comment = comment.is_some_and(|comment| content.starts_with(comment));
    let is_leading = place < block.leading;
    // Comments before a header belong to it.
    if is_comment && !(is_leading && block.header_again.is_some()) {
        return Some(Reason::Comment);
    }
    if is_leading {
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
