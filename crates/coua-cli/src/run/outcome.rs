//! How a run ends before its time.

use crate::filter::{NoRoom, Op};
use crate::record::Block;
use crate::terminal::{Exit, Failure, counted};

/// Whether all records were dealt with.
#[derive(Debug, Default)]
pub(super) enum Outcome {
    #[default]
    Whole,
    /// Not this record, for which there was no room, nor those after it.
    Full { record: String, no_room: NoRoom },
    /// The server cannot be reached, or does not do what it is asked, and has left so many records open. All before
    /// the `first` were answered; the `last` is that about which was asked last.
    GaveUp { reason: String, unanswered: u64, first: String, last: String },
}

impl Outcome {
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// The server has not answered for all records of a block. Of several blocks the first tells why.
    pub(super) fn give_up(&mut self, failure: &Failure, unanswered: u64, block: &Block) {
        if !matches!(self, Self::GaveUp { .. }) {
            let first = block.record_name(0);
            let reason = failure.reason().to_owned();
            *self = Self::GaveUp { reason, unanswered: 0, first, last: String::new() };
        }
        self.record(unanswered, block);
    }

    /// Notes what has become of a block, if some are open.
    pub(super) fn record(&mut self, unanswered: u64, block: &Block) {
        // A block that only says that there is no more for now has no last record.
        let of_block = block.len().checked_sub(1);
        if let (Self::GaveUp { unanswered: all, last, .. }, Some(place)) = (self, of_block) {
            *all += unanswered;
            *last = block.record_name(place);
        }
    }

    /// What there is to say if there was no room for a record. `exceptions` are those of what is said about the
    /// filter, none if it is forgotten; `remedy` is what to do if it is kept.
    pub(super) fn refusal(
        &self,
        op: Op,
        name: &str,
        exceptions: Option<&str>,
        remedy: Option<&str>,
    ) -> Option<Failure> {
        let Self::Full { record, no_room: NoRoom { why, remedy: other } } = self else {
            return None;
        };
        let remedy = remedy.unwrap_or(other);
        let state = match (op, exceptions) {
            (Op::Dedup, None) => "in the output, it and those after it are neither".to_owned(),
            (Op::Dedup, Some(exceptions)) => format!(
                "recorded in the filter{exceptions} and in the output, it and those after it are neither"
            ),
            (_, exceptions) => {
                let exceptions = exceptions.unwrap_or_default();
                format!("in the filter, it and those after it are not{exceptions}")
            }
        };
        let reason =
            format!("{why}; stopped before {record}: all records before it are {state}; {remedy}");
        Some(Failure::ending(Exit::Full, name, reason))
    }

    /// What became of the records that a server has left open, if it has given up.
    pub(super) fn left_open(&self, op: Op) -> Option<String> {
        let Self::GaveUp { reason, unanswered, first, last } = self else { return None };
        let rest = match op {
            Op::Dedup => format!(
                "printed whether seen before or not, and perhaps not recorded; stopped after {last}"
            ),
            Op::Add | Op::AddNew => {
                format!("perhaps in the filter, perhaps not; all before {first} are")
            }
            Op::Remove => "perhaps removed, perhaps not, and in no report".to_owned(),
            Op::Check | Op::Count => return Some(reason.clone()),
        };
        let unanswered = counted(*unanswered, "record");
        Some(format!("{reason}; no answer for {unanswered}: {rest}"))
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
        let mut outcome = Outcome::Whole;
        outcome.record(0, &block(0, &[2]));
        assert!(matches!(outcome, Outcome::Whole));
        outcome.give_up(&Failure::at("server", "gone"), 1, &block(1, &[2, 4]));
        outcome.give_up(&Failure::at("server", "still gone"), 2, &block(3, &[2, 4]));
        outcome.record(0, &block(0, &[]));
        let Outcome::GaveUp { first, last, .. } = &outcome else { panic!("another outcome") };
        assert_eq!((first.as_str(), last.as_str()), ("in: record 2", "in: record 5"));
        let words = outcome.left_open(Op::Remove).unwrap();
        assert!(words.starts_with("gone; no answer for 3 records: perhaps"), "{words}");
    }
}
