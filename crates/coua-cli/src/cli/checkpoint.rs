//! Options about interrupted runs.

use super::run::{Manners, RunArgs};
use crate::clock;
use crate::resume::{Checkpoints, Mode};
use crate::run::Manner;
use std::time::Duration;

/// How a run is kept from being lost.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Filter")]
pub(super) struct CheckpointArgs {
    /// Resume an interrupted run, or start a new one
    ///
    /// If the inputs and outputs of a run are files, the filter remembers how far the run has come. The same
    /// command (the same inputs in their order, outputs, and options that decide the result) with this option
    /// reads the inputs again, and skips the records that are done. Files are recognized by their content: an
    /// input may have grown, or been moved or copied. If an input no longer begins with what was processed, the
    /// run is refused. The filter also remembers the last 64 runs with this option that have ended: the same
    /// command then does nothing, or processes only what was appended since. So give the option from the first
    /// run on.
    ///
    /// A last line without a newline is a record too. If it is longer when the run is resumed, the whole line
    /// counts as another record, and its first part stays where it was printed or added.
    #[arg(long, requires = "filter_file")]
    pub(super) resume: bool,

    /// Discard an interrupted run and start over
    ///
    /// The interrupted run is one of the same job, or one that wrote the same output. Without this option coua
    /// refuses to start an interrupted `add` or `remove` again, because its first records would count twice, and
    /// refuses to empty an output that an interrupted run wrote.
    #[arg(long, hide_short_help = true, conflicts_with = "resume", requires = "filter_file")]
    pub(super) anew: bool,

    /// Seconds between checkpoints of output and filter [default: 5]
    ///
    /// Only runs that can be resumed have checkpoints; the others save at the end. Checkpoints are rarer if they
    /// would take more than a tenth of the time. With 0 they are as frequent as possible.
    #[arg(long, hide_short_help = true, value_name = "SECONDS", value_parser = clock::seconds, requires = "filter_file")]
    pub(super) checkpoint_every: Option<Duration>,
}

impl CheckpointArgs {
    /// How the run begins and is recorded. clap has seen to it that there is only one of the options.
    pub(super) fn checkpoints(&self) -> Checkpoints {
        let mode = match (self.resume, self.anew) {
            (true, _) => Mode::Resume,
            (_, true) => Mode::StartOver,
            _ => Mode::New,
        };
        let default = Checkpoints::default();
        Checkpoints { mode, every: self.checkpoint_every.unwrap_or(default.every) }
    }
}

/// How to do work that changes a filter record by record.
#[derive(clap::Args, Debug)]
pub(super) struct WorkArgs {
    #[command(flatten)]
    pub(super) checkpoints: CheckpointArgs,

    #[command(flatten)]
    pub(super) run: RunArgs,

    #[command(flatten)]
    pub(super) manners: Manners,
}

impl WorkArgs {
    pub(super) fn manner(&self) -> Manner {
        let wait = self.manners.wait();
        Manner { wait, ..self.run.manner(self.manners.quiet.notes()) }
    }
}
