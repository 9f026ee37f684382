//! Questions about keys, put into commands: many keys in one, each shard's by themselves.

use crate::shards::Shards;
use coua::KeyHash;
use redis::Cmd;
use std::iter;

/// Keys in a command: enough to make its overhead small, and few enough not to hold up others.
const MOST_KEYS: usize = 512;
/// Bytes of keys in a command, unless one key has more.
const MOST_BYTES: usize = 1 << 20;
/// Longer items are refused by the servers, unless they are told otherwise.
pub(crate) const LONGEST_KEY: usize = 512 << 20;

/// What is to be done with keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Insert what is not there: 1, or 0 if it is.
    InsertNew,
    /// Insert one more copy: 1.
    Insert,
    /// Take a copy away: 1, or 0 if there is none.
    Remove,
    /// 1 if it is there, else 0.
    Contains,
    /// How many copies there are.
    Count,
}

impl Question {
    /// The words before and after the filter's key. A filter is never created on the way: it would be
    /// one of the server's choice.
    fn words(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::InsertNew => ("CF.INSERTNX", &["NOCREATE", "ITEMS"]),
            Self::Insert => ("CF.INSERT", &["NOCREATE", "ITEMS"]),
            Self::Remove => ("CF.MDEL", &[]),
            Self::Contains => ("CF.MEXISTS", &[]),
            Self::Count => ("CF.MCOUNT", &[]),
        }
    }
}

/// What a server answers about a key that it has no room for.
pub const FULL: i64 = -1;
/// What it answers about one that it has.
pub const ALREADY_THERE: i64 = 0;

impl Question {
    /// Where the keys begin among the words of the command, if of equal keys the first one gets a 1, and the
    /// others may get none.
    pub(crate) fn first_key(self) -> Option<usize> {
        let goes_to_the_first = matches!(self, Self::InsertNew | Self::Remove);
        goes_to_the_first.then(|| 2 + self.words().1.len())
    }

    /// Whether a server may answer so.
    pub(crate) fn allows(self, number: i64) -> bool {
        match self {
            Self::InsertNew => (FULL..=1).contains(&number),
            Self::Insert => matches!(number, FULL | 1),
            Self::Remove | Self::Contains => matches!(number, 0 | 1),
            Self::Count => number >= 0,
        }
    }
}

/// What is known about one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The server's number; none if it gave none.
    pub number: Option<i64>,
    /// The question was put twice, because the first answer was lost: it may have been done twice.
    pub in_doubt: bool,
}

/// Keys with their hashes.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
    pub(crate) hashes: &'a [KeyHash],
}

impl<'a> Keys<'a> {
    /// One key after the other in `bytes`, each up to one of the `ends`, with their hashes.
    pub fn new(bytes: &'a [u8], ends: &'a [usize], hashes: &'a [KeyHash]) -> Self {
        Self { bytes, ends, hashes }
    }

    /// The bytes of each.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> {
        let (bytes, starts) = (self.bytes, iter::once(0).chain(self.ends.iter().copied()));
        starts.zip(self.ends).map(move |(start, end)| &bytes[start..*end])
    }

    fn nth(&self, nth: usize) -> &'a [u8] {
        let start = nth.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[nth]]
    }
}

/// Keys of one shard that go in one command.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) shard: usize,
    pub(crate) places: Vec<usize>,
    bytes: usize,
}

impl Batch {
    /// Keys by shard, in their order.
    pub(crate) fn of(keys: Keys<'_>, shards: &Shards) -> Vec<Self> {
        let mut done = Vec::new();
        let mut open: Vec<Option<Self>> = (0..shards.len()).map(|_| None).collect();
        for (place, (hash, key)) in keys.hashes.iter().zip(keys.iter()).enumerate() {
            let shard = shards.of(*hash);
            let batch =
                open[shard].get_or_insert_with(|| Self { shard, places: Vec::new(), bytes: 0 });
            batch.places.push(place);
            batch.bytes += key.len();
            if batch.places.len() >= MOST_KEYS || batch.bytes >= MOST_BYTES {
                done.extend(open[shard].take());
            }
        }
        done.extend(open.into_iter().flatten());
        done
    }

    pub(crate) fn command(&self, question: Question, keys: Keys<'_>, name: &str) -> Cmd {
        let (word, words) = question.words();
        let framing = name.len() + 64;
        let mut command = Cmd::with_capacity(self.places.len() + 4, self.bytes + framing);
        command.arg(word).arg(name).arg(words);
        for &place in &self.places {
            command.arg(keys.nth(place));
        }
        command
    }
}
