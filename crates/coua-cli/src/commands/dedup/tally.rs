//! What a run shows and counts of its answers, whatever filter gives them.

use super::outputs::OutputArgs;
use crate::pipeline::Flow;
use crate::record::block::Block;
use crate::resume::Ending;
use crate::run::session::Session;
use crate::target::collisions::Answered;
use crate::terminal::exit::Exit;
use crate::terminal::figures::{Answers, FilterFigures};
use crate::terminal::message::Failure;
use coua::{BatchFull, Full, Insertion};
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub(super) struct Tally {
    pub(super) session: Session,
    pub(super) counts: Counts,
    /// What goes to the main output.
    wanted: Insertion,
    /// Whether there is an output for the repeats as well.
    tee: bool,
    refused: Option<Refused>,
}

/// What the run has counted.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    unique: u64,
    repeats: u64,
    pub(super) expected_wrongly_dropped: f64,
}

/// The record for which there was no room.
#[derive(Debug)]
struct Refused {
    record: String,
    full: Full,
}

/// What becomes of the records before the one for which there was no room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saved<'a> {
    /// The filter's name.
    pub(super) name: &'a str,
    /// Where they are, beside the output.
    pub(super) also_in: &'a str,
    /// What to do.
    pub(super) remedy: &'a str,
}

impl Saved<'_> {
    /// The filter is forgotten at the end.
    pub(super) const NOWHERE: Self = Self { name: "filter", also_in: "", remedy: "" };
}

/// How many of these are new, and how many repeats.
pub(super) fn answered_in(outcomes: &[Insertion]) -> Answered {
    let new = outcomes.iter().filter(|outcome| **outcome == Insertion::Inserted).count();
    Answered { new: new as u64, repeats: (outcomes.len() - new) as u64 }
}

impl Counts {
    /// Chance may expect more than the repeats that there were.
    fn expected_wrongly_dropped(&self) -> f64 {
        self.expected_wrongly_dropped.min(self.repeats as f64)
    }
}

impl Tally {
    pub(super) fn new(session: Session, counts: Counts, output: &OutputArgs) -> Self {
        let tee = output.destinations().tee.is_some();
        Self { session, counts, wanted: output.wanted(), tee, refused: None }
    }

    /// Counts the answers for records that were not answered for before.
    pub(super) fn count(&mut self, outcomes: &[Insertion]) -> Answered {
        let answered = answered_in(outcomes);
        self.counts.unique += answered.new;
        self.counts.repeats += answered.repeats;
        answered
    }

    /// Selects the records for the outputs.
    pub(super) fn select(&self, block: &mut Block, outcomes: &[Insertion]) {
        let with = |wanted| outcomes.iter().map(move |outcome| *outcome == wanted);
        block.select(with(self.wanted), |why| self.session.passes(why, self.wanted));
        if self.tee {
            let repeats = Insertion::AlreadyPresent;
            block.also_select(with(repeats), |why| self.session.passes(why, repeats));
        }
    }

    /// Notes that there was no room for a hash of the block. Gives the place of its record.
    pub(super) fn refuse(&mut self, block: &Block, stopped: BatchFull) -> usize {
        let place = block.record_of_hash(stopped.done);
        self.session.take_back(block, place);
        self.refused = Some(Refused { record: block.record_name(place), full: stopped.full });
        place
    }

    /// Shows how far the work is, in a filter of this load.
    pub(super) fn show(&mut self, load: f64) -> Flow {
        self.session.show(self.counts.unique, load);
        Flow::Continue
    }

    pub(super) fn ending(&self) -> Ending {
        self.refused.as_ref().map_or(self.session.ending(), |_| Ending::Early)
    }

    /// Prints the figures that are wanted, and says how the run has ended.
    pub(super) fn finish(
        self,
        filter: impl Into<FilterFigures>,
        saved: Saved<'_>,
    ) -> Result<Exit, Failure> {
        let answers = Answers {
            unique: Some(self.counts.unique),
            repeats: Some(self.counts.repeats),
            expected_wrongly_dropped: Some(self.counts.expected_wrongly_dropped()),
            ..Answers::default()
        };
        let printed = self.session.print_figures(answers, filter);
        match self.refusal(saved) {
            Some(refusal) => Err(refusal),
            None => printed.map(|()| self.session.exit(Exit::Success)),
        }
    }

    /// What there is to say if there was no room for a record.
    pub(super) fn refusal(&self, to: Saved<'_>) -> Option<Failure> {
        let Refused { record, full } = self.refused.as_ref()?;
        let Saved { name, also_in, remedy } = to;
        let reason = format!(
            "{full}; stopped before {record}: all records before it are {also_in}in the output, it \
             and those after it are neither{remedy}"
        );
        Some(Failure::Full { name: name.to_owned(), reason })
    }
}
