//! What a command is to do with records.

use super::undo;
use crate::filter::{FilterSpec, Location, Manners, Op, RunFilter, Stage};
use crate::input::{BlockReader, Inputs, Survey, Until};
use crate::key::{Found, Hashing, Headers, Mixing, OnMissing, Why};
use crate::output::{Destinations, Opening, Outputs, UsedFiles};
use crate::record::Header;
use crate::resume::{Checkpoints, Started};
use crate::terminal::{Format, Result, Shown, Stop};
use std::num::NonZeroUsize;
use std::sync::Arc;

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
    /// How it is recorded, if the run can be resumed.
    pub(crate) recorded: Option<Checkpoints>,
    pub(crate) running: Running,
}

impl Job {
    /// What its outputs need to know.
    pub(super) fn opening<'a>(&'a self, used: &'a UsedFiles) -> Opening<'a> {
        Opening { format: &self.reading.hashing.format, to: &self.to, used }
    }

    /// Whether the command is about records that are in the filter, and does not print its answer as a number.
    pub(super) fn wants_found(&self) -> bool {
        let is_printed = self.to.main.is_some();
        match self.op {
            Op::Check => is_printed && self.printed != Some(Found::No),
            Op::Remove => self.printed != Some(Found::No),
            _ => false,
        }
    }

    /// Begins the run, or resumes it, and opens its outputs. From here on the filter knows that they are being written.
    pub(super) fn begin(
        &self,
        filter: &mut dyn RunFilter,
        opening: Opening<'_>,
    ) -> Result<Started> {
        let name = filter.name();
        let (Some(runs), Some(checkpoints)) = (filter.runs(), &self.recorded) else {
            return Ok(Started::new(Outputs::open(opening)?));
        };
        let (inputs, notes) = (self.reading.inputs.files(), self.running.manners.notes);
        for undo in checkpoints.to_undo(runs, name.clone(), inputs.clone(), opening, notes)? {
            undo::undo(&self.reading, filter, &undo)?;
        }
        let Some(runs) = filter.runs() else { return Ok(Started::new(Outputs::open(opening)?)) };
        let started = checkpoints.begin(runs, name, inputs, opening, notes)?;
        if started.has_records {
            filter.mark_resumed();
        }
        if started.must_commit {
            filter.commit(Stage::Begin)?;
        }
        Ok(started)
    }
}

/// What to read, and how to understand it.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) inputs: Inputs,
    /// Before it is known which filter the keys are for.
    pub(crate) hashing: Hashing,
    pub(crate) until: Until,
    /// How comments before a CSV header begin.
    pub(crate) comment: Option<Arc<[u8]>>,
}

impl Reading {
    /// Looks at all inputs, and at the headers of those that are CSV files.
    pub(super) fn survey(&self, mixing: Mixing) -> Result<Survey> {
        let inputs = self.inputs.survey(self.until)?;
        if let (Some(headers), Until::End) = (self.headers(mixing), self.until) {
            let (stop, consumed) = (Arc::new(Stop::new()?), Arc::default());
            let (inputs, format) = (self.inputs.clone(), self.hashing.format.clone());
            BlockReader::new(inputs, format, Some(headers), stop, consumed).check_headers()?;
        }
        Ok(inputs)
    }

    /// What is to know about the headers of CSV inputs, if they have such.
    pub(super) fn headers(&self, mixing: Mixing) -> Option<Headers> {
        let columns = self.hashing.keys.csv()?;
        Some(Headers::new(columns.clone(), mixing, self.comment.clone()))
    }

    /// Whether a record without an answer is printed, where records with this answer are: the first header
    /// everywhere, a record without a key as one that was never seen.
    pub(super) fn passes(&self, why: &Why, wanted: Found) -> bool {
        match why {
            Why::Header(header) => *header == Header::First,
            Why::Missing(_) => wanted == Found::No && self.keeps_keyless(),
            Why::OtherShard => false,
        }
    }

    /// Whether a record without a key passes.
    pub(super) fn keeps_keyless(&self) -> bool {
        matches!(self.hashing.on_missing, None | Some(OnMissing::Keep))
    }
}
