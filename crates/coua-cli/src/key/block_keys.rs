//! The keys of a block, a filter's answers about them, and the records to write.

use crate::record::Header;
use coua::window::When;
use coua::{BatchFull, Insertion, KeyHash};
use std::fmt;
use std::sync::Arc;

/// Why a record has no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Field(usize),
    Column(usize),
    /// No column other than those of --except.
    OtherColumn,
    /// An empty field, column or JSON string.
    Empty,
    OpenQuote,
    BrokenJson,
    /// The record is the first line of a JSON object.
    JsonLines,
    /// The record is, or begins, a JSON array of records.
    Array,
    Pointer(Arc<str>),
    Match,
    Groups,
    /// The time cannot be read, or is not believed: the message.
    Time(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(number) => write!(f, "no field {number}"),
            Self::Column(number) => write!(f, "no column {number}"),
            Self::OtherColumn => f.write_str("no column other than those of --except"),
            Self::Empty => f.write_str("empty key, which --missing=value accepts"),
            Self::OpenQuote => f.write_str("unclosed quote"),
            Self::BrokenJson => f.write_str("invalid JSON"),
            Self::JsonLines => {
                f.write_str("a JSON object of several lines; write each on one with `jq -c .`")
            }
            Self::Array => f.write_str("a JSON array; split it into lines with `jq -c '.[]'`"),
            Self::Pointer(pointer) => write!(f, "nothing at {pointer}"),
            Self::Match => f.write_str("the regular expression does not match"),
            Self::Groups => f.write_str("no group of the regular expression matched"),
            Self::Time(reason) => f.write_str(reason),
        }
    }
}

/// Byte strings, one after the other: the parts of one key, or the keys of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ends: Vec<usize>,
    /// The number (from 0) of the first part that the record lacks, and why. The parts hold an empty one for each.
    pub(super) absent: Option<(usize, Missing)>,
}

impl Parts {
    pub(crate) fn push(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
        self.ends.push(self.bytes.len());
    }

    /// Adds a part that the record lacks.
    pub(super) fn push_absent(&mut self, why: Missing) {
        self.absent.get_or_insert((self.ends.len(), why));
        self.push(b"");
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.absent = None;
    }

    /// Moves the last part, if there is one, to `to`. Returns an error if the record lacks it.
    pub(super) fn pop(&mut self, to: &mut Vec<u8>) -> Result<(), Missing> {
        if self.ends.pop().is_some() {
            let begin = self.ends.last().copied().unwrap_or(0);
            to.extend(self.bytes.drain(begin..));
        }
        match self.absent.take_if(|(number, _)| *number == self.ends.len()) {
            Some((_, why)) => Err(why),
            None => Ok(()),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// The keys of a block's records; usually only their hashes.
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
    /// The number of records, from the first, that an interrupted run has done.
    pub(crate) done: usize,
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
    /// It is a comment, which is printed and not compared.
    Comment,
    Missing(Missing),
    /// It has one, which counts as seen (`--known`).
    Known,
    /// It has one, which an interrupted run has done (`--resume`).
    Done,
    /// It has one, but is another run's (`--shard`).
    OtherShard,
}

impl BlockKeys {
    pub(crate) fn clear(&mut self) {
        self.hashes.clear();
        self.contents.clear();
        self.times.clear();
        self.missing_keys.clear();
        self.done = 0;
    }

    /// Whether a record has a key, even if it was set aside, or a quote hides whether it has one.
    pub(crate) fn may_have_keys(&self) -> bool {
        let may_have = |it: &MissingKey| {
            let has_other = matches!(it.reason, Reason::Known | Reason::Done | Reason::OtherShard);
            has_other || it.reason == Reason::Missing(Missing::OpenQuote)
        };
        !self.hashes.is_empty() || self.missing_keys.iter().any(may_have)
    }

    /// The times of the records with a key.
    pub(crate) fn when(&self) -> When<'_> {
        if self.times.is_empty() { When::Now } else { When::Each(&self.times) }
    }

    /// The place of the record that has the `nth` hash (from 0).
    pub(crate) fn record_of_hash(&self, nth: usize) -> usize {
        self.missing_keys.iter().fold(nth, |place, it| place + usize::from(it.record <= place))
    }

    /// The number of records with a key before this place.
    pub(crate) fn hashes_before(&self, place: usize) -> usize {
        place - self.missing_keys.iter().take_while(|it| it.record < place).count()
    }

    /// Spreads answers over all records: those with a key take theirs in order; the others take what `without`
    /// returns. Ends early where the answers do.
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

/// What the filter says about one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    New,
    /// It was in the filter.
    Repeat,
    /// The server did not reply.
    Unknown,
}

impl From<bool> for Seen {
    fn from(is_there: bool) -> Self {
        if is_there { Self::Repeat } else { Self::New }
    }
}

/// The answers to a block. They are recycled with it.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// All lookups were done before the block's turn.
    pub(crate) is_answered: bool,
    /// The keys by the part of the filter that each belongs to, if it has parts.
    pub(crate) groups: Vec<Group>,
    /// The answer for each key, in order; ends early where there was no room.
    pub(crate) found: Vec<Seen>,
    /// The number of copies of each key, where it is requested.
    pub(crate) counts: Vec<u64>,
    /// The number of records of all inputs with each key, where it is requested.
    pub(crate) totals: Vec<u64>,
    /// The number of copies added, where there are no answers for single keys.
    pub(crate) added: u64,
    /// The records to write, by place; may end early.
    pub(crate) selected: Vec<bool>,
}

/// The keys of a block that belong to one part of a filter, with that part's answers.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) hashes: Vec<KeyHash>,
    pub(crate) outcomes: Vec<Insertion>,
    /// The number of records of all inputs with each key, where it is requested.
    pub(crate) totals: Vec<u64>,
    /// Where the part found no room.
    pub(crate) stopped: Option<BatchFull>,
    /// Items of the part before this block.
    pub(crate) items_before: u64,
}

impl Group {
    pub(crate) fn clear(&mut self) {
        self.hashes.clear();
        self.outcomes.clear();
        self.totals.clear();
        self.stopped = None;
    }
}

impl Answers {
    pub(crate) fn clear(&mut self) {
        self.is_answered = false;
        self.found.clear();
        self.counts.clear();
        self.totals.clear();
        self.added = 0;
        self.selected.clear();
    }

    /// Records the outcomes of a filter, up to the first key for which there was no room.
    pub(crate) fn record(&mut self, outcomes: &[Insertion], result: Result<(), BatchFull>) {
        let done = result.map_or_else(|stopped| stopped.done, |()| outcomes.len());
        let is_there = |outcome: &Insertion| *outcome == Insertion::AlreadyPresent;
        self.found.extend(outcomes.iter().take(done).map(is_there).map(Seen::from));
    }

    /// The number of keys with this answer.
    pub(crate) fn count(&self, wanted: Seen) -> u64 {
        self.found.iter().filter(|found| **found == wanted).count() as u64
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
