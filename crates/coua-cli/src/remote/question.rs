//! Questions about keys, put into commands: many keys in one, each shard's by themselves.

use super::shards::Shards;
use crate::key::Parts;
use coua::KeyHash;
use redis::Cmd;

/// Keys in a command: enough to make its overhead small, and few enough not to hold up others.
const MOST_KEYS: usize = 512;
/// Bytes of keys in a command, unless one key has more.
const MOST_BYTES: usize = 1 << 20;
/// Longer items are refused by the servers, unless they are told otherwise.
pub(crate) const LONGEST_KEY: usize = 512 << 20;

/// What is to be done with keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
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
pub(crate) const FULL: i64 = -1;
/// What it answers about one that it has.
pub(crate) const ALREADY_THERE: i64 = 0;

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
pub(crate) struct Answer {
    /// The server's number; none if it gave none.
    pub(crate) number: Option<i64>,
    /// The question was put twice, because the first answer was lost: it may have been done twice.
    pub(crate) in_doubt: bool,
}

/// Keys with their hashes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys<'a> {
    pub(crate) bytes: &'a Parts,
    pub(crate) hashes: &'a [KeyHash],
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
        for (place, (hash, key)) in keys.hashes.iter().zip(keys.bytes.iter()).enumerate() {
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
            command.arg(keys.bytes.nth(place));
        }
        command
    }
}

/// Keys that were handed to the server and may have to be taken back.
#[derive(Debug, Default)]
pub(crate) struct ChangeLog {
    bytes: Parts,
    hashes: Vec<KeyHash>,
}

impl ChangeLog {
    pub(crate) fn note(&mut self, key: &[u8], hash: KeyHash) {
        self.bytes.push(key);
        self.hashes.push(hash);
    }

    /// Notes those of the keys from the `first` on whose answer says so.
    pub(crate) fn note_some(
        &mut self,
        keys: Keys<'_>,
        answers: &[Answer],
        first: usize,
        says_so: impl Fn(&Answer) -> bool,
    ) {
        let all = answers.iter().zip(keys.bytes.iter().zip(keys.hashes));
        for (_, (key, hash)) in all.skip(first).filter(|(answer, _)| says_so(answer)) {
            self.note(key, *hash);
        }
    }

    /// Notes what another has noted.
    pub(crate) fn append(&mut self, other: &Self) {
        for (key, hash) in other.bytes.iter().zip(&other.hashes) {
            self.note(key, *hash);
        }
    }

    pub(crate) fn keys(&self) -> Keys<'_> {
        Keys { bytes: &self.bytes, hashes: &self.hashes }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.hashes.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    pub(crate) fn size(&self) -> usize {
        self.bytes.size()
    }
}
