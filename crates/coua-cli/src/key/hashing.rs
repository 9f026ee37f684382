//! The keys of whole blocks.

use crate::args::input::OnMissing;
use crate::input::block::{Block, Ending, Keyless, Why};
use crate::input::reader::no_memory;
use crate::key::shard::Shard;
use crate::key::{Keys, Missing, Parts};
use crate::message::Failure;
use crate::record::Format;
use coua::{KeyHash, KeyHasher};

/// Bytes of a record from which on the memory for its key is not taken for granted, and given back.
const GIANT: usize = 16 << 20;

/// Finds and hashes the keys of a block's records.
#[derive(Clone, Debug)]
pub(crate) struct Hashing {
    pub(crate) format: Format,
    pub(crate) keys: Keys,
    pub(crate) hasher: KeyHasher,
    pub(crate) on_missing: OnMissing,
    pub(crate) shard: Option<Shard>,
    pub(crate) wanted: Wanted,
}

/// What is wanted of every key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Its hash: all that a filter here needs.
    #[default]
    Hash,
    /// The key itself as well: a server hashes by itself.
    Key,
}

impl Hashing {
    /// From here on blocks hold the keys as well.
    pub(crate) fn keep_keys(&mut self) {
        self.wanted = Wanted::Key;
    }

    /// Hashes the keys of all records of the block.
    pub(crate) fn hash(&mut self, block: &mut Block) {
        // The vectors are lent out, because the records borrow the block.
        let mut hashes = std::mem::take(&mut block.hashes);
        let mut times = std::mem::take(&mut block.times);
        if self.keys.is_whole_record() && self.shard.is_none() {
            let hash = |record| self.hasher.hash(self.format.content(record));
            hashes.extend(block.records().map(hash));
            if self.wanted == Wanted::Key {
                let mut kept = std::mem::take(&mut block.keys);
                block.records().for_each(|record| kept.push(self.format.content(record)));
                block.keys = kept;
            }
        } else {
            self.make_room(block);
            let mut keyless = std::mem::take(&mut block.keyless);
            let mut kept = std::mem::take(&mut block.keys);
            let found = (&mut hashes, &mut times, &mut kept);
            let broken = self.hash_keys(block, found, &mut keyless);
            (block.keyless, block.keys) = (keyless, kept);
            if let Some((place, missing)) = broken {
                let number = block.record_number(place);
                let what = format_args!("record {number}: {missing}");
                block.failure = Some(Failure::at(&block.name, what));
                block.cut(place);
            }
            if block.size() >= GIANT {
                self.keys.shrink();
            }
        }
        (block.hashes, block.times) = (hashes, times);
        block.is_hashed = true;
    }

    /// Ends the block before a giant record for whose key there is no memory.
    fn make_room(&mut self, block: &mut Block) {
        if block.size() < GIANT {
            return;
        }
        let lengths = block.records().map(<[u8]>::len).enumerate();
        let lacks = lengths
            .filter(|(_, bytes)| *bytes >= GIANT)
            .find(|(_, bytes)| self.keys.make_room(*bytes).is_err());
        if let Some((place, bytes)) = lacks {
            block.failure = Some(no_memory(&block.name, bytes - 1));
            block.cut(place);
        }
    }

    /// Stops at a record without a key if such are errors, and tells where and why.
    fn hash_keys(
        &mut self,
        block: &Block,
        (hashes, times, kept): (&mut Vec<KeyHash>, &mut Vec<u64>, &mut Parts),
        keyless: &mut Vec<Keyless>,
    ) -> Option<(usize, Missing)> {
        if let Some(columns) = &block.columns {
            self.keys.use_columns(columns);
        }
        if let Some(times) = self.keys.times() {
            times.look_up();
        }
        for (place, record) in block.records().enumerate() {
            match self.hash_record(block, place, record) {
                Ok((hash, _)) if self.shard.is_some_and(|shard| !shard.has(hash)) => {
                    keyless.push(Keyless { record: place, why: Why::OtherShard });
                }
                Ok((hash, time)) => {
                    hashes.push(hash);
                    times.extend(time);
                    if self.wanted == Wanted::Key {
                        kept.push(self.keys.last_key());
                    }
                }
                Err(_) if self.shard.is_some_and(|shard| !shard.is_first()) => {
                    keyless.push(Keyless { record: place, why: Why::OtherShard });
                }
                Err(Why::Missing(missing)) if self.on_missing == OnMissing::Error => {
                    return Some((place, missing));
                }
                Err(why) => keyless.push(Keyless { record: place, why }),
            }
        }
        None
    }

    fn hash_record(
        &mut self,
        block: &Block,
        place: usize,
        record: &[u8],
    ) -> Result<(KeyHash, Option<u64>), Why> {
        match block.header {
            Some(header) if place == 0 => return Err(Why::Header(header)),
            _ => {}
        }
        if block.ending == Ending::OpenQuote && place + 1 == block.len() {
            return Err(Why::Missing(Missing::OpenQuote));
        }
        self.keys.hash(self.format.content(record), self.hasher).map_err(Why::Missing)
    }
}
