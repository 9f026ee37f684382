//! How far a run is, block by block, and what the filter is told of that.

use super::job::Description;
use super::known::Note;
use super::reach::Reaches;
use super::tracker::Tracker;
use crate::args::run::Quiet;
use crate::filter_file::Kept;
use crate::input::block::Block;
use crate::memory::Memory;
use crate::message::{self, Failure};
use crate::output::Settled;
use crate::record::Format;
use coua::window::Generations;
use coua_store::Progress;
use serde::Serialize;

/// How far a run is in its records, and what is recorded of that.
#[derive(Debug)]
pub(crate) struct Course {
    /// Set if the run can be gone on with.
    recorded: Option<Recorded>,
    reaches: Reaches,
    /// Of the inputs' records.
    format: Format,
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
    /// `reaches` is where it is now.
    pub(super) fn new(recorded: Option<Recorded>, reaches: Reaches, format: Format) -> Self {
        Self { recorded, reaches, format }
    }

    /// Goes on by a block; says how many of its records are to be passed over.
    pub(crate) fn enter(&mut self, block: &Block) -> Result<usize, Failure> {
        self.reaches.enter(block, &self.format)
    }

    /// Goes back: the records of the block from `place` on were not dealt with.
    pub(crate) fn take_back(&mut self, block: &Block, place: usize) {
        self.reaches.take_back(block, place);
    }

    pub(crate) fn is_due(&self) -> bool {
        !self.reaches.is_behind() && self.recorded.as_ref().is_some_and(|it| it.tracker.is_due())
    }

    /// Commits how far the run is, if it can be gone on with. All answers are in the outputs, and settled
    /// there.
    pub(crate) fn commit(
        &mut self,
        kept: &mut Kept,
        settled: Settled,
        counts: &impl Serialize,
    ) -> Result<(), Failure> {
        if self.reaches.is_unclear() {
            // The filter is farther than this run.
            return Ok(());
        }
        let Some(progress) = self.progress(settled, counts, Ending::Early) else { return Ok(()) };
        kept.commit(&progress)?;
        if let Some(recorded) = &mut self.recorded {
            recorded.tracker.done();
            recorded.keeps_end |= self.reaches.records() > 0;
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
            Memory::Kept(_) if ending == Ending::Early && self.reaches.is_unclear() => Ok(memory),
            Memory::Kept(mut kept) if ending == Ending::Early && self.stays_recorded(ending) => {
                self.commit(&mut kept, settled, counts)?;
                Ok(Memory::Kept(kept))
            }
            Memory::Kept(kept) => {
                let filter = self.finish(ending, *kept, settled, counts)?;
                Ok(Memory::Fleeting(Box::new(filter)))
            }
        }
    }

    fn finish(
        mut self,
        ending: Ending,
        kept: Kept,
        settled: Settled,
        counts: &impl Serialize,
    ) -> Result<Generations, Failure> {
        if ending == Ending::Whole {
            self.reaches.end()?;
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
        let Err(lost) = recorded.tracker.places(self.reaches.offsets()) else { return true };
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
        let mut places = recorded.tracker.places(self.reaches.offsets()).ok()?;
        places.extend(settled.places);
        let note = Note {
            job: recorded.job.clone(),
            has_ended: ending == Ending::Whole,
            counts: serde_json::to_value(counts).unwrap_or_default(),
            owes_separator: settled.owes_separator,
            inputs: self.reaches.dealt(),
        };
        let note = serde_json::to_vec(&note).unwrap_or_default();
        Some(Progress { records: self.reaches.records(), note, places })
    }
}
