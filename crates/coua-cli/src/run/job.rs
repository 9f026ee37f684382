//! What a command is to do with records.

use super::counts::Counts;
use super::reading::Reading;
use crate::key::Found;
use crate::output::{self, Destinations, Outputs};
use crate::resume::{self, Begun, Checkpoints, JobSpec, Recorder};
use crate::target::file::Manners;
use crate::target::spec::FilterSpec;
use crate::target::{Location, Op, Target};
use crate::terminal::{Format, Result, Shown};
use std::num::NonZeroUsize;

/// How a command runs, apart from what it does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
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
    pub(crate) manner: Manner,
}

impl Job {
    /// Begins the run, or resumes it, and opens its outputs.
    pub(super) fn begin(
        &self,
        target: &mut Target,
        opening: output::Opening<'_>,
    ) -> Result<Begun<Counts>> {
        if let (Some(kept), Some((spec, checkpoints))) = (target.kept(), &self.recorded) {
            let (inputs, format) =
                (self.reading.inputs.files(), self.reading.hashing.format.clone());
            let (to, notes) = (&self.to, self.manner.manners.notes);
            let job = resume::Job { spec, inputs, format, to, opening, notes };
            return checkpoints.begin(kept, job);
        }
        let outputs = Outputs::open(&self.to, opening)?;
        Ok((Recorder::default(), outputs, Counts::default()))
    }
}
