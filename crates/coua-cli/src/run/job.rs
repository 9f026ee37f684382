//! What a command is to do with records.

use super::counts::Counts;
use super::reading::Reading;
use crate::input::Survey;
use crate::key::Found;
use crate::output::{Destinations, Opening, Outputs, OwnFiles};
use crate::resume::{self, Begun, Checkpoints, JobSpec, Recorder};
use crate::target::{FilterSpec, Location, Manners, Op, Target};
use crate::terminal::{Format, Result, Shown};
use std::num::NonZeroUsize;

/// How a command runs, apart from what it does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    pub(crate) threads: NonZeroUsize,
    /// The figures to print at the end.
    pub(crate) figures: Option<Format>,
    pub(crate) shown: Shown,
    pub(crate) manners: Manners,
}

/// What a command is to do.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) op: Op,
    pub(crate) reading: Reading,
    /// Where the filter is; none if one is made, and forgotten at the end.
    pub(crate) location: Option<Location>,
    pub(crate) filter: FilterSpec,
    pub(crate) to: Destinations,
    /// Which records are written to the main output; the others go to the second one, if there is one.
    pub(crate) printed: Option<Found>,
    /// What it does in words that outlast versions, and how that is recorded, if the run can be resumed.
    pub(crate) recorded: Option<(JobSpec, Checkpoints)>,
    pub(crate) running: Running,
}

impl Job {
    /// What its outputs need to know, beside the run's own files.
    pub(super) fn opening<'a>(&'a self, inputs: &'a Survey, own: &'a OwnFiles) -> Opening<'a> {
        Opening { format: &self.reading.hashing.format, to: &self.to, inputs, own }
    }

    /// Begins the run, or resumes it, and opens its outputs.
    pub(super) fn begin(&self, target: &mut Target, opening: Opening<'_>) -> Result<Begun<Counts>> {
        if let (Some(kept), Some((spec, checkpoints))) = (target.kept(), &self.recorded) {
            let (inputs, notes) = (self.reading.inputs.files(), self.running.manners.notes);
            let job = resume::Job { spec, inputs, opening, notes };
            return checkpoints.begin(kept, &job);
        }
        let outputs = Outputs::open(opening)?;
        Ok((Recorder::default(), outputs, Counts::default()))
    }
}
