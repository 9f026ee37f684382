//! Commands that read the records twice: first to find repeats, then to print the selected records.

use super::job::Job;
use super::work::Pass;
use crate::filter::copies::{Copies, CopiesPass, Question, nothing_printed};
use crate::key::Known;
use crate::output::Destinations;
use crate::terminal::{Exit, Progress, Result, caught_signal};
use std::mem;
use std::sync::Arc;

impl Job {
    /// Processes records in two passes.
    pub(crate) fn run_twice(mut self, question: Question) -> Result<Exit> {
        let used = self.prepare()?;
        self.output_spec(&used).check_writable()?;
        self.reading.inputs.others(&self.known).survey(self.reading.until)?;
        let progress = Progress::on_steps(self.running.verbosity);
        self.reading.inputs.make_rereadable(|step| progress.next(step))?;
        drop(progress);
        let used = self.prepare()?;
        let before = self.reading.inputs.states()?;
        let threads = self.running.threads.number(&used.inputs);
        let copies = Arc::new(Copies::new(&self.filter, &used.inputs, threads, question)?);
        if !self.known.is_empty() {
            self.reading.know(&self.known, copies.hasher(), &self.filter)?;
            self.known.clear();
        }
        let mut known = Known::default();
        if question.counts {
            // Records with a known key are counted too.
            mem::swap(&mut known, &mut self.reading.hashing.known);
        }
        let first = Self {
            reading: self.reading.clone(),
            known: Vec::new(),
            location: None,
            filter: self.filter.clone(),
            to: Destinations::default(),
            printed: None,
            prefix: None,
            recorded: None,
            ..self
        };
        let first = Pass::tally(first, &used, Box::new(CopiesPass::First(copies.clone())))?;
        if let Some(no_room) = first.outcome.no_room() {
            return Err(nothing_printed(no_room));
        }
        first.session.show_step("finding the last records: ");
        copies.turn()?;
        first.session.show_step("");
        if caught_signal().is_some() {
            return Ok(Exit::Success.or_signal());
        }
        self.reading.inputs.check_states(&before)?;
        let session = first.session;
        let inputs = self.reading.inputs.clone();
        let filter = Box::new(CopiesPass::Second(copies, known.clone()));
        let mut second = Pass::over(self, &used, filter, Some(session.second()?))?;
        inputs.check_states(&before)?;
        if question.counts {
            second.job.reading.hashing.known = known;
        }
        second.finish(Exit::Success)
    }
}
