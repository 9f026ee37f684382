//! How far a run is, block by block, and what the filter is told of that.

use super::job::Description;
use super::known::Note;
use super::tracker::Tracker;
use crate::args::run::Quiet;
use crate::filter_file::Kept;
use crate::input::block::Block;
use crate::memory::Memory;
use crate::message::{self, Failure};
use crate::output::Settled;
use coua::Generations;
use coua_store::Progress;
use serde::Serialize;

/// How far a run is in its records, and what is recorded of that.
#[derive(Debug)]
pub(crate) struct Course {
    /// Set if the run can be gone on with.
    recorded: Option<Recorded>,
    /// Records dealt with, and bytes of the inputs read for them.
    passed: (u64, u64),
    /// Records still to be passed over: the interrupted run has dealt with them.
    pub(super) over: u64,
}

#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) tracker: Tracker,
    pub(super) job: Description,
    /// That the run has ended is recorded too, so that going on with it then does nothing.
    pub(super) keeps_end: bool,
    pub(super) quiet: Quiet,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All was dealt with, as far as can be known.
    Whole,
    /// There is more: a signal came, or there was no room.
    Early,
}

impl Course {
    pub(super) fn new(recorded: Option<Recorded>) -> Self {
        Self { recorded, passed: (0, 0), over: 0 }
    }

    /// Goes on by a block; says how many of its records are to be passed over.
    pub(crate) fn enter(&mut self, block: &Block) -> usize {
        let over = self.over.min(block.len() as u64);
        self.over -= over;
        self.passed = (self.passed.0 + block.len() as u64, block.consumed);
        over as usize
    }

    /// Goes back: the records of the block from `place` on were not dealt with.
    pub(crate) fn take_back(&mut self, block: &Block, place: usize) {
        self.passed.0 -= (block.len() - place) as u64;
    }

    pub(crate) fn is_due(&self) -> bool {
        self.over == 0 && self.recorded.as_ref().is_some_and(|it| it.tracker.is_due())
    }

    /// Commits how far the run is, if it can be gone on with. All answers are in the outputs, and settled
    /// there.
    pub(crate) fn commit(
        &mut self,
        kept: &mut Kept,
        settled: Settled,
        counts: &impl Serialize,
    ) -> Result<(), Failure> {
        if self.over > 0 {
            // The filter is farther than this run.
            return Ok(());
        }
        let Some(progress) = self.progress(settled, counts, Ending::Early) else { return Ok(()) };
        kept.commit(&progress)?;
        if let Some(recorded) = &mut self.recorded {
            recorded.tracker.done();
            recorded.keeps_end |= self.passed.0 > 0;
        }
        Ok(())
    }

    /// Commits the end of the run, or if it can be gone on with, where it was left. Gives the filter
    /// back.
    pub(crate) fn end(
        mut self,
        ending: Ending,
        memory: Memory,
        settled: Settled,
        counts: &impl Serialize,
    ) -> Result<Memory, Failure> {
        match memory {
            Memory::Fleeting(_) => Ok(memory),
            // The filter is farther than this run.
            Memory::Kept(_) if ending == Ending::Early && self.over > 0 => Ok(memory),
            Memory::Kept(mut kept) if ending == Ending::Early && self.stays_recorded(ending) => {
                self.commit(&mut kept, settled, counts)?;
                Ok(Memory::Kept(kept))
            }
            Memory::Kept(kept) => {
                let filter = self.finish(*kept, settled, counts)?;
                Ok(Memory::Fleeting(Box::new(filter)))
            }
        }
    }

    fn finish(
        mut self,
        kept: Kept,
        settled: Settled,
        counts: &impl Serialize,
    ) -> Result<Generations, Failure> {
        if self.over > 0 {
            let reason = format!(
                "the inputs have {} records, {} less than the interrupted run has dealt with: they \
                 are not what they were",
                self.passed.0, self.over
            );
            return Err(Failure::at("--resume", reason));
        }
        let keeps_end = self.recorded.as_ref().is_some_and(|it| it.keeps_end);
        let progress = keeps_end.then(|| self.progress(settled, counts, Ending::Whole)).flatten();
        kept.finish_at(&progress.unwrap_or_default())
    }

    /// Whether the run can be gone on with still. Not if one of its inputs has lost its name to another
    /// file or to none, as logs do that are rotated: then it goes on to its end without, where it is of no
    /// interest any more.
    fn stays_recorded(&mut self, ending: Ending) -> bool {
        let Some(recorded) = &mut self.recorded else { return false };
        let Err(lost) = recorded.tracker.places(self.passed.1) else { return true };
        if ending == Ending::Early && !recorded.quiet.quiet {
            let name = lost.display();
            message::say(format_args!(
                "{name}: is no longer the file that this run reads, which therefore cannot be gone on with"
            ));
        }
        self.recorded = None;
        false
    }

    fn progress(
        &mut self,
        settled: Settled,
        counts: &impl Serialize,
        ending: Ending,
    ) -> Option<Progress> {
        if !self.stays_recorded(ending) {
            return None;
        }
        let recorded = self.recorded.as_mut()?;
        recorded.tracker.begin();
        let mut places = recorded.tracker.places(self.passed.1).ok()?;
        places.extend(settled.places);
        let note = Note {
            job: recorded.job.clone(),
            has_ended: ending == Ending::Whole,
            counts: serde_json::to_value(counts).unwrap_or_default(),
            owes_separator: settled.owes_separator,
        };
        let note = serde_json::to_vec(&note).unwrap_or_default();
        Some(Progress { records: self.passed.0, note, places })
    }
}
