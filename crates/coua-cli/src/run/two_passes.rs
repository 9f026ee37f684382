//! Commands that read the records twice: first to find repeats, then to print the selected records.

use super::job::Job;
use super::work::Pass;
use crate::filter::copies::{Copies, CopiesPass, SecondPassPlan, nothing_printed};
use crate::key::Known;
use crate::output::Outputs;
use crate::terminal::{Exit, Result, caught_signal};
use std::mem;
use std::sync::Arc;

impl Job {
    /// Processes records in two passes.
    pub(crate) fn run_twice(mut self, plan: SecondPassPlan) -> Result<Exit> {
        let used = self.prepare()?;
        // The inputs are read only when the outputs can be written.
        let outputs = Outputs::open(self.output_spec(&used))?;
        self.reading.inputs.others(&self.known).survey(self.reading.until)?;
        self.reading.inputs.make_rereadable()?;
        let used = self.prepare()?;
        let before = self.reading.inputs.states()?;
        let threads = self.running.threads.number(&used.inputs);
        let copies = Arc::new(Copies::new(&self.filter, threads, plan)?);
        if !self.known.is_empty() {
            let verbosity = self.running.verbosity;
            self.reading.know(&self.known, copies.hasher(), &self.filter, verbosity)?;
            self.known.clear();
        }
        let mut known = Known::default();
        if plan.counts {
            // Records with a known key are counted too.
            mem::swap(&mut known, &mut self.reading.hashing.known);
        }
        let (reading, filter) = (self.reading.clone(), self.filter.clone());
        let first = Self::new(self.op, reading, None, filter, self.running);
        let first = Pass::tally(first, &used, Box::new(CopiesPass::First(copies.clone())))?;
        if let Some(no_room) = first.outcome.no_room() {
            return Err(nothing_printed(no_room));
        }
        if caught_signal().is_some() {
            return Ok(Exit::Success.or_signal());
        }
        self.reading.inputs.check_states(&before)?;
        let session = first.session;
        let inputs = self.reading.inputs.clone();
        let filter = Box::new(copies.second_pass(known.clone())?);
        let mut second = Pass::over(self, &used, filter, outputs, Some(session.second()?))?;
        inputs.check_states(&before)?;
        if plan.counts {
            second.job.reading.hashing.known = known;
        }
        second.finish(Exit::Success)
    }
}
