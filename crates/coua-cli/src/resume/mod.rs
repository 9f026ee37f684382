//! Runs that can be gone on with after they were interrupted.
//!
//! A checkpoint commits the filter together with how far inputs and outputs are. To go on, the inputs
//! are read again from their beginning, and the records that were dealt with are passed over: so it
//! works for compressed inputs and every form of records.

mod job;
mod known;
mod tracker;
mod unfinished;

pub(crate) use job::{Again, Job};
pub(crate) use unfinished::Unfinished;

use crate::args::checkpoint::CheckpointArgs;
use crate::args::run::Quiet;
use crate::filter_file::Kept;
use crate::input::block::Block;
use crate::memory::Memory;
use crate::message::{self, Failure};
use crate::output::{Destinations, Opening, Outputs, Settled};
use crate::pipeline::Deliver;
use coua::Generations;
use coua_store::Progress;
use job::Description;
use known::{Anew, Known, Note};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use tracker::Tracker;

/// How far a run is in its records, and what is recorded of that.
#[derive(Debug)]
pub(crate) struct Course {
    /// Set if the run can be gone on with.
    recorded: Option<Recorded>,
    /// Records dealt with, and bytes of the inputs read for them.
    passed: (u64, u64),
    /// Records still to be passed over: the interrupted run has dealt with them.
    over: u64,
}

#[derive(Debug)]
struct Recorded {
    tracker: Tracker,
    job: Description,
    /// That the run has ended is recorded too, so that going on with it then does nothing.
    keeps_end: bool,
    quiet: Quiet,
}

/// A run at its beginning, or where it is gone on with.
#[derive(Debug)]
pub(crate) struct Begun<C> {
    pub(crate) course: Course,
    pub(crate) outputs: Outputs,
    /// What the command has counted so far.
    pub(crate) counts: C,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All was dealt with, as far as can be known.
    Whole,
    /// There is more: a signal came, or there was no room.
    Early,
}

/// What a run gives out: its outputs, and what it counts at its beginning.
pub(crate) struct Yield<'a, C> {
    pub(crate) to: Destinations<'a>,
    pub(crate) opening: Opening<'a>,
    pub(crate) counts: C,
    pub(crate) quiet: Quiet,
}

impl CheckpointArgs {
    /// Begins a run, or goes on with the one that was interrupted. `kept` is the filter, if it is in a
    /// file. From here on the filter knows that the outputs are being written.
    pub(crate) fn begin<C: Serialize + DeserializeOwned>(
        &self,
        kept: Option<&mut Kept>,
        job: Job,
        fresh: Yield<'_, C>,
    ) -> Result<Begun<C>, Failure> {
        let Some(kept) = kept else {
            let outputs = Outputs::open(fresh.to, fresh.opening)?;
            return Ok(Begun { course: Course::new(None), outputs, counts: fresh.counts });
        };
        let known = self.interrupted(kept, &job, fresh.to)?;
        let (mut outputs, counts, passed) = match &known {
            Some(run) => {
                let places = run.outputs();
                let ends = (&*places, &*run.note.owes_separator);
                (
                    Outputs::go_on(fresh.to, ends, fresh.opening)?,
                    run.counts()?,
                    run.progress.records,
                )
            }
            None => (Outputs::open(fresh.to, fresh.opening)?, fresh.counts, 0),
        };
        let files = job.inputs.filter(|_| outputs.are_files());
        let tracker = files.map(|files| Tracker::new(&files, self.every())).transpose()?;
        let recorded = tracker.map(|tracker| Recorded {
            tracker,
            job: job.description,
            keeps_end: self.resume,
            quiet: fresh.quiet,
        });
        let mut course = Course::new(recorded);
        match known.map(|run| run.under_way()) {
            // Also what is left of the run is one with commits on its way.
            Some(Some(progress)) => kept.commit(&progress)?,
            Some(None) => {}
            None => course.commit(kept, outputs.settle()?, &counts)?,
        }
        course.over = passed;
        Ok(Begun { course, outputs, counts })
    }

    /// The run to go on with, if there is one and it is asked for.
    fn interrupted<'a>(
        &self,
        kept: &'a Kept,
        job: &Job,
        to: Destinations<'_>,
    ) -> Result<Option<Known<'a>>, Failure> {
        let outputs = &to.paths()[..];
        let known = Known::of(kept.store.progress());
        if !self.resume {
            // What cannot be understood is not spoilt by a new run more than by the old one.
            let anew = if self.anew { Anew::Wanted } else { Anew::Refused };
            known
                .and_then(Result::ok)
                .map_or(Ok(()), |run| run.keep(&kept.name(), outputs, anew))?;
            return Ok(None);
        }
        let Some(inputs) = &job.inputs else {
            let reason = "needs inputs that are files with names: others cannot be read again";
            return Err(Failure::at("--resume", reason));
        };
        if !to.are_files() {
            let reason = "needs outputs that are files with names (-o): others cannot be cut";
            return Err(Failure::at("--resume", reason));
        }
        let inputs: Vec<&Path> = inputs.iter().map(|path| &**path).collect();
        if let Some(run) = known.transpose()? {
            match run.agree(job, &inputs, outputs) {
                Err(_) if run.note.has_ended => {}
                agreed => {
                    agreed?;
                    run.check_places()?;
                    return Ok(Some(run));
                }
            }
        }
        match outputs.iter().find(|path| has_content(path)) {
            Some(path) => Err(Failure::at(
                path.display(),
                "--resume: the filter knows of no interrupted run into this file: leave --resume \
                 out to begin anew, which empties it",
            )),
            None => Ok(None),
        }
    }
}

impl Course {
    fn new(recorded: Option<Recorded>) -> Self {
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

fn has_content(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}
