//! A block: some whole records of one input, and what has been found out about them.

use crate::key::{Missing, Parts};
use crate::record::budget::Share;
use crate::terminal::message::Failure;
use coua::window::When;
use coua::{BatchFull, Insertion, KeyHash};
use std::mem;
use std::sync::Arc;

/// Whole records of one input. Blocks are recycled, so nothing is allocated per record.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// All initialised; the records are the first `ends.last()` bytes.
    pub(crate) bytes: Vec<u8>,
    /// Where each record ends, its separator included. It begins where the one before ends.
    pub(crate) ends: Vec<usize>,
    /// The keys are hashed: what follows about them is known.
    pub(crate) is_hashed: bool,
    /// The hashes of the records that have a key, in their order.
    pub(crate) hashes: Vec<KeyHash>,
    /// The keys of the same records, where they are wanted.
    pub(crate) keys: Parts,
    /// The times of the same records, where records have times.
    pub(crate) times: Vec<u64>,
    /// The records without a key, in their order.
    pub(crate) keyless: Vec<Keyless>,
    /// What was found out before the block's turn to be answered.
    pub(crate) first_half: FirstHalf,
    /// A thread that would have had to wait has looked the keys up before the block's turn.
    pub(crate) is_looked_up: bool,
    /// Whether each key is there.
    pub(crate) present: Vec<bool>,
    /// The records to write, by place; may end early, as answers do.
    pub(crate) selected: Vec<bool>,
    /// The records to write to the second output.
    pub(crate) also_selected: Vec<bool>,
    /// How many copies of each record with a key there are.
    pub(crate) counts: Vec<u64>,
    /// The input's name.
    pub(crate) name: Arc<str>,
    /// The input's number, from 0.
    pub(crate) input: usize,
    /// Records of the input before this block.
    pub(crate) records_before: u64,
    /// Where the CSV columns of the key are.
    pub(crate) columns: Option<Arc<[usize]>>,
    /// The first record is a CSV header.
    pub(crate) header: Option<Header>,
    /// How the last record ends.
    pub(crate) ending: Ending,
    /// The input has no more bytes at the moment: what is known should be shown.
    pub(crate) drained: bool,
    /// Why nothing comes after this block.
    pub(crate) failure: Option<Failure>,
    /// Raw bytes read from all inputs when this block was complete.
    pub(crate) consumed: u64,
    /// Those of the inputs before this one.
    pub(crate) consumed_before: u64,
    /// What the block takes of the budget, if it has grown for a giant record.
    pub(crate) share: Option<Share>,
}

/// How the last record of a block ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    #[default]
    Separator,
    /// The input ended without a separator.
    EndOfInput,
    /// The input ended within quotes.
    OpenQuote,
}

/// Which header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    First,
    /// Of a further file.
    Repeated,
}

/// What the first half of a filter in two halves answered about its keys.
#[derive(Debug, Default)]
pub(crate) struct FirstHalf {
    /// Its items before this block.
    pub(crate) items_before: u64,
    pub(crate) outcomes: Vec<Insertion>,
    /// Where it found no room, in hashes of the block.
    pub(crate) stopped: Option<BatchFull>,
}

/// A record without a key.
#[derive(Clone, Debug)]
pub(crate) struct Keyless {
    /// The record's place in the block.
    pub(crate) record: usize,
    pub(crate) why: Why,
}

/// Why a record has no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Header(Header),
    Missing(Missing),
    /// It has one, but is another run's (`--shard`).
    OtherShard,
}

impl Why {
    /// Whether it is a record of this run.
    pub(crate) fn is_record(&self) -> bool {
        matches!(self, Self::Missing(_))
    }
}

/// The records that end at `ends` of these bytes. For who changes the rest of a block meanwhile.
pub(crate) fn records_in<'b>(bytes: &'b [u8], ends: &'b [usize]) -> impl Iterator<Item = &'b [u8]> {
    let mut start = 0;
    ends.iter().map(move |&end| {
        let record = &bytes[start..end];
        start = end;
        record
    })
}

impl Block {
    /// Number of records.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The records, each with its separator.
    pub(crate) fn records(&self) -> impl Iterator<Item = &[u8]> {
        records_in(&self.bytes, &self.ends)
    }

    /// The record at this place, with its separator.
    pub(crate) fn record(&self, place: usize) -> Option<&[u8]> {
        let end = *self.ends.get(place)?;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }

    /// Bytes of all records.
    pub(crate) fn size(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Gives the memory of a giant record back when it has passed.
    pub(crate) fn shrink(&mut self) {
        if let Some(share) = self.share.take() {
            share.give_back(mem::take(&mut self.bytes));
            *self = Self::default();
        }
    }

    /// Selects records for the output: those with a key as `answers` say, in order; the others as
    /// `keyless` says. Ends early where `answers` does.
    pub(crate) fn select(
        &mut self,
        answers: impl IntoIterator<Item = bool>,
        keyless: impl Fn(&Why) -> bool,
    ) {
        let mut selected = mem::take(&mut self.selected);
        self.spread(answers, keyless, &mut selected);
        self.selected = selected;
    }

    /// As [`select`](Self::select), for the second output.
    pub(crate) fn also_select(
        &mut self,
        answers: impl IntoIterator<Item = bool>,
        keyless: impl Fn(&Why) -> bool,
    ) {
        let mut selected = mem::take(&mut self.also_selected);
        self.spread(answers, keyless, &mut selected);
        self.also_selected = selected;
    }

    /// Selects no record for any output.
    pub(crate) fn select_nothing(&mut self) {
        self.selected.clear();
        self.also_selected.clear();
    }

    fn spread(
        &self,
        answers: impl IntoIterator<Item = bool>,
        keyless: impl Fn(&Why) -> bool,
        all: &mut Vec<bool>,
    ) {
        all.clear();
        let mut answers = answers.into_iter();
        for exception in &self.keyless {
            while all.len() < exception.record {
                let Some(answer) = answers.next() else { return };
                all.push(answer);
            }
            all.push(keyless(&exception.why));
        }
        all.extend(answers);
    }

    /// When the records happened from the `nth` one with a key (from 0) on.
    pub(crate) fn when_from(&self, nth: usize) -> When<'_> {
        if self.times.is_empty() { When::Now } else { When::Each(&self.times[nth..]) }
    }

    /// Forgets the records from this place on.
    pub(crate) fn cut(&mut self, place: usize) {
        if place < self.ends.len() {
            self.ends.truncate(place);
            self.ending = Ending::Separator;
        }
    }

    /// The place of the record that has the `nth` hash (from 0).
    pub(crate) fn record_of_hash(&self, nth: usize) -> usize {
        self.keyless.iter().fold(nth, |place, keyless| place + usize::from(keyless.record <= place))
    }

    /// How many of the records before this place have a key.
    pub(crate) fn hashes_before(&self, place: usize) -> usize {
        place - self.keyless.iter().take_while(|keyless| keyless.record < place).count()
    }

    /// Takes the records before this place out of all outputs.
    pub(crate) fn deselect_before(&mut self, place: usize) {
        for selected in [&mut self.selected, &mut self.also_selected] {
            selected.iter_mut().take(place).for_each(|selected| *selected = false);
        }
    }

    /// The number within its input, from 1, of the record at this place.
    pub(crate) fn record_number(&self, place: usize) -> u64 {
        self.records_before + place as u64 + 1
    }

    /// What messages call the record at this place.
    pub(crate) fn record_name(&self, place: usize) -> String {
        format!("{}: record {}", self.name, self.record_number(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_with(keyless: &[usize]) -> Block {
        let why = Why::Missing(Missing::Match);
        let keyless = keyless.iter().map(|&record| Keyless { record, why: why.clone() });
        Block { keyless: keyless.collect(), ..Block::default() }
    }

    #[test]
    fn answers_are_spread_over_the_records_with_a_key() {
        let mut all = Vec::new();
        block_with(&[]).spread([true, false], |_| true, &mut all);
        assert_eq!(all, [true, false]);
        block_with(&[0, 2, 3]).spread([true, true], |_| false, &mut all);
        assert_eq!(all, [false, true, false, false, true]);
        block_with(&[1, 3]).spread([true], |_| false, &mut all);
        assert_eq!(all, [true, false], "ends with the answers");
    }

    #[test]
    fn hashes_know_their_records() {
        let block = block_with(&[0, 2, 3]);
        assert_eq!([0, 1, 2].map(|nth| block.record_of_hash(nth)), [1, 4, 5]);
    }
}
