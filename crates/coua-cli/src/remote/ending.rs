//! How a run on a server ends before its time.

use super::question::{Answer, FULL};
use crate::record::block::Block;
use crate::terminal::message::Failure;
use crate::terminal::text::grouped;

/// Whether all records were dealt with.
#[derive(Debug, Default)]
pub(super) enum Ending {
    #[default]
    Whole,
    /// Not this record, for which there was no room, nor those behind it.
    Full(String),
    /// The server cannot be reached, or does not do what it is asked.
    GaveUp(GaveUp),
}

/// What the server has left open.
#[derive(Debug)]
pub(super) struct GaveUp {
    reason: String,
    unanswered: u64,
    /// A record before which all were answered.
    pub(super) first: String,
    /// The last record about which was asked.
    pub(super) last: String,
}

impl Ending {
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// The server has not answered for all records of a block. Of several blocks the first tells why.
    pub(super) fn give_up(&mut self, failure: &Failure, answers: &[Answer], block: &Block) {
        if !matches!(self, Self::GaveUp(_)) {
            let first = block.record_name(0);
            let reason = failure.reason().to_owned();
            *self = Self::GaveUp(GaveUp { reason, unanswered: 0, first, last: String::new() });
        }
        self.note(answers, block);
    }

    /// The first key for which there was no room, if the run is to end there: once some are open, all
    /// others that were not taken are open as well.
    pub(super) fn full(&self, answers: &[Answer], asked: &Result<(), Failure>) -> Option<usize> {
        let is_full = |answer: &Answer| answer.number == Some(FULL);
        let is_whole = asked.is_ok() && matches!(self, Self::Whole);
        answers.iter().position(is_full).filter(|_| is_whole)
    }

    /// Notes what has become of a block, if some are open.
    pub(super) fn note(&mut self, answers: &[Answer], block: &Block) {
        // A block that only says that there is no more for now has no last record.
        if let (Self::GaveUp(left), Some(last)) = (self, block.len().checked_sub(1)) {
            left.unanswered +=
                answers.iter().filter(|answer| answer.number.is_none()).count() as u64;
            left.last = block.record_name(last);
        }
    }
}

impl GaveUp {
    pub(super) fn words(&self, rest: &str) -> String {
        let unanswered = grouped(self.unanswered);
        format!("{}; {unanswered} records were not answered: {rest}", self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_told_and_all_that_is_open() {
        let block = |before, ends: &[usize]| Block {
            name: "in".into(),
            records_before: before,
            ends: ends.to_vec(),
            ..Block::default()
        };
        let open = Answer::default();
        let there = Answer { number: Some(0), in_doubt: false };
        let mut ending = Ending::Whole;
        ending.note(&[there], &block(0, &[2]));
        assert!(matches!(ending, Ending::Whole));
        ending.give_up(&Failure::at("server", "gone"), &[there, open], &block(1, &[2, 4]));
        ending.give_up(&Failure::at("server", "still gone"), &[open, open], &block(3, &[2, 4]));
        ending.note(&[], &block(0, &[]));
        let full = Answer { number: Some(FULL), in_doubt: false };
        assert_eq!(ending.full(&[full], &Ok(())), None, "the run has ended already");
        let Ending::GaveUp(left) = ending else { panic!("another ending") };
        assert_eq!((left.first.as_str(), left.last.as_str()), ("in: record 2", "in: record 5"));
        assert_eq!(left.words("rest"), "gone; 3 records were not answered: rest");
    }
}
