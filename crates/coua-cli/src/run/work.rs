//! What is done with each block.

use super::job::Job;
use super::outcome::Outcome;
use super::session::Session;
use crate::filter::{Op, RunFilter, Stage, Stop};
use crate::input::Until;
use crate::key::{Answers, Reason, Seen};
use crate::output::Synced;
use crate::pipeline::{Batch, BlockHandler, Flow};
use crate::record::Header;
use crate::resume::{CheckpointTimer, Counts, Recorder};
use crate::terminal::Result;
use std::iter::repeat_n;

/// A run at work, and when all records were read.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(super) job: Job,
    pub(super) filter: Box<dyn RunFilter>,
    pub(super) session: Session,
    /// If the run can be resumed.
    pub(super) recorder: Option<Recorder>,
    /// When to save what a run has done that cannot be resumed.
    pub(super) saves: Option<CheckpointTimer>,
    pub(super) counts: Counts,
    pub(super) outcome: Outcome,
    /// Records selected for the main output.
    pub(super) printed: u64,
    /// Where the outputs end, once all is in them.
    pub(super) synced: Synced,
}

impl Pass {
    /// Selects the records for the outputs. Those before the place `over`, and the first `known` keys, were done
    /// before.
    fn select(&mut self, batch: &mut Batch, over: usize, known: usize) {
        let keys = &batch.keys;
        let Answers { found, selected, also_selected, .. } = &mut batch.answers;
        let also_wanted = self.job.to.tee.as_ref().map(|_| Seen::Repeat);
        for (wanted, all) in [(self.job.printed, &mut *selected), (also_wanted, also_selected)] {
            let Some(wanted) = wanted else { continue };
            let found = found.iter().map(|found| *found == wanted);
            let passes = |reason: &Reason| self.job.reading.passes(reason, wanted);
            keys.spread(repeat_n(false, known).chain(found), passes, all);
            all.iter_mut().take(over).for_each(|selected| *selected = false);
        }
        if self.job.op == Op::Check {
            let selected = selected.iter().filter(|selected| **selected).count();
            // The header is printed, but is no record.
            let headers =
                keys.missing_keys.iter().filter(|it| it.reason == Reason::Header(Header::First));
            self.printed += (selected - headers.count()) as u64;
        }
    }

    /// Ends the run where a filter has stopped.
    fn stop(&mut self, batch: &mut Batch, stop: Stop) {
        match stop {
            Stop::Lost { failure, unanswered } => {
                self.session.record(batch, batch.block.len());
                self.outcome.give_up(&failure, unanswered, &batch.block);
            }
            Stop::Full { nth, no_room } => {
                let place = if self.outcome.is_full() { 0 } else { batch.keys.record_of_hash(nth) };
                self.session.record(batch, place);
                if let Some(recorder) = &mut self.recorder {
                    recorder.take_back(&batch.block, place);
                }
                batch.answers.selected.truncate(place);
                batch.answers.also_selected.truncate(place);
                if !self.outcome.is_full() {
                    let record = batch.block.record_name(place);
                    self.outcome = Outcome::Full { record, no_room };
                }
            }
        }
    }
}

impl BlockHandler for Pass {
    fn request(&mut self, batch: &Batch) {
        self.filter.request(&batch.keys);
    }

    fn max_pending_bytes(&self) -> usize {
        self.filter.max_pending_bytes()
    }

    fn answer(&mut self, batch: &mut Batch) -> Result<Flow> {
        let recorder = self.recorder.as_mut();
        let over = recorder.map_or(Ok(0), |recorder| recorder.enter(&batch.block))?;
        let known = batch.keys.hashes_before(over);
        let answered = self.filter.answer(self.job.op, batch, known);
        self.counts.record(self.job.op, &batch.answers);
        self.select(batch, over, known);
        if let Err(stop) = answered {
            self.stop(batch, stop);
            return Ok(Flow::Enough);
        }
        if !self.recorder.as_ref().is_some_and(Recorder::may_repeat) {
            self.filter.consider_sharding(batch.keys.hashes.len());
        }
        self.session.record(batch, batch.block.len());
        self.outcome.record(0, &batch.block);
        self.session.show(self.counts.shown(self.job.op).1, self.filter.load());
        let is_enough = self.job.reading.until == Until::FirstPrinted && self.printed > 0;
        Ok(if is_enough { Flow::Enough } else { Flow::Continue })
    }

    fn checkpoint_is_due(&self) -> bool {
        self.recorder.as_ref().is_some_and(Recorder::is_due)
            || self.saves.as_ref().is_some_and(CheckpointTimer::is_due)
            || self.filter.sync_is_due()
    }

    fn checkpoint(&mut self, synced: Synced) -> Result<()> {
        self.filter.mark_synced();
        match (&mut self.recorder, &mut self.saves) {
            (Some(recorder), _) => recorder.commit(&mut *self.filter, synced, &self.counts),
            (None, Some(saves)) => saves.keep(|| self.filter.commit(Stage::Checkpoint)),
            (None, None) => Ok(()),
        }
    }
}
