//! The work on each block, and early ends of a run.

use super::job::Job;
use super::session::Session;
use crate::filter::{Counts, NoRoom, Op, Profile, RunFilter, Stop};
use crate::input::Until;
use crate::key::{Answers, MissingKey, Reason, Seen};
use crate::output::{Destinations, Synced};
use crate::pipeline::{Batch, BlockHandler, Flow};
use crate::record::Header;
use crate::resume::Recorder;
use crate::terminal::{Result, counted};

/// A pass over all records, and its state at the end.
pub(crate) struct Pass {
    pub(super) job: Job,
    pub(super) filter: Box<dyn RunFilter>,
    pub(super) profile: Profile,
    pub(super) session: Session,
    /// The recorder, if the run can be resumed.
    pub(super) recorder: Option<Recorder>,
    pub(super) counts: Counts,
    pub(super) outcome: Outcome,
    /// The number of records printed to the main output.
    pub(super) printed: u64,
    /// Whether each output had records before, the main one first.
    pub(super) begun: Vec<bool>,
    /// The ends of the outputs, once everything is synced.
    pub(super) synced: Synced,
}

impl Pass {
    /// Selects the records for the outputs.
    fn select(&mut self, batch: &mut Batch) {
        let keys = &batch.keys;
        let Answers { found, selected, also_selected, .. } = &mut batch.answers;
        let Destinations { main, tee, .. } = &self.job.to;
        let also_wanted = tee.as_ref().map(|_| Seen::Repeat);
        let mut begun = self.begun.iter();
        for (to, wanted, all) in
            [(main, self.job.printed, &mut *selected), (tee, also_wanted, also_selected)]
        {
            let is_begun = begun.next() == Some(&true);
            let Some(wanted) = wanted else { continue };
            let found = found.iter().map(|found| *found == wanted);
            let passes = |reason: &Reason| match reason {
                Reason::Header(header) => {
                    let is_first = *header == Header::First;
                    !is_begun && to.as_ref().map_or(is_first, |to| to.has_header(*header))
                }
                Reason::Comment => std::ptr::eq(to, main),
                _ => self.job.reading.passes(reason, wanted),
            };
            keys.spread(found, passes, all);
            all.iter_mut().take(keys.done).for_each(|selected| *selected = false);
        }
        if self.job.op == Op::Check {
            let printed = selected.iter().filter(|selected| **selected).count();
            // Headers and comments are printed, but are no records.
            let answered = keys.missing_keys.iter().take_while(|it| it.record < selected.len());
            let others = answered
                .filter(|it| matches!(it.reason, Reason::Header(Header::First) | Reason::Comment));
            self.printed += (printed - others.count()) as u64;
        }
    }

    /// Ends the run after a filter has stopped.
    fn stop(&mut self, batch: &mut Batch, stop: Stop) {
        match stop {
            Stop::Lost { failure, unanswered } => {
                self.session.record(batch, batch.block.len());
                let (reason, block) = (failure.reason().to_owned(), &batch.block);
                let last = block.record_name(block.len().saturating_sub(1));
                self.outcome =
                    Outcome::GaveUp { reason, unanswered, first: block.record_name(0), last };
            }
            Stop::Full { nth, no_room } => {
                let place = batch.keys.record_of_hash(nth);
                self.session.record(batch, place);
                if let Some(recorder) = &mut self.recorder {
                    recorder.roll_back(&batch.block, place);
                }
                batch.answers.selected.truncate(place);
                batch.answers.also_selected.truncate(place);
                self.outcome = Outcome::Full { record: batch.block.record_name(place), no_room };
            }
        }
    }
}

impl BlockHandler for Pass {
    fn answer(&mut self, batch: &mut Batch) -> Result<Flow> {
        if let Some(recorder) = &mut self.recorder {
            recorder.enter(&batch.block)?;
        }
        let answered = self.filter.answer(self.job.op, batch);
        self.counts.record(&batch.answers);
        let is_known = |it: &&MissingKey| it.reason == Reason::Known;
        self.counts.add_known(batch.keys.missing_keys.iter().filter(is_known).count() as u64);
        self.select(batch);
        if let Err(stop) = answered {
            self.stop(batch, stop);
            return Ok(Flow::Enough);
        }
        self.session.record(batch, batch.block.len());
        self.session.show(self.counts.shown(self.job.op).1);
        // As long as no record has a key, the option that selects keys may be wrong.
        let is_enough = self.job.reading.until == Until::FirstPrinted
            && self.printed > 0
            && self.session.check_keys(&self.job).is_ok();
        Ok(if is_enough { Flow::Enough } else { Flow::Continue })
    }

    fn checkpoint_is_due(&mut self) -> bool {
        match &self.recorder {
            Some(recorder) => recorder.is_due(),
            None => self.filter.sync_is_due(),
        }
    }

    fn checkpoint(&mut self, synced: Synced) -> Result<()> {
        match &mut self.recorder {
            Some(recorder) => recorder.commit(&mut *self.filter, synced, &self.counts),
            None => self.filter.commit(),
        }
    }
}

/// Whether all records were done.
#[derive(Debug, Default)]
pub(super) enum Outcome {
    #[default]
    Whole,
    /// There was no room for this record; later records were not done.
    Full { record: String, no_room: NoRoom },
    /// The server cannot be reached, or refuses requests, and `unanswered` records have no answer. All records before
    /// `first` were answered; `last` is the last one that was sent.
    GaveUp { reason: String, unanswered: u64, first: String, last: String },
}

impl Outcome {
    /// The message about records without an answer, if the server has failed.
    pub(super) fn left_open(&self, op: Op) -> Option<String> {
        let Self::GaveUp { reason, unanswered, first, last } = self else { return None };
        let rest = match op {
            Op::Dedup => format!(
                "printed whether seen before or not, and perhaps not in the filter; stopped after {last}"
            ),
            Op::Add | Op::AddNew => {
                format!("may or may not be in the filter; all before {first} are")
            }
            Op::Remove => "may or may not be removed, and are not in the report".to_owned(),
            Op::Check | Op::Count => return Some(reason.clone()),
        };
        let unanswered = counted(*unanswered, "record");
        Some(format!("{reason}; no reply for {unanswered}: {rest}"))
    }
}
