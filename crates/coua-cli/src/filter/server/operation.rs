//! Operations on keys, put into commands: many keys in one, each shard's by themselves.

use super::cluster::Shards;
use crate::key::BlockKeys;
use redis::Cmd;

/// Keys in a command: enough to make its overhead small, and few enough not to hold up others.
const MOST_KEYS: usize = 512;
/// Bytes of keys in a command, unless one key has more.
const MOST_BYTES: usize = 1 << 20;
/// Longer items are refused by the servers, unless they are told otherwise.
pub(super) const LONGEST_KEY: usize = 512 << 20;

/// What is to be done with keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
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

impl Operation {
    /// The command's name, and the arguments between the filter's key and the keys. A filter is never created on the way: it would be
    /// one of the server's choice.
    fn arguments(self) -> (&'static str, &'static [&'static str]) {
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
pub(super) const FULL: i64 = -1;
/// What it answers about one that it has.
pub(super) const ALREADY_THERE: i64 = 0;

impl Operation {
    /// Where the keys begin among the arguments of the command, if of equal keys the first one gets a 1, and the
    /// others may get none.
    pub(super) fn first_key(self) -> Option<usize> {
        let goes_to_the_first = matches!(self, Self::InsertNew | Self::Remove);
        goes_to_the_first.then(|| 2 + self.arguments().1.len())
    }

    /// Whether a server may answer so.
    pub(super) fn allows(self, number: i64) -> bool {
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
pub(super) struct KeyAnswer {
    /// The server's number; none if it gave none.
    pub(super) number: Option<i64>,
    /// The operation was put twice, because the first answer was lost: it may have been done twice.
    pub(super) in_doubt: bool,
}

/// Keys of one shard that go in one command.
#[derive(Debug)]
pub(super) struct KeyBatch {
    pub(super) shard: usize,
    pub(super) places: Vec<usize>,
    bytes: usize,
}

impl KeyBatch {
    /// Keys by shard, in their order.
    pub(super) fn of(keys: &BlockKeys, shards: &Shards) -> Vec<Self> {
        let mut done = Vec::new();
        let mut open: Vec<Option<Self>> = (0..shards.len()).map(|_| None).collect();
        for (place, (hash, key)) in keys.hashes.iter().zip(keys.contents.iter()).enumerate() {
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

    pub(super) fn command(&self, operation: Operation, keys: &BlockKeys, name: &str) -> Cmd {
        let (command_name, arguments) = operation.arguments();
        let framing = name.len() + 64;
        let mut command = Cmd::with_capacity(self.places.len() + 4, self.bytes + framing);
        command.arg(command_name).arg(name).arg(arguments);
        for &place in &self.places {
            command.arg(nth_key(keys, place));
        }
        command
    }
}

fn nth_key(keys: &BlockKeys, nth: usize) -> &[u8] {
    let keys = &keys.contents;
    let start = nth.checked_sub(1).map_or(0, |before| keys.ends[before]);
    &keys.bytes[start..keys.ends[nth]]
}
